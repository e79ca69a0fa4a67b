"""Kernel ridge regression stacked on the terms of the bags.

It learns from the rows that the bags learn from, with the exponential kernel; relevances of columns are those of the
terms, their scale and lambda have the lowest squared error on rows left out, and each row has a prediction of a
regression that has not learned from it (out of fold).  Its weight beside the bags is that of the lowest loss on
out-of-fold rows.

Of classes the score is w0 H + w1 F, with H the score of the bags and F = slope f + shifts the kernel ridge regression f
as its own calibration makes it a score.  The weights have the largest likelihood, with a prior: w0 + w1 is near 1, as
if `_PRIOR_ROWS` rows said so, and w1 near 0, as if one row did.  In units of F this prior is as weak for many classes
of which all rows are right as for others: in units of f it held the kernel ridge regression down there.  Of values the
score is H + w (f - H), with w of least squares in [0, 1].
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._model.expansion import Expansion
from ..._model.parts import KernelTerms
from ..._model.regions import LARGEST_REGION, MOST_ROWS
from ..._native import boosting, solvers
from ..._rows.scaling import Scaling, no_scaling
from ..._rows.weights import RowWeights, row_products
from ..kernel_ridge.calibration import calibrated, every_class, log_losses
from ..kernel_ridge.fit import RegionLearner, Regressions, SolverSettings, join_regions, kernel_terms
from ..kernel_ridge.length_scales import MORE_ROWS, Choice, ChoiceRows, choose_scale
from ..kernel_ridge.regions import Division, divide, undivided
from .boosting import Bag
from .losses import LossData
from .parameters import LEAST_SHARE, STANDARD_ERRORS, Reason, report_numbers
from .training_rows import Columns, RowOrder

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]

STACKED_LOSSES = (boosting.LOGISTIC, boosting.SOFTMAX, boosting.SQUARED)

_KERNEL = "exponential"

# Bytes of kernels that are kept: all those of a region.  To compute them anew in each product takes far longer.
CACHE_BYTES = 1 << 32

# Residual of the systems, their iterations at most, and rows of the preconditioner.
_TOLERANCE, _MAX_ITER, _N_LANDMARKS = 1e-2, 200, 512

# Trial regions, which are learned first, and out-of-fold rows in them from which on these say whether the others are
# worth learning.
_N_TRIAL_REGIONS, _FEWEST_TRIAL_ROWS = 3, 100

# Share of the relevance that all columns have alike.
_EQUAL_SHARE = 0.02

_PRIOR_ROWS, _PRIOR_OF_KERNEL = 50.0, 1.0


class Stack(NamedTuple):
    """The score: terms H + kernels (sum of kernels) + shifts, each (n_outputs,)."""

    terms: Double
    kernels: Double
    shifts: Double
    regression: "StackedRegression | None"  # None where kernel ridge regression is not used
    report: Double  # numbers of `KernelRidgeReport`


def without_kernels(factor: float, n_outputs: int, reason: Reason) -> Stack:
    """The scores of the bags times a factor."""
    zeros = np.zeros(n_outputs)
    return Stack(np.full(n_outputs, factor), zeros, zeros, None, report_numbers(reason))


def stack_kernel_ridge(bags: Sequence[Bag], orders: Sequence[RowOrder], columns: Columns, data: LossData,
                       weights: Double, training_rows: Indices, out_of_fold: tuple[Indices, Single], factor: float,
                       is_forced: bool, n_jobs: int | None, keeps_folds: bool = False) -> Stack:
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
    n_jobs : int or None
    keeps_folds : bool
        Whether the scale of relevances and lambda are chosen on the validation rows of bags too, for these are the
        last rows or whole groups; otherwise on rows drawn at random.
    """
    regressions = StackedRegressions(columns, regression_targets(data, training_rows), weights, training_rows,
                                     *folds_of(orders, training_rows, len(weights)), orders[0],
                                     relevances_of(bags, columns), data.kernel != boosting.SQUARED, n_jobs,
                                     keeps_folds)
    rows, scores = out_of_fold
    scores = scores[:, : len(rows)]

    def stack(regression: StackedRegression) -> Stack:
        covered = regression.covers(columns, rows)
        return _weigh(regression, columns, data, weights, rows[covered], scores[:, covered], factor, is_forced, n_jobs)

    if regressions.n_regions > 1 and not is_forced:
        trial = regressions.learn(regressions.trial_regions())
        if trial.covers(columns, rows).sum() >= _FEWEST_TRIAL_ROWS:
            trial_stack = stack(trial)
            if trial_stack.regression is None:
                return trial_stack
    return stack(regressions.learn(range(regressions.n_regions)))


