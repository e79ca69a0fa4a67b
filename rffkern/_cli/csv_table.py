"""Columns of cells of a text as numbers, dates or words, and how it is told which they are."""

import datetime
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .._column_map.raw import CATEGORY, DATE, EMPTY, NUMERIC, has_large_integers
from .._native.array_types import NDArray
from .._native.scoring import read_numbers
from .._rows.validation import LARGEST_VALUE
from ..errors import InvalidInputError
from .csv_text import (
    Fault,
    Line,
    Piece,
    RawBlock,
    Record,
    TextSource,
    cells_of,
    count_lines,
    guessed_delimiter,
    lines_of,
    raw_blocks,
    records,
    split_lines,
    split_rows,
)
from .output import printable, say
from .table import (
    MISSING,
    UNKNOWN,
    Block,
    Cells,
    CsvFormat,
    Reading,
    Rejected,
    Wanted,
    check_column_names,
    column_label,
    is_missing,
    is_number,
    is_whole,
    level_of_number,
    located,
    truth_of,
)

Double = NDArray[np.float64]

# Patterns that few tables need are compiled when they are first used: it takes some tenths of a millisecond.
_DATE = (r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
         r" ?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?")
_EPOCH = datetime.date(1970, 1, 1).toordinal()
MISSING_CELLS = frozenset(form for word in MISSING for form in (word, word.upper(), word.title())) | {"NaN", "NaT"}

# A column of numbers, or dates, and words is a category if this share of its cells are words, or if it has few values.
_SHARE_OF_WORDS, _FEW_VALUES = 0.1, 32


class Column(NamedTuple):
    """The cells of a column."""

    values: Double  # nan where missing, seconds, or indices of words
    levels: tuple[str, ...] = ()  # the words of a category


def column_of(texts: Sequence[str], cells: Cells, decimal: str) -> Column | None:
    """A column, or None where a cell is not what it should be; `decimal` stands before the fraction of a number."""
    if cells.kind == CATEGORY:
        return _words(texts, cells.levels)
    if cells.kind in (EMPTY, UNKNOWN):
        return Column(np.full(len(texts), 0.0 if cells.kind == EMPTY else np.nan))
    values = _numbers(texts, decimal) if cells.kind == NUMERIC else _each(texts, cells.kind, decimal)
    return None if values is None or not (cells.gaps or not np.isnan(values).any()) else Column(values)


def reason_against(text: str, cells: Cells, decimal: str, delimiter: str) -> str | None:
    """What is wrong with a cell, or None."""
    if cells.kind in (CATEGORY, EMPTY, UNKNOWN):
        return None
    value = _value(text, cells.kind, decimal)
    if value is not None and (cells.gaps or value == value):
        return None
    comma = " with a decimal comma" if decimal == "," else ""
    expected = f"expected a finite number{comma}," if cells.kind == NUMERIC \
        else "expected a date, such as 2024-03-01 or 2024-03-01 12:30,"
    if not cells.gaps and is_missing(text):
        return f"{expected} got {text!r}: the value is missing; fill it in, or leave out such rows (--reject FILE)"
    hint = ""
    if cells.kind == NUMERIC and decimal == "." and is_number(text.replace(",", ".")) and not is_number(text):
        hint = ": if it has a decimal comma, say --decimal ," if delimiter != "," \
            else ": if it has a decimal comma, write a point, because commas separate the columns"
    elif cells.guessed and not is_number(text):
        most = "dates" if cells.kind == DATE else "numbers"
        hint = f": most of the first cells of the column are {most}; leave out such rows (--reject FILE), or name " \
               "the column in --categorical"
    return f"{expected} got {_shortened(text)!r}{hint}"


def found_cells(texts: Sequence[str], decimal: str) -> Cells | None:
    """What the first cells of a column are, or None where all are missing."""
    numbers = _numbers(texts, decimal)
    if numbers is not None and not np.isnan(numbers).all():
        return Cells(NUMERIC, gaps=True, guessed=True)
    counts = Counter(map(str.strip, texts))
    kinds: Counter[str] = Counter()
    n_values = 0
    for text, count in counts.items():
        if not is_missing(text):
            n_values += 1
            kinds[_kind_of(text)] += count
    if not kinds:
        return None
    n_cells = kinds.total()
    likely = max((NUMERIC, DATE), key=kinds.__getitem__)
    few = n_values <= min(_FEW_VALUES, n_cells / 2)
    if kinds[likely] < n_cells and (few or n_cells - kinds[likely] >= _SHARE_OF_WORDS * n_cells):
        likely = CATEGORY
    return Cells(likely, gaps=True, guessed=True)


