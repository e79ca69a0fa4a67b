"""Kernel matrices of some rows, their factors and their inverses, all in memory."""

import numpy as np

from .._data.centers import pad_centers
from .._data.scaling import no_scaling
from .._data.threads import check_n_threads
from .._data.tiles import DOUBLE, aligned, pack
from .._kernels import solvers, sparse
from .._kernels.array_types import NDArray
from .._kernels.sparse import PANEL_COLUMNS, SHAPES, UNITS

Double = NDArray[np.float64]

NO_DECLINES = np.empty((0, 0))


def in_panels(matrix: Double) -> Double:
    """A matrix (n_rows, n_columns) by panels of its columns, (n_panels, n_rows, PANEL_COLUMNS), padded with 0."""
    n_rows, n_columns = matrix.shape
    n_panels = -(-n_columns // PANEL_COLUMNS)
    padded = np.zeros((n_rows, n_panels * PANEL_COLUMNS))
    padded[:, :n_columns] = matrix
    return np.ascontiguousarray(padded.reshape(n_rows, n_panels, PANEL_COLUMNS).transpose(1, 0, 2))


class DenseKernels:
    """Kernels between rows and centers, for any length scales.

    Parameters
    ----------
    rows : array of shape (n_samples, n_features)
    centers : array of shape (n_centers, n_features)
    n_threads : int or None
    """

    def __init__(self, rows: Double, centers: Double, n_threads: int | None) -> None:
        self._centers = pad_centers(centers, DOUBLE)
        self._raw_tiles, _ = pack(rows, no_scaling(rows.shape[1]), DOUBLE, 1)
        self._tiles = aligned(self._raw_tiles.shape, DOUBLE)
        self._n_threads = check_n_threads(n_threads, len(centers) * rows.size)

    def fill(self, inverse_lengths: Double, shape: str, matrix: Double, declines: Double = NO_DECLINES) -> None:
        """Fill a matrix (n_centers, n_samples) with kernels, and another with their declines, kernel / r."""
        scale = UNITS[SHAPES[shape]] * inverse_lengths
        np.multiply(self._raw_tiles, scale[:, None], out=self._tiles)
        sparse.kernel_matrix(self._tiles, self._centers * scale, matrix, declines, SHAPES[shape],
                             self._n_threads)


class DenseSystem:
    """A symmetric positive definite matrix, to be filled in, and what is solved with it.

    Memory: 8 size^2 bytes, and 16 size^2 for `invert`.
    """

    _panels: Double | None = None  # memory for `invert`

    def __init__(self, size: int, n_threads: int | None) -> None:
        self.matrix = np.empty((size, size))  # its lower triangle becomes the factor
        n_panels = -(-size // PANEL_COLUMNS)
        self._inverses = np.empty((n_panels, PANEL_COLUMNS, PANEL_COLUMNS))
        self._n_threads = check_n_threads(n_threads, size**2)

    def _scratch(self, depth: int) -> Double:
        return np.empty((self._n_threads, sparse.system_scratch(depth)))

    def factorise(self) -> bool:
        """Replace the lower triangle by its Cholesky factor; return whether it was positive definite."""
        return sparse.factorise_system(self.matrix, self._inverses, self._scratch(len(self.matrix)),
                                       self._n_threads)

    def solve(self, targets: Double) -> Double:
        """The solutions for targets (size, n_outputs), given the factor."""
        solutions = []
        for target in targets.T:
            solution = target.copy()
            solvers.solve_factorised(self.matrix, solution)
            solutions.append(solution)
        return np.column_stack(solutions)

    def invert(self, out: Double) -> None:
        """Write the inverse of the matrix, given its factor."""
        n_panels = len(self._inverses)
        n_padded = n_panels * PANEL_COLUMNS
        if self._panels is None:  # once, for pages of new memory take time
            self._panels = np.empty((2, n_padded, n_padded))
        panels, transposed = self._panels
        sparse.invert_system(self.matrix, self._inverses, out, panels.reshape(n_panels, n_padded, -1),
                             transposed, self._scratch(len(out)), self._n_threads)

    def multiply(self, left: Double, panels: Double, n_columns: int) -> Double:
        """The product of a matrix and another, which is in panels."""
        out = np.empty((len(left), n_columns))
        sparse.multiply(left, panels, out, self._scratch(left.shape[1]), self._n_threads)
        return out

    def slopes(self, inverse: Double, weights: Double, matrix: Double, declines: Double) -> Double:
        """`likelihood_slopes`, which replaces the inverse; its sums, (4, size)."""
        sums = np.empty((len(inverse), 4))
        sparse.likelihood_slopes(inverse, weights, matrix, declines, sums, self._n_threads)
        return sums.T
