"""The pseudo-posteriors over the cosines of landmarks, and what PAC-Bayes theory says of them."""

import math
from typing import Any

import numpy as np

from .._native.array_types import Double

POSTERIOR = ("The weights q_lj of the cosines of each landmark, of sum 1 over j; 1 / K for a landmark that the model "
             "has no use for.")


def pseudo_posterior(log_weights: Double) -> Double:
    """Weights proportional to exp(log_weights), summing to 1 along the last axis; no exponential overflows."""
    with np.errstate(under="ignore"):
        weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)


def posterior_of(model: Any, shape: tuple[int, ...]) -> Double:
    """The pseudo-posterior q of each landmark, of that shape, from the amplitudes alpha_l q_lj of its cosines."""
    amplitudes = np.abs(model.expansion_.fourier.amplitudes).sum(axis=1).reshape(shape)
    total = amplitudes.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(total > 0, amplitudes / total, 1 / shape[-1])


def pac_bayes_bound(losses: Double, posterior: Double, s: float, n_rows: float, delta: float) -> Double:
    """A bound of the expected loss of each landmark's kernel from its loss on n rows (2019, Theorem 1).

        E_q loss + (KL(q | p) + s^2 / (2 (n - 1)) + ln(1 / delta)) / s

    with the uniform prior p over the K cosines that were drawn.  The theorem as printed has E_p in place of E_q, and
    the ratio p / q without its logarithm in KL; both are misprints.
    """
    logarithms = np.log(posterior * posterior.shape[-1], out=np.zeros_like(posterior), where=posterior > 0)
    divergence = (posterior * logarithms).sum(axis=-1)
    return losses + (divergence + s * s / (2 * (n_rows - 1)) - math.log(delta)) / s
