"""Linear support vector machines on the features that the pseudo-Bayesian family makes.

With sign y in {-1, +1} and bound U_i = C weight_i the primal problem is: minimise 1/2 |w|^2 + sum over rows of
U_i max(0, 1 - y_i w . x_i), or its square; `linear_svm.pyx` states the dual.  Coordinate descent on the dual begins, and
ends easy problems.  With many rows or a large C it crawls; then Newton's method goes on, on the primal for the squared
hinge loss and between barriers on the dual for the hinge loss, whose steps depend on neither.  All end only when primal
and dual objective agree.
"""

import warnings
from typing import NamedTuple

import numpy as np

from .._data.threads import check_n_threads
from .._kernels import linalg, linear_svm

# Passes of coordinate descent: for the squared hinge loss, and for each column for the hinge loss.  Newton's method
# wants matrices of the size of w, up to this.
_EPOCHS = 2
_EPOCHS_PER_COLUMN = 3
_WIDEST = 1000

# Looks at the gap until it must have halved, else rounding is what keeps it from falling.
_PATIENCE = 50

# Multiply-adds at a time at most, so that an interrupt is heard within a second.
_WORK = 5e8

# Steps of Newton's methods at most, of which they take 5 to 50, and chunks of rows their sums are made of.
_MAX_STEPS = 300
_CHUNKS = 8

# In single precision a gap is known to this.
_SINGLE_TOLERANCE = 1e-6

# Share of the way to a barrier that a step goes.
_BOLDNESS = 0.995

# Of a probability in the score, in units of the largest margin: order is kept even where scores tell nothing.
_SMALLEST_SLOPE = 1e-3


class Machine(NamedTuple):
    """A separating direction w, what it makes of the rows, the passes it took, the relative gap of its objectives."""

    coef: np.ndarray  # (width,) float64
    margins: np.ndarray  # (n_samples,) y w . x
    n_passes: int
    gap: float


