"""Losses of scores at targets, as RFFNet minimises them; each has a compiled class in `_native.rffnet`.

To add one: give it a compiled class there, and here the constant scores at which training starts; then name it in
`estimators.py`.
"""

from typing import Any

import numpy as np

from ..._native import rffnet
from ..._native.array_types import NDArray
from ..._rows.weights import RowWeights, weighted_quantile

Double = NDArray[np.float64]

# The losses of classes are nearly flat for rows that are classified with confidence, so that smaller penalties suffice.
_SCALE_OF_CLASSES = 0.02


class Loss:
    """A loss: the compiled object, and the best constant scores."""

    ridge_scale = 1.0  # factor on the penalties of the schedule

    def __init__(self, compiled: rffnet.Loss) -> None:
        self.compiled = compiled

    def start(self, targets: Double, weights: RowWeights, n_outputs: int) -> Double:
        """Return constant scores near the best ones, shape (n_outputs,)."""
        found: Double = weights.mean(targets)
        return found


class ResidualLoss(Loss):
    """A loss of y - f."""

    def of_residuals(self, residuals: Double) -> Double:
        """The loss of each residual."""
        raise NotImplementedError

    def of_rows(self, y: Any, scores: Double) -> Double:
        """The loss of each row, its mean over several targets."""
        found: Double = self.of_residuals(np.reshape(y, scores.shape) - scores).mean(axis=1)
        return found


class Squared(ResidualLoss):
    """(y - f)^2"""

    def __init__(self) -> None:
        super().__init__(rffnet.Squared())

    def of_residuals(self, residuals: Double) -> Double:
        """Their squares."""
        with np.errstate(over="ignore"):
            found: Double = residuals**2
        return found


class Huber(ResidualLoss):
    """(y - f)^2 up to |y - f| = delta, and linear beyond (Huber, 1964)."""

    def __init__(self, delta: float) -> None:
        super().__init__(rffnet.Huber(delta))
        self._delta = delta

    def of_residuals(self, residuals: Double) -> Double:
        """Their squares up to delta, and linear beyond."""
        sizes = np.abs(residuals)
        inner = np.minimum(sizes, self._delta)
        return inner * (2 * sizes - inner)

    def start(self, targets: Double, weights: RowWeights, n_outputs: int) -> Double:
        """The medians, which are near the best scores."""
        return _quantiles(targets, weights, 0.5)


class Pinball(ResidualLoss):
    """(y - f) quantile where f < y, else (y - f) (quantile - 1): least where f is that quantile of y."""

    def __init__(self, quantile: float) -> None:
        super().__init__(rffnet.Pinball(quantile))
        self._quantile = quantile

    def of_residuals(self, residuals: Double) -> Double:
        """A multiple of their sizes, another on either side of 0."""
        return np.maximum(self._quantile * residuals, (self._quantile - 1) * residuals)

    def start(self, targets: Double, weights: RowWeights, n_outputs: int) -> Double:
        """The quantiles."""
        return _quantiles(targets, weights, self._quantile)


class Logistic(Loss):
    """ln(1 + exp(-y f)) for y in {-1, +1}."""

    ridge_scale = _SCALE_OF_CLASSES

    def __init__(self) -> None:
        super().__init__(rffnet.Logistic())

    def start(self, targets: Double, weights: RowWeights, n_outputs: int) -> Double:
        """The log-odds; 0 if a class is missing, because its share is then unknown."""
        mean: Double = weights.mean(targets)
        return 2 * np.arctanh(np.where(np.abs(mean) < 1, mean, 0))


class Softmax(Loss):
    """Minus the logarithm of exp(f_k) / sum of exp(f), for targets that are the class index k."""

    ridge_scale = _SCALE_OF_CLASSES

    def __init__(self) -> None:
        super().__init__(rffnet.Softmax())

    def start(self, targets: Double, weights: RowWeights, n_outputs: int) -> Double:
        """The logarithms of the shares of the classes; 0 if a class is missing."""
        total = np.bincount(targets[:, 0].astype(np.intp), weights.values, n_outputs)
        logarithms = np.log(np.maximum(total, 0.5))  # half a row stands for a class of hardly any weight
        return logarithms - logarithms.mean() if total.all() else np.zeros(n_outputs)


def _quantiles(targets: Double, weights: RowWeights, quantile: float) -> Double:
    """The quantile of each column."""
    return np.array([weighted_quantile(column, weights.each, quantile) for column in targets.T])
