"""What the landmark families share: the pseudo-posterior, rows as landmarks, landmarks in feature units."""

from typing import Any

import numpy as np

from .._data.row_blocks import take_rows
from .._data.scaling import Scaling
from .._kernels.array_types import NDArray

Double = NDArray[np.float64]


def pseudo_posterior(log_weights: Double) -> Double:
    """Weights proportional to exp(log_weights), summing to 1 along the last axis; no exponential overflows."""
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def standardised_rows(X: Any, indices: NDArray[np.intp], scaling: Scaling) -> Double:
    """Some rows of an array or RowBlocks in the units learning takes place in."""
    return (take_rows(X, indices) - scaling.center) * scaling.inverse_scale


def feature_units(points: Double, scaling: Scaling) -> Double:
    """Standardised points in the units of the features, held finite; constant columns stand at their value."""
    varies = scaling.inverse_scale > 0
    with np.errstate(over="ignore"):
        points = scaling.center + points * np.where(varies, 1 / np.where(varies, scaling.inverse_scale, 1.0), 0.0)
    return np.nan_to_num(points)
