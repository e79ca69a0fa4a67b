"""Scores of symmetric tables: random tables for the kernel, and its twin in plain NumPy."""

import numpy as np

from rffkern._model.table_layout import UNREACHED, TableLayout, pack_tables
from rffkern._native import boosting

from .packing import padded_size


def n_cells(columns, thresholds):
    """Numbers of the cells of tables: for each column one more than the thresholds that it is compared with."""
    return [int(np.prod([1 + np.sum((row == j) & (bounds < UNREACHED)) for j in set(row.tolist())], dtype=int))
            for row, bounds in zip(columns, thresholds, strict=True)]


def cells_of(columns, thresholds, X):
    """The cell of each row in one table: digits, the column that is asked first counting least."""
    cells, size = np.zeros(len(X), dtype=int), 1
    for j in dict.fromkeys(columns[thresholds < UNREACHED].tolist()):
        bounds = thresholds[(columns == j) & (thresholds < UNREACHED)]
        cells += size * (X[:, j, None] > bounds).sum(axis=1)
        size *= 1 + len(bounds)
    return cells


class Tables:
    """Random tables of thresholds; some levels ask nothing."""

    def __init__(self, seed, n_tables, depth, n_features, n_outputs, dtype, digits=1):
        rng = np.random.default_rng(seed)
        self.columns = rng.integers(0, n_features, (n_tables, depth))
        self.thresholds = rng.standard_normal((n_tables, depth)).round(digits).astype(dtype).astype(float)
        self.thresholds[rng.random((n_tables, depth)) < 0.1] = UNREACHED
        self.sizes = n_cells(self.columns, self.thresholds)
        self.values = rng.standard_normal((sum(self.sizes), n_outputs)).astype(np.float32)
        self.dtype, self.n_features, self.n_outputs = np.dtype(dtype), n_features, n_outputs

    def arguments(self, X, out, n_threads):
        """Arguments of `score_tables`."""
        layout = TableLayout.of(self.columns, self.thresholds)
        tables = pack_tables(self.columns, self.thresholds, layout, self.values)
        return {"X": X, "tables": tables, "out": out, "n_threads": n_threads,
                "scratch": np.full((n_threads, tables.scratch_size(len(out))), 77, np.int8)}

    def score(self, X, width=1, n_threads=1, start=0.0):
        """Scores of rows of shape (n_samples, n_features), laid out in tiles of a width."""
        tiles = np.zeros((padded_size(len(X), width), self.n_features), self.dtype)
        tiles[: len(X)] = X
        tiles = np.ascontiguousarray(tiles.reshape(-1, width, self.n_features).transpose(0, 2, 1))
        out = np.full((len(X), self.n_outputs), start)
        boosting.score_tables(**self.arguments(tiles, out, n_threads))
        return out

    def twin(self, X):
        """The same in NumPy, in double precision."""
        scores = np.zeros((len(X), self.n_outputs))
        parts = np.split(self.values, np.cumsum(self.sizes)[:-1])
        for columns, thresholds, values in zip(self.columns, self.thresholds, parts, strict=True):
            scores += values[cells_of(columns, thresholds, X)]
        return scores


def packed_arrays():
    """Arguments of `term_scoring.Tables`: three tables of depth 2 that read two coded columns."""
    columns = np.zeros((2, boosting.CHUNK), np.int32)
    columns[1] = 1
    return {"coded": np.array([0, 2], np.int32), "edge_starts": np.array([0, 1, 4]),
            "singles": np.arange(4, dtype=np.float32), "doubles": np.arange(4.0), "columns": columns,
            "cuts": np.full((2, boosting.CHUNK), -128, np.int8), "steps": np.full_like(columns, 1, np.uint8),
            "firsts": np.ones(boosting.CHUNK, np.uint8), "units": np.full(boosting.CHUNK, 2, np.int32),
            "starts": np.array([0, 4, 8, 12]), "values": np.ones((12, 1), np.float32)}
