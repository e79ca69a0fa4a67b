"""All rows of a table, held once, to train on."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._columns.raw import CATEGORY, DATE, EMPTY
from .._columns.tables import RawTable
from .._estimator.registry import AUTOMATIC
from ..errors import InvalidInputError
from .array_table import ArrayTable
from .labels import to_labels, to_targets
from .progress import Progress
from .rejects import Rejects
from .streams import printable, say
from .table import UNKNOWN, Cells, NamedRows, Table, Wanted, column_index, column_indices, column_label
from .target_rule import holds_labels, told_rule
from .training_columns import TrainingColumn, WordIndex, settled
from .usage import UsageError

_GROWTH = 8  # an array that is full grows by one part in eight, so that little of it stays unused


class TrainingTable(NamedTuple):
    """Rows and what is to be learned of them."""

    X: NDArray[Any]
    y: NDArray[Any]
    names: list[str] | None  # of the columns
    columns: list[TrainingColumn]  # what they hold
    has_labels: bool = True  # whether y holds labels; else numbers

    def named(self) -> Any:
        """Numbers in the form that a model learns the column names from."""
        return NamedRows(self.X, self.names) if self.names else self.X

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
        """What messages call the columns."""
        return self.names or [f"x{k}" for k in range(len(self.columns))]

    def divided(self, held_out: NDArray[np.bool_]) -> "tuple[TrainingTable, TrainingTable]":
        """The rows that are not held out, and those that are; the array is used again for the former."""
        rest = self._replace(X=self.X[held_out], y=self.y[held_out])
        if not held_out.any():
            return self, rest
        n_kept = 0
        for start in range(0, len(self.X), 8192):  # a row never moves down, so none is overwritten before it is read
            rows = self.X[start : start + 8192][~held_out[start : start + 8192]]
            self.X[n_kept : n_kept + len(rows)] = rows
            n_kept += len(rows)
        return self._replace(X=self.X[:n_kept], y=self.y[~held_out]), rest


class _GrowingArray:
    """Rows of blocks in one array, which grows in its place where the system can do that."""

    def __init__(self) -> None:
        self._rows: NDArray[Any] | None = None
        self._n_rows = 0

    def add(self, rows: NDArray[Any]) -> None:
        """Append rows."""
        if self._rows is None:
            self._rows = np.empty((0, *rows.shape[1:]), rows.dtype)
        needed = self._n_rows + len(rows)
        if needed > len(self._rows):
            self._rows.resize((max(needed, len(self._rows) + len(self._rows) // _GROWTH), *rows.shape[1:]),
                              refcheck=False)
        self._rows[self._n_rows : needed] = rows
        self._n_rows = needed

    def array(self) -> NDArray[Any]:
        """All rows."""
        assert self._rows is not None
        self._rows.resize((self._n_rows, *self._rows.shape[1:]), refcheck=False)
        return self._rows


def read_training(table: Table, target_text: str | None, drop: list[str], classifies: bool | None,
                  rejects: Rejects | None, categorical: list[str] | None = None) -> TrainingTable:
    """All rows of a table, with labels or targets; `classifies` says which, None that they tell it.

    `categorical` names columns that are categories; without it, all columns are numbers without gaps.
    """
    dropped = column_indices(table, drop)
    usable = [j for j in range(table.n_columns) if j not in dropped]
    target = None if table.has_labels or not usable else usable[-1]
    if target_text is not None:
        target = column_index(table, target_text)
        if target in dropped:
            raise UsageError(f"--target and --drop must name different columns, got {target_text!r} for both")
    features = [j for j in usable if j != target]
    if not features:
        raise InvalidInputError(f"{table.path}: expected at least one column besides the labels")
    names = [table.columns[j] for j in features] if table.columns else None
    marked = column_indices(table, categorical or ())
    for j in marked:
        if j not in features:
            raise UsageError(f"--categorical must name columns to train on, got {column_label(j, table.columns)}")
    cells = [] if categorical is None else [Cells(CATEGORY if j in marked else UNKNOWN, gaps=True) for j in features]
    X, labels, columns = _read_rows(table, features, target, classifies is not False, rejects, cells)
    has_labels = holds_labels(labels) if classifies is None else classifies
    try:
        y = _checked_labels(table, labels) if has_labels else to_targets(labels, table.path)
    except InvalidInputError as error:
        if classifies is None and not has_labels and rejects is not None:  # the cells were read as words
            raise InvalidInputError(f"{error}; --model {AUTOMATIC[1]} rejects such rows") from error
        raise
    told = told_rule(_target_name(table, target), y, has_labels) if classifies is None else None
    if told is not None:
        say(printable(f"{table.path}: {told}"))
    return TrainingTable(X, y, names, columns, has_labels)


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
    return f"target {table.columns[target]!r}" if table.columns else f"target column {target + 1}"


def _read_rows(table: Table, features: list[int], target: int | None, classifies: bool, rejects: Rejects | None,
               cells: list[Cells]) -> tuple[NDArray[Any], list[NDArray[Any]], list[TrainingColumn]]:
    """Rows, labels of each block, and what the columns hold."""
    # A target that must be a number is read as one, beside the features.
    as_number = not classifies and target is not None
    wanted = Wanted([*features, target] if as_number and target is not None else features,
                    None if as_number else target, reject=rejects is not None,
                    cells=[*cells, Cells()] if cells and as_number else cells)
    rows, labels, n_rows = _GrowingArray(), [], 0
    found: Sequence[Cells] = cells
    words = WordIndex()
    held = table.X if isinstance(table, ArrayTable) and table.is_held(features) and rejects is None else None
    with Progress("reading", table.total) as bar:
        for block in table.reading(wanted).blocks():
            words.place(block)
            X = block.X[:, : len(features)]
            if held is None:
                rows.add(X)
            labels.append(block.X[:, -1].copy() if as_number else np.asarray(block.labels))
            n_rows += len(X)
            found = block.cells
            if rejects is not None:
                rejects.add(block.rejected)
            bar.update(block.done, n_rows)
    if not n_rows:
        refused = "" if rejects is None or not rejects.n_rows else f" that can be used; {rejects.n_rows} are rejected"
        raise InvalidInputError(f"{table.path}: the file holds no rows below its header" if not refused
                                else f"{table.path}: the file holds no rows{refused}")
    X = rows.array() if held is None else held
    asked = [each.kind == CATEGORY for each in cells] or [False] * len(features)
    return X, labels, settled(X, found, words, asked)
