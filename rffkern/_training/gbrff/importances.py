"""What columns are good for, told from the rounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rounds import Addition

Double = NDArray[np.float64]


def importances(rounds: Sequence[Sequence[Addition]], losses: Sequence[float], n_features: int,
                column_map: Any) -> Double:
    """The share of each column of the table in what the rounds gained, of sum 1, or 0 where there is nothing.

    The gain of round t is by how much the training loss falls (J. Friedman, Greedy function approximation, 2001,
    section 8.1, has the same for splits of trees):

        importance_j proportional to sum over t of (L_{t-1} - L_t) s_tj / sum over j of s_tj,
        s_tj = sum over terms m of round t of (amplitude_m omega_mj)^2,

    with omegas in units of the standard deviations of the columns: s_tj is the mean square of the slope of the round
    along column j, up to a factor, where the angles are spread over the circle.
    """
    found: Double = np.zeros(n_features)
    for t, additions in enumerate(rounds):
        slopes = np.concatenate([(step * learner.posterior)[:, None] * learner.omegas for learner, step in additions])
        squares = ((slopes / (np.abs(slopes).max() or 1.0)) ** 2).sum(axis=0)
        found += max(losses[t] - losses[t + 1], 0.0) * squares / max(squares.sum(), 1e-300)
    if column_map is not None:
        found = np.bincount(column_map.sources_, found, column_map.n_features_in_).astype(np.float64, copy=False)
    total = found.sum()
    return found / total if total > 0 else np.zeros(len(found))
