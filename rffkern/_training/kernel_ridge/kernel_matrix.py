"""Kernel matrices: of many rows, of which as much is kept as memory allows, with a preconditioner; and dense ones."""

from typing import Any, Protocol

import numpy as np

from ..._native import solvers, sparse
from ..._native.array_types import Double, Indices, NDArray
from ..._native.sparse import CENTER_MULTIPLE, PANEL_COLUMNS, PRODUCT_MULTIPLE, SHAPES, UNITS
from ..._rows.row_blocks import blocks
from ..._rows.scaling import Scaling, no_scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import DOUBLE, SINGLE, TILE, aligned, in_precision, pack
from ..._rows.weights import RowWeights

Real = NDArray[Any]  # of one precision
Dtype = np.dtype[Any]

# In units of 2^-|x - z|^p, from the center of the data: for p = 2, 353 length scales, of sqrt(1 / (2 ln 2)) = 0.849
# units each.  Single precision resolves the distances of rows farther than this too coarsely.
LARGEST_SINGLE_LENGTH = 300.0

# Rows that are copied at once.
_BLOCK_ROWS = 8 * TILE

# Share of k(x, x) that the noise must have for factors in single precision: what rounding changes in the matrix is then
# a hundredth of the noise.
_LEAST_NOISE_IN_SINGLE = 1e-3


