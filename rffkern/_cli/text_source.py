"""Text out of a file or a pipe, line by line: decompressed, decoded, and in bounded memory."""

import codecs
import errno
import io
import os
import re
import stat
import sys
import weakref
from collections.abc import Iterator
from typing import cast

from ..errors import InvalidInputError

STDIN = "-"
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
