"""Rows in the units of a kernel, and the sums over rows that sparse kernel machines learn from."""

import numpy as np

from .._data.row_blocks import chunks
from .._data.scaling import no_scaling
from .._data.threads import check_n_threads
from .._data.tiles import TILE, aligned, pack, tiled
from .._kernels import sparse_columns
from .._kernels.packing import ROW_BLOCK
from ..expansion import pad_centers, pad_weights

_DOUBLE = np.dtype(np.float64)


class KernelRows:
    """Rows packed in tiles of shape (n_tiles, n_features, 128) in units in which the kernel is amplitude 2^-|x - z|^2 +
    bias, and their weights.

    Memory: 4 bytes per number in single precision, 8 in double; 8 a row.
    """

    def __init__(self, X, scaling, weight, dtype, n_threads):
        self.n_samples, self.n_features = X.shape
        self.wanted_threads, self.dtype = n_threads, np.dtype(dtype)
        self.n_threads = check_n_threads(n_threads, self.n_samples * self.n_features)
        self.n_tiles = -(-self.n_samples // TILE)
        self.tiles = aligned((self.n_tiles, self.n_features, TILE), self.dtype)
        self.largest_length = 0.0
        for rows, chunk in chunks(X):
            if weight is not None and not weight[rows].all():  # whatever stands in such a row must not matter
                chunk = np.where(weight[rows, None] > 0, chunk, scaling.center)
            _, length = pack(chunk, scaling, self.dtype, self.n_threads, out=self.tiles[rows.start // TILE :])
            self.largest_length = max(self.largest_length, length)
        self.flat_weight = np.ones(self.n_samples) if weight is None else weight
        self.weight = tiled(self.flat_weight, _DOUBLE)
        self.total_weight = float(self.flat_weight.sum())
        self.n_blocks = -(-self.n_samples // ROW_BLOCK)

    def part(self, indices):
        """KernelRows of some of the rows."""
        return KernelRows(self.at(indices), no_scaling(self.n_features), self.flat_weight[indices], self.dtype,
                          self.wanted_threads)

    def at(self, indices):
        """Rows (n_indices, n_features), as they are packed."""
        return np.ascontiguousarray(self.tiles[indices // TILE, :, indices % TILE])

    def correlate(self, v, centers):
        """Sums over rows of v 2^-|row - center|^2, for each center."""
        padded = pad_centers(centers, self.dtype)
        sums = np.empty(len(padded))
        sparse_columns.correlate_centers(self.tiles, v, padded, np.empty((self.n_blocks, len(padded))), sums,
                                          self.threads(padded.size))
        return sums[: len(centers)]

    def fill(self, column, centers, weights, constant):
        """Column = constant + sum over centers of weights 2^-|row - center|^2."""
        padded = pad_centers(centers, self.dtype)
        sparse_columns.fill_column(self.tiles, padded, pad_weights(weights[None], len(padded)), constant, column,
                                    self.threads(padded.size))

    def threads(self, per_row):
        """Number of threads for a kernel over so many numbers a row."""
        return check_n_threads(self.wanted_threads, self.n_samples * per_row)