def tiles_of_rows(X: Any, scaling: Scaling, weights: RowWeights, dtype: Dtype, n_threads: int) -> tuple[Real, float]:
    """Rows, an array or RowBlocks, in tiles, those of weight 0 at the center; and the largest length of a row."""
    tiles, largest = aligned((-(-X.shape[0] // TILE), X.shape[1], TILE), dtype), 0.0
    for rows, block in blocks(X):
        block = weights.hide(rows, block, scaling.center)
        _, length = pack(block, scaling, dtype, n_threads, out=tiles[rows.start // TILE :])
        largest = max(largest, length)
    return tiles, largest


class Matrix(Protocol):
    """The kernels of rows with each other, k(x, x) = 1, as systems ask for them."""

    n_samples: int
    n_padded: int  # with rows that pad tiles
    n_threads: int | None

    def multiply(self, vectors: Double) -> Double:
        """The matrix times vectors (n_vectors, n_padded)."""

    def columns(self, indices: Indices) -> NDArray[Any]:
        """The columns of some rows, shape (n_indices, n_tiles, 128)."""


class KernelMatrix:
    """The kernels of rows with each other, with k(x, x) = 1.

    Parameters
    ----------
    X : array of shape (n_samples, n_features) or RowBlocks
    scaling : Scaling
        To the units of length scales.
    shape : "gaussian" or "exponential"
    weights : RowWeights
        Rows of weight 0 are put at the center.
    precision : "single" or "double"
        "single" becomes "double" where rows lie too far apart for it.
    cache_bytes : int
        Memory for kernels that are kept: those of the first tiles of rows.  All others are computed anew in every
        product.
    """

    def __init__(self, X: Any, scaling: Scaling, shape: str, weights: RowWeights, precision: str, cache_bytes: int,
                 n_threads: int | None) -> None:
        self._shape, self.n_threads, (self.n_samples, n_features) = SHAPES[shape], n_threads, X.shape
        scaling = scaling._replace(inverse_scale=UNITS[self._shape] * scaling.inverse_scale)
        threads = check_n_threads(n_threads, self.n_samples * n_features)
        self._tiles = tiles = in_precision(lambda dtype: tiles_of_rows(X, scaling, weights, dtype, threads), precision,
                                           LARGEST_SINGLE_LENGTH)
        # The rows one by one as centers, padded with 0.
        n_centers = -(-self.n_samples // PRODUCT_MULTIPLE) * PRODUCT_MULTIPLE
        self._centers = np.zeros((n_centers, n_features), tiles.dtype)
        for start in range(0, n_centers, _BLOCK_ROWS):
            rows = tiles[start // TILE : (start + _BLOCK_ROWS) // TILE].transpose(0, 2, 1).reshape(-1, n_features)
            self._centers[start : start + _BLOCK_ROWS] = rows[: n_centers - start]
        n_kept = min(len(tiles), cache_bytes // (TILE * n_centers * tiles.itemsize))
        self._kept = aligned((n_kept, n_centers if n_kept else 0, TILE), tiles.dtype)
        self._is_filled = False
        self.n_padded = len(tiles) * TILE

    def multiply(self, vectors: Double) -> Double:
        """The matrix times vectors (n_vectors, n_padded); products of rows that pad tiles are arbitrary."""
        tiles, centers = self._tiles, self._centers
        products = np.empty((len(vectors), len(tiles), TILE))
        weights = vectors[:, : len(centers)]
        # In units of powers of two, so that single precision, in which they are multiplied, holds them.
        units = np.ldexp(0.5, np.frexp(np.abs(weights).max(axis=1, keepdims=True))[1])
        n_threads = check_n_threads(self.n_threads, len(centers) * (tiles.size + len(vectors)))
        sparse.multiply_kernels(tiles, centers, weights / units, self._kept, self._is_filled, products, self._shape,
                                n_threads)
        self._is_filled = True
        return units * products.reshape(len(vectors), -1)

    def columns(self, indices: Indices) -> NDArray[Any]:
        """The columns of some rows, shape (n_indices, n_tiles, 128)."""
        tiles = self._tiles
        centers = self._centers[np.resize(indices, -(-len(indices) // PRODUCT_MULTIPLE) * PRODUCT_MULTIPLE)]
        columns = aligned((len(indices), len(tiles), TILE), tiles.dtype)
        sparse.kernel_columns(tiles, centers, columns, self._shape,
                              check_n_threads(self.n_threads, centers.size * self.n_padded))
        return columns


class TiledColumns:
    """Columns of numbers for all rows, in tiles, and products with them; of rows that pad tiles they are 0.

    Parameters
    ----------
    columns : array of shape (n_columns, n_tiles, 128)
    """

    def __init__(self, columns: NDArray[Any], n_threads: int | None) -> None:
        self._columns, self._ones = columns, np.ones(columns.shape[1:])
        self._n_threads = check_n_threads(n_threads, columns.size)

    def correlate(self, vectors: Double) -> Double:
        """Z' v of vectors (n_vectors, n_padded), shape (n_vectors, n_columns)."""
        size, n_tiles, _ = self._columns.shape
        products = np.empty((len(vectors), size))
        sparse.multiply_columns(
            self._columns, size, self._ones, vectors.reshape(len(vectors), n_tiles, TILE),
            np.empty((_n_strips(n_tiles), 2 * size)), np.empty((self._n_threads, sparse.PRODUCT_SCRATCH)),
            products, self._n_threads)
        return products

    def combine(self, weights: Double) -> Double:
        """Z w of weights (n_vectors, n_columns), shape (n_vectors, n_padded)."""
        n_vectors, n_tiles = len(weights), self._columns.shape[1]
        combined = np.zeros((n_vectors, n_tiles, TILE))
        sparse.shift_vectors(self._columns, weights, self._ones, combined, np.empty((_n_strips(n_tiles), n_vectors)),
                             np.empty(n_vectors), self._n_threads)
        return combined.reshape(n_vectors, -1)


class Landmarks(TiledColumns):
    """The kernels of all rows with a few of them, the landmarks, and what is computed with these columns.

    K is approximated by Z K_mm^-1 Z', with Z the columns of the landmarks and K_mm their rows in Z (C. Williams and
    M. Seeger, Using the Nystroem method to speed up kernel machines, 2001).
    """

    def __init__(self, matrix: Matrix, indices: Indices) -> None:
        super().__init__(matrix.columns(indices), matrix.n_threads)
        between = self._columns.reshape(len(indices), -1)[:, indices].astype(np.float64)
        self.between = 0.5 * (between + between.T)

    def gram(self, scale: Double) -> Double:
        """Z' D^2 Z in its lower triangle, with D the diagonal matrix of a scale (n_padded,)."""
        size = len(self._columns)
        columns, rows = self._columns.reshape(size, -1), np.flatnonzero(scale)
        gram = np.zeros((size, size))
        scratch = np.empty((self._n_threads, solvers.factor_scratch(_BLOCK_ROWS)))
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = rows[start : start + _BLOCK_ROWS]
            scaled = columns.take(block, axis=1) * scale[block]
            solvers.add_products(scaled, 0, size, 1.0, gram, 0, scratch, self._n_threads)
        return gram


def _n_strips(n_tiles: int) -> int:
    """Number of sums that columns of tiles are added up in."""
    return -(-n_tiles * 2 * TILE // sparse.PRODUCT_SCRATCH)


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
    dtype : dtype of the kernels
    """

    def __init__(self, rows: Double, centers: Double, n_threads: int | None, dtype: Dtype = DOUBLE) -> None:
        self._centers = np.pad(centers, ((0, -len(centers) % CENTER_MULTIPLE), (0, 0)))
        self._raw_tiles, _ = pack(rows, no_scaling(rows.shape[1]), DOUBLE, 1)
        self._tiles, self.dtype = aligned(self._raw_tiles.shape, dtype), dtype
        self._n_threads = check_n_threads(n_threads, len(centers) * rows.size)

    def fill(self, inverse_lengths: Double, shape: str, matrix: Real, derivatives: Real | None = None,
             lower: bool = False) -> None:
        """Fill a matrix (n_centers, n_samples) with kernels k, and one, if given, with derivatives -2 dk / d(r^2).

        These are k / r, and for the exponential kernel alone: of the Gaussian one they are k itself.  Both matrices
        have the dtype of the kernels.  With `lower`, what is above the diagonal is arbitrary.
        """
        scale = UNITS[SHAPES[shape]] * inverse_lengths
        np.multiply(self._raw_tiles, scale[:, None], out=self._tiles, casting="same_kind")
        if derivatives is None:
            derivatives = np.empty((0, 0), self.dtype)
        sparse.kernel_matrix(self._tiles, (self._centers * scale).astype(self.dtype, copy=False), matrix, derivatives,
                             SHAPES[shape], lower, self._n_threads)


class DenseSystem:
    """A symmetric positive definite matrix, to be filled in, and what is solved with it.

    Memory: 8 size^2 bytes in double precision, and 16 size^2 for `invert`; half of both in single.
    """

    _panels: Real | None = None  # memory for inverses

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

    def invert(self, out: Real) -> Double:
        """Write the inverse of the matrix, given its factor, and return its diagonal."""
        n_panels, diagonal = len(self._inverses), np.empty(len(self.matrix))
        n_padded = n_panels * PANEL_COLUMNS
        if self._panels is None:  # once, for pages of new memory take time
            self._panels = np.empty((2, n_padded, n_padded), self.matrix.dtype)
        panels, transposed = self._panels
        sparse.invert_system(self.matrix, self._inverses, out, diagonal, panels.reshape(n_panels, n_padded, -1),
                             transposed, self._scratch(len(diagonal)), self._n_threads)
        return diagonal

    def inverse_diagonal(self) -> Double:
        """The diagonal of the inverse, given the factor, in half of the time of the inverse."""
        return self.invert(np.empty((0, 0), self.matrix.dtype))

    def multiply(self, left: Real, panels: Real, n_columns: int) -> Real:
        """The product of a matrix and another, which is in panels."""
        out = np.empty((len(left), n_columns), self.matrix.dtype)
        sparse.multiply(left, panels, out, self._scratch(left.shape[1]), self._n_threads)
        return out

    def likelihood_gradient(self, inverse: Real, weights: Real, matrix: Real, derivatives: Real) -> Double:
        """Sums (4, size) over rows of the gradient along the covariance; times derivatives it replaces the inverse."""
        sums = np.empty((len(inverse), 4))
        sparse.likelihood_gradient(inverse, weights, matrix, derivatives, sums, self._n_threads)
        return sums.T
