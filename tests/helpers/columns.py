"""Rows, centers and columns for the kernels of sparse kernel machines, made by NumPy alone."""

import numpy as np
import reference

from rffkern._native import scoring, sparse

from .packing import packed, padded_size, tiled


class Columns:
    """Random rows, centers, weights and columns, in both forms."""

    def __init__(self, seed, n_samples, n_features, n_centers, dtype, weighted, n_threads=1, squares=False,
                 n_outputs=1, shape="gaussian"):
        rng = np.random.default_rng(seed)
        self.length_scale = rng.uniform(1, 3, n_features) * np.sqrt(n_features)
        self.X = rng.standard_normal((n_samples, n_features))
        self.weight = rng.uniform(0, 2, n_samples) if weighted else np.ones(n_samples)
        self.residual = rng.standard_normal((n_outputs, n_samples))
        self.a = rng.standard_normal((n_outputs, n_centers))
        self.F = rng.standard_normal((4, n_samples)).astype(dtype)
        self.dtype, self.n_threads = dtype, n_threads
        self.shape = sparse.SHAPES[shape]
        scaled = self.X * (sparse.UNITS[self.shape] / self.length_scale)
        self.tiles, self.weight_tiles = packed(scaled, dtype), tiled(self.weight)
        indices = rng.integers(0, n_samples, n_centers)
        self.K = reference.kernel_of_shape(self.X, self.X[indices], self.length_scale, shape=shape)
        n_padded = padded_size(n_centers, sparse.CENTER_MULTIPLE)
        self.centers, self.weights = np.zeros((n_padded, n_features), dtype), np.zeros((n_outputs, n_padded))
        self.centers[:n_centers], self.weights[:, :n_centers] = scaled[indices], self.a
        self.shifts = np.empty(0, dtype)
        if squares:
            self.tiles = packed(np.column_stack([scaled, (scaled**2).sum(axis=1)]), dtype)
            self.shifts = -(self.centers**2).sum(axis=1)
            self.centers = np.column_stack([-2 * self.centers, np.ones(n_padded, dtype)])
        self.n_sums = padded_size(n_samples, scoring.STRIP_ROWS) // scoring.STRIP_ROWS
        self.columns = np.zeros((4 + n_outputs, len(self.tiles), scoring.TILE_ROWS), dtype)
        for column, values in zip(self.columns, self.F, strict=False):
            column[:] = tiled(values, dtype)

    def flat(self, tiles):
        """Values of the rows alone, output by output."""
        return tiles.reshape(len(tiles), -1)[:, : len(self.X)]

    def tiled(self, values):
        """Values (n_outputs, n_samples) in tiles."""
        return np.array([tiled(of_output) for of_output in values])

    def products(self):
        products = np.full((len(self.residual), 5), np.nan)
        sparse.multiply_columns(self.columns, 4, self.weight_tiles, self.tiled(self.residual),
                                np.empty((self.n_sums, 8)),
                                np.empty((self.n_threads, sparse.PRODUCT_SCRATCH)), products,
                                self.n_threads)
        return products[:, :4]

    def shrunk(self, steps):
        """Residuals less columns times steps (n_outputs, n_columns), and the weighted sums of their squares."""
        residual, squares = self.tiled(self.residual), np.full(len(self.residual), np.nan)
        sparse.shift_vectors(self.columns, -steps, self.weight_tiles, residual,
                             np.empty((self.n_sums, len(residual))), squares, self.n_threads)
        return squares, self.flat(residual)

    def correlations(self):
        """Sums over rows of kernels times the residuals, and the kernels."""
        sums = np.full((len(self.residual), len(self.centers)), np.nan)
        kernels = np.full((len(self.tiles), len(self.centers), scoring.TILE_ROWS), np.nan, self.dtype)
        sparse.correlate_centers(self.tiles, self.centers, self.shifts, self.tiled(self.residual), kernels,
                                 np.empty((self.n_sums, sums.size)), sums, self.shape, self.n_threads)
        return sums[:, : self.a.shape[1]], kernels

    def combined(self):
        """Kernels times weights, behind the other columns, from kernels that are kept."""
        sparse.combine_kernels(self.correlations()[1], self.a, np.full(len(self.a), 0.5), self.columns[4:], 0,
                               self.n_threads)
        return self.flat(self.columns[4:])

    def filled(self):
        """The same from kernels that are not kept."""
        sparse.fill_columns(self.tiles, self.centers, self.shifts, self.weights, np.full(len(self.a), 0.5),
                            self.columns[4:], self.shape, self.n_threads)
        return self.flat(self.columns[4:])