class _Problem:
    """Rows, signs and bounds, with the sums over rows that all methods want."""

    def __init__(self, features, sign, bound, squared, n_threads):
        self.features, self.sign, self.bound, self.squared = features, sign, bound, squared
        self.n_samples, self.width = features.shape
        self.wanted_threads, self.n_threads = n_threads, check_n_threads(n_threads, features.size)
        self.diagonal = 0.5 / bound if squared else np.zeros(self.n_samples)
        self.partial = np.empty((-(-self.n_samples // linear_svm.ROWS_PER_BLOCK), self.width))
        self.gram = None

    def combine(self, alpha):
        """Sum of alpha y x, in the precision of the features."""
        coef = np.empty(self.width, self.features.dtype)
        linear_svm.combine_rows(self.features, self.sign, alpha, coef, self.partial, self.n_threads)
        return coef

    def project(self, coef):
        """Margins y x . coef."""
        margins = np.empty(self.n_samples)
        linear_svm.project_rows(self.features, self.sign, coef.astype(self.features.dtype), margins, self.n_threads)
        return margins

    def factorise(self, scale):
        """Factor of I + sum of scale x x', or None where rounding left it no positive definite matrix."""
        if self.gram is None:
            self.gram = np.empty((min(_CHUNKS, len(self.partial)), self.width, self.width))
            n_threads = check_n_threads(self.wanted_threads, self.features.size * self.width)
            self.scratch = np.zeros((n_threads, linear_svm.gram_scratch(self.width)), self.features.dtype)
            self.factor_scratch = np.empty((n_threads, linalg.factor_scratch(self.width)))
        linear_svm.weighted_gram(self.features, scale, self.gram, self.scratch, len(self.scratch))
        self.gram[0].flat[:: self.width + 1] += 1
        return self.gram[0] if linalg.factorise(self.gram[0], self.factor_scratch, len(self.scratch)) else None

    def losses(self, margins):
        slack = np.maximum(0, 1 - margins)
        return (self.bound * (slack**2 if self.squared else slack)).sum()

    def primal(self, coef, margins):
        return 0.5 * _squares(coef) + self.losses(margins)

    def dual(self, alpha, coef):
        """At alpha, whose combination of rows is coef."""
        return alpha.sum() - 0.5 * _squares(coef) - 0.5 * (self.diagonal * alpha**2).sum()

    def in_double(self):
        return _Problem(self.features.astype(np.float64), self.sign, self.bound, self.squared, self.wanted_threads)


def _squares(coef):
    return (coef.astype(np.float64) ** 2).sum()


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
    n_threads : int or None, as the parameter of models

    Returns
    -------
    Machine
    """
    if tol < _SINGLE_TOLERANCE:
        features = features.astype(np.float64, copy=False)
    problem = _Problem(features, sign, bound, squared, n_threads)
    wide = problem.width > _WIDEST
    machine = _descend(problem, tol, seed)
    if not machine.gap <= tol and squared and not wide:
        machine = _newton(problem, machine, tol)
    if not machine.gap <= tol and (features.dtype == np.float32 or not (squared or wide)):
        problem = problem if features.dtype == np.float64 else problem.in_double()
        machine = (_descend(problem, tol, seed) if wide else
                   (_newton if squared else _interior_point)(problem, machine, tol))
    if not machine.gap <= tol:
        warnings.warn(f"rounding keeps the support vector machine from the relative gap tol = {tol:g} between its "
                      f"objectives; it stopped at {machine.gap:.2g}", RuntimeWarning, stacklevel=3)
    return machine


def _descend(problem, tol, seed):
    """Coordinate descent on the dual, for as long as Newton's method would not be quicker."""
    features, alpha = problem.features, np.zeros(problem.n_samples)
    curvature = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    coef, active = np.zeros(problem.width, features.dtype), np.arange(problem.n_samples)
    state, goal, n_passes, best, since_best = np.array([seed], np.uint64), tol, 0, np.inf, 0
    at_a_time = int(max(1, min(1000, _WORK // features.size)))
    at_most = np.inf if problem.width > _WIDEST else _EPOCHS if problem.squared else _EPOCHS_PER_COLUMN * problem.width
    while True:
        allowed = int(min(at_a_time, at_most - n_passes))
        done = linear_svm.descend_dual(features, problem.sign, problem.bound, curvature, problem.squared, goal, allowed,
                                  alpha, coef, active, state)
        n_passes += done
        coef = problem.combine(alpha)
        margins = problem.project(coef)
        primal = problem.primal(coef, margins)
        gap = (primal - problem.dual(alpha, coef)) / primal
        best, since_best = (gap, 0) if gap < 0.5 * best else (best, since_best + 1)
        if gap <= tol or n_passes >= at_most or since_best == _PATIENCE:
            return Machine(coef.astype(np.float64), margins, n_passes, gap)
        if done < allowed:
            goal *= 0.5  # the gap that the rows met on the way was too sanguine


def _newton(problem, machine, tol):
    """Newton's method on the primal with the squared hinge loss, whose curvature is that of the rows in error."""
    coef, n_passes = machine.coef, machine.n_passes
    margins = problem.project(coef)  # anew, for those of the machine may be of lower precision
    primal = problem.primal(coef, margins)
    for _ in range(_MAX_STEPS):
        alpha = 2 * problem.bound * np.maximum(0, 1 - margins)
        combined = problem.combine(alpha).astype(np.float64)
        gap = (primal - problem.dual(alpha, combined)) / primal
        factor = None if gap <= tol else problem.factorise(2 * problem.bound * (margins < 1))
        if factor is None:
            break
        direction = combined - coef
        linalg.solve_factorised(factor, direction)
        slope, along, step = direction @ (coef - combined), problem.project(direction), 1.0
        while step > 1e-10:
            trial = problem.primal(coef + step * direction, margins + step * along)
            if trial < primal + 1e-4 * step * slope:
                break
            step *= 0.5
        else:
            break
        coef, primal = coef + step * direction, trial
        margins = problem.project(coef)
        n_passes += 1
    return Machine(coef, margins, n_passes, gap)


class _Barrier:
    """Interior point state for the hinge loss: 0 < alpha < bound, and the prices of both ends."""

    def __init__(self, problem):
        self.problem = problem
        self.alpha = 0.5 * problem.bound
        gradient = problem.project(problem.combine(self.alpha)) - 1
        self.low_price, self.high_price = np.maximum(gradient, 0) + 1, np.maximum(-gradient, 0) + 1

    @property
    def room(self):
        return self.problem.bound - self.alpha

    def _products(self, step=0.0, moves=(0.0, 0.0, 0.0)):
        """Mean of the products of prices and distances after a step: 0 at the optimum."""
        alpha, low, high = (value + step * move for value, move in
                            zip((self.alpha, self.low_price, self.high_price), moves, strict=True))
        return 0.5 * ((alpha * low).mean() + ((self.problem.bound - alpha) * high).mean())

    def _moves(self, factor, theta, gradient, low_goal, high_goal):
        """Newton's moves of alpha and both prices towards price times distance = goal."""
        problem = self.problem
        low = low_goal / self.alpha - self.low_price
        high = high_goal / self.room - self.high_price
        right = -(gradient - self.low_price + self.high_price) + low - high
        direction = problem.combine(right / theta)
        linalg.solve_factorised(factor, direction)
        move = (right - problem.project(direction)) / theta
        return move, low - self.low_price / self.alpha * move, high + self.high_price / self.room * move

    def _longest(self, moves):
        """Longest step, 1 at most, on which nothing becomes negative."""
        pairs = ((self.alpha, moves[0]), (self.low_price, moves[1]), (self.room, -moves[0]),
                 (self.high_price, moves[2]))
        return min(1.0, *(1 / max(1e-300, (-move / value).max()) for value, move in pairs))

    def advance(self, gradient):
        """Predict, correct and step; return False where rounding allows no more."""
        if not (self.alpha.min() > 0 and self.room.min() > 0):
            return False  # rounding has put a row on its barrier
        theta = self.low_price / self.alpha + self.high_price / self.room
        factor = self.problem.factorise(1 / theta)
        if factor is None:
            return False
        moves = self._moves(factor, theta, gradient, 0.0, 0.0)
        now = self._products()
        goal = (self._products(self._longest(moves), moves) / now) ** 3 * now
        moves = self._moves(factor, theta, gradient, goal - moves[0] * moves[1], goal + moves[0] * moves[2])
        step = _BOLDNESS * self._longest(moves)
        if not (np.isfinite(moves).all() and np.isfinite(step)):
            return False
        self.alpha, self.low_price, self.high_price = (value + step * move for value, move in zip(
            (self.alpha, self.low_price, self.high_price), moves, strict=True))
        return True


def _interior_point(problem, machine, tol):
    """Mehrotra's predictor and corrector on the dual; its systems are of the size of w (Ferris and Munson, 2002)."""
    barrier, n_passes = _Barrier(problem), machine.n_passes
    for n_steps in range(_MAX_STEPS + 1):
        coef = problem.combine(barrier.alpha)
        margins = problem.project(coef)
        primal = problem.primal(coef, margins)
        gap = (primal - problem.dual(barrier.alpha, coef)) / primal
        if gap < machine.gap or n_steps == 0:
            machine = Machine(coef, margins, n_passes + n_steps, gap)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # at the end of what rounding allows
            if gap <= tol or n_steps == _MAX_STEPS or not barrier.advance(margins - 1):
                break
    return machine


def probability_slope(margins, signs, weight):
    """Slope A of highest likelihood where a row of margin m is right with probability 1 / (1 + exp(-A m)).

    Each row counts as right with the odds of J. Platt (1999), (n + 1) / (n + 2) with n the rows of its sign, so that
    margins without a fault do not make the slope infinite.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_machines), y score
    signs : int8 array of shape (n_samples, n_machines)
    weight : float64 array of shape (n_samples,), of which a whole number stands for so many rows
    """
    if not margins.any():
        return 1.0
    positive = weight @ (signs > 0)
    n_alike = np.where(signs > 0, positive, weight.sum() - positive)
    right = (n_alike + 1) / (n_alike + 2)
    unit = np.abs(margins).max()
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
