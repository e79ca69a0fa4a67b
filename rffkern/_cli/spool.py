"""Rows that are gathered block by block: in memory, or in a file without a name where they are many."""

import math
import tempfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

# Bytes of rows that are held in memory; more of them go to a file.
HELD_BYTES = 1 << 30

_GROWTH = 8  # an array that is full grows by one part in eight, so that little of it stays unused


class GatheredRows:
    """Rows of blocks in one array, which grows in its place where the system can do that.

    Above `HELD_BYTES` they go on in a temporary file, which has no name and is gone when the array is.
    """

    def __init__(self) -> None:
        self._rows: NDArray[Any] | None = None
        self._n_rows = 0
        self._file: IO[bytes] | None = None

    def add(self, rows: NDArray[Any], n_expected: int = 0) -> None:
        """Append rows; there is room for as many in all as are expected, which takes memory when it is used."""
        size = max(1, math.prod(rows.shape[1:]) * rows.itemsize)
        needed = self._n_rows + len(rows)
        if self._rows is None:
            self._rows = np.empty((max(needed, min(n_expected, HELD_BYTES // size)), *rows.shape[1:]), rows.dtype)
        if self._file is None and needed * size > HELD_BYTES:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            _write(self._file, self._rows[: self._n_rows])
            self._rows = self._rows[:0].copy()
        if self._file is not None:
            _write(self._file, rows.astype(self._rows.dtype, copy=False))
        else:
            if needed > len(self._rows):
                room = max(needed, len(self._rows) + len(self._rows) // _GROWTH)
                self._rows.resize((room, *rows.shape[1:]), refcheck=False)
            self._rows[self._n_rows : needed] = rows
        self._n_rows = needed

    def array(self) -> NDArray[Any]:
        """All rows; those in a file are mapped into memory."""
        assert self._rows is not None
        if self._file is None:
            self._rows.resize((self._n_rows, *self._rows.shape[1:]), refcheck=False)
            return self._rows
        self._file.flush()
        return np.memmap(self._file, self._rows.dtype, "r+", shape=(self._n_rows, *self._rows.shape[1:]))

    def close(self) -> None:
        """Close the file; rows that are mapped stay."""
        if self._file is not None:
            self._file.close()


def _write(file: IO[bytes], rows: NDArray[Any]) -> None:
    file.write(np.ascontiguousarray(rows).data)


def is_in_file(rows: NDArray[Any]) -> bool:
    """Whether rows are in a file."""
    return isinstance(rows, np.memmap)


def in_file(values: NDArray[Any]) -> NDArray[Any]:
    """Values of rows in a file beside that of the rows."""
    with tempfile.TemporaryFile() as file:
        _write(file, values)
        file.flush()
        return np.memmap(file, values.dtype, "r+", shape=values.shape)
