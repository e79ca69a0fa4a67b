"""All rows of a table, held once, to train on."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.raw import CATEGORY, DATE, EMPTY
from .._column_map.tables import RawTable
from .._estimator.registry import AUTOMATIC
from .._rows.row_blocks import RowBlocks, block_size
from ..errors import InvalidInputError
from .array_table import ArrayTable
from .labels import to_labels, to_targets
from .progress import Progress
from .rejects import Rejects
from .roles import Roles
from .spool import GatheredRows, in_file, is_in_file
from .streams import printable, say
from .table import UNKNOWN, Cells, NamedRows, Table, Wanted, column_indices, column_label, tell_rounded
from .target_rule import holds_labels, told_rule
from .training_columns import TrainingColumn, WordIndex, settled
from .usage import UsageError

_ROOM = 1.02  # for rows that are shorter in the file than the first of them


class TrainingTable(NamedTuple):
    """Rows and what is to be learned of them."""

    X: NDArray[Any]
    y: NDArray[Any]
    names: list[str] | None  # of the columns
    columns: list[TrainingColumn]  # what they hold
    features: list[int]  # their indices in the table
    has_labels: bool = True  # whether y holds labels; else numbers
    weights: NDArray[Any] | None = None  # of the rows

    def named(self) -> Any:
        """Numbers in the form that a model learns the column names from; those in a file are read block by block."""
        if is_in_file(self.X):
            return RowBlocks(self._blocks)
        return NamedRows(self.X, self.names) if self.names else self.X

    def _blocks(self) -> Iterator[Any]:
        size = block_size(self.X.shape[1])
        for start in range(0, len(self.X), size):
            rows = self.X[start : start + size].view(np.ndarray)
            yield NamedRows(rows, self.names) if self.names else rows

    def raw(self) -> Any:
        """The rows in the form that a column map takes; the array is used again."""
        if self.X.dtype == np.float32 and not self.names and all(column.levels == () for column in self.columns):
            return self.X
        self.X[...] += 0.0  # no -0.0, which other tables have not
        return RawTable(tuple(self.names) if self.names else None,
                        [column.raw(values) for column, values in zip(self.columns, self.X.T, strict=True)],
                        len(self.X))

    def needs_map(self) -> bool:
        """Whether some column has gaps, or no numbers."""
        return any(column.kind in (CATEGORY, DATE, EMPTY) or column.n_missing for column in self.columns)

    def has_words(self) -> bool:
        """Whether some column holds no numbers."""
        return any(column.kind in (CATEGORY, DATE) or column.truth for column in self.columns)

    def shown_names(self) -> list[str]:
        """What messages call the columns: names, or indices as --exclude takes them."""
        return self.names or [f"column {j}" for j in self.features]

    def divided(self, held_out: NDArray[np.bool_]) -> "tuple[TrainingTable, TrainingTable]":
        """The rows that are not held out, and those that are; the array is used again for the former."""
        weights = self.weights
        rest = self._replace(X=self.X[held_out], y=self.y[held_out],
                             weights=None if weights is None else weights[held_out])
        if not held_out.any():
            return self, rest
        n_kept = 0
        for start in range(0, len(self.X), 8192):  # a row never moves down, so none is overwritten before it is read
            rows = self.X[start : start + 8192][~held_out[start : start + 8192]]
            self.X[n_kept : n_kept + len(rows)] = rows
            n_kept += len(rows)
        kept = None if weights is None else weights[~held_out]
        return self._replace(X=self.X[:n_kept], y=self.y[~held_out], weights=kept), rest


def read_training(table: Table, roles: Roles, classifies: bool | None, rejects: Rejects | None,
                  categorical: list[str] | None = None) -> TrainingTable:
    """All rows of a table, with labels or targets; `classifies` says which, None that they tell it.

    `categorical` names columns that are categories; without it, all columns are numbers without gaps.
    """
    marked = column_indices(table, categorical or ())
    for j in marked:
        if j not in roles.features:
            raise UsageError(f"--categorical must name columns to train on, got {column_label(j, table.columns)}")
    cells = [] if categorical is None else [Cells(CATEGORY if j in marked else UNKNOWN, gaps=True)
                                            for j in roles.features]
    rows = _read_rows(table, roles, classifies is not False, rejects, cells)
    has_labels = holds_labels(rows.labels) if classifies is None else classifies
    try:
        y = _checked_labels(table, rows.labels) if has_labels else to_targets(rows.labels, table.path)
    except InvalidInputError as error:
        if classifies is None and not has_labels and rejects is not None:  # the cells were read as words
            raise InvalidInputError(f"{error}; --model {AUTOMATIC[1]} rejects such rows") from error
        raise
    told = told_rule(_target_name(table, roles.target), y, has_labels) if classifies is None else None
    if told is not None:
        say(printable(f"{table.path}: {told}"))
    if is_in_file(rows.X) and y.dtype.kind in "iuf":
        y = in_file(y)
    names = [table.columns[j] for j in roles.features] if table.columns else None
    return TrainingTable(rows.X, y, names, rows.columns, roles.features, has_labels, rows.weights)


def read_more(table: Table, roles: Roles, training: TrainingTable) -> TrainingTable:
    """All rows of another table, whose columns hold what those of a training table do."""
    kinds = [CATEGORY if column.levels or column.truth else column.kind for column in training.columns]
    cells = [Cells(kind, gaps=True) for kind in kinds]
    rows = _read_rows(table, roles, training.has_labels, None, cells)
    if not training.has_labels:
        y: NDArray[Any] = to_targets(rows.labels, table.path)
    elif training.y.dtype.kind == "U":
        y = np.concatenate(rows.labels)
    else:
        y = to_labels(rows.labels, table.path)
    return training._replace(X=rows.X, y=y, columns=rows.columns, weights=rows.weights)


def _checked_labels(table: Table, blocks: list[NDArray[Any]]) -> NDArray[Any]:
    """Labels, whose first is no column name."""
    y = to_labels(blocks, table.path)
    if table.guessed_data and len(y) > 2 and (y[1:] != y[0]).all():
        raise InvalidInputError(f"{table.path}: row 1 may hold column names: its label {str(y[0])!r} occurs nowhere "
                                "else; say --header yes or --header no")
    return y


def _target_name(table: Table, target: int | None) -> str:
    """What messages call the target."""
    if target is None:
        return "target y"
    return f"target {table.columns[target]!r}" if table.columns else f"target column {column_label(target, None)}"


class _Rows(NamedTuple):
    """What is read of a table."""

    X: NDArray[Any]
    labels: list[NDArray[Any]]  # of each block
    columns: list[TrainingColumn]
    weights: NDArray[Any] | None


def _read_rows(table: Table, roles: Roles, classifies: bool, rejects: Rejects | None, cells: list[Cells]) -> _Rows:
    """Rows, labels of each block, weights, and what the columns hold."""
    # A target that must be a number is read as one, beside the features, as weights are.
    features, target = roles.features, None if classifies else roles.target
    numbers = [j for j in (roles.weight, target) if j is not None]
    wanted = Wanted([*features, *numbers], roles.target if classifies else None, reject=rejects is not None,
                    cells=[*cells, *(Cells() for _ in numbers)] if cells else cells)
    labels, weights, n_rows = [], [], 0
    found: Sequence[Cells] = cells
    words = WordIndex()
    rounded: set[int] = set()
    held = table.X if isinstance(table, ArrayTable) and table.is_held(features) and rejects is None else None
    with Progress("reading", table.total) as bar, contextlib.closing(GatheredRows()) as rows:
        for block in table.reading(wanted).blocks():
            words.place(block)
            rounded.update(block.rounded)
            X = block.X[:, : len(features)]
            if held is None:
                n_expected = int(_ROOM * (n_rows + len(X)) * table.total / block.done) \
                    if table.total and block.done else 0
                rows.add(X, n_expected)
            labels.append(block.X[:, -1].copy() if target is not None else np.asarray(block.labels))
            weights.append(block.X[:, len(features)].copy() if roles.weight is not None else np.empty(0))
            n_rows += len(X)
            found = block.cells
            if rejects is not None:
                rejects.add(block.rejected)
            bar.update(block.done, n_rows)
        if not n_rows:
            refused = "" if rejects is None or not rejects.n_rows \
                else f" that can be used; {rejects.n_rows} are rejected"
            raise InvalidInputError(f"{table.path}: the file holds no rows{refused or ' below its header'}")
        X = rows.array() if held is None else held
    tell_rounded(table, [features[k] for k in sorted(rounded) if k < len(features)],
                 "leave the column out (--drop), or name it in --categorical")
    asked = [each.kind == CATEGORY for each in cells] or [False] * len(features)
    return _Rows(X, labels, settled(X, found, words, asked), np.concatenate(weights) if roles.weight is not None
                 else None)
