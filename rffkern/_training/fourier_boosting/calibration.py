"""What out-of-fold rows are for: temperature scaling of classes, shifts of scores, residuals, and figures."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ..._estimator.conformal import record_of_targets
from ..._estimator.evaluation import Evaluation, Predictions
from ..._estimator.links import SoftmaxLink, probabilities
from ..._native import boosting, solvers
from ..._native.array_types import Double, Indices, Single
from ..._rows.tiles import TILE
from ..._rows.weights import row_products, weighted_quantile
from ..kernel_ridge.calibration import every_class, log_losses
from .boosting import Bag
from .losses import LossData
from .training_rows import RowOrder

# Bounds of the factor; a place is found by so many halvings, of its logarithm.
_LEAST_FACTOR, _LARGEST_FACTOR, _N_HALVINGS = 0.1, 2.0, 16

# What is left at least of the variance of out-of-fold residuals.
_LEAST_VARIANCE = 0.1

# Rows that the prior of the factor counts as, for a few out-of-fold rows say little of it, and training rows of a bag
# for which it is at 1/2: models of few rows are too sure.
_PRIOR_ROWS, _ROWS_OF_HALF = 50.0, 20.0

# Rows for each score that hold its shift at 0.
_INTERCEPT_ROWS = 2.0

# Rows whose derivatives hold the share of bags of trees alone near another, which is below a half: a row has been held
# out by one bag of each kind, and Fourier terms and linear functions gain more than trees by a mean of bags.
_MIX_ROWS, _MIDDLE_SHARE = 10.0, 0.3


class OutOfFoldRows(NamedTuple):
    """Rows of weight > 0 that bags of each kind have held out, with scores of the mean of these bags.

    Scores of values are less the targets.
    """

    data: LossData
    rows: Indices
    weights: Double  # (n_rows,)
    scores: Single  # (n_outputs, n_rows)
    unseen: Double  # (n_outputs, n_rows), the same after rounds that other rows have chosen
    excess: Double  # (n_outputs,), by how much scores vary more than those of the mean of all bags
    factor: float  # what scores are multiplied by if nothing is stacked on them

    def some(self, which: Any) -> Self:
        """Those of a mask or of places."""
        return self._replace(rows=self.rows[which], weights=self.weights[which], scores=self.scores[:, which],
                             unseen=self.unseen[:, which])


def mix_bags(bags: Sequence[Bag], orders: Sequence[RowOrder], weights: Double, data: LossData,
             n_tree_bags: int) -> tuple[OutOfFoldRows, Double]:
    """Out-of-fold rows, and the share of each bag in the mean; the last `n_tree_bags` may be bags of trees alone."""
    first = len(bags) - n_tree_bags
    kinds = [slice(first), slice(first, None)] if n_tree_bags else [slice(None)]

    def sums_of(scores: Callable[[Bag], Single]) -> list[ScoreSums]:
        """Of the bags of each kind."""
        return [ScoreSums.of(((order.validation_rows(), order.validation_scores(scores(bag)))
                              for bag, order in zip(bags[kind], orders[kind], strict=True)),
                             len(data.intercept), len(weights)) for kind in kinds]

    sums = sums_of(lambda bag: bag.validation_scores)
    rows = np.flatnonzero(weights > 0)
    for each in sums:
        rows = np.intersect1d(rows, each.rows, assume_unique=True)
    scores, *of_trees = (each.of_rows(rows).means().astype(np.float32) for each in sums)
    shares = np.full(len(bags), 1 / len(bags))
    if n_tree_bags:
        differences = of_trees[0] - scores
        share = _share_of_trees(data, scores, differences, data.targets[rows], weights[rows])
        scores = scores + np.float32(share) * differences
        shares = np.repeat([(1 - share) / first, share / n_tree_bags], [first, n_tree_bags])

    if all(bag.unseen_scores is not None for bag in bags):
        sums = sums_of(lambda bag: bag.unseen_scores)
    parts = [shares[kind].sum() for kind in kinds]
    unseen: Double = sum(part * each.of_rows(rows).means() for part, each in zip(parts, sums, strict=True))
    excess = sum(part**2 * each.excess_variance(len(bags[kind]))
                 for part, kind, each in zip(parts, kinds, sums, strict=True))
    factor = inverse_temperature(data, scores, data.targets[rows], weights[rows], orders[0].n_training_rows)
    return OutOfFoldRows(data, rows, weights[rows], scores, unseen, excess, factor), shares


def _share_of_trees(data: LossData, scores: Single, differences: Single, targets: Single, weights: Double) -> float:
    """The share of all bags of trees alone that has the lowest loss on rows that bags of either kind have held out.

    A prior of as many as `_MIX_ROWS` such rows holds it near `_MIDDLE_SHARE`.
    """
    share = _MIDDLE_SHARE
    if not len(weights):
        return share
    noise = _noise(data, scores + np.float32(share) * differences, targets, weights)
    # 0 or 1 leaves out terms of one kind.
    return round(_lowest(data, scores, differences, targets, weights, 0.0, 1.0, share, _MIX_ROWS * noise), 2)


class ScoreSums(NamedTuple):
    """Sums over bags of the scores of rows that are validation rows of some."""

    rows: Indices
    sums: Double  # (n_outputs, number of these rows)
    squares: Double  # sums of squares
    counts: Double  # numbers of bags, (number of these rows,)

    @classmethod
    def of(cls, validation: Iterable[tuple[Indices, Single]], n_outputs: int, n_rows: int) -> Self:
        """Of validation rows and their scores (n_outputs, n_validation) in each bag."""
        sums, squares, counts = np.zeros((n_outputs, n_rows)), np.zeros((n_outputs, n_rows)), np.zeros(n_rows)
        for rows, scores in validation:
            scores_of_bag = scores.astype(np.float64)
            sums[:, rows] += scores_of_bag
            squares[:, rows] += scores_of_bag**2
            counts[rows] += 1
        rows = np.flatnonzero(counts)
        return cls(rows, sums[:, rows], squares[:, rows], counts[rows])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Those of rows of several tables, one after the other; `rows` are those of each."""
        rows, sums, squares, counts = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
        return cls(rows, sums, squares, counts)

    def of_rows(self, rows: Indices) -> Self:
        """Those of some of the rows, by their indices."""
        some = np.searchsorted(self.rows, rows)
        return self._replace(rows=rows, sums=self.sums[:, some], squares=self.squares[:, some],
                             counts=self.counts[some])

    def means(self) -> Double:
        """Mean scores."""
        return self.sums / self.counts

    def excess_variance(self, n_bags: int) -> Double:
        """By how much mean scores vary more than those of the mean of all bags, (n_outputs,).

        A row is out of fold in c of M bags.  Bags vary by v around their mean, as rows with c > 1 show, so that the
        mean of c has v (1 / c - 1 / M) more.  It is 0 where no row has c > 1.
        """
        several = self.counts > 1
        if not several.any():
            return np.zeros(len(self.sums))
        c = self.counts[several]
        variance = np.maximum(self.squares[:, several] - self.sums[:, several] ** 2 / c, 0).sum(axis=1) / (c - 1).sum()
        excess: Double = variance * float((1 / self.counts - 1 / n_bags).mean())
        return excess


