"""The rows that `rffkern fit` trains on: the roles of columns, all rows of a table, and what the columns contain."""

import argparse
import contextlib
import itertools
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.cells import (
    BOOLEANS,
    CATEGORY,
    DATE,
    EMPTY,
    NUMERIC,
    Reading,
    infer_reading,
    is_code,
    is_integer,
    is_missing,
    is_number,
    levels_of_texts,
)
from .._column_map.column_map import ColumnMap
from .._column_map.copies import copies_in_memory
from .._column_map.learning import MAX_KEPT_LEVELS, words_on_dropped
from .._column_map.tables import RawColumn, RawTable, category, category_of_numbers, recoded
from .._estimator.registry import AUTOMATIC
from .._rows.row_blocks import RowBlocks, block_size
from .._rows.validation import NamedRows, integer_dtype
from ..errors import InvalidInputError
from .binary_table import ArrayTable
from .output import Progress, RejectedRows, UsageError, say
from .table import (
    BLOCK_ROWS,
    LINES_ABOVE,
    NUMBERS_OF_DATES,
    ROW_1_IS_DATA,
    UNKNOWN,
    Block,
    ColumnType,
    Selection,
    Table,
    as_numbers,
    column_index,
    column_indices,
    column_label,
    read_targets,
    target_format,
    warn_rounded,
)

# Integers are labels if they have at most so many distinct values, and these occur twice on average.
MAX_INTEGER_LABELS = 20

# Options that may name one column: rows may be in order of a feature, and times and groups need not be learned from.
_SHARED = {("--drop", "--time"), ("--features", "--time"), ("--drop", "--groups"), ("--time", "--groups")}


class Roles(NamedTuple):
    """Columns of a table by their indices."""

    features: list[int]
    target: int | None  # None: labels are stored beside the rows
    weight: int | None  # None: all rows have the same weight
    time: int | None = None  # by which rows are put in order; it may be a feature
    group: int | None = None  # rows with the same value are held out together; no feature


def column_roles(table: Table, arguments: argparse.Namespace) -> Roles:
    """The roles that the options of `rffkern fit` ask for; the target is the last column that they do not name."""
    columns_of = {f"--{option}": column_indices(table, getattr(arguments, option)) for option in ("drop", "features")}
    for option in ("weight", "target", "time", "groups"):
        name = getattr(arguments, option)
        columns_of[f"--{option}"] = [] if name is None else [column_index(table, name)]
    if arguments.target is None and not table.has_labels:
        named = {*itertools.chain(*columns_of.values())}
        columns_of["--target"] = [j for j in range(table.n_columns) if j not in named][-1:]
    for (other, columns), (option, more) in itertools.combinations(columns_of.items(), 2):
        both = [j for j in more if j in columns]
        if both and (other, option) not in _SHARED:
            raise UsageError(f"{option} and {other} must name different columns, got "
                             f"{column_label(both[0], table.columns)} for both")
    taken = {j for option, columns in columns_of.items() if option != "--time" for j in columns}
    trained = sorted(columns_of["--features"]) or [j for j in range(table.n_columns) if j not in taken]
    if table.n_columns == 1 and not table.has_labels:
        shown = f", {table.columns[0]!r}" if table.columns else ""
        raise InvalidInputError(f"{table.path}: expected columns to learn from beside the labels, got one column{shown}"
                                ": if something else than a comma, semicolon, tab or bar separates the columns, pass "
                                f"--delimiter{LINES_ABOVE}")
    if not trained or not (columns_of["--target"] or table.has_labels):
        options = ", ".join(option for option, columns in columns_of.items() if columns)
        raise InvalidInputError(f"{table.path}: expected at least one column besides the labels, got "
                                f"{table.n_columns}, all named by {options}")
    return Roles(trained, *(next(iter(columns_of[option]), None)
                            for option in ("--target", "--weight", "--time", "--groups")))


