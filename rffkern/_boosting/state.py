"""Where the boosting of a member stands: scores of its rows, and the slopes of the loss there."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import boost_losses
from .losses import Problem
from .rows import Columns, Layout

Single = NDArray[np.float32]

# Largest move of one step of Newton's method along a direction, and the least that is worth another.
_LARGEST_MOVE, _SMALLEST_MOVE = 5.0, 1e-3


class Losses(NamedTuple):
    """Mean losses of a member's rows."""

    learned: float
    held_out: float


class State:
    """Rows of a member in the order of a layout, with their scores; rounds write `directions` and then move."""

    def __init__(self, columns: Columns, problem: Problem, weights: NDArray[np.float64], layout: Layout) -> None:
        rows, used = layout.rows, layout.used
        self.n_train = layout.n_train
        self.columns = np.ascontiguousarray(columns.values[:, rows])
        self.codes = np.ascontiguousarray(columns.bins.codes[:, rows])
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
        sums = boost_losses.update(
            self._kernel, self._parameters, self.scores, self.directions, step, self._targets, self.weight,
            self.n_train, self.gradient, self.hessian)
        self.losses = Losses(*((loss - least) / total if total else 0.0
                               for loss, least, total in zip(sums, self._least, self._totals, strict=True)))
        return self.losses

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

    def best_step(self, n_steps: int = 6) -> float:
        """The multiple of the directions of lowest loss on the rows learned from, by Newton's method from 1."""
        step = 1.0
        for _ in range(n_steps):
            slope, curvature = boost_losses.step_slopes(
                self._kernel, self._parameters, self.scores, self.directions, step, self._targets, self.weight,
                self.n_train)
            if not curvature > 0:
                break
            moved = min(max(slope / curvature, -_LARGEST_MOVE), _LARGEST_MOVE)
            step += moved
            if abs(moved) < _SMALLEST_MOVE:
                break
        return step
