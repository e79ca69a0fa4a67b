"""Platt scaling: from out-of-fold predictions of ridge regressions to the scores of a softmax."""

import numpy as np

from ..._native import solvers
from ..._native.array_types import Double, Indices

# The slope of largest prior probability: that of the log odds along the mean of labels -1 and +1 where this is 0.  The
# prior counts as much as a row of mean weight; it holds slopes down where all rows are right.
_SLOPE, _PRIOR = 2.0, 1.0


def every_class(scores: Double) -> Double:
    """Scores of a softmax, (n_classes, n_samples); before a single score stands that of the other class, 0."""
    return scores if len(scores) > 1 else np.concatenate([np.zeros_like(scores), scores])


def log_losses(scores: Double, codes: Indices) -> tuple[Double, Double]:
    """Losses (n_samples,) of a softmax, and their gradient along its scores, (n_classes, n_samples) as these."""
    scores = scores - scores.max(axis=0)
    is_own = np.arange(len(scores))[:, None] == codes
    odds = np.exp(scores)
    total = odds.sum(axis=0)
    return np.log(total) - (scores * is_own).sum(axis=0), odds / total - is_own


def calibrated(predictions: Double, codes: Indices, weights: Double) -> tuple[float, Double]:
    """The slope and shifts (n_outputs,) of largest likelihood of the scores slope f + shifts, with a prior.

    There is one score for two classes or one for each of more (J. Platt, Probabilistic outputs for support vector
    machines, 1999).

    Parameters
    ----------
    predictions : array of shape (n_outputs, n_samples)
    codes : array of shape (n_samples,), class indices
    weights : array of shape (n_samples,), of mean 1, beside which the prior and the tolerances stand
    """
    n_outputs = len(predictions)
    predictions = every_class(predictions)

    def loss(x: Double) -> tuple[float, Double]:
        shifts = np.zeros(len(predictions))
        shifts[-n_outputs:] = x[1:]
        losses, residuals = log_losses(x[0] * predictions + shifts[:, None], codes)
        value = (weights * losses).sum()
        residuals = weights * residuals
        away = x - start
        gradient = np.concatenate([[(residuals * predictions).sum()], residuals.sum(axis=1)[-n_outputs:]])
        return float(value + 0.5 * _PRIOR * (away**2).sum()), gradient + _PRIOR * away

    start = np.zeros(1 + n_outputs)
    start[0] = _SLOPE
    x, _, _ = solvers.minimize(loss, start, 100, loss_tolerance=1e-9, gradient_tolerance=1e-6, noise=1e-12)
    return float(max(x[0], 0.0)), x[1:]
