"""Kernel ridge regression stacked on the terms of the bags.

It learns from the rows that the bags learn from, with the exponential or the Gaussian kernel; relevances of columns are
those of the terms, or what a search for length scales makes of them, their scale and lambda have the lowest squared
error on rows left out, and each row has a prediction of a regression that has not learned from it (out of fold).  Its
weight beside the bags is that of the lowest loss on out-of-fold rows.  Whether it is worth learning is tried on small
regions first.
"""

import math
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.monitor import OutOfTime, TimeLimit, printing
from ..._model.parts import KernelTerms
from ..._native import solvers
from ..._native.array_types import Double, Indices, Mask
from ..._rows.scaling import Scaling, no_scaling
from ..._rows.weights import RowWeights, row_products
from ..kernel_ridge.calibration import calibrated, every_class, log_losses
from ..kernel_ridge.fit import RegionLearner, Regressions, Solve, Solver, join_regions, kernel_terms, solve_here
from ..kernel_ridge.length_scales import FEW_ROWS, Choice, normalised
from ..kernel_ridge.regions import LARGEST_REGION, MOST_ROWS, divide, undivided
from .boosting import Bag
from .calibration import OutOfFoldRows
from .kernel_trial import Gain, KernelTrial, RidgeRows, boosting_work
from .losses import Loss, LossData
from .parameters import (
    COLUMNS_PER_ROW,
    FEWEST_ROWS,
    MOST_NUMBERS,
    MOST_WORK,
    Hyperparameters,
    KernelRidgeReport,
    Reason,
    report_numbers,
)
from .stacked_features import StackedFeatures, search_features
from .training_rows import Columns, RowOrder, Table

# Bytes of kernels that are kept: all those of a region.  To compute them anew in each product takes far longer.
CACHE_BYTES = 1 << 32

# Residual of the systems, which is this share of the errors of rows that are left out, between bounds; their iterations
# at most, and rows for each of the preconditioner, of which there are at most so many.
_SHARE_OF_ERRORS, _LEAST_TOLERANCE, _TOLERANCE = 0.1, 1e-5, 1e-2
_MAX_ITER, _ROWS_PER_LANDMARK, _MOST_LANDMARKS = 200, 8, 512

# Trial regions, which are learned first, and out-of-fold rows in them from which on these say whether the others are
# worth learning.
_N_TRIAL_REGIONS, _FEWEST_TRIAL_ROWS = 3, 100

# Share of the relevance that all columns have alike.
_EQUAL_SHARE = 0.02

# Rows that say that the weights of classes sum to 1, and that that of the regression is 0.
_PRIOR_ROWS, _PRIOR_OF_KERNEL = 50.0, 1.0


class Stack(NamedTuple):
    """The score: a weight times the mean of the bags, a weight times the regression, and a shift, each (n_outputs,)."""

    weight_of_bags: Double
    weight_of_regression: Double
    shifts: Double
    regression: "StackedRegression | StackedFeatures | None"  # None where kernel ridge regression is not used
    report: Double  # numbers of `KernelRidgeReport`
    gain: Gain | None = None  # of the regression, where it is used
    out_of_fold: Double | None = None  # (n_outputs, n_judged) predictions of the regression for out-of-fold rows
    judged: Mask | slice = slice(None)  # which of these it is judged by
    timed_out: bool = False  # whether time ended the training of a regression

    def scores(self, of_bags: Double, judged: OutOfFoldRows) -> Double:
        """Scores of judged out-of-fold rows from those of the bags, which of values are less the targets, as these."""
        scores: Double = self.weight_of_bags[:, None] * of_bags + self.shifts[:, None]
        if self.out_of_fold is not None:
            scores += self.weight_of_regression[:, None] * self.out_of_fold
            if judged.data.loss.link == "identity":
                scores -= self.weight_of_regression[:, None] * regression_targets(judged.data, judged.rows)
        return scores


