"""The marginal likelihood of a Gaussian process, and the kernel and noise that maximise it.

A kernel machine that is regularised by lambda predicts what a Gaussian process predicts whose covariance is the kernel
and whose noise has variance lambda.  The likelihood of the targets under that process is a measure of length scales.
"""

import itertools
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._estimator.monitor import SECONDS_BETWEEN, tell
from ..._native import solvers
from ..._native.array_types import NDArray
from ..._rows.tiles import DOUBLE
from ..kernel_ridge.dense import NO_DECLINES, DenseKernels, DenseSystem, in_panels, precision_beside
from .kernel import Kernel, RegularisedKernel

Double = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Rows the likelihood is maximised on: few of them first, then more, from where the search on few has ended.
FEW_ROWS = 256
MOST_ROWS = 1000
_ITERATIONS = 30, 20

# Searches end when an iteration lowers the value by less than this share.  What later ones on all rows gain in
# likelihood is not gained on other rows.
_TOLERANCES = 1e-3, 3e-3

# Relative rounding error of the value.
_ROUNDING = {"double": 1e-11, "single": 1e-6}

# Larger spreads of a column would make an inverse length scale that has no reciprocal.
_LARGEST_SPREAD = 1e290

# Logarithms of parameters have a normal prior of this deviation: a length scale that the rows do not determine stays
# near its start instead of diverging.  A factor of e^5 = 150 either way costs half a unit of log-likelihood.
_PRIOR_SPREAD = 5.0

# Noise below this share of the variance of the targets would leave Cholesky factors to rounding.
_LEAST_NOISE = 1e-6


class _Workspace:
    """Rows and targets in the forms that the likelihood takes, and memory for it, in one precision."""

    def __init__(self, rows: Double, targets: Double, shape: str, dtype: "np.dtype[Any]",
                 n_threads: int | None) -> None:
        self.dtype, self.shape, size = dtype, shape, (len(rows), len(rows))
        self._kernels = DenseKernels(rows, rows, n_threads, dtype)
        self.system = DenseSystem(len(rows), n_threads, dtype)
        self.inverse, self.matrix = np.empty(size, dtype), np.empty(size, dtype)
        # Of a Gaussian kernel the derivative along r^2 is the kernel itself, but for a factor.
        self.declines = np.empty(size, dtype) if shape == "exponential" else self.matrix
        # Differences count alone, and those of large numbers would be lost in products; a constant column becomes 0.
        with np.errstate(over="ignore", invalid="ignore"):
            apart = rows - rows[0]
            self.rows = apart - apart.mean(axis=0)
            self.row_panels, self.target_panels = in_panels(self.rows, dtype), in_panels(targets, dtype)

    def fill(self, inverse_lengths: Double) -> None:
        """Fill the matrix, and declines that are another one, with kernels of some lengths."""
        self._kernels.fill(inverse_lengths, self.shape, self.matrix,
                           self.declines if self.shape == "exponential" else NO_DECLINES)


class Likelihood:
    """Negative logarithm of the marginal likelihood of some targets, with that of the prior.

    Its argument holds the logarithms of amplitude, bias, noise (beyond the least) and inverse length scales.  Those
    that are `free` have a prior around `start`.  With the precision "single", the matrix is in single precision where
    the noise allows it.
    """

    def __init__(self, rows: Double, targets: Double, start: Double, free: Bools, shape: str,
                 n_threads: int | None, precision: str = "double") -> None:
        self._start, self._free, self._targets, self._precision = start, free, targets, precision
        self.rounding = _ROUNDING[precision]
        self._made = partial(_Workspace, rows, targets, shape, n_threads=n_threads)
        self._workspace = self._made(dtype=DOUBLE)

    def _workspace_beside(self, noise: float, at_zero: float) -> _Workspace:
        dtype = precision_beside(self._precision, noise, at_zero)
        if self._workspace.dtype != dtype:
            self._workspace = self._made(dtype=dtype)
        return self._workspace

    def __call__(self, logs: Double) -> tuple[float, Double]:
        """Value and gradient; inf where rounding leaves no factor, or numbers overflow."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, gradient = self._evaluate(logs)
        good = np.isfinite(value) and np.isfinite(gradient).all()
        return (float(value), gradient) if good else (math.inf, np.zeros(logs.size))

    def value(self, logs: Double) -> float:
        """The value alone, in a third of the time."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            work = self._factorised(logs)
            value = math.inf if work is None else self._value(work, work.system.solve(self._targets), self._away(logs))
        return value if math.isfinite(value) else math.inf

    def _factorised(self, logs: Double) -> _Workspace | None:
        """The workspace with kernels and the factor of their covariance, if there is one."""
        amplitude, bias, noise = np.exp(logs[:3]).tolist()
        work = self._workspace_beside(noise, amplitude + bias)
        work.fill(np.exp(logs[3:]))
        covariance = np.multiply(work.matrix, work.dtype.type(amplitude), out=work.system.matrix)
        covariance += work.dtype.type(bias)
        covariance.flat[:: len(covariance) + 1] += work.dtype.type(noise + _LEAST_NOISE)
        return work if work.system.factorise() else None

    def _away(self, logs: Double) -> Double:
        """Distances from the start, in deviations of the prior."""
        return np.subtract(logs, self._start, out=np.zeros(logs.size), where=self._free) / _PRIOR_SPREAD

    def _value(self, work: _Workspace, weights: Double, away: Double) -> float:
        log_roots = np.log(work.system.matrix.diagonal(), dtype=np.float64).sum()
        return float(self._targets.shape[1] * log_roots + 0.5 * (self._targets * weights).sum()
                     + 0.5 * (away**2).sum())

    def _evaluate(self, logs: Double) -> tuple[float, Double]:
        work = self._factorised(logs)
        if work is None:
            return math.inf, np.zeros(logs.size)
        work.system.invert(work.inverse)
        weights = work.system.multiply(work.inverse, work.target_panels, self._targets.shape[1])
        away = self._away(logs)
        value = self._value(work, weights, away)
        on_diagonal, along_bias, along_kernel, steepness = work.system.slopes(
            work.inverse, np.ascontiguousarray(weights.T), work.matrix, work.declines)
        # The sum over pairs of slopes times squared differences is twice that over rows x of x (x - mean) by slopes.
        means = work.system.multiply(work.inverse, work.row_panels, work.rows.shape[1])
        spread = (work.rows * (steepness[:, None] * work.rows - means)).sum(axis=0)
        amplitude, bias, noise = np.exp(logs[:3]).tolist()
        inverse_lengths = np.exp(logs[3:])
        gradient = np.concatenate([[0.5 * amplitude * along_kernel.sum(), 0.5 * bias * along_bias.sum(),
                                    0.5 * noise * on_diagonal.sum()], -amplitude * inverse_lengths**2 * spread])
        return value, gradient + away / _PRIOR_SPREAD


