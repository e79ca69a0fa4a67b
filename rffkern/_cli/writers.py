"""Predictions into .csv and .npy files, block by block."""

import csv
import io
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

# Bytes that the header of a .npy file takes here, whatever the number of rows turns out to be.
_NPY_HEADER = 128


class Writer(Protocol):
    """Writes predictions that come block by block."""

    def add(self, predicted: NDArray[Any], proba: NDArray[np.float64] | None) -> None:
        """Append the predictions of some rows, and the probabilities of their classes where these are wanted."""

    def close(self) -> None:
        """Write what can be written only at the end; the file itself stays open."""


class CsvWriter:
    """Predictions as text under a header: a line for each row, with the predictions first and then probabilities."""

    def __init__(self, file: BinaryIO, header: list[str]) -> None:
        self._file = file
        self._write([header])

    def add(self, predicted: NDArray[Any], proba: NDArray[np.float64] | None) -> None:
        """Append rows."""
        columns = [*np.atleast_2d(predicted.T), *(() if proba is None else proba.T)]
        self._write(zip(*(column.tolist() for column in columns), strict=True))

    def _write(self, rows: Any) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode("utf-8"))

    def close(self) -> None:
        """Write nothing more."""


class NpyWriter:
    """Predictions, or probabilities where these are wanted, as an array.

    The number of rows is known only at the end, so the header is written last, into the space left for it.
    """

    def __init__(self, file: BinaryIO, dtype: np.dtype[Any], row_shape: tuple[int, ...]) -> None:
        self._file, self._dtype, self._row_shape = file, dtype, row_shape
        self._n_rows = 0
        file.write(b"\0" * _NPY_HEADER)

    def add(self, predicted: NDArray[Any], proba: NDArray[np.float64] | None) -> None:
        """Append rows."""
        rows = predicted if proba is None else proba
        self._n_rows += len(rows)
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).tobytes())

    def close(self) -> None:
        """Write the header."""
        text = f"{{'descr': {np.lib.format.dtype_to_descr(self._dtype)!r}, 'fortran_order': False, " \
               f"'shape': {(self._n_rows, *self._row_shape)!r}, }}"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + (_NPY_HEADER - 10).to_bytes(2, "little")
                         + text.ljust(_NPY_HEADER - 11).encode("ascii") + b"\n")
