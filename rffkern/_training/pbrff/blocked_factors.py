"""Products and Cholesky factors of large matrices, in pieces between which an interrupt is noticed."""

import time
from collections.abc import Iterable, Iterator

import numpy as np

from ..._estimator.monitor import SECONDS_BETWEEN, tell
from ..._native import solvers
from ..._native.array_types import NDArray

Double = NDArray[np.float64]

# Columns that are factorised, and multiplied, together: a panel of them stays in the cache of a core.
DEPTH = 256

# Largest number of multiply-adds of one call of a kernel, and the rows that it takes at least.
_WORK = 5e8
_FEWEST_ROWS = 128


def told(work: str, size: int) -> Iterator[int]:
    """Where each DEPTH of some size begins; whoever listens is told at most once a second."""
    due = time.perf_counter() + SECONDS_BETWEEN
    for start in range(0, size, DEPTH):
        now = time.perf_counter()
        if now >= due:
            due = now + SECONDS_BETWEEN
            tell(work, start, size)
        yield start


def add_products(parts: Iterable[Double], factor: float, matrix: Double, offset: int, n_threads: int,
                 start: int = 0) -> None:
    """Add factor R R' to the lower triangle behind `offset`; the parts are columns of R, at most DEPTH in each.

    Only to the rows of the triangle from `start` on.
    """
    scratch = np.empty((n_threads, solvers.factor_scratch(DEPTH)))
    for part in parts:
        step = _FEWEST_ROWS * int(max(1, _WORK / max(1, part.size) // _FEWEST_ROWS))
        for first in range(start, len(part), step):
            last = min(first + step, len(part))
            solvers.add_products(part, first, last, factor, matrix, offset, scratch, n_threads)


def factorise(matrix: Double, n_threads: int) -> bool:
    """Replace a lower triangle by its Cholesky factor L, and rows R below it by R L'^-1; False if it has none."""
    scratch = np.empty((n_threads, solvers.factor_scratch(DEPTH)))
    for start in told("columns of a factor", matrix.shape[1]):
        stop = min(start + DEPTH, matrix.shape[1])
        block = matrix[start:, start:stop].copy()
        if not solvers.factorise(block, scratch, n_threads):
            return False
        matrix[start:, start:stop] = block
        add_products([block[stop - start :]], -1.0, matrix, stop, n_threads)
    return True
