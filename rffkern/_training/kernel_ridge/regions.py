"""Rows divided into regions, each small enough for a kernel ridge regression of its own.

Thresholds on columns divide the rows, one after the other, where the columns spread most in units of length scales.  A
region also learns from the rows of its neighbours that are nearest to its bounds.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._model.regions import Regions
from ..._model.tree_layout import UNREACHED
from ..._native.array_types import Double, Indices, NDArray

# Rows that kernel ridge regression learns from together, and those that regions have on average at most where there are
# more. Of five sets of 32,000 to 87,000 rows, 3,000 were better for classes, 6,000 for values, and all rows together no
# better than either, in 5 to 12 times as much time.
MOST_ROWS, LARGEST_REGION = 11_500, 5000

# A share of the rows of each side of a threshold: so many of the other side's rows are learned from too.
_OVERLAP = 0.1

# The least share of a region's rows on either side of a threshold.
_LEAST_SIDE = 0.2

# Numbers whose variances are computed at once.
_BLOCK_SIZE = 1 << 16


class Region(NamedTuple):
    """The rows of a region: sorted indices."""

    own: Indices  # rows that fall into it, which it scores
    learned: Indices  # rows that it learns from: its own, and those of neighbours that are nearest to its bounds

    def shuffled_rows(self, shuffled: Indices, most_rows: int) -> Indices:
        """So many at most of the rows that it learns from, in the random order of all rows."""
        is_learned = np.zeros(len(shuffled), dtype=bool)
        is_learned[self.learned] = True
        return shuffled[is_learned[shuffled]][:most_rows]


class Division(NamedTuple):
    """Regions as leaves of a binary tree, from the left: node k has the children 2 k + 1 and 2 k + 2."""

    columns: Indices  # (n_regions - 1,)
    thresholds: Double  # (n_regions - 1,) rows above go to the second child; `UNREACHED` where all go to the first
    regions: list[Region]

    def some(self, n_wanted: int) -> list[int]:
        """So many of the regions at most that have rows, spread over all."""
        used = [index for index, region in enumerate(self.regions) if len(region.own)]
        return used[:: -(-len(used) // n_wanted)]

    def of_rows(self, rows: NDArray[Any]) -> Indices:
        """The region of each row (n_rows, n_features)."""
        return Regions(self.columns, self.thresholds, np.empty(0, dtype=np.intp)).of_rows(rows)

    def most_varied(self, targets: Double, among: Sequence[int]) -> Region:
        """The region in which targets (n_outputs, n_rows) have the largest variance."""
        return max((self.regions[index] for index in among),
                   key=lambda region: float(targets[:, region.own].var(axis=1).sum()))


def undivided(n_rows: int) -> Division:
    """All rows in one region."""
    rows = np.arange(n_rows)
    return Division(np.empty(0, dtype=np.intp), np.empty(0), [Region(rows, rows)])


def divide(X: NDArray[np.float32], relevances: Double, most_rows: int) -> Division:
    """Divide rows into regions that have `most_rows` of their own on average at most.

    Parameters
    ----------
    X : array of shape (n_features, n_rows)
    relevances : array of shape (n_features,)
        In proportion to 1 / length_scale^2.
    """
    return divide_by_sizes(X, relevances, (most_rows,), X.shape[1])[0]


def divide_by_sizes(X: NDArray[np.float32], relevances: Double, sizes: Sequence[int], n_compared: int
                    ) -> list[Division]:
    """Divisions by one tree, of which the larger regions are the nodes above the smaller ones, for each size.

    Parameters
    ----------
    X, relevances : as `divide` has them
    sizes : sequence of int, from large to small
    n_compared : int
        About so many rows of a node are compared for the columns that they spread most in, or more.
    """
    every = np.arange(X.shape[1])
    level, columns, thresholds = [Region(every, every)], list[int](), list[float]()
    divisions = []
    for size in sizes:
        while len(level) * size < X.shape[1]:
            below = []
            for region in level:
                column, threshold = _split(X, relevances, region.own, sizes[-1], n_compared)
                columns.append(column)
                thresholds.append(threshold)
                below += _sides(X[column].astype(np.float64), threshold, region)
            level = below
        divisions.append(Division(np.array(columns, dtype=np.intp), np.array(thresholds), level))
    return divisions


def _split(X: NDArray[np.float32], relevances: Double, own: Indices, most_rows: int, n_compared: int
           ) -> tuple[int, float]:
    """The column and threshold that divide some rows best, or a threshold that no row is above."""
    if len(own) > most_rows // 2:
        some = own[:: max(1, len(own) // n_compared)]
        step = max(1, _BLOCK_SIZE // len(some))
        spreads = relevances * np.concatenate([X[start : start + step].take(some, axis=1).var(axis=1, dtype=np.float64)
                                               for start in range(0, len(X), step)])
        for column in np.argsort(-spreads, kind="stable"):
            if relevances[column] == 0:  # is not read
                continue
            values = X[column, own].astype(np.float64)
            median = np.median(values)
            for cut in (median, values[values < median].max(initial=-np.inf)):  # the second where many are equal
                is_above = values > cut
                if _LEAST_SIDE <= np.mean(is_above) <= 1 - _LEAST_SIDE:
                    low, high = values[~is_above].max(), values[is_above].min()
                    halfway = 0.5 * low + 0.5 * high  # where no rounding of units moves a value to the other side
                    return int(column), float(halfway if halfway < high else low)
    return 0, UNREACHED


def _sides(values: Double, threshold: float, region: Region) -> list[Region]:
    """The rows on either side of a threshold on a column."""
    if threshold == UNREACHED:
        return [region, Region(region.own[:0], region.learned[:0])]
    sides, own, learned = [], values[region.own] > threshold, values[region.learned] > threshold
    for is_above in (False, True):
        side, others = region.own[own == is_above], region.learned[learned != is_above]
        nearest = np.argsort(np.abs(values[others] - threshold), kind="stable")[: int(_OVERLAP * len(side))]
        sides.append(Region(side, np.sort(np.concatenate([region.learned[learned == is_above], others[nearest]]))))
    return sides