def inverse_temperature(data: LossData, scores: Single, targets: Single, weights: Double,
                        n_training_rows: int) -> float:
    """The factor of largest likelihood on the scores of classes; 1 for other losses.

    This is temperature scaling (Guo, Pleiss, Sun and Weinberger, 2017, "On calibration of modern neural networks",
    section 4.2) with one factor for all bags, and a prior of `_PRIOR_ROWS` rows that it is n^2 / (n^2 + 20^2) for the n
    rows that a bag learns from.  `scores` are those of out-of-fold rows.
    """
    if data.loss.link != "softmax" or not len(weights):
        return 1.0
    middle = n_training_rows**2 / (n_training_rows**2 + _ROWS_OF_HALF**2)
    return math.exp(_lowest(data, np.zeros_like(scores), scores, targets, weights, math.log(_LEAST_FACTOR),
                            math.log(_LARGEST_FACTOR), middle, _PRIOR_ROWS, math.exp))


def _noise(data: LossData, scores: Single, targets: Single, weights: Double) -> float:
    """What a degree of freedom gains by chance: 1 for probabilities that are right, the variance of residuals."""
    scores, (padded_targets, weight) = _on_tiles(scores), _on_tiles([targets, weights])
    gradient, hessian = np.zeros_like(scores), np.zeros_like(scores)
    boosting.update(data.loss.kernel, data.parameters, scores, np.zeros_like(scores), 0.0, padded_targets, weight,
                    weight[:0], scores.shape[1], gradient, hessian, 1)
    is_counted = weight > 0  # weights far below the largest one are 0 in single precision, as are those of the padding
    squares = gradient[:, is_counted].astype(np.float64) ** 2 / weight[is_counted]
    return float(squares.sum() / max(hessian.sum(dtype=np.float64), 1e-30))


