"""`rffkern predict`: score the rows of a table and write the predictions, block by block."""

import argparse
import contextlib
import itertools
import json
import os
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._column_map.cells import CATEGORY, EMPTY, NUMERIC, is_number, number_level
from .._column_map.drift import Counts, Reference, added, count_rows, report, summary
from .._column_map.tables import RawColumn, RawTable, category
from .._estimator.columns import reference_of
from .._estimator.explanations import check_marginals
from .._files.atomic_file import atomic_write, is_stream
from .._files.model_files import load
from .._native.array_types import NDArray
from ..errors import InvalidInputError, TrainingStateError
from .jobs import map_in_processes
from .open_table import open_table
from .output import (
    STDIN,
    Finding,
    JsonLog,
    Progress,
    RejectedRow,
    UsageError,
    check_output,
    open_rejected,
    printable,
    say,
)
from .parts import check_folder, ending_of_parts, score_on_cluster
from .prediction_files import ARROW_ENDINGS, Writer, make_writer
from .table import (
    UNKNOWN,
    Block,
    ColumnType,
    Selection,
    Table,
    as_numbers,
    column_index,
    column_indices,
    column_label,
    csv_format,
    shortened,
    warn_rounded,
)

Double = NDArray[np.float64]


def run(arguments: argparse.Namespace) -> None:
    """Write predictions and, if the table has labels, report the score."""
    on_cluster = arguments.workers is not None or arguments.dask is not None
    _check_outputs(arguments, on_cluster)
    model = load_predictor(arguments)
    table = open_table(arguments.data, csv_format(arguments), list(getattr(model, "feature_names_in_", ())))
    target = _target_column(table, arguments.target)
    kept = column_indices(table, arguments.keep)
    features = feature_columns(table, model, target, column_indices(table, arguments.drop))
    part = f"part{ending_of_parts(arguments)}" if on_cluster else arguments.output
    writer = make_writer(part, model, arguments.proba, table, kept, arguments.names, arguments.interval,
                         arguments.explain)
    scorer = Scorer(model, writer, arguments.proba, table.path, [column_label(j, table.columns) for j in features],
                    arguments.round, arguments.interval, arguments.explain)
    if scorer.reference is None and (arguments.check is not None or arguments.max_shift is not None):
        raise UsageError(f"--check and --max-shift need a model with a column map, {arguments.model} has none: train "
                         "it with --columns map")
    selection = Selection(features, target, kept, needs_labels=False, reject=arguments.reject is not None,
                          types=scorer.column_types(), kept_as_text=writer.keeps_text)
    log, totals = sys.stderr if isinstance(sys.stderr, JsonLog) else None, Totals(hasattr(model, "classes_"))
    if on_cluster:
        score_on_cluster(arguments, table, selection, scorer, totals, log)
    else:
        raw_blocks, parse = table.read(selection)
        results = (scorer.score(parse(raw)) for raw in raw_blocks) if arguments.jobs == 1 \
            else map_in_processes(scorer.score, parse, raw_blocks, arguments.jobs)
        _write(arguments, table, writer, results, totals, log)
    warn_rounded(table, [features[k] for k in sorted(totals.rounded)],
                 "train without the column, or with it in --categorical")
    found: dict[str, Any] = {}
    if scorer.reference is not None:
        found = report(scorer.fitted_map, scorer.reference, totals.counts)
        _report_drift(arguments, found, log)
    score = totals.score
    if score.n_rows and log is not None:
        log.add(event="score", name=score.name, value=score.value(), rows=score.n_rows)
    elif score.n_rows:
        say(score.report())
    if arguments.max_shift is not None and found["largest_shift"] > arguments.max_shift:
        raise Finding(3, f"{table.path}: the shift of column {found['largest_shift_of']!r} is "
                      f"{found['largest_shift']:.3g}, above --max-shift {arguments.max_shift:g}; the predictions are "
                      "written")


