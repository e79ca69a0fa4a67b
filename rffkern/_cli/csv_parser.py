"""Numbers, labels and words out of the records of a CSV text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.validation import LARGEST_VALUE
from .csv_records import Fault, RawBlock, split_rows
from .labels import is_missing, is_number
from .table import Block, Rejected, Wanted, column_label, located

Double = NDArray[np.float64]
Words = NDArray[np.str_]

_SEPARATOR = "\x1f"  # of cells that are joined again to be read as numbers; no number has it


class CsvParser(NamedTuple):
    """What makes a block of a raw block; it can be sent to other processes."""

    path: str
    delimiter: str
    decimal: str  # a point or a comma
    names: list[str] | None  # of the columns
    n_columns: int
    wanted: Wanted

    def parse(self, raw: RawBlock) -> Block:
        """Numbers, labels and words of all records."""
        block = None
        if not raw.faults:
            block = self._simple(raw) if raw.simple else self._quoted(raw)
        return self._by_cells(raw) if block is None else block

    def _simple(self, raw: RawBlock) -> Block | None:
        """Simple records, or None where one needs a closer look.

        `loadtxt` reads numbers much faster than Python does, but its messages name neither line nor column.
        """
        texts = raw.texts
        if any('"' in text for text in texts):
            texts = [text.replace('"', "") for text in texts]
        words_of = texts
        if {text.count(self.delimiter) for text in texts} != {self.n_columns - 1}:
            return None
        if self.decimal == ",":
            if any("." in text for text in texts):
                return None
            texts = [text.replace(",", ".") for text in texts]
        X = _numbers(texts, self.delimiter, self.wanted.features)
        if X is None:
            return None
        labels = [] if self.wanted.target is None else self._simple_column(words_of, self.wanted.target)
        words = [self._simple_column(words_of, column) for column in self.wanted.words]
        return None if self._lacks(labels) else self._block(X, labels, words, raw.done, [])

    def _lacks(self, labels: list[str]) -> bool:
        return self.wanted.needs_labels and "" in labels

    def _simple_column(self, texts: list[str], column: int) -> list[str]:
        if column == self.n_columns - 1:
            return [text.rpartition(self.delimiter)[2].strip() for text in texts]
        return [text.split(self.delimiter, column + 1)[column].strip() for text in texts]

    def _quoted(self, raw: RawBlock) -> Block | None:
        """Records that Python's csv has to split, or None where one needs a closer look."""
        rows = split_rows(raw.texts, self.delimiter)
        if {len(row) for row in rows} != {self.n_columns}:
            return None
        if self.decimal == "," and any("." in row[j] for row in rows for j in self.wanted.features):
            return None
        X = _numbers([_SEPARATOR.join([self._with_point(row[j]) for j in self.wanted.features]) for row in rows],
                     _SEPARATOR, range(len(self.wanted.features)))
        if X is None:
            return None
        labels, words = self._labels_and_words(rows)
        return None if self._lacks(labels) else self._block(X, labels, words, raw.done, [])

    def _labels_and_words(self, rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
        labels = [] if self.wanted.target is None else [row[self.wanted.target].strip() for row in rows]
        return labels, [[row[j].strip() for row in rows] for j in self.wanted.words]

    def _block(self, X: Double, labels: list[str], words: list[list[str]], done: int,
               rejected: list[Rejected]) -> Block:
        if self.decimal == ",":
            labels = [self._with_point(word) for word in labels]
        y = None if self.wanted.target is None else np.array(labels, dtype=np.str_)
        return Block(X, y, done, words, rejected)

    def _by_cells(self, raw: RawBlock) -> Block:
        """The same row by row: for quoted cells, and to say where a fault is."""
        whole = [i for i in range(len(raw.texts)) if i not in raw.faults]
        rows = dict(zip(whole, split_rows([raw.texts[i] for i in whole], self.delimiter), strict=True))
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
        kept = list(rows.values())
        X = np.array([[float(self._with_point(row[j].strip())) for j in self.wanted.features] for row in kept])
        return self._block(X.reshape(len(kept), len(self.wanted.features)), *self._labels_and_words(kept), raw.done,
                           rejected)

    def _fault(self, row: list[str]) -> Fault | None:
        """What is wrong with a row, if anything is."""
        if len(row) != self.n_columns:
            return None, f"expected {self.n_columns} columns, got {len(row)}"
        for column in self.wanted.features:
            text = row[column].strip()
            if not self._is_finite(text):
                return column, self._expected(text)
        target = self.wanted.target
        if target is not None and self._lacks([row[target].strip()]):
            return target, "expected a label or target, got an empty cell"
        return None

    def _is_finite(self, text: str) -> bool:
        pointed = self._with_point(text)
        if self.decimal == "," and "." in text:
            return False
        return is_number(pointed) and abs(float(pointed)) <= LARGEST_VALUE

    def _expected(self, text: str) -> str:
        comma = " with a decimal comma" if self.decimal == "," else ""
        if is_missing(text):
            return f"expected a finite number{comma}, got {text!r}: the value is missing; fill it in, or leave out " \
                   "the column (--drop) or such rows (--reject)"
        hint = ""
        if self.decimal == "." and is_number(text.replace(",", ".")) and not is_number(text):
            hint = ": if it has a decimal comma, say --decimal ,"
        return f"expected a finite number{comma}, got {_shortened(text)!r}{hint}"

    def _with_point(self, text: str) -> str:
        """A number with a decimal comma as one with a point; any other word as it is."""
        if self.decimal == "." or "," not in text or "." in text:
            return text
        pointed = text.replace(",", ".", 1)
        return pointed if is_number(pointed) else text


def _numbers(texts: list[str], delimiter: str, columns: Sequence[int]) -> Double | None:
    """Columns of the texts as numbers, or None where one is no finite number."""
    try:
        X = np.loadtxt(texts, usecols=columns, ndmin=2, delimiter=delimiter, comments=None)
    except ValueError:
        return None
    # The comparison is false for nan too.
    return X if len(X) == len(texts) and bool((np.abs(X) <= LARGEST_VALUE).all()) else None


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
