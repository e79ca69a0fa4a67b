"""An interior point method for the dual of linear support vector machines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .linear_svm import Machine, Problem
    from .newton_systems import SplitSystem

Double = NDArray[np.float64]
Moves = tuple[Double, ...]  # of alpha, then of the multipliers

# Largest number of Newton steps; 5 to 50 are usual.
MAX_STEPS = 300

# Fraction of the way to the nearest barrier that a step takes.
_FRACTION_TO_BOUNDARY = 0.995


class _Barrier:
    """Interior point state: 0 < alpha, and alpha < bound with the hinge loss, with multipliers of these constraints.

    The sign of a constraint is 1 where alpha is above its barrier, -1 where it is below.
    """

    def __init__(self, problem: "Problem", system: "SplitSystem") -> None:
        self.problem, self.system = problem, system
        self.signs = (1.0, -1.0) if problem.loss.has_upper_bound else (1.0,)
        self.alpha = 0.5 * problem.bound
        gradient = self.gradient(problem.project(problem.combine(self.alpha)))
        least = max(1.0, float(np.abs(gradient).mean()))  # a large C has large multipliers
        self.multipliers = tuple(np.maximum(sign * gradient, 0) + least for sign in self.signs)

    def gradient(self, margins: Double) -> Double:
        """Of the dual, given the margins of the combination."""
        return margins - 1 + self.problem.diagonal * self.alpha

    def distances(self, alpha: Double) -> tuple[Double, ...]:
        """From the barriers."""
        return (alpha, self.problem.bound - alpha)[: len(self.signs)]

    def _after(self, step: float, moves: Moves) -> tuple[Double, tuple[Double, ...]]:
        """Alpha and the multipliers after a step."""
        values = (self.alpha, *self.multipliers)
        alpha, *multipliers = (value + step * move for value, move in zip(values, moves, strict=True))
        return alpha, tuple(multipliers)

    def _product(self, alpha: Double, multipliers: tuple[Double, ...]) -> float:
        """Mean of the products of multipliers and distances: 0 at the optimum."""
        pairs = zip(self.distances(alpha), multipliers, strict=True)
        return sum((distance * multiplier).mean() for distance, multiplier in pairs) / len(multipliers)

    def _scale(self) -> Double:
        """S of the system: what the dual and its barriers add to the diagonal, inverted."""
        theta = self.problem.diagonal.copy()
        for distance, multiplier in zip(self.distances(self.alpha), self.multipliers, strict=True):
            theta += multiplier / distance
        return np.reciprocal(theta, out=theta)

    def _moves(self, gradient: Double, goals: Sequence[Any]) -> Moves:
        """Newton's moves of alpha and the multipliers towards multiplier times distance = goal."""
        right, own, distances = -gradient, [], self.distances(self.alpha)
        for sign, goal, distance, multiplier in zip(self.signs, goals, distances, self.multipliers, strict=True):
            own.append(goal / distance - multiplier)
            right += sign * (multiplier + own[-1])
        move = self.system.solve(right)
        return move, *(towards - sign * multiplier / distance * move for sign, towards, distance, multiplier
                       in zip(self.signs, own, distances, self.multipliers, strict=True))

    def _longest(self, moves: Moves) -> float:
        """Longest step, 1 at most, on which nothing becomes negative."""
        distances = zip(self.distances(self.alpha), self.signs, strict=True)
        nearest = [(moves[0] / distance * -sign).max() for distance, sign in distances]
        nearest += [(-move / value).max() for value, move in zip(self.multipliers, moves[1:], strict=True)]
        return min(1.0, *(1 / max(1e-300, share) for share in nearest))

    def advance(self, gradient: Double) -> bool:
        """Predict, correct and step; return False where rounding allows no more."""
        if not all(distance.min() > 0 for distance in self.distances(self.alpha)):
            return False  # rounding has put a row on its barrier
        if not self.system.factorise(self._scale()):
            return False
        moves = self._moves(gradient, [0.0] * len(self.signs))
        now = self._product(self.alpha, self.multipliers)
        goal = (self._product(*self._after(self._longest(moves), moves)) / now) ** 3 * now
        moves = self._moves(gradient, [goal - sign * moves[0] * move
                                       for sign, move in zip(self.signs, moves[1:], strict=True)])
        step = _FRACTION_TO_BOUNDARY * self._longest(moves)
        if not (np.isfinite(moves).all() and np.isfinite(step)):
            return False
        self.alpha, self.multipliers = self._after(step, moves)
        return True


def interior_point(problem: "Problem", system: "SplitSystem", machine: "Machine", tol: float) -> "Machine":
    """Mehrotra's predictor and corrector on the dual; its systems are those of Ferris and Munson (2002), split."""
    barrier, n_passes = _Barrier(problem, system), machine.n_passes
    for n_steps in range(MAX_STEPS + 1):
        coef = problem.combine(barrier.alpha)
        margins = problem.project(coef)
        primal = problem.primal(coef, margins)
        gap = (primal - problem.dual(barrier.alpha, coef)) / primal
        if gap < machine.gap or n_steps == 0:
            machine = machine._replace(coef=coef, margins=margins, n_passes=n_passes + n_steps, gap=gap)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # at the end of what rounding allows
            if gap <= tol or n_steps == MAX_STEPS or not barrier.advance(barrier.gradient(margins)):
                break
    return machine
