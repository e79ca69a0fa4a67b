"""An interior point method for the dual of linear support vector machines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._kernels.array_types import NDArray

if TYPE_CHECKING:
    from .linear_svm import Machine, Problem
    from .newton_systems import SplitSystem

Double = NDArray[np.float64]
Moves = tuple[Double, ...]  # of alpha, then of the multipliers

# Largest number of Newton steps; 5 to 50 are usual.
MAX_STEPS = 300

# Products of multipliers and distances at the start, as a multiple of those that the gap of a machine stands for; and
# the fraction of the way between the barriers that a row is moved away from one at most.
_START = 3.0
_AWAY = 0.25

# Steps without a smaller gap, once there are no products left, that end the method: rounding decides.
_MOST_IDLE = 5

# Fraction of the way to the nearest barrier that a step takes.
_FRACTION_TO_BOUNDARY = 0.995


def _gradient(problem: "Problem", alpha: Double, margins: Double) -> Double:
    """Of the dual at alpha, whose combination of rows gives these margins."""
    return margins - 1 + problem.diagonal * alpha


def _distances(problem: "Problem", alpha: Double) -> tuple[Double, ...]:
    """From the barriers."""
    return (alpha, problem.bound - alpha) if problem.loss.has_upper_bound else (alpha,)


def _start_near(problem: "Problem", machine: "Machine") -> tuple[Double, Moves]:
    """Alpha of a machine, moved away from the barriers, and multipliers of which all products are alike."""
    primal = problem.primal(machine.coef, machine.margins)
    product = max(_START * machine.gap * primal / problem.n_samples, 1e-300)
    gradient, away = _gradient(problem, machine.alpha, machine.margins), _AWAY * problem.bound
    alpha = np.maximum(machine.alpha, product / np.maximum(gradient, product / away))
    if problem.loss.has_upper_bound:
        alpha = np.minimum(alpha, problem.bound - product / np.maximum(-gradient, product / away))
    return alpha, tuple(product / distance for distance in _distances(problem, alpha))


def _start_far(problem: "Problem", machine: "Machine") -> tuple[Double, Moves]:
    """The middle between the barriers, and multipliers that make up the gradient."""
    alpha = 0.5 * problem.bound
    gradient = _gradient(problem, alpha, problem.project(problem.combine(alpha)))
    least = max(1.0, float(np.abs(gradient).mean()))  # a large C has large multipliers
    signs = (1.0, -1.0) if problem.loss.has_upper_bound else (1.0,)
    return alpha, tuple(np.maximum(sign * gradient, 0) + least for sign in signs)


class _Barrier:
    """Interior point state: 0 < alpha, and alpha < bound with the hinge loss, with multipliers of these constraints.

    The sign of a constraint is 1 where alpha is above its barrier, -1 where it is below.
    """

    def __init__(self, problem: "Problem", system: "SplitSystem", alpha: Double, multipliers: Moves) -> None:
        self.problem, self.system, self.alpha, self.multipliers = problem, system, alpha, multipliers
        self.signs = (1.0, -1.0) if problem.loss.has_upper_bound else (1.0,)

    def _after(self, step: float, moves: Moves) -> tuple[Double, tuple[Double, ...]]:
        """Alpha and the multipliers after a step."""
        values = (self.alpha, *self.multipliers)
        alpha, *multipliers = (value + step * move for value, move in zip(values, moves, strict=True))
        return alpha, tuple(multipliers)

    def _product(self, alpha: Double, multipliers: tuple[Double, ...]) -> float:
        """Mean of the products of multipliers and distances: 0 at the optimum."""
        pairs = zip(_distances(self.problem, alpha), multipliers, strict=True)
        return sum((distance * multiplier).mean() for distance, multiplier in pairs) / len(multipliers)

    def _scale(self) -> Double:
        """S of the system: what the dual and its barriers add to the diagonal, inverted."""
        theta = self.problem.diagonal.copy()
        for distance, multiplier in zip(_distances(self.problem, self.alpha), self.multipliers, strict=True):
            theta += multiplier / distance
        return np.reciprocal(theta, out=theta)

    def _moves(self, gradient: Double, goals: Sequence[Any]) -> Moves:
        """Newton's moves of alpha and the multipliers towards multiplier times distance = goal."""
        right, own, distances = -gradient, [], _distances(self.problem, self.alpha)
        for sign, goal, distance, multiplier in zip(self.signs, goals, distances, self.multipliers, strict=True):
            own.append(goal / distance - multiplier)
            right += sign * (multiplier + own[-1])
        move = self.system.solve(right)
        return move, *(towards - sign * multiplier / distance * move for sign, towards, distance, multiplier
                       in zip(self.signs, own, distances, self.multipliers, strict=True))

    def _longest(self, moves: Moves) -> float:
        """Longest step, 1 at most, on which nothing becomes negative."""
        distances = zip(_distances(self.problem, self.alpha), self.signs, strict=True)
        nearest = [(moves[0] / distance * -sign).max() for distance, sign in distances]
        nearest += [(-move / value).max() for value, move in zip(self.multipliers, moves[1:], strict=True)]
        return min(1.0, *(1 / max(1e-300, share) for share in nearest))

    def is_closed(self, share: float) -> bool:
        """Whether products are less than so much of what the largest alpha could add to the dual."""
        return self._product(self.alpha, self.multipliers) < share * float(np.abs(self.alpha).mean())

    def advance(self, margins: Double) -> bool:
        """Predict, correct and step; return False where rounding allows no more."""
        gradient = _gradient(self.problem, self.alpha, margins)
        if not all(distance.min() > 0 for distance in _distances(self.problem, self.alpha)):
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


def _follow(barrier: _Barrier, machine: "Machine", tol: float) -> "Machine":
    """The best machine on the way of a barrier method, which begins with so many passes made."""
    problem, n_passes, best, n_idle = barrier.problem, machine.n_passes, machine, 0
    for n_steps in range(MAX_STEPS + 1):
        coef, margins = _combined(problem, barrier.alpha)
        found = problem.machine(barrier.alpha, coef, margins, n_passes + n_steps)
        problem.tell(found.n_passes, found.gap)
        n_idle = n_idle + 1 if found.gap >= best.gap and barrier.is_closed(tol * best.gap) else 0
        best = found if found.gap < best.gap else best._replace(n_passes=found.n_passes)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # at the end of what rounding allows
            if best.gap <= tol or n_steps == MAX_STEPS or n_idle == _MOST_IDLE or not barrier.advance(margins):
                break
    return best


def _combined(problem: "Problem", alpha: Double) -> tuple[Double, Double]:
    """The combination of rows by alpha, and its margins."""
    coef = problem.combine(alpha)
    return coef, problem.project(coef)


def interior_point(problem: "Problem", system: "SplitSystem", machine: "Machine", tol: float) -> "Machine":
    """Mehrotra's predictor and corrector on the dual; its systems are those of Ferris and Munson (2002), split.

    A start near a machine saves half of the steps.  Where bounds differ by orders of magnitude it may come to its end
    too soon; then the one that is farthest from all barriers follows.
    """
    for alpha in (machine.alpha, np.zeros(problem.n_samples)):
        machine = problem.machine(alpha, *_combined(problem, alpha), machine.n_passes)
        if machine.gap <= 1:  # which 0 has
            break
    for start in (_start_near, _start_far):
        if machine.gap > tol:
            machine = _follow(_Barrier(problem, system, *start(problem, machine)), machine, tol)
    return machine
