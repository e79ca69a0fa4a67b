"""Losses of RFFNet: each is compiled in `_native.rffnet`, and starts from the constant scores of lowest mean loss.

To add one: write its compiled class there and its start here, then name it in `regression_loss` and `estimators.py`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..._native import rffnet
from ..._native.array_types import Double
from ..._rows.weights import RowWeights, weighted_quantile

# The losses of classes are nearly flat for rows that are classified with confidence, so that smaller penalties suffice.
_PENALTY_OF_CLASSES = 0.02


class Loss(NamedTuple):
    """A loss: the compiled object, the constant scores to start from, and a factor on the penalties of the schedule."""

    compiled: rffnet.Loss
    start: Callable[[Double, RowWeights], Double]  # of targets and weights, to shape (n_outputs,)
    penalty_factor: float = 1.0

    def of_rows(self, scores: Double, targets: Double) -> Double:
        """Return the loss of each row, its sum over outputs."""
        losses, gradient = np.empty(len(scores)), np.empty(scores.shape)
        rffnet.row_losses(self.compiled, scores, targets, losses, gradient)
        return losses


def regression_loss(name: str, delta: float, quantile: float) -> Loss:
    """Return the loss that an RFFNetRegressor names."""
    if name == "huber":  # the median is near its best constant
        return Loss(rffnet.Huber(delta), partial(_quantiles, share=0.5))
    if name == "quantile":
        return Loss(rffnet.Pinball(quantile), partial(_quantiles, share=quantile))
    return Loss(rffnet.Squared(), _means)


def classification_loss(n_outputs: int) -> Loss:
    """Return the logistic loss for the one score of two classes, and the multinomial one for more."""
    if n_outputs == 1:
        return Loss(rffnet.Logistic(), _log_odds, _PENALTY_OF_CLASSES)
    return Loss(rffnet.Softmax(), partial(_log_shares, n_classes=n_outputs), _PENALTY_OF_CLASSES)


def _means(targets: Double, weights: RowWeights) -> Double:
    return weights.mean(targets)


def _quantiles(targets: Double, weights: RowWeights, share: float) -> Double:
    return np.array([weighted_quantile(column, weights.each, share) for column in targets.T])


def _log_odds(targets: Double, weights: RowWeights) -> Double:
    """Of targets -1 and 1; 0 if a class is missing, because its share is then unknown."""
    mean: Double = weights.mean(targets)
    return 2 * np.arctanh(np.where(np.abs(mean) < 1, mean, 0))


def _log_shares(targets: Double, weights: RowWeights, n_classes: int) -> Double:
    """Of class indices; 0 if a class is missing."""
    total = np.bincount(targets[:, 0].astype(np.intp), weights.values, n_classes)
    logarithms = np.log(np.maximum(total, 0.5))  # half a row stands for a class of hardly any weight
    return logarithms - logarithms.mean() if total.all() else np.zeros(n_classes)
