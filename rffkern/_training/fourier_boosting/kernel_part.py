"""What members leave to a kernel ridge regression beside them, and what it is when it has learned."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._model.expansion import Expansion
from ..._model.parts import KernelTerms
from ..._model.regions import Regions
from ..._model.table_layout import UNREACHED
from ..._native import boosting
from ..._native.sparse import SHAPES
from ..._rows.scaling import Scaling, no_scaling
from .losses import Problem
from .member import Member
from .rows import Columns, Layout

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

SHAPE = "exponential"

# Share of the relevance that all columns have alike.
_EQUAL_SHARE = 0.02


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
    regions: Regions  # of rows in units of the columns
    coefficients: Double  # (n_outputs, n_centers)
    intercepts: Double  # (n_outputs,)
    inverse_length_scales: Double  # (n_columns,)
    rows: Indices  # (n_rows,) of the regions that are there, learned from, sorted
    out_of_fold: Double  # (n_outputs, n_rows) less the intercepts, of systems that leave out the fold of the row
    scale: float
    reg_lambda: float
    there: Sequence[int]  # regions that are
    is_whole: bool  # whether these are all that have rows

    def terms(self, columns: Columns, scaling: Scaling, factors: Double) -> KernelTerms:
        """The sum of kernels times a factor for each output, as a function of unscaled rows."""
        width = np.where(scaling.inverse_scale > 0, scaling.inverse_scale, 1.0)
        is_used = self.coefficients.any(axis=0)
        split, thresholds, starts = self.regions
        centers = columns.values[:, self.centers[is_used]].T / width + scaling.center
        weights = (factors[:, None] * self.coefficients[:, is_used]).T
        with np.errstate(over="ignore"):
            thresholds = np.clip(thresholds / width[split] + scaling.center[split], -UNREACHED, UNREACHED)
        return KernelTerms(centers, weights, self.inverse_length_scales * scaling.inverse_scale,
                           [float(SHAPES[SHAPE])], split, thresholds,
                           np.concatenate([[0], np.cumsum(is_used)])[starts])

    def covers(self, columns: Columns, rows: Indices) -> NDArray[np.bool_]:
        """Whether the regions that rows fall into are there."""
        if self.is_whole:
            return np.ones(len(rows), dtype=bool)
        return np.isin(self.regions.of_rows(columns.values[:, rows].T), self.there)

    def predictions(self, columns: Columns, rows: Indices, n_threads: int | None) -> Double:
        """What is predicted of rows without having learned from them, (n_outputs, n_rows)."""
        found = np.empty((len(self.intercepts), len(rows)))
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        known = self.rows[place] == rows
        found[:, known] = self.out_of_fold[:, place[known]]
        if not known.all():
            n_columns = len(columns.values)
            whole = Expansion(np.zeros(len(found)), np.zeros(n_columns),
                              self.terms(columns, no_scaling(n_columns), np.ones(len(found))))
            others = np.ascontiguousarray(columns.values[:, rows[~known]].T)
            found[:, ~known] = whole._scorer.score(others, n_threads).T
        return found + self.intercepts[:, None]
