"""What every table offers to the commands, whatever file it is read from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._column_map.raw import NUMERIC
from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .streams import printable, say

BLOCK_ROWS = 8192
_MOST_LISTED = 12


UNKNOWN = "unknown"  # the kind of a column as long as it has no value


class Cells(NamedTuple):
    """What the cells of a column are read as."""

    kind: str = NUMERIC  # or CATEGORY, DATE, EMPTY, which is not read at all, or UNKNOWN, which the cells tell
    gaps: bool = False  # whether they may be missing
    levels: Mapping[str, str] = {}  # those of the category of a model, by how they are written in a text
    guessed: bool = False  # whether the first cells told the kind
    truth: bool = False  # whether the numbers 0 and 1 stand for False and True


class Wanted(NamedTuple):
    """What is read of a table: columns by their indices, and what becomes of rows that cannot be used."""

    features: Sequence[int]
    target: int | None = None  # as labels
    words: Sequence[int] = ()  # as they are written, to be handed on
    needs_labels: bool = True  # a row without a label cannot be used
    reject: bool = False  # rows that cannot be used are handed on too; otherwise the first of them is an error
    cells: Sequence[Cells] = ()  # of the features; numbers without gaps where nothing is said

    def cells_of_features(self) -> list[Cells]:
        """What is said, or else numbers."""
        return list(self.cells) or [Cells()] * len(self.features)


class Rejected(NamedTuple):
    """A row that cannot be used."""

    row: int  # number of the data row, from 1
    line: int | None  # number of the line in the file, from 1, where the file has lines
    column: str  # its number and name, or empty where the fault is in the whole row
    reason: str
    text: str  # the row as it is written


class Block(NamedTuple):
    """Some successive rows of a table, without those that are rejected."""

    X: NDArray[Any]  # (n_rows, n_features), float32 or float64; nan where missing, seconds, or indices of words
    labels: NDArray[Any] | None  # (n_rows,) or (n_rows, n_targets), as the file has them
    done: int  # how much of `Table.total` has been read after these rows
    words: list[list[str]] = []  # (n_words, n_rows), as the file has them
    rejected: list[Rejected] = []
    cells: Sequence[Cells] = ()  # of the features, as they were read
    levels: Mapping[int, tuple[str, ...]] = {}  # the words of categories, by the index in X
    rounded: Sequence[int] = ()  # columns of X with whole numbers that may be others than the file has


class Reading(NamedTuple):
    """How a table is read: parts of it in their order, and a function that makes a block of any part.

    Parts and function can be sent to other processes, and the function reads nothing but its part, unless the cells
    have to tell what a column is.
    """

    parts: Iterator[Any]
    parse: Callable[[Any], Block]

    def blocks(self) -> Iterator[Block]:
        """All blocks, in their order."""
        return map(self.parse, self.parts)


class Table(Protocol):
    """Rows of a file, read block by block."""

    path: str
    columns: list[str] | None  # their names, where the file has them
    n_columns: int
    total: int | None  # size of all rows, in units of the file's own; None where only the end tells, as of a pipe
    has_labels: bool  # whether labels stand beside the rows, in no column of theirs
    guessed_data: bool  # whether it was only guessed that the first line holds no column names

    def reading(self, wanted: Wanted) -> Reading:
        """All rows, with labels from column `target` or else those beside the rows; of a pipe only once."""


def as_given(block: Block) -> Block:
    """The block itself: the `parse` of tables whose rows need no work."""
    return block


class NamedRows:
    """An array with column names, as `fit` and `predict` accept data frames."""

    def __init__(self, array: NDArray[Any], columns: list[str]) -> None:
        self.array, self.columns = array, columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.array, dtype=dtype)


def located(path: str, fault: Rejected) -> InvalidInputError:
    """The error of a row that cannot be used."""
    line = "" if fault.line is None else f" (line {fault.line})"
    column = f", column {fault.column}" if fault.column else ""
    return InvalidInputError(f"{path}: data row {fault.row}{line}{column}: {fault.reason}")


def column_label(column: int, names: Sequence[str] | None) -> str:
    """Index of a column as --target takes it, and its name, for messages."""
    return f"{column} ({names[column]})" if names else f"{column} (the first is 0)"


def tell_rounded(table: Table, columns: Sequence[int], remedy: str) -> None:
    """Warn of whole numbers that were read as others."""
    if columns:
        labels = [column_label(j, table.columns) for j in columns[:_MOST_LISTED]]
        more = f" and {len(columns) - _MOST_LISTED} more" if columns[_MOST_LISTED:] else ""
        say(printable(f"{table.path}: column {', '.join(labels)}{more} has integers of 2^53 or more, which float64 "
                      f"rounds: if they are identifiers, {remedy}"))


def check_column_names(path: str, columns: list[str] | None) -> None:
    """Refuse a name that stands over two columns."""
    if columns is not None and len(set(columns)) < len(columns):
        seen: set[str] = set()
        twice = next(name for name in columns if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidInputError(f"{path}: column names must be distinct, got {twice!r} more than once")


def listed(names: Sequence[str]) -> str:
    """Column names for a message: the first of them, if there are many."""
    return f"{list(names)}" if len(names) <= _MOST_LISTED else f"{list(names[:_MOST_LISTED])} and " \
                                                               f"{len(names) - _MOST_LISTED} more"


def column_index(table: Table, text: str) -> int:
    """Index of the column with a name or else with a number; negative numbers count from the end."""
    if table.columns is not None and text in table.columns:
        return table.columns.index(text)
    try:
        index = int(text)
    except ValueError:
        index = table.n_columns
    if -table.n_columns <= index < table.n_columns:
        return index % table.n_columns
    known = f"one of {listed(table.columns)}" if table.columns else f"an index from 0 to {table.n_columns - 1}"
    raise InvalidInputError(f"{table.path}: no column {text!r}: expected {known}")


def column_name(table: Table, index: int) -> str:
    """Name of a column, or its index where it has none."""
    return table.columns[index] if table.columns is not None else f"column {index}"


def column_indices(table: Table, texts: Sequence[str]) -> list[int]:
    """Indices of columns, without repetition: each text is a column, or several that commas separate."""
    found: list[int] = []
    for text in texts:
        whole = table.columns is not None and text in table.columns
        found += [column_index(table, part) for part in ([text] if whole else text.split(","))]
    return list(dict.fromkeys(found))
