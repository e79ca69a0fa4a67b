"""Tables in .csv files: whether they begin with column names, and records parsed to numbers, categories and dates."""

import io
import itertools
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from .._column_map.cells import (
    CATEGORY,
    DATE,
    EMPTY,
    NUMERIC,
    PADDED,
    Reading,
    infer_reading,
    is_integer,
    is_missing,
    is_number,
    known_level,
    looks_missing,
    normal_texts,
    plain_numbers,
    read_column,
    read_texts,
)
from .._column_map.tables import has_large_integers
from .._estimator.registry import AUTOMATIC
from .._native.array_types import Double
from .._native.scoring import read_numbers
from .._protocol.arguments import truncated
from .._rows.validation import LARGEST_VALUE
from ..errors import InvalidInputError
from .csv_text import (
    Chunk,
    Line,
    RawBlock,
    Record,
    RecordError,
    TextSource,
    count_lines,
    detect_delimiter,
    lines_of,
    named_delimiter,
    raw_blocks,
    records,
    split_lines,
    split_rows,
)
from .output import RejectedRow, say
from .table import (
    ROW_1_IS_DATA,
    SKIP,
    UNKNOWN,
    Block,
    ColumnType,
    CsvFormat,
    Selection,
    as_written,
    check_column_names,
    column_label,
    infer_types,
    say_doubts,
)

Column = tuple[Double, tuple[str, ...]]  # its values, nan where missing, and the levels of a category

_HEAD_LINES, _HEAD_CHARACTERS = 50, 1 << 16  # from which the delimiter is detected


class CsvTable:
    """Rows of a text, which is opened once; `columns` are the names in its first row, or None.

    `names` are those of the columns of a model: a first row that contains them is a header.
    """

    has_labels = False

    def __init__(self, path: str, form: CsvFormat = CsvFormat(), names: Sequence[str] = ()) -> None:  # noqa: B008
        self._source, self._form = TextSource(path, form.encoding), form
        self.path, self.total = self._source.name, self._source.total
        seen: list[Chunk] = []  # `itertools.tee` would keep 50 more
        chunks = self._source.chunks()
        lines = lines_of(_recorded(chunks, seen))
        head = _head(lines)
        named = named_delimiter(head)
        if named is not None:
            head = head[1:]
        self.delimiter = form.delimiter or named or detect_delimiter(head, form.decimal)
        if form.delimiter is None and self.delimiter != ",":
            say(f"{self.path}: using {self.delimiter!r} as delimiter; override with --delimiter")
        if self._source.encoding == "iso8859-1":
            _remark_controls(head, self.path)
        numbered = records(itertools.chain(head, lines), self.delimiter, self._source.encoding, self.path)
        first = list(itertools.islice(numbered, 2))
        self._unread: Iterator[Chunk] | None = itertools.chain(seen, chunks)
        rows = self._cells(first)
        if not rows:
            raise InvalidInputError(f"{self.path}: the file contains no rows")
        has_header = self._starts_with_names(rows, first[0][0], names) if form.header == "auto" \
            else form.header == "yes"
        self._first_line = first[0][0] + (count_lines(first[0][1]) if has_header else 0)  # of the data
        self.columns = rows[0] if has_header else None
        self.n_columns = len(rows[0])
        self.header_guessed = form.header == "auto"
        check_column_names(self.path, self.columns, ROW_1_IS_DATA if self.header_guessed else "")

    def _cells(self, first: list[Record]) -> list[list[str]]:
        """Cells of the first two rows; an error in the first is raised here, one in the second when it is parsed."""
        line, _, error, _ = first[0] if first else (0, "", None, True)
        if error is not None:
            column, reason = error
            place = "" if column is None else f", column {column_label(column, None)}"
            raise InvalidInputError(f"{self.path}: line {line}{place}: {reason}")
        rows = split_rows([text for _, text, error, _ in first if error is None], self.delimiter)
        return [[cell.strip() for cell in row] for row in rows]

    def _starts_with_names(self, rows: list[list[str]], line: int, names: Sequence[str]) -> bool:
        decimal = self._form.decimal
        pointed = rows if decimal == "." else [[cell.replace(",", ".") for cell in row] for row in rows]
        if _contains_names(rows[0], names) or looks_like_header(rows[0], rows[1] if rows[1:] else (), decimal):
            return True
        if _may_be_numbered(*pointed):
            raise InvalidInputError(f"{self.path}: row 1 (line {line}) may be column names or data: "
                                    f"{', '.join(rows[0][:4])}{', ...' if rows[0][4:] else ''}; "
                                    "pass --header yes or --header no")
        return False

    def read(self, selection: Selection) -> tuple[Iterator[RawBlock], Callable[[RawBlock], Block]]:
        """All rows; labels are text.  Of a pipe only once."""
        parser = CsvParser(self.path, self.delimiter, self._form, self.columns, self.n_columns, selection)
        blocks = raw_blocks(self._data_chunks(), self.delimiter, lambda: self._source.position, self._source.encoding,
                            self.path)
        return blocks, parser.parse

    def _data_chunks(self) -> Iterator[Chunk]:
        """All lines below the header: those that have been read already, and the rest of the file."""
        chunks, self._unread = self._unread, None
        for number, text in self._source.chunks() if chunks is None else chunks:  # or all of it, a second time
            if number < self._first_line:
                above = self._first_line - number
                number, text = self._first_line, "".join(split_lines(text)[above:])
            if text:
                yield number, text


