"""Losses of scores at targets, as RFFNet descends on them: each is compiled in `_kernels._loss_functions`.

To add one: give it a compiled class there, and here the constant scores at which it starts; then name it where a model
chooses among losses.
"""

import numpy as np

from .._kernels import rffnet_losses

# Losses of classes are flat where rows are far on the right side.
_OF_CLASSES = 0.02


class Loss:
    """A loss: what is compiled, and the best scores that do not look at the row."""

    ridge_size = 1.0  # of penalties beside it

    def __init__(self, compiled):
        self.compiled = compiled

    def start(self, targets, weight, n_outputs):
        """Return constant scores, shape (n_outputs,), near the best ones."""
        return np.average(targets, axis=0, weights=weight)

    def mean(self, scores, targets, weight):
        """Return the weighted mean over rows; inf where scores are too large to be told."""
        losses, slopes = np.empty(len(scores)), np.empty(scores.shape)
        rffnet_losses.row_losses(self.compiled, scores, targets, losses, slopes)
        mean = float(np.average(losses, weights=weight))
        return mean if np.isfinite(mean) else np.inf


class Squared(Loss):
    """(y - f)^2"""

    def __init__(self):
        super().__init__(rffnet_losses.Squared())


class Huber(Loss):
    """(y - f)^2 up to |y - f| = delta, and beyond it a straight line on (Huber, 1964)."""

    def __init__(self, delta):
        super().__init__(rffnet_losses.Huber(delta))

    def start(self, targets, weight, n_outputs):
        return _quantiles(targets, weight, 0.5)


class Pinball(Loss):
    """(y - f) times quantile, or quantile - 1 where f is larger: least where f is that quantile of y."""

    def __init__(self, quantile):
        super().__init__(rffnet_losses.Pinball(quantile))
        self._quantile = quantile

    def start(self, targets, weight, n_outputs):
        return _quantiles(targets, weight, self._quantile)


class Logistic(Loss):
    """ln(1 + exp(-y f)) for y in {-1, +1}."""

    ridge_size = _OF_CLASSES

    def __init__(self):
        super().__init__(rffnet_losses.Logistic())

    def start(self, targets, weight, n_outputs):
        mean = np.average(targets, axis=0, weights=weight)
        return 2 * np.arctanh(np.where(np.abs(mean) < 1, mean, 0))  # one class does not tell how rare the other is


class Softmax(Loss):
    """Minus the logarithm of a class's share of exp(scores), for targets that count the classes from 0."""

    ridge_size = _OF_CLASSES

    def __init__(self):
        super().__init__(rffnet_losses.Softmax())

    def start(self, targets, weight, n_outputs):
        total = np.bincount(targets[:, 0].astype(np.intp), weight, n_outputs)
        logarithms = np.log(np.maximum(total, 0.5))  # of half a row, where there is hardly any weight
        return logarithms - logarithms.mean() if total.all() else np.zeros(n_outputs)


def _quantiles(targets, weight, quantile):
    """The smallest values that reach a share of the weight, of each column."""
    if weight is None:
        weight = np.ones(len(targets))
    found = []
    for column in targets.T:
        order = np.argsort(column, kind="stable")
        reached = np.cumsum(weight[order])
        found.append(column[order[min(np.searchsorted(reached, quantile * reached[-1]), len(order) - 1)]])
    return np.array(found)
