"""Linear support vector machines on the features that the pseudo-Bayesian family makes.

With sign y in {-1, +1} and bound U_i = C weight_i the primal problem is: minimise 1/2 |w|^2 + sum over rows of
U_i max(0, 1 - y_i w . x_i), or its square; `linear_svm.pyx` states the dual.  Coordinate descent on the dual comes
first, and is all that easy problems need.  It is slow with many rows or a large C.  Then Newton's method goes on: on
the primal for the squared hinge loss, between barriers on the dual for the hinge loss, and where steps on the primal
are short.  The number of its steps depends on neither.  Every method stops only when primal and dual objective agree.
"""

import time
import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._estimator.monitor import SECONDS_BETWEEN, tell
from .._kernels import pbrff, solvers
from .._kernels.array_types import NDArray
from .interior_point import MAX_STEPS, interior_point
from .newton_systems import SplitSystem, has_few_rows, row_parts

Double = NDArray[np.float64]
Signs = NDArray[np.int8]

# Passes of coordinate descent before Newton's method: of the squared hinge loss, and per column of the hinge loss; with
# many columns as a share of those that take as long as one to four Newton steps.
_EPOCHS = 2
_EPOCHS_PER_COLUMN = 3
_SHARE = 0.1
_HINGE_SHARE = 1.0

# Beyond this width matrices are kept once, not for each share of the rows.
_WIDEST = 1000

# Steps of Newton's method shorter than this share are short.  Many of them are seen where losses of a large C begin
# behind every row that it passes: the interior point method then needs fewer steps.
_SHORT_STEP = 0.1
_MOST_SHORT_STEPS = 5

# Parts of the rows whose Gram matrices are computed in parallel.
_GRAM_SHARES = 8

# Checks of the gap within which it must halve; else rounding keeps it from falling.
_CHECKS_TO_HALVE = 50

# Coordinate descent ends early where it would come too late even if its gap fell by so many times this rate.
_HOPE = 2

# Largest number of multiply-adds between two checks, so that an interrupt is noticed within a second.
_WORK_BETWEEN_CHECKS = 5e8

# Single precision resolves a relative gap down to this.
_SINGLE_TOLERANCE = 1e-6

# By how much more w may be lengthened than the dual says.  Rounding puts support vectors, which have margins of 1,
# below that, and a large C makes much of it.
_LENGTHENED = np.array([0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8])

# Smallest slope of the probability in the score, in units of the largest margin: the order of scores stays visible even
# where scores are useless.
_SMALLEST_SLOPE = 1e-3


class Machine(NamedTuple):
    """A direction w that separates two classes, and how it was found."""

    coef: Double  # (width,)
    margins: Double  # (n_samples,) y w . x
    n_passes: int  # over the rows
    gap: float  # (primal - dual) / primal
    alpha: Double  # (n_samples,) of the dual


class Machines(NamedTuple):
    """One machine for each array of signs."""

    coef: Double  # (width, n_machines)
    margins: Double  # (n_samples, n_machines)
    n_passes: int  # of all together


class MachineThreads(NamedTuple):
    """Numbers of threads: for sums over rows, and for Gram matrices, which are more work."""

    rows: int
    gram: int


class Loss(Protocol):
    """What the two losses of a row differ in."""

    @property
    def is_squared(self) -> bool:
        """Whether it is the square of the hinge loss."""

    @property
    def has_upper_bound(self) -> bool:
        """Whether alpha has an upper bound in the dual."""

    def losses(self, slack: Double, bound: Double) -> Double:
        """Losses of rows of slack max(0, 1 - margin)."""

    def diagonal(self, bound: Double) -> Double:
        """What the dual has on its diagonal beside x . x."""

    def n_epochs(self, n_samples: int, width: int) -> int:
        """Passes after which coordinate descent is slower than Newton's method."""

    def finish(self, problem: "Problem", machine: Machine, tol: float) -> Machine:
        """Go on from a machine by Newton's method, at last in double precision."""


class _HingeLoss:
    """U max(0, 1 - margin)."""

    is_squared = False
    has_upper_bound = True

    def losses(self, slack: Double, bound: Double) -> Double:
        return bound * slack

    def diagonal(self, bound: Double) -> Double:
        return np.zeros(len(bound))

    def n_epochs(self, n_samples: int, width: int) -> int:
        return _EPOCHS_PER_COLUMN * width if width <= _WIDEST else _wide_epochs(n_samples, width, _HINGE_SHARE)

    def finish(self, problem: "Problem", machine: Machine, tol: float) -> Machine:
        # Its systems are too ill-conditioned for single precision.
        problem = problem.in_double()
        return interior_point(problem, _split_system(problem, True), machine, tol)