def _kind_of(text: str) -> str:
    """What a cell looks like; a number with a decimal comma is one that has a fault."""
    if is_number(text) or is_number(text.replace(",", ".", 1)):
        return NUMERIC
    return CATEGORY if _seconds(text) is None else DATE


def with_point(text: str, decimal: str) -> str:
    """A number with a decimal comma as one with a point; any other word as it is."""
    if decimal == "." or "," not in text or "." in text:
        return text
    pointed = text.replace(",", ".", 1)
    return pointed if is_number(pointed) else text


def _value(text: str, kind: str, decimal: str) -> float | None:
    """The number or the seconds of a cell, nan where it is missing, or None."""
    if kind == NUMERIC and is_number(with_point(text, decimal)) and not (decimal == "," and "." in text):
        value = float(with_point(text, decimal))
        return None if abs(value) > LARGEST_VALUE else value
    seconds = _seconds(text) if kind == DATE else None
    return float("nan") if seconds is None and is_missing(text) else seconds


def _each(texts: Sequence[str], kind: str, decimal: str) -> Double | None:
    """Values of all cells, each different one looked at by itself."""
    values = {text: _value(text.strip(), kind, decimal) for text in set(texts)}
    if None in values.values():
        return None
    return np.array([values[text] for text in texts], dtype=np.float64)


def _numbers(texts: Sequence[str], decimal: str) -> Double | None:
    """Numbers, nan where missing, or None where a cell is none."""
    joined = "".join(texts)
    # Python's float reads 1_000 and the digits of other scripts, which are no numbers here.
    if "_" in joined or not joined.isascii() or (decimal == "," and "." in joined):
        return _each(texts, NUMERIC, decimal)
    pointed = texts if decimal == "." else [text.replace(",", ".") for text in texts]
    try:
        values = np.fromiter(map(float, pointed), np.float64, len(texts))
    except ValueError:
        try:
            present = ("nan" if text in MISSING_CELLS else number for text, number in zip(texts, pointed, strict=True))
            values = np.fromiter(map(float, present), np.float64, len(texts))
        except ValueError:
            return _each(texts, NUMERIC, decimal)
    return None if (np.abs(values) > LARGEST_VALUE).any() else values


def _seconds(text: str) -> float | None:
    """Seconds since 1970 of a date in the form of ISO 8601, in UTC if it has no zone; None for another text."""
    found = re.fullmatch(_DATE, text)
    if found is None:
        return None
    day, hour, minute, second, fraction, zone = found.groups()
    try:
        seconds = (datetime.date.fromisoformat(day).toordinal() - _EPOCH) * 86400
    except ValueError:
        return None
    if int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    seconds += 3600 * int(hour or 0) + 60 * int(minute or 0) + int(second or 0)
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = 3600 * int(digits[:2]) + 60 * int(digits[2:])
        seconds += offset if zone[0] == "-" else -offset
    return seconds + int((fraction or "0").ljust(9, "0")) / 10**9


def _words(texts: Sequence[str], levels: Mapping[str, str]) -> Column:
    """The words of a category."""
    index: dict[str, int] = {}
    codes = [index.setdefault(text, len(index)) for text in texts]
    merged: dict[str, int] = {}
    names = (_level(text.strip(), levels) for text in index)
    places = np.array([np.nan if name is None else merged.setdefault(name, len(merged)) for name in names])
    return Column(places[codes] if codes else np.empty(0), tuple(merged))


def _level(text: str, levels: Mapping[str, str]) -> str | None:
    """The level of a model that a cell stands for, or else its text; None where it is missing."""
    if text in levels or not levels:
        return None if not levels and is_missing(text) else levels.get(text, text)
    if is_missing(text):
        return None
    number = level_of_number(text) if is_number(text) else text
    truth = truth_of({"0": "False", "1": "True"}.get(number, number))
    return levels.get(number) or levels.get(truth or "", text)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."



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


_INTEGER = r"[+-]?[0-9]+"
_GUESS_LINES, _GUESS_CHARACTERS = 50, 1 << 16


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