def regression_targets(data: LossData, rows: Indices) -> Double:
    """What a regression learns, (n_outputs, n_rows): signs of classes, one against the rest, or values."""
    if data.kernel == boosting.SQUARED:
        return data.intercept[:, None] - data.initial_scores[:, rows]
    classes = np.arange(1, 2) if data.kernel == boosting.LOGISTIC else np.arange(len(data.intercept))
    return np.where(data.targets[rows] == classes[:, None], 1.0, -1.0)


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


class StackedRegressions:
    """Kernel ridge regressions of the regions of the training rows, each learned when it is first asked for.

    More than `MOST_ROWS` rows are divided into regions.  Length scales and lambda are chosen on the rows of one region,
    so that their density is that of the final fit.
    """

    def __init__(self, columns: Columns, targets: Double, weights: Double, training_rows: Indices, folds: Indices,
                 n_folds: int, order: RowOrder, relevances: Double, are_labels: bool, n_jobs: int | None,
                 keeps_folds: bool = False) -> None:
        self._training_rows = training_rows
        X, weights = np.ascontiguousarray(columns.values[:, training_rows].T), weights[training_rows]
        self._intercepts = row_products(targets, weights) / weights.sum()
        targets = targets - self._intercepts[:, None]
        used = order.rows[order.used]
        shuffled = np.searchsorted(training_rows, used[np.isin(used, training_rows)])
        self._division = undivided(len(training_rows))
        if len(training_rows) > MOST_ROWS:
            self._division = divide(columns.values[:, training_rows], relevances, LARGEST_REGION)
        some = self._division.most_varied(targets, self.trial_regions()).shuffled_rows(shuffled, MORE_ROWS)
        self.choice = choose_scale(
            ChoiceRows(X[some].astype(np.float64), np.ascontiguousarray(targets[:, some]), weights[some], n_jobs,
                       folds[some] if keeps_folds else None),
            _KERNEL, relevances, CACHE_BYTES, are_labels)
        units = no_scaling(X.shape[1])._replace(inverse_scale=self.choice.lengths.inverse)
        settings = SolverSettings(_KERNEL, "single", CACHE_BYTES, _N_LANDMARKS, _TOLERANCE, _MAX_ITER, MOST_ROWS,
                                  n_jobs)
        self._learner = RegionLearner(X, RowWeights(len(X)), weights, targets, folds, n_folds, shuffled, units,
                                      self.choice.reg_lambda, settings)
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
        rows = self._training_rows
        joined = joined._replace(centers=rows[joined.centers], own=rows[joined.own[order]],
                                 out_of_fold=joined.out_of_fold[:, order])
        return StackedRegression(joined, self._division, self._intercepts, self.choice, present,
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
                            self.choice.lengths.inverse * scaling.inverse_scale, _KERNEL,
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


def _weigh(regression: StackedRegression, columns: Columns, data: LossData, weights: Double, rows: Indices,
           scores: Single, factor: float, is_forced: bool, n_jobs: int | None) -> Stack:
    """The stack by the out-of-fold rows of the regions that a regression has."""
    margins, weights = scores.astype(np.float64), weights[rows]
    predictions = regression.predict(columns, rows, n_jobs)
    if data.kernel == boosting.SQUARED:
        share, loss_without, loss_with = stack_values(margins, predictions - regression_targets(data, rows), weights)
        terms, kernels, shifts = 1 - share, share, share * regression.intercepts
    else:
        codes = np.maximum(data.targets[rows].astype(np.intp), 0)  # of two classes they are -1 and 1
        calibration = calibrated(predictions, codes, weights)
        own_scores = calibration.slope * predictions + calibration.shifts[:, None]
        of_terms, of_kernels = stack_classes(margins, own_scores, codes, weights)
        loss_without, loss_with = (log_losses(every_class(each), codes)[0] for each in (
            factor * margins, of_terms * margins + of_kernels * own_scores))
        one = np.ones(len(margins))
        terms, kernels = of_terms * one, of_kernels * calibration.slope * one
        shifts = of_kernels * (calibration.slope * regression.intercepts + calibration.shifts)

    improvements, total = loss_without - loss_with, weights.sum()
    without, stacked = (float(row_products(each, weights) / total) for each in (loss_without, loss_with))
    mean = without - stacked
    standard_error = float(np.sqrt((weights**2 * (improvements - mean) ** 2).sum()) / total)
    is_good = mean > 0 and mean >= LEAST_SHARE * without and mean >= STANDARD_ERRORS * standard_error
    reason = Reason.LITTLE
    if kernels.any() and (is_forced or is_good):
        reason = Reason.ASKED if is_forced else Reason.GAINS
    report = report_numbers(reason, without, stacked, regression.choice.lengths.scale, regression.choice.reg_lambda)
    if reason == Reason.LITTLE:
        return without_kernels(factor, len(margins), reason)._replace(report=report)
    return Stack(terms, kernels, shifts, regression, report)


def stack_values(residuals: Double, others: Double, weights: Double) -> tuple[Double, Double, Double]:
    """The weight of the regression for each output, and the loss of each row without it and with it.

    `residuals` and `others` are predictions of bags and of the regression less the targets, (n_outputs, n_rows).
    """
    differences = others - residuals
    squares = (weights * differences**2).sum(axis=1)
    products = -(weights * differences * residuals).sum(axis=1)
    share = np.clip(np.divide(products, squares, out=np.zeros_like(squares), where=squares > 0), 0, 1)
    stacked = residuals + share[:, None] * differences
    return share, (residuals**2).mean(axis=0), (stacked**2).mean(axis=0)


def stack_classes(margins: Double, scores: Double, codes: Indices, weights: Double) -> tuple[float, float]:
    """The weights of the scores of bags and of the regression, (n_outputs, n_rows); neither is below 0."""
    def minimise(free: list[int], start: list[float]) -> Double:
        def loss(x: Double) -> tuple[float, Double]:
            both = np.zeros(2)
            both[free] = x
            losses, gradient = log_losses(every_class(both[0] * margins + both[1] * scores), codes)
            away = both.sum() - 1
            value = (weights * losses).sum() + 0.5 * (_PRIOR_ROWS * away**2 + _PRIOR_OF_KERNEL * both[1] ** 2)
            gradient = weights * gradient[-len(scores) :]
            along = [(margins * gradient).sum(), (scores * gradient).sum() + _PRIOR_OF_KERNEL * both[1]]
            return float(value), (np.array(along) + _PRIOR_ROWS * away)[free]

        x, _, _ = solvers.minimize(loss, np.array(start), 100, loss_tolerance=1e-10, gradient_tolerance=1e-6,
                                   noise=1e-12)
        both = np.zeros(2)
        both[free] = x
        return both

    both = minimise([0, 1], [1.0, 0.0])
    if both[1] <= 0:
        return 1.0, 0.0
    if both[0] < 0:
        both = minimise([1], [1.0])
    return float(both[0]), float(both[1])
