"""Counts as targets."""

import math

import numpy as np
from numpy.typing import NDArray

from ..._rows.training_rows import TargetRows, Training
from ...errors import InvalidInputError

Double = NDArray[np.float64]


def as_counts(training: Training) -> Training:
    """Training rows with targets in units of their mean, in which single precision can hold large and small counts.

    The scores are then less the logarithm of the mean.
    """
    unit = unit_of(training.center)
    names = [name for name, _ in training.watched]
    def counted(part: TargetRows, name: str) -> TargetRows:
        return part._replace(values=counts_of(part.values, training.center, training.inverse_scale, unit, name))

    rows = counted(training.rows, "y")
    held_out = [counted(part, "eval_set y") for _, part in training.watched]
    one = np.ones(1)
    return training._replace(
        rows=rows, evaluation=held_out[0] if held_out else None, watched=tuple(zip(names, held_out, strict=True)),
        center=math.log(unit) * one, scale=one, inverse_scale=one)


def unit_of(center: Double) -> float:
    """The mean of the counts, or 1 where there are none."""
    return float(center[0]) if center[0] > 0 else 1.0


def counts_of(values: Double, center: Double, inverse_scale: Double, unit: float, name: str) -> Double:
    """Counts in some unit, which must be at least 0, from values in units of their spread."""
    if values.shape[1] > 1:
        raise InvalidInputError(f"y must be one target for loss='poisson', got {values.shape[1]}")
    varies = inverse_scale > 0
    scale = np.where(varies, 1 / np.where(varies, inverse_scale, 1.0), 0.0) / unit
    counts = center / unit + scale * values
    if counts.min() < -1e-9 * np.abs(counts).max():  # beyond rounding
        raise InvalidInputError(f"{name} must be >= 0 for loss='poisson', got {unit * counts.min():.6g}")
    return np.maximum(counts, 0)
