"""The text of a .csv file: decompressed, decoded, and split into records, the rows as they are written."""

import bisect
import codecs
import csv
import errno
import io
import itertools
import os
import re
import stat
import sys
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from ..errors import InvalidInputError
from .output import DASH
from .table import BLOCK_ROWS

LONGEST_CELL = 131_072  # in characters, as in Python's csv
_CHUNK_BYTES = 1 << 18
_LONGEST_LINE = _LONGEST_ROW = 1 << 24  # in characters; a file without line breaks would otherwise fill the memory
_BLOCK_CHARACTERS = 1 << 23
_MARK_BYTES = 6  # of the longest mark of a format, compression or encoding
BINARY_MARKS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy"}  # of tables that are no text
_GZIP, _BOM_UTF16 = b"\x1f\x8b", (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BOM_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # of which the first begins as one of UTF-16
_DELIMITERS = (",", ";", "\t", "|")  # that are detected; the first of equally good ones is taken

# Characters that `str.splitlines` takes for line breaks, and csv does not.
_OTHER_BREAKS = "\v\f\x1c\x1d\x1e"
# What no cell may contain: NUL, and the surrogates that stand for bytes which cannot be decoded.
_INVALID = re.compile("[\0\udc80-\udcff]")

Line = tuple[int, str]  # its number in the file, from 1, and its text with its line break
Chunk = tuple[int, str]  # the number of its first line, and the text of one or more whole lines
RecordError = tuple[int | None, str]  # the column with the error, if it is in one, and what is wrong
# A row as it is written: the number of its first line, from 1; its text, of several lines if cells contain line breaks;
# its error; and whether it is simple, so that a delimiter always separates cells and a quote is only the first or last
# character of a cell.  (A tuple, because there is one for every row.)
Record = tuple[int, str, RecordError | None, bool]


class TextSource:
    """A text file or pipe, opened once, that may be compressed by gzip.

    `position` of `total` bytes of the file have been read.
    """

    def __init__(self, path: str, encoding: str = "utf-8") -> None:
        self.name = "standard input" if path == DASH else path
        self.encoding = codecs.lookup(encoding).name
        self.position, self.total, self._line = 0, None, 1  # the line with which the next chunk begins
        self._named_gzip, self._started = path.lower().endswith(".gz"), False
        if path == DASH:
            if sys.stdin is None:  # closed
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            self._file = cast(io.BufferedReader, sys.stdin.buffer)
        else:
            self._file = open(path, "rb")  # noqa: SIM115, closed with the source
            weakref.finalize(self, self._file.close)
            status = os.fstat(self._file.fileno())
            self.total = status.st_size if stat.S_ISREG(status.st_mode) else None

    def chunks(self) -> Iterator[Chunk]:
        """The text from the first line on; of a pipe only once."""
        if self._started and self.total is None:
            raise InvalidInputError(f"{self.name}: a pipe can be read only once")
        if self._started:
            self._file.seek(0)
        self._started, self.position, self._line = True, 0, 1
        rest = ""
        for text in self._decoded():
            text = rest + text
            # A CR at the end may be followed by LF, so that no chunk ends with it.
            end = 1 + max(text.rfind("\n"), text.rfind("\r", 0, -1))
            lines, rest = text[:end], text[end:]
            if lines:
                yield self._line, lines
                self._line += count_lines(lines)
        if rest:
            yield self._line, rest

    def _decoded(self) -> Iterator[str]:
        """Text in pieces of at least one line break; one without a line break grows until it is too long."""
        decoder = codecs.getincrementaldecoder("utf-8-sig" if self.encoding == "utf-8" else self.encoding)(
            "surrogateescape")
        waiting: list[str] = []
        for data in itertools.chain(self._bytes(), [b""]):
            try:
                text = decoder.decode(data, not data)
            except UnicodeError as error:
                line = self._line
                if isinstance(error, UnicodeDecodeError):
                    line += error.object[: error.start].decode(self.encoding, "ignore").count("\n")
                raise InvalidInputError(f"{self.name}: not a text in {self.encoding}, near line {line}: "
                                        f"{error}; pass --encoding NAME") from error
            waiting.append(text)
            if "\n" in text or "\r" in text or not data:
                yield "".join(waiting)
                waiting = []
            elif sum(map(len, waiting)) > _LONGEST_LINE:
                raise InvalidInputError(f"{self.name}: line {self._line}: expected at most {_LONGEST_LINE} characters "
                                        "on a line, got more: is it a text with line breaks?")

    def _bytes(self) -> Iterator[bytes]:
        """The bytes of the text, decompressed; an encoding that their first bytes contradict is an error."""
        head, data = _with_head(self._file_bytes())
        if head.startswith(_GZIP):
            head, data = _with_head(self._decompressed(data))
        elif self._named_gzip:
            raise InvalidInputError(f"{self.name}: expected a file compressed by gzip, because its name ends in .gz; "
                                    "got other bytes, or none: rename it if it is plain text")
        for mark, ending in BINARY_MARKS.items():
            if head.startswith(mark):
                raise InvalidInputError(f"{self.name}: expected a text, got what a {ending} file has: give the file by "
                                        "its name, as such files are not read from pipes")
        found = "UTF-32" if head.startswith(_BOM_UTF32) else "UTF-16" if head.startswith(_BOM_UTF16) else None
        if found is not None and not self.encoding.startswith(found.lower()):
            raise InvalidInputError(f"{self.name}: expected a text in {self.encoding}, got one in {found}: pass "
                                    f"--encoding {found.lower()}, or save it as UTF-8")
        if head.startswith(codecs.BOM_UTF8) and self.encoding != "utf-8":
            raise InvalidInputError(f"{self.name}: expected a text in {self.encoding}, got a UTF-8 byte order mark: "
                                    "leave out --encoding")
        return data

    def _file_bytes(self) -> Iterator[bytes]:
        # One system call at a time: `read` would wait for more, and handle no Ctrl-C in between.
        while data := self._file.read1(_CHUNK_BYTES):
            self.position += len(data)
            yield data

    def _decompressed(self, compressed: Iterator[bytes]) -> Iterator[bytes]:
        """The contents of one or more members of a gzip file, in chunks of bounded size."""
        decoder = zlib.decompressobj(31)
        try:
            for data in compressed:
                while data:
                    if decoder.eof:
                        decoder = zlib.decompressobj(31)
                    if text := decoder.decompress(data, _CHUNK_BYTES):
                        yield text
                    data = decoder.unused_data.lstrip(b"\0") if decoder.eof else decoder.unconsumed_tail
            if text := decoder.flush():
                yield text
            if not decoder.eof:
                raise zlib.error("the end of the file is missing")
        except zlib.error as error:
            raise InvalidInputError(f"{self.name}: the compressed file is damaged or truncated: {error}") from error


def _with_head(data: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, as many as a mark has, or all there are; and all bytes, these included."""
    head = b""
    while len(head) < _MARK_BYTES and (more := next(data, b"")):
        head += more
    return head, itertools.chain([head] if head else [], data)


def count_lines(text: str) -> int:
    """Number of lines of a text; the last may have no line break."""
    n_returns = text.count("\r") - text.count("\r\n") if "\r" in text else 0
    return text.count("\n") + n_returns + (text[-1:] not in "\r\n")


def split_lines(text: str) -> list[str]:
    """The lines of a text, which end in CR, LF or CR LF, with their line breaks."""
    if text.isascii() and not any(mark in text for mark in _OTHER_BREAKS):
        return text.splitlines(keepends=True)  # which is faster
    return list(io.StringIO(text, newline=""))


def lines_of(chunks: Iterable[Chunk]) -> Iterator[Line]:
    """All lines of some chunks."""
    for number, text in chunks:
        yield from enumerate(split_lines(text), number)


class RawBlock(NamedTuple):
    """Consecutive records that are parsed together."""

    first_row: int  # number of the first data row, from 1
    lines: Sequence[int]  # number of the first line of each record, from 1
    texts: list[str]
    errors: dict[int, RecordError]  # by the index of the record
    simple: bool  # whether all records are simple, each on a line of its own
    done: int

    def __reduce__(self) -> tuple[Any, ...]:
        """One text is sent to other processes much faster than many, and so is one number."""
        if not self.simple or self.lines[-1] - self.lines[0] >= len(self.lines):
            return RawBlock, tuple(self)
        return _block_of_lines, ("".join(self.texts), self.first_row, self.lines[0], self.errors, self.done)


def _block_of_lines(text: str, first_row: int, first_line: int, errors: dict[int, RecordError], done: int) -> RawBlock:
    texts = split_lines(text)
    return RawBlock(first_row, range(first_line, first_line + len(texts)), texts, errors, True, done)


def raw_blocks(chunks: Iterator[Chunk], delimiter: str, position: Callable[[], int], encoding: str = "utf-8",
               name: str = "") -> Iterator[RawBlock]:
    """Records in blocks with a bounded number of rows and of characters.

    A chunk in which each line is a record is split at once: with --jobs, one process does this for all rows.
    """
    is_simple, ends_with_lines = _patterns(delimiter)
    blocks = _BlockBuilder(position)
    for number, text in chunks:
        simple = '"' not in text or is_simple(text) is not None
        if not simple and ends_with_lines(text) is None:  # from here on, records may continue on any line
            yield from blocks.add(records(lines_of(itertools.chain([(number, text)], chunks)), delimiter, encoding,
                                          name))
            break
        texts = split_lines(text)
        invalid = "\0" in text or (not text.isascii() and _INVALID.search(text))
        if invalid or any(map(str.isspace, texts)) or max(map(len, texts)) > LONGEST_CELL:
            yield from blocks.add(records(enumerate(texts, number), delimiter, encoding, name))
        else:
            yield from blocks.add_lines(number, texts, simple)
    yield from blocks.finish()


class _BlockBuilder:
    """Collects records into blocks."""

    def __init__(self, position: Callable[[], int]) -> None:
        self._position, self._first_row = position, 1
        self._reset()

    def _reset(self) -> None:
        self._lines: list[int] = []
        self._texts: list[str] = []
        self._errors: dict[int, RecordError] = {}
        self._size, self._simple = 0, True

    def add(self, found: Iterable[Record]) -> Iterator[RawBlock]:
        """Add records; yield the blocks that they fill."""
        for line, text, error, simple in found:
            if error is not None:
                self._errors[len(self._lines)] = error
            self._lines.append(line)
            self._texts.append(text)
            self._size += len(text)
            self._simple = self._simple and simple
            if self._is_full():
                yield from self.finish()

    def add_lines(self, number: int, texts: list[str], simple: bool) -> Iterator[RawBlock]:
        """Add lines that are records without errors, all at once; yield the blocks that they fill."""
        start = 0
        while start < len(texts):
            some = texts[start : start + BLOCK_ROWS - len(self._lines)]
            ends = list(itertools.accumulate(map(len, some), initial=self._size))
            some = some[: bisect.bisect_left(ends, _BLOCK_CHARACTERS)]
            self._lines += range(number + start, number + start + len(some))
            self._texts += some
            self._size = ends[len(some)]
            self._simple = self._simple and simple
            start += len(some)
            if self._is_full():
                yield from self.finish()

    def _is_full(self) -> bool:
        return len(self._lines) >= BLOCK_ROWS or self._size >= _BLOCK_CHARACTERS

    def finish(self) -> Iterator[RawBlock]:
        """Yield the records that are in no block yet."""
        if self._lines:
            yield RawBlock(self._first_row, self._lines, self._texts, self._errors, self._simple, self._position())
            self._first_row += len(self._lines)
            self._reset()


def _patterns(delimiter: str) -> tuple[Callable[[str], object], Callable[[str], object]]:
    """Functions that match a text if all its records are simple, and if all of them end with their lines."""
    mark = re.escape(delimiter)
    simple = rf'(?:^|(?<=[{mark}\r\n]))"[^"{mark}\r\n]*+"(?=[{mark}\r\n]|$)'
    # What follows the closing quote of a cell belongs to the cell too, as in Python's csv.
    cell = rf'(?: *+"(?:[^"\r\n]++|"")*+"(?!")[^{mark}\r\n]*+|(?! *+")[^{mark}\r\n]*+)'
    line = rf"{cell}(?:{mark}{cell})*+"
    return (re.compile(rf'[^"]*+(?:{simple}[^"]*+)*+').fullmatch,
            re.compile(rf"{line}(?:[\r\n]++{line})*+[\r\n]*+").fullmatch)


def records(lines: Iterator[Line], delimiter: str, encoding: str = "utf-8", name: str = "") -> Iterator[Record]:
    """The records of a text; empty lines are skipped, except within quoted cells."""
    is_simple, ends_with_lines = _patterns(delimiter)
    for number, text in lines:
        error, simple = None, True
        if len(text) > LONGEST_CELL or ('"' in text and not is_simple(text)):
            simple = False
            if len(text) > LONGEST_CELL or not ends_with_lines(text):
                text, error = _joined(text, lines, delimiter, name)
                simple = '"' not in text
        elif text.isspace():
            continue
        if error is None and (not text.isascii() or "\0" in text):
            error = _invalid_character(text, delimiter, encoding)
        yield number, text, error, simple


def _joined(text: str, lines: Iterator[Line], delimiter: str, name: str) -> tuple[str, RecordError | None]:
    """A record that may continue on the next lines, which are taken from `lines`, and its error."""
    taken, n_taken, closed = [text], len(text), True

    def record_lines() -> Iterator[str]:
        nonlocal n_taken, closed
        yield text
        for number, line in lines:
            taken.append(line)
            n_taken += len(line)
            if n_taken > _LONGEST_ROW:
                raise InvalidInputError(f"{name}: line {number}: expected rows of at most {_LONGEST_ROW} "
                                        "characters, got a longer one: is a quote not closed?")
            yield line
        closed = False  # the reader asks for another line, and there is none

    error = None
    try:
        next(csv.reader(record_lines(), delimiter=delimiter, skipinitialspace=True))
    except csv.Error:
        error = f"expected cells of at most {LONGEST_CELL} characters, got a longer one: is a quote not closed?"
    if not closed:
        error = 'a quoted cell is not closed before the end of the file: close it, or write " inside a cell as ""'
    return "".join(taken), (None, error) if error else None


def _invalid_character(text: str, delimiter: str, encoding: str) -> RecordError | None:
    """The first character that no cell may contain, and its column."""
    match = _INVALID.search(text)
    if match is None:
        return None
    character = match.group()
    if character == "\0":
        reason = "expected text, got the character NUL: if it is UTF-16, pass --encoding utf-16-le or utf-16-be"
    else:
        byte = ord(character) - 0xdc00
        # Windows writes cp1252, which is latin-1 but for 0x80 to 0x9f: there it has the euro sign, dashes and quotes.
        usual = "" if byte in (0x81, 0x8d, 0x8f, 0x90, 0x9d) else "cp1252, as Excel writes, or "
        reason = f"expected text in {encoding}, got the byte 0x{byte:02x}: pass --encoding {usual}the encoding " \
                 "of the file"
    (cells,) = split_rows([text], delimiter)
    return next(j for j, cell in enumerate(cells) if character in cell), reason


def split_rows(texts: Sequence[str], delimiter: str) -> list[list[str]]:
    """Cells of records without errors, with the blanks around them; quotes are those of RFC 4180."""
    if not any('"' in text for text in texts):
        return [text.rstrip("\r\n").split(delimiter) for text in texts]
    ended = (text if text[-1] in "\r\n" else text + "\n" for text in texts)
    return list(csv.reader(io.StringIO("".join(ended), newline=""), delimiter=delimiter, skipinitialspace=True))


# The first line by which a text tells Excel its delimiter.
SEPARATOR_LINE = r'sep=([^"\r\n])(?:\r\n?|\n)'


def named_delimiter(lines: Sequence[Line]) -> str | None:
    """The delimiter that a first line such as "sep=;" names, or None."""
    match = re.fullmatch(SEPARATOR_LINE, lines[0][1], re.IGNORECASE) if lines else None
    return match and match.group(1)


def detect_delimiter(lines: Sequence[Line], decimal: str) -> str:
    """The delimiter of the first lines: it splits the first row, and most others into as many cells."""
    best, best_share = ";" if decimal == "," else ",", 0.0
    for delimiter in _DELIMITERS:
        rows = split_rows([text for _, text, error, _ in records(iter(lines), delimiter)
                           if error is None or error[0] is not None], delimiter)  # also with an invalid character
        if delimiter == decimal or not rows or len(rows[0]) < 2:
            continue
        share = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        if share > best_share:
            best, best_share = delimiter, share
    return best
