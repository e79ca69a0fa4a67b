"""Linear support vector machines on the features that the pseudo-Bayesian family makes.

With sign y in {-1, +1} and bound U_i = C weight_i the primal problem is: minimise 1/2 |w|^2 + sum over rows of
U_i max(0, 1 - y_i w . x_i), or its square; `_dual.pyx` states the dual.  Coordinate descent solves most; where C is
large it crawls, and an interior point method, whose steps do not depend on C, takes over.  Either ends only when primal
and dual objective agree.
"""

import warnings
from typing import NamedTuple

import numpy as np

from ._kernels import _dual

# Multiply-adds between two looks at the exact gap at most, so that an interrupt is heard within a second.
_WORK = 5e8

# Epochs of coordinate descent for each column, after which an interior point method is cheaper, and the widest it is
# for.
_EPOCHS_PER_COLUMN = 8
_WIDEST = 2000

# Steps of the interior point method at most, of which it takes about 20, and chunks of rows its sums are made of.
_MAX_STEPS = 200
_CHUNKS = 8

# Share of the way to the boundary that a step goes.
_BOLDNESS = 0.995

# Of a probability in the score, in units of the largest margin: order is kept even where scores tell nothing.
_SMALLEST_SLOPE = 1e-3


class Machine(NamedTuple):
    """A separating direction w, what it makes of the rows, the epochs it took, the relative gap between its
    objectives.
    """

    coef: np.ndarray  # (width,) float64
    margins: np.ndarray  # (n_samples,) y w . x
    n_epochs: int
    gap: float


