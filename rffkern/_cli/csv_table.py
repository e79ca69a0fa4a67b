"""CSV files: a table in a text, with a row on each line."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import InvalidInputError
from .csv_parser import CsvParser, LearningParser
from .csv_records import Record, cells_of, guessed_delimiter, raw_blocks, records
from .labels import is_missing, is_number
from .streams import printable, say
from .table import UNKNOWN, Reading, Wanted, check_column_names, column_label
from .text_source import Line, Piece, TextSource, count_lines, lines_of, split_lines

_INTEGER = r"[+-]?[0-9]+"
_GUESS_LINES, _GUESS_CHARACTERS = 50, 1 << 16


class CsvFormat(NamedTuple):
    """How a table is written in a text."""

    header: str = "auto"  # whether the first row holds column names: auto, yes or no
    delimiter: str | None = None  # what separates cells; None is guessed
    encoding: str = "utf-8"
    decimal: str = "."  # what stands before the fraction of a number: a point or a comma


def looks_like_header(first: Sequence[str], second: Sequence[str] = ()) -> bool:
    """Whether the first row holds column names: it has no number at all, or a word above a number of the second row.

    Missing values are no words; but the column of row numbers that pandas writes has no name.
    """
    return not any(map(is_number, first)) or any(
        is_number(below) and not is_number(cell) and (not is_missing(cell) or (cell == "" and j == 0))
        for j, (cell, below) in enumerate(zip(first, second, strict=False)))


def holds_names(first: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the first row holds the column names of a model; numbers only count in the model's order."""
    known = set(names)
    found = [cell for cell in first if cell in known]
    ordered = sorted(found) == sorted(names) if any(not is_number(name) for name in names) else found == list(names)
    return bool(names) and ordered


def may_be_numbered(first: Sequence[str], second: Sequence[str] = ()) -> bool:
    """Whether the numbers of the first row may be names: 0, 1, 2 and so on, or distinct integers over real numbers."""
    numbers = [cell for cell in first if is_number(cell)]
    if not all(re.fullmatch(_INTEGER, number) for number in numbers) or len(set(numbers)) < len(numbers):
        return False
    real = any(is_number(cell) and is_number(below) and not re.fullmatch(_INTEGER, below)
               for cell, below in zip(first, second, strict=False))
    return bool(numbers) and (real or numbers == [str(j) for j in range(len(numbers))])


class CsvTable:
    """Rows of a text, which is opened once; `columns` are the names in its first row, or None.

    `names` are those of the model's columns, by which a first row of names is known.
    """

    has_labels = False

    def __init__(self, path: str, form: CsvFormat = CsvFormat(), names: Sequence[str] = ()) -> None:  # noqa: B008
        self._source, self._form = TextSource(path, form.encoding), form
        self.path, self.total = self._source.name, self._source.total
        seen: list[Piece] = []
        pieces = self._source.pieces()
        lines = lines_of(_noted(pieces, seen))
        head = _head(lines)
        self.delimiter = form.delimiter or self._guess(head)
        numbered = records(itertools.chain(head, lines), self.delimiter, self._source.encoding, self.path)
        first = list(itertools.islice(numbered, 2))
        self._unread: Iterator[Piece] | None = itertools.chain(seen, pieces)
        rows = self._cells(first)
        if not rows:
            raise InvalidInputError(f"{self.path}: the file holds no rows")
        self.has_header = self._begins_with_names(rows, first[0][0], names) if form.header == "auto" \
            else form.header == "yes"
        self._first_line = first[0][0] + count_lines(first[0][1]) if self.has_header else 1
        self.columns = rows[0] if self.has_header else None
        self.n_columns = len(rows[0])
        self.guessed_data = form.header == "auto" and not self.has_header
        check_column_names(self.path, self.columns)

    def _guess(self, head: list[Line]) -> str:
        delimiter = guessed_delimiter(head, "," if self._form.decimal == "," else "")
        if delimiter != ",":
            say(f"{printable(self.path)}: using {delimiter!r} as delimiter; --delimiter chooses another")
        return delimiter

    def _cells(self, first: list[Record]) -> list[list[str]]:
        """Cells of the first rows; a fault in the first is an error, one in the second waits for its turn."""
        line, _, fault, _ = first[0] if first else (0, "", None, True)
        if fault is not None:
            column, reason = fault
            place = "" if column is None else f", column {column_label(column, None)}"
            raise InvalidInputError(f"{self.path}: line {line}{place}: {reason}")
        return [[cell.strip() for cell in cells_of(text, self.delimiter)]
                for _, text, fault, _ in first if fault is None]

    def _begins_with_names(self, rows: list[list[str]], line: int, names: Sequence[str]) -> bool:
        pointed = rows if self._form.decimal == "." else [[cell.replace(",", ".") for cell in row] for row in rows]
        if holds_names(rows[0], names) or looks_like_header(*pointed):
            return True
        if may_be_numbered(*pointed):
            raise InvalidInputError(f"{self.path}: row 1 (line {line}) may hold column names, or numbers: "
                                    f"{', '.join(rows[0][:4])}{', ...' if rows[0][4:] else ''}; "
                                    "say --header yes or --header no")
        return False

    def reading(self, wanted: Wanted) -> Reading:
        """All rows, of a pipe only once; labels are words."""
        cells = wanted.cells_of_features()
        parser = CsvParser(self.path, self.delimiter, self._form.decimal, self.columns, self.n_columns, wanted, cells)
        learns = any(each.kind == UNKNOWN for each in cells)
        blocks = raw_blocks(self._data_pieces(), self.delimiter, lambda: self._source.position, self._source.encoding,
                            self.path)
        return Reading(blocks, LearningParser(parser).parse if learns else parser.parse)

    def _data_pieces(self) -> Iterator[Piece]:
        """All lines below the header: those that are already read, and the rest of the file."""
        pieces, self._unread = self._unread, None
        for number, text in self._source.pieces() if pieces is None else pieces:  # or a second time
            if number < self._first_line:
                above = self._first_line - number
                number, text = self._first_line, "".join(split_lines(text)[above:])
            if text:
                yield number, text


def _noted(pieces: Iterator[Piece], seen: list[Piece]) -> Iterator[Piece]:
    """The same pieces, each of which is put into `seen` first."""
    for piece in pieces:
        seen.append(piece)
        yield piece


def _head(lines: Iterator[Line]) -> list[Line]:
    """The first lines, which tell what separates cells."""
    head, n_characters = [], 0
    for line in lines:
        head.append(line)
        n_characters += len(line[1])
        if len(head) == _GUESS_LINES or n_characters > _GUESS_CHARACTERS:
            break
    return head
