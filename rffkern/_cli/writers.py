"""Predictions as .csv and .npy files: bytes for each block of rows, wherever they are written."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from .._native.array_types import NDArray

# Bytes that the header of a .npy file takes here, whatever the number of rows turns out to be.
_NPY_HEADER = 128
_QUOTED = re.compile('[,"\r\n]').search


class RowFormat(Protocol):
    """How predictions are written; it can be sent to other processes."""

    def head(self) -> bytes:
        """What the file begins with."""

    def rows(self, predicted: NDArray[Any], proba: NDArray[np.float64] | None, words: Sequence[list[str]]) -> bytes:
        """Some rows: their predictions, the probabilities of their classes where these are wanted, and kept words."""

    def finish(self, file: BinaryIO, n_rows: int) -> None:
        """Write what is known only at the end; the file itself stays open."""


class CsvRows(NamedTuple):
    """Text under a header: a line for each row, with kept words first, then the predictions, then probabilities."""

    header: list[str]

    def head(self) -> bytes:
        """The header."""
        return _lines([[_cell(name)] for name in self.header])

    def rows(self, predicted: NDArray[Any], proba: NDArray[np.float64] | None, words: Sequence[list[str]]) -> bytes:
        """A line for each row."""
        numbers = [*np.atleast_2d(predicted.T), *(() if proba is None else proba.T)]
        columns: list[Iterable[str]] = [map(_cell, column) for column in words]
        columns += [map(str if column.dtype.kind in "biuf" else _cell, column.tolist()) for column in numbers]
        return _lines(columns)

    def finish(self, file: BinaryIO, n_rows: int) -> None:
        """Write nothing more."""


def _lines(columns: Sequence[Iterable[str]]) -> bytes:
    lines = map(",".join, zip(*columns, strict=True))
    # A line of one empty cell would be an empty line, which readers leave out.
    text = "".join([f"{line}\n" for line in (lines if len(columns) > 1 else (line or '""' for line in lines))])
    return text.encode("utf-8")


def _cell(value: object) -> str:
    """A cell, quoted where its characters ask for it."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED(text) else text


class NpyRows(NamedTuple):
    """Predictions, or probabilities where these are wanted, as an array.

    The number of rows is known only at the end, so the header is written last, into the space left for it.
    """

    dtype: np.dtype[Any]
    row_shape: tuple[int, ...]

    def head(self) -> bytes:
        """Space for the header."""
        return b"\0" * _NPY_HEADER

    def rows(self, predicted: NDArray[Any], proba: NDArray[np.float64] | None, words: Sequence[list[str]]) -> bytes:
        """The rows as they are in memory."""
        return np.ascontiguousarray(predicted if proba is None else proba, dtype=self.dtype).tobytes()

    def finish(self, file: BinaryIO, n_rows: int) -> None:
        """Write the header."""
        text = f"{{'descr': {np.lib.format.dtype_to_descr(self.dtype)!r}, 'fortran_order': False, " \
               f"'shape': {(n_rows, *self.row_shape)!r}, }}"
        file.seek(0)
        file.write(b"\x93NUMPY\x01\x00" + (_NPY_HEADER - 10).to_bytes(2, "little")
                   + text.ljust(_NPY_HEADER - 11).encode("ascii") + b"\n")