class Directions(Protocol):
    """How the variables of a search move the parameters, in memory that is linear in their numbers."""

    size: int  # number of variables

    def move(self, x: Double) -> Double:
        """Moves of all parameters, from those of the variables."""

    def slopes(self, gradient: Double) -> Double:
        """Slopes along the variables, from those along all parameters."""


class _Apart:
    """Each free parameter moves alone."""

    def __init__(self, free: Bools) -> None:
        self._free, self.size = free, int(free.sum())

    def move(self, x: Double) -> Double:
        moves = np.zeros(len(self._free))
        moves[self._free] = x
        return moves

    def slopes(self, gradient: Double) -> Double:
        return gradient[self._free] + 0.0  # as products with 0 and 1 would give, of which none is -0.0


class _Together:
    """The last free parameters, which are length scales, move as one, and those before each alone."""

    def __init__(self, free: Bools, n_features: int) -> None:
        alone = np.flatnonzero(free[:-n_features])
        self.size = len(alone) + 1
        self._matrix = np.zeros((self.size, len(free)))
        self._matrix[np.arange(len(alone)), alone] = 1
        self._matrix[-1, -n_features:] = free[-n_features:]

    def move(self, x: Double) -> Double:
        moves: Double = x @ self._matrix
        return moves

    def slopes(self, gradient: Double) -> Double:
        slopes: Double = self._matrix @ gradient
        return slopes


# From which parameters are free, and the number of features, to the directions in which the search may move.
LengthScales = Callable[[Bools, int], Directions]


def one_per_column(free: Bools, n_features: int) -> Directions:
    """A length scale per column."""
    return _Apart(free)


def one_for_all(free: Bools, n_features: int) -> Directions:
    """Length scales that are all one multiple of the spread of their columns."""
    return _Together(free, n_features)


class _Evaluations:
    """Counts the evaluations of a search, and tells of them at most once a second."""

    def __init__(self, work: str, total: int) -> None:
        self._work, self._total, self._done = work, total, 0
        self._due = time.perf_counter() + SECONDS_BETWEEN

    def count(self, value: float) -> None:
        self._done += 1
        now = time.perf_counter()
        if now >= self._due:
            self._due = now + SECONDS_BETWEEN
            tell(self._work, self._done, self._total, f"negative log-likelihood {value:.6g}")


class _Reached(NamedTuple):
    """What a search has come to."""

    logs: Double
    pairs: Double  # (n_pairs, 2, n_variables) steps, and the changes of the gradient along them


