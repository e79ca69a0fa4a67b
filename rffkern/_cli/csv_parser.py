"""Numbers, labels and words out of the records of a CSV text."""

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._column_map.raw import NUMERIC, has_large_integers
from .._native.array_types import NDArray
from .._native.scoring import read_numbers
from .._rows.validation import LARGEST_VALUE
from .cells import Column, column_of, found_cells, reason_against, with_point
from .csv_records import Fault, RawBlock, split_rows
from .labels import is_whole
from .table import UNKNOWN, Block, Cells, Rejected, Wanted, column_label, located

Double = NDArray[np.float64]

_MISSING = ("", "NA", "N/A", "null", "NULL", "None", "?")  # what most programs write
_IN_NUMBERS = "0123456789+-.eE \r\n"  # what separates no plain numbers
Row = list[str]  # its cells, with the blanks around them


class CsvParser(NamedTuple):
    """What makes a block of a raw block; it can be sent to other processes."""

    path: str
    delimiter: str
    decimal: str  # a point or a comma
    names: list[str] | None  # of the columns
    n_columns: int
    wanted: Wanted
    cells: list[Cells]  # of the features

    def parse(self, raw: RawBlock) -> Block:
        """Numbers, labels and words of all records."""
        block = None
        if not raw.faults:
            block = self._simple(raw) if raw.simple and raw.texts else None
            block = block or self._by_columns(self._rows(raw), raw.done, [])
        return self._noted(self._by_cells(raw) if block is None else block, raw)

    def _noted(self, block: Block, raw: RawBlock) -> Block:
        """The block with a note of the columns whose whole numbers float64 rounds."""
        large = [k for k, cells in enumerate(self.cells)
                 if cells.kind == NUMERIC and has_large_integers(block.X[:, k])]
        if not large:
            return block
        rows = [row for row in self._rows(raw) if len(row) == self.n_columns]
        return block._replace(rounded=[k for k in large if any(map(is_whole, (row[self.wanted.features[k]].strip()
                                                                              for row in rows)))])

    def _simple(self, raw: RawBlock) -> Block | None:
        """Simple records, or None where one needs a closer look.

        A kernel reads plain numbers, and `loadtxt` the others: much faster than Python does, but neither says where
        one is none.
        """
        texts = words_of = _without_quotes(raw.texts)
        numeric = [k for k, cells in enumerate(self.cells) if cells.kind == NUMERIC]
        X = None
        if self.decimal == "." and numeric:  # the kernel takes no row with another number of cells
            X = self._usable(_plain(texts, self.delimiter, self.n_columns, self._columns(numeric)), numeric)
        if X is None:
            if {text.count(self.delimiter) for text in texts} != {self.n_columns - 1}:
                return None
            if self.decimal == ",":
                if any("." in text for text in texts):
                    return None
                texts = [text.replace(",", ".") for text in texts]
            X = self._numbers(texts, numeric)
        if X is None:
            return None
        levels = {}
        if len(numeric) < len(self.cells):
            numbers, X = X, np.empty((len(texts), len(self.cells)))
            X[:, numeric] = numbers
            columns = list(zip(*split_rows(words_of, self.delimiter), strict=True))
            others = {k: column_of(columns[j], self.cells[k], self.decimal)
                      for k, j in enumerate(self.wanted.features) if self.cells[k].kind != NUMERIC}
            for k, column in others.items():
                if column is None:
                    return None
                X[:, k] = column.values
                if column.levels:
                    levels[k] = column.levels
        labels = None if self.wanted.target is None else self._simple_column(words_of, self.wanted.target)
        words = [self._simple_column(words_of, column) for column in self.wanted.words]
        if self._lacks(labels or ()):
            return None
        return self._block(X, labels, words, raw.done, [])._replace(levels=levels)

    def _numbers(self, texts: list[str], numeric: list[int]) -> Double | None:
        """Columns of numbers of simple records, or None where a cell is none."""
        if not numeric:
            return np.empty((len(texts), 0))
        columns = self._columns(numeric)
        X = _loaded(texts, self.delimiter, self.n_columns, columns)
        if X is None and any(self.cells[k].gaps for k in numeric):
            X = _loaded(_with_nan(texts, self.delimiter), self.delimiter, self.n_columns, columns)
        return self._usable(X, numeric)

    def _columns(self, numeric: list[int]) -> list[int]:
        return [self.wanted.features[k] for k in numeric]

    def _usable(self, X: Double | None, numeric: list[int]) -> Double | None:
        """Numbers that are all within bounds or gaps, or None."""
        if X is None:
            return None
        gaps = np.array([self.cells[k].gaps for k in numeric])
        usable = np.abs(X) <= LARGEST_VALUE  # false for nan
        return X if usable.all() or (usable | (np.isnan(X) & gaps)).all() else None

    def _lacks(self, labels: Sequence[str]) -> bool:
        return self.wanted.needs_labels and "" in labels

    def _simple_column(self, texts: list[str], column: int) -> list[str]:
        if column == self.n_columns - 1:
            return [text.rpartition(self.delimiter)[2].strip() for text in texts]
        return [text.split(self.delimiter, column + 1)[column].strip() for text in texts]

    def _rows(self, raw: RawBlock, whole: Sequence[int] | None = None) -> list[Row]:
        """Cells of all records, or of those that have no fault."""
        texts = raw.texts if whole is None else [raw.texts[i] for i in whole]
        return split_rows(_without_quotes(texts) if raw.simple else texts, self.delimiter)

    def _by_columns(self, rows: list[Row], done: int, rejected: list[Rejected]) -> Block | None:
        """Rows of cells, or None where one has a fault."""
        if not {*map(len, rows)} <= {self.n_columns}:
            return None
        columns = list(zip(*rows, strict=True)) if rows else [()] * self.n_columns
        X = np.empty((len(rows), len(self.cells)))
        levels = {}
        for k, (j, cells) in enumerate(zip(self.wanted.features, self.cells, strict=True)):
            column: Column | None = column_of(columns[j], cells, self.decimal)
            if column is None:
                return None
            X[:, k] = column.values
            if column.levels:
                levels[k] = column.levels
        labels = None if self.wanted.target is None else [*map(str.strip, columns[self.wanted.target])]
        words = [[*map(str.strip, columns[j])] for j in self.wanted.words]
        if self._lacks(labels or ()):
            return None
        return self._block(X, labels, words, done, rejected)._replace(levels=levels)

    def _block(self, X: Double, labels: list[str] | None, words: list[list[str]], done: int,
               rejected: list[Rejected]) -> Block:
        if labels is not None and self.decimal == ",":
            labels = [with_point(word, ",") for word in labels]
        y = None if labels is None else np.array(labels, dtype=np.str_)
        return Block(X, y, done, words, rejected, self.cells)

    def _by_cells(self, raw: RawBlock) -> Block:
        """The same row by row, to say where a fault is."""
        whole = [i for i in range(len(raw.texts)) if i not in raw.faults]
        rows = dict(zip(whole, self._rows(raw, whole), strict=True))
        rejected: list[Rejected] = []
        for i in range(len(raw.texts)):
            fault = raw.faults.get(i) or self._fault(rows[i])
            if fault is None:
                continue
            column = "" if fault[0] is None else column_label(fault[0], self.names)
            rejected.append(Rejected(raw.first_row + i, raw.lines[i], column, fault[1], raw.texts[i].rstrip("\r\n")))
            rows.pop(i, None)
            if not self.wanted.reject:
                raise located(self.path, rejected[0])
        block = self._by_columns(list(rows.values()), raw.done, rejected)
        assert block is not None
        return block

    def _fault(self, row: Row) -> Fault | None:
        """What is wrong with a row, if anything is."""
        if len(row) != self.n_columns:
            return None, f"expected {self.n_columns} columns, got {len(row)}"
        for column, cells in zip(self.wanted.features, self.cells, strict=True):
            reason = reason_against(row[column].strip(), cells, self.decimal, self.delimiter)
            if reason is not None:
                return column, reason
        target = self.wanted.target
        if target is not None and self._lacks([row[target].strip()]):
            return target, "expected a label or target, got an empty cell"
        return None

    def told_by(self, raw: RawBlock) -> "CsvParser":
        """The parser that reads columns of which nothing is known as what their first cells are."""
        unknown = [k for k, cells in enumerate(self.cells) if cells.kind == UNKNOWN]
        if not unknown:
            return self
        told = list(self.cells)
        for k in unknown:
            told[k] = Cells(NUMERIC, gaps=True, guessed=True)
        numbers = self._replace(cells=told)
        block = numbers._simple(raw) if raw.simple and not raw.faults else None
        if block is not None and not np.isnan(block.X).all(axis=0).any():
            return numbers
        whole = [i for i in range(len(raw.texts)) if i not in raw.faults]
        rows = [row for row in self._rows(raw, whole) if len(row) == self.n_columns]
        for k in unknown:
            cells = [row[self.wanted.features[k]] for row in rows]
            told[k] = found_cells(cells, self.decimal) or self.cells[k]
        return self._replace(cells=told)


