"""Labels and targets out of the words, or numbers, that a file holds."""

import argparse
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._column_map.raw import NUMERIC, level_text
from .._native.array_types import NDArray
from .._rows.validation import integer_dtype
from ..errors import InvalidInputError
from .output import STDIN, UsageError, printable, say

Double = NDArray[np.float64]


# What C's strtod reads, but for hexadecimal numbers; `float` would also read 1_000 and the digits of other scripts.
_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)
_WHOLE = r"[+-]?[0-9]{1,400}"
# A zero in front of other digits belongs to a code, such as 007, not to a number.
_CODE = r"[+-]?0[0-9].*"
# How programs write a missing value, in small letters.
MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "nat", "<na>", "-nan", "?", "."))


def is_number(text: str) -> bool:
    """Whether a text is a decimal number, which may be nan or inf."""
    return _NUMBER.fullmatch(text.strip()) is not None


def is_missing(text: str) -> bool:
    """Whether a text stands for a missing value."""
    return text.strip().lower() in MISSING


def truth_of(text: str) -> str | None:
    """The name of the truth value that a text stands for, in letters of any size."""
    return {"true": "True", "false": "False"}.get(text.lower())


def level_of_number(text: str) -> str:
    """The name of a number as a level: a whole number with all its digits, and without a point."""
    return str(int(text)) if is_whole(text) else level_text(float(text))


def is_whole(text: str) -> bool:
    """Whether a number is written with digits alone."""
    return re.fullmatch(_WHOLE, text) is not None


def is_code(text: str) -> bool:
    """Whether a number has a needless zero in front."""
    return re.fullmatch(_CODE, text) is not None


def as_numbers(labels: NDArray[Any]) -> Double:
    """Labels as numbers; nan for words that are none."""
    if labels.dtype.kind not in "US":
        return labels.astype(np.float64)
    numbers = [float(word) if is_number(word) else np.nan for word in labels.astype(str).ravel().tolist()]
    return np.array(numbers).reshape(labels.shape)


def to_labels(blocks: Sequence[NDArray[Any]], path: str) -> NDArray[Any]:
    """Labels of all blocks as one array; InvalidInputError names the first number that is not finite.

    Words become integers where all are whole numbers, else floats where all are numbers.  They stay words where one
    begins with a needless zero, where two of them are one number written in two ways, or where integers of 64 bits do
    not hold them.
    """
    if any(block.dtype.kind != "U" or block.ndim > 1 for block in blocks):
        labels = np.concatenate(blocks)
        if labels.dtype.kind == "f":
            _check_finite(labels, labels, path)
        if labels.dtype.kind != "U" or labels.ndim > 1:
            return labels
        blocks = [labels]
    words = {word for block in blocks for word in block.tolist()}
    if not all(map(is_number, words)):
        return np.concatenate(blocks)
    values: dict[str, Any] = {word: float(word) for word in words}
    if not all(map(math.isfinite, values.values())):
        labels = np.concatenate(blocks)
        _check_finite(as_numbers(labels), labels, path)
    # A double beyond 2^53 is not the integer that was written, unless all digits are written.
    digits = {word: is_whole(word) for word in words}
    dtype: np.dtype[Any] | None = np.dtype(np.float64)
    if all(digits[word] or (value.is_integer() and abs(value) < 2**53) for word, value in values.items()):
        values = {word: int(word) if digits[word] else int(value) for word, value in values.items()}
        dtype = integer_dtype(min(values.values()), max(values.values()))
    if dtype is None or len(set(values.values())) < len(words) or any(map(is_code, words)):
        return np.concatenate(blocks)
    numbers = np.empty(sum(map(len, blocks)), dtype)
    start = 0
    for block in blocks:  # a list of all words would take more memory than the numbers
        numbers[start : start + len(block)] = [values[word] for word in block.tolist()]
        start += len(block)
    return numbers


def to_targets(blocks: Sequence[NDArray[Any]], path: str) -> Double:
    """Real targets of all blocks as one array; InvalidInputError names the first that is no finite number."""
    words = np.concatenate(blocks)
    targets = as_numbers(words)
    _check_finite(targets, words, path, "target")
    return targets


def _check_finite(numbers: NDArray[Any], given: NDArray[Any], path: str, what: str = "label") -> None:
    """Name the first row whose number is nan or infinite."""
    bad = ~np.isfinite(numbers.reshape(len(numbers), -1)).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise InvalidInputError(f"{path}: expected a finite number as the {what} of data row {row + 1}, "
                                f"got {given[row].tolist()!r}")


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


_ARROW = (".parquet", ".feather", ".arrow")


class CsvFormat(NamedTuple):
    """How a table is written in a text."""

    header: str = "auto"  # whether the first row holds column names: auto, yes or no
    delimiter: str | None = None  # what separates cells; None is guessed
    encoding: str = "utf-8"
    decimal: str = "."  # what stands before the fraction of a number: a point or a comma


def open_table(path: str, form: CsvFormat = CsvFormat(), names: Sequence[str] = ()) -> Table:  # noqa: B008
    """Open the table in a file; the end of its name tells the format, and a pipe without one holds text.

    `names` are those of the model's columns, where there is a model that has them.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npy", ".npz"):
        from .binary_table import ArrayTable

        return ArrayTable(path)
    if ending in _ARROW:
        from .binary_table import ArrowTable

        return ArrowTable(path)
    if path.lower().endswith((".csv", ".csv.gz")) or _is_stream(path):
        from .csv_table import CsvTable

        return CsvTable(path, form, names)
    raise InvalidInputError(f"{path}: the name must end in .csv, .csv.gz, .npy, .npz, .parquet, .feather or .arrow, or "
                            "be - for standard input")


def _is_stream(path: str) -> bool:
    """Whether a name is that of a pipe or device, or of a file that is open already, such as /dev/stdin."""
    return path == STDIN or path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))


def table_format(arguments: argparse.Namespace) -> CsvFormat:
    """What the arguments of a command say of how a text is written."""
    if arguments.decimal == arguments.delimiter:
        raise UsageError(f"--decimal and --delimiter must differ, got {arguments.decimal!r} for both")
    return CsvFormat(arguments.header, arguments.delimiter, arguments.encoding, arguments.decimal)
