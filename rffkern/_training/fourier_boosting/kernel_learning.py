"""Kernel ridge regressions on the rows that members learn from, whose length scales follow what boosting found.

The recipe: the exponential kernel, relevances of columns from the terms of the members, their scale and lambda by the
squared error on rows left out, and for each row a prediction of a regression that has not learned from it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._model.regions import LARGEST_REGION, MOST_ROWS, Regions
from ..._native import boosting
from ..._rows.scaling import no_scaling
from ..._rows.weights import RowWeights
from ..kernel_ridge.choice import MORE_ROWS, Choice, RowsOfChoice, choose_scale
from ..kernel_ridge.matrix import KernelMatrix, pack_rows
from ..kernel_ridge.regions import Region, divided, undivided
from ..kernel_ridge.systems import EVERYONE, RidgeSystems, System
from .kernel_part import SHAPE, Boosting, KernelPart

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Bytes of kernels that are kept: all those of a region.  To compute them anew in each product takes far longer.
# Residual of the systems, and their iterations at most.
CACHE_BYTES, _TOLERANCE, _MOST_ITERATIONS = 1 << 32, 1e-2, 200

# Rows of the preconditioner, and regions at most by which all are judged.
_N_LANDMARKS, _N_TRIED = 512, 3


class _Solved(NamedTuple):
    """The regression of a region: places of rows among those learned from, sorted."""

    rows: Indices  # (n_rows,) that it has learned from
    coefficients: Double  # (n_outputs, n_rows)
    own: Indices  # (n_own,) of them that fall into it
    out_of_fold: Double  # (n_outputs, n_own)


class Learning:
    """Kernel ridge regressions of regions, learned when they are asked for."""

    def __init__(self, given: Boosting, n_threads: int | None) -> None:
        self._given, self._n_threads = given, n_threads
        learned = given.learned
        self._X = np.ascontiguousarray(given.columns.values[:, learned].T)
        self._weights, self._targets = given.weights[learned], given.targets(learned)
        self._intercepts = self._targets @ self._weights / self._weights.sum()
        self._targets -= self._intercepts[:, None]
        self._folds, self._n_folds = given.folds()
        shown = given.layouts[0].rows[given.layouts[0].used]
        self._order = np.searchsorted(learned, shown[np.isin(shown, learned)])
        self._relevances = given.relevances()
        self._division = undivided(len(learned))
        if len(learned) > MOST_ROWS:
            self._division = divided(given.columns.values[:, learned], self._relevances, LARGEST_REGION)
        self._choice = self._chosen()
        self._solved: dict[int, _Solved] = {}

    def _chosen(self) -> Choice:
        """Length scales and lambda by the rows of a region, which are as close together as they are to be."""
        region = self._division.most_varied(self._targets, self.some_regions())
        some = region.shown(self._order, MORE_ROWS)
        rows = RowsOfChoice(self._X[some].astype(np.float64), np.ascontiguousarray(self._targets[:, some]),
                            self._weights[some], self._n_threads)
        is_class = self._given.problem.kernel != boosting.SQUARED
        return choose_scale(rows, SHAPE, self._relevances, CACHE_BYTES, is_class)

    @property
    def n_regions(self) -> int:
        """Number of regions, 1 where all rows are learned from together."""
        return len(self._division.regions)

    def some_regions(self) -> Sequence[int]:
        """Regions to judge all by."""
        return self._division.some(_N_TRIED)

    def _solve(self, region: Region, work: str) -> "_Solved":
        """The regression of a region."""
        shown = region.shown(self._order, MOST_ROWS)  # some, of rows that no threshold divides
        rows = np.sort(shown)
        X = np.ascontiguousarray(self._X[rows])
        units = no_scaling(X.shape[1])._replace(inverse_scale=self._choice.lengths.inverse)
        packed = pack_rows(X, units, SHAPE, RowWeights(len(X)), "single", self._n_threads)
        matrix = KernelMatrix(packed, CACHE_BYTES, self._n_threads)
        landmarks = np.searchsorted(rows, np.sort(shown[:_N_LANDMARKS]))
        systems = RidgeSystems(matrix, self._folds[rows], self._weights[rows], landmarks, self._n_threads)
        asked = [System(fold, self._choice.reg_lambda) for fold in (*range(self._n_folds), EVERYONE)]
        solved = systems.solve(asked, np.ascontiguousarray(self._targets[:, rows]), _TOLERANCE, _MOST_ITERATIONS, work)
        own = np.isin(rows, region.own)
        return _Solved(rows, solved.coefficients[-1], rows[own], solved.out_of_fold(self._folds[rows])[:, own])

    def part(self, wanted: Sequence[int]) -> KernelPart:
        """The regressions of some regions."""
        regions, choice = self._division.regions, self._choice
        for index in wanted:
            if index not in self._solved and len(regions[index].own):
                work = "all rows" if len(regions) == 1 else f"region {index + 1} of {len(regions)}"
                self._solved[index] = self._solve(regions[index], f"kernel ridge on {work}")
        there = [index for index in sorted(wanted) if index in self._solved]
        solved = [self._solved[index] for index in there]
        sizes = [len(self._solved[index].rows) if index in there else 0 for index in range(len(regions))]
        rows, order = self._given.learned, np.argsort(own := np.concatenate([each.own for each in solved]))
        return KernelPart(
            rows[np.concatenate([each.rows for each in solved])],
            Regions(self._division.columns, self._division.thresholds, np.concatenate([[0], np.cumsum(sizes)])),
            np.concatenate([each.coefficients for each in solved], axis=1), self._intercepts, choice.lengths.inverse,
            rows[own[order]], np.concatenate([each.out_of_fold for each in solved], axis=1)[:, order],
            choice.lengths.scale, choice.reg_lambda, there, len(wanted) == len(regions))