def matching_roles(roles: Roles, table: Table, other: Table) -> Roles:
    """The same columns of another table: by name if both have names, else by position."""
    if table.columns is None or other.columns is None:
        if other.n_columns != table.n_columns:
            raise InvalidInputError(f"{other.path}: expected {table.n_columns} columns, as {table.path} has, got "
                                    f"{other.n_columns}")
        return roles
    features = [column_index(other, table.columns[j]) for j in roles.features]
    target, weight = (None if j is None else column_index(other, table.columns[j])
                      for j in (roles.target, roles.weight))
    return Roles(features, target, weight)  # all are held out


def with_categories(model: Any, columns: Any, categorical: Sequence[Any]) -> Any:
    """The parameter `columns` of a model with names or indices of columns of numbers that are to be categories."""
    if categorical and columns == "auto":
        columns = model._default_map()
    if categorical and isinstance(columns, ColumnMap):
        columns = ColumnMap(**{**columns.get_params(), "categorical_features": categorical})
    return columns


def report_dropped(model: Any) -> None:
    """Say which columns a trained model does not use, and why."""
    column_map = getattr(model, "column_map_", None)
    dropped = "" if column_map is None else words_on_dropped(column_map.describe(), _shown)
    if dropped:
        say(f"columns not used: {dropped}")


def _shown(column: Any) -> str:
    return str(column) or "a column without a name"


class ColumnContents(NamedTuple):
    """What a column of a training table contains."""

    kind: str
    levels: tuple[str, ...] = ()  # of a category, sorted
    n_missing: int = 0
    boolean: bool = False  # whether its numbers 0 and 1 mean False and True
    categorical: bool = False  # whether the user asked for a category
    reading: Reading | None = None  # of text that is not plain numbers

    def raw(self, values: NDArray[Any]) -> RawColumn:
        """The column as a column map takes it."""
        values = np.asarray(values, dtype=np.float64)
        if self.boolean:
            return category(values, BOOLEANS)
        return RawColumn(EMPTY if np.isnan(values).all() else self.kind, values, self.levels, self.reading)


class TrainingTable(NamedTuple):
    """Rows with their targets."""

    X: NDArray[Any]
    y: NDArray[Any]
    names: list[str] | None  # of the columns
    columns: list[ColumnContents]
    features: list[int]  # indices of the columns in the table
    has_labels: bool = True  # whether y contains labels; else numbers
    weights: NDArray[Any] | None = None  # of the rows
    times: NDArray[Any] | None = None  # of the rows, which are in their order
    groups: NDArray[Any] | None = None  # of the rows, numbers
    target_format: str = ""  # of targets in text, as in `Reading`

    def categorical(self) -> list[Any]:
        """Names, or indices, of the columns that the user wants to be categories."""
        return [self.names[k] if self.names else k for k, column in enumerate(self.columns) if column.categorical]

    def for_model(self, model: Any) -> Any:
        """The rows as a model takes them, by its parameter `columns`."""
        is_mapped = isinstance(model.columns, ColumnMap) or (model.columns and self.has_categories())
        return self.raw() if is_mapped else self.numbers()

    def numbers(self) -> Any:
        """The rows as `fit` takes numbers with column names; those in a file are read block by block."""
        if isinstance(self.X, np.memmap):
            return RowBlocks(self._blocks)
        return NamedRows(self.X, self.names) if self.names else self.X

    def _blocks(self) -> Iterator[Any]:
        size = block_size(self.X.shape[1])
        for start in range(0, len(self.X), size):
            rows = self.X[start : start + size].view(np.ndarray)
            yield NamedRows(rows, self.names) if self.names else rows

    def raw(self) -> Any:
        """The rows as a column map takes them; the array is reused."""
        if self.X.dtype == np.float32 and not self.names and all(column.levels == () for column in self.columns):
            return self.X
        self.X[...] += 0.0  # no -0.0, as in tables of other types
        return RawTable(tuple(self.names) if self.names else None,
                        [column.raw(values) for column, values in zip(self.columns, self.X.T, strict=True)],
                        len(self.X))

    def groups_or_copies(self) -> NDArray[Any] | None:
        """The group of each row, of which no part is held out: as given, or all copies of a row where these are many.

        Copies count if a column of numbers tells rows apart: those that have the same level and label are no copies.
        """
        if self.groups is not None:
            return self.groups
        columns = [column.raw(self.X[:, j]) for j, column in enumerate(self.columns)]
        return copies_in_memory(RawTable(None, columns, len(self.X)), self.y, np.ones(len(self.y)))

    def needs_map(self) -> bool:
        """Whether a column has missing values, or does not contain numbers."""
        return self.has_categories() or any(column.kind == EMPTY or column.n_missing for column in self.columns)

    def has_categories(self) -> bool:
        """Whether a column contains categories, dates, booleans or numbers with marks."""
        return any(column.kind in (CATEGORY, DATE) or column.boolean or column.reading for column in self.columns)

    def split(self, held_out: NDArray[np.bool_]) -> "tuple[TrainingTable, TrainingTable]":
        """The rows that are not held out, for which the array is reused, and those that are."""
        rest = self.taken(held_out)
        if not held_out.any():
            return self, rest
        n_kept = 0
        for start in range(0, len(self.X), BLOCK_ROWS):  # rows move up only: none is overwritten before it is read
            rows = self.X[start : start + BLOCK_ROWS][~held_out[start : start + BLOCK_ROWS]]
            self.X[n_kept : n_kept + len(rows)] = rows
            n_kept += len(rows)
        return self._replace(X=self.X[:n_kept], **self._beside(~held_out)), rest

    def taken(self, chosen: NDArray[np.bool_]) -> "TrainingTable":
        """A copy of some of the rows, in memory."""
        return self._replace(X=np.asarray(self.X[chosen]), **self._beside(chosen))

    def _beside(self, chosen: NDArray[Any]) -> dict[str, Any]:
        """What there is of some of the rows beside X, copied."""
        each = {name: getattr(self, name) for name in ("y", "weights", "times", "groups")}
        return {name: None if values is None else np.asarray(values[chosen]) for name, values in each.items()}

    def in_order(self) -> "TrainingTable":
        """The rows in order of time, those of the same time as they come."""
        if self.times is None or (self.times[1:] >= self.times[:-1]).all():
            return self
        order = np.argsort(self.times, kind="stable")
        with contextlib.closing(GrowingArray()) as rows:
            for start in range(0, len(order), BLOCK_ROWS):
                rows.add(self.X[order[start : start + BLOCK_ROWS]], len(order))
            return self._replace(X=rows.array(), **self._beside(order))


