"""Whole contents from and to open files: raw ones, pipes and objects that have `read` or `write` alone."""

import io
from typing import Any

from ..errors import FormatError, InvalidTypeError

_PIECE = 1 << 20


def read_all(file: Any, name: str, max_bytes: int) -> bytes:
    """The bytes up to the end of a file, read in pieces: to ask for max_bytes at once would allocate them."""
    content = bytearray()
    while True:
        piece = file.read(_PIECE)
        if piece is None:
            raise BlockingIOError(f"{name}: nothing to read yet: path must be a file that waits for its bytes")
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise InvalidTypeError(f"path must be a file opened in binary mode, got one that reads "
                                   f"{type(piece).__name__}")
        if not len(piece):
            return bytes(content)
        content += piece
        if len(content) > max_bytes:
            raise FormatError(f"{name}: larger than max_bytes = {max_bytes}")


def write_all(file: Any, content: bytes) -> None:
    """Write all bytes to a file that may take only some of them at a time."""
    if isinstance(file, io.TextIOBase):
        raise InvalidTypeError(f"path must be a file opened in binary mode, got {type(file).__name__}")
    start = 0
    while start < len(content):
        written = file.write(content[start:])
        if written is None and not isinstance(file, io.RawIOBase):
            return  # of an object that does not count, and takes all
        if not written:
            raise BlockingIOError("path must be a file that waits until it can be written, got one that took "
                                  f"{start} of {len(content)} bytes")
        start += written
