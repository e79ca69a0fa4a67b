"""What the readers of tables have in common: how a table is opened, its columns, its blocks of rows, and cells of text.

There are three readers: `CsvTable`, `ArrayTable` (.npy, .npz) and `ArrowTable` (.parquet, .feather, .arrow).
"""

import argparse
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._column_map.cells import (
    DATE,
    NUMERIC,
    Reading,
    doubts,
    grouped_by_points,
    infer_reading,
    is_number,
    read_column,
    settled,
)
from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .output import RejectedRow, UsageError, say

BLOCK_ROWS = 8192
_MOST_LISTED = 12

# What to do with a target of dates.
NUMBERS_OF_DATES = "write them as numbers, such as days since the first one"

UNKNOWN = "unknown"  # the kind of a column in which no value has been read yet


class ColumnType(NamedTuple):
    """How the cells of a column are read."""

    kind: str = NUMERIC  # or CATEGORY, DATE, EMPTY (the column is not read), or UNKNOWN (inferred from the cells)
    nullable: bool = False  # whether values may be missing
    levels: Mapping[str, str] = {}  # of a category of a model: the level for each text without outer blanks
    inferred: bool = False  # whether the kind was inferred from the first cells
    boolean: bool = False  # whether the numbers 0 and 1 mean False and True
    format: str = ""  # of text, as in `Reading`
    words: tuple[str, ...] = ()  # that count as missing
    odd: tuple[str, ...] = ()  # the first cells that are no numbers or dates, where most are
    is_target: bool = False  # whether it is the target of a regressor: numbers, of which text shows the format

    @property
    def reading(self) -> Reading:
        """How cells of text are read."""
        return Reading(self.kind, self.format, self.words)


class Selection(NamedTuple):
    """What is read of a table: columns by their indices, and what happens to rows that cannot be used."""

    features: Sequence[int]
    target: int | None = None  # read as labels
    kept: Sequence[int] = ()  # copied to the output as text
    needs_labels: bool = True  # whether a row without a label cannot be used
    reject: bool = False  # whether rows that cannot be used are returned; otherwise the first of them is an error
    types: Sequence[ColumnType] = ()  # of the features; if empty, all are numbers without missing values
    kept_as_text: bool = True  # whether what is kept is text also where the file has types

    def feature_types(self) -> list[ColumnType]:
        """The type of each feature."""
        return list(self.types) or [ColumnType()] * len(self.features)


class Block(NamedTuple):
    """Consecutive rows of a table, without those that are rejected."""

    X: NDArray[Any]  # (n_rows, n_features) float32 or float64: numbers, seconds or indices of levels; nan if missing
    labels: NDArray[Any] | None  # (n_rows,) or (n_rows, n_targets), as they are in the file
    done: int  # how much of `Table.total` has been read after these rows
    kept: list[Any] = []  # n_kept columns to copy, lists of text or, if the file has types, arrays of NumPy or Arrow
    rejected: list[RejectedRow] = []
    types: Sequence[ColumnType] = ()  # of the features, as they were read
    levels: Mapping[int, tuple[str, ...]] = {}  # of each category, by the index of its column in X
    rounded: Sequence[int] = ()  # columns of X with integers that float64 rounds


class Table(Protocol):
    """Rows of a file, read block by block."""

    path: str
    columns: list[str] | None  # their names, if the file has them
    n_columns: int
    total: int | None  # size of all rows, in a unit of the file's own; None if it is not known before the end
    has_labels: bool  # whether labels are stored beside the rows, in no column of them
    header_guessed: bool  # whether it is a guess that the first line is column names, or data

    def read(self, selection: Selection) -> tuple[Iterator[Any], Callable[[Any], Block]]:
        """All rows, as raw blocks and a function that parses one of them; a pipe can be read only once.

        Both can be sent to other processes.  The function depends on its raw block alone, unless a kind is UNKNOWN.
        Labels come from the column `target`, or else from beside the rows.
        """


class CsvFormat(NamedTuple):
    """How a table is written as text."""

    header: str = "auto"  # whether the first row contains column names: auto, yes or no
    delimiter: str | None = None  # None: detected
    encoding: str = "utf-8"
    decimal: str = "."  # or a comma
    dates: str | None = None  # the order of day and month, "dmy" or "mdy", where both would do
    missing: tuple[str, ...] = ()  # further texts that count as missing in columns of numbers or dates