def reason_not_to_stack(model: Any, loss: Loss, columns: Columns, n_rows: int, was_stopped: bool,
                        has_memory: bool = True) -> Reason | None:
    """Why kernel ridge regression is not tried on so many rows to learn from; None where it is.

    `was_stopped` says whether the callback or the time has ended the bags.
    """
    n_columns, is_auto = len(columns.values), model.kernel_ridge == "auto"
    if model.kernel_ridge is False:
        return Reason.OFF
    if columns.sparse is not None:
        return Reason.SPARSE
    if not loss.facts.allows_stacking:
        return Reason.LOSS
    if n_rows < FEWEST_ROWS or (is_auto and n_columns > COLUMNS_PER_ROW * n_rows):
        return Reason.FEW
    if is_auto and (n_rows * n_columns > MOST_NUMBERS or (
            n_rows <= MOST_ROWS and n_rows**2 * (2.0 * n_columns + 16) > MOST_WORK)):
        return Reason.MANY
    if not has_memory:
        return Reason.MEMORY
    if columns.constraints is not None and not columns.constraints.allow_kernels:
        return Reason.CONSTRAINTS
    return Reason.STOPPED if was_stopped else None


def stack_kernel_ridge(model: Any, reason: Reason | None, table: Table, bags: Sequence[Bag], orders: Sequence[RowOrder],
                       sizes: Hyperparameters, out_of_fold: OutOfFoldRows, limit: TimeLimit,
                       solve: Solve = solve_here) -> Stack:
    """Train a kernel ridge regression, and stack it on the bags where it improves enough or is asked for.

    Parameters
    ----------
    reason : Reason or None
        Why it is not to be tried.
    bags, orders : one of each for each bag
    limit : TimeLimit
        Reason.STOPPED where it ends the training of the regression, and no other has been trained before.
    solve : callable
        Gives the regressions of regions.
    """
    if reason is not None:
        return bags_alone(out_of_fold, reason)
    started = time.perf_counter()
    try:
        with printing(model.verbose), limit.ending_steps():
            stack = _best_stack(model, table, bags, orders, sizes, out_of_fold, solve)
    except OutOfTime:
        stack = bags_alone(out_of_fold, Reason.STOPPED)._replace(timed_out=True)
    if model.verbose:
        sentence = KernelRidgeReport.of_numbers(stack.report).reason
        print(f"kernel ridge {sentence}  {time.perf_counter() - started:.1f} s", file=sys.stderr)
    return stack


def _best_stack(model: Any, table: Table, bags: Sequence[Bag], orders: Sequence[RowOrder], sizes: Hyperparameters,
                out_of_fold: OutOfFoldRows, solve: Solve) -> Stack:
    """The bags with the regression that has length scales, with that on random Fourier features, or alone."""
    is_forced = model.kernel_ridge is True
    ridge_rows = _ridge_rows(model, table, bags, orders, out_of_fold.rows)
    n_rounds = [min(len(bag.steps) + (sizes.patience or 0), model.n_estimators) for bag in bags]
    work = boosting_work(n_rounds, orders, table.columns, len(table.data.intercept))
    trial = KernelTrial(ridge_rows, out_of_fold.rows, partial(gain_of, out_of_fold))
    trial_gain, is_promising = (None, True) if is_forced else trial.run(work)
    if is_promising:
        trial.choose_for_all_rows()
        cross_fitted = (trial.cross_fit(_relevances_without(ridge_rows, bags, orders)) if ridge_rows.is_cross_fitted
                        else None)
        regression = StackedRegression(ridge_rows, trial.shape, trial.choice, solve, cross_fitted)
        stack = _stack_kernels(regression, out_of_fold, is_forced)
    else:
        stack = bags_alone(out_of_fold, Reason.LITTLE, trial_gain, trial.choice)
    try:
        if stack.gain is not None and (equal := trial.choose_equal()) is not None:
            with_equal = _stack_kernels(StackedRegression(ridge_rows, *equal, solve), out_of_fold, is_forced)
            if with_equal.gain is not None and with_equal.gain.is_better(stack.gain):
                stack = with_equal
        return _stack_features(ridge_rows, out_of_fold, trial.choice, work, stack)
    except OutOfTime:
        if stack.gain is None:
            raise
        return stack._replace(timed_out=True)