def _on_tiles(values: Any) -> Single:
    """Numbers of rows, (any, n_rows), in single precision, padded to whole tiles."""
    n_rows = len(values[0])
    padded = np.zeros((len(values), -(-n_rows // TILE) * TILE), dtype=np.float32)
    padded[:, :n_rows] = values
    return padded


def _lowest(data: LossData, scores: Single, directions: Single, targets: Single, weights: Double, low: float,
            high: float, middle: float, prior_rows: float, step_of: Callable[[float], float] = float) -> float:
    """The place between two whose step along directions has the lowest loss, with a prior around a middle step.

    Each row of the prior has the derivative (step - middle).
    """
    scores, directions, (padded_targets, weight) = map(_on_tiles, (scores, directions, [targets, weights]))
    prior = prior_rows * float(weight[weight > 0].mean())
    for _ in range(_N_HALVINGS):
        place = (low + high) / 2
        step = step_of(place)
        derivative, _ = boosting.step_derivatives(data.loss.kernel, data.parameters, scores, directions, step,
                                                  padded_targets, weight, scores.shape[1], 1)
        if derivative - prior * (step - middle) > 0:
            low = place
        else:
            high = place
    return (low + high) / 2


def intercept_shifts(data: LossData, scores: Double, rows: Indices, weights: Double) -> Double:
    """What is added to each score so that predictions are right in the mean of out-of-fold rows; 0 for other losses.

    This is calibration in the large, by the bias that vector scaling has for each class (Guo, Pleiss, Sun and
    Weinberger, 2017, section 4.2).  Of classes the shifts have the largest likelihood, by which the mean probability of
    a class is its share of the rows; with a log link the mean prediction is that of the targets.  Without, rare classes
    and rare large targets are predicted too low: their terms are held back most, and a mean of bags is one of log odds
    or logarithms, whose inverse link is below the mean of theirs (Jensen).  A prior of `_INTERCEPT_ROWS` rows for each
    score holds them at 0.  An evaluation set or the last rows are not to shift scores: their means may be others on
    purpose, or by a trend.

    Parameters
    ----------
    scores : array of shape (n_outputs, n_rows)
        After temperature scaling and stacking.
    rows : indices of out-of-fold rows
    weights : array of shape (n_rows,)
    """
    shifts = np.zeros(len(scores))
    if not len(rows) or data.loss.link == "identity":
        return shifts
    weights = weights / weights[weights > 0].mean()
    if data.loss.link == "log":
        largest, n_rows = scores.max(), weights.sum()
        predicted = largest + np.log(row_products(np.exp(scores - largest), weights))
        with np.errstate(divide="ignore"):  # all targets may be 0
            ratio = np.log(row_products(data.targets[rows].astype(np.float64), weights)) - predicted
        return np.logaddexp(math.log(n_rows) + ratio, math.log(_INTERCEPT_ROWS)) - math.log(n_rows + _INTERCEPT_ROWS)
    every, codes, prior = every_class(scores), data.codes(rows), _INTERCEPT_ROWS * len(scores)

    def loss(x: Double) -> tuple[float, Double]:
        moved = every.copy()
        moved[-len(x) :] += x[:, None]
        losses, residuals = log_losses(moved, codes)
        return (float(row_products(losses, weights) + 0.5 * prior * (x**2).sum()),
                row_products(residuals[-len(x) :], weights) + prior * x)

    return solvers.minimize(loss, shifts, 100, loss_tolerance=1e-10, gradient_tolerance=1e-6, noise=1e-12)[0]


def quantile_shifts(data: LossData, scores: Single, weights: Double) -> Double:
    """What is added to each score of a quantile so that this share of out-of-fold rows lies below; 0 for other losses.

    Training rows are closer to the scores than others (Romano, Patterson and Candes, 2019, "Conformalized quantile
    regression").  Departure: validation rows of one bag stand for rows that none has seen.
    """
    shifts = np.zeros(len(data.intercept))
    if data.loss.estimates_quantiles and len(weights):
        shifts[:] = [weighted_quantile(-each.astype(np.float64), weights, float(quantile))
                     for each, quantile in zip(scores, data.parameters, strict=True)]
    return shifts


def out_of_fold_record(scores: Double, excess: Double, judged: OutOfFoldRows, center: Double, scale: Double,
                       quantiles: Sequence[float] | None, is_eval_set: bool,
                       groups: Indices | None = None) -> dict[str, Any] | None:
    """What a model keeps of the rows that its bags have not learned from: residuals for intervals, and figures.

    None without such rows, and where targets are so large that their differences are not finite.

    Parameters
    ----------
    scores : array of shape (n_outputs, n_rows)
        Calibrated scores of out-of-fold rows; those of values are less the targets.
    excess : array of shape (n_outputs,)
        By how much they vary more than those of the model.
    judged : OutOfFoldRows
        These rows.
    center, scale : arrays of shape (n_outputs,) or (1,), units of targets
    quantiles : sequence of float or None
        That are estimated, None for other losses.
    is_eval_set : bool
        Whether they are those of an evaluation set.
    groups : array of shape (n_rows,) or None
    """
    data, rows, weights = judged.data, judged.rows, judged.weights
    if not len(rows):
        return None
    source = "the evaluation set" if is_eval_set else "rows held out by bags"
    w = None if (weights == weights[0]).all() else weights
    if data.loss.link == "softmax":
        proba = probabilities(SoftmaxLink(), scores.T)
        found = Predictions(data.codes(rows), proba, w, np.arange(proba.shape[1]), groups=groups)
        return found.record(source) | {"figures": {**Evaluation.of(found).figures(), "guess": found.guess()}}
    if data.loss.link == "log":
        unit: Double = np.exp(center)[:, None]
        targets, predictions = unit * data.targets[rows].astype(np.float64), unit * np.exp(scores)
    else:
        targets = center[:, None] + scale[:, None] * data.values(rows)
        predictions = targets + scale[:, None] * scores
    with np.errstate(over="ignore"):
        residuals = targets - predictions
    if not np.isfinite(residuals).all():
        return None
    if data.loss.link == "identity" and not data.loss.estimates_quantiles:
        squares = np.average(scores**2, axis=1, weights=w)
        left = np.maximum(1 - excess / np.maximum(squares, np.finfo(np.float64).tiny), _LEAST_VARIANCE)
        residuals *= np.sqrt(left)[:, None]
    record = record_of_targets(predictions, residuals, w, len(quantiles or "1") == 1, source)
    metric = data.loss.facts.metric
    found = Predictions(targets.T, predictions.T, w, groups=groups, metric=metric,
                        power=data.loss.parameters[0] if metric == "deviance" else None)
    if quantiles is not None and len(center) == 1:
        found = found._replace(truth=targets[0], quantiles=tuple(quantiles))
    return record | {"figures": Evaluation.of(found).figures()}
