"""An interior point method for the dual of linear support vector machines with the hinge loss."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .linear_svm import Machine, Problem
    from .newton_systems import SplitSystem

Double = NDArray[np.float64]
Moves = tuple[Double, Double, Double]

# Largest number of Newton steps; 5 to 50 are usual.
MAX_STEPS = 300

# Fraction of the way to the nearest barrier that a step takes.
_FRACTION_TO_BOUNDARY = 0.995


class _Barrier:
    """Interior point state for the hinge loss: 0 < alpha < bound, and the multipliers of both constraints."""

    def __init__(self, problem: "Problem", system: "SplitSystem") -> None:
        self.problem, self.system = problem, system
        self.alpha = 0.5 * problem.bound
        gradient = problem.project(problem.combine(self.alpha)) - 1
        self.low_multiplier, self.high_multiplier = np.maximum(gradient, 0) + 1, np.maximum(-gradient, 0) + 1

    @property
    def distance(self) -> Double:
        """From alpha up to the bound."""
        return self.problem.bound - self.alpha

    def _after(self, step: float, moves: Moves) -> Moves:
        """Alpha and both multipliers after a step."""
        return (self.alpha + step * moves[0], self.low_multiplier + step * moves[1],
                self.high_multiplier + step * moves[2])

    def _products(self, alpha: Double, low: Double, high: Double) -> float:
        """Mean of the products of multipliers and distances: 0 at the optimum."""
        return 0.5 * ((alpha * low).mean() + ((self.problem.bound - alpha) * high).mean())

    def _moves(self, gradient: Double, low_goal: Any, high_goal: Any) -> Moves:
        """Newton's moves of alpha and both multipliers towards multiplier times distance = goal."""
        low = low_goal / self.alpha - self.low_multiplier
        high = high_goal / self.distance - self.high_multiplier
        right = -(gradient - self.low_multiplier + self.high_multiplier) + low - high
        move = self.system.solve(right)
        return move, low - self.low_multiplier / self.alpha * move, high + self.high_multiplier / self.distance * move

    def _longest(self, moves: Moves) -> float:
        """Longest step, 1 at most, on which nothing becomes negative."""
        pairs = ((self.alpha, moves[0]), (self.low_multiplier, moves[1]), (self.distance, -moves[0]),
                 (self.high_multiplier, moves[2]))
        return min(1.0, *(1 / max(1e-300, (-move / value).max()) for value, move in pairs))

    def advance(self, gradient: Double) -> bool:
        """Predict, correct and step; return False where rounding allows no more."""
        if not (self.alpha.min() > 0 and self.distance.min() > 0):
            return False  # rounding has put a row on its barrier
        theta = self.low_multiplier / self.alpha + self.high_multiplier / self.distance
        if not self.system.factorise(1 / theta):
            return False
        moves = self._moves(gradient, 0.0, 0.0)
        now = self._products(self.alpha, self.low_multiplier, self.high_multiplier)
        goal = (self._products(*self._after(self._longest(moves), moves)) / now) ** 3 * now
        moves = self._moves(gradient, goal - moves[0] * moves[1], goal + moves[0] * moves[2])
        step = _FRACTION_TO_BOUNDARY * self._longest(moves)
        if not (np.isfinite(moves).all() and np.isfinite(step)):
            return False
        self.alpha, self.low_multiplier, self.high_multiplier = self._after(step, moves)
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
            if gap <= tol or n_steps == MAX_STEPS or not barrier.advance(margins - 1):
                break
    return machine