def csv_format(arguments: argparse.Namespace) -> CsvFormat:
    """The format that the options of a command ask for."""
    if arguments.decimal == arguments.delimiter == ".":  # with commas for both, numbers are quoted
        raise UsageError("--decimal and --delimiter must differ, got '.' for both")
    return CsvFormat(arguments.header, arguments.delimiter, arguments.encoding, arguments.decimal,
                     arguments.dates, arguments.missing)


# --- columns by name or index

def column_index(table: Table, text: str) -> int:
    """Index of the column with this name or else this index; negative indices count from the end."""
    if table.columns is not None:
        name = as_written([text], table.columns)[0]
        if name in table.columns:
            return table.columns.index(name)
    try:
        index = int(text)
    except ValueError:
        index = table.n_columns
    if -table.n_columns <= index < table.n_columns:
        return index % table.n_columns
    above = LINES_ABOVE if table.columns and table.n_columns == 1 else ""
    known = f"an index from 0 to {table.n_columns - 1}"
    if table.columns:
        known = f"one of {shortened(list(map(repr, table.columns)))}"
    raise InvalidInputError(f"{file_of_columns(table)}: no column {text!r}: expected {known}{above}")


def file_of_columns(table: Table) -> str:
    """The file whose columns a table has: of many the first."""
    return str(getattr(table, "first_file", table.path))


def column_indices(table: Table, texts: Sequence[str]) -> list[int]:
    """Indices of columns, without duplicates: each text is one column, or several separated by commas."""
    indices: list[int] = []
    for text in texts:
        whole = table.columns is not None and text in table.columns
        indices += [column_index(table, name) for name in ([text] if whole else text.split(","))]
    return list(dict.fromkeys(indices))


def column_label(column: int, names: Sequence[str] | None) -> str:
    """Index of a column, as options take it, and its name, for messages."""
    return f"{column} ({names[column]})" if names else f"{column} (the first is 0)"


