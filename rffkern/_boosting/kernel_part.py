"""A kernel ridge regression on the rows that members learn from, whose length scales follow what boosting found.

The recipe: the exponential kernel, relevances of columns from the terms of the members, their scale and lambda by the
squared error on rows left out, and for each row a prediction of a regression that has not learned from it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.scaling import Scaling, no_scaling
from .._data.weights import RowWeights
from .._kernel_ridge.choice import MORE_ROWS, Choice, RowsOfChoice, choose_scale
from .._kernel_ridge.matrix import KernelMatrix, pack_rows
from .._kernel_ridge.regions import Region, divided, undivided
from .._kernel_ridge.systems import EVERYONE, RidgeSystems, System
from .._kernels import boosting
from .._kernels.sparse import SHAPES
from ..kernel_expansion import KernelExpansion
from ..table_layout import UNREACHED
from .kernel_choice import MOST_ROWS
from .losses import Problem
from .member import Member
from .rows import Columns, Layout

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

SHAPE = "exponential"

# Share of the relevance that all columns have alike.
_EQUAL_SHARE = 0.02

# Bytes of kernels that are kept: all those of a region.  To compute them anew in each product takes far longer.
# Residual of the systems, and their iterations at most.
CACHE_BYTES, _TOLERANCE, _MOST_ITERATIONS = 1 << 32, 1e-2, 200

# Rows that regions have on average at most.  On five sets of 32,000 to 87,000 rows 3,000 were better for classes, 6,000
# for values, and all rows together no better than either, in 5 to 7 times as much time.
LARGEST_REGION = 5000

# Rows of the preconditioner, and regions at most by which all are judged.
_N_LANDMARKS, _N_TRIED = 512, 3


class Boosting(NamedTuple):
    """Members and what they have learned from."""

    members: Sequence[Member]
    layouts: Sequence[Layout]
    columns: Columns
    problem: Problem
    weights: Double  # (n_rows,) of all rows, those of an eval_set last
    learned: Indices  # (n_learned,) rows that members learn from, sorted

    def targets(self, rows: Indices) -> Double:
        """What a regression learns, (n_outputs, n_rows): signs of classes, one against the rest, or values."""
        problem = self.problem
        if problem.kernel == boosting.SQUARED:
            return problem.intercept[:, None] - problem.start[:, rows]
        classes = np.arange(1, 2) if problem.kernel == boosting.LOGISTIC else np.arange(len(problem.intercept))
        return np.where(problem.targets[rows] == classes[:, None], 1.0, -1.0)

    def relevances(self) -> Double:
        """Of each column, from what terms of the members owe to the column of the table that it is made of."""
        sources = self.columns.sources
        found = np.zeros(self.columns.n_sources)
        for member in self.members:
            for of_kind in member.relevances.values():
                found += of_kind
        total, n_sources = found.sum(), len(found)
        shares = found / total if total > 0 else np.full(n_sources, 1 / n_sources)
        relevances: Double = ((1 - _EQUAL_SHARE) * shares + _EQUAL_SHARE / n_sources)[sources]
        return relevances

    def folds(self) -> tuple[Indices, int]:
        """The fold of each row learned from, and the number of folds.

        They are what members hold out one after the other, up to the first that holds out other rows, or rows again,
        and one more of what is left.
        """
        n_folds, place = 0, np.full(len(self.weights), -1)
        place[self.learned] = -2
        for layout in self.layouts:
            held = layout.rows[layout.n_train :][layout.used[layout.n_train :]]
            if not len(held) or (place[held] != -2).any():
                break
            place[held] = n_folds
            n_folds += 1
        folds = place[self.learned]
        folds[folds < 0] = n_folds
        return folds, n_folds


class KernelPart(NamedTuple):
    """A kernel ridge regression, in units of the columns that members learn from and of the targets of `Boosting`.

    It has one region, or several with centers of their own, or some of several.
    """

    centers: Indices  # (n_centers,) rows that it is learned from, region by region
    starts: Indices  # (n_regions + 1,) first center of each region
    coefficients: Double  # (n_outputs, n_centers)
    split_columns: Indices  # (n_regions - 1,) as in `Division`
    thresholds: Double  # (n_regions - 1,)
    intercepts: Double  # (n_outputs,)
    inverse_lengthscales: Double  # (n_columns,)
    rows: Indices  # (n_rows,) learned from, of the regions that are there, sorted
    out_of_fold: Double  # (n_outputs, n_rows) less the intercepts, of systems that leave out the fold of the row
    scale: float
    reg_lambda: float
    is_partial: bool  # whether some regions are not there

    def expansion(self, columns: Columns, scaling: Scaling, factors: Double) -> KernelExpansion:
        """The sum of kernels times a factor for each output, as a function of unscaled rows."""
        width = np.where(scaling.inverse_scale > 0, scaling.inverse_scale, 1.0)
        is_used = self.coefficients.any(axis=0)
        starts = np.concatenate([[0], np.cumsum(is_used)])[self.starts]
        centers = columns.values[:, self.centers[is_used]].T / width + scaling.center
        weights = (factors[:, None] * self.coefficients[:, is_used]).T
        split = self.split_columns
        with np.errstate(over="ignore"):
            thresholds = np.clip(self.thresholds / width[split] + scaling.center[split], -UNREACHED, UNREACHED)
        return KernelExpansion(centers, weights, np.zeros(len(factors)),
                               self.inverse_lengthscales * scaling.inverse_scale, [float(SHAPES[SHAPE])],
                               split, thresholds, starts)

    def knows(self, rows: Indices) -> NDArray[np.bool_]:
        """Whether there are predictions of rows out of their folds."""
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        found: NDArray[np.bool_] = self.rows[place] == rows
        return found

    def predictions(self, columns: Columns, rows: Indices, n_threads: int | None) -> Double:
        """What is predicted of rows without having learned from them, (n_outputs, n_rows)."""
        found, known = np.empty((len(self.intercepts), len(rows))), self.knows(rows)
        found[:, known] = self.out_of_fold[:, np.searchsorted(self.rows, rows[known])]
        if not known.all():
            whole = self.expansion(columns, no_scaling(len(columns.values)), np.ones(len(found)))
            others = np.ascontiguousarray(columns.values[:, rows[~known]].T)
            found[:, ~known] = whole.score_checked(others, n_threads).T
        return found + self.intercepts[:, None]


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
        self._solved: dict[int, tuple[Double, Double]] = {}

    def _chosen(self) -> Choice:
        """Length scales and lambda by the rows of a region, which are as close together as they are to be."""
        regions = self._division.regions
        region = regions[max(self.some_regions(), key=lambda index: self._variance(regions[index].own))]
        some = self._shown(region)[:MORE_ROWS]
        rows = RowsOfChoice(self._X[some].astype(np.float64), np.ascontiguousarray(self._targets[:, some]),
                            self._weights[some], self._n_threads)
        is_class = self._given.problem.kernel != boosting.SQUARED
        return choose_scale(rows, SHAPE, self._relevances, CACHE_BYTES, is_class)

    def _variance(self, rows: Indices) -> float:
        """Of the targets of some rows."""
        return float(self._targets[:, rows].var(axis=1).sum())

    def _shown(self, region: Region) -> Indices:
        """What a region learns from, in random order."""
        is_learned = np.zeros(len(self._order), dtype=bool)
        is_learned[region.learned] = True
        shown: Indices = self._order[is_learned[self._order]]
        return shown

    @property
    def n_regions(self) -> int:
        """Number of regions, 1 where all rows are learned from together."""
        return len(self._division.regions)

    def some_regions(self) -> Sequence[int]:
        """Regions to judge all by."""
        regions = self._division.regions
        used = [index for index, region in enumerate(regions) if len(region.own)]
        return used[:: -(-len(used) // _N_TRIED)]

    def _solve(self, region: Region, work: str) -> tuple[Double, Double]:
        """Coefficients of what a region learns from, and predictions of these rows out of their folds."""
        rows = region.learned
        X = np.ascontiguousarray(self._X[rows])
        units = no_scaling(X.shape[1])._replace(inverse_scale=self._choice.lengths.inverse)
        packed = pack_rows(X, units, SHAPE, RowWeights(len(X)), "single", self._n_threads)
        matrix = KernelMatrix(packed, CACHE_BYTES, self._n_threads)
        landmarks = np.searchsorted(rows, np.sort(self._shown(region)[:_N_LANDMARKS]))
        systems = RidgeSystems(matrix, self._folds[rows], self._weights[rows], landmarks, self._n_threads)
        asked = [System(fold, self._choice.reg_lambda) for fold in (*range(self._n_folds), EVERYONE)]
        solved = systems.solve(asked, np.ascontiguousarray(self._targets[:, rows]), _TOLERANCE, _MOST_ITERATIONS, work)
        return solved.coefficients[-1], solved.out_of_fold(self._folds[rows])

    def part(self, wanted: Sequence[int]) -> KernelPart:
        """The regressions of some regions."""
        regions, n_outputs = self._division.regions, len(self._targets)
        for index in wanted:
            if index not in self._solved and len(regions[index].learned):
                work = "all rows" if len(regions) == 1 else f"region {index + 1} of {len(regions)}"
                self._solved[index] = self._solve(regions[index], f"kernel machine on {work}")
        there = [index for index in sorted(wanted) if index in self._solved]
        sizes = [len(each.learned) if index in there else 0 for index, each in enumerate(regions)]
        nothing = np.empty((n_outputs, 0))
        own = np.concatenate([regions[index].own for index in there])
        found = np.concatenate([self._solved[index][1][:, np.searchsorted(regions[index].learned, regions[index].own)]
                                for index in there], axis=1)
        order, learned = np.argsort(own), self._given.learned
        centers = np.concatenate([regions[index].learned for index in there])
        return KernelPart(
            learned[centers], np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([nothing, *(self._solved[index][0] for index in there)], axis=1),
            self._division.columns, self._division.thresholds, self._intercepts, self._choice.lengths.inverse,
            learned[own[order]], found[:, order], self._choice.lengths.scale, self._choice.reg_lambda,
            len(wanted) < len(regions))
