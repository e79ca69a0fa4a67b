"""Where the cells of symmetric tables lie."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np

from .._native.array_types import NDArray

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# The threshold of a depth of a tree that divides nothing: no row is above it.
UNREACHED = float(np.finfo(np.float64).max)

# Tables whose cells are numbered together: few, so that little memory is taken.
_TABLES_TOGETHER = 64


class TableLayout(NamedTuple):
    """How the answers of tables number their cells.

    A column that a table asks k times, with k thresholds, is a digit from 0 to k: how many of them a row is above.  The
    first column that is asked is the digit that counts least.
    """

    steps: Indices  # (n_tables, depth) what a yes adds to the number of the cell; 0 for a depth that asks nothing
    bases: Indices  # (n_tables, depth) k + 1 of the column
    starts: Indices  # (n_tables + 1,) the first cell of each table among those of all

    @classmethod
    def of(cls, columns: Double, thresholds: Double) -> Self:
        """The layout of tables of whole columns and of thresholds, both (n_tables, depth)."""
        asks = thresholds < UNREACHED
        steps, bases = np.zeros(columns.shape, dtype=np.intp), np.ones(columns.shape, dtype=np.intp)
        size = np.ones(len(columns), dtype=np.intp)
        seen = ~asks
        for level in range(columns.shape[1]):
            here = asks & (columns == columns[:, level : level + 1]) & ~seen[:, level : level + 1]
            count = here.sum(axis=1) + 1
            steps += here * size[:, None]
            bases += here * (count - 1)[:, None]
            size *= count
            seen |= here
        return cls(steps, bases, np.concatenate([[0], np.cumsum(size)]))

    def of_tables(self, chosen: Indices) -> Indices:
        """The cells of some tables, one after the other."""
        sizes = np.diff(self.starts)[chosen]
        ends = np.cumsum(sizes)
        return np.arange(sizes.sum()) + np.repeat(self.starts[chosen] - ends + sizes, sizes)

    def some(self, tables: slice) -> Self:
        """The layout of tables next to each other."""
        steps, bases = self.steps[tables], self.bases[tables]
        starts = self.starts[tables.start : tables.start + len(steps) + 1]
        return type(self)(steps, bases, starts - starts[0])

    def answers(self, columns: Double, thresholds: Double) -> Indices:
        """For each cell the answers of its table as bits: bit l is that of level l."""
        depth = columns.shape[1]
        ranks = np.zeros(columns.shape, dtype=np.intp)
        for level in range(depth):  # how many thresholds of the same column are lower, or equal and before
            same = columns == columns[:, level : level + 1]
            lower = thresholds[:, level : level + 1] < thresholds
            ranks += same & (lower | ((thresholds[:, level : level + 1] == thresholds) & (np.arange(depth) > level)))
        owner = np.repeat(np.arange(len(columns)), np.diff(self.starts))
        local = np.arange(len(owner)) - self.starts[owner]
        bits = np.zeros(len(owner), dtype=np.intp)
        for level in range(depth):
            digit = local // np.maximum(self.steps[:, level], 1)[owner] % self.bases[:, level][owner]
            bits |= (digit > ranks[:, level][owner]).astype(np.intp) << level
        return bits


def reachable_values(columns: Double, thresholds: Double, tables: Iterable[Double], n_outputs: int) -> Double:
    """Values (n_cells, n_outputs) of the cells that answers can lead to, of those of all 2^depth answers of each table.

    A table that asks of a column twice has answers that contradict each other.
    """
    layout, values_of = TableLayout.of(columns, thresholds), iter(tables)
    values = np.empty((layout.starts[-1], n_outputs))
    for start in range(0, len(columns), _TABLES_TOGETHER):
        some = slice(start, start + _TABLES_TOGETHER)
        part = layout.some(some)
        answers = part.answers(columns[some], thresholds[some])
        at = layout.starts[start]
        for first, stop in itertools.pairwise(part.starts):
            values[at + first : at + stop] = next(values_of)[answers[first:stop]]
    return values


def rounded_down(edges: Double) -> NDArray[np.float32]:
    """Edges in single precision, so that the same rows of single precision are above."""
    with np.errstate(over="ignore"):
        singles = edges.astype(np.float32)
    above = singles > edges
    singles[above] = np.nextafter(singles[above], np.float32(-np.inf))
    return singles
