"""`rffkern predict`: score the rows of a table and write the predictions, block by block."""

import argparse
import contextlib
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._column_map.drift import Counts, Reference, added, count_rows, report, summary
from .._estimator.columns import reference_of
from .._estimator.explanations import check_marginals
from .._estimator.links import quantiles_of, several_quantiles
from .._estimator.metrics import label_codes, pinball
from .._files.atomic_file import atomic_write, is_stream
from .._native.array_types import Double, NDArray
from ..errors import InvalidInputError, TrainingStateError
from .binary_table import ARROW_ENDINGS
from .jobs import map_in_processes
from .model_rows import ModelRows, load_predictor, open_for, written_as
from .output import (
    DASH,
    Finding,
    JsonLog,
    Progress,
    RejectedRow,
    UsageError,
    check_outputs,
    open_rejected,
    say,
)
from .parts import check_folder, ending_of_parts, score_on_cluster
from .prediction_files import ArrowWriter, Wanted, Writer, make_writer
from .table import Block, Selection, Table, as_written, column_index, column_indices, csv_format, warn_rounded


def run(arguments: argparse.Namespace) -> None:
    """Write predictions and, if the table has labels, report the score."""
    if arguments.output == DASH:
        arguments.output = None
    on_cluster = arguments.workers is not None or arguments.dask is not None
    files = check_folder(arguments) if on_cluster else []
    written = f"part{ending_of_parts(arguments.output, files)}" if on_cluster else arguments.output
    _check_outputs(arguments, written, on_cluster)
    model = load_predictor(arguments, 1 if arguments.jobs > 1 else None)
    _check_options(arguments, model)

    # Which columns are read and written.
    table = open_for(model, arguments, files)
    target = _target_column(table, arguments.target)
    kept = column_indices(table, arguments.keep)
    of_model = ModelRows(model, table, target, column_indices(table, arguments.drop), csv_format(arguments))
    wanted = Wanted(arguments.proba, arguments.interval, arguments.explain, arguments.round, arguments.names == "words")
    writer = make_writer(written, model, wanted, table, kept)
    selection = of_model.selection(target, kept, needs_labels=False, reject=arguments.reject is not None,
                                   kept_as_text=not isinstance(writer, ArrowWriter))

    scorer = Scorer(model, of_model, writer, wanted)
    log = sys.stderr if isinstance(sys.stderr, JsonLog) else None
    totals = (score_on_cluster(arguments, files, table, selection, scorer, log) if on_cluster else
              _score_here(arguments, table, selection, scorer, log))

    warn_rounded(table, [of_model.features[k] for k in sorted(totals.rounded)],
                 "train without the column, or with it in --categorical")
    drift = _report_drift(arguments, scorer, totals.counts, log)
    _report_score(table, model, totals.score, log)
    if arguments.max_shift is not None and drift["largest_shift"] > arguments.max_shift:
        raise Finding(3, f"{table.path}: the shift of column {drift['largest_shift_of']!r} is "
                      f"{drift['largest_shift']:.3g}, above --max-shift {arguments.max_shift:g}; the predictions are "
                      "written")


def _score_here(arguments: argparse.Namespace, table: Table, selection: Selection, scorer: "Scorer",
                log: JsonLog | None) -> "Totals":
    """Score blocks on this machine, and write each to one file as it comes; the totals of their rows."""
    raw_blocks, parse = table.read(selection)
    results = (scorer.score(parse(raw)) for raw in raw_blocks) if arguments.jobs == 1 \
        else map_in_processes(scorer.score, parse, raw_blocks, arguments.jobs)
    output, totals, started = arguments.output, scorer.totals(), time.monotonic()
    with (Progress("scoring", table.total) as bar, open_rejected(arguments.reject) as rejected,
          _opened(output) as file, contextlib.closing(results)):

        def blocks() -> Iterator[bytes]:
            for block in results:
                totals.merge(block.totals)
                yield block.data
                rejected.add(block.rejected)
                bar.update(block.done, totals.n_rows)
                if log is not None:
                    log.add(event="batch", batch_rows=block.totals.n_rows, rows=totals.n_rows,
                            rejected=rejected.n_rows, done=round(block.done / table.total, 4) if table.total else None,
                            seconds=round(time.monotonic() - started, 3))

        try:
            scorer.writer.write(file, blocks())
        except InvalidInputError as error:
            if totals.n_rows and (output is None or is_stream(output)):  # which cannot be taken back
                raise InvalidInputError(f"{error}; the predictions of the {totals.n_rows} rows before this block were "
                                        "written") from error
            raise
    rejected.report(totals.n_rows)
    return totals


