"""Scores of symmetric tables: random tables for the kernel, and its twin in plain NumPy."""

import numpy as np

from rffkern._kernels import term_scoring

from .packing import padded_size


class Tables:
    """Random tables of thresholds; some levels ask nothing."""

    def __init__(self, seed, n_tables, depth, n_features, n_outputs, dtype):
        rng = np.random.default_rng(seed)
        self.columns = rng.integers(0, n_features, (n_tables, depth), dtype=np.int32)
        self.thresholds = rng.standard_normal((n_tables, depth)).round(1).astype(dtype)
        self.thresholds[rng.random((n_tables, depth)) < 0.1] = np.inf
        self.values = rng.standard_normal((n_tables, 2**depth, n_outputs)).astype(dtype)
        self.dtype, self.n_features, self.n_outputs = np.dtype(dtype), n_features, n_outputs

    def arguments(self, X, out, n_threads):
        """Arguments of `score_tables`."""
        size = term_scoring.scratch_size(self.n_features, self.n_outputs, self.dtype.itemsize)
        return {"X": X, "columns": self.columns, "thresholds": self.thresholds, "values": self.values, "out": out,
                "scratch": np.full((n_threads, size), np.nan, self.dtype), "n_threads": n_threads}

    def score(self, X, width=1, n_threads=1, start=0.0):
        """Scores of rows of shape (n_samples, n_features), laid out in tiles of a width."""
        tiles = np.zeros((padded_size(len(X), width), self.n_features), self.dtype)
        tiles[: len(X)] = X
        tiles = np.ascontiguousarray(tiles.reshape(-1, width, self.n_features).transpose(0, 2, 1))
        out = np.full((len(X), self.n_outputs), start)
        term_scoring.score_tables(**self.arguments(tiles, out, n_threads))
        return out

    def twin(self, X):
        """The same in NumPy, in double precision."""
        scores = np.zeros((len(X), self.n_outputs))
        for columns, thresholds, values in zip(self.columns, self.thresholds, self.values, strict=True):
            cells = ((X[:, columns] > thresholds) << np.arange(len(columns))).sum(axis=1)
            scores += values[cells]
        return scores
