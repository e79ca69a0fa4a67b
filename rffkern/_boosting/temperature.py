"""The factor on scores with which probabilities fit the rows that members have held out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._data.tiles import TILE
from .._kernels import boost_losses
from .losses import Problem
from .member import Member
from .rows import Layout

# The factor lies between this and its inverse, and is told to so many halvings of the logarithm.
_LEAST, _N_HALVINGS = 0.5, 16

# Rows whose slopes hold the factor at 1: a few held-out rows say little of it.
_PRIOR_ROWS = 10.0


def inverse_temperature(members: Sequence[Member], layouts: Sequence[Layout], problem: Problem,
                        weights: NDArray[np.float64]) -> float:
    """The factor of largest likelihood on the scores of classes; 1 for other losses.

    This is temperature scaling (Guo, Pleiss, Sun and Weinberger, 2017, "On calibration of modern neural networks",
    section 4.2) with one factor for all members, told from rows that each has not learned from.
    """
    if problem.kernel not in (boost_losses.LOGISTIC, boost_losses.SOFTMAX):
        return 1.0
    rows, held = _held_out(members, layouts, len(weights))
    weight = np.zeros(held.shape[1], dtype=np.float32)
    weight[: len(rows)] = weights[rows]
    if not weight.any():
        return 1.0
    prior = _PRIOR_ROWS * float(weight[weight > 0].mean())
    targets, zeros = np.zeros_like(weight), np.zeros_like(held)
    targets[: len(rows)] = problem.targets[rows]
    low, high = np.log(_LEAST), -np.log(_LEAST)
    for _ in range(_N_HALVINGS):
        factor = float(np.exp((low + high) / 2))
        slope, _ = boost_losses.step_slopes(problem.kernel, problem.parameters, zeros, held, factor, targets, weight,
                                            held.shape[1])
        if slope - prior * (factor - 1) > 0:
            low = np.log(factor)
        else:
            high = np.log(factor)
    return float(np.exp((low + high) / 2))


def _held_out(members: Sequence[Member], layouts: Sequence[Layout],
              n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The rows that some member has held out, and the mean scores of those that have, padded to whole tiles."""
    sums, counts = np.zeros((len(members[0].held), n_rows)), np.zeros(n_rows)
    for member, layout in zip(members, layouts, strict=True):
        used = layout.used[layout.n_train :]
        rows = layout.rows[layout.n_train :][used]
        sums[:, rows] += member.held[:, used]
        counts[rows] += 1
    rows = np.flatnonzero(counts)
    held = np.zeros((len(sums), -(-len(rows) // TILE) * TILE), dtype=np.float32)
    held[:, : len(rows)] = sums[:, rows] / counts[rows]
    return rows, held
