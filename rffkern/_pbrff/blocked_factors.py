"""Products and Cholesky factors of large matrices, in pieces between which an interrupt is noticed."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .._kernels import linalg

Double = NDArray[np.float64]

# Columns that are factorised, and multiplied, together: a panel of them stays in the cache of a core.
DEPTH = 256

# Largest number of multiply-adds of one call of a kernel, and the rows that it takes at least.
_WORK = 5e8
_FEWEST_ROWS = 128


def add_products(parts: Iterable[Double], factor: float, matrix: Double, offset: int, n_threads: int) -> None:
    """Add factor R R' to the lower triangle behind `offset`; the parts are columns of R, at most DEPTH in each."""
    scratch = np.empty((n_threads, linalg.factor_scratch(DEPTH)))
    for part in parts:
        step = _FEWEST_ROWS * int(max(1, _WORK / max(1, part.size) // _FEWEST_ROWS))
        for first in range(0, len(part), step):
            last = min(first + step, len(part))
            linalg.add_products(part, first, last, factor, matrix, offset, scratch, n_threads)


def column_parts(rows: Double) -> Iterable[Double]:
    """The columns of an array, DEPTH at a time."""
    return (np.ascontiguousarray(rows[:, start : start + DEPTH]) for start in range(0, rows.shape[1], DEPTH))


def factorise(matrix: Double, n_threads: int) -> bool:
    """Replace a lower triangle by its Cholesky factor L, and rows R below it by R L'^-1; False if it has none."""
    scratch = np.empty((n_threads, linalg.factor_scratch(DEPTH)))
    for start in range(0, matrix.shape[1], DEPTH):
        stop = min(start + DEPTH, matrix.shape[1])
        block = matrix[start:, start:stop].copy()
        if not linalg.factorise(block, scratch, n_threads):
            return False
        matrix[start:, start:stop] = block
        add_products([block[stop - start :]], -1.0, matrix, stop, n_threads)
    return True
