"""Rows that are gathered block by block: in memory, or in a file without a name where they are many."""

import contextlib
import math
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.raw import CATEGORY, DATE, EMPTY, NUMERIC, RawColumn, category, category_of_numbers
from .._column_map.survey import MAX_KEPT_LEVELS
from .._column_map.tables import RawTable
from .._estimator.registry import AUTOMATIC
from .._rows.row_blocks import RowBlocks, block_size
from ..errors import InvalidInputError
from .binary_table import ArrayTable
from .output import Progress, Rejects, UsageError, printable, say
from .table import (
    BLOCK_ROWS,
    UNKNOWN,
    Block,
    Cells,
    NamedRows,
    Table,
    Wanted,
    column_index,
    column_indices,
    column_label,
    is_code,
    is_missing,
    is_number,
    level_of_number,
    tell_rounded,
    to_labels,
    to_targets,
    truth_of,
)

# Bytes of rows that are held in memory; more of them go to a file.
HELD_BYTES = 1 << 30

_GROWTH = 8  # an array that is full grows by one part in eight, so that little of it stays unused


class GatheredRows:
    """Rows of blocks in one array, which grows in its place where the system can do that.

    Above `HELD_BYTES` they go on in a temporary file, which has no name and is gone when the array is.
    """

    def __init__(self) -> None:
        self._rows: NDArray[Any] | None = None
        self._n_rows = 0
        self._file: IO[bytes] | None = None

    def add(self, rows: NDArray[Any], n_expected: int = 0) -> None:
        """Append rows; there is room for as many in all as are expected, which takes memory when it is used."""
        size = max(1, math.prod(rows.shape[1:]) * rows.itemsize)
        needed = self._n_rows + len(rows)
        if self._rows is None:
            self._rows = np.empty((max(needed, min(n_expected, HELD_BYTES // size)), *rows.shape[1:]), rows.dtype)
        if self._file is None and needed * size > HELD_BYTES:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            _write(self._file, self._rows[: self._n_rows])
            self._rows = self._rows[:0].copy()
        if self._file is not None:
            _write(self._file, rows.astype(self._rows.dtype, copy=False))
        else:
            if needed > len(self._rows):
                room = max(needed, len(self._rows) + len(self._rows) // _GROWTH)
                self._rows.resize((room, *rows.shape[1:]), refcheck=False)
            self._rows[self._n_rows : needed] = rows
        self._n_rows = needed

    def array(self) -> NDArray[Any]:
        """All rows; those in a file are mapped into memory."""
        assert self._rows is not None
        if self._file is None:
            self._rows.resize((self._n_rows, *self._rows.shape[1:]), refcheck=False)
            return self._rows
        self._file.flush()
        return np.memmap(self._file, self._rows.dtype, "r+", shape=(self._n_rows, *self._rows.shape[1:]))

    def close(self) -> None:
        """Close the file; rows that are mapped stay."""
        if self._file is not None:
            self._file.close()


def _write(file: IO[bytes], rows: NDArray[Any]) -> None:
    file.write(np.ascontiguousarray(rows).data)


def is_in_file(rows: NDArray[Any]) -> bool:
    """Whether rows are in a file."""
    return isinstance(rows, np.memmap)


def in_file(values: NDArray[Any]) -> NDArray[Any]:
    """Values of rows in a file beside that of the rows."""
    with tempfile.TemporaryFile() as file:
        _write(file, values)
        file.flush()
        return np.memmap(file, values.dtype, "r+", shape=values.shape)


# Whole numbers are labels where they have at most so many distinct values, and these come twice on average.
MOST_LABELS = 20

# Distinct values that are kept at most: so many tell whether words or numbers prevail.
_MOST_KEPT = 10_000


def holds_labels(blocks: Sequence[NDArray[Any]]) -> bool:
    """Whether the cells of a target are labels.

    Words, truth values and codes such as 007 are; so are whole numbers of few distinct values.  A few words among many
    distinct numbers are taken for faults.  Several targets in a row are numbers.
    """
    if blocks[0].ndim > 1:
        return False
    words: set[str] = set()
    numbers: set[float] = set()
    for block in blocks:
        if block.dtype.kind not in "USiuf":
            return True
        if block.dtype.kind in "US":
            new_words, new_numbers = _sorted_out({str(cell) for cell in block.tolist()})
            words |= new_words if len(words) < _MOST_KEPT else set()
        else:
            new_numbers = set(np.unique(block).astype(np.float64).tolist())
        numbers |= new_numbers if len(numbers) < _MOST_KEPT else set()
    if words:
        return len(numbers) <= max(MOST_LABELS, len(words))
    finite = [number for number in numbers if np.isfinite(number)]
    are_few = len(finite) <= min(MOST_LABELS, sum(map(len, blocks)) // 2)
    return are_few and all(number.is_integer() for number in finite)


def _sorted_out(cells: set[str]) -> tuple[set[str], set[float]]:
    """Words and numbers; what stands for a missing value is neither."""
    present = {cell for cell in cells if not is_missing(cell)}
    words = {cell for cell in present if not is_number(cell) or is_code(cell)}
    return words, {float(cell) for cell in present - words}


def told_rule(name: str, y: NDArray[Any], are_labels: bool) -> str | None:
    """What is said of a target of numbers; None where words leave no doubt."""
    if y.dtype.kind not in "iuf":
        return None
    if y.ndim > 1:
        return f"{name} has {y.shape[1]} columns of numbers: regression"
    n_distinct = len(np.unique(y))
    if are_labels:
        return (f"{name} has {n_distinct} distinct whole numbers: classes; --model fourier_boosting_regressor would "
                "predict numbers")
    classes = "; --model fourier_boosting would make them classes" if (y == np.floor(y)).all() else ""
    return f"{name} has {n_distinct} distinct numbers: regression{classes}"


_TRUTH = ("False", "True")


class TrainingColumn(NamedTuple):
    """What a column holds."""

    kind: str
    levels: tuple[str, ...] = ()  # of a category, sorted
    n_missing: int = 0
    truth: bool = False  # whether its numbers 0 and 1 stand for False and True
    is_asked: bool = False  # whether the user wants it to be a category

    def raw(self, values: NDArray[Any]) -> RawColumn:
        """The column as a map takes it."""
        values = np.asarray(values, dtype=np.float64)
        if self.truth:
            return category(values, _TRUTH)
        return RawColumn(EMPTY if np.isnan(values).all() else self.kind, values, self.levels)


class WordIndex:
    """The words of the categories of all blocks, in the order in which they come."""

    def __init__(self) -> None:
        self._places: dict[int, dict[str, int]] = {}

    def place(self, block: Block) -> None:
        """Replace indices of the words of a block by those of the words of all blocks."""
        for k, words in block.levels.items():
            places = self._places.setdefault(k, {})
            table = np.array([*(self._place(places, word) for word in words), np.nan])
            codes = block.X[:, k]
            block.X[:, k] = table[np.where(np.isnan(codes), -1, codes).astype(np.intp)]

    def words(self, k: int) -> list[str]:
        """The words of a column."""
        return list(self._places.get(k, ()))

    def _place(self, places: dict[str, int], word: str) -> int:
        # A map drops a category of more levels than this: they are not told apart, so that memory is bounded.
        return places.setdefault(word, len(places)) if len(places) <= MAX_KEPT_LEVELS else places.get(word, 0)


def settled(X: NDArray[Any], cells: Sequence[Cells], words: WordIndex, asked: Sequence[bool]) -> list[TrainingColumn]:
    """What the columns hold; categories get their last form in X, where levels are sorted.

    `asked` says of each column whether the user wants it to be a category.
    """
    columns = []
    missing = sum((np.isnan(X[start : start + BLOCK_ROWS]).sum(axis=0) for start in range(0, len(X), BLOCK_ROWS)),
                  np.zeros(len(asked), dtype=np.int64))
    for k, (wanted, n_missing) in enumerate(zip(asked, missing.tolist(), strict=True)):
        values = X[:, k]
        kind = EMPTY if n_missing == len(values) or cells[k].kind == UNKNOWN else cells[k].kind
        found = RawColumn(kind, values)
        if kind == CATEGORY:
            found = category(values, _as_levels(words.words(k)))
        elif wanted and kind == NUMERIC:
            found = category(values, _TRUTH) if cells[k].truth else category_of_numbers(RawColumn(NUMERIC, values))
        if found.levels:
            values[:] = found.values
        columns.append(TrainingColumn(found.kind, found.levels, n_missing, cells[k].truth and not found.levels,
                                      wanted))
    return columns


def _as_levels(words: list[str]) -> list[str]:
    """Names of levels: truth values as Python writes them, and numbers by their value if all words are numbers."""
    truth = [truth_of(word) for word in words]
    if None not in truth:
        return [str(value) for value in truth]
    if all(is_number(word) and not is_code(word) for word in words):
        return [level_of_number(word) for word in words]
    return words


class Roles(NamedTuple):
    """Columns of a table by their indices."""

    features: list[int]
    target: int | None  # None where labels stand beside the rows
    weight: int | None  # None where all rows count alike

    def in_table(self, table: Table, other: Table) -> "Roles":
        """The same columns of another table: by name where both have names, else by place."""
        if table.columns is None or other.columns is None:
            if other.n_columns != table.n_columns:
                raise InvalidInputError(f"{other.path}: expected {table.n_columns} columns, as {table.path} has, got "
                                        f"{other.n_columns}")
            return self
        names = table.columns
        features = [column_index(other, names[j]) for j in self.features]
        target, weight = (None if j is None else column_index(other, names[j]) for j in (self.target, self.weight))
        return Roles(features, target, weight)


def roles_of(table: Table, target: str | None, weight: str | None, features: Sequence[str],
             dropped: Sequence[str]) -> Roles:
    """What the arguments of a command say; the target is the last column of which they say nothing."""
    out, chosen = column_indices(table, dropped), column_indices(table, features)
    weighing = None if weight is None else column_index(table, weight)
    taken = {"--drop": out, "--features": chosen, "--weight": [] if weighing is None else [weighing]}
    if target is not None:
        taken["--target"] = [column_index(table, target)]
    else:
        rest = [j for j in range(table.n_columns) if not any(j in some for some in taken.values())]
        taken["--target"] = rest[-1:] if rest and not table.has_labels else []
    places: dict[int, str] = {}
    for option, columns in taken.items():
        for j in columns:
            if places.setdefault(j, option) != option:
                raise UsageError(f"{option} and {places[j]} must name different columns, got "
                                 f"{column_label(j, table.columns)} for both")
    learned = sorted(chosen) if features else [j for j in range(table.n_columns) if j not in places]
    if not learned or not (taken["--target"] or table.has_labels):
        raise InvalidInputError(f"{table.path}: expected at least one column besides the labels")
    return Roles(learned, next(iter(taken["--target"]), None), weighing)


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
