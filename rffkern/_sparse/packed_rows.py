"""Rows in the units of a kernel, and the sums over rows that sparse kernel machines learn from."""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.row_blocks import blocks
from .._data.scaling import Scaling, no_scaling
from .._data.threads import ELEMENTS_PER_THREAD, check_n_threads
from .._data.tiles import DOUBLE, TILE, aligned, pack, tiled
from .._data.weights import RowWeights
from .._kernels import sparse_columns
from .._kernels.packing import STRIP_ROWS
from .._kernels.sparse_columns import CENTER_MULTIPLE

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# In units of 2^-|x - z|^2; 353 length scales, of sqrt(1 / (2 ln 2)) = 0.849 units each.  Single precision resolves the
# distances of rows farther than this from the center of the data too coarsely.
_LARGEST_SINGLE_LENGTH = 300.0


class Subset(NamedTuple):
    """Some of the rows, in double precision, and values at them; all in tiles padded with 0."""

    tiles: Double  # (n_tiles, n_features, 128)
    n_rows: int
    weight: Double  # (n_tiles * 128,)
    residual: Double  # (n_tiles * 128,)
    model: Double  # (n_tiles * 128,)


class KernelRows:
    """Rows and their weights, packed in tiles of shape (n_tiles, n_features, 128).

    They are in units in which the kernel is amplitude 2^-|x - z|^2 + bias.

    Memory: 4 bytes per number in single precision, 8 in double; 8 a row.
    """

    def __init__(self, X: Any, scaling: Scaling, weights: RowWeights, dtype: np.dtype[Any],
                 n_threads: int | None) -> None:
        self.n_samples, self.n_features = X.shape
        self.weights, self.dtype = weights, np.dtype(dtype)
        self.wanted_threads, self.most_threads = n_threads, check_n_threads(n_threads, sys.maxsize)
        self.n_tiles = -(-self.n_samples // TILE)
        self.n_strips = -(-self.n_samples // STRIP_ROWS)
        n_threads = self.threads(self.n_features)
        self.weight = tiled(weights.each, DOUBLE)
        self.flat_weight = self.weight.reshape(-1)[: self.n_samples]
        self.tiles = aligned((self.n_tiles, self.n_features, TILE), self.dtype)
        self.largest_length = 0.0
        for rows, block in blocks(X):
            if weights.has_zeros:
                block = weights.hide(rows, block, scaling.center)
            _, length = pack(block, scaling, self.dtype, n_threads, out=self.tiles[rows.start // TILE :])
            self.largest_length = max(self.largest_length, length)
        self._no_scaling = no_scaling(self.n_features)

    def threads(self, per_row: int) -> int:
        """Number of threads for a kernel that reads `per_row` numbers of each row."""
        return min(self.most_threads, max(1, self.n_samples * per_row // ELEMENTS_PER_THREAD))

    def threads_up_to(self, most: int) -> list[int]:
        """Numbers of threads for kernels over none, one and so on up to `most` numbers a row."""
        return [self.threads(per_row) for per_row in range(most + 1)]

    def taken(self, indices: Indices) -> "KernelRows":
        """Some of the rows."""
        return KernelRows(self._at(indices), self._no_scaling, self.weights.of(indices), self.dtype,
                          self.wanted_threads)

    def _at(self, indices: Indices) -> NDArray[Any]:
        """Rows (n_indices, n_features), as they are packed."""
        return np.ascontiguousarray(self.tiles[indices // TILE, :, indices % TILE])

    def centers(self, indices: Indices) -> NDArray[Any]:
        """Some of the rows as kernels take centers: in multiples of some number, the first ones again at the end."""
        return self._at(np.resize(indices, -(-len(indices) // CENTER_MULTIPLE) * CENTER_MULTIPLE))

    def subset(self, indices: Indices, residual: Double, model: Double) -> Subset:
        """Some of the rows, with values at them, for a search."""
        tiles, _ = pack(self._at(indices), self._no_scaling, DOUBLE, 1)
        return Subset(tiles, len(indices), tiled(self.flat_weight[indices], DOUBLE).reshape(-1),
                      tiled(residual, DOUBLE).reshape(-1), tiled(model, DOUBLE).reshape(-1))

    def correlate(self, v: Double, centers: NDArray[Any]) -> Double:
        """Sums over rows of v 2^-|row - center|^2, for each of `centers`."""
        sums = np.empty(len(centers))
        sparse_columns.correlate_centers(self.tiles, v, centers, np.empty((self.n_strips, len(centers))), sums,
                                         self.threads(centers.size))
        return sums

    def fill(self, column: NDArray[Any], centers: NDArray[Any], weights: Double, constant: float) -> None:
        """Column = constant + sum over centers of weights 2^-|row - center|^2; centers without a weight have 0."""
        padded = np.zeros((1, len(centers)))
        padded[0, : len(weights)] = weights
        sparse_columns.fill_column(self.tiles, centers, padded, constant, column, self.threads(centers.size))


def pack_rows(X: Any, scaling: Scaling, weights: RowWeights, n_threads: int | None,
              dtype: np.dtype[Any]) -> tuple[KernelRows, float]:
    """Rows, and the largest length of a row, in the form that `in_precision` takes."""
    rows = KernelRows(X, scaling, weights, dtype, n_threads)
    return rows, rows.largest_length


def needs_double(largest_length: float) -> bool:
    """Whether rows lie too far apart for single precision."""
    return largest_length > _LARGEST_SINGLE_LENGTH
