"""Coefficients of weak learners that minimise the logistic loss.

The objective is the sum over rows of weight log(1 + exp(-y s)), or of the multinomial logistic loss where there are
several outputs, plus lambda/8 |s|^2, s being the score less its intercept.  Least squares is its second-order
approximation at s = 0, with s = 2 F, so that conjugate gradients start from there.  In the coordinates in which weak
learners are orthonormal for least squares, the Hessian is near a multiple of the identity, and a few steps suffice.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._native import solvers
from ..._native.array_types import NDArray
from .ensemble import Ensemble
from .least_squares import Coefficients, LeastSquares
from .stages import CoefficientPath

Double = NDArray[np.float64]

# Steps of conjugate gradients, and of Newton's method along each; the former end where the gradient is smaller than
# this share of the first one.
_MOST_STEPS = 100
_NEWTON_STEPS = 5
_SMALL_GRADIENT = 1e-3


class Logistic(NamedTuple):
    """Coefficients for the logistic loss."""

    coef: Double  # (n_learners, n_outputs)
    intercept: Double  # (n_outputs,)


class _Problem:
    """The objective for the first weak learners of least squares on signs.

    Points are intercepts and orthonormal coordinates, an array (n_outputs, 1 + n_learners).
    """

    def __init__(self, fit: LeastSquares, n_learners: int, signs: Double) -> None:
        self._fit, self._n_learners = fit, n_learners
        rows = fit.training.rows
        self._weight = rows.weight.reshape(-1)
        self._positive = np.zeros((signs.shape[1], self._weight.size))
        self._positive[:, : len(signs)] = signs.T > 0
        self._ridge = 0.25 * fit.settings.reg_lambda
        self._unit = 1 / np.sqrt(max(rows.weights.total, 1e-300))  # of intercepts

    def coefficients(self, point: Double) -> Double:
        """Coefficients (n_outputs, n_learners) of a point."""
        coef = point[:, 1:].copy()
        for of_output in coef:
            solvers.solve_factorised(self._fit.coefficients.factor, of_output, forward=False)
        return coef

    def values(self, coef: Double) -> Double:
        """Sums of weak learners at all rows, (n_outputs, n_rows)."""
        return self._fit.training.combined(coef).reshape(len(coef), -1)

    def intercepts(self, point: Double) -> Double:
        """Intercepts (n_outputs, 1) of a point."""
        return self._unit * point[:, :1]

    def point(self, intercept: Double, orthonormal: Double) -> Double:
        """The point of intercepts (n_outputs,) and coordinates (n_learners, n_outputs)."""
        return np.column_stack([intercept / self._unit, orthonormal.T])

    def probabilities(self, scores: Double) -> Double:
        """Of the positive label of each output."""
        if len(scores) == 1:
            return 0.5 * (1 + np.tanh(0.5 * scores))
        odds = np.exp(scores - scores.max(axis=0))
        return odds / odds.sum(axis=0)

    def descent(self, scores: Double, values: Double, coef: Double) -> Double:
        """The negative gradient at a point with these scores, values of weak learners and coefficients."""
        pull = np.ascontiguousarray(self._positive - self.probabilities(scores))
        fit, n_learners = self._fit, self._n_learners
        slopes = fit.training.products(fit.training.columns, n_learners, pull.reshape(len(pull), -1, 128))
        slopes -= self._ridge * fit.inner_products(values, coef)
        for slope in slopes:
            solvers.solve_factorised(fit.coefficients.factor, slope, back=False)
        return np.column_stack([self._unit * (pull @ self._weight), slopes])

    def best_step(self, scores: Double, direction: Double, along: Double, ridges: tuple[float, float]) -> float:
        """The length of the step along a direction of scores, by Newton's method.

        `ridges` are the inner product of the model with the direction, and that of the direction with itself.
        """
        step, curvature = 0.0, 0.0
        for _ in range(_NEWTON_STEPS):
            found = self.probabilities(scores + step * along)
            spread = found * along
            if len(found) == 1:
                squares = found * (1 - found) * along**2
            else:
                squares = spread * along - spread * spread.sum(axis=0)
            slope = ((found - self._positive) * along).sum(axis=0) @ self._weight
            slope += self._ridge * (ridges[0] + step * ridges[1])
            # Never below what it was before: far out, the loss is nearly linear.
            curvature = max(squares.sum(axis=0) @ self._weight + self._ridge * ridges[1], 0.25 * curvature, 1e-300)
            step -= slope / curvature
        return float(step)


def logistic_coefficients(fit: LeastSquares, n_learners: int, signs: Double, intercept: Double) -> Logistic:
    """Coefficients of the first weak learners for the logistic loss of labels.

    Parameters
    ----------
    fit : LeastSquares on `signs` less `intercept`
    n_learners : int
    signs : array of shape (n_samples, n_outputs), of -1 and +1
    intercept : array of shape (n_outputs,)
    """
    problem = _Problem(fit, n_learners, signs)
    stage: Coefficients = fit.coefficients
    point = problem.point(2 * intercept, 2 * stage.orthonormal[:n_learners])
    coef = np.ascontiguousarray(2 * stage.at(n_learners).T)
    values = problem.values(coef)
    direction, first, before = np.zeros_like(point), np.inf, np.zeros_like(point)
    for k in range(_MOST_STEPS):
        scores = problem.intercepts(point) + values
        descent = problem.descent(scores, values, coef)
        square = (descent**2).sum()
        first = square if k == 0 else first
        if not square > _SMALL_GRADIENT**2 * first:
            break
        share = max(0.0, (descent * (descent - before)).sum() / (before**2).sum()) if k else 0.0
        direction, before = descent + share * direction, descent
        moved = problem.coefficients(direction)
        of_direction = problem.values(moved)
        with_direction = fit.inner_products(of_direction, moved)
        ridges = float((coef * with_direction).sum()), float((moved * with_direction).sum())
        step = problem.best_step(scores, direction, problem.intercepts(direction) + of_direction, ridges)
        if not np.isfinite(step) or step <= 0:
            break
        point = point + step * direction
        coef, values = coef + step * moved, values + step * of_direction
    return Logistic(coef.T, problem.intercepts(point)[:, 0])


def with_logistic_loss(ensembles: Sequence[Ensemble], paths: Sequence[CoefficientPath], signs: Double,
                       intercepts: Double) -> tuple[list[CoefficientPath], Double]:
    """Paths whose last coefficients minimise the logistic loss, and the intercepts with them, both in units of 2."""
    changed, found = [], np.empty(len(intercepts))
    for ensemble, path in zip(ensembles, paths, strict=True):
        (group,), n_learners = path.groups, len(path.learners)
        logistic = logistic_coefficients(ensemble.group.least_squares, n_learners, signs[:, path.outputs],
                                         intercepts[path.outputs])
        changed.append(path._replace(groups=[group._replace(last=0.5 * logistic.coef)]))
        found[path.outputs] = 0.5 * logistic.intercept
    return changed, found