def read_training(table: Table, roles: Roles, classify: bool | None, rejected: RejectedRows,
                  categorical: list[str] | None = None) -> TrainingTable:
    """All rows of a table, with labels if `classify`, else with numbers as targets; None: the target decides.

    `categorical` names columns that are categories; None: all columns are numbers without missing values.
    """
    marked = column_indices(table, categorical or ())
    for j in marked:
        if j not in roles.features:
            raise UsageError(f"--categorical must name columns to train on, got {column_label(j, table.columns)}")
    types = [] if categorical is None else [ColumnType(CATEGORY if j in marked else UNKNOWN, nullable=True)
                                            for j in roles.features]
    read = _read_rows(table, roles, classify is not False, rejected, types)
    if len(read.X) < 2:
        first = ROW_1_IS_DATA if table.columns and table.header_guessed else ""
        raise InvalidInputError(f"{table.path}: expected at least 2 rows to train on, got 1: add rows{first}")
    labels, has_labels, read_as = read.labels, classify is True, ""
    if classify is None:
        has_labels, read_as = task_of(labels, len(read.X))
    if has_labels:
        y = to_labels(labels, table.path)
    elif classify is False:
        y = to_targets(labels, table.path)
    else:  # it was read as labels, of which none is rejected
        y = to_targets(labels, table.path, f"; correct it, or skip such rows with --model {AUTOMATIC[1]} --reject FILE")
        read = read._replace(target_format=target_format(np.concatenate(labels)))
    if has_labels and table.header_guessed and table.columns is None and len(y) > 2 and (y[1:] != y[0]).all():
        raise InvalidInputError(f"{table.path}: row 1 may be column names: its label {str(y[0])!r} occurs in no other "
                                "row; pass --header yes or --header no")
    _check_distinct(table, roles.target, y, has_labels, classify is None, read_as)
    if isinstance(read.X, np.memmap) and y.dtype.kind in "iuf":
        y = _in_file(y)
    names = [table.columns[j] for j in roles.features] if table.columns else None
    return TrainingTable(read.X, y, names, read.columns, roles.features, has_labels, read.weights, read.times,
                         read.groups, read.target_format).in_order()


