"""Counts as targets."""

import math

import numpy as np
from numpy.typing import NDArray

from .._data.training_rows import TargetRows, Training
from ..errors import InvalidInputError

Double = NDArray[np.float64]


def as_counts(training: Training) -> Training:
    """Training rows with targets in units of their mean, in which single precision can hold large and small counts.

    The scores are then less the logarithm of the mean.
    """
    unit = float(training.center[0]) if training.center[0] > 0 else 1.0
    parts = [None if part is None else part._replace(values=_counts(training, part, unit))
             for part in (training.rows, training.evaluation)]
    one = np.ones(1)
    return training._replace(rows=parts[0], evaluation=parts[1], center=math.log(unit) * one, scale=one,
                             inverse_scale=one)


def _counts(training: Training, part: TargetRows, unit: float) -> Double:
    """Targets in some unit, which must be at least 0."""
    if part.values.shape[1] > 1:
        raise InvalidInputError(f"y must be one target for loss='poisson', got {part.values.shape[1]}")
    scale = np.where(training.inverse_scale > 0, training.scale, 0.0) / unit
    values = training.center / unit + scale * part.values
    if values.min() < -1e-9 * np.abs(values).max():  # beyond rounding
        raise InvalidInputError(f"y must be >= 0 for loss='poisson', got {unit * values.min():.6g}")
    return np.maximum(values, 0)
