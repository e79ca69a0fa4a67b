"""Some rows of a table, chosen in one pass by a fixed rule, in bounded memory.

Each row has a mark that its index determines; the rows of the smallest marks are held.  So it does not matter in which
blocks the rows come.
"""

import numpy as np

from .._native.array_types import NDArray

Double = NDArray[np.float64]
Indices = NDArray[np.intp]
Marks = NDArray[np.uint64]

# Limits on the rows held, and on the numbers in them.
_MOST_ROWS = 2048
_MOST_NUMBERS = 1 << 21


def _marks(rows: Indices) -> Marks:
    """Numbers of 64 bits as if drawn at random, distinct for distinct rows (SplitMix64)."""
    z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Reservoir:
    """Values, (n_columns, n_held), and weights of some rows, in the order of the rows."""

    def __init__(self, n_columns: int) -> None:
        self._most = max(64, min(_MOST_ROWS, _MOST_NUMBERS // n_columns))
        self._marks: Marks = np.empty(0, np.uint64)
        self.values, self.weights = np.empty((n_columns, 0)), np.empty(0)

    def add(self, rows: Indices, values: Double, places: Indices, weights: Double) -> None:
        """Add rows by their index; their values are those at some places of an array, column by column."""
        marks = _marks(rows)
        if len(self._marks) == self._most:
            below = np.flatnonzero(marks < self._marks.max())
            marks, places, weights = marks[below], places[below], weights[below]
        if not len(marks):
            return
        marks = np.concatenate([self._marks, marks])
        kept = np.arange(len(marks))
        if len(marks) > self._most:
            kept = np.sort(np.argpartition(marks, self._most - 1)[: self._most])
        old, new = kept[kept < len(self._marks)], kept[kept >= len(self._marks)] - len(self._marks)
        self.values = np.concatenate([self.values[:, old], values[:, places[new]]], axis=1)
        self.weights = np.concatenate([self.weights[old], weights[new]])
        self._marks = marks[kept]
