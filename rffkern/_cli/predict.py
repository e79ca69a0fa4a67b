"""Predictions as .csv and .npy files: bytes for each block of rows, wherever they are written."""

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from .._column_map.raw import CATEGORY, EMPTY, NUMERIC, RawColumn, category
from .._column_map.tables import RawTable
from .._files.atomic_file import atomic_write, is_stream
from .._files.model_files import load
from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .output import STDIN, Progress, UsageError, check_output, opened_rejects, printable, say, tell_rejected
from .table import (
    UNKNOWN,
    Block,
    Cells,
    Reading,
    Rejected,
    Table,
    Wanted,
    as_numbers,
    column_index,
    column_indices,
    column_label,
    column_name,
    is_number,
    level_of_number,
    listed,
    open_table,
    table_format,
    tell_rounded,
)

# Bytes that the header of a .npy file takes here, whatever the number of rows turns out to be.
_NPY_HEADER = 128
_QUOTED = re.compile('[,"\r\n]').search


class RowFormat(Protocol):
    """How predictions are written; it can be sent to other processes."""

    def head(self) -> bytes:
        """What the file begins with."""

    def rows(self, predicted: NDArray[Any], proba: NDArray[np.float64] | None, words: Sequence[list[str]]) -> bytes:
        """Some rows: their predictions, the probabilities of their classes where these are wanted, and kept words."""

    def finish(self, file: BinaryIO, n_rows: int) -> None:
        """Write what is known only at the end; the file itself stays open."""


class CsvRows(NamedTuple):
    """Text under a header: a line for each row, with kept words first, then the predictions, then probabilities."""

    header: list[str]

    def head(self) -> bytes:
        """The header."""
        return _lines([[_cell(name)] for name in self.header])

    def rows(self, predicted: NDArray[Any], proba: NDArray[np.float64] | None, words: Sequence[list[str]]) -> bytes:
        """A line for each row."""
        numbers = [*np.atleast_2d(predicted.T), *(() if proba is None else proba.T)]
        columns: list[Iterable[str]] = [map(_cell, column) for column in words]
        columns += [map(str if column.dtype.kind in "biuf" else _cell, column.tolist()) for column in numbers]
        return _lines(columns)

    def finish(self, file: BinaryIO, n_rows: int) -> None:
        """Write nothing more."""


def _lines(columns: Sequence[Iterable[str]]) -> bytes:
    lines = map(",".join, zip(*columns, strict=True))
    # A line of one empty cell would be an empty line, which readers leave out.
    text = "".join([f"{line}\n" for line in (lines if len(columns) > 1 else (line or '""' for line in lines))])
    return text.encode("utf-8")


def _cell(value: object) -> str:
    """A cell, quoted where its characters ask for it."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED(text) else text


class NpyRows(NamedTuple):
    """Predictions, or probabilities where these are wanted, as an array.

    The number of rows is known only at the end, so the header is written last, into the space left for it.
    """

    dtype: np.dtype[Any]
    row_shape: tuple[int, ...]

    def head(self) -> bytes:
        """Space for the header."""
        return b"\0" * _NPY_HEADER

    def rows(self, predicted: NDArray[Any], proba: NDArray[np.float64] | None, words: Sequence[list[str]]) -> bytes:
        """The rows as they are in memory."""
        return np.ascontiguousarray(predicted if proba is None else proba, dtype=self.dtype).tobytes()

    def finish(self, file: BinaryIO, n_rows: int) -> None:
        """Write the header."""
        text = f"{{'descr': {np.lib.format.dtype_to_descr(self.dtype)!r}, 'fortran_order': False, " \
               f"'shape': {(n_rows, *self.row_shape)!r}, }}"
        file.seek(0)
        file.write(b"\x93NUMPY\x01\x00" + (_NPY_HEADER - 10).to_bytes(2, "little")
                   + text.ljust(_NPY_HEADER - 11).encode("ascii") + b"\n")


Double = NDArray[np.float64]


class Score(Protocol):
    """A score of predictions that come block by block."""

    n_rows: int  # with labels to compare with

    def add(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Take the labels, or targets, of a block and what was predicted."""

    def report(self) -> str:
        """The score of all blocks, as a line of text."""