class LearningParser:
    """A parser that is told by the cells themselves what columns hold; it takes the raw blocks in their order."""

    def __init__(self, parser: CsvParser) -> None:
        self._parser = parser

    def parse(self, raw: RawBlock) -> Block:
        """Numbers, labels and words of all records."""
        self._parser = self._parser.told_by(raw)
        return self._parser.parse(raw)


def _without_quotes(texts: list[str]) -> list[str]:
    """Simple records without the quotes around their cells."""
    return [text.replace('"', "") for text in texts] if '"' in "".join(texts) else texts


def _plain(texts: list[str], delimiter: str, n_columns: int, columns: Sequence[int]) -> Double | None:
    """Columns of the texts, each of which has so many cells, or None where one is no plain number."""
    if not delimiter.isascii() or delimiter in _IN_NUMBERS:
        return None
    places, X = np.full(n_columns, -1, dtype=np.intp), np.empty((len(texts), len(columns)))
    places[columns] = np.arange(len(columns))
    return X if read_numbers("".join(texts).encode("utf-8", "surrogatepass"), ord(delimiter), places, X) else None


def _loaded(texts: list[str], delimiter: str, n_columns: int, columns: Sequence[int]) -> Double | None:
    """Columns of the texts as numbers, or None where one is none."""
    X = _plain(texts, delimiter, n_columns, columns)
    if X is not None:
        return X
    try:
        X = np.loadtxt(texts, usecols=columns, ndmin=2, delimiter=delimiter, comments=None)
    except ValueError:
        return None
    return X if len(X) == len(texts) else None


def _with_nan(texts: list[str], delimiter: str) -> list[str]:
    """Simple records in which the usual words for a missing value are replaced by a number that is none."""
    text = "\n" + "".join(texts)
    ends = [end for end in "\r\n" if end in text]
    around = [(delimiter, delimiter), *((delimiter, end) for end in ends), *((end, delimiter) for end in ends)]
    for before, word, after in ((before, word, after) for word in _MISSING if word in text for before, after in around):
        for _ in range(2):  # neighbours share a delimiter
            text = text.replace(before + word + after, f"{before}nan{after}")
    return list(io.StringIO(text[1:], newline=""))