def _write(arguments: argparse.Namespace, table: Table, writer: Writer, results: Generator[Any, None, None],
           totals: "Totals", log: JsonLog | None) -> None:
    """Write scored blocks to one file as they come."""
    output, started = arguments.output, time.monotonic()
    with (Progress("scoring", table.total) as bar, open_rejected(arguments.reject) as rejected,
          _opened(output) as file, contextlib.closing(results), writer.sink(file) as sink):
        try:
            for block in results:
                totals.add(block)
                sink.add(block.data)
                rejected.add(block.rejected)
                bar.update(block.done, totals.n_rows)
                if log is not None:
                    log.add(event="batch", batch_rows=block.n_rows, rows=totals.n_rows, rejected=rejected.n_rows,
                            done=round(block.done / table.total, 4) if table.total else None,
                            seconds=round(time.monotonic() - started, 3))
        except InvalidInputError as error:
            if totals.n_rows and (output is None or is_stream(output)):  # which cannot be taken back
                raise InvalidInputError(f"{error}; the predictions of the {totals.n_rows} rows before this block were "
                                        "written") from error
            raise
        sink.finish(totals.n_rows)
    rejected.report(totals.n_rows)


def _report_drift(arguments: argparse.Namespace, found: dict[str, Any], log: JsonLog | None) -> None:
    """Say what is new in the rows, and write it where it is asked for."""
    if arguments.check is not None:
        with atomic_write(arguments.check) as file:
            file.write((json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())
    if log is not None:
        log.add(event="drift", largest_shift=found["largest_shift"], column=found["largest_shift_of"])
    line = summary(found)
    if line:
        say(printable(line))


def _check_outputs(arguments: argparse.Namespace, on_cluster: bool) -> None:
    """Refuse, before any work, outputs that cannot be written, or not as the options ask."""
    if arguments.output == STDIN:
        arguments.output = None
    output = arguments.output
    if on_cluster:
        check_folder(arguments)
    elif output is not None:
        stream = is_stream(output)
        if not output.endswith((".csv", ".npy", *ARROW_ENDINGS)) and not stream:
            raise UsageError(f"the name of OUT must end in .csv, .npy, .parquet, .feather or .arrow, got {output!r}")
        if output.endswith((".npy", *ARROW_ENDINGS)) and stream:
            raise UsageError(f"a {os.path.splitext(output)[1]} must be a file, because part of it is written last; "
                             f"{output!r} is a pipe or a device")
        check_output(output, arguments.data, arguments.model)
    if (ending_of_parts(arguments) if on_cluster else output or "").endswith(".npy"):
        for option in ("interval", "explain", "keep"):
            if getattr(arguments, option):
                raise UsageError(f"--{option} needs a table as OUT, such as a .csv, got {output!r}: a .npy contains "
                                 "only predictions")
    written = {"OUT": output, "--reject": arguments.reject, "--check": arguments.check}
    options_of: dict[str, str] = {}
    for option, path in written.items():
        if path is None or path == STDIN:
            continue
        if option != "OUT":
            check_output(path, arguments.data, arguments.model)
        other = options_of.setdefault(os.path.realpath(path), option)
        if other != option:
            raise UsageError(f"{other} and {option} must be two files, got {path!r} for both")


def load_predictor(arguments: argparse.Namespace) -> Any:
    """The model, if the options suit it."""
    model: Any = load(arguments.model)
    name = type(model).__name__
    if not hasattr(model, "predict"):
        advice = "use its transform method in Python" if hasattr(model, "transform") else "use its score method in " \
                                                                                          "Python"
        raise InvalidInputError(f"{arguments.model}: contains the class {name}, which has no predict method; {advice}")
    if getattr(arguments, "proba", False) and not hasattr(model, "predict_proba"):
        raise UsageError(f"--proba needs a classifier, {arguments.model} contains a {name}")
    coverage = getattr(arguments, "interval", None)
    if coverage is not None:
        _check_coverage(model, coverage, arguments.model)
    if getattr(arguments, "explain", 0):
        _check_reasons(model, arguments)
    if arguments.threads is not None or getattr(arguments, "jobs", 1) > 1:
        model.set_params(n_jobs=arguments.threads or 1)
    return model


def _check_reasons(model: Any, arguments: argparse.Namespace) -> None:
    """Refuse, before a row is read, to explain what cannot be explained in columns of names and numbers."""
    if not hasattr(model, "classes_") and model.expansion_.n_outputs > 1:
        raise UsageError(f"--explain needs a model of one output, {arguments.model} has {model.expansion_.n_outputs}: "
                         "call explain in Python")
    if arguments.explain > model.n_features_in_:
        raise UsageError(f"--explain must be at most {model.n_features_in_}, the number of columns, got "
                         f"{arguments.explain}")
    try:
        check_marginals(model)
    except InvalidInputError as error:
        raise UsageError(f"--explain: {error} in Python") from error


def _check_coverage(model: Any, coverage: float, path: str) -> None:
    """Refuse a coverage that the model cannot promise, before a row is read."""
    from .._estimator.conformal import check_rows, record_for

    if not hasattr(model, "predict_interval") and not hasattr(model, "predict_set"):
        raise UsageError(f"--interval needs a classifier or regressor, {path} contains a {type(model).__name__}")
    try:
        check_rows(record_for(model), coverage)
    except TrainingStateError as error:
        raise UsageError(f"--interval: {path}: the model knows no rows that it was not trained on: train it with "
                         "--cv 5 or --holdout 0.2, or call its conformalize(X, y) in Python") from error
    except InvalidInputError as error:
        raise UsageError(f"--interval: {path}: {error}") from error


def _target_column(table: Table, text: str | None) -> int | None:
    """Index of the column of labels, which may be missing from a table with column names."""
    if text is None:
        return None
    if table.columns is not None and text not in table.columns and not text.lstrip("+-").isdecimal():
        say(f"{printable(table.path)}: no column {printable(repr(text))}, so no score is reported")
        return None
    return column_index(table, text)


def feature_columns(table: Table, model: Any, target: int | None, dropped: list[int]) -> list[int]:
    """Indices of the model's columns in the table: by name if both have names, else by position."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and table.columns is not None and len(set(names)) == len(names):
        index = {name: j for j, name in enumerate(table.columns) if j not in dropped}
        missing = [name for name in names if name not in index]
        if missing:
            raise InvalidInputError(f"{table.path}: column {missing[0]!r} of the model is missing"
                                    f"{f', and {len(missing) - 1} more' if missing[1:] else ''}; got "
                                    f"{shortened(list(map(repr, index)))}")
        return [index[name] for name in names]
    features = [j for j in range(table.n_columns) if j != target and j not in dropped]
    if len(features) != model.n_features_in_:
        raise InvalidInputError(f"{table.path}: expected {model.n_features_in_} columns besides any --target and "
                                f"--drop, got {len(features)}; columns are matched by position, because the "
                                f"{'model' if names is None else 'table'} has no column names")
    return features


@contextlib.contextmanager
def _opened(path: str | None) -> Iterator[BinaryIO]:
    """The file to write, or stdout."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


# --- scoring

class ScoredBlock(NamedTuple):
    """The predictions of a block of rows."""

    n_rows: int
    data: bytes  # the predictions as they are written
    labels: NDArray[Any] | None
    predicted: NDArray[Any] | None  # to compare with the labels, if there are any
    done: int  # how much of the table has been read
    rejected: list[RejectedRow]
    rounded: Sequence[int] = ()  # as in a Block
    counts: Counts | None = None  # of columns, where the model has a reference


class Scorer:
    """Predicts blocks of rows; it can be sent to other processes."""

    def __init__(self, model: Any, writer: Writer, proba: bool, path: str, labels: list[str],
                 digits: int | None = None, coverage: float | None = None, n_reasons: int = 0) -> None:
        self.model, self.writer, self.proba, self.digits = model, writer, proba, digits
        self.coverage = coverage  # of intervals or sets, None for none
        self.n_reasons = n_reasons  # columns of each row whose contributions are written
        self.path, self.labels = path, labels  # of the table and its columns, for messages
        self._has_labels = hasattr(model, "classes_")
        column_map = getattr(model, "column_map_", None)
        self.fitted_map: Any = None if column_map is None else column_map._fitted_map()
        self.reference: Reference | None = None  # of the training rows
        if column_map is not None and column_map._reference is not None:
            self.reference = reference_of(column_map, type(model).__name__)[1]
        self._kinds = [] if self.fitted_map is None else [column.kind if column.forms else EMPTY
                                                       for column in self.fitted_map.columns]

    def column_types(self) -> list[ColumnType]:
        """How the columns are read, if the model has a column map."""
        if self.fitted_map is None:
            return []
        return [ColumnType(kind, kind != EMPTY, {level.strip(): level for level in reversed(column.levels)},
                           format=column.format if column.forms else "", words=column.words)
                for kind, column in zip(self._kinds, self.fitted_map.columns, strict=True)]

    def score(self, block: Block) -> ScoredBlock:
        """Predictions of a block."""
        if not len(block.X):
            return ScoredBlock(0, b"", None, None, block.done, block.rejected)
        rows = self.rows(block)
        predicted, proba, covering = self.model._answers(rows, self.proba, self.coverage)
        shown, shown_proba = predicted, proba
        if self.digits is not None:
            shown = predicted if self._has_labels else np.round(predicted, self.digits)
            shown_proba = None if proba is None else np.round(proba, self.digits)
        data = self.writer.rows(shown, shown_proba, block.kept, [*self._covering(covering), *self._reasons(rows)])
        counts = None
        if self.reference is not None:
            table = rows if isinstance(rows, RawTable) else RawTable(None, [
                RawColumn(kind, values) for kind, values in zip(self._kinds, block.X.T, strict=True)], len(block.X))
            counts = count_rows(self.fitted_map, self.reference, table)
        return ScoredBlock(len(block.X), data, block.labels, None if block.labels is None else predicted, block.done,
                           block.rejected, block.rounded, counts)

    def _covering(self, found: Any) -> list[NDArray[Any]]:
        """Columns of the ends of intervals, or of sets of labels as text."""
        if found is None:
            return []
        if self._has_labels:
            labels = [str(label).replace("\\", "\\\\").replace("|", "\\|") for label in self.model.classes_.tolist()]
            return [np.array(["|".join(itertools.compress(labels, chosen)) for chosen in found.tolist()], dtype=object)]
        return [*(found if self.digits is None else np.round(found, self.digits)).reshape(len(found), -1).T]

    def _reasons(self, rows: Any) -> list[NDArray[Any]]:
        """Names of the columns that contribute most to the scores, and their contributions, the largest first.

        Of several classes, to the score of the most likely one.
        """
        if not self.n_reasons:
            return []
        found = self.model.explain(rows)
        values = found.values
        if values.ndim == 3:
            of_likely = (found.base_values + values.sum(axis=1)).argmax(axis=1)
            values = np.take_along_axis(values, of_likely[:, None, None], axis=2)[:, :, 0]
        order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, : self.n_reasons]
        names = np.array([f"{name}" for name in found.feature_names], dtype=object)
        sizes = np.take_along_axis(values, order, axis=1)
        sizes = sizes if self.digits is None else np.round(sizes, self.digits)
        return [column for place, size in zip(order.T, sizes.T, strict=True) for column in (names[place], size)]

    def rows(self, block: Block) -> Any:
        """The rows as the model takes them; a column of another kind than in training is an error."""
        if self.fitted_map is None or {*self._kinds, *(each.kind for each in block.types)} <= {NUMERIC, EMPTY}:
            return block.X
        columns = []
        for k, (each, expected, values) in enumerate(zip(block.types, self._kinds, block.X.T, strict=True)):
            kind = EMPTY if each.kind == UNKNOWN else each.kind
            columns.append(category(values, block.levels.get(k, ())) if kind == CATEGORY else RawColumn(kind, values))
            if kind not in (expected, EMPTY) and (kind, expected) != (NUMERIC, CATEGORY):
                raise InvalidInputError(f"{self.path}: column {self.labels[k]}: expected values of kind {expected!r}, "
                                        f"as in training, got {kind!r}")
        return RawTable(self.fitted_map.names, columns, len(block.X))