def _check_shape(labels: NDArray[Any], predicted: NDArray[Any]) -> None:
    if labels.shape[1:] != predicted.shape[1:]:
        raise InvalidInputError(f"expected {predicted.shape[1] if predicted.ndim > 1 else 1} target(s) for each row, "
                                f"got {labels.shape[1] if labels.ndim > 1 else 1}")


class Accuracy:
    """The share of rows whose label is predicted; where labels are numbers, a word that is none is always wrong.

    Rows without a label do not count.
    """

    def __init__(self) -> None:
        self.n_rows = self.n_right = 0

    def add(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Take a block."""
        _check_shape(labels, predicted)
        known = labels != "" if labels.dtype.kind == "U" else ~np.isnan(labels) if labels.dtype.kind == "f" \
            else np.ones(len(labels), dtype=bool)
        labels, predicted = labels[known], predicted[known]
        if predicted.dtype.kind in "UOb":
            labels, predicted = labels.astype(str), predicted.astype(str)
        elif predicted.dtype.kind in "iu" and labels.dtype.kind == "U":  # with all digits, which floats have not
            labels = np.array([level_of_number(word) if is_number(word) else word for word in labels.tolist()])
            predicted = predicted.astype(str)
        elif labels.dtype.kind not in "iu":
            labels = as_numbers(labels)
        self.n_rows += len(labels)
        self.n_right += int((labels == predicted).sum())

    def report(self) -> str:
        """The accuracy in per cent."""
        return f"accuracy on {self.n_rows} rows: {100 * self.n_right / self.n_rows:.2f} %"


class RSquared:
    """The share of the variance of targets that is predicted; rows with a target that is no number are left out."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.first: Double | None = None  # targets of the first row, from which all others are measured
        self.unit = np.ones(1)
        self.sums: Double | float = 0.0  # (3, n_targets): of shifted targets, their squares, and squared errors

    def add(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Take a block."""
        _check_shape(labels, predicted)
        targets = as_numbers(labels).reshape(len(labels), -1)
        predicted = predicted.reshape(targets.shape)
        known = np.isfinite(targets).all(axis=1)
        targets, predicted = targets[known], predicted[known]
        if not len(targets):
            return
        if self.first is None:
            self.first, self.unit = targets[0], np.maximum(np.abs(targets).max(axis=0), 1e-300)
        shifted = (targets - self.first) / self.unit  # so that large means cost no digits and squares do not overflow
        missed = (targets - predicted) / self.unit
        self.n_rows += len(targets)
        self.sums = self.sums + np.array([shifted.sum(axis=0), (shifted**2).sum(axis=0), (missed**2).sum(axis=0)])

    def report(self) -> str:
        """R^2, its mean over targets; a constant target counts as 1 where it is predicted exactly, else as 0."""
        total, squares, missed = np.asarray(self.sums)
        spread = squares - total**2 / self.n_rows
        shares = np.where(spread > 0, 1 - missed / np.where(spread > 0, spread, 1.0), missed == 0)
        return f"R^2 on {self.n_rows} rows: {shares.mean():.4f}"


class ModelRows(NamedTuple):
    """What a model takes; it can be sent to other processes."""

    path: str  # of the table
    names: tuple[str, ...] | None  # of the columns of the model
    places: list[str]  # of these columns in the table, for messages
    kinds: list[str]

    def rows(self, block: Block) -> Any:
        """Rows to predict; InvalidInputError names a column of another kind than the model's."""
        if {*self.kinds, *(cells.kind for cells in block.cells)} <= {NUMERIC, EMPTY}:
            return block.X
        columns = []
        for k, (cells, kind, values) in enumerate(zip(block.cells, self.kinds, block.X.T, strict=True)):
            found = EMPTY if cells.kind == UNKNOWN else cells.kind
            if found == CATEGORY:
                columns.append(category(values, block.levels.get(k, ())))
            else:
                columns.append(RawColumn(found, values))
            if found not in (kind, EMPTY) and (found, kind) != (NUMERIC, CATEGORY):
                raise InvalidInputError(f"{self.path}: column {self.places[k]}: expected values of kind {kind!r}, as "
                                        f"in training, got {found!r}")
        return RawTable(self.names, columns, len(block.X))


def model_rows(model: Any, path: str, features: Sequence[int], names: Sequence[str] | None) -> ModelRows:
    """What a model with a column map takes of the columns of a table."""
    frozen = model.column_map_._fitted_map()
    return ModelRows(path, frozen.names, [column_label(j, names) for j in features],
                     [column.kind if column.forms else EMPTY for column in frozen.columns])


def cells_of_model(model: Any) -> list[Cells]:
    """How the columns of a model with a column map are read from a text."""
    found = []
    for column in model.column_map_._fitted_map().columns:
        kind = column.kind if column.forms else EMPTY
        levels = {level.strip(): level for level in reversed(column.levels)}
        found.append(Cells(kind, gaps=kind != EMPTY, levels=levels))
    return found


class Answer(NamedTuple):
    """What becomes of a block of rows."""

    n_rows: int  # that are predicted
    data: bytes  # their predictions as they are written
    labels: NDArray[Any] | None  # to compare them with
    predicted: NDArray[Any] | None  # the same predictions as values, where there are labels
    done: int  # how much of the table has been read
    rejected: list[Rejected]
    rounded: Sequence[int] = ()  # as in a Block


class Scorer(NamedTuple):
    """A model and how its predictions are written; it can be sent to other processes."""

    model: Any
    form: RowFormat
    proba: bool
    rows_of: Callable[[Block], Any] | None = None  # the rows that the model takes, where it takes more than numbers

    def answer(self, block: Block) -> Answer:
        """Predictions of a block."""
        if not len(block.X):
            return Answer(0, b"", None, None, block.done, block.rejected)
        rows = block.X if self.rows_of is None else self.rows_of(block)
        predicted, proba = self.model._labels_and_proba(rows) if self.proba else (self.model.predict(rows), None)
        data = self.form.rows(predicted, proba, block.words)
        scored = block.labels is not None
        return Answer(len(block.X), data, block.labels, predicted if scored else None, block.done, block.rejected,
                      block.rounded)

    def answers(self, reading: Reading) -> Iterator[Answer]:
        """Predictions of all blocks, in their order."""
        return map(self.answer, reading.blocks())


def run_predict(arguments: argparse.Namespace) -> None:
    """Write predictions and, where the table has labels, tell how good they are."""
    model = _load_predictor(arguments)
    output = arguments.output
    table = open_table(arguments.data, table_format(arguments), list(getattr(model, "feature_names_in_", ())))
    target = _target_column(table, arguments.target)
    kept = column_indices(table, arguments.keep)
    features = _feature_columns(table, model, target, column_indices(table, arguments.drop))
    make_form = _npy_rows if output is not None and output.endswith(".npy") else _csv_rows
    form = make_form(model, arguments.proba, [column_name(table, j) for j in kept])
    scorer, cells = Scorer(model, form, arguments.proba), []
    if getattr(model, "column_map_", None) is not None:
        from .predict import cells_of_model, model_rows

        scorer = scorer._replace(rows_of=model_rows(model, table.path, features, table.columns).rows)
        cells = cells_of_model(model)
    reading = table.reading(Wanted(features, target, kept, needs_labels=False, reject=arguments.reject is not None,
                                   cells=cells))
    n_rows = 0
    rounded: set[int] = set()
    score: Score = Accuracy() if hasattr(model, "classes_") else RSquared()
    with (Progress("scoring", table.total) as bar, opened_rejects(arguments.reject) as rejects,
          _opened(output) as file, _answered(scorer, reading, arguments.jobs) as answers):
        file.write(form.head())
        for answer in _telling_what_is_out(answers, output):
            file.write(answer.data)
            n_rows += answer.n_rows
            rejects.add(answer.rejected)
            rounded.update(answer.rounded)
            if answer.labels is not None and answer.predicted is not None:
                score.add(answer.labels, answer.predicted)
            bar.update(answer.done, n_rows)
        form.finish(file, n_rows)
    tell_rejected(rejects, n_rows, arguments.reject)
    tell_rounded(table, [features[k] for k in sorted(rounded)], "train without the column, or with it in --categorical")
    if score.n_rows:
        say(score.report())


@contextlib.contextmanager
def _answered(scorer: Scorer, reading: Reading, n_jobs: int) -> Iterator[Iterator[Answer]]:
    """The answers of all rows, by this process or by several others."""
    if n_jobs == 1:
        yield scorer.answers(reading)
        return
    from .jobs import Jobs  # which loads what starts processes

    with Jobs(n_jobs, scorer) as jobs:
        yield jobs.answers(reading)


def _telling_what_is_out(answers: Iterator[Answer], output: str | None) -> Iterator[Answer]:
    """The answers; a fault says how many predictions a pipe has got before it, for they cannot be taken back."""
    n_rows = 0
    try:
        for answer in answers:
            yield answer
            n_rows += answer.n_rows
    except InvalidInputError as error:
        if n_rows and (output is None or is_stream(output)):
            raise InvalidInputError(f"{error}; the predictions of the {n_rows} rows before this block were "
                                    "written") from error
        raise


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, outputs that cannot be written, or not as they are wanted."""
    if arguments.output == STDIN:
        arguments.output = None
    output = arguments.output
    if output is not None:
        stream = is_stream(output)
        if not output.endswith((".csv", ".npy")) and not stream:
            raise UsageError(f"the name of OUT must end in .csv or .npy, got {output!r}")
        if output.endswith(".npy") and stream:
            raise UsageError(f"OUT must be a file, for the header of a .npy is written last; {output!r} is a pipe or a "
                             "device")
        if output.endswith(".npy") and arguments.keep:
            raise UsageError(f"--keep needs a .csv as OUT, got {output!r}: a .npy holds predictions alone")
        check_output(output, arguments.data, arguments.model)
    if arguments.reject is not None:
        check_output(arguments.reject, arguments.data, arguments.model)
        if output is not None and os.path.realpath(output) == os.path.realpath(arguments.reject):
            raise UsageError(f"OUT and --reject must be two files, got {output!r} for both")


def _load_predictor(arguments: argparse.Namespace) -> Any:
    """The model, once the arguments are known to agree with it."""
    _check_outputs(arguments)
    model: Any = load(arguments.model)
    if not hasattr(model, "predict"):
        raise InvalidInputError(f"{arguments.model}: holds a {type(model).__name__}, which has nothing to predict; its "
                                f"{'transform' if hasattr(model, 'transform') else 'score'} method gives numbers")
    if arguments.proba and not hasattr(model, "predict_proba"):
        raise UsageError(f"--proba needs a classifier, {arguments.model} holds a {type(model).__name__}")
    if arguments.threads is not None or arguments.jobs > 1:
        model.set_params(n_jobs=arguments.threads or 1)
    return model


def _target_column(table: Table, text: str | None) -> int | None:
    """Index of the column with labels, which a table with column names may lack."""
    if text is None:
        return None
    if table.columns is not None and text not in table.columns and not text.lstrip("+-").isdecimal():
        say(f"{printable(table.path)}: no column {printable(repr(text))}, so the predictions get no score")
        return None
    return column_index(table, text)


def _feature_columns(table: Table, model: Any, target: int | None, dropped: list[int]) -> list[int]:
    """Indices of the model's columns in the table: by name where both have names, else by position."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and table.columns is not None and len(set(names)) == len(names):
        place = {name: j for j, name in enumerate(table.columns) if j not in dropped}
        missing = [name for name in names if name not in place]
        if missing:
            raise InvalidInputError(f"{table.path}: column {missing[0]!r} of the model is missing"
                                    f"{f', and {len(missing) - 1} more' if missing[1:] else ''}; got "
                                    f"{listed(list(place))}")
        return [place[name] for name in names]
    features = [j for j in range(table.n_columns) if j != target and j not in dropped]
    if len(features) != model.n_features_in_:
        raise InvalidInputError(f"{table.path}: expected {model.n_features_in_} columns besides any --target and "
                                f"--drop, got {len(features)}; columns are told by their places, because the "
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


def _csv_rows(model: Any, proba: bool, kept: list[str]) -> RowFormat:
    n_outputs = 1 if hasattr(model, "classes_") else model.expansion_.n_outputs
    header = [*kept, *(["prediction"] if n_outputs == 1 else [f"prediction {k}" for k in range(n_outputs)])]
    if proba:
        header += [f"probability of {label}" for label in model.classes_]
    twice = next((name for name in kept if header.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--keep: the output would have two columns named {twice!r}")
    return CsvRows(header)


def _npy_rows(model: Any, proba: bool, kept: list[str]) -> RowFormat:
    if not hasattr(model, "classes_"):
        n_outputs = model.expansion_.n_outputs
        return NpyRows(np.dtype(np.float64), (n_outputs,) if n_outputs > 1 else ())
    classes = model.classes_
    if proba:
        return NpyRows(np.dtype(np.float64), (len(classes),))
    return NpyRows(classes.astype(str).dtype if classes.dtype.kind == "O" else classes.dtype, ())
