"""Where the leaves of symmetric trees lie."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np

from .._native.array_types import Double, Indices, Mask, NDArray

# The threshold of a depth of a tree that splits nothing: no row is above it.
UNREACHED = float(np.finfo(np.float64).max)

# Trees whose leaves are numbered together, and their values at most: few, so that little memory is taken.
_TREES_TOGETHER, _VALUES_TOGETHER = 64, 1 << 18


class TreeLayout(NamedTuple):
    """How trees number their leaves.

    A column by which a tree splits k times, with k thresholds, is a digit from 0 to k: how many of them a row is above.
    The first column by which it splits is the digit that counts least.  A tree of x0 > 1, x1 > 5 and x0 > 2 has the
    digits 0 to 2 of x0 and 0 to 1 of x1, so that it has six leaves, of the numbers d0 + 3 d1: steps are 1, 3 and 1,
    bases 3, 2 and 3.
    """

    steps: Indices  # (n_trees, depth) what going right adds to the number of the leaf; 0 where nothing is split
    bases: Indices  # (n_trees, depth) k + 1 of the column
    starts: Indices  # (n_trees + 1,) the first leaf of each tree among those of all

    @classmethod
    def of(cls, columns: Double, thresholds: Double) -> Self:
        """The layout of trees of whole columns and of thresholds, both (n_trees, depth)."""
        splits = thresholds < UNREACHED
        steps, bases = np.zeros(columns.shape, dtype=np.intp), np.ones(columns.shape, dtype=np.intp)
        n_leaves = np.ones(len(columns), dtype=np.intp)
        has_digit = ~splits
        for level in range(columns.shape[1]):
            # All splits by the column of this level, unless an earlier level has been one.  Of x0, x1, x0: levels 0 and
            # 2 get the step 1 and the base 3, then level 1 the step 3 and the base 2, and six leaves are counted.
            own = splits & (columns == columns[:, level : level + 1]) & ~has_digit[:, level : level + 1]
            base = own.sum(axis=1) + 1
            steps += own * n_leaves[:, None]
            bases += own * (base - 1)[:, None]
            n_leaves *= base
            has_digit |= own
        return cls(steps, bases, np.concatenate([[0], np.cumsum(n_leaves)]))

    def leaves_of(self, chosen: Indices) -> Indices:
        """The leaves of some trees, one after the other."""
        sizes = np.diff(self.starts)[chosen]
        ends = np.cumsum(sizes)
        return np.arange(sizes.sum()) + np.repeat(self.starts[chosen] - ends + sizes, sizes)

    def is_right(self, columns: Double, thresholds: Double) -> Mask:
        """Whether the rows of each leaf go right at each level, shape (n_leaves, depth)."""
        depth = columns.shape[1]
        ranks = np.zeros(columns.shape, dtype=np.intp)
        for level in range(depth):  # how many thresholds of the same column are lower, or equal and before
            same = columns == columns[:, level : level + 1]
            lower = thresholds[:, level : level + 1] < thresholds
            ranks += same & (lower | ((thresholds[:, level : level + 1] == thresholds) & (np.arange(depth) > level)))
        owner = np.repeat(np.arange(len(columns)), np.diff(self.starts))
        local = (np.arange(len(owner)) - self.starts[owner])[:, None]
        return local // np.maximum(self.steps, 1)[owner] % self.bases[owner] > ranks[owner]


def reachable_values(columns: Double, thresholds: Double, trees: Iterable[Double], n_outputs: int) -> Double:
    """Values (n_leaves, n_outputs) of the leaves that rows can reach, of the 2^depth values of each tree.

    A tree that splits by a column twice has paths that contradict each other.
    """
    layout, values_of = TreeLayout.of(columns, thresholds), iter(trees)
    values = np.empty((layout.starts[-1], n_outputs))
    together = max(1, min(_TREES_TOGETHER, _VALUES_TOGETHER // (n_outputs << columns.shape[1])))
    for start in range(0, len(columns), together):
        some = slice(start, start + together)
        starts = layout.starts[start : start + together + 1]
        is_right = TreeLayout.of(columns[some], thresholds[some]).is_right(columns[some], thresholds[some])
        paths = (is_right << np.arange(columns.shape[1])).sum(axis=1)  # bit l is 1 where rows go right at level l
        of_trees = np.array(list(itertools.islice(values_of, together)))
        values[starts[0] : starts[-1]] = of_trees[np.repeat(np.arange(len(of_trees)), np.diff(starts)), paths]
    return values


def rounded_down(edges: Double) -> NDArray[np.float32]:
    """Edges in single precision, so that the same rows of single precision are above."""
    with np.errstate(over="ignore", under="ignore"):
        singles = edges.astype(np.float32)
        above = singles > edges
        singles[above] = np.nextafter(singles[above], np.float32(-np.inf))
    return singles
