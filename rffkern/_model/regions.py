"""Regions that rows fall into: the leaves of a binary tree of thresholds, all at one depth."""

from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import Double, Indices, NDArray


class Regions(NamedTuple):
    """Node k has the children 2 k + 1 and 2 k + 2; a row goes to the second if its column is above the threshold.

    The regions are the nodes below the last that ask, from left to right, and have the centers from one start to the
    next.
    """

    columns: Indices  # (n_regions - 1,)
    thresholds: Double  # (n_regions - 1,)
    starts: Indices  # (n_regions + 1,)

    @classmethod
    def of(cls, columns: Double, thresholds: Double, starts: Double, shape: tuple[int, ...]) -> "Regions | None":
        """Regions as files have them, of centers of a shape; None for arrays that are none."""
        n_regions, (n_centers, n_features) = len(starts) - 1, shape
        if n_regions < 1 or n_regions & (n_regions - 1) or not len(columns) == len(thresholds) == n_regions - 1:
            return None
        with np.errstate(invalid="ignore"):  # numbers that are no indices
            found = cls(columns.astype(np.intp), thresholds, starts.astype(np.intp))
        are_whole = (found.columns == columns).all() and (found.starts == starts).all()
        are_columns = ((columns >= 0) & (columns < n_features)).all()
        are_starts = starts[0] == 0 and starts[-1] == n_centers and (np.diff(starts) >= 0).all()
        return found if are_whole and are_columns and are_starts else None

    def of_rows(self, rows: NDArray[Any]) -> Indices:
        """The region of each row (n_rows, n_features)."""
        node, every = np.zeros(len(rows), dtype=np.intp), np.arange(len(rows))
        while len(node) and node[0] < len(self.columns):
            node = 2 * node + 1 + (rows[every, self.columns[node]] > self.thresholds[node])
        return node - len(self.columns)

    def of_centers(self) -> Indices:
        """The region of each center."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def boxes(self, n_features: int) -> tuple[Double, Double]:
        """Bounds (n_regions, n_features) of the regions, the lower ones exclusive."""
        n_nodes = len(self.columns)
        lows, highs = (np.full((2 * n_nodes + 1, n_features), bound) for bound in (-np.inf, np.inf))
        for node, (column, threshold) in enumerate(zip(self.columns.tolist(), self.thresholds.tolist(), strict=True)):
            for child in (2 * node + 1, 2 * node + 2):
                lows[child], highs[child] = lows[node], highs[node]
            highs[2 * node + 1, column] = min(highs[node, column], threshold)
            lows[2 * node + 2, column] = max(lows[node, column], threshold)
        return lows[n_nodes:], highs[n_nodes:]

    def pieces(self, rows: NDArray[Any]) -> list[tuple[int, Indices]]:
        """Regions that rows fall into, and which rows these are."""
        regions = self.of_rows(rows)
        order = np.argsort(regions, kind="stable")
        found, firsts = np.unique(regions[order], return_index=True)
        return list(zip(found.tolist(), np.split(order, firsts[1:]), strict=True))