class _SquaredHingeLoss:
    """U max(0, 1 - margin)^2."""

    is_squared = True
    has_upper_bound = False

    def losses(self, slack: Double, bound: Double) -> Double:
        return bound * slack**2

    def diagonal(self, bound: Double) -> Double:
        return 0.5 / bound

    def n_epochs(self, n_samples: int, width: int) -> int:
        return _EPOCHS if width <= _WIDEST else _wide_epochs(n_samples, width, _SHARE)

    def finish(self, problem: "Problem", machine: Machine, tol: float) -> Machine:
        if problem.width <= _WIDEST:
            machine = _newton(problem, machine, tol)
        if machine.gap > tol and not (problem.is_double and problem.width <= _WIDEST):
            problem = problem.in_double()
            machine = _newton(problem, machine, tol)
        if machine.gap <= tol:
            return machine
        found = interior_point(problem, _split_system(problem, True), machine, tol)
        return found if found.gap < machine.gap else machine


def _wide_epochs(n_samples: int, width: int, share: float) -> int:
    """Passes with many columns: a Newton step factorises a matrix of the size of w or of the number of rows."""
    return max(_EPOCHS, int(share * min(width, n_samples**2 / width)))


LOSSES: dict[str, Loss] = {"squared_hinge": _SquaredHingeLoss(), "hinge": _HingeLoss()}


class MachineSettings(NamedTuple):
    """What machines have in common beside their rows."""

    loss: Loss
    tol: float  # relative gap at which to stop
    threads: MachineThreads