def _report_drift(arguments: argparse.Namespace, scorer: "Scorer", counts: Counts | None,
                  log: JsonLog | None) -> dict[str, Any]:
    """Say what is new in the rows, and write it where it is asked for; nothing where training rows are not known."""
    if scorer.reference is None:
        return {}
    found = report(scorer.of_model.fitted_map, scorer.reference, counts)
    if arguments.check is not None:
        with atomic_write(arguments.check) as file:
            file.write((json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())
    if log is not None:
        log.add(event="drift", largest_shift=found["largest_shift"], column=found["largest_shift_of"])
    line = summary(found)
    if line:
        say(line)
    return found


def _report_score(table: Table, model: Any, score: Any, log: JsonLog | None) -> None:
    """Say how good the predictions of rows with labels are; nothing where there are none."""
    if not score.n_rows:
        return
    if isinstance(score, Accuracy) and not score.n_known:
        say(f"{table.path}: no row has a label of the model, such as {str(model.classes_[0])!r}, so no score is "
            "reported: give the column that has them by --target")
    elif log is not None:
        log.add(event="score", name=score.name, value=score.value(), rows=score.n_rows)
    else:
        say(score.report())


def _check_outputs(arguments: argparse.Namespace, written: str | None, on_cluster: bool) -> None:
    """Refuse, before any work, outputs that cannot be written, or not as the options ask; `written` has predictions."""
    output = arguments.output
    if output is not None and not on_cluster:
        stream = is_stream(output)
        if not output.endswith((".csv", ".csv.gz", ".npy", *ARROW_ENDINGS)) and not stream:
            raise UsageError("the name of OUT must end in .csv, .csv.gz, .npy, .parquet, .feather or .arrow, got "
                             f"{output!r}")
        if output.endswith((".npy", *ARROW_ENDINGS)) and stream:
            raise UsageError(f"a {os.path.splitext(output)[1]} must be a file, because part of it is written last; "
                             f"{output!r} is a pipe or a device")
    if written is not None and written.endswith(".npy"):
        for option in ("interval", "explain", "keep"):
            if getattr(arguments, option):
                raise UsageError(f"--{option} needs a table as OUT, such as a .csv, got {output!r}: a .npy contains "
                                 "only predictions")
    check_outputs({"OUT": output, "--reject": arguments.reject, "--check": arguments.check}, arguments.data,
                  arguments.model)


def _check_options(arguments: argparse.Namespace, model: Any) -> None:
    """Refuse, before a row is read, what the model cannot give."""
    path = arguments.model
    if arguments.proba and not hasattr(model, "predict_proba"):
        raise UsageError(f"--proba needs a classifier, {path} contains a {type(model).__name__}")
    if arguments.interval is not None:
        _check_coverage(model, arguments.interval, path)
    if (arguments.check is not None or arguments.max_shift is not None) and _reference_of(model) is None:
        raise UsageError(f"--check and --max-shift need a model with a column map, {path} has none: train it with "
                         "--columns map")
    if not arguments.explain:
        return
    if not hasattr(model, "classes_") and model.expansion_.n_outputs > 1:
        raise UsageError(f"--explain needs a model of one output, {path} has {model.expansion_.n_outputs}: call "
                         "explain in Python")
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
    known = table.columns is None or as_written([text], table.columns)[0] in table.columns
    if not known and not text.lstrip("+-").isdecimal():
        say(f"{table.path}: no column {text!r}, so no score is reported")
        return None
    return column_index(table, text)


@contextlib.contextmanager
def _opened(path: str | None) -> Iterator[BinaryIO]:
    """The file to write, or stdout."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


def _reference_of(model: Any) -> Reference | None:
    """Counts of the training rows, which those of other rows are compared with; None if the model keeps none."""
    column_map = getattr(model, "column_map_", None)
    if column_map is None or column_map._reference is None:
        return None
    return reference_of(column_map, type(model).__name__)[1]


# --- scoring

class ScoredBlock(NamedTuple):
    """The predictions of a block of rows."""

    data: bytes  # as they are written
    done: int  # how much of the table has been read
    rejected: list[RejectedRow]
    totals: "Totals"  # of its rows


class Scorer:
    """Predicts blocks of rows; it can be sent to other processes."""

    def __init__(self, model: Any, of_model: ModelRows, writer: Writer, wanted: Wanted) -> None:
        self.model, self.of_model, self.writer, self.wanted = model, of_model, writer, wanted
        self._has_labels = hasattr(model, "classes_")
        self.reference = _reference_of(model)

    def totals(self) -> "Totals":
        """Those of no rows."""
        quantiles = quantiles_of(self.model)
        if quantiles is None or self.model._n_targets() > 1:
            return Totals(Accuracy() if self._has_labels else RSquared())
        return Totals(PinballLoss(quantiles))

    def score(self, block: Block) -> ScoredBlock:
        """Predictions of a block."""
        totals = self.totals()
        if not len(block.X):
            return ScoredBlock(b"", block.done, block.rejected, totals)
        rows = self.of_model.of(block)
        predicted, proba, covering = self.model._answers(rows, self.wanted.proba, self.wanted.coverage)
        if several_quantiles(self.model):
            predicted = self.model.predict_quantiles(rows)
        shown = predicted if self._has_labels else self._rounded(predicted)
        data = self.writer.rows(shown, None if proba is None else self._rounded(proba), block.kept,
                                [*self._covering(covering), *self._reasons(rows)])
        totals.n_rows = len(block.X)
        totals.rounded.update(block.rounded)
        if block.labels is not None:
            labels = np.asarray(block.labels)
            if self._has_labels:
                totals.score.add(labels, predicted, self.model.classes_)
            else:
                totals.score.add(self.of_model.targets(labels), predicted)
        if self.reference is not None:
            totals.counts = count_rows(self.of_model.fitted_map, self.reference, self.of_model.raw(rows))
        return ScoredBlock(data, block.done, block.rejected, totals)

    def _rounded(self, numbers: Double) -> Double:
        """Numbers with the digits that are asked for."""
        return numbers if self.wanted.digits is None else np.round(numbers, self.wanted.digits)

    def _covering(self, found: Any) -> list[NDArray[Any]]:
        """Columns of the ends of intervals, or of sets of labels as text."""
        if found is None:
            return []
        if self._has_labels:
            labels = [str(label).replace("\\", "\\\\").replace("|", "\\|") for label in self.model.classes_.tolist()]
            return [np.array(["|".join(itertools.compress(labels, chosen)) for chosen in found.tolist()], dtype=object)]
        return [*self._rounded(found).reshape(len(found), -1).T]

    def _reasons(self, rows: Any) -> list[NDArray[Any]]:
        """Names of the columns that contribute most to the scores, and their contributions, the largest first.

        Of two classes, to the score of the second; of more, to that of the most likely one.
        """
        if not self.wanted.n_reasons:
            return []
        found = self.model.explain(rows)
        values = found.values
        if values.ndim == 3:
            of_likely = (found.base_values + values.sum(axis=1)).argmax(axis=1)
            values = np.take_along_axis(values, of_likely[:, None, None], axis=2)[:, :, 0]
        order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, : self.wanted.n_reasons]
        names = np.array([f"{name}" for name in found.feature_names], dtype=object)
        sizes = self._rounded(np.take_along_axis(values, order, axis=1))
        return [column for place, size in zip(order.T, sizes.T, strict=True) for column in (names[place], size)]


class Totals:
    """What is known of rows whose predictions are written."""

    def __init__(self, score: Any) -> None:
        self.n_rows = 0
        self.score = score
        self.rounded: set[int] = set()
        self.counts: Counts | None = None

    def merge(self, other: "Totals") -> None:
        """Add those of other rows."""
        self.score.merge(other.score)
        self.n_rows += other.n_rows
        self.rounded |= other.rounded
        self.counts = added(self.counts, other.counts)


class Accuracy:
    """The share of rows whose label is predicted, without rows that have no label.

    If labels are numbers, text that is no number is always wrong.  `n_known` rows have a label of the model.
    """

    name = "accuracy"

    def __init__(self) -> None:
        self.n_rows = self.n_right = self.n_known = 0

    def add(self, labels: NDArray[Any], predicted: NDArray[Any], classes: NDArray[Any]) -> None:
        """Add a block of a model with these classes."""
        _check_targets(labels, predicted)
        labels, missing = written_as(labels, classes)
        self.n_known += int((label_codes(labels, classes) >= 0).sum())
        if predicted.dtype.kind in "UOb" or labels.dtype.kind == "U":
            labels, predicted = labels.astype(str), predicted.astype(str)
        self.n_rows += int((~missing).sum())
        self.n_right += int((labels == predicted).sum())

    def merge(self, other: "Accuracy") -> None:
        """Add other rows."""
        self.n_rows += other.n_rows
        self.n_right += other.n_right
        self.n_known += other.n_known

    def value(self) -> float:
        """The share."""
        return self.n_right / self.n_rows

    def report(self) -> str:
        """The accuracy in per cent."""
        return f"accuracy on {self.n_rows} rows: {100 * self.n_right / self.n_rows:.2f} %"


class RSquared:
    """The share of the variance of targets that is predicted, without rows that have none.

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
        targets = labels.reshape(len(labels), -1)
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
        return f"R^2 on {self.n_rows} rows: {self.value():.4f}" if self.n_rows > 1 else "R^2 is not defined on one row"


class PinballLoss:
    """The mean loss of one or several quantiles, without rows that have no target."""

    name = "pinball loss"

    def __init__(self, quantiles: Sequence[float]) -> None:
        self.n_rows, self._quantiles, self._sum = 0, quantiles, 0.0

    def add(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Add a block."""
        columns = np.atleast_2d(predicted.T)
        _check_targets(labels, columns[0])
        known = np.isfinite(labels)
        self.n_rows += int(known.sum())
        self._sum += sum(float(pinball(labels[known], column[known], quantile).sum())
                         for column, quantile in zip(columns, self._quantiles, strict=True))

    def merge(self, other: "PinballLoss") -> None:
        """Add other rows."""
        self.n_rows += other.n_rows
        self._sum += other._sum

    def value(self) -> float:
        """The mean over rows and quantiles."""
        return self._sum / (self.n_rows * len(self._quantiles))

    def report(self) -> str:
        """The loss in the unit of the target."""
        return f"pinball loss on {self.n_rows} rows: {self.value():.4g}"


def _check_targets(labels: NDArray[Any], predicted: NDArray[Any]) -> None:
    if labels.shape[1:] != predicted.shape[1:]:
        raise InvalidInputError(f"expected {predicted.shape[1] if predicted.ndim > 1 else 1} target(s) for each row, "
                                f"got {labels.shape[1] if labels.ndim > 1 else 1}")