def _recorded(chunks: Iterator[Chunk], seen: list[Chunk]) -> Iterator[Chunk]:
    """The same chunks, each appended to `seen` first."""
    for chunk in chunks:
        seen.append(chunk)
        yield chunk


def _remark_controls(lines: Sequence[Line], path: str) -> None:
    """Say that a text has control characters where cp1252 has the euro sign, dashes and quotes."""
    found = re.search("[\x80\x82-\x8c\x8e\x91-\x9c\x9e\x9f]", "".join(text for _, text in lines))
    if found is not None:
        say(f"{path}: the byte 0x{ord(found.group()):02x} is a control character in latin-1, and "
            f"{found.group().encode('latin-1').decode('cp1252')!r} in cp1252: pass --encoding cp1252")


def _head(lines: Iterator[Line]) -> list[Line]:
    head, n_characters = [], 0
    for line in lines:
        head.append(line)
        n_characters += len(line[1])
        if len(head) == _HEAD_LINES or n_characters > _HEAD_CHARACTERS:
            break
    return head


def looks_like_header(first: Sequence[str], second: Sequence[str] = (), decimal: str = ".") -> bool:
    """Whether the first row contains column names: it has no value at all, or a name above a number of the second row.

    Numbers with marks and dates, as 25%, 24h or 2019-01, are values above their like, and names above plain numbers.
    Missing values are no names, except in the first column: pandas gives its column of row numbers no name.
    """
    has_values = False
    for j, (cell, below) in enumerate(itertools.zip_longest(first, second[: len(first)], fillvalue="")):
        of_cell = _kind_of_cell(cell, decimal)
        if of_cell == NUMERIC:
            has_values = True
            continue
        of_below = _kind_of_cell(below, decimal)
        if of_below == NUMERIC and (not is_missing(cell) or (cell == "" and j == 0)):
            return True
        has_values |= bool(of_cell) and (of_below == of_cell or is_missing(below))
    return not has_values


_MARKED = "marked"  # the kind of a number with a unit, of a time, and so on
_MARKS_OF_NUMBERS = re.compile(r"[0-9+., '-]*")


def _kind_of_cell(cell: str, decimal: str) -> str:
    """What the reader of columns makes of a cell: NUMERIC, also with marked thousands; DATE; "marked"; "" of text."""
    if is_number(cell if decimal == "." else cell.replace(",", ".")):
        return NUMERIC
    if not any(map(str.isdecimal, cell)):
        return ""
    reading = infer_reading([cell], None, decimal)
    if reading is None or reading.kind not in (NUMERIC, DATE):
        return ""
    if reading.kind == DATE:
        return DATE
    return NUMERIC if _MARKS_OF_NUMBERS.fullmatch(normal_texts([cell])[0]) else _MARKED


