"""Parsing of CSV files: a table in a text file, one row on each line."""

import csv
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from .labels import is_number
from .table import BLOCK_ROWS, Block, check_column_names

Double = NDArray[np.float64]
Words = NDArray[np.str_]
Line = tuple[int, str]  # its number in the file, from 1, and its text


def looks_like_header(first: Sequence[str], second: Sequence[str] = ()) -> bool:
    """Whether the first row holds column names: it has no number at all, or a word above a number of the second row."""
    return not any(map(is_number, first)) or any(is_number(below) and not is_number(cell)
                                                 for cell, below in zip(first, second, strict=False))


class CsvTable:
    """Rows of a text file; `columns` are the names in its first line, or None."""

    has_labels = False

    def __init__(self, path: str, header: str, delimiter: str) -> None:
        self.path, self.delimiter = path, delimiter
        self.total = os.path.getsize(path)
        with open(path, encoding="utf-8-sig", newline=None) as file:
            rows = self._cells(list(itertools.islice(self._lines(file), 2)))
        if not rows:
            raise InvalidInputError(f"{path}: the file holds no rows")
        self.has_header = header == "yes" or (header == "auto" and looks_like_header(*rows[:2]))
        self.columns = rows[0] if self.has_header else None
        self.n_columns = len(rows[0])
        self.guessed_data = header == "auto" and not self.has_header
        check_column_names(path, self.columns)

    def blocks(self, features: Sequence[int], target: int | None = None) -> Iterator[Block]:
        """Yield all rows; labels are words, and `done` counts characters, nearly the bytes of `total`."""
        with open(self.path, encoding="utf-8-sig", newline=None) as file:
            lines = self._lines(file)
            if self.has_header:
                next(lines)
            done = 0
            while block := list(itertools.islice(lines, BLOCK_ROWS)):
                done += sum(len(line) for _, line in block)
                yield Block(*self._parse(block, features, target), done)

    def _lines(self, file: TextIO) -> Iterator[Line]:
        """Numbered lines; empty ones are left out."""
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{self.path}: not a text file in UTF-8: {error}") from error

    def _cells(self, block: Sequence[Line]) -> list[list[str]]:
        """Cells of numbered lines; quotes are those of RFC 4180."""
        try:
            return [[cell.strip() for cell in cells] for cells in csv.reader(
                [line for _, line in block], delimiter=self.delimiter, skipinitialspace=True)]
        except csv.Error as error:
            first = block[0][0] if block else 1
            raise InvalidInputError(f"{self.path}: row {first} or after: {error}") from error

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
        if any(line.count(self.delimiter) != self.n_columns - 1 for line in lines):
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
        if len(cells) != len(block):
            raise InvalidInputError(f"{self.path}: row {block[0][0]} or after: a quoted cell spans lines; line breaks "
                                    "inside cells are not supported")
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
