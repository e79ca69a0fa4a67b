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
from .._kernel_ridge.choice import MORE_ROWS, RowsOfChoice, choose_scale
from .._kernel_ridge.matrix import KernelMatrix, pack_rows
from .._kernel_ridge.systems import EVERYONE, RidgeSystems, System
from .._kernels import boosting
from .._kernels.sparse import SHAPES
from ..kernel_expansion import KernelExpansion
from .kernel_choice import MOST_ROWS
from .losses import Problem
from .member import Member
from .rows import Columns, Layout

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

SHAPE = "exponential"

# Share of the relevance that all columns have alike.
_EQUAL_SHARE = 0.02

# Bytes of kernels that are kept: all those of 32,000 rows.  To compute them anew in each product takes far longer.
# Residual of the systems, and their iterations at most.
CACHE_BYTES, _TOLERANCE, _MOST_ITERATIONS = 1 << 32, 1e-2, 200

# Rows of the preconditioner, up to the `MOST_ROWS` of "auto" and beyond: of 28,000, twice as many saved a quarter of
# the iterations.
_FEW_LANDMARKS, _MANY_LANDMARKS = 512, 1024


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
    """A kernel ridge regression, in units of the columns that members learn from and of the targets of `Boosting`."""

    rows: Indices  # (n_centers,) that it is learned from, sorted
    coefficients: Double  # (n_outputs, n_centers)
    intercepts: Double  # (n_outputs,)
    inverse_lengthscales: Double  # (n_columns,)
    out_of_fold: Double  # (n_outputs, n_centers) less the intercepts, of systems that leave out the fold of the row
    scale: float
    reg_lambda: float

    def expansion(self, columns: Columns, scaling: Scaling, factors: Double) -> KernelExpansion:
        """The sum of kernels times a factor for each output, as a function of unscaled rows."""
        width = np.where(scaling.inverse_scale > 0, scaling.inverse_scale, 1.0)
        used = np.flatnonzero(self.coefficients.any(axis=0))
        centers = columns.values[:, self.rows[used]].T / width + scaling.center
        weights = (factors[:, None] * self.coefficients[:, used]).T
        return KernelExpansion(centers, weights, np.zeros(len(factors)),
                               self.inverse_lengthscales * scaling.inverse_scale, [float(SHAPES[SHAPE])])

    def predictions(self, columns: Columns, rows: Indices, n_threads: int | None) -> Double:
        """What is predicted of rows without having learned from them, (n_outputs, n_rows)."""
        found = np.empty((len(self.intercepts), len(rows)))
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        known = self.rows[place] == rows
        found[:, known] = self.out_of_fold[:, place[known]]
        if not known.all():
            whole = self.expansion(columns, no_scaling(len(columns.values)), np.ones(len(found)))
            others = np.ascontiguousarray(columns.values[:, rows[~known]].T)
            found[:, ~known] = whole.score_checked(others, n_threads).T
        return found + self.intercepts[:, None]


def learn(given: Boosting, n_threads: int | None) -> KernelPart:
    """Learn from the rows that members learn from; the random order is that in which the first member has them."""
    columns, learned, is_class = given.columns, given.learned, given.problem.kernel != boosting.SQUARED
    X = np.ascontiguousarray(columns.values[:, learned].T)
    weights, targets = given.weights[learned], given.targets(learned)
    intercepts = targets @ weights / weights.sum()
    targets -= intercepts[:, None]
    shown = given.layouts[0].rows[given.layouts[0].used]
    order = np.searchsorted(learned, shown[np.isin(shown, learned)])
    some = order[:MORE_ROWS]
    few = RowsOfChoice(X[some].astype(np.float64), np.ascontiguousarray(targets[:, some]), weights[some], n_threads)
    choice = choose_scale(few, SHAPE, given.relevances(), CACHE_BYTES, is_class)
    inverse = choice.lengths.inverse
    units = no_scaling(X.shape[1])._replace(inverse_scale=inverse)
    matrix = KernelMatrix(pack_rows(X, units, SHAPE, RowWeights(len(X)), "single", n_threads), CACHE_BYTES, n_threads)
    folds, n_folds = given.folds()
    n_landmarks = _MANY_LANDMARKS if len(X) > MOST_ROWS else _FEW_LANDMARKS
    systems = RidgeSystems(matrix, folds, weights, np.sort(order[:n_landmarks]), n_threads)
    asked = [System(fold, choice.reg_lambda) for fold in (*range(n_folds), EVERYONE)]
    solved = systems.solve(asked, targets, _TOLERANCE, _MOST_ITERATIONS, "kernel machine on all rows")
    return KernelPart(learned, solved.coefficients[-1], intercepts, inverse, solved.out_of_fold(folds),
                      choice.lengths.scale, choice.reg_lambda)
