"""Losses of boosting: their initial scores, and what training rows hold for them."""

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._native import boosting
from ..._rows.training_rows import TargetRows, Training
from ..._rows.weights import row_products, weighted_quantile
from ...errors import InvalidInputError
from .parameters import LOG_LINKS

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Where Huber's loss becomes linear, in units of a robust standard deviation: 95 % efficient for normal targets.
_HUBER_DELTA = 1.35

InitialScores = tuple[Double, Single]  # scores before any round (n_outputs,), and the parameters of the loss


class LossData(NamedTuple):
    """What rows hold for a loss, in their own order."""

    kernel: int  # which loss the kernels compute
    parameters: Single  # (n_outputs,)
    intercept: Double  # (n_outputs,) the scores before any round
    initial_scores: Single  # (n_outputs, n_rows) that the kernels begin with
    targets: Single  # (n_rows,) as the kernels take them
    searches_step: bool  # whether the best step along a Fourier or linear term is not 1
    weights_by_hessian: bool  # whether the amplitudes of Fourier terms are those of rows weighted by the Hessian
    strata: Double  # (n_rows,) what folds are balanced by
    least_losses: Double  # (n_rows,) the least possible loss of a row, which the kernels do not subtract
    link: Literal["softmax", "log", "identity"]  # of scores: to probabilities, of means, or values less targets
    estimates_quantiles: bool  # whether scores are quantiles
    allows_stacking: bool  # whether kernel ridge regression may be stacked on the terms
    step_unit: float  # the step that a term of curvature 1 takes


class ClassLoss(NamedTuple):
    """Logistic loss of two classes; of more, the softmax of scores that share their terms.

    Targets are class indices (1, n_rows).
    """

    n_classes: int

    @property
    def name(self) -> str:
        """Name of the learning rates."""
        return "log_loss" if self.n_classes == 2 else "softmax"

    def initial_scores(self, targets: Double, weights: Double) -> InitialScores:
        """Log shares of the classes, of mean 0, or the difference of two."""
        share = self._class_weights(targets, weights) / weights.sum()
        logs = np.log(np.maximum(share, 1e-6))  # validation rows may show a class that others do not
        intercept = np.array([logs[1] - logs[0]]) if self.n_classes == 2 else logs - logs.mean()
        return intercept, np.zeros(len(intercept), dtype=np.float32)

    def summary_rows(self, targets: Double, weights: Double, sample: Indices) -> tuple[Double, Double]:
        """Targets and weights of few rows with the same initial scores: a row for each class."""
        return np.arange(self.n_classes, dtype=np.float64)[None], self._class_weights(targets, weights)

    def data(self, targets: Double, weights: Double, initial: InitialScores | None = None) -> LossData:
        """What the rows hold; initial scores are given, or those of the first rows, as many as have weights."""
        intercept, parameters = initial or self.initial_scores(targets[:, : len(weights)], weights)
        if self.n_classes == 2:
            data = _repeated_scores(boosting.LOGISTIC, intercept, parameters, 2 * targets[0] - 1, targets[0])
        else:  # the curvature of one class of n is about 1 / n
            data = _repeated_scores(boosting.SOFTMAX, intercept, parameters, targets[0], targets[0])._replace(
                step_unit=self.n_classes / 2)
        return data._replace(link="softmax", allows_stacking=True)

    def _class_weights(self, targets: Double, weights: Double) -> Double:
        return np.bincount(targets[0].astype(np.intp), weights, minlength=self.n_classes).astype(np.float64)


class ValueLoss(NamedTuple):
    """Losses of the residual: squared error, Huber's loss, that of a quantile, and the absolute error.

    Targets are values (n_outputs, n_rows).  Scores in training are less the target, so that one kernel serves any
    number of targets.
    """

    kernel: int
    parameters: tuple[float, ...] = (0.0,)  # one for all outputs, or quantiles of one target

    @property
    def name(self) -> str:
        """Name of the learning rates."""
        return "quantile" if self.kernel == boosting.QUANTILE else "values"

    def initial_scores(self, targets: Double, weights: Double) -> InitialScores:
        """Means, medians or quantiles."""
        values = np.ascontiguousarray(self._for_outputs(targets))
        parameters = np.broadcast_to(self.parameters, len(values))
        if self.kernel == boosting.SQUARED:
            intercept = row_products(values, weights) / weights.sum()
        else:
            shares = parameters if self.kernel == boosting.QUANTILE else np.full(len(values), 0.5)
            intercept = np.array([weighted_quantile(each, weights, share)
                                  for each, share in zip(values, shares, strict=True)])
        if self.kernel == boosting.HUBER:
            parameters = parameters * [_spread(each, weights) for each in values]
        return intercept, parameters.astype(np.float32, order="C")

    def summary_rows(self, targets: Double, weights: Double, sample: Indices) -> tuple[Double, Double]:
        """Targets and weights of few rows with the same initial scores: the mean for squares, else of a sample."""
        if self.kernel == boosting.SQUARED:
            return _mean_row(targets, weights)
        return targets[:, sample], weights[sample] * (len(weights) / max(1, len(sample)))

    def data(self, targets: Double, weights: Double, initial: InitialScores | None = None) -> LossData:
        """What the rows hold; initial scores are given, or those of the first rows, as many as have weights."""
        intercept, parameters = initial or self.initial_scores(targets[:, : len(weights)], weights)
        scores = (intercept[:, None] - self._for_outputs(targets)).astype(np.float32, order="C")
        zeros, is_quantile = np.zeros(targets.shape[1], dtype=np.float32), self.kernel == boosting.QUANTILE
        return LossData(self.kernel, parameters, intercept, scores, zeros, searches_step=is_quantile,
                        weights_by_hessian=False, strata=targets[0],
                        least_losses=np.broadcast_to(0.0, targets.shape[1]), link="identity",
                        estimates_quantiles=is_quantile, allows_stacking=self.kernel == boosting.SQUARED, step_unit=1.0)

    def _for_outputs(self, targets: Double) -> Double:
        """The target once for each quantile."""
        return np.broadcast_to(targets, (max(len(targets), len(self.parameters)), targets.shape[1]))