def _minimise(likelihood: Likelihood, first: _Reached, of_first: tuple[float, Double], directions: Directions,
              stage: int, evaluations: _Evaluations) -> _Reached:
    """Logarithms that are reached from the first, whose value and gradient are known, along some directions.

    The stage is that of few rows, 0, or of all, 1.
    """
    path: list[tuple[float, Double, Double]] = []  # value, point and slopes wherever the value is the lowest so far

    def along(x: Double) -> tuple[float, Double]:
        value, gradient = likelihood(first.logs + directions.move(x)) if path else of_first
        evaluations.count(value)
        slopes = directions.slopes(gradient)
        if not path or value < path[-1][0]:
            path.append((value, x, slopes))
        return value, slopes

    x, _, _ = solvers.minimize(along, np.zeros(directions.size), _ITERATIONS[stage],
                               loss_tolerance=_TOLERANCES[stage], gradient_tolerance=1e-3, noise=likelihood.rounding,
                               pairs=first.pairs)
    pairs = [(after[1] - before[1], after[2] - before[2]) for before, after in itertools.pairwise(path)]
    return _Reached(first.logs + directions.move(x), np.array(pairs).reshape(-1, 2, directions.size))


class Given(NamedTuple):
    """Kernel and noise that are given; None for those that are learned."""

    kernel: Kernel | None
    noise: float | None


def _spread(rows: Double) -> Double:
    """Standard deviations of the columns, 1 for those that are constant; finite where their squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread: Double = rows.std(axis=0)
    wide = ~np.isfinite(spread)
    spread[wide] = np.ldexp(np.ldexp(rows[:, wide], -600).std(axis=0), 600)
    spread[spread == 0] = 1.0
    return np.minimum(spread, _LARGEST_SPREAD)


def _start(rows: Double, given: Given) -> Double:
    """Logarithms at which the search begins, among them those that are given."""
    start = np.log([1.0, 0.1, 0.1, *(1 / (math.sqrt(rows.shape[1]) * _spread(rows)))])
    if given.kernel is not None:
        with np.errstate(divide="ignore"):
            start = np.log([given.kernel.amplitude, given.kernel.bias, 0.1, *(1 / given.kernel.length_scale)])
    if given.noise is not None:
        start[2] = math.log(max(given.noise, 1e-300))
    return start


class KernelSearch:
    """The search for the likeliest kernel of some form on some rows.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features), in random order
    targets : array of shape (n_rows, n_outputs); all outputs share one kernel
    given : Given
    length_scales : `one_per_column` or `one_for_all`
    shape : "gaussian" or "exponential", unless the kernel is given
    n_threads : int or None
    precision : "double" or "single"
    """

    def __init__(self, rows: Double, targets: Double, given: Given, length_scales: LengthScales, shape: str,
                 n_threads: int | None, precision: str = "double") -> None:
        self._rows, self._targets, self._given = rows, targets, given
        self._n_threads, self._precision = n_threads, precision
        self._shape = shape if given.kernel is None else given.kernel.shape
        self._start = _start(rows, given)
        self._free = np.full(self._start.size, given.kernel is None)
        self._free[2] = given.noise is None
        self._directions = (length_scales(self._free, rows.shape[1]) if given.kernel is None else _Apart(self._free))
        self._reached = _Reached(self._start, np.empty((0, 2, self._directions.size)))
        self._n_rows = 1  # that it has been reached on

    def _go_on(self, n_rows: int, stage: int, work: str) -> RegularisedKernel:
        likelihood = Likelihood(self._rows[:n_rows], self._targets[:n_rows], self._start, self._free, self._shape,
                                self._n_threads, self._precision)
        # Values and slopes grow with the number of rows.
        first = self._reached._replace(pairs=self._reached.pairs * [[1.0], [n_rows / self._n_rows]])
        of_first, noisy = likelihood(first.logs), first.logs.copy()
        noisy[2] = max(noisy[2], self._start[2])  # few rows may be fitted without any noise, and more are then absurd
        if noisy[2] > first.logs[2] and likelihood.value(noisy) < of_first[0]:
            of_noisy = likelihood(noisy)
            if of_noisy[0] < of_first[0]:  # and not inf, for its gradient
                first, of_first = first._replace(logs=noisy), of_noisy
        self._reached = _minimise(likelihood, first, of_first, self._directions, stage,
                                  _Evaluations(work, _ITERATIONS[stage]))
        self._n_rows = n_rows
        return self._machine()

    def _machine(self) -> RegularisedKernel:
        amplitude, bias, noise, *inverse_lengths = np.exp(self._reached.logs)
        given = self._given
        kernel = given.kernel or Kernel(1 / np.array(inverse_lengths), amplitude, bias, self._shape)
        return RegularisedKernel(kernel, noise + _LEAST_NOISE if given.noise is None else given.noise)

    def on_few_rows(self) -> RegularisedKernel:
        """The likeliest kernel and noise on the first `FEW_ROWS`."""
        return self._go_on(FEW_ROWS, 0, "length scales")

    def on_all_rows(self) -> RegularisedKernel:
        """The same on all rows, from where the search is."""
        if len(self._rows) <= FEW_ROWS:
            return self._machine()
        return self._go_on(len(self._rows), 1, "length scales on more rows")

    def likeliest(self) -> RegularisedKernel:
        """The likeliest kernel and noise on all rows, those on few being the start; the noise becomes lambda."""
        self.on_few_rows()
        return self.on_all_rows()
