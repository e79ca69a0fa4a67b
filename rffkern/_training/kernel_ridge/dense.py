"""Kernel matrices of some rows, their factors and their inverses, all in memory."""

from typing import Any

import numpy as np

from ..._native import solvers, sparse
from ..._native.array_types import NDArray
from ..._native.sparse import CENTER_MULTIPLE, PANEL_COLUMNS, SHAPES, UNITS
from ..._rows.scaling import no_scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import DOUBLE, SINGLE, aligned, pack

Double = NDArray[np.float64]
Real = NDArray[Any]  # of one precision
Dtype = np.dtype[Any]

NO_DECLINES = np.empty((0, 0))

# Share of k(x, x) that the noise must have for factors in single precision: what rounding changes in the matrix is then
# a hundredth of the noise.
_LEAST_NOISE_IN_SINGLE = 1e-3


def precision_beside(precision: str, noise: float, at_zero: float) -> Dtype:
    """Double precision, or "single" for a kernel matrix of k(x, x) = `at_zero` whose noise is large enough for it."""
    return SINGLE if precision == "single" and noise >= _LEAST_NOISE_IN_SINGLE * at_zero else DOUBLE


def in_panels(matrix: Real, dtype: Dtype = DOUBLE) -> Real:
    """A matrix (n_rows, n_columns) by panels of its columns, (n_panels, n_rows, PANEL_COLUMNS), padded with 0."""
    n_rows, n_columns = matrix.shape
    n_panels = -(-n_columns // PANEL_COLUMNS)
    padded = np.zeros((n_rows, n_panels * PANEL_COLUMNS), dtype)
    padded[:, :n_columns] = matrix
    return np.ascontiguousarray(padded.reshape(n_rows, n_panels, PANEL_COLUMNS).transpose(1, 0, 2))


class DenseKernels:
    """Kernels between rows and centers, for any length scales.

    Parameters
    ----------
    rows : array of shape (n_samples, n_features)
    centers : array of shape (n_centers, n_features)
    n_threads : int or None
    dtype : dtype of the kernels
    """

    def __init__(self, rows: Double, centers: Double, n_threads: int | None, dtype: Dtype = DOUBLE) -> None:
        self._centers = np.pad(centers, ((0, -len(centers) % CENTER_MULTIPLE), (0, 0)))
        self._raw_tiles, _ = pack(rows, no_scaling(rows.shape[1]), DOUBLE, 1)
        self._tiles = aligned(self._raw_tiles.shape, dtype)
        self._n_threads = check_n_threads(n_threads, len(centers) * rows.size)

    def fill(self, inverse_lengths: Double, shape: str, matrix: Real, declines: Real = NO_DECLINES) -> None:
        """Fill a matrix (n_centers, n_samples) with kernels, and another with their declines, kernel / r.

        Both have the dtype of the kernels; `NO_DECLINES` for none.
        """
        scale, dtype = UNITS[SHAPES[shape]] * inverse_lengths, self._tiles.dtype
        np.multiply(self._raw_tiles, scale[:, None], out=self._tiles, casting="same_kind")
        if declines is NO_DECLINES:
            declines = np.empty((0, 0), dtype)
        sparse.kernel_matrix(self._tiles, (self._centers * scale).astype(dtype, copy=False), matrix, declines,
                             SHAPES[shape], self._n_threads)


class DenseSystem:
    """A symmetric positive definite matrix, to be filled in, and what is solved with it.

    Memory: 8 size^2 bytes in double precision, and 16 size^2 for `invert`; half of both in single.
    """

    _panels: Real | None = None  # memory for `invert`

    def __init__(self, size: int, n_threads: int | None, dtype: Dtype = DOUBLE) -> None:
        self.matrix: Real = np.empty((size, size), dtype)  # its lower triangle becomes the factor
        n_panels = -(-size // PANEL_COLUMNS)
        self._inverses: Real = np.empty((n_panels, PANEL_COLUMNS, PANEL_COLUMNS), dtype)
        self._n_threads = check_n_threads(n_threads, size**2)

    def _scratch(self, depth: int) -> Real:
        return np.empty((self._n_threads, sparse.system_scratch(depth)), self.matrix.dtype)

    def factorise(self) -> bool:
        """Replace the lower triangle by its Cholesky factor; return whether it was positive definite."""
        return sparse.factorise_system(self.matrix, self._inverses, self._scratch(len(self.matrix)),
                                       self._n_threads)

    def solve(self, targets: Double) -> Double:
        """The solutions for targets (size, n_outputs), given the factor, in double precision."""
        solutions = np.array(targets.T, np.float64, order="C")
        if self.matrix.dtype == SINGLE:  # of which a copy in double precision would take as long as the rest
            sparse.solve_system(self.matrix, solutions)
        else:
            for solution in solutions:
                solvers.solve_factorised(self.matrix, solution)
        return solutions.T

    def invert(self, out: Real) -> None:
        """Write the inverse of the matrix, given its factor."""
        n_panels = len(self._inverses)
        n_padded = n_panels * PANEL_COLUMNS
        if self._panels is None:  # once, for pages of new memory take time
            self._panels = np.empty((2, n_padded, n_padded), self.matrix.dtype)
        panels, transposed = self._panels
        sparse.invert_system(self.matrix, self._inverses, out, panels.reshape(n_panels, n_padded, -1),
                             transposed, self._scratch(len(out)), self._n_threads)

    def multiply(self, left: Real, panels: Real, n_columns: int) -> Real:
        """The product of a matrix and another, which is in panels."""
        out = np.empty((len(left), n_columns), self.matrix.dtype)
        sparse.multiply(left, panels, out, self._scratch(left.shape[1]), self._n_threads)
        return out

    def slopes(self, inverse: Real, weights: Real, matrix: Real, declines: Real) -> Double:
        """`likelihood_slopes`, which replaces the inverse; its sums, (4, size)."""
        sums = np.empty((len(inverse), 4))
        sparse.likelihood_slopes(inverse, weights, matrix, declines, sums, self._n_threads)
        return sums.T