class TweedieLoss(NamedTuple):
    """Half the Tweedie deviance of targets (1, n_rows), whose scores are logarithms of their means.

    The variance of a target is assumed to be proportional to its mean to the `power`: 1 is the Poisson loss of counts,
    2 the gamma loss of positive targets; those in between are for targets that are often 0 (Jorgensen, 1987,
    "Exponential dispersion models").
    """

    power: float
    name: str = "values"  # of the learning rates

    def initial_scores(self, targets: Double, weights: Double) -> InitialScores:
        """The logarithm of the mean."""
        intercept = np.log([max(float(row_products(targets[0], weights) / weights.sum()), 1e-6)])
        return intercept, np.full(1, self.power if self.power > 1 else 0, dtype=np.float32)

    def summary_rows(self, targets: Double, weights: Double, sample: Indices) -> tuple[Double, Double]:
        """Targets and weights of few rows with the same initial scores: the mean."""
        return _mean_row(targets, weights)

    def data(self, targets: Double, weights: Double, initial: InitialScores | None = None) -> LossData:
        """What the rows hold; initial scores are given, or those of the first rows, as many as have weights."""
        y, p = targets[0], self.power
        intercept, parameters = initial or self.initial_scores(targets[:, : len(weights)], weights)
        if p == 1:
            least = y - y * np.log(np.maximum(y, 1e-300))
        elif p == 2:
            least = 1 - y + np.log(np.maximum(y, 1e-300))
        else:
            least = (y ** (2 - p) - y) / (p - 1) + (y ** (2 - p) - 1) / (2 - p)
        data = _repeated_scores(boosting.TWEEDIE if p > 1 else boosting.POISSON, intercept, parameters, y, y)
        return data._replace(weights_by_hessian=True, least_losses=least)


Loss = ClassLoss | ValueLoss | TweedieLoss


def _mean_row(targets: Double, weights: Double) -> tuple[Double, Double]:
    """A row with the mean of the targets and the weight of all."""
    total = weights.sum()
    return (row_products(targets, weights) / total)[:, None], np.array([total])


def _repeated_scores(kernel: int, intercept: Double, parameters: Single, targets: Double, strata: Double) -> LossData:
    scores = np.repeat(intercept[:, None], len(targets), axis=1).astype(np.float32)
    return LossData(kernel, parameters, intercept, scores, targets.astype(np.float32), searches_step=True,
                    weights_by_hessian=False, strata=strata, least_losses=np.broadcast_to(0.0, len(targets)),
                    link="log", estimates_quantiles=False, allows_stacking=False, step_unit=1.0)


def _spread(values: Double, weights: Double) -> float:
    """1.4826 times the median distance from the median, the standard deviation of normal values; 1 where it is 0."""
    return 1.4826 * weighted_quantile(np.abs(values - weighted_quantile(values, weights, 0.5)), weights, 0.5) or 1.0


def loss_of(model: Any, n_classes: int | None, n_targets: int) -> Loss:
    """The loss of a classifier, with its number of classes, or of a regressor."""
    if n_classes is not None:
        return ClassLoss(n_classes)
    if model.loss in LOG_LINKS:
        return TweedieLoss({"poisson": 1.0, "gamma": 2.0}.get(model.loss, float(model.power)))
    quantiles = model._levels()
    if model.loss == "quantile" and len(quantiles) > 1 and n_targets > 1:
        raise InvalidInputError(f"y must be one target for several quantiles, got {n_targets}")
    kernels = {"squared_error": (boosting.SQUARED, (0.0,)), "huber": (boosting.HUBER, (_HUBER_DELTA,)),
               "absolute_error": (boosting.QUANTILE, (0.5,)), "quantile": (boosting.QUANTILE, quantiles)}
    return ValueLoss(*kernels[model.loss])


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
