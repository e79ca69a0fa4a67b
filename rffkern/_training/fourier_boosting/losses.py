"""Losses of boosting: their initial scores, and what training rows hold for them."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.links import quantiles_of
from ..._native import boosting
from ..._native.array_types import Double, Indices, Single
from ..._rows.training_rows import TargetRows, Training
from ..._rows.weights import row_products, weighted_quantile
from ...errors import InvalidInputError
from .parameters import LOSSES, OF_CLASSES, OF_TWO_CLASSES, Link, LossFacts

# Robust standard deviations from the median at which targets are clipped for the unit of all; and units at which they
# are clipped for training, as single precision could not hold any number.
_FAR, _LARGEST_TARGET = 10.0, 1e6

InitialScores = tuple[Double, Single]  # scores before any round (n_outputs,), and the parameters of the loss


class Loss(NamedTuple):
    """A loss of boosting.  It reads targets (n_targets, n_rows): class indices, values, or multiples of the mean.

    - Of classes: the logistic loss of two; of more, the softmax of scores that share their terms.
    - Of values: losses of the residual.  Scores in training are less the target, so that one kernel serves any number
      of targets.
    - Of means: half the Tweedie deviance of targets whose scores are logarithms of their means.  The variance of a
      target is assumed to be proportional to its mean to the power: 1 is the Poisson loss of counts, 2 the gamma loss
      of positive targets; those in between are for targets that are often 0 (Jorgensen, 1987, "Exponential dispersion
      models").
    """

    facts: LossFacts
    parameters: tuple[float, ...] = (0.0,)  # one for all outputs, or quantiles of one target
    n_classes: int = 0

    @property
    def kernel(self) -> int:
        """The number of the loss in the kernels."""
        return boosting.LOSSES[self.facts.kernel]

    @property
    def link(self) -> Link:
        """Of scores: to probabilities, of means, or values less targets."""
        return self.facts.link

    @property
    def step_unit(self) -> float:
        """Unit of Newton's moves: the Hessian of one class of n is about 1 / n, and moves are as much longer."""
        return self.n_classes / 2 if self.facts.kernel == "softmax" else 1.0

    @property
    def estimates_quantiles(self) -> bool:
        """Whether scores are quantiles."""
        return self.facts.start == "quantile"

    def initial_scores(self, targets: Double, weights: Double) -> InitialScores:
        """Log shares of classes, of mean 0, or the difference of two; means, medians or quantiles; the log mean."""
        if self.link == "softmax":
            share = self._class_weights(targets, weights) / weights.sum()
            logs = np.log(np.maximum(share, 1e-6))  # validation rows may show a class that others do not
            intercept = np.array([logs[1] - logs[0]]) if self.n_classes == 2 else logs - logs.mean()
            return intercept, np.zeros(len(intercept), dtype=np.float32)
        values = np.ascontiguousarray(self._for_outputs(targets))
        parameters = np.broadcast_to(self.parameters, len(values))
        if self.link == "log":
            mean = float(row_products(values[0], weights) / weights.sum())
            # Where all are 0 nothing is left to learn: so small a mean ends the first round.
            return np.log([max(mean, 1e-6) if mean else 1e-30]), parameters.astype(np.float32)
        if self.facts.start == "mean":
            intercept = row_products(values, weights) / weights.sum()
        else:
            shares = parameters if self.estimates_quantiles else np.full(len(values), 0.5)
            intercept = np.array([weighted_quantile(each, weights, share)
                                  for each, share in zip(values, shares, strict=True)])
        if self.facts.scales_with_spread:
            parameters = parameters * [_spread(each, weights) for each in values]
        return intercept, parameters.astype(np.float32, order="C")

    def summary_rows(self, targets: Double, weights: Double, sample: Indices) -> tuple[Double, Double]:
        """Targets and weights of few rows with the same initial scores: one for each class, the mean, or a sample."""
        if self.link == "softmax":
            return np.arange(self.n_classes, dtype=np.float64)[None], self._class_weights(targets, weights)
        if self.facts.start == "mean":
            total = weights.sum()
            return (row_products(targets, weights) / total)[:, None], np.array([total])
        return targets[:, sample], weights[sample] * (len(weights) / max(1, len(sample)))

    def data(self, targets: Double, weights: Double, initial: InitialScores | None = None) -> "LossData":
        """What the rows hold; without `initial`, scores begin with those of the first rows, which have the weights."""
        intercept, parameters = initial or self.initial_scores(targets[:, : len(weights)], weights)
        y, scores = targets[0], np.broadcast_to(intercept[:, None], (len(intercept), targets.shape[1]))
        if self.link == "identity":  # scores are less the targets, and all targets 0
            scores, kernel_targets = scores - self._for_outputs(targets), np.zeros(len(y))
        else:
            kernel_targets = 2 * y - 1 if self.facts.kernel == "logistic" else y  # labels -1 and 1
        return LossData(self, parameters, intercept, scores.astype(np.float32, order="C"),
                        kernel_targets.astype(np.float32), y, self._least_losses(y))

    def _class_weights(self, targets: Double, weights: Double) -> Double:
        return np.bincount(targets[0].astype(np.intp), weights, minlength=self.n_classes).astype(np.float64)

    def _for_outputs(self, targets: Double) -> Double:
        """The target once for each quantile."""
        return np.broadcast_to(targets, (max(len(targets), len(self.parameters)), targets.shape[1]))

    def _least_losses(self, y: Double) -> Double:
        if self.link != "log":
            return np.broadcast_to(0.0, len(y))
        p = self.parameters[0]
        if p == 1:
            return y - y * np.log(np.maximum(y, 1e-300))
        if p == 2:
            return 1 - y + np.log(np.maximum(y, 1e-300))
        return (y ** (2 - p) - y) / (p - 1) + (y ** (2 - p) - 1) / (2 - p)


class LossData(NamedTuple):
    """Targets and initial scores of rows as the kernels of a loss take them, in the order of the rows."""

    loss: Loss
    parameters: Single  # (n_outputs,)
    intercept: Double  # (n_outputs,) the scores before any round
    initial_scores: Single  # (n_outputs, n_rows) that the kernels begin with
    targets: Single  # (n_rows,) as the kernels take them
    strata: Double  # (n_rows,) what folds are balanced by
    least_losses: Double  # (n_rows,) the least possible loss of a row, which the kernels do not subtract

    def codes(self, rows: Indices) -> Indices:
        """Class indices of some rows; of two classes the kernels take -1 and 1."""
        return np.maximum(self.targets[rows].astype(np.intp), 0)

    def values(self, rows: Indices) -> Double:
        """Values of some rows, (n_outputs, n_rows), which their scores are less."""
        return self.intercept[:, None] - self.initial_scores[:, rows]


def _spread(values: Double, weights: Double) -> float:
    """1.4826 times the median distance from the median, the standard deviation of normal values; 1 where it is 0."""
    return 1.4826 * weighted_quantile(np.abs(values - weighted_quantile(values, weights, 0.5)), weights, 0.5) or 1.0


def class_loss(n_classes: int) -> Loss:
    """The loss of so many classes."""
    return Loss(OF_TWO_CLASSES if n_classes == 2 else OF_CLASSES, n_classes=n_classes)


def loss_of(model: Any, n_classes: int | None, n_targets: int) -> Loss:
    """The loss of a classifier, with its number of classes, or of a regressor."""
    if n_classes is not None:
        return class_loss(n_classes)
    facts, quantiles = LOSSES[model.loss], quantiles_of(model) or ()
    if len(quantiles) > 1 and n_targets > 1:
        raise InvalidInputError(f"y must be one target for several quantiles, got {n_targets}")
    return Loss(facts, quantiles or (facts.parameter_of(model),))


def in_units_of_mean(training: Training, loss: str) -> Training:
    """Training rows for a loss of means, in units of their mean, so that single precision holds large and small ones.

    The scores are then less the logarithm of the mean.
    """
    unit = unit_of_means(training.center)

    def in_units(part: TargetRows, name: str) -> TargetRows:
        return part._replace(
            values=targets_in_units(part.values, training.center, training.inverse_scale, unit, loss, name))

    rows, one = in_units(training.rows, "y"), np.ones(1)
    return training._replace(
        rows=rows, eval_sets=tuple((name, in_units(part, "eval_set y")) for name, part in training.eval_sets),
        center=math.log(unit) * one, scale=one, inverse_scale=one)


def in_robust_units(training: Training) -> Training:
    """Training rows for a loss of quantiles, in units that a few targets far out do not enlarge.

    The gradient does not depend on their distance, but the standard deviation does, and in its units all other targets
    would be nearly constant.  So the unit is the standard deviation of targets that are clipped at 10 robust standard
    deviations from the median; where no target is beyond, it is the plain one.  `target_scaling` (`_rows/scaling.py`),
    for losses of means, warns of such targets instead, as these do decide there, and only of a few that are far out.
    """
    values, weights = training.rows.values, training.rows.weights
    middle = np.array([weighted_quantile(each, weights.each, 0.5) for each in values.T])
    spread = np.array([_spread(each, weights.each) for each in values.T])
    clipped = values.clip(middle - _FAR * spread, middle + _FAR * spread)
    if (clipped == values).all():
        return training
    unit = np.sqrt(weights.mean((clipped - weights.mean(clipped)) ** 2))

    def in_units(part: TargetRows) -> TargetRows:
        return part._replace(values=((part.values - middle) / unit).clip(-_LARGEST_TARGET, _LARGEST_TARGET))

    return training._replace(
        rows=in_units(training.rows), eval_sets=tuple((name, in_units(part)) for name, part in training.eval_sets),
        center=training.center + training.scale * middle, scale=training.scale * unit,
        inverse_scale=training.inverse_scale / unit)


def unit_of_means(center: Double) -> float:
    """The mean of the targets, or 1 where all are 0."""
    return float(center[0]) if center[0] > 0 else 1.0


def targets_in_units(values: Double, center: Double, inverse_scale: Double, unit: float, loss: str,
                     name: str) -> Double:
    """Targets of a loss of means in some unit, from standardised ones: > 0 for "gamma", >= 0 for others."""
    if values.shape[1] > 1:
        raise InvalidInputError(f"y must be one target for loss={loss!r}, got {values.shape[1]}")
    varies = inverse_scale > 0
    scale = np.where(varies, 1 / np.where(varies, inverse_scale, 1.0), 0.0) / unit
    targets = center / unit + scale * values
    largest = np.abs(targets).max()
    if targets.min() < -1e-9 * largest:  # beyond rounding
        raise InvalidInputError(f"{name} must be {'> 0' if loss == 'gamma' else '>= 0'} for loss={loss!r}, "
                                f"got {unit * targets.min():.6g}")
    if loss == "gamma" and targets.min() <= 1e-15 * largest:
        raise InvalidInputError(f"{name} must be > 0 for loss='gamma', and more than 1e-15 of its largest value, got "
                                f"{unit * max(targets.min(), 0):.6g}: use loss='tweedie' where targets may be 0")
    return np.maximum(targets, 0)