class Totals:
    """What is known of all rows whose predictions are written."""

    def __init__(self, has_labels: bool) -> None:
        self.n_rows = 0
        self.score: Any = Accuracy() if has_labels else RSquared()
        self.rounded: set[int] = set()
        self.counts: Counts | None = None

    def add(self, block: ScoredBlock) -> None:
        """Add a block."""
        if block.labels is not None and block.predicted is not None:
            self.score.add(block.labels, block.predicted)
        self.n_rows += block.n_rows
        self.rounded.update(block.rounded)
        self.counts = added(self.counts, block.counts)

    def merge(self, other: "Totals") -> None:
        """Add those of other rows."""
        self.score.merge(other.score)
        self.n_rows += other.n_rows
        self.rounded |= other.rounded
        self.counts = added(self.counts, other.counts)


class Accuracy:
    """The share of rows whose label is predicted, without rows that have no label.

    If labels are numbers, text that is no number is always wrong.
    """

    name = "accuracy"

    def __init__(self) -> None:
        self.n_rows = self.n_right = 0

    def add(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Add a block."""
        _check_targets(labels, predicted)
        known = labels != "" if labels.dtype.kind == "U" else ~np.isnan(labels) if labels.dtype.kind == "f" \
            else np.ones(len(labels), dtype=bool)
        labels, predicted = labels[known], predicted[known]
        if predicted.dtype.kind in "UOb":
            labels, predicted = labels.astype(str), predicted.astype(str)
        elif predicted.dtype.kind in "iu" and labels.dtype.kind == "U":  # all digits count, which floats do not have
            labels = np.array([number_level(text) if is_number(text) else text for text in labels.tolist()])
            predicted = predicted.astype(str)
        elif labels.dtype.kind not in "iu":
            labels = as_numbers(labels)
        self.n_rows += len(labels)
        self.n_right += int((labels == predicted).sum())

    def merge(self, other: "Accuracy") -> None:
        """Add other rows."""
        self.n_rows += other.n_rows
        self.n_right += other.n_right

    def value(self) -> float:
        """The share."""
        return self.n_right / self.n_rows

    def report(self) -> str:
        """The accuracy in per cent."""
        return f"accuracy on {self.n_rows} rows: {100 * self.n_right / self.n_rows:.2f} %"


class RSquared:
    """The share of the variance of targets that is predicted, without rows whose target is no number.

    Sums are in units of the largest target, so that squares do not overflow, and those of squares about the mean, so
    that large means cost no digits (Chan, Golub and LeVeque, 1979).
    """

    name = "R^2"

    def __init__(self) -> None:
        self.n_rows = 0
        self._unit: Double = np.full(1, 1e-300)
        # (3, n_targets): means, squares about these, and squared errors.
        self._sums: Double = np.zeros((3, 1))

    def add(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Add a block."""
        _check_targets(labels, predicted)
        targets = as_numbers(labels).reshape(len(labels), -1)
        predicted = predicted.reshape(targets.shape)
        known = np.isfinite(targets).all(axis=1)
        targets, predicted = targets[known], predicted[known]
        if len(targets):
            unit = np.maximum(np.abs(targets).max(axis=0), 1e-300)
            scaled = targets / unit
            mean = scaled[0] + (scaled - scaled[0]).mean(axis=0)  # that of equal targets is these
            errors = (targets - predicted) / unit
            self._merge(len(targets), unit, np.array([mean, ((scaled - mean) ** 2).sum(axis=0),
                                                      (errors**2).sum(axis=0)]))

    def merge(self, other: "RSquared") -> None:
        """Add other rows."""
        if other.n_rows:
            self._merge(other.n_rows, other._unit, other._sums)

    def _merge(self, n_rows: int, unit: Double, sums: Double) -> None:
        common, share = np.maximum(self._unit, unit), n_rows / (self.n_rows + n_rows)
        own, sums = (each * np.array([old, old**2, old**2]) for each, old in (
            (self._sums, self._unit / common), (sums, unit / common)))
        step = sums[0] - own[0] if self.n_rows else sums[0]
        self._sums = own + sums
        self._sums[0] = own[0] + share * step
        self._sums[1] += self.n_rows * share * step**2
        self.n_rows, self._unit = self.n_rows + n_rows, common

    def value(self) -> float:
        """R^2, averaged over targets; a constant target counts as 1 if it is predicted exactly, else as 0."""
        _, variance, errors = self._sums
        shares = np.where(variance > 0, 1 - errors / np.where(variance > 0, variance, 1.0), errors == 0)
        return float(shares.mean())

    def report(self) -> str:
        """R^2."""
        return f"R^2 on {self.n_rows} rows: {self.value():.4f}"


def _check_targets(labels: NDArray[Any], predicted: NDArray[Any]) -> None:
    if labels.shape[1:] != predicted.shape[1:]:
        raise InvalidInputError(f"expected {predicted.shape[1] if predicted.ndim > 1 else 1} target(s) for each row, "
                                f"got {labels.shape[1] if labels.ndim > 1 else 1}")