def _check_distinct(table: Table, target: int | None, y: NDArray[Any], has_labels: bool, decides: bool, read_as: str
                    ) -> None:
    """Refuse labels of one class or of a class for each row, and say what y is taken for, where it decides that."""
    words = distinct_words(y)
    is_chosen = decides and y.dtype.kind in "iuf"  # few words leave no doubt
    n_distinct = len(words or np.unique(y)) if has_labels or is_chosen else 0
    name = "y" if target is None else repr(table.columns[target]) if table.columns \
        else f"column {column_label(target, None)}"
    if decides:
        refuse_dates(words, len(y), f"{table.path}: target {name}")
    if has_labels and n_distinct == 1 and y.ndim == 1 < len(y):
        advice = "" if y.dtype.kind == "U" else f"; to train a constant, pass --model {AUTOMATIC[1]}"
        raise InvalidInputError(f"{table.path}: target {name} must hold at least two classes, got {y[0].item()!r} in "
                                f"all {len(y)} rows: name the column of labels by --target{advice}")
    if MAX_INTEGER_LABELS < len(words) == len(y):  # of which no row says anything of another
        raise InvalidInputError(f"{table.path}: target {name} has another text in each of {len(y)} rows, such as "
                                f"{words[0]!r}: name the column of labels by --target")
    if is_chosen or n_distinct > MAX_INTEGER_LABELS:
        say(f"{table.path}: target {name} {_task_message(y, has_labels, n_distinct)}{read_as}")
    for word in filter(is_missing, words):
        say(f"{table.path}: {(y == word).sum()} rows have the label {word!r}, which becomes a class; if it means that "
            "the label is missing, remove these rows")
    _remark_cases(y, words, table.path)


def distinct_words(labels: NDArray[Any]) -> list[str]:
    """The distinct labels that are text, in the order in which they come."""
    return list(dict.fromkeys(labels.tolist())) if labels.dtype.kind == "U" and labels.ndim == 1 else []


def refuse_dates(words: Sequence[str], n_rows: int, name: str) -> None:
    """Refuse a target of many dates, of which nobody asked to make classes."""
    reading = infer_reading(words) if len(words) > MAX_INTEGER_LABELS else None
    if reading is not None and reading.kind == DATE:
        as_classes = "" if len(words) == n_rows else f"; if each date is a class, pass --model {AUTOMATIC[0]}"
        raise InvalidInputError(f"{name} has {len(words)} different dates, such as {words[0]!r}: {NUMBERS_OF_DATES}, "
                                f"or name another column by --target{as_classes}")


def _remark_cases(y: NDArray[Any], words: Sequence[str], path: str) -> None:
    """Say which labels differ in case alone, as No and no."""
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(word.casefold(), []).append(word)
    alike = [group for group in groups.values() if len(group) > 1]
    if alike:
        counts = [(word, int((y == word).sum())) for word in alike[0]]
        shown = " and ".join(f"{word!r} ({n} row{'s' if n > 1 else ''})" for word, n in counts)
        more = f" (and {len(alike) - 1} more such group{'s' if len(alike) > 2 else ''})" if len(alike) > 1 else ""
        say(f"{path}: labels that differ in case alone become classes of their own: {shown}{more}; if they mean the "
            "same, write them alike")


def read_eval(table: Table, roles: Roles, training: TrainingTable) -> TrainingTable:
    """All rows of another table, whose columns must be of the same kinds as those of the training table."""
    kinds = [CATEGORY if column.levels or column.boolean else column.kind for column in training.columns]
    types = [ColumnType(kind, nullable=True, format="" if column.reading is None else column.reading.format)
             for kind, column in zip(kinds, training.columns, strict=True)]
    roles = roles._replace(time=None, group=None)
    read = _read_rows(table, roles, training.has_labels, RejectedRows(None, None), types, training.target_format)
    if not training.has_labels:
        y: NDArray[Any] = to_targets(read.labels, table.path)
    elif training.y.dtype.kind == "U":
        y = np.concatenate(read.labels)
    else:
        y = to_labels(read.labels, table.path)
    return training._replace(X=read.X, y=y, columns=read.columns, weights=read.weights, times=None, groups=None)


