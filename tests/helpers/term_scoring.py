"""Leaves of symmetric trees, in plain NumPy."""

import numpy as np

from rffkern._model.tree_layout import UNREACHED


def n_leaves(columns, thresholds):
    """Numbers of the leaves of trees: for each column one more than the thresholds that it is compared with."""
    return [int(np.prod([1 + np.sum((row == j) & (bounds < UNREACHED)) for j in set(row.tolist())], dtype=int))
            for row, bounds in zip(columns, thresholds, strict=True)]


def leaves_of(columns, thresholds, X):
    """The leaf of each row in one tree: digits, the column of the first split counting least."""
    leaves, size = np.zeros(len(X), dtype=int), 1
    for j in dict.fromkeys(columns[thresholds < UNREACHED].tolist()):
        bounds = thresholds[(columns == j) & (thresholds < UNREACHED)]
        leaves += size * (X[:, j, None] > bounds).sum(axis=1)
        size *= 1 + len(bounds)
    return leaves