class _Problem:
    """Rows, signs and bounds, and the exact objectives at a point of the dual."""

    def __init__(self, features, sign, bound, squared, n_threads):
        self.features, self.sign, self.bound, self.squared, self.n_threads = features, sign, bound, squared, n_threads
        self.n_samples, self.width = features.shape
        self.diagonal = 0.5 / bound if squared else np.zeros(self.n_samples)
        self.coef, self.margins = np.zeros(self.width, features.dtype), np.zeros(self.n_samples)
        self.partial = np.empty((-(-self.n_samples // _dual.ROWS_PER_BLOCK), self.width))

    def apply(self, alpha):
        """Set `coef` to sum of alpha y x and return `margins`, y x . coef."""
        _dual.combine_rows(self.features, self.sign, alpha, self.coef, self.partial, self.n_threads)
        _dual.project_rows(self.features, self.sign, self.coef, self.margins, self.n_threads)
        return self.margins

    def gap(self, alpha):
        """(primal - dual) / primal."""
        slack = np.maximum(0, 1 - self.apply(alpha))
        length = 0.5 * (self.coef.astype(np.float64) ** 2).sum()
        primal = length + (self.bound * (slack**2 if self.squared else slack)).sum()
        dual = alpha.sum() - length - 0.5 * (self.diagonal * alpha**2).sum()
        return (primal - dual) / primal

    def machine(self, n_epochs, gap):
        return Machine(self.coef.astype(np.float64), self.margins.copy(), n_epochs, gap)


def fit_machine(features, sign, bound, squared, tol, seed, n_threads):
    """Solve the problem to a relative gap of tol.

    Parameters
    ----------
    features : float32 or float64 array of shape (n_samples, width), width a multiple of LANE_COUNT, padded with 0
    sign : int8 array of shape (n_samples,), -1 or +1
    bound : float64 array of shape (n_samples,), positive
    squared : bool
    tol : float, (primal - dual) / primal at which to stop
    seed : int > 0, decides the order in which rows are visited
    n_threads : int

    Returns
    -------
    Machine
    """
    problem = _Problem(features, sign, bound, squared, n_threads)
    alpha = np.zeros(problem.n_samples)
    curvature = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    active, state = np.arange(problem.n_samples), np.array([seed], np.uint64)
    at_a_time = int(max(1, min(1000, _WORK // features.size)))
    goal, n_epochs = tol, 0
    while problem.width > _WIDEST or n_epochs < _EPOCHS_PER_COLUMN * problem.width:
        done = _dual.descend_dual(features, sign, bound, curvature, squared, goal, at_a_time, alpha, problem.coef,
                                  active, state)
        gap, n_epochs = problem.gap(alpha), n_epochs + done
        if gap <= tol:
            return problem.machine(n_epochs, gap)
        if done < at_a_time:
            goal *= 0.5  # the gap that the rows met on the way was too sanguine
    return _interior_point(_Problem(features.astype(np.float64), sign, bound, squared, n_threads), tol, n_epochs)


class _Barrier:
    """Interior point state: 0 < alpha < bound (squared hinge loss: no upper end), and the prices of both ends."""

    def __init__(self, problem):
        self.problem = problem
        self.alpha = 0.5 * (np.minimum(problem.bound, 1) if problem.squared else problem.bound)
        gradient = self._gradient()
        self.low_price = np.maximum(gradient, 0) + 1
        self.high_price = 0 * gradient if problem.squared else np.maximum(-gradient, 0) + 1
        self.gram = np.empty((_CHUNKS, problem.width, problem.width))
        self.direction = np.empty(problem.width)

    def _gradient(self):
        return self.problem.apply(self.alpha) + self.problem.diagonal * self.alpha - 1

    @property
    def _room(self):
        return np.inf if self.problem.squared else self.problem.bound - self.alpha

    def _products(self, step=0.0, moves=(0.0, 0.0, 0.0)):
        """Mean of the products of prices and distances after a step: 0 at the optimum."""
        alpha, low, high = (value + step * move for value, move in
                            zip((self.alpha, self.low_price, self.high_price), moves, strict=True))
        if self.problem.squared:
            return (alpha * low).mean()
        return 0.5 * ((alpha * low).mean() + ((self.problem.bound - alpha) * high).mean())

    def _factorise(self):
        """Factor of I + sum of x x' / theta, theta the diagonal of the reduced system."""
        self.theta = self.problem.diagonal + self.low_price / self.alpha + self.high_price / self._room
        _dual.weighted_gram(self.problem.features, 1 / self.theta, self.gram, self.problem.n_threads)
        self.gram[0].flat[:: self.problem.width + 1] += 1
        return _dual.factorise(self.gram[0])

    def _moves(self, gradient, low_goal, high_goal):
        """Newton's moves of alpha and both prices towards price times distance = goal."""
        problem = self.problem
        low = low_goal / self.alpha - self.low_price
        high = high_goal / self._room - self.high_price
        right = -(gradient - self.low_price + self.high_price) + low - high
        _dual.combine_rows(problem.features, problem.sign, right / self.theta, self.direction, problem.partial,
                           problem.n_threads)
        _dual.solve_factorised(self.gram[0], self.direction)
        _dual.project_rows(problem.features, problem.sign, self.direction, problem.margins, problem.n_threads)
        move = (right - problem.margins) / self.theta
        return move, low - self.low_price / self.alpha * move, high + self.high_price / self._room * move

    def _longest(self, moves):
        """Longest step, 1 at most, on which nothing becomes negative."""
        pairs = [(self.alpha, moves[0]), (self.low_price, moves[1])]
        if not self.problem.squared:
            pairs += [(self._room, -moves[0]), (self.high_price, moves[2])]
        return min(1.0, *(1 / max(1e-300, (-move / value).max()) for value, move in pairs))

    def advance(self):
        """Predict, correct and step; return False where rounding allows no more."""
        gradient = self._gradient()
        if not self._factorise():
            return False
        moves = self._moves(gradient, 0.0, 0.0)
        now = self._products()
        goal = (self._products(self._longest(moves), moves) / now) ** 3 * now
        moves = self._moves(gradient, goal - moves[0] * moves[1], goal + moves[0] * moves[2])
        step = _BOLDNESS * self._longest(moves)
        self.alpha, self.low_price, self.high_price = (value + step * move for value, move in zip(
            (self.alpha, self.low_price, self.high_price), moves, strict=True))
        return True


def _interior_point(problem, tol, n_epochs):
    """Mehrotra's predictor and corrector for the dual; its systems are of the size of w (Ferris and Munson, 2002)."""
    barrier, n_steps = _Barrier(problem), 0
    while (gap := problem.gap(barrier.alpha)) > tol and n_steps < _MAX_STEPS and barrier.advance():
        n_steps += 1
    if gap > tol:
        warnings.warn(f"rounding keeps the support vector machine from the relative gap tol = {tol:g} between its "
                      f"objectives; it stopped at {gap:.2g}", RuntimeWarning, stacklevel=4)
    return problem.machine(n_epochs + n_steps, gap)


def probability_slope(margins, signs, weight):
    """Slope A of highest likelihood where a row of margin m is right with probability 1 / (1 + exp(-A m)).

    Each row counts as right with the odds of J. Platt (1999), (n + 1) / (n + 2) with n the rows of its sign, so that
    margins without a fault do not make the slope infinite.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_machines), y score
    signs : int8 array of shape (n_samples, n_machines)
    weight : float64 array of shape (n_samples,) or None
    """
    weight = np.ones(len(margins)) if weight is None else weight
    positive = weight @ (signs > 0)
    n_alike = np.where(signs > 0, positive, weight.sum() - positive)
    right = (n_alike + 1) / (n_alike + 2)
    unit = np.abs(margins).max() or 1.0
    margins, weighted = margins / unit, weight[:, None] * margins / unit
    low, high, slope = 0.0, 1e6, 1.0
    for _ in range(100):
        likely = 0.5 * (1 + np.tanh(0.5 * slope * margins))
        gradient = (weighted * (likely - right)).sum()
        curvature = (weighted * margins * likely * (1 - likely)).sum()
        low, high = (low, slope) if gradient > 0 else (slope, high)
        trial = slope - gradient / curvature if curvature > 0 else high
        trial = trial if low < trial < high else 0.5 * (low + high)
        if abs(trial - slope) <= 1e-9 * slope:
            break
        slope = trial
    return max(slope, _SMALLEST_SLOPE) / unit
