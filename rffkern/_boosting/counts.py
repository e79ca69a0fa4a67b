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
    names = [name for name, _ in training.watched]
    rows = training.rows._replace(values=_counts(training, training.rows, unit, "y"))
    held_out = [part._replace(values=_counts(training, part, unit, "eval_set y")) for _, part in training.watched]
    one = np.ones(1)
    return training._replace(
        rows=rows, evaluation=held_out[0] if held_out else None, watched=tuple(zip(names, held_out, strict=True)),
        center=math.log(unit) * one, scale=one, inverse_scale=one)


def _counts(training: Training, part: TargetRows, unit: float, name: str) -> Double:
    """Targets in some unit, which must be at least 0."""
    if part.values.shape[1] > 1:
        raise InvalidInputError(f"y must be one target for loss='poisson', got {part.values.shape[1]}")
    scale = np.where(training.inverse_scale > 0, training.scale, 0.0) / unit
    values = training.center / unit + scale * part.values
    if values.min() < -1e-9 * np.abs(values).max():  # beyond rounding
        raise InvalidInputError(f"{name} must be >= 0 for loss='poisson', got {unit * values.min():.6g}")
    return np.maximum(values, 0)
