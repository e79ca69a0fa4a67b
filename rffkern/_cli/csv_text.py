"""Text out of a file or a pipe, line by line: decompressed, decoded, and in bounded memory."""

import bisect
import codecs
import errno
import io
import itertools
import os
import re
import stat
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from ..errors import InvalidInputError
from .output import STDIN
from .table import BLOCK_ROWS

_PIECE_BYTES = 1 << 18
_LONGEST_LINE = 1 << 24  # in characters; what has no line break at all would otherwise fill the memory
_MARK_BYTES = 3  # of what tells compression and encoding
_GZIP, _BOM_UTF16 = b"\x1f\x8b", (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_OTHER_BREAKS = "\v\f\x1c\x1d\x1e"  # of lines, in Python's eyes

# What no table holds: NUL, and the marks that stand for bytes which are no text in the encoding.
FOREIGN = re.compile("[\0\udc80-\udcff]")

Line = tuple[int, str]  # its number in the file, from 1, and its text with what ends it
Piece = tuple[int, str]  # the number of its first line, and the text of one or more whole lines


def split_lines(text: str) -> list[str]:
    """The lines of a text, which CR, LF or CR LF end; line breaks stay as they are."""
    if text.isascii() and not any(mark in text for mark in _OTHER_BREAKS):
        return text.splitlines(keepends=True)  # which is faster
    return list(io.StringIO(text, newline=""))


def count_lines(text: str) -> int:
    """How many lines a text has; the last may not end."""
    n_returns = text.count("\r") - text.count("\r\n") if "\r" in text else 0
    return text.count("\n") + n_returns + (text[-1:] not in "\r\n")


def lines_of(pieces: Iterator[Piece]) -> Iterator[Line]:
    """All lines of some pieces."""
    for number, text in pieces:
        yield from enumerate(split_lines(text), number)


def shown_name(path: str) -> str:
    """How messages call an input."""
    return "standard input" if path == STDIN else path


class TextSource:
    """A text, opened once, that may be compressed by gzip; `position` of `total` bytes of the file have been read."""

    def __init__(self, path: str, encoding: str = "utf-8") -> None:
        self.name, self.encoding = shown_name(path), codecs.lookup(encoding).name
        self._raw = _opened(path)
        if path != STDIN:
            weakref.finalize(self, self._raw.close)
        status = os.fstat(self._raw.fileno()) if path != STDIN else None
        self._seekable = status is not None and stat.S_ISREG(status.st_mode)
        self.total = status.st_size if status is not None and self._seekable else None
        self.position, self._line = 0, 1  # the line with which the next piece begins
        self._compressed = path.lower().endswith(".gz")
        self._begun = False

    def pieces(self) -> Iterator[Piece]:
        """Yield the text from the first line on, of a pipe only once."""
        self._rewind()
        rest = ""
        for piece in self._pieces():
            text = rest + piece
            # What ends in CR may go on with LF, so that no piece ends there.
            end = 1 + max(text.rfind("\n"), text.rfind("\r", 0, -1))
            whole, rest = text[:end], text[end:]
            if whole:
                yield self._line, whole
                self._line += count_lines(whole)
        if rest:
            yield self._line, rest

    def _rewind(self) -> None:
        if self._begun and not self._seekable:
            raise InvalidInputError(f"{self.name}: a pipe can be read only once")
        if self._begun:
            self._raw.seek(0)
        self._begun, self.position, self._line = True, 0, 1

    def _pieces(self) -> Iterator[str]:
        """Pieces of text; one that ends within a line grows until the line ends, or is too long."""
        decoder, waiting, n_waiting = self._decoder(), [], 0
        for data in self._data():
            try:
                text = decoder.decode(data, not data)
            except UnicodeError as error:
                line = self._line
                if isinstance(error, UnicodeDecodeError):
                    line += error.object[: error.start].decode(self.encoding, "ignore").count("\n")
                raise InvalidInputError(f"{self.name}: not a text in {self.encoding}, near line {line}: "
                                        f"{error}; say --encoding NAME") from error
            waiting.append(text)
            n_waiting += len(text)
            if "\n" in text or "\r" in text or not data:
                if n_waiting:
                    yield "".join(waiting)
                waiting, n_waiting = [], 0
            elif n_waiting > _LONGEST_LINE:
                raise InvalidInputError(f"{self.name}: line {self._line}: expected at most {_LONGEST_LINE} characters "
                                        "on a line, got more: is it a text with line breaks?")

    def _decoder(self) -> codecs.IncrementalDecoder:
        name = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        return codecs.getincrementaldecoder(name)("surrogateescape")

    def _data(self) -> Iterator[bytes]:
        """Pieces of the decompressed bytes, and an empty one at the end."""
        head = b""
        while len(head) < _MARK_BYTES and (more := self._raw.read1(_PIECE_BYTES)):
            head += more
        if head.startswith(_GZIP):
            yield from self._checked(self._decompressed(head))
        elif self._compressed:
            raise InvalidInputError(f"{self.name}: expected a file compressed by gzip, as its name says; got other "
                                    "bytes, or none: rename it if it is a plain text")
        else:
            yield from self._checked(self._plain(head))

    def _checked(self, data: Iterator[bytes]) -> Iterator[bytes]:
        """The same, unless its first bytes tell of another encoding."""
        head = next(data)
        if head.startswith(_BOM_UTF16) and not self.encoding.startswith(("utf-16", "utf-32")):
            raise InvalidInputError(f"{self.name}: expected a text in {self.encoding}, got one in UTF-16: say "
                                    "--encoding utf-16, or save it as UTF-8")
        if head.startswith(codecs.BOM_UTF8) and self.encoding != "utf-8":
            raise InvalidInputError(f"{self.name}: expected a text in {self.encoding}, got the mark at which UTF-8 "
                                    "texts begin: leave out --encoding")
        yield head
        yield from data

    def _plain(self, head: bytes) -> Iterator[bytes]:
        while head:
            self.position += len(head)
            yield head
            # One call of the system at a time: `read` goes on to wait for more, with no look at Ctrl-C between.
            head = self._raw.read1(_PIECE_BYTES)
        yield b""

    def _decompressed(self, head: bytes) -> Iterator[bytes]:
        import gzip  # only tables that are compressed need it
        import zlib

        compressed = _Counted(head, self._raw)
        with gzip.GzipFile(fileobj=compressed, mode="rb") as file:
            data = b" "
            while data:
                try:
                    data = file.read(_PIECE_BYTES)
                except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                    raise InvalidInputError(f"{self.name}: the compressed file is damaged or truncated: {error}") \
                        from error
                self.position = compressed.position
                yield data


class _Counted(io.RawIOBase):
    """A file of which the first bytes have been read already, and how many of its bytes have been asked for."""

    def __init__(self, head: bytes, file: io.BufferedReader) -> None:
        self._head, self._file, self.position = head, file, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes: first those that had been read."""
        if self._head:
            size = len(self._head) if size < 0 else size
            data, self._head = self._head[:size], self._head[size:]
        else:
            data = self._file.read1(size)
        self.position += len(data)
        return data


def _opened(path: str) -> io.BufferedReader:
    if path != STDIN:
        return open(path, "rb")
    if sys.stdin is None:  # closed
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return cast(io.BufferedReader, sys.stdin.buffer)


DELIMITERS = (",", ";", "\t", "|")  # that are looked for; the first of equally good ones is taken
LONGEST_CELL = 131_072  # in characters, as in Python's csv
_LONGEST_ROW = 1 << 24
_BLOCK_CHARACTERS = 1 << 23

Fault = tuple[int | None, str]  # the column with the fault, where it is in one, and what is wrong
# A row as it is written: the number of its first line, from 1; its text, of several lines where cells hold line breaks;
# what is wrong with it; and whether it is simple, so that a delimiter always separates cells and a quote is only the
# first or last character of a cell.  (A tuple, because there is one for every row.)
Record = tuple[int, str, Fault | None, bool]


class RawBlock(NamedTuple):
    """Some successive records, which are parsed together."""

    first_row: int  # number of the first data row, from 1
    lines: Sequence[int]  # number of the first line of each, from 1
    texts: list[str]
    faults: dict[int, Fault]  # by the index of the record
    simple: bool  # whether all records are, each on a line of its own
    done: int

    def __reduce__(self) -> tuple[Any, ...]:
        """One text is sent to other processes much faster than many, and so is one number."""
        if not self.simple or self.lines[-1] - self.lines[0] >= len(self.lines):
            return RawBlock, tuple(self)
        return _of_text, ("".join(self.texts), self.first_row, self.lines[0], self.faults, self.done)


def _of_text(text: str, first_row: int, first_line: int, faults: dict[int, Fault], done: int) -> RawBlock:
    """A block of simple records, each a line of a text."""
    texts = split_lines(text)
    return RawBlock(first_row, range(first_line, first_line + len(texts)), texts, faults, True, done)


def patterns(delimiter: str) -> tuple[Callable[[str], object], Callable[[str], object]]:
    """Whether all records of a text are simple, and whether all end where their lines do."""
    mark = re.escape(delimiter)
    simple = rf'(?:^|(?<=[{mark}\r\n]))"[^"{mark}\r\n]*+"(?=[{mark}\r\n]|$)'
    # What follows the quote that ends a cell belongs to the cell too, as in Python's csv.
    cell = rf'(?: *+"(?:[^"\r\n]++|"")*+"(?!")[^{mark}\r\n]*+|(?! *+")[^{mark}\r\n]*+)'
    line = rf"{cell}(?:{mark}{cell})*+"
    return (re.compile(rf'[^"]*+(?:{simple}[^"]*+)*+').fullmatch,
            re.compile(rf"{line}(?:[\r\n]++{line})*+[\r\n]*+").fullmatch)


def cells_of(text: str, delimiter: str) -> list[str]:
    """Cells of one record; quotes are those of RFC 4180."""
    return split_rows([text], delimiter)[0]


def split_rows(texts: Sequence[str], delimiter: str) -> list[list[str]]:
    """Cells of records that have no fault, with the blanks around them."""
    if not any('"' in text for text in texts):
        return [text.rstrip("\r\n").split(delimiter) for text in texts]
    import csv  # only quoted cells need it

    ended = (text if text[-1] in "\r\n" else text + "\n" for text in texts)
    return list(csv.reader(io.StringIO("".join(ended), newline=""), delimiter=delimiter, skipinitialspace=True))


def guessed_delimiter(lines: Sequence[Line], excluded: str) -> str:
    """What separates the cells of the first lines: it splits the first row, and most others into as many cells."""
    best, best_share = ";" if excluded == "," else ",", 0.0
    for delimiter in DELIMITERS:
        rows = split_rows([text for _, text, fault, _ in records(iter(lines), delimiter) if fault is None], delimiter)
        if delimiter == excluded or not rows or len(rows[0]) < 2:
            continue
        share = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        if share > best_share:
            best, best_share = delimiter, share
    return best


def records(lines: Iterator[Line], delimiter: str, encoding: str = "utf-8", name: str = "") -> Iterator[Record]:
    """Yield the records of a text; empty lines are left out, but for those within quoted cells."""
    is_simple, is_closed = patterns(delimiter)
    for number, text in lines:
        fault, simple = None, True
        if len(text) > LONGEST_CELL or ('"' in text and not is_simple(text)):
            simple = False
            if len(text) > LONGEST_CELL or not is_closed(text):
                text, fault = _joined(text, lines, delimiter, name)
                simple = '"' not in text
        elif text.isspace():
            continue
        if fault is None and (not text.isascii() or "\0" in text):
            fault = _foreign(text, delimiter, encoding)
        yield number, text, fault, simple


def _joined(text: str, lines: Iterator[Line], delimiter: str, name: str) -> tuple[str, Fault | None]:
    """A record that may go on over the next lines, which are taken from `lines`, and what is wrong with it."""
    import csv  # only quoted cells need it

    taken, n_taken, closed = [text], len(text), True

    def more() -> Iterator[str]:
        nonlocal n_taken, closed
        yield text
        for number, line in lines:
            taken.append(line)
            n_taken += len(line)
            if n_taken > _LONGEST_ROW:
                raise InvalidInputError(f"{name}: line {number}: expected rows of at most {_LONGEST_ROW} "
                                        "characters, got a longer one: is a quote not closed?")
            yield line
        closed = False  # the reader asks for more, and there is none

    fault = None
    try:
        next(csv.reader(more(), delimiter=delimiter, skipinitialspace=True))
    except csv.Error:
        fault = f"expected cells of at most {LONGEST_CELL} characters, got a longer one: is a quote not closed?"
    if not closed:
        fault = 'a quoted cell is not closed before the end of the file: close it, or write " inside a cell as ""'
    return "".join(taken), (None, fault) if fault else None


def _foreign(text: str, delimiter: str, encoding: str) -> Fault | None:
    """The first character that no table holds, and its column."""
    found = FOREIGN.search(text)
    if found is None:
        return None
    character = found.group()
    if character == "\0":
        reason = "expected a text, got the character NUL: if it is UTF-16, say --encoding utf-16-le or utf-16-be"
    else:
        reason = f"expected a text in {encoding}, got the byte 0x{ord(character) - 0xdc00:02x}: say --encoding " \
                 "latin-1, or what it is in"
    return next(j for j, cell in enumerate(cells_of(text, delimiter)) if character in cell), reason


class _Blocks:
    """Records as they come, in blocks of a bounded number of rows and of characters."""

    def __init__(self, position: Callable[[], int]) -> None:
        self._position, self._first_row = position, 1
        self._begin()

    def _begin(self) -> None:
        self._lines: list[int] = []
        self._texts: list[str] = []
        self._faults: dict[int, Fault] = {}
        self._size, self._simple = 0, True

    def add(self, found: Iterable[Record]) -> Iterator[RawBlock]:
        """Take records; yield the blocks that they fill."""
        for line, text, fault, simple in found:
            self._simple = self._simple and simple
            if fault is not None:
                self._faults[len(self._lines)] = fault
            self._lines.append(line)
            self._texts.append(text)
            self._size += len(text)
            if len(self._lines) >= BLOCK_ROWS or self._size >= _BLOCK_CHARACTERS:
                yield from self.rest()

    def add_lines(self, number: int, texts: list[str], simple: bool) -> Iterator[RawBlock]:
        """Take lines that are records without a fault, all at once; yield the blocks that they fill."""
        start = 0
        while start < len(texts):
            some = texts[start : start + BLOCK_ROWS - len(self._lines)]
            ends = list(itertools.accumulate(map(len, some), initial=self._size))
            some = some[: bisect.bisect_left(ends, _BLOCK_CHARACTERS)]
            self._simple = self._simple and simple
            self._lines += range(number + start, number + start + len(some))
            self._texts += some
            self._size = ends[len(some)]
            start += len(some)
            if len(self._lines) >= BLOCK_ROWS or self._size >= _BLOCK_CHARACTERS:
                yield from self.rest()

    def rest(self) -> Iterator[RawBlock]:
        """Yield what no block has yet."""
        if self._lines:
            yield RawBlock(self._first_row, self._lines, self._texts, self._faults, self._simple, self._position())
            self._first_row += len(self._lines)
            self._begin()


def raw_blocks(pieces: Iterator[Piece], delimiter: str, position: Callable[[], int], encoding: str = "utf-8",
               name: str = "") -> Iterator[RawBlock]:
    """Records in blocks of a bounded number of rows and of characters.

    Pieces whose lines are records are taken as they are, for all that this process does to a row no other can do.
    """
    is_simple, is_closed = patterns(delimiter)
    blocks = _Blocks(position)
    for number, text in pieces:
        simple = '"' not in text or is_simple(text) is not None
        if not simple and is_closed(text) is None:  # from here on, records may go on over any line
            found = records(lines_of(itertools.chain([(number, text)], pieces)), delimiter, encoding, name)
            yield from blocks.add(found)
            break
        texts = split_lines(text)
        foreign = "\0" in text or (not text.isascii() and FOREIGN.search(text))
        if foreign or any(map(str.isspace, texts)) or max(map(len, texts)) > LONGEST_CELL:
            yield from blocks.add(records(enumerate(texts, number), delimiter, encoding, name))
        else:
            yield from blocks.add_lines(number, texts, simple)
    yield from blocks.rest()
