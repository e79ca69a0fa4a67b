"""What scores are multiplied by, or moved by, to fit the rows that members have held out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._native import boosting
from ..._rows.tiles import TILE
from ..._rows.weights import weighted_quantile
from .losses import Problem
from .member import Member
from .rows import Layout

# The factor lies between this and its inverse, and is told to so many halvings of the logarithm.
_LEAST, _N_HALVINGS = 0.5, 16

# Rows whose slopes hold the factor at 1: a few held-out rows say little of it.
_PRIOR_ROWS = 50.0


class HeldOut(NamedTuple):
    """Rows that some member has held out."""

    scores: NDArray[Any]  # (n_outputs, n_rows padded to whole tiles) means of those that have
    targets: NDArray[np.float32]  # (n_rows,) as the kernels take them
    weights: NDArray[np.float64]  # (n_rows,)


def inverse_temperature(members: Sequence[Member], layouts: Sequence[Layout], problem: Problem,
                        weights: NDArray[np.float64]) -> float:
    """The factor of largest likelihood on the scores of classes; 1 for other losses."""
    if problem.kernel not in (boosting.LOGISTIC, boosting.SOFTMAX):
        return 1.0
    return likeliest_factor(problem, _of_members(members, layouts, problem, weights))


def _of_members(members: Sequence[Member], layouts: Sequence[Layout], problem: Problem,
                weights: NDArray[np.float64]) -> HeldOut:
    rows, held = held_out(members, layouts, weights)
    return HeldOut(held, problem.targets[rows], weights[rows])


def likeliest_factor(problem: Problem, rows: HeldOut) -> float:
    """The factor of largest likelihood on the scores of classes; 1 for other losses.

    This is temperature scaling (Guo, Pleiss, Sun and Weinberger, 2017, "On calibration of modern neural networks",
    section 4.2) with one factor for all members, told from rows that each has not learned from.
    """
    n_rows, held = len(rows.weights), rows.scores
    if problem.kernel not in (boosting.LOGISTIC, boosting.SOFTMAX) or not n_rows:
        return 1.0
    targets, weight = np.zeros((2, held.shape[1]), dtype=np.float32)
    targets[:n_rows], weight[:n_rows] = rows.targets, rows.weights
    prior = _PRIOR_ROWS * float(weight[weight > 0].mean())
    zeros = np.zeros_like(held)
    low, high = np.log(_LEAST), -np.log(_LEAST)
    for _ in range(_N_HALVINGS):
        factor = float(np.exp((low + high) / 2))
        slope, _ = boosting.step_slopes(problem.kernel, problem.parameters, zeros, held, factor, targets, weight,
                                        held.shape[1])
        if slope - prior * (factor - 1) > 0:
            low = np.log(factor)
        else:
            high = np.log(factor)
    return float(np.exp((low + high) / 2))


def quantile_shifts(members: Sequence[Member], layouts: Sequence[Layout], problem: Problem,
                    weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is added to each score of a quantile so that this share of rows held out lies below; 0 for other losses."""
    if problem.kernel != boosting.QUANTILE:
        return np.zeros(len(problem.intercept))
    return shifts_of(problem, _of_members(members, layouts, problem, weights))


def shifts_of(problem: Problem, rows: HeldOut) -> NDArray[np.float64]:
    """What is added to each score of a quantile so that this share of the rows held out lies below; 0 for other losses.

    Rows that are learned from are closer to the scores than others (Romano, Patterson and Candes, 2019, "Conformalized
    quantile regression").  Departure: rows held out by one member stand for rows that none has seen.
    """
    shifts = np.zeros(len(problem.intercept))
    n_rows = len(rows.weights)
    if problem.kernel == boosting.QUANTILE and n_rows:
        shifts[:] = [weighted_quantile(-scores.astype(np.float64), rows.weights, float(quantile))
                     for scores, quantile in zip(rows.scores[:, :n_rows], problem.parameters, strict=True)]
    return shifts


def held_out(members: Sequence[Member], layouts: Sequence[Layout],
             weights: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The rows of weight > 0 that some member has held out, and the mean scores of those that have.

    Scores are padded to whole tiles.
    """
    means = HeldOutMeans(len(members[0].held), len(weights))
    for member, layout in zip(members, layouts, strict=True):
        means.add(*layout.held_out(member.held))
    rows = np.flatnonzero((means.counts > 0) & (weights > 0))
    return rows, in_tiles(means.of(rows))


class HeldOutMeans:
    """Mean scores of rows over the members that have held them out."""

    def __init__(self, n_outputs: int, n_rows: int) -> None:
        self._sums, self.counts = np.zeros((n_outputs, n_rows)), np.zeros(n_rows)

    def add(self, rows: NDArray[np.intp], scores: NDArray[np.float32]) -> None:
        """Count the scores of a member, (n_outputs, n_held)."""
        self._sums[:, rows] += scores
        self.counts[rows] += 1

    def of(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The means of rows that some member has held out."""
        return self._sums[:, rows] / self.counts[rows]


def in_tiles(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scores in single precision, padded to whole tiles."""
    n_rows = scores.shape[1]
    held = np.zeros((len(scores), -(-n_rows // TILE) * TILE), dtype=np.float32)
    held[:, :n_rows] = scores
    return held
