"""Rows, centers and columns for the kernels of sparse kernel machines, made by NumPy alone."""

import numpy as np
import reference

from rffkern._kernels import packing, sparse_columns

from .packing import packed, padded_size, tiled


class Columns:
    """Random rows, centers, weights and columns, in both forms."""

    def __init__(self, seed, n_samples, n_features, n_centers, dtype, weighted, n_threads=1):
        rng = np.random.default_rng(seed)
        self.lengthscales = rng.uniform(1, 3, n_features) * np.sqrt(n_features)
        self.X = rng.standard_normal((n_samples, n_features))
        self.weight = rng.uniform(0, 2, n_samples) if weighted else np.ones(n_samples)
        self.residual = rng.standard_normal(n_samples)
        self.a = rng.standard_normal(n_centers)
        self.F = rng.standard_normal((4, n_samples)).astype(dtype)
        self.dtype, self.n_threads = dtype, n_threads
        scaled = self.X * (sparse_columns.UNIT / self.lengthscales)
        self.tiles, self.weight_tiles = packed(scaled, dtype), tiled(self.weight)
        indices = rng.integers(0, n_samples, n_centers)
        self.K = reference.gaussian_kernel(self.X, self.X[indices], self.lengthscales)
        n_padded = padded_size(n_centers, sparse_columns.CENTER_MULTIPLE)
        self.centers, self.weights = np.zeros((n_padded, n_features), dtype), np.zeros((1, n_padded))
        self.centers[:n_centers], self.weights[0, :n_centers] = scaled[indices], self.a
        self.n_sums = padded_size(n_samples, packing.STRIP_ROWS) // packing.STRIP_ROWS
        self.columns = np.zeros((5, len(self.tiles), packing.TILE_ROWS), dtype)
        for column, values in zip(self.columns, self.F, strict=False):
            column[:] = tiled(values, dtype)

    def flat(self, tiles):
        """Values of the rows alone."""
        return tiles.reshape(-1)[: len(self.X)]

    def products(self):
        products = np.full((5, 2), np.nan)
        sparse_columns.multiply_columns(self.columns, 4, self.weight_tiles, tiled(self.residual),
                                        np.empty((self.n_sums, 8)),
                                        np.empty((self.n_threads, sparse_columns.PRODUCT_SCRATCH)), products,
                                        self.n_threads)
        return products[:4]

    def shrunk(self, steps):
        residual = tiled(self.residual)
        loss = sparse_columns.shift_residual(self.columns, -steps, self.weight_tiles, residual,
                                             np.empty((self.n_sums, 1)), self.n_threads)
        return loss, self.flat(residual)

    def correlations(self):
        sums = np.full(len(self.centers), np.nan)
        sparse_columns.correlate_centers(self.tiles, tiled(self.residual), self.centers,
                                         np.empty((self.n_sums, len(sums))), sums, self.n_threads)
        return sums[: len(self.a)]

    def filled(self):
        sparse_columns.fill_column(self.tiles, self.centers, self.weights, 0.5, self.columns[4], self.n_threads)
        return self.flat(self.columns[4])