class _RowsRead(NamedTuple):
    """All rows of a table, as they are read."""

    X: NDArray[Any]
    labels: list[NDArray[Any]]  # of each block
    columns: list[ColumnContents]
    weights: NDArray[Any] | None
    times: NDArray[Any] | None
    groups: NDArray[Any] | None
    target_format: str  # of targets that are numbers in text


def _read_rows(table: Table, roles: Roles, classify: bool, rejected: RejectedRows, types: list[ColumnType],
               known_format: str = "") -> _RowsRead:
    """The rows of a table with what stands beside the features, in columns of these roles.

    The format of targets may be known of other rows.
    """
    # What is read next to the features: a target that must be a number, weights, times and groups.
    features, target = roles.features, None if classify else roles.target
    time = roles.time if roles.time not in features else None
    of_target = ColumnType(NUMERIC if known_format else UNKNOWN, format=known_format, is_target=True)
    beside = {j: each for j, each in ((roles.weight, ColumnType()), (target, of_target),
                                      (time, ColumnType(UNKNOWN)),
                                      (roles.group, ColumnType(CATEGORY))) if j is not None}
    types = [each._replace(nullable=each.nullable and j != roles.time)
             for j, each in zip(features, types or [ColumnType()] * len(features), strict=True)]
    places: dict[int | None, int] = {j: k for k, j in enumerate([*features, *beside])}
    selection = Selection([*features, *beside], roles.target if classify else None, reject=rejected.path is not None,
                          types=[*types, *beside.values()])
    labels, n_rows = [], 0
    of_rows: dict[int, list[NDArray[Any]]] = {j: [] for j in (roles.weight, roles.time, roles.group) if j is not None}
    found: Sequence[ColumnType] = types
    categories, groups = CategoryIndex(MAX_KEPT_LEVELS), CategoryIndex(sys.maxsize)
    rounded: set[int] = set()
    X = table.X if isinstance(table, ArrayTable) and table.in_memory(features) and rejected.path is None else None
    with Progress("reading", table.total) as bar, contextlib.closing(GrowingArray()) as rows:
        raw_blocks, parse = table.read(selection)
        for block in map(parse, raw_blocks):
            for k in block.levels:
                (groups if k == places.get(roles.group) else categories).recode(block, k)
            rounded.update(block.rounded)
            if X is None:
                rows.add(block.X[:, : len(features)], _expected_rows(table, block, n_rows))
            labels.append(block.X[:, places[target]].copy() if target is not None else np.asarray(block.labels))
            for j, values in of_rows.items():
                values.append(block.X[:, places[j]].copy())
            n_rows += len(block.X)
            found = block.types
            rejected.add(block.rejected)
            bar.update(block.done, n_rows)
        if not n_rows:
            reason = f" that can be used; {rejected.n_rows} are rejected" if rejected.n_rows else " below its header"
            raise InvalidInputError(f"{table.path}: the file contains no rows{reason}")
        X = rows.array() if X is None else X
    warn_rounded(table, [features[k] for k in sorted(rounded) if k < len(features)],
                 "exclude the column (--drop), or list it in --categorical")
    weights, times, row_groups = (None if j is None else np.concatenate(of_rows[j])
                                  for j in (roles.weight, roles.time, roles.group))
    _check_beside(table, roles, None if roles.time is None else found[places[roles.time]].kind, times, row_groups)
    asked = [each.kind == CATEGORY for each in types]
    return _RowsRead(X, labels, _contents(X, found, categories, asked), weights, times, row_groups,
                     "" if target is None else found[places[target]].format)


