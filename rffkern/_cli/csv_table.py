"""Parsing of CSV files: a table in a text file, one row on each line."""

import csv
import itertools
import os
import re
import stat
import weakref
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from .labels import is_number
from .table import BLOCK_ROWS, Block, check_column_names

Double = NDArray[np.float64]
Words = NDArray[np.str_]
Line = tuple[int, str]  # its number in the file, from 1, and its text

_INTEGER = re.compile(r"[+-]?[0-9]+")


def looks_like_header(first: Sequence[str], second: Sequence[str] = ()) -> bool:
    """Whether the first row holds column names: it has no number at all, or a word above a number of the second row."""
    return not any(map(is_number, first)) or any(is_number(below) and not is_number(cell)
                                                 for cell, below in zip(first, second, strict=False))


def holds_names(first: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the first row holds the column names of a model; numbers only count in the model's order."""
    found = [cell for cell in first if cell in set(names)]
    ordered = sorted(found) == sorted(names) if any(not is_number(name) for name in names) else found == list(names)
    return bool(names) and ordered


def may_be_numbered(first: Sequence[str], second: Sequence[str] = ()) -> bool:
    """Whether the numbers of the first row may be names: 0, 1, 2 and so on, or distinct integers over real numbers."""
    numbers = [cell for cell in first if is_number(cell)]
    if not all(map(_INTEGER.fullmatch, numbers)) or len(set(numbers)) < len(numbers):
        return False
    real = any(is_number(cell) and is_number(below) and not _INTEGER.fullmatch(below)
               for cell, below in zip(first, second, strict=False))
    return bool(numbers) and (real or numbers == [str(j) for j in range(len(numbers))])


class CsvTable:
    """Rows of a text file, which is opened once; `columns` are the names in its first line, or None.

    `names` are those of the model's columns, by which a first row of names is known.
    """

    has_labels = False

    def __init__(self, path: str, header: str, delimiter: str, names: Sequence[str] = ()) -> None:
        self.path, self.delimiter = path, delimiter
        self._file = open(path, encoding="utf-8-sig", newline=None)  # noqa: SIM115, closed with the table
        weakref.finalize(self, self._file.close)
        status = os.fstat(self._file.fileno())
        self.total = status.st_size if stat.S_ISREG(status.st_mode) else None
        self._numbered = self._lines()
        self._first = list(itertools.islice(self._numbered, 2))
        rows = self._cells(self._first)
        if not rows:
            raise InvalidInputError(f"{path}: the file holds no rows")
        self.has_header = self._begins_with_names(rows, names) if header == "auto" else header == "yes"
        self.columns = rows[0] if self.has_header else None
        self.n_columns = len(rows[0])
        self.guessed_data = header == "auto" and not self.has_header
        check_column_names(path, self.columns)

    def _begins_with_names(self, rows: list[list[str]], names: Sequence[str]) -> bool:
        if holds_names(rows[0], names) or looks_like_header(*rows):
            return True
        if may_be_numbered(*rows):
            raise InvalidInputError(f"{self.path}: row {self._first[0][0]} may hold column names, or numbers: "
                                    f"{', '.join(rows[0][:4])}{', ...' if rows[0][4:] else ''}; "
                                    "say --header yes or --header no")
        return False

    def blocks(self, features: Sequence[int], target: int | None = None) -> Iterator[Block]:
        """Yield all rows, of a pipe only once; labels are words, `done` counts characters, nearly bytes of `total`."""
        lines = self._from_the_start()
        if self.has_header:
            next(lines)
        done = 0
        while block := list(itertools.islice(lines, BLOCK_ROWS)):
            done += sum(len(line) for _, line in block)
            yield Block(*self._parse(block, features, target), done)

    def _from_the_start(self) -> Iterator[Line]:
        """All lines: those that are already read, and the rest of the file."""
        if not self._first:  # a second time
            if self.total is None:
                raise InvalidInputError(f"{self.path}: a pipe can be read only once")
            self._file.seek(0)
            return self._lines()
        first, self._first = self._first, []
        return itertools.chain(first, self._numbered)

    def _lines(self) -> Iterator[Line]:
        """Numbered lines; empty ones are left out."""
        try:
            for number, line in enumerate(self._file, 1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{self.path}: not a text file in UTF-8: {error}") from error

    def _cells(self, block: Sequence[Line]) -> list[list[str]]:
        """Cells of numbered lines; quotes are those of RFC 4180."""
        # A line more than there are: a quote that is open at the end of the last line takes it in.
        reader = csv.reader([line for _, line in block] + ["\n"], delimiter=self.delimiter, skipinitialspace=True)
        rows: list[list[str]] = []
        try:
            for cells in itertools.islice(reader, len(block)):
                if reader.line_num != len(rows) + 1:
                    raise InvalidInputError(f"{self.path}: row {block[len(rows)][0]}: a quoted cell is not closed at "
                                            "the end of its line; line breaks inside cells are not supported")
                rows.append([cell.strip() for cell in cells])
        except csv.Error as error:
            raise InvalidInputError(f"{self.path}: row {block[len(rows)][0]}: {error}") from error
        return rows

    def _parse(self, block: Sequence[Line], features: Sequence[int],
               target: int | None) -> tuple[Double, Words | None]:
        """Numbers and label words of some lines."""
        X = self._parse_fast([line for _, line in block], features)
        if X is None:
            return self._parse_cells(block, features, target)
        return X, None if target is None else self._labels(block, self._cells(block), target)

    def _parse_fast(self, lines: list[str], features: Sequence[int]) -> Double | None:
        """The numbers by `loadtxt`, or None where a line needs a closer look.

        loadtxt reads numbers ten times faster than Python does, but its messages do not name the line of the file.
        """
        if any(line.count(self.delimiter) != self.n_columns - 1 or line.count('"') % 2 for line in lines):
            return None
        try:
            X = np.loadtxt(lines, usecols=features, ndmin=2, delimiter=self.delimiter, comments=None, quotechar='"')
        except ValueError:
            return None
        return X if len(X) == len(lines) and np.isfinite(X).all() else None

    def _parse_cells(self, block: Sequence[Line], features: Sequence[int],
                     target: int | None) -> tuple[Double, Words | None]:
        """The same cell by cell: for quoted cells, and to say where a fault is."""
        cells = self._cells(block)
        X = np.empty((len(block), len(features)))
        for i, ((number, _), row) in enumerate(zip(block, cells, strict=True)):
            if len(row) != self.n_columns:
                raise InvalidInputError(f"{self.path}: row {number}: expected {self.n_columns} columns, got {len(row)}")
            for j, column in enumerate(features):
                X[i, j] = self._number(row[column], number, column)
        return X, None if target is None else self._labels(block, cells, target)

    def _labels(self, block: Iterable[Line], cells: list[list[str]], target: int) -> Words:
        for (number, _), row in zip(block, cells, strict=True):
            if not row[target]:
                raise InvalidInputError(f"{self.path}: row {number}, column {self._name(target)}: expected a label or "
                                        "target, got an empty cell")
        return np.array([row[target] for row in cells])

    def _name(self, column: int) -> str:
        return f"{column + 1} ({self.columns[column]})" if self.columns else str(column + 1)

    def _number(self, text: str, number: int, column: int) -> float:
        value = float(text) if is_number(text) else np.nan
        if not np.isfinite(value):
            raise InvalidInputError(f"{self.path}: row {number}, column {self._name(column)}: "
                                    f"expected a finite number, got {text!r}")
        return value
