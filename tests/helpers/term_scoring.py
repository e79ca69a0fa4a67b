"""Leaves of symmetric trees, in plain NumPy."""

import numpy as np

from rffkern._model.table_layout import UNREACHED


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
