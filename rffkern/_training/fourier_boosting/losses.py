"""Losses: their kernels, where boosting starts, and what rows hold for them."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._native import boosting
from ..._rows.weights import weighted_quantile

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]


class Problem(NamedTuple):
    """What training rows hold for a loss, in their own order."""

    kernel: int  # which loss the kernels take
    parameters: Single  # (n_outputs,)
    intercept: Double  # (n_outputs,) the scores before any round
    start: Single  # (n_outputs, n_rows) scores that the kernels begin with
    targets: Single  # (n_rows,) as the kernels take them
    searches_steps: bool  # whether the best step along a pair of waves is not 1
    weighs_curvature: bool  # whether the amplitudes of waves are those of rows weighted by the curvature of the loss
    strata: NDArray[np.float64]  # (n_rows,) what folds are balanced by
    least: Double  # (n_rows,) the least loss of a row, as the kernels tell it


class Start(NamedTuple):
    """Where boosting starts, as all rows say."""

    intercept: Double  # (n_outputs,) the scores before any round
    parameters: Single  # (n_outputs,) of the loss


class Loss(Protocol):
    """A loss of rows with checked targets: class indices (1, n_rows) or values (n_outputs, n_rows)."""

    def start(self, targets: Double, weights: Double) -> Start:
        """Where boosting starts on these rows."""

    def condensed(self, targets: Double, weights: Double, chosen: Indices) -> tuple[Double, Double]:
        """Targets and weights of fewer rows that say the same of where it starts; or those chosen, if none do."""

    def problem(self, targets: Double, weights: Double, start: Start | None = None) -> Problem:
        """What the rows hold.

        Where boosting starts is given, or of more rows than have weights the first say it, and the others are watched.
        """


class ClassLoss(NamedTuple):
    """Logistic loss of two classes; of more, the softmax of scores that share their terms."""

    n_classes: int

    def start(self, targets: Double, weights: Double) -> Start:
        """Log shares of the classes, of mean 0, or the difference of two."""
        share = self._totals(targets, weights) / weights.sum()
        # Held-out rows may show a class that others do not.
        logs = np.log(np.maximum(share, 1e-6))
        return _plain_start(np.array([logs[1] - logs[0]]) if self.n_classes == 2 else logs - logs.mean())

    def condensed(self, targets: Double, weights: Double, chosen: Indices) -> tuple[Double, Double]:
        """A row for each class."""
        return np.arange(self.n_classes, dtype=np.float64)[None], self._totals(targets, weights)

    def problem(self, targets: Double, weights: Double, start: Start | None = None) -> Problem:
        """What the rows hold: class indices (1, n_rows)."""
        start = start or self.start(targets[:, : len(weights)], weights)
        if self.n_classes == 2:
            return _started(boosting.LOGISTIC, start, 2 * targets[0] - 1, targets[0])
        return _started(boosting.SOFTMAX, start, targets[0], targets[0])

    def _totals(self, targets: Double, weights: Double) -> Double:
        """Weights of the classes."""
        return np.bincount(targets[0].astype(np.intp), weights, minlength=self.n_classes).astype(np.float64)


class ValueLoss(NamedTuple):
    """Losses of the residual: squared, Huber's and that of a quantile.

    Scores in training are less the target, so that one kernel serves any number of targets.
    """

    kernel: int
    parameters: tuple[float, ...] = (0.0,)  # one for all outputs, or quantiles of one target

    def start(self, targets: Double, weights: Double) -> Start:
        """Means, medians or quantiles."""
        known = np.ascontiguousarray(self._for_outputs(targets))
        parameters = np.broadcast_to(self.parameters, len(known))
        if self.kernel == boosting.SQUARED:
            intercept = known @ weights / weights.sum()
        else:
            shares = parameters if self.kernel == boosting.QUANTILE else np.full(len(known), 0.5)
            intercept = np.array([weighted_quantile(each, weights, share)
                                  for each, share in zip(known, shares, strict=True)])
        if self.kernel == boosting.HUBER:
            parameters = parameters * [_spread(each, weights) for each in known]
        return Start(intercept, parameters.astype(np.float32, order="C"))

    def condensed(self, targets: Double, weights: Double, chosen: Indices) -> tuple[Double, Double]:
        """The mean for squares; quantiles are those of the chosen rows."""
        if self.kernel == boosting.SQUARED:
            return _mean_row(targets, weights)
        return targets[:, chosen], weights[chosen] * (len(weights) / max(1, len(chosen)))

    def problem(self, targets: Double, weights: Double, start: Start | None = None) -> Problem:
        """What the rows hold: values (n_outputs, n_rows)."""
        start = start or self.start(targets[:, : len(weights)], weights)
        scores = (start.intercept[:, None] - self._for_outputs(targets)).astype(np.float32, order="C")
        zeros = np.zeros(targets.shape[1], dtype=np.float32)
        return Problem(self.kernel, start.parameters, start.intercept, scores, zeros, self.kernel == boosting.QUANTILE,
                       False, targets[0], np.broadcast_to(0.0, targets.shape[1]))

    def _for_outputs(self, targets: Double) -> Double:
        """The target once for each quantile."""
        return np.broadcast_to(targets, (max(len(targets), len(self.parameters)), targets.shape[1]))


class CountLoss(NamedTuple):
    """Loss of Poisson counts, whose scores are logarithms of their means."""

    def start(self, targets: Double, weights: Double) -> Start:
        """The logarithm of the mean."""
        return _plain_start(np.log([max(float(targets[0] @ weights / weights.sum()), 1e-6)]))

    def condensed(self, targets: Double, weights: Double, chosen: Indices) -> tuple[Double, Double]:
        """The mean."""
        return _mean_row(targets, weights)

    def problem(self, targets: Double, weights: Double, start: Start | None = None) -> Problem:
        """What the rows hold: values >= 0 (1, n_rows)."""
        counts = targets[0]
        start = start or self.start(targets[:, : len(weights)], weights)
        least = counts - counts * np.log(np.maximum(counts, 1e-300))  # so that losses are half the deviance
        problem = _started(boosting.POISSON, start, counts, counts)
        return problem._replace(weighs_curvature=True, least=least)


def _plain_start(intercept: Double) -> Start:
    """Where the loss has no parameters."""
    return Start(intercept, np.zeros(len(intercept), dtype=np.float32))


def _mean_row(targets: Double, weights: Double) -> tuple[Double, Double]:
    """A row with the mean of the targets, of the weight of all."""
    total = weights.sum()
    return (targets @ weights / total)[:, None], np.array([total])


def _started(kernel: int, start: Start, targets: Double, strata: Double) -> Problem:
    scores = np.repeat(start.intercept[:, None], len(targets), axis=1).astype(np.float32)
    return Problem(kernel, start.parameters, start.intercept, scores, targets.astype(np.float32), True, False, strata,
                   np.broadcast_to(0.0, len(targets)))


def _spread(values: Double, weights: Double) -> float:
    """1.4826 times the median distance from the median, the standard deviation of normal values; 1 where it is 0."""
    return 1.4826 * weighted_quantile(np.abs(values - weighted_quantile(values, weights, 0.5)), weights, 0.5) or 1.0