def shortened(names: Sequence[str]) -> str:
    """Columns for a message: the first of them if there are many."""
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def as_written(names: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Names of a model as a table writes them, which may differ in blanks around them.

    Files of text are read without these; pandas keeps them, so that they are in the names of a model that was trained
    in Python.  A name is as it stands where two of the model or of the table differ in blanks alone.
    """
    names, known = list(names), set(columns)
    if known.issuperset(names):
        return names
    of_model, of_table = Counter(name.strip() for name in names), Counter(name.strip() for name in columns)
    written = {name.strip(): name for name in columns}
    return [written[text] if name not in known and of_model[text] == of_table[text] == 1 else name
            for name, text in ((name, name.strip()) for name in names)]


SKIP = "skip such rows with --reject FILE"
LINES_ABOVE = "; if lines stand above the column names, remove them"
ROW_1_IS_DATA = "; if row 1 is data, pass --header no"


def check_column_names(path: str, columns: Sequence[str] | None, advice: str = "") -> None:
    """Refuse a name that two columns have."""
    if columns is not None and len(set(columns)) < len(columns):
        twice = next(name for name, count in Counter(columns).items() if count > 1)
        if not twice:
            unnamed = shortened([str(j) for j, name in enumerate(columns) if not name])
            raise InvalidInputError(f"{path}: column names must be distinct, got none of the columns {unnamed} (the "
                                    "first is 0): name them, and remove lines above the column names, if there are "
                                    f"such{advice}")
        raise InvalidInputError(f"{path}: column names must be distinct, got {twice!r} more than once{advice}")


def warn_rounded(table: Table, columns: Sequence[int], remedy: str) -> None:
    """Warn of integers that float64 rounds."""
    if columns:
        labels = shortened([column_label(j, table.columns) for j in columns])
        say(f"{table.path}: column {labels} has integers of 2^53 or more, which float64 rounds: if "
            f"they are identifiers, {remedy}")


def infer_types(types: list[ColumnType], cells: Mapping[int, Sequence[str]], columns: Sequence[int],
                names: Sequence[str] | None, path: str, dates: str | None, decimal: str = ".") -> None:
    """Set the types of columns of text from their cells, as far as they have any that are not missing.

    Cells that are no values of such a type are errors from then on, wherever they are.  A target of a regressor is of
    numbers, whatever its cells are.
    """
    # Targets without a digit are errors: they do not count.
    cells = {k: [*filter(re.compile("[0-9]").search, each)] if types[k].is_target else each
             for k, each in cells.items()}
    readings = settled([infer_reading([cell for cell in each if cell.strip() not in types[k].words]
                                      if types[k].words else each, dates, decimal) for k, each in cells.items()])
    labels = {k: column_label(columns[k], names) for k in cells}
    for k, reading in zip(cells, readings, strict=True):
        if types[k].is_target:
            refuse_dates_as_numbers(cells[k], reading, f"{path}: target {labels[k]}")
            is_numeric = reading is not None and reading.kind == NUMERIC
            types[k] = types[k]._replace(kind=NUMERIC, format=reading.format if reading and is_numeric else "")
            marked = next((cell for cell in map(str.strip, cells[k]) if not is_number(cell)), "")
            (value,), odd = read_column([marked], types[k].reading)
            if marked and not odd and decimal == ".":
                say(f"{path}: target {labels[k]}: {marked!r} is read as {value:.15g}")
            continue
        if reading is None:
            continue
        form, words = (reading.format, types[k].words) if reading.kind in (NUMERIC, DATE) else ("", ())
        types[k] = ColumnType(reading.kind, types[k].nullable, inferred=True, format=form, words=words,
                              odd=reading.words)
        say_doubts(cells[k], reading, types[k].nullable, columns[k], names, path)
        if reading.format in ("time", "duration"):
            parts = {cell.count(":"): cell for cell in map(str.strip, cells[k]) if cell.replace(":", "").isdigit()}
            if {1, 2} <= parts.keys():
                say(f"{path}: column {labels[k]} has times such as {parts[2]} and {parts[1]}, read as hours and "
                    f"minutes: write minutes as 0:{parts[1]}")
    with_comma = [k for k in cells if types[k].kind == NUMERIC and types[k].format.startswith(",")]
    for k in cells if with_comma and decimal == "." else ():
        if types[k].kind == NUMERIC and not types[k].format and (grouped := grouped_by_points(cells[k])):
            say(f"{path}: column {labels[k]} has numbers such as {grouped}, read as {float(grouped):g}, but column "
                f"{labels[with_comma[0]]} has a decimal comma: if points separate thousands, pass --decimal ,")


def refuse_dates_as_numbers(cells: Sequence[str], reading: Reading | None, name: str) -> None:
    """Refuse a target of a regressor whose cells are read as dates."""
    if reading is not None and reading.kind == DATE:
        shown = next(filter(None, map(str.strip, cells)))
        raise InvalidInputError(f"{name}: expected numbers, got dates such as {shown!r}: {NUMBERS_OF_DATES}, or name "
                                "another column by --target")


def say_doubts(cells: Sequence[str], reading: Reading, nullable: bool, column: int, names: Sequence[str] | None,
               path: str) -> None:
    """Say where a column of text could be read in another way, and by which option; a column of --time has values."""
    for said, key, words in doubts(cells, reading):
        settled_by = {"": "", "dates": "--dates dmy or --dates mdy settles it",
                      "missing": f"pass --missing={shlex.quote(','.join(words))}",
                      "codes": f"pass --categorical {shlex.quote(names[column] if names else str(column))}"}
        if nullable or key in ("", "dates"):
            say(f"{path}: column {column_label(column, names)} {said}{settled_by[key]}")


def as_numbers(labels: NDArray[Any]) -> NDArray[np.float64]:
    """Labels as numbers; nan for text that is no number."""
    if labels.dtype.kind not in "US":
        return labels.astype(np.float64)
    numbers = [float(text) if is_number(text) else np.nan for text in labels.astype(str).ravel().tolist()]
    return np.array(numbers).reshape(labels.shape)


def read_targets(labels: NDArray[Any], reading: Reading | None = None) -> tuple[NDArray[np.float64], list[str]]:
    """Targets as numbers, and texts that are neither numbers nor missing, whose targets are nan as well.

    Text is read by the rules of columns, of all these targets together if no reading of the training is known.
    """
    if labels.dtype.kind not in "US":
        return labels.astype(np.float64), []
    cells = labels.astype(str).ravel().tolist()
    targets, odd = read_column(cells, reading or Reading(NUMERIC, target_format(labels)))
    return targets.reshape(labels.shape), odd


def target_format(labels: NDArray[Any], words: Sequence[str] = ()) -> str:
    """The format of targets in text, without the words that count as missing; "" of plain numbers."""
    if labels.dtype.kind not in "US":
        return ""
    reading = infer_reading([cell for cell in labels.astype(str).ravel().tolist() if cell not in words])
    return reading.format if reading is not None and reading.kind == NUMERIC else ""
