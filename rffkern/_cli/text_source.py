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

# What no table holds: NUL, and the marks that stand for bytes which are no text in the encoding.
FOREIGN = re.compile("[\0\udc80-\udcff]")

Line = tuple[int, str]  # its number in the file, from 1, and its text with what ends it


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
        self.position = 0
        self._compressed = path.lower().endswith(".gz")
        self._begun = False

    def lines(self) -> Iterator[Line]:
        """Yield all lines from the first one, of a pipe only once; line breaks stay as they are."""
        self._rewind()
        number, rest = 1, ""
        for piece in self._pieces():
            # What ends in CR may go on with LF, so only LF ends the last line of a piece.
            lines = list(io.StringIO(rest + piece, newline=""))
            rest = "" if lines[-1].endswith("\n") else lines.pop()
            yield from enumerate(lines, number)
            number += len(lines)
        yield from enumerate(io.StringIO(rest, newline=""), number)

    def _rewind(self) -> None:
        if self._begun and not self._seekable:
            raise InvalidInputError(f"{self.name}: a pipe can be read only once")
        if self._begun:
            self._raw.seek(0)
        self._begun, self.position = True, 0

    def _pieces(self) -> Iterator[str]:
        """Pieces of text; one that ends within a line grows until the line ends, or is too long."""
        decoder, waiting, n_waiting, n_lines = self._decoder(), [], 0, 0
        for data in self._data():
            try:
                text = decoder.decode(data, not data)
            except UnicodeError as error:
                if isinstance(error, UnicodeDecodeError):
                    n_lines += error.object[: error.start].decode(self.encoding, "ignore").count("\n")
                raise InvalidInputError(f"{self.name}: not a text in {self.encoding}, near line {n_lines + 1}: "
                                        f"{error}; say --encoding NAME") from error
            n_lines += text.count("\n")
            waiting.append(text)
            n_waiting += len(text)
            if "\n" in text or "\r" in text or not data:
                if n_waiting:
                    yield "".join(waiting)
                waiting, n_waiting = [], 0
            elif n_waiting > _LONGEST_LINE:
                raise InvalidInputError(f"{self.name}: line {n_lines + 1}: expected at most {_LONGEST_LINE} characters "
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