def _check_beside(table: Table, roles: Roles, kind_of_time: str | None, times: NDArray[Any] | None,
                  groups: NDArray[Any] | None) -> None:
    """Refuse times and groups by which rows cannot be put in order or held out."""
    if kind_of_time not in (None, NUMERIC, DATE):
        raise InvalidInputError(f"{table.path}: --time needs a column of numbers or of dates such as 2024-03-01 or "
                                f"2024-03-01 12:30, column {column_label(roles.time or 0, table.columns)} has other "
                                "values")
    for option, column, each in (("--time", roles.time, times), ("--groups", roles.group, groups)):
        if column is not None and each is not None and np.isnan(each).any():
            raise InvalidInputError(f"{table.path}: {option} needs a value in each row, column "
                                    f"{column_label(column, table.columns)} has none in data row "
                                    f"{int(np.isnan(each).argmax()) + 1}; fill it in, or remove the row")
    if times is not None and (times == times[0]).all():
        raise InvalidInputError(f"{table.path}: --time needs two times or more, column "
                                f"{column_label(roles.time or 0, table.columns)} has the same in all rows: leave out "
                                "--time")


def _expected_rows(table: Table, block: Block, n_rows: int) -> int:
    """How many rows the table may have; 2 % more, as the next rows may be shorter in the file than these."""
    return int(1.02 * (n_rows + len(block.X)) * table.total / block.done) if table.total and block.done else 0


class CategoryIndex:
    """The levels of the categories of all blocks, in the order in which they come; of each category at most some."""

    def __init__(self, most_levels: int) -> None:
        self._codes: dict[int, dict[str, int]] = {}
        self._most_levels = most_levels

    def recode(self, block: Block, k: int) -> None:
        """Replace the codes of a column of a block by those of all blocks."""
        index = self._codes.setdefault(k, {})
        # A column map drops a category of more levels than this: the others share a code, so that memory is bounded.
        codes = [index.setdefault(level, len(index)) if len(index) <= self._most_levels else index.get(level, 0)
                 for level in block.levels[k]]
        block.X[:, k] = recoded(block.X[:, k], np.array([*codes, np.nan]))

    def levels(self, k: int) -> list[str]:
        """The levels of a column: booleans as Python writes them, and numbers by value if all are numbers."""
        texts = list(self._codes.get(k, ()))
        return [str(level) for level in levels_of_texts(texts, Reading(CATEGORY, "levels"))]


def _contents(X: NDArray[Any], types: Sequence[ColumnType], categories: CategoryIndex, asked: Sequence[bool]
              ) -> list[ColumnContents]:
    """What the columns contain; the codes of categories in X become those of sorted levels.

    `asked` says which columns the user wants to be categories.
    """
    columns = []
    missing = sum((np.isnan(X[start : start + BLOCK_ROWS]).sum(axis=0) for start in range(0, len(X), BLOCK_ROWS)),
                  np.zeros(len(asked), dtype=np.int64))
    for k, (wanted, n_missing) in enumerate(zip(asked, missing.tolist(), strict=True)):
        values, each = X[:, k], types[k]
        kind = EMPTY if n_missing == len(values) or each.kind == UNKNOWN else each.kind
        raw = RawColumn(kind, values)
        if kind == CATEGORY:
            raw = category(values, categories.levels(k))
        elif wanted and kind == NUMERIC:
            raw = category(values, BOOLEANS) if each.boolean else category_of_numbers(RawColumn(NUMERIC, values))
        if raw.levels:
            values[:] = raw.values
        reading = each.reading if (each.format or each.words) and raw.kind in (NUMERIC, DATE) else None
        boolean = each.boolean and not raw.levels
        columns.append(ColumnContents(raw.kind, raw.levels, n_missing, boolean, wanted, reading))
    return columns


# --- targets

MAX_DISTINCT = 10_000  # values that are collected: enough to decide whether text or numbers prevail


def task_of(blocks: Sequence[NDArray[Any]], n_rows: int) -> tuple[bool, str]:
    """Whether a target is labels, and what numbers with marks are read as; "" where there are none.

    The blocks have its values, of so many rows, or these without repetition.
    """
    has_labels, read_as = is_classification(blocks, n_rows), example_of_marks(blocks)
    if read_as and has_labels:  # few numbers stay labels, as they are written: "5 kg"
        targets, odd = read_targets(np.concatenate(blocks))
        has_labels = not odd and not np.isnan(targets).any() and is_classification([targets], n_rows)
    return has_labels, read_as