def _stack_kernels(regression: "StackedRegression", out_of_fold: OutOfFoldRows, is_forced: bool) -> Stack:
    """The regression of all regions, if that of the first ones gains enough or it is asked for."""
    reason = Reason.ASKED if is_forced else Reason.GAINS
    if regression.n_regions > 1 and not is_forced:
        regression.learn(regression.trial_regions())
        if regression.covers(out_of_fold.rows).sum() >= _FEWEST_TRIAL_ROWS:
            stack_of_some = _stack(regression, out_of_fold, reason)
            if stack_of_some.regression is None:
                return stack_of_some
    regression.learn(range(regression.n_regions))
    return _stack(regression, out_of_fold, reason)


def _stack_features(ridge_rows: RidgeRows, out_of_fold: OutOfFoldRows, start: Choice, work: float,
                    before: Stack) -> Stack:
    """The regression on random Fourier features, or the stack before where it is not worth learning or no better.

    A lower error than with length scales may be a lower one of what the bags know.  So the rows that the matrix is
    searched on must do: what they gain on others must, but for chance, be enough.
    """
    features = search_features(ridge_rows, start, work)
    if features is None or not gain_of(out_of_fold, *features.predict_others(out_of_fold.rows)).may_be_enough:
        return before
    features.learn(_n_landmarks(len(ridge_rows.rows)), _tolerance(features.choice.loss), _MAX_ITER)
    stack = _stack(features, out_of_fold, Reason.FEATURES)
    if stack.gain is None or not stack.gain.is_clear:
        return before
    if before.regression is not None:  # which is judged by the same rows
        predictions = before.regression.predict(out_of_fold.rows[stack.judged])
        if not stack.gain.is_better(gain_of(out_of_fold, stack.judged, predictions)):
            return before
    return stack


def _stack(regression: "StackedRegression | StackedFeatures", out_of_fold: OutOfFoldRows, reason: Reason) -> Stack:
    """The regression beside the bags, or these alone where it is not asked for and gains too little.

    It is judged by the out-of-fold rows that it covers.
    """
    covered, ridge_rows = regression.covers(out_of_fold.rows), regression.ridge_rows
    predictions = regression.predict(out_of_fold.rows[covered])
    of_bags, of_regression, shifts, gain = weigh(out_of_fold, covered, predictions)
    is_enough = reason is Reason.ASKED or gain.is_enough(ridge_rows.standard_errors)
    if not (is_enough and of_regression.any()):
        return bags_alone(out_of_fold, Reason.LITTLE, gain, regression.choice)
    intercepts = ridge_rows.intercepts
    return Stack(of_bags, of_regression, shifts + of_regression * intercepts, regression,
                 _report(reason, gain, regression.choice), gain, predictions - intercepts[:, None], covered)


def bags_alone(out_of_fold: OutOfFoldRows, reason: Reason, gain: Gain | None = None,
               choice: Choice | None = None) -> Stack:
    """The scores of the bags times the factor; the gain and the choice are those of a regression that is not used."""
    zeros = np.zeros(len(out_of_fold.scores))
    return Stack(np.full(len(zeros), out_of_fold.factor), zeros, zeros, None, _report(reason, gain, choice))


def _report(reason: Reason, gain: Gain | None, choice: Choice | None) -> Double:
    """Numbers of `KernelRidgeReport`."""
    if gain is None or choice is None:
        return report_numbers(reason)
    return report_numbers(reason, gain.without, gain.stacked, choice.scale, choice.reg_lambda, gain.n_rows)


