"""Rows in the units of a kernel, and the sums over rows that sparse kernel machines learn from."""

import sys
from typing import Any

import numpy as np

from ..._native import sparse
from ..._native.array_types import Double, Indices, NDArray
from ..._native.scoring import STRIP_ROWS
from ..._native.sparse import CENTER_MULTIPLE, SHAPES
from ..._rows.scaling import Scaling, no_scaling
from ..._rows.threads import ELEMENTS_PER_THREAD, check_n_threads
from ..._rows.tiles import DOUBLE, SINGLE, TILE, aligned, tiled
from ..._rows.weights import RowWeights
from ..kernel_ridge.kernel_matrix import tiles_of_rows

# Rows of a length up to this keep their squares, so that |x - z|^2 = |x|^2 - 2 x . z + |z|^2 costs one product.  Its
# error is then below 1e-12 in double precision, and below 1e-6 in single.
_LARGEST_SQUARED_LENGTH = {DOUBLE: 32.0, SINGLE: 1.5}

# Bytes of kernels that are kept between the sums over rows and the sums over centers.
_MOST_KEPT = 2**26


class KernelRows:
    """Rows and their weights, packed in tiles of shape (n_tiles, n_features, 128).

    They are in units in which the kernel is amplitude 2^-|x - z|^p + bias, with p its shape: 2, or 1 if exponential.

    Those that lie near the center carry the square of their length as one more feature.

    Memory: 4 bytes per number in single precision, 8 in double; 8 a row.
    """

    def __init__(self, X: Any, scaling: Scaling, weights: RowWeights, dtype: np.dtype[Any],
                 n_threads: int | None, shape: int = SHAPES["gaussian"]) -> None:
        self.shape = shape
        self.n_samples, self.n_features = X.shape
        self.weights, self.dtype = weights, np.dtype(dtype)
        self.wanted_threads, self.most_threads = n_threads, check_n_threads(n_threads, sys.maxsize)
        self.n_tiles = -(-self.n_samples // TILE)
        self.n_strips = -(-self.n_samples // STRIP_ROWS)
        n_threads = self.threads(self.n_features)
        self.weight = tiled(weights.each, DOUBLE)
        self.flat_weight = self.weight.reshape(-1)[: self.n_samples]
        self.tiles, self.largest_length = tiles_of_rows(X, scaling, weights, self.dtype, n_threads)
        # The root of a small distance would lose half of its digits.
        self.has_squares = (self.shape == SHAPES["gaussian"]
                            and self.largest_length <= _LARGEST_SQUARED_LENGTH[self.dtype])
        if self.has_squares:  # of the lengths of rows, summed in double precision
            extended = aligned((self.n_tiles, self.n_features + 1, TILE), self.dtype)
            extended[:, :-1] = self.tiles
            extended[:, -1] = np.einsum("tji,tji->ti", self.tiles, self.tiles, dtype=np.float64)
            self.tiles = extended
        self._kernels = np.empty(0, self.dtype)

    def threads(self, per_row: int) -> int:
        """Number of threads for a kernel that reads `per_row` numbers of each row."""
        return min(self.most_threads, max(1, self.n_samples * per_row // ELEMENTS_PER_THREAD))

    def taken(self, indices: Indices) -> "KernelRows":
        """Some of the rows."""
        return KernelRows(self.at(indices), no_scaling(self.n_features), self.weights.of(indices), self.dtype,
                          self.wanted_threads, self.shape)

    def at(self, indices: Indices) -> NDArray[Any]:
        """Rows (n_indices, n_features), as they are packed."""
        places = (indices // TILE * self.tiles.shape[1] * TILE + indices % TILE)[:, None]
        return self.tiles.reshape(-1).take(places + np.arange(0, self.n_features * TILE, TILE))

    def centers(self, indices: Indices) -> NDArray[Any]:
        """Some of the rows as kernels take centers: in multiples of some number, the first ones again at the end."""
        return self.at(np.resize(indices, -(-len(indices) // CENTER_MULTIPLE) * CENTER_MULTIPLE))

    def tiles_of(self, indices: Indices) -> Double:
        """Some of the rows in tiles in double precision, for a search, with their squares where all lie near."""
        has_squares = self.shape == SHAPES["gaussian"] and self.largest_length <= _LARGEST_SQUARED_LENGTH[DOUBLE]
        tiles = aligned((-(-len(indices) // TILE), self.n_features + has_squares, TILE), DOUBLE)
        sparse.take_tiles(self.tiles, indices, self.n_features, tiles)
        return tiles

    def buffer(self, n_centers: int) -> NDArray[Any]:
        """Memory for kernels of as many tiles as may be kept, shape (n_tiles, n_centers, 128)."""
        bytes_of_tile = n_centers * TILE * self.dtype.itemsize
        n_tiles = min(self.n_tiles, max(1, _MOST_KEPT // bytes_of_tile))
        if self._kernels.size < n_tiles * n_centers * TILE:
            self._kernels = aligned((n_tiles * n_centers * TILE,), self.dtype)
        return self._kernels[: n_tiles * n_centers * TILE].reshape(n_tiles, n_centers, TILE)

    def centers_for_kernels(self, centers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Centers and shifts in the form that kernels take beside these rows."""
        if not self.has_squares:
            return centers.astype(self.dtype, copy=False), np.empty(0, self.dtype)
        with np.errstate(over="ignore"):  # of centers far away, whose kernels are 0
            squares = np.einsum("ij,ij->i", centers, centers, dtype=np.float64)
            forms = np.column_stack([-2.0 * centers, np.ones(len(centers))])
            return forms.astype(self.dtype, copy=False), -squares.astype(self.dtype, copy=False)

    def fill(self, columns: NDArray[Any], centers: NDArray[Any], weights: Double, constants: Double) -> None:
        """columns[k] = constants[k] + sum over centers of weights[k] kernels; the rest of them has 0."""
        padded = np.zeros((len(weights), len(centers)))
        padded[:, : weights.shape[1]] = weights
        sparse.fill_columns(self.tiles, *self.centers_for_kernels(centers), padded, constants, columns,
                            self.shape, self.threads(centers.size))


class Kernels:
    """Kernels, of amplitude 1, of all rows with some centers, which come from `KernelRows.centers`.

    They are computed once for `correlate` and `combine` together where they fit into some memory.
    """

    def __init__(self, rows: KernelRows, centers: NDArray[Any]) -> None:
        self.rows, self.centers = rows, centers
        self._forms = rows.centers_for_kernels(centers)
        self._buffer = rows.buffer(len(centers))
        self._kept = False

    def _blocks(self) -> list[slice]:
        size, n_tiles = len(self._buffer), self.rows.n_tiles
        return [slice(start, min(start + size, n_tiles)) for start in range(0, n_tiles, size)]

    def _compute(self, block: slice, v: Double) -> Double:
        """Compute kernels of a block of tiles; return sums over it of v times them."""
        rows, n_centers = self.rows, len(self.centers)
        v = np.ascontiguousarray(v[:, block])
        sums = np.empty((len(v), n_centers))
        sparse.correlate_centers(
            rows.tiles[block], *self._forms, v, self._buffer[: block.stop - block.start],
            np.empty((rows.n_strips, len(v) * n_centers)), sums, rows.shape, rows.threads(self.centers.size))
        return sums

    def correlate(self, v: Double) -> Double:
        """Sums over rows of v times kernels, shape (n_outputs, n_centers), for v of shape (n_outputs, n_tiles, 128)."""
        blocks = self._blocks()
        self._kept = len(blocks) == 1
        return sum((self._compute(block, v) for block in blocks[1:]), start=self._compute(blocks[0], v))

    def combine(self, weights: Double, constants: Double, columns: NDArray[Any]) -> None:
        """columns[k] = constants[k] + sum over the first centers of weights[k] times kernels."""
        rows = self.rows
        for block in self._blocks():
            if not self._kept:
                self._compute(block, np.empty((0, rows.n_tiles, TILE)))
            sparse.combine_kernels(self._buffer[: block.stop - block.start], weights, constants, columns,
                                   block.start, rows.threads(weights.size))