def _contains_names(first: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the first row contains the column names of a model; numbers only in the model's order."""
    names = as_written(names, first)
    known = set(names)
    matches = [cell for cell in first if cell in known]
    if all(is_number(name) for name in names):
        return bool(names) and matches == list(names)
    return sorted(matches) == sorted(names)


def _may_be_numbered(first: Sequence[str], second: Sequence[str] = ()) -> bool:
    """Whether numbers of a first row may be names: 0, 1, 2 and so on, years in a row, or any above real numbers."""
    numbers = [cell for cell in first if is_number(cell)]
    if not all(map(is_integer, numbers)) or len(set(numbers)) < len(numbers):
        return False
    real = any(is_number(cell) and is_number(below) and not is_integer(below)
               for cell, below in zip(first, second, strict=False))
    if not numbers or real:
        return real
    counted = [str(int(numbers[0]) + j) for j in range(len(numbers))]
    return numbers == counted and (counted[0] == "0" or (len(numbers) > 2 and 1900 <= int(numbers[0]) <= 2100))


class CsvParser:
    """Parses raw blocks; it can be sent to other processes, unless kinds are UNKNOWN.

    Three ways lead to the same block: simple records in one pass of a compiled kernel or of `loadtxt`; other records
    column by column; and if a cell has an error, row by row, to locate it.
    """

    def __init__(self, path: str, delimiter: str, form: CsvFormat, names: list[str] | None, n_columns: int,
                 selection: Selection) -> None:
        self.path, self.delimiter, self.decimal, self.dates = path, delimiter, form.decimal, form.dates
        self.names, self.n_columns, self.selection = names, n_columns, selection
        self.types = [each._replace(words=(*each.words, *form.missing)) if each.nullable and each.kind != CATEGORY
                      else each for each in selection.feature_types()]

    def parse(self, raw: RawBlock) -> Block:
        """Numbers, labels and kept columns of all records; kinds that are still UNKNOWN are inferred first."""
        if any(each.kind == UNKNOWN for each in self.types):
            self._infer_types(raw)
        block = None
        if not raw.errors:
            block = self._parse_simple(raw) if raw.simple and raw.texts else None
            block = block or self._parse_columns(self._rows(raw), raw.done, [])
        block = self._parse_rows(raw) if block is None else block
        large = [k for k, each in enumerate(self.types)
                 if each.kind == NUMERIC and has_large_integers(block.X[:, k])]
        if not large:
            return block
        rows = [row for row in self._rows(raw) if len(row) == self.n_columns]
        return block._replace(rounded=[k for k in large if any(
            is_integer(row[self.selection.features[k]].strip()) for row in rows)])

    def _infer_types(self, raw: RawBlock) -> None:
        """Infer unknown kinds from the cells of a block, as far as it has any that are not missing."""
        unknown = [k for k, each in enumerate(self.types) if each.kind == UNKNOWN]
        types = self.types
        self.types = [each._replace(kind=NUMERIC, inferred=not each.is_target) if each.kind == UNKNOWN else each
                      for each in types]
        block = self._parse_simple(raw) if raw.simple and not raw.errors else None
        features = self.selection.features
        if block is not None and not np.isnan(block.X).all(axis=0).any():  # all of them are numbers
            mark = re.escape(self.delimiter)
            if any(re.search(rf'(?:^|[{mark}"])\s*{PADDED}\s*(?:[{mark}"]|$)', text) for text in raw.texts):
                for k in unknown:
                    say_doubts([row[features[k]] for row in self._rows(raw)], Reading(NUMERIC), self.types[k].nullable,
                               features[k], self.names, self.path)
            return
        self.types = list(types)
        valid = [text for i, text in enumerate(raw.texts) if i not in raw.errors]
        rows = [row for row in self._rows(raw._replace(texts=valid)) if len(row) == self.n_columns]
        infer_types(self.types, {k: [row[features[k]] for row in rows] for k in unknown},
                    features, self.names, self.path, self.dates, self.decimal)

    def _rows(self, raw: RawBlock) -> list[list[str]]:
        """Cells of all records, with the blanks around them."""
        return split_rows(_without_quotes(raw.texts) if raw.simple else raw.texts, self.delimiter)

    def _parse_simple(self, raw: RawBlock) -> Block | None:
        """Simple records, or None if one needs a closer look.

        A kernel reads plain numbers, and `loadtxt` others: much faster than Python does, but neither says which text
        is no number.
        """
        texts = _without_quotes(raw.texts)
        numeric = [k for k, each in enumerate(self.types) if each.kind == NUMERIC and not each.format]
        X = self._numbers_at_once(texts, numeric)
        if X is None:
            return None
        if len(numeric) == len(self.types):  # labels and kept columns alone are cut out
            return self._block(len(texts), partial(self._column_of_texts, texts), raw.done, [], X, numeric)
        columns = list(zip(*split_rows(texts, self.delimiter), strict=True))
        return self._block(len(texts), columns.__getitem__, raw.done, [], X, numeric)

    def _numbers_at_once(self, texts: list[str], numeric: list[int]) -> Double | None:
        """The features that are plain numbers, or None if a record needs a closer look."""
        if not numeric:
            return np.empty((len(texts), 0)) if _have_cells(texts, self.delimiter, self.n_columns) else None
        columns = [self.selection.features[k] for k in numeric]
        nullable = np.array([self.types[k].nullable for k in numeric], dtype=bool)
        if self.decimal == "," and any("." in text for text in texts):
            return None
        if self.decimal == "," != self.delimiter:  # else cells with a comma are quoted, and no such records are here
            texts = [text.replace(",", ".") for text in texts]
        X = _loaded(texts, self.delimiter, self.n_columns, columns)
        if X is None and nullable.any():
            X = _loaded(_with_nan(texts, self.delimiter), self.delimiter, self.n_columns, columns)
        if X is None:
            return None
        usable = np.abs(X) <= LARGEST_VALUE  # false for nan
        return X if usable.all() or (usable | (np.isnan(X) & nullable)).all() else None

    def _column_of_texts(self, texts: list[str], column: int) -> list[str]:
        """Cells of one column of simple records."""
        if column == self.n_columns - 1:
            return [text.rpartition(self.delimiter)[2] for text in texts]
        return [text.split(self.delimiter, column + 1)[column] for text in texts]

    def _parse_columns(self, rows: list[list[str]], done: int, rejected: list[RejectedRow]) -> Block | None:
        """Rows of cells, or None if one has an error."""
        if not {*map(len, rows)} <= {self.n_columns}:
            return None
        columns = list(zip(*rows, strict=True)) if rows else [()] * self.n_columns
        return self._block(len(rows), columns.__getitem__, done, rejected, np.empty((len(rows), 0)), [])

    def _block(self, n_rows: int, cells: Callable[[int], Sequence[str]], done: int, rejected: list[RejectedRow],
               numbers: Double, numeric: list[int]) -> Block | None:
        """The block of the cells of columns, or None if one has an error; `numeric` features are read in `numbers`."""
        X, levels = numbers, {}
        if len(numeric) < len(self.types):
            X = np.empty((n_rows, len(self.types)))
            X[:, numeric] = numbers
            for k in sorted({*range(len(self.types))} - {*numeric}):
                column = parse_column(cells(self.selection.features[k]), self.types[k], self.decimal)
                if column is None:
                    return None
                X[:, k], levels[k] = column
        y, target = None, self.selection.target
        if target is not None:
            labels = [*map(str.strip, cells(target))]
            if self.selection.needs_labels and "" in labels:
                return None
            y = np.array(labels if self.decimal == "." else [_with_point(text, ",") for text in labels], dtype=np.str_)
        kept = [[*map(str.strip, cells(j))] for j in self.selection.kept]
        return Block(X, y, done, kept, rejected, self.types, {k: names for k, names in levels.items() if names})

    def _parse_rows(self, raw: RawBlock) -> Block:
        """All rows without an error; the others are rejected, or the first of them is raised."""
        valid = [i for i in range(len(raw.texts)) if i not in raw.errors]
        rows = dict(zip(valid, self._rows(raw._replace(texts=[raw.texts[i] for i in valid])), strict=True))
        rejected: list[RejectedRow] = []
        for i, text in enumerate(raw.texts):
            error = raw.errors.get(i) or self._error(rows[i])
            if error is None:
                continue
            column = "" if error[0] is None else column_label(error[0], self.names)
            rejected.append(RejectedRow(raw.first_row + i, raw.lines[i], column, error[1], text.rstrip("\r\n")))
            rows.pop(i, None)
            if not self.selection.reject:
                raise rejected[0].error(self.path)
        block = self._parse_columns(list(rows.values()), raw.done, rejected)
        assert block is not None
        return block

    def _error(self, row: list[str]) -> RecordError | None:
        """What is wrong with a row, if anything is."""
        if len(row) != self.n_columns:
            is_ended = row[self.n_columns :] == [""]
            names = f"end the column names with {self.delimiter!r}, too, " if is_ended else ""
            return None, f"expected {self.n_columns} columns, got {len(row)}: {names}correct the row, or {SKIP}"
        cells = [*map(str.strip, row)]
        for column, each in zip(self.selection.features, self.types, strict=True):
            reason = cell_error(cells[column], each, self.decimal, self.delimiter)
            if reason is not None and cells == self.names:
                return None, f"the row has the column names again: remove it, or {SKIP}"
            if reason is not None:
                is_footer = column == 0 and 2 * cells.count("") >= len(cells)
                return column, f"{reason}; if it is a row of totals, remove or skip it" if is_footer else reason
        target = self.selection.target
        if target is not None and self.selection.needs_labels and not cells[target]:
            return target, f"expected a label or target, got an empty cell: fill it in, {SKIP}, or name another " \
                           "column by --target"
        return None


# --- many numbers at once

_MISSING_IN_NUMBERS = ("", "NA", "N/A", "null", "NULL", "None", "?")  # what most programs write
_IN_NUMBERS = "0123456789+-.eE \r\n"  # characters that cannot be the delimiter of plain numbers


def _without_quotes(texts: list[str]) -> list[str]:
    """Simple records without the quotes around their cells."""
    return [text.replace('"', "") for text in texts] if '"' in "".join(texts) else texts


def _have_cells(texts: list[str], delimiter: str, n_columns: int) -> bool:
    """Whether simple records have so many cells each."""
    return {text.count(delimiter) for text in texts} == {n_columns - 1}


def _loaded(texts: list[str], delimiter: str, n_columns: int, columns: Sequence[int]) -> Double | None:
    """Columns of texts with so many cells each as numbers, or None if a cell is none."""
    if delimiter.isascii() and delimiter not in _IN_NUMBERS:
        places, X = np.full(n_columns, -1, dtype=np.intp), np.empty((len(texts), len(columns)))
        places[columns] = np.arange(len(columns))
        # The kernel refuses rows with another number of cells, and all but the most usual numbers.
        if read_numbers("".join(texts).encode("utf-8", "surrogatepass"), ord(delimiter), places, X):
            return X
    if not _have_cells(texts, delimiter, n_columns):
        return None
    try:
        X = np.loadtxt(texts, usecols=columns, ndmin=2, delimiter=delimiter, comments=None)
    except ValueError:
        return None
    return X if len(X) == len(texts) else None


def _with_nan(texts: list[str], delimiter: str) -> list[str]:
    """Simple records in which the usual texts for a missing value are replaced by nan."""
    text = "\n" + "".join(texts)
    ends = [end for end in "\r\n" if end in text]
    around = [(delimiter, delimiter), *((delimiter, end) for end in ends), *((end, delimiter) for end in ends)]
    for missing in _MISSING_IN_NUMBERS:
        for before, after in around if missing in text else ():
            for _ in range(2):  # neighbours share a delimiter
                text = text.replace(before + missing + after, f"{before}nan{after}")
    return list(io.StringIO(text[1:], newline=""))


# --- the cells of one column

def parse_column(texts: Sequence[str], kind: ColumnType, decimal: str) -> Column | None:
    """A column, or None if a cell is not of its kind; `decimal` is the decimal point or comma."""
    if kind.kind == CATEGORY:
        codes, levels = _categories(texts, kind)
        return None if not kind.nullable and np.isnan(codes).any() else (codes, levels)
    if kind.kind in (EMPTY, UNKNOWN):
        return np.full(len(texts), 0.0 if kind.kind == EMPTY else np.nan), ()
    if kind.words:
        texts = ["" if text.strip() in kind.words else text for text in texts]
    if kind.kind == NUMERIC and not kind.format:
        values = _numbers(texts, decimal, kind.nullable or kind.inferred or kind.is_target)
    else:
        values, odd = read_column(texts, kind.reading)
        values = None if odd else values
    return None if values is None or not (kind.nullable or not np.isnan(values).any()) else (values, ())


def _numbers(texts: Sequence[str], decimal: str, with_marks: bool) -> Double | None:
    """Numbers, also with marks of thousands and so on, nan where missing; None if a cell is neither."""
    plain = plain_numbers(texts, decimal)
    if plain is not None:
        return plain
    values = {text: _value(text.strip(), decimal, with_marks) for text in set(texts)}
    if None in values.values():
        return None
    return np.array([values[text] for text in texts], dtype=np.float64)


def _value(text: str, decimal: str, with_marks: bool) -> float | None:
    """The number in a cell, nan where it is missing, or None."""
    if is_number(_with_point(text, decimal)) and not (decimal == "," and "." in text):
        value = float(_with_point(text, decimal))
        return None if abs(value) > LARGEST_VALUE else value
    if is_missing(text):
        return float("nan")
    if not with_marks:
        return None
    values, odd = read_column([text], Reading(NUMERIC, "" if decimal == "." else decimal))
    return None if odd else float(values[0])


def _with_point(text: str, decimal: str) -> str:
    """A number with a decimal comma as one with a point; other text as it is."""
    if decimal == "." or "," not in text or "." in text:
        return text
    pointed = text.replace(",", ".", 1)
    return pointed if is_number(pointed) else text


def _categories(texts: Sequence[str], kind: ColumnType) -> Column:
    """The indices of levels, and the levels in the order in which they come."""
    index: dict[str, int] = {}
    codes = [index.setdefault(text, len(index)) for text in texts]
    merged: dict[str, int] = {}
    levels = [*map(str.strip, index)]
    names = [None if is_missing(text) else text for text in levels] if not kind.levels else [
        None if level is None else kind.levels.get(level, level)
        for level in (known_level(text, kind.levels) for text in levels)]
    places = np.array([np.nan if name is None else merged.setdefault(name, len(merged)) for name in names])
    return places[codes] if codes else np.empty(0), tuple(merged)


def cell_error(text: str, kind: ColumnType, decimal: str, delimiter: str) -> str | None:
    """What is wrong with a cell, or None."""
    column = parse_column([text], kind, decimal)
    if column is not None:
        return None
    comma = " with a decimal comma" if decimal == "," else ""
    alone_or_in = f", alone or with {kind.reading.unit!r}" if kind.reading.unit else ""
    date = {"dmy": "30/9/2019, ", "mdy": "9/30/2019, "}.get(kind.format, "2024-03-01 12:30") + kind.reading.date_order
    expected = {NUMERIC: f"expected a finite number{comma}{alone_or_in},", CATEGORY: "expected a value,"}.get(
        kind.kind, f"expected a date, such as 2024-03-01 or {date},")
    if not kind.nullable and is_missing(text):
        return f"{expected} got {text!r}: the value is missing; fill it in, or {SKIP}"
    hint, value = "", read_texts([text], Reading(NUMERIC))[0]
    if kind.kind == NUMERIC and decimal == "." and value == value and not is_number(text):
        hint = f": write {value:.15g}, without marks"
    elif kind.kind == NUMERIC and decimal == "." and is_number(text.replace(",", ".")) and not is_number(text):
        hint = ": if it has a decimal comma, pass --decimal ," if delimiter != "," \
            else ": if it has a decimal comma, write a point, because commas separate the columns"
    elif kind.is_target:
        hint = f": {SKIP}, or, if these are labels, train --model {AUTOMATIC[0]}"
    elif kind.inferred and not is_number(text):
        other = {"dmy": "mdy", "mdy": "dmy"}.get(kind.format) if kind.kind == DATE else None
        if other is not None and not read_column([text], Reading(DATE, other))[1]:
            return f"{expected} got {text!r}: if all dates of the column are so, pass --dates {other}"
        most = "dates" if kind.kind == DATE else "numbers"
        if not kind.nullable:
            return (f"{expected} got {truncated(text, 60)!r}: the column of --time must have {most} alone; correct it, "
                    f"or {SKIP}")
        hint = f": most of the first cells of the column are {most}; {_as_missing(text, kind.odd, ', ')}{SKIP}, " \
               "or list the column in --categorical"
    else:
        missing = _as_missing(text) if kind.nullable else ""
        hint = f": {missing or 'correct it'}, or {SKIP}"
    return f"{expected} got {truncated(text, 60)!r}{hint}"


def _as_missing(text: str, others: Sequence[str] = (), end: str = "") -> str:
    """How to make such cells count as missing, if the option can name them and they look like no value.

    Others of the column are named beside it, so that one more call is enough.
    """
    named = [each for each in dict.fromkeys((text, *others)) if looks_missing(each)][:5]
    if text not in named:
        return ""
    meaning = "if it means a missing value" if len(named) == 1 else "if they mean missing values"
    return f"pass --missing={shlex.quote(','.join(named))} {meaning}{end}"