class Problem:
    """Rows, signs and bounds, with the sums over rows that all methods need."""

    def __init__(self, features: NDArray[Any], sign: Signs, bound: Double, loss: Loss, threads: MachineThreads,
                 name: str = "machine") -> None:
        self.features, self.sign, self.bound, self.loss, self.threads = features, sign, bound, loss, threads
        self.name, self._due = name, time.perf_counter() + SECONDS_BETWEEN
        self.n_samples, self.width = features.shape
        self.is_double = features.dtype == np.float64
        self.diagonal = loss.diagonal(bound)
        self.partial = np.empty((-(-self.n_samples // pbrff.STRIP_ROWS), self.width))

    def combine(self, alpha: Double) -> NDArray[Any]:
        """Sum of alpha y x, in the precision of the features."""
        coef = np.empty(self.width, self.features.dtype)
        pbrff.combine_rows(self.features, self.sign, alpha, coef, self.partial, self.threads.rows)
        return coef

    def project(self, coef: NDArray[Any]) -> Double:
        """Margins y x . coef."""
        margins = np.empty(self.n_samples)
        pbrff.project_rows(self.features, self.sign, coef.astype(self.features.dtype), margins, self.threads.rows)
        return margins

    def primal(self, coef: NDArray[Any], margins: Double) -> float:
        """Primal objective at coef, which gives the rows these margins."""
        return 0.5 * _squares(coef) + self.loss.losses(np.maximum(0, 1 - margins), self.bound).sum()

    def dual(self, alpha: Double, coef: NDArray[Any]) -> float:
        """Dual objective at alpha, whose combination of rows is coef."""
        return alpha.sum() - 0.5 * _squares(coef) - 0.5 * (self.diagonal * alpha**2).sum()

    def machine(self, alpha: Double, coef: Double, margins: Double, n_passes: int) -> Machine:
        """The machine of a combination of rows and its margins, or of one so little longer that only rounding tells."""
        lengths = 1 + _LENGTHENED
        primals = [self.primal(length * coef, length * margins) for length in lengths]
        best = int(np.argmin(primals))
        gap = (primals[best] - self.dual(alpha, coef)) / primals[best]
        return Machine(lengths[best] * coef, lengths[best] * margins, n_passes, gap, alpha)

    def in_double(self) -> "Problem":
        """The same problem in double precision."""
        if self.is_double:
            return self
        features = np.empty(self.features.shape)
        for some in row_parts(self.n_samples, self.width):
            features[some] = self.features[some]
        return Problem(features, self.sign, self.bound, self.loss, self.threads, self.name)

    def tell(self, n_passes: int, gap: float) -> None:
        """Tell how the machine goes on, at most once a second."""
        now = time.perf_counter()
        if now >= self._due:
            self._due = now + SECONDS_BETWEEN
            tell(f"passes of {self.name}", n_passes, None, f"gap {gap:.2g}")


class _ColumnSystem:
    """Matrices I + A' S A of a problem of few columns, and the memory that they need."""

    def __init__(self, problem: Problem) -> None:
        self.features, self.width, self.n_threads = problem.features, problem.width, problem.threads.gram
        self.gram = np.empty((min(_GRAM_SHARES, len(problem.partial)), self.width, self.width))
        self.scratch = np.zeros((self.n_threads, pbrff.gram_scratch(self.width)), self.features.dtype)
        self.factor_scratch = np.empty((self.n_threads, solvers.factor_scratch(self.width)))

    def matrix(self, scale: Double) -> Double:
        """The lower triangle, which holds until the next."""
        pbrff.weighted_gram(self.features, scale, self.gram, self.scratch, self.n_threads)
        self.gram[0].flat[:: self.width + 1] += 1
        return self.gram[0]

    def factorise(self, scale: Double) -> bool:
        """Prepare for a scale; return False where rounding makes the matrix not positive definite."""
        return solvers.factorise(self.matrix(scale), self.factor_scratch, self.n_threads)

    def direction(self, descent: Double, coef: Double) -> Double:
        """Newton's step of the primal from coef, where `descent` is its negative gradient."""
        direction = descent.copy()
        solvers.solve_factorised(self.gram[0], direction)
        return direction


def _split_system(problem: Problem, by_pivots: bool) -> SplitSystem:
    """The system of a problem in double precision; what it needs of few columns is shared out by rows."""
    is_narrow = problem.width <= _WIDEST and not has_few_rows(problem.n_samples, problem.width)
    return SplitSystem(problem, _ColumnSystem(problem).matrix if is_narrow else None, by_pivots)


def _squares(coef: NDArray[Any]) -> float:
    return (coef.astype(np.float64) ** 2).sum()


def fit_machines(features: NDArray[Any], signs: list[Signs], bound: Double, seeds: NDArray[np.int64],
                 settings: MachineSettings) -> Machines:
    """Solve a problem for each array of signs, to a relative gap of settings.tol.

    Parameters
    ----------
    features : float32 or float64 array of shape (n_samples, width), width a multiple of LANE_COUNT, padded with 0
    signs : int8 arrays of shape (n_samples,), -1 or +1
    bound : float64 array of shape (n_samples,), positive
    seeds : integers > 0, one for each machine; they decide the order in which rows are visited
    settings : MachineSettings
    """
    if settings.tol < _SINGLE_TOLERANCE:
        features = features.astype(np.float64, copy=False)
    machines = []
    for number, (sign, seed) in enumerate(zip(signs, seeds, strict=True), 1):
        name = "the machine" if len(signs) == 1 else f"machine {number} of {len(signs)}"
        problem = Problem(features, sign, bound, settings.loss, settings.threads, name)
        machines.append(_solve(problem, settings.tol, int(seed)))
    return Machines(np.column_stack([machine.coef for machine in machines]),
                    np.column_stack([machine.margins for machine in machines]),
                    sum(machine.n_passes for machine in machines))


def _solve(problem: Problem, tol: float, seed: int) -> Machine:
    machine = _descend(problem, tol, seed)
    if not machine.gap <= tol:
        machine = problem.loss.finish(problem, machine, tol)
    if not machine.gap <= tol:
        warnings.warn(f"rounding keeps the support vector machine from the relative gap tol = {tol:g} between its "
                      f"objectives; it stopped at {machine.gap:.2g}", RuntimeWarning, stacklevel=5)
    return machine


def _descend(problem: Problem, tol: float, seed: int) -> Machine:
    """Coordinate descent on the dual, for as long as Newton's method would not be faster."""
    features, alpha = problem.features, np.zeros(problem.n_samples)
    curvature = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    coef, active = np.zeros(problem.width, features.dtype), np.arange(problem.n_samples)
    state, goal, n_passes, best, since_best, before = np.array([seed], np.uint64), tol, 0, np.inf, 0, np.inf
    at_a_time = int(max(1, min(1000, _WORK_BETWEEN_CHECKS // features.size)))
    at_most = problem.loss.n_epochs(problem.n_samples, problem.width)
    while True:
        allowed = min(at_a_time, at_most - n_passes)
        done = pbrff.descend_dual(features, problem.sign, problem.bound, curvature, problem.loss.is_squared, goal,
                                  allowed, alpha, coef, active, state)
        n_passes += done
        coef = problem.combine(alpha)
        margins = problem.project(coef)
        primal = problem.primal(coef, margins)
        gap = (primal - problem.dual(alpha, coef)) / primal
        problem.tell(n_passes, gap)
        best, since_best = (gap, 0) if gap < 0.5 * best else (best, since_best + 1)
        too_slow = gap * (gap / before) ** (_HOPE * (at_most - n_passes) / max(1, done)) > tol
        if gap <= tol or n_passes >= at_most or since_best == _CHECKS_TO_HALVE or too_slow:
            return Machine(coef.astype(np.float64), margins, n_passes, gap, alpha)
        if done < allowed:
            goal *= 0.5  # the gap that the rows met on the way was too optimistic
        before = gap


def _newton(problem: Problem, machine: Machine, tol: float) -> Machine:
    """Newton's method on the primal of the squared hinge loss, whose curvature is that of the rows with a loss."""
    system = _ColumnSystem(problem) if problem.width <= _WIDEST else _split_system(problem, False)
    coef, n_passes = machine.coef, machine.n_passes
    margins = problem.project(coef)  # computed again, because those of the machine may be of lower precision
    primal = problem.primal(coef, margins)
    n_short = 0
    for _ in range(MAX_STEPS):
        alpha = 2 * problem.bound * np.maximum(0, 1 - margins)
        combined = problem.combine(alpha).astype(np.float64)
        gap = (primal - problem.dual(alpha, combined)) / primal
        problem.tell(n_passes, gap)
        if gap <= tol or n_short == _MOST_SHORT_STEPS or not system.factorise(2 * problem.bound * (margins < 1)):
            break
        direction = system.direction(combined - coef, coef)
        slope, along, step = direction @ (coef - combined), problem.project(direction), 1.0
        while step > 1e-10:
            trial = problem.primal(coef + step * direction, margins + step * along)
            if trial < primal + 1e-4 * step * slope:
                break
            step *= 0.5
        else:
            break
        n_short += step < _SHORT_STEP
        coef, primal = coef + step * direction, trial
        margins = problem.project(coef)
        n_passes += 1
    return Machine(coef, margins, n_passes, gap, alpha)


def probability_slope(margins: Double, signs: Signs, weight: Double) -> float:
    """Slope A of highest likelihood, where a row of margin m is right with probability 1 / (1 + exp(-A m)).

    Each row counts as right with the odds of J. Platt (1999), (n + 1) / (n + 2) with n the rows of its sign, so that
    margins that are all positive do not make the slope infinite.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_machines), y score
    signs : int8 array of shape (n_samples, n_machines)
    weight : float64 array of shape (n_samples,), of which a whole number stands for so many rows
    """
    if not margins.any():
        return 1.0
    positive = weight @ (signs > 0)
    negative = weight.sum() - positive
    right = np.where(signs > 0, (positive + 1) / (positive + 2), (negative + 1) / (negative + 2))
    unit = max(margins.max(), -margins.min())
    weighted = weight[:, None] * margins
    weighted /= unit
    margins = margins / unit
    likely, work = np.empty((2, *margins.shape))  # operations in place: each array takes 8 bytes a row and machine
    low, high, slope = 0.0, 1e6, 1.0
    for _ in range(100):
        np.tanh(np.multiply(0.5 * slope, margins, out=likely), out=likely)
        likely += 1
        likely *= 0.5
        gradient = np.multiply(np.subtract(likely, right, out=work), weighted, out=work).sum()
        np.multiply(np.multiply(weighted, margins, out=work), likely, out=work)
        curvature = np.multiply(work, np.subtract(1, likely, out=likely), out=work).sum()
        low, high = (low, slope) if gradient > 0 else (slope, high)
        trial = slope - gradient / curvature if curvature > 0 else high
        trial = trial if low < trial < high else 0.5 * (low + high)
        if abs(trial - slope) <= 1e-9 * slope:
            break
        slope = trial
    return max(slope, _SMALLEST_SLOPE) / unit
