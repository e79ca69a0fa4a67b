"""Kernel ridge regression stacked on the terms of the bags.

It learns from the rows that the bags learn from, with the exponential kernel; relevances of columns are those of the
terms, their scale and lambda have the lowest squared error on rows left out, and each row has a prediction of a
regression that has not learned from it (out of fold).  Its weight beside the bags is that of the lowest loss on
out-of-fold rows.  Whether it is worth learning is tried on small regions first.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._model.expansion import Expansion
from ..._model.parts import KernelTerms
from ..._model.regions import LARGEST_REGION, MOST_ROWS
from ..._rows.scaling import Scaling, no_scaling
from ..._rows.weights import RowWeights, row_products
from ..kernel_ridge.fit import RegionLearner, Regressions, join_regions, kernel_terms
from ..kernel_ridge.length_scales import FEW_ROWS, Choice, Lengths, normalised
from ..kernel_ridge.regions import Division, divide, undivided
from .boosting import Bag
from .kernel_trial import KERNEL, KernelRows, KernelTrial, boosting_work
from .losses import LossData
from .parameters import Reason, report_numbers
from .stack_weights import Gain, Weighed, regression_targets, weigh
from .training_rows import Columns, RowOrder

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Bytes of kernels that are kept: all those of a region.  To compute them anew in each product takes far longer.
CACHE_BYTES = 1 << 32

# Residual of the systems, their iterations at most, and rows of the preconditioner.
_TOLERANCE, _MAX_ITER, _N_LANDMARKS = 1e-2, 200, 512

# Trial regions, which are learned first, and out-of-fold rows in them from which on these say whether the others are
# worth learning.
_N_TRIAL_REGIONS, _FEWEST_TRIAL_ROWS = 3, 100

# Share of the relevance that all columns have alike.
_EQUAL_SHARE = 0.02


class Stack(NamedTuple):
    """The score: terms H + kernels (sum of kernels) + shifts, each (n_outputs,)."""

    terms: Double
    kernels: Double
    shifts: Double
    regression: "StackedRegression | None"  # None where kernel ridge regression is not used
    report: Double  # numbers of `KernelRidgeReport`
    out_of_fold: Double | None = None  # (n_outputs, n_rows) predictions of the regression for the out-of-fold rows

    def scores(self, of_bags: Double, data: LossData, rows: Indices) -> Double:
        """Scores of the out-of-fold rows from those of the bags, which of values are less the targets, as these."""
        scores: Double = self.terms[:, None] * of_bags + self.shifts[:, None]
        if self.out_of_fold is not None:
            scores += self.kernels[:, None] * self.out_of_fold
            if data.loss.link == "identity":
                scores -= self.kernels[:, None] * regression_targets(data, rows)
        return scores


def without_kernels(factor: float, n_outputs: int, reason: Reason, gain: Gain | None = None,
                    choice: Choice | None = None) -> Stack:
    """The scores of the bags times a factor."""
    zeros = np.zeros(n_outputs)
    return Stack(np.full(n_outputs, factor), zeros, zeros, None, _report(reason, gain, choice))


def _report(reason: Reason, gain: Gain | None, choice: Choice | None) -> Double:
    """Numbers of `KernelRidgeReport`."""
    if gain is None or choice is None:
        return report_numbers(reason)
    return report_numbers(reason, gain.without, gain.stacked, choice.lengths.scale, choice.reg_lambda, gain.n_rows)


def stack_kernel_ridge(bags: Sequence[Bag], orders: Sequence[RowOrder], columns: Columns, data: LossData,
                       weights: Double, training_rows: Indices, out_of_fold: tuple[Indices, Single], factor: float,
                       is_forced: bool, n_rounds: Sequence[int], n_jobs: int | None,
                       keeps_folds: bool = False) -> Stack:
    """Train a kernel ridge regression, and stack it on the bags where it improves enough or is asked for.

    Parameters
    ----------
    bags, orders : one of each for each bag
    columns, data, weights : of all rows, those of an eval_set last
    training_rows : indices of rows that some bag learns from, sorted
    out_of_fold : rows and scores of `out_of_fold_scores`
    factor : float
        What scores of the bags are multiplied by without it.
    is_forced : bool
        Whether it is used however little it improves.
    n_rounds : sequence of int
        Rounds that each bag has had.
    n_jobs : int or None
    keeps_folds : bool
        Whether the scale of relevances and lambda are chosen on the validation rows of bags too, for these are the
        last rows or whole groups; otherwise on rows drawn at random.
    """
    rows, scores = out_of_fold
    scores = scores[:, : len(rows)]
    kernel_rows = _kernel_rows(bags, orders, columns, data, weights, training_rows, rows, n_jobs, keeps_folds)

    def weighed(rows_of_it: Indices, margins: Single, predictions: Double) -> Weighed:
        return weigh(data, rows_of_it, margins.astype(np.float64), predictions, weights[rows_of_it], factor)

    trial = KernelTrial(kernel_rows, rows, lambda which, predictions: weighed(rows[which], scores[:, which],
                                                                             predictions).gain)
    if not is_forced:
        gain, is_promising = trial.run(boosting_work(n_rounds, orders, columns, len(data.intercept)))
        if not is_promising:
            return without_kernels(factor, len(data.intercept), Reason.LITTLE, gain, trial.choice)
    choice = trial.last_choice()
    regressions = StackedRegressions(kernel_rows, choice)

    def stack(regression: StackedRegression) -> Stack:
        covered = regression.covers(columns, rows)
        predictions = regression.predict(columns, rows[covered], n_jobs)
        found = weighed(rows[covered], scores[:, covered], predictions)
        if not found.kernels.any() or not (is_forced or found.gain.is_enough):
            return without_kernels(factor, len(data.intercept), Reason.LITTLE, found.gain, choice)
        reason = Reason.ASKED if is_forced else Reason.GAINS
        return Stack(found.terms, found.kernels, found.shifts + found.kernels * regression.intercepts, regression,
                     _report(reason, found.gain, choice), predictions - regression.intercepts[:, None])

    if regressions.n_regions > 1 and not is_forced:
        some = regressions.learn(regressions.trial_regions())
        if some.covers(columns, rows).sum() >= _FEWEST_TRIAL_ROWS:
            stack_of_some = stack(some)
            if stack_of_some.regression is None:
                return stack_of_some
    return stack(regressions.learn(range(regressions.n_regions)))


def relevances_of(bags: Sequence[Bag], columns: Columns) -> Double:
    """Of each column, from the relevances of the raw column that it is made of, over all bags and base learners."""
    total = np.zeros(columns.n_sources)
    for bag in bags:
        for relevances in bag.relevances.values():
            total += relevances
    n_sources = len(total)
    shares = total / total.sum() if total.sum() > 0 else np.full(n_sources, 1 / n_sources)
    mixed: Double = ((1 - _EQUAL_SHARE) * shares + _EQUAL_SHARE / n_sources)[columns.sources]
    return mixed


def folds_of(orders: Sequence[RowOrder], training_rows: Indices, n_rows: int) -> tuple[Indices, int]:
    """The fold of each training row, and the number of folds.

    They are the validation rows of one bag after the other, up to the first that has other rows, or rows again, and one
    more of what is left.
    """
    n_folds, folds = 0, np.full(n_rows, -1)
    folds[training_rows] = -2
    for order in orders:
        validation = order.validation_rows()
        if not len(validation) or (folds[validation] != -2).any():
            break
        folds[validation] = n_folds
        n_folds += 1
    folds = folds[training_rows]
    folds[folds < 0] = n_folds
    return folds, n_folds


def _kernel_rows(bags: Sequence[Bag], orders: Sequence[RowOrder], columns: Columns, data: LossData, weights: Double,
                 training_rows: Indices, out_of_fold: Indices, n_jobs: int | None,
                 keeps_folds: bool) -> KernelRows:
    """What regressions learn from."""
    targets, own_weights = regression_targets(data, training_rows), weights[training_rows]
    intercepts = row_products(targets, own_weights) / own_weights.sum()
    folds, n_folds = folds_of(orders, training_rows, len(weights))
    if np.isin(training_rows[folds == n_folds], out_of_fold).any():
        n_folds += 1  # what was left has scores of bags, too
    used = orders[0].rows[orders[0].used]
    shuffled = np.searchsorted(training_rows, used[np.isin(used, training_rows)])
    some = shuffled[:FEW_ROWS]
    relevances = normalised(relevances_of(bags, columns), columns.values[:, training_rows[some]].T.astype(np.float64),
                            own_weights[some])
    if columns.constraints is not None:  # no kernel reads what has an order
        relevances *= ~columns.constraints.ordered[columns.sources]
    return KernelRows(columns, training_rows, targets - intercepts[:, None], intercepts, own_weights, folds, n_folds,
                      shuffled, Lengths(relevances, 1.0), data.loss.link == "softmax", n_jobs, keeps_folds)


class StackedRegressions:
    """Kernel ridge regressions of the regions of the training rows, each learned when it is first asked for.

    More than `MOST_ROWS` rows are divided into regions.
    """

    def __init__(self, kernel_rows: KernelRows, choice: Choice) -> None:
        self._rows, self.choice, n_jobs = kernel_rows, choice, kernel_rows.n_jobs
        X = np.ascontiguousarray(kernel_rows.columns.values[:, kernel_rows.rows].T)
        self._division = undivided(len(X))
        if len(X) > MOST_ROWS:
            self._division = divide(kernel_rows.columns.values[:, kernel_rows.rows], kernel_rows.lengths.relevances,
                                    LARGEST_REGION)
        units = no_scaling(X.shape[1])._replace(inverse_scale=choice.lengths.inverse)
        self._learner = RegionLearner(X, RowWeights(len(X)), kernel_rows.weights, kernel_rows.targets,
                                      kernel_rows.folds, kernel_rows.n_folds, kernel_rows.shuffled, units,
                                      choice.reg_lambda, KERNEL, "single", CACHE_BYTES, _N_LANDMARKS, _TOLERANCE,
                                      _MAX_ITER, MOST_ROWS, n_jobs)
        self._learned: dict[int, Regressions] = {}

    @property
    def n_regions(self) -> int:
        """Number of regions, 1 where all rows are learned from together."""
        return len(self._division.regions)

    def trial_regions(self) -> Sequence[int]:
        """Regions that are learned first."""
        return self._division.some(_N_TRIAL_REGIONS)

    def learn(self, wanted: Sequence[int]) -> "StackedRegression":
        """The regressions of some regions."""
        regions = self._division.regions
        for index in wanted:
            if index not in self._learned and len(regions[index].own):
                what = "all rows" if len(regions) == 1 else f"region {index + 1} of {len(regions)}"
                self._learned[index] = self._learner.learn(regions[index], f"kernel ridge on {what}")
        present = [index for index in sorted(wanted) if index in self._learned]
        joined = join_regions([self._learned[index] if index in present else None for index in range(len(regions))])
        order = np.argsort(joined.own)
        rows = self._rows.rows
        joined = joined._replace(centers=rows[joined.centers], own=rows[joined.own[order]],
                                 out_of_fold=joined.out_of_fold[:, order])
        return StackedRegression(joined, self._division, self._rows.intercepts, self.choice, present,
                                 len(wanted) == len(regions))


class StackedRegression(NamedTuple):
    """A kernel ridge regression of some regions, in units of the columns of the bags and of its targets."""

    regressions: Regressions  # `own` sorted; predictions are less the intercepts
    division: Division
    intercepts: Double  # (n_outputs,)
    choice: Choice
    present: Sequence[int]  # regions that are learned
    is_whole: bool  # whether these are all that have rows

    def kernel_terms(self, columns: Columns, scaling: Scaling, factors: Double) -> KernelTerms:
        """The sum of kernels times a factor for each output, as a function of unscaled rows."""
        width = np.where(scaling.inverse_scale > 0, scaling.inverse_scale, 1.0)
        return kernel_terms(self.regressions, self.division, scaling,
                            self.choice.lengths.inverse * scaling.inverse_scale, KERNEL,
                            lambda centers: columns.values[:, centers].T / width + scaling.center, factors)

    def covers(self, columns: Columns, rows: Indices) -> NDArray[np.bool_]:
        """Whether rows fall into regions that are learned."""
        if self.is_whole:
            return np.ones(len(rows), dtype=bool)
        return np.isin(self.division.of_rows(columns.values[:, rows].T), self.present)

    def predict(self, columns: Columns, rows: Indices, n_jobs: int | None) -> Double:
        """Predictions of rows by regressions that have not learned from them, (n_outputs, n_rows)."""
        known_rows, out_of_fold = self.regressions.own, self.regressions.out_of_fold
        predictions = np.empty((len(self.intercepts), len(rows)))
        place = np.minimum(np.searchsorted(known_rows, rows), len(known_rows) - 1)
        known = known_rows[place] == rows
        predictions[:, known] = out_of_fold[:, place[known]]
        if not known.all():
            n_columns = len(columns.values)
            function = Expansion(np.zeros(len(predictions)), np.zeros(n_columns), self.kernel_terms(
                columns, no_scaling(n_columns), np.ones(len(predictions))))
            others = np.ascontiguousarray(columns.values[:, rows[~known]].T)
            predictions[:, ~known] = function._scorer.score(others, n_jobs).T
        return predictions + self.intercepts[:, None]