def _n_landmarks(n_rows: int) -> int:
    """Rows of the preconditioner of systems of so many rows."""
    return min(-(-n_rows // _ROWS_PER_LANDMARK), _MOST_LANDMARKS)


def _tolerance(loss: float) -> float:
    """Residual of the systems of regressions with this mean squared error on rows that are left out."""
    return min(max(_SHARE_OF_ERRORS * math.sqrt(loss), _LEAST_TOLERANCE), _TOLERANCE)


def relevances_of(bags: Sequence[Bag], columns: Columns) -> Double:
    """Of each column, from the relevances of the raw column that it is made of, over all bags and base learners."""
    total = np.zeros(columns.n_sources)
    for bag in bags:
        for relevances in bag.relevances.values():
            total += relevances
    shares = total / total.sum() if total.sum() > 0 else np.full(len(total), 1 / len(total))
    mixed: Double = ((1 - _EQUAL_SHARE) * shares + _EQUAL_SHARE / len(total))[columns.sources]
    return mixed


def folds_of(orders: Sequence[RowOrder], training_rows: Indices, out_of_fold: Indices, n_rows: int) -> Indices:
    """The fold of each training row, -1 of those that no bag has held out.

    They are the validation rows of one bag after the other, up to the first that has other rows, or rows again, and one
    more of what is left, if bags have held out some of that.
    """
    n_folds, folds, is_left = 0, np.full(n_rows, -1), np.zeros(n_rows, dtype=bool)
    is_left[training_rows] = True
    for order in orders:
        validation = order.validation_rows()
        if not len(validation) or not is_left[validation].all():
            break
        folds[validation], is_left[validation] = n_folds, False
        n_folds += 1
    if is_left[out_of_fold].any():
        folds[is_left] = n_folds
    return folds[training_rows]


def _ridge_rows(model: Any, table: Table, bags: Sequence[Bag], orders: Sequence[RowOrder],
                out_of_fold: Indices) -> RidgeRows:
    """What regressions learn from."""
    columns, learned = table.columns, table.learned
    targets, weights = regression_targets(table.data, learned), table.weights[learned]
    intercepts = row_products(targets, weights) / weights.sum()
    folds = folds_of(orders, learned, out_of_fold, len(table.weights))
    used = orders[0].rows[orders[0].used]
    shuffled = np.searchsorted(learned, used[np.isin(used, learned)])
    some = shuffled[:FEW_ROWS]
    X = columns.values[:, learned[some]].T.astype(np.float64)
    candidates = [relevances_of(bags, columns), np.ones(X.shape[1])]
    if len(columns.ranks):
        candidates.append(np.ones(X.shape[1]))
        candidates[-1][columns.ranks] = 0
    relevances, *equal = (normalised(each, X, weights[some]) for each in candidates)
    if columns.constraints is not None:  # no kernel reads what has an order
        for each in (relevances, *equal):
            each *= ~columns.constraints.ordered[columns.sources]
    # The last rows or whole groups, which bags hold out, choose the scale of relevances and lambda too; otherwise rows
    # drawn at random do.
    keeps_folds = not table.evaluation and (model.validation == "last" or table.groups is not None)
    return RidgeRows(columns, learned, targets - intercepts[:, None], intercepts, weights, folds, shuffled, relevances,
                     tuple(equal), table.data.loss.link == "softmax", model.n_jobs, keeps_folds)


def _relevances_without(ridge_rows: RidgeRows, bags: Sequence[Bag], orders: Sequence[RowOrder]) -> list[Double]:
    """Relevances of columns by the bags that have held out a fold, for each fold; by all bags where none has."""
    found = []
    for fold in range(ridge_rows.n_folds):
        held_out = ridge_rows.rows[ridge_rows.folds == fold]
        without = [bag for bag, order in zip(bags, orders, strict=True)
                   if np.array_equal(np.sort(order.validation_rows()), held_out)]
        others = ridge_rows.some(np.flatnonzero(ridge_rows.folds != fold))
        relevances = normalised(relevances_of(without or bags, ridge_rows.columns), others.X, others.weights)
        found.append(relevances * (ridge_rows.relevances > 0))
    return found


class StackedRegression:
    """Kernel ridge regressions of the regions of the training rows, in units of the columns of the bags.

    More than `MOST_ROWS` rows are divided into regions, each of which is learned when it is first asked for.

    Parameters
    ----------
    shape, choice : the kernel, its length scales and lambda
    solve : callable
        Gives the regressions of regions.
    cross_fitted : array of shape (n_outputs, n_training), or None
        Predictions of `KernelTrial.cross_fit`, where these take the place of those by the same length scales.
    """

    regressions: Regressions  # of the regions learned; `own` sorted; predictions are less the intercepts

    def __init__(self, ridge_rows: RidgeRows, shape: str, choice: Choice, solve: Solve = solve_here,
                 cross_fitted: Double | None = None) -> None:
        self.ridge_rows, self.shape, self.choice, self._solve = ridge_rows, shape, choice, solve
        self._cross_fitted = cross_fitted
        X = np.ascontiguousarray(ridge_rows.columns.values[:, ridge_rows.rows].T)
        self._division = undivided(len(X))
        if len(X) > MOST_ROWS:
            self._division = divide(ridge_rows.columns.values[:, ridge_rows.rows], ridge_rows.relevances,
                                    LARGEST_REGION)
        units = no_scaling(X.shape[1])._replace(inverse_scale=choice.inverse)
        folds = ridge_rows.folds if cross_fitted is None else np.full(len(X), -1)
        solver = Solver("single", CACHE_BYTES, _n_landmarks(len(X)), _tolerance(choice.loss), _MAX_ITER,
                        ridge_rows.n_jobs)
        self._learner = RegionLearner(X, RowWeights(len(X), ridge_rows.weights), ridge_rows.targets, folds,
                                      ridge_rows.shuffled, MOST_ROWS, units, shape, choice.reg_lambda, solver)
        self._learned: dict[int, Regressions] = {}

    @property
    def n_regions(self) -> int:
        """Number of regions, 1 where all rows are learned from together."""
        return len(self._division.regions)

    def trial_regions(self) -> Sequence[int]:
        """Regions that are learned first."""
        return self._division.some(_N_TRIAL_REGIONS)

    def learn(self, wanted: Sequence[int]) -> None:
        """Learn some regions more."""
        regions, rows, learner = self._division.regions, self.ridge_rows.rows, self._learner
        new = [index for index in wanted if index not in self._learned and len(regions[index].own)]
        found = self._solve(learner.part(regions[index], "kernel ridge on " + (
            "all rows" if len(regions) == 1 else f"region {index + 1} of {len(regions)}")) for index in new)
        for index, regression in zip(new, found, strict=True):
            self._learned[index] = learner.in_all_rows(regression, regions[index])
        joined = join_regions([self._learned.get(index) for index in range(len(regions))])
        order = np.argsort(joined.own)
        out_of_fold = joined.out_of_fold[:, order] if self._cross_fitted is None else self._cross_fitted
        self.regressions = joined._replace(centers=rows[joined.centers], own=rows[joined.own[order]],
                                           out_of_fold=out_of_fold)

    def part(self, scaling: Scaling, factors: Double) -> KernelTerms:
        """The sum of kernels times a factor for each output, as a function of unscaled rows."""
        return kernel_terms(self.regressions, self._division, scaling,
                            self.choice.inverse * scaling.inverse_scale, self.shape,
                            lambda centers: scaling.raw(self.ridge_rows.columns.values[:, centers].T), factors)

    def covers(self, rows: Indices) -> Mask:
        """Whether rows fall into regions that are learned."""
        if len(self._learned) == sum(len(region.own) > 0 for region in self._division.regions):
            return np.ones(len(rows), dtype=bool)
        return np.isin(self._division.of_rows(self.ridge_rows.columns.values[:, rows].T), [*self._learned])

    def predict(self, rows: Indices) -> Double:
        """Predictions of rows by regressions that have not learned from them, (n_outputs, n_rows)."""
        return self.ridge_rows.predictions(rows, self.regressions.own, self.regressions.out_of_fold, self.part)


def gain_of(out_of_fold: OutOfFoldRows, which: Any, predictions: Double) -> Gain:
    """What the best weights of some rows gain on these."""
    return weigh(out_of_fold, which, predictions)[-1]


def weigh(out_of_fold: OutOfFoldRows, which: Any, predictions: Double) -> tuple[Double, Double, Double, Gain]:
    """The weights of the score v H + w f + shifts, (v, w, shifts), each (n_outputs,); and what it gains on some rows.

    Of values the score is H + w (f - H), with w of least squares in [0, 1].
    Of classes the score is w0 s H + w1 F, with s H the score of the bags and F = slope f + own shifts the kernel ridge
    regression f, each as its own calibration makes it a score.  The weights have the largest likelihood, with a prior:
    w0 + w1 is near 1, as if `_PRIOR_ROWS` rows said so, and w1 near 0, as if one row did.  In units of F this prior is
    as weak for many classes of which all rows are right as for others: in units of f it held the kernel ridge
    regression down there.  In units of H it held the stack away from s H, which it is compared with.

    Parameters
    ----------
    which : mask or indices of some of them
    predictions : array of shape (n_outputs, number of these)
        Of kernel ridge regression, in units of its targets.
    """
    some = out_of_fold.some(which)
    data, weights, scores = some.data, some.weights, some.scores.astype(np.float64)
    if data.loss.link == "identity":  # whose scores are less the targets
        differences = predictions - regression_targets(data, some.rows) - scores
        of_regression = stack_values(scores, differences, weights)
        loss_without, loss_with = ((each**2).mean(axis=0)
                                   for each in (scores, scores + of_regression[:, None] * differences))
        of_bags, shifts = 1 - of_regression, np.zeros_like(of_regression)
    else:
        codes = data.codes(some.rows)
        slope, own_shifts = calibrated(predictions, codes, weights)
        own_scores = slope * predictions + own_shifts[:, None]
        scores = some.factor * scores
        w0, w1 = stack_classes(scores, own_scores, codes, weights)
        loss_without, loss_with = (log_losses(every_class(each), codes)[0]
                                   for each in (scores, w0 * scores + w1 * own_scores))
        of_bags, of_regression = np.full(len(scores), w0 * some.factor), np.full(len(scores), w1 * slope)
        shifts = w1 * own_shifts

    improvements, total = loss_without - loss_with, weights.sum()
    without, stacked = (float(row_products(each, weights) / total) for each in (loss_without, loss_with))
    standard_error = float(np.sqrt((weights**2 * (improvements - (without - stacked)) ** 2).sum()) / total)
    return of_bags, of_regression, shifts, Gain(len(some.rows), without, stacked, standard_error)


def regression_targets(data: LossData, rows: Indices) -> Double:
    """What a regression learns, (n_outputs, n_rows): signs of classes, one against the rest, or values."""
    if data.loss.link == "identity":
        return data.values(rows)
    classes = np.arange(1, 2) if len(data.intercept) == 1 else np.arange(len(data.intercept))
    return np.where(data.targets[rows] == classes[:, None], 1.0, -1.0)


def stack_values(residuals: Double, differences: Double, weights: Double) -> Double:
    """The weight of the regression for each output, from residuals of bags and how much larger those of it are."""
    squares = (weights * differences**2).sum(axis=1)
    products = -(weights * differences * residuals).sum(axis=1)
    share: Double = np.clip(np.divide(products, squares, out=np.zeros_like(squares), where=squares > 0), 0, 1)
    return share


def stack_classes(of_bags: Double, of_regression: Double, codes: Indices, weights: Double) -> tuple[float, float]:
    """The weights of the scores of bags and of the regression, (n_outputs, n_rows); neither is below 0."""
    def minimise(free: list[int], start: list[float]) -> Double:
        def loss(x: Double) -> tuple[float, Double]:
            both = np.zeros(2)
            both[free] = x
            losses, gradient = log_losses(every_class(both[0] * of_bags + both[1] * of_regression), codes)
            away = both.sum() - 1
            value = (weights * losses).sum() + 0.5 * (_PRIOR_ROWS * away**2 + _PRIOR_OF_KERNEL * both[1] ** 2)
            gradient = weights * gradient[-len(of_bags) :]
            along = [(of_bags * gradient).sum(), (of_regression * gradient).sum() + _PRIOR_OF_KERNEL * both[1]]
            return float(value), (np.array(along) + _PRIOR_ROWS * away)[free]

        return solvers.minimize(loss, np.array(start), 100, loss_tolerance=1e-10, gradient_tolerance=1e-6,
                                noise=1e-12)[0]

    both = minimise([0, 1], [1.0, 0.0])
    if both[1] <= 0:
        return 1.0, 0.0
    if both[0] < 0:
        return 0.0, float(minimise([1], [1.0])[0])
    return float(both[0]), float(both[1])