def is_classification(blocks: Sequence[NDArray[Any]], n_rows: int) -> bool:
    """Whether the values of a target of so many rows are labels.

    Text, booleans and codes such as 007 are; so are integers with few distinct values.  Some text among many distinct
    numbers is taken for an error.  Several targets per row are numbers.
    """
    if blocks[0].ndim > 1:
        return False
    texts: set[str] = set()
    numbers: set[float] = set()
    for block in blocks:
        if block.dtype.kind not in "USiuf":
            return True
        if block.dtype.kind in "US":
            present = {str(cell) for cell in block.tolist() if not is_missing(str(cell))}
            new_texts = {cell for cell in present if not is_number(cell) or is_code(cell)}
            new_numbers = {float(cell) for cell in present - new_texts}
            texts |= new_texts if len(texts) < MAX_DISTINCT else set()
        else:
            new_numbers = set(np.unique(block).astype(np.float64).tolist())
        numbers |= new_numbers if len(numbers) < MAX_DISTINCT else set()
    if texts:
        return len(numbers) <= max(MAX_INTEGER_LABELS, len(texts))
    finite = [number for number in numbers if np.isfinite(number)]
    few = len(finite) <= min(MAX_INTEGER_LABELS, n_rows // 2)
    return few and all(number.is_integer() for number in finite)


def example_of_marks(blocks: Sequence[NDArray[Any]]) -> str:
    """What a target is read as, if it is numbers in text, some with marks, a currency or a unit; else "".

    Few texts among them are no labels, but errors.
    """
    if any(block.dtype.kind != "U" or block.ndim > 1 for block in blocks):
        return ""
    distinct = list(dict.fromkeys(cell for block in blocks for cell in block.tolist()))
    marked = [cell for cell in distinct if not (is_number(cell) or is_missing(cell))]
    reading = infer_reading(distinct) if marked else None
    if reading is None or reading.kind != NUMERIC:
        return ""
    cells = np.concatenate(blocks)
    example = next((cell for cell in marked if cell not in reading.words), marked[0])
    return f"; {example!r} is read as {read_targets(cells)[0][np.flatnonzero(cells == example)[0]]:.15g}"


def _task_message(y: NDArray[Any], has_labels: bool, n_distinct: int) -> str:
    """What is chosen for a target, and of numbers how to choose the other task."""
    if y.ndim > 1:
        return f"has {y.shape[1]} columns of numbers: regression"
    if y.dtype.kind not in "iuf":
        doubt = "" if 2 * n_distinct <= len(y) else "; most rows have one of their own: --target names another column"
        # Labels of numbers stay text where one of them is none, as N/A, or a code, as 007.
        odd = [word for word in np.unique(y).tolist() if not is_number(word)] if y.dtype.kind == "U" else []
        which = f", of which {odd[0]!r} is no number" if 0 < 2 * len(odd) < n_distinct else " that are no numbers" \
            if odd else ", which are read as labels"
        return f"has {n_distinct} distinct values{which}: classification{doubt}"
    if has_labels:
        return f"has {n_distinct} distinct numbers: classification; for regression, pass --model {AUTOMATIC[1]}"
    other = f"; for classification, pass --model {AUTOMATIC[0]}" if (y == np.floor(y)).all() else ""
    if n_distinct == 1:
        return "has the same number in all rows, of which nothing can be learned: regression" + other
    return f"has {n_distinct} distinct numbers: regression{other}"


def to_labels(blocks: Sequence[NDArray[Any]], path: str) -> NDArray[Any]:
    """Labels of all blocks as one array; InvalidInputError names the first number that is not finite.

    Text becomes integers if all labels are integers, else floats if all are numbers.  It stays text if a label has a
    leading zero, if two labels are the same number, or if 64-bit integers cannot represent them.
    """
    if any(block.dtype.kind != "U" or block.ndim > 1 for block in blocks):
        labels = np.concatenate(blocks)
        if labels.dtype.kind == "f":
            _check_finite(labels, labels, path, "label")
        if labels.dtype.kind != "U" or labels.ndim > 1:
            return labels
        blocks = [labels]
    texts = {text for block in blocks for text in block.tolist()}
    if not all(map(is_number, texts)):
        return np.concatenate(blocks)
    values: dict[str, Any] = {text: float(text) for text in texts}
    if not all(map(math.isfinite, values.values())):
        labels = np.concatenate(blocks)
        _check_finite(as_numbers(labels), labels, path, "label")
    # A double beyond 2^53 is not the integer that was written, unless all digits are written.
    digits = {text: is_integer(text) for text in texts}
    dtype: np.dtype[Any] | None = np.dtype(np.float64)
    if all(digits[text] or (value.is_integer() and abs(value) < 2**53) for text, value in values.items()):
        values = {text: int(text) if digits[text] else int(value) for text, value in values.items()}
        dtype = integer_dtype(min(values.values()), max(values.values()))
    if dtype is None or len(set(values.values())) < len(texts) or any(map(is_code, texts)):
        return np.concatenate(blocks)
    numbers = np.empty(sum(map(len, blocks)), dtype)
    start = 0
    for block in blocks:  # a list of all labels would take more memory than the numbers
        numbers[start : start + len(block)] = [values[text] for text in block.tolist()]
        start += len(block)
    return numbers


def to_targets(blocks: Sequence[NDArray[Any]], path: str, advice: str = "") -> NDArray[np.float64]:
    """Real targets of all blocks as one array; InvalidInputError names the first that is no finite number."""
    cells = np.concatenate(blocks)
    targets, _ = read_targets(cells)
    _check_finite(targets, cells, path, "target", advice)
    return targets


def _check_finite(numbers: NDArray[Any], cells: NDArray[Any], path: str, what: str, advice: str = "") -> None:
    bad = ~np.isfinite(numbers.reshape(len(numbers), -1)).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise InvalidInputError(f"{path}: expected a finite number as the {what} of data row {row + 1}, "
                                f"got {cells[row].tolist()!r}{advice}")


# --- rows in memory, or in a file if there are many

MAX_BYTES_IN_MEMORY = 1 << 30


class GrowingArray:
    """Rows of blocks in one array, which grows in place if the system can do that.

    Above `MAX_BYTES_IN_MEMORY` it continues in a temporary file, which has no name and is deleted with the array.
    """

    def __init__(self) -> None:
        self._rows: NDArray[Any] | None = None
        self._n_rows = 0
        self._file: IO[bytes] | None = None

    def add(self, rows: NDArray[Any], n_expected: int = 0) -> None:
        """Append rows.  Room for all expected rows is reserved, which takes memory only when it is used."""
        size = max(1, math.prod(rows.shape[1:]) * rows.itemsize)
        needed = self._n_rows + len(rows)
        if self._rows is None:
            n_reserved = max(needed, min(n_expected, MAX_BYTES_IN_MEMORY // size))
            self._rows = np.empty((n_reserved, *rows.shape[1:]), rows.dtype)
        if self._file is None and needed * size > MAX_BYTES_IN_MEMORY:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            self._file.write(np.ascontiguousarray(self._rows[: self._n_rows]).data)
            self._rows = self._rows[:0].copy()
        if self._file is not None:
            self._file.write(np.ascontiguousarray(rows, dtype=self._rows.dtype).data)
        else:
            if needed > len(self._rows):  # an eighth more, so that little of it stays unused
                room = max(needed, len(self._rows) + len(self._rows) // 8)
                self._rows.resize((room, *rows.shape[1:]), refcheck=False)
            self._rows[self._n_rows : needed] = rows
        self._n_rows = needed

    def array(self) -> NDArray[Any]:
        """All rows; a memmap if they are in a file."""
        assert self._rows is not None
        if self._file is None:
            self._rows.resize((self._n_rows, *self._rows.shape[1:]), refcheck=False)
            return self._rows
        self._file.flush()
        return np.memmap(self._file, self._rows.dtype, "r+", shape=(self._n_rows, *self._rows.shape[1:]))

    def close(self) -> None:
        """Close the file; a memmap of it stays valid."""
        if self._file is not None:
            self._file.close()


def _in_file(values: NDArray[Any]) -> NDArray[Any]:
    """Values in a temporary file, next to that of the rows."""
    with tempfile.TemporaryFile() as file:
        file.write(np.ascontiguousarray(values).data)
        file.flush()
        return np.memmap(file, values.dtype, "r+", shape=values.shape)
