"""Where the boosting of a member stands: scores of its rows, and the slopes of the loss there."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import boosting
from .losses import Problem
from .rows import Columns, Indices, Layout

Single = NDArray[np.float32]

# Moves of Newton's method along a direction, the largest, and the least that is worth another.
_MOST_MOVES, _LARGEST_MOVE, _SMALLEST_MOVE = 6, 5.0, 1e-3


class Losses(NamedTuple):
    """Mean losses of a member's rows."""

    learned: float
    held_out: float
    watched: tuple[float, ...] = ()  # of rows that decide nothing, set by set


def _picked(columns: NDArray[Any], rows: Indices) -> NDArray[Any]:
    """Some rows of columns, one column after the other, so that a signal need not wait for all."""
    out = np.empty((len(columns), len(rows)), dtype=columns.dtype)
    for column, place in zip(columns, out, strict=True):
        column.take(rows, out=place, mode="clip")
    return out


class State:
    """Rows of a member in the order of a layout, with their scores; rounds write `directions` and then move."""

    def __init__(self, columns: Columns, problem: Problem, weights: NDArray[np.float64], layout: Layout) -> None:
        rows, used = layout.rows, layout.used
        self.n_train = layout.n_train
        self.columns, self.codes = _picked(columns.values, rows), _picked(columns.bins.codes, rows)
        self.weight = np.where(used, weights[rows], 0.0).astype(np.float32)
        self.scores = np.ascontiguousarray(np.where(used, problem.start[:, rows], np.float32(0)))
        self.directions, self.gradient, self.hessian = np.zeros((3, *self.scores.shape), dtype=np.float32)
        self._kernel, self._parameters, self._targets = problem.kernel, problem.parameters, problem.targets[rows]
        self.searches_steps, self._weighs_curvature = problem.searches_steps, problem.weighs_curvature
        self._totals = [float(np.sum(part, dtype=np.float64)) for part in np.split(self.weight, [self.n_train])]
        least = np.where(used, weights[rows] * problem.least[rows], 0.0)
        self._least = [float(part.sum()) for part in np.split(least, [self.n_train])]
        self.losses = self.move(0.0)

    def move(self, step: float) -> Losses:
        """Add a multiple of the directions to the scores; gradients and losses become those there."""
        sums = boosting.update(
            self._kernel, self._parameters, self.scores, self.directions, step, self._targets, self.weight,
            self.n_train, self.gradient, self.hessian)
        learned, held_out = ((loss - least) / total if total else 0.0
                             for loss, least, total in zip(sums, self._least, self._totals, strict=True))
        self.losses = Losses(learned, held_out)
        return self.losses

    def resume(self, scores: Single) -> Losses:
        """Go on from these scores, which stay as they are."""
        self.scores[:], self.directions[:] = scores, 0
        return self.move(0.0)

    def held_scores(self) -> Single:
        """A copy of the scores of the rows held out."""
        return self.scores[:, self.n_train :].copy()

    @property
    def wave_weight(self) -> Single:
        """Weights of the rows in the least squares of waves."""
        if not self._weighs_curvature:
            return self.weight
        found: Single = self.hessian[0] if len(self.hessian) == 1 else self.hessian.mean(axis=0)
        return found

    def best_step(self) -> float:
        """The multiple of the directions of lowest loss on the rows learned from, by Newton's method from 1."""
        step: float = boosting.best_step(
            self._kernel, self._parameters, self.scores, self.directions, 1.0, self._targets, self.weight, self.n_train,
            _MOST_MOVES, _LARGEST_MOVE, _SMALLEST_MOVE)
        return step
