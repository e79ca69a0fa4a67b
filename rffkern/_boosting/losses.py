"""Losses: their kernels, where boosting starts, and what rows hold for them."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._data.weights import weighted_quantile
from .._kernels import boosting

Single = NDArray[np.float32]
Double = NDArray[np.float64]


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


class Loss(Protocol):
    """A loss of rows with checked targets."""

    def problem(self, targets: NDArray[np.float64], weights: Double) -> Problem:
        """What the rows hold: class indices (1, n_rows) or values (n_outputs, n_rows).

        Of more rows than have weights, the first say where boosting starts, and the others are watched.
        """


class ClassLoss(NamedTuple):
    """Logistic loss of two classes; of more, the softmax of scores that share their terms."""

    n_classes: int

    def problem(self, targets: NDArray[np.float64], weights: Double) -> Problem:
        """What the rows hold: class indices (1, n_rows)."""
        targets = targets[0]
        known = targets[: len(weights)]
        share = np.bincount(known.astype(np.intp), weights, minlength=self.n_classes) / weights.sum()
        # Held-out rows may show a class that others do not.
        logs = np.log(np.maximum(share, 1e-6))
        if self.n_classes == 2:
            intercept = np.array([logs[1] - logs[0]])
            return _started(boosting.LOGISTIC, intercept, 2 * targets - 1, targets)
        return _started(boosting.SOFTMAX, logs - logs.mean(), targets, targets)


class ValueLoss(NamedTuple):
    """Losses of the residual: squared, Huber's and that of a quantile.

    Scores in training are less the target, so that one kernel serves any number of targets.
    """

    kernel: int
    parameters: tuple[float, ...] = (0.0,)  # one for all outputs, or quantiles of one target

    def problem(self, targets: NDArray[np.float64], weights: Double) -> Problem:
        """What the rows hold: values (n_outputs, n_rows)."""
        n_outputs = max(len(targets), len(self.parameters))
        targets = np.broadcast_to(targets, (n_outputs, targets.shape[1]))
        parameters = np.broadcast_to(self.parameters, n_outputs)
        known = np.ascontiguousarray(targets[:, : len(weights)])
        of_quantiles = self.kernel == boosting.QUANTILE
        if self.kernel == boosting.SQUARED:
            intercept = known @ weights / weights.sum()
        else:
            shares = parameters if of_quantiles else np.full(n_outputs, 0.5)
            intercept = np.array([weighted_quantile(each, weights, share)
                                  for each, share in zip(known, shares, strict=True)])
        if self.kernel == boosting.HUBER:
            parameters = parameters * [_spread(each, weights) for each in known]
        start = (intercept[:, None] - targets).astype(np.float32, order="C")
        zeros = np.zeros(targets.shape[1], dtype=np.float32)
        return Problem(self.kernel, parameters.astype(np.float32, order="C"), intercept, start, zeros,
                       of_quantiles, False, targets[0], np.broadcast_to(0.0, targets.shape[1]))


class CountLoss(NamedTuple):
    """Loss of Poisson counts, whose scores are logarithms of their means."""

    def problem(self, targets: NDArray[np.float64], weights: Double) -> Problem:
        """What the rows hold: values >= 0 (1, n_rows)."""
        counts = targets[0]
        mean = max(float(counts[: len(weights)] @ weights / weights.sum()), 1e-6)
        least = counts - counts * np.log(np.maximum(counts, 1e-300))  # so that losses are half the deviance
        problem = _started(boosting.POISSON, np.log([mean]), counts, counts)
        return problem._replace(weighs_curvature=True, least=least)


def _started(kernel: int, intercept: Double, targets: NDArray[np.float64],
             strata: NDArray[np.float64]) -> Problem:
    start = np.repeat(intercept[:, None], len(targets), axis=1).astype(np.float32)
    zeros = np.zeros(len(intercept), dtype=np.float32)
    return Problem(kernel, zeros, intercept, start, targets.astype(np.float32), True, False, strata,
                   np.broadcast_to(0.0, len(targets)))


def _spread(values: Double, weights: Double) -> float:
    """1.4826 times the median distance from the median, the standard deviation of normal values; 1 where it is 0."""
    return 1.4826 * weighted_quantile(np.abs(values - weighted_quantile(values, weights, 0.5)), weights, 0.5) or 1.0
