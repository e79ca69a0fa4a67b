"""The marginal likelihood of a Gaussian process, and the kernel and noise that maximise it.

A kernel machine that is regularised by lambda predicts what a Gaussian process predicts whose covariance is the kernel
and whose noise has variance lambda.  The likelihood of the targets under that process is a measure of length scales.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._data.centers import pad_centers
from .._data.scaling import no_scaling
from .._data.threads import check_n_threads
from .._data.tiles import DOUBLE, aligned, pack
from .._estimator.monitor import SECONDS_BETWEEN, tell
from .._kernels import lbfgs, linalg, sparse_likelihood
from .._kernels.sparse_columns import UNIT
from .kernel import GaussianKernel, RegularisedKernel

Double = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Rows the likelihood is maximised on: several starts on few of them, then the best start on more.
_FEW_ROWS = 256
MOST_ROWS = 1000
_N_STARTS = 3
_ITERATIONS = 40, 60

# Larger spreads of a column would make an inverse length scale that has no reciprocal.
_LARGEST_SPREAD = 1e290

# Logarithms of parameters have a normal prior of this deviation: a length scale that the rows do not determine stays
# near its start instead of diverging.  A factor of e^5 = 150 either way costs half a unit of log-likelihood.
_PRIOR_SPREAD = 5.0
_START_SPREAD = 1.0

# Noise below this share of the variance of the targets would leave Cholesky factors to rounding.
_LEAST_NOISE = 1e-6


class Likelihood:
    """Negative logarithm of the marginal likelihood of some targets, with that of the prior.

    Its argument holds the logarithms of amplitude, bias, noise (beyond the least) and inverse length scales.  Those
    that are `free` have a prior around `start`.
    """

    def __init__(self, rows: Double, targets: Double, start: Double, free: Bools,
                 n_threads: int | None) -> None:
        self._rows, self._targets = rows, targets
        self._start, self._free = start, free
        self._n_rows = len(rows)
        self._n_threads = check_n_threads(n_threads, self._n_rows**2)
        self._raw_centers = pad_centers(rows, DOUBLE)
        self._raw_tiles, _ = pack(rows, no_scaling(rows.shape[1]), DOUBLE, 1)
        self._tiles = aligned(self._raw_tiles.shape, DOUBLE)
        self._matrix, self._covariance, self._inverse, self._transposed = np.empty((4, self._n_rows, self._n_rows))
        self._partial = np.empty(rows.shape)
        self._scratch = np.empty((self._n_threads, linalg.factor_scratch(self._n_rows)))

    def __call__(self, logs: Double) -> tuple[float, Double]:
        """Value and gradient; inf where rounding leaves no factor, or numbers overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = self._evaluate(logs, *np.split(np.exp(logs), [1, 2, 3]))
        good = np.isfinite(value) and np.isfinite(gradient).all()
        return (float(value), gradient) if good else (math.inf, np.zeros(logs.size))

    def _kernel_matrix(self, inverse_lengths: Double) -> Double:
        scale = UNIT * inverse_lengths
        np.multiply(self._raw_tiles, scale[:, None], out=self._tiles)
        sparse_likelihood.kernel_matrix(self._tiles, self._raw_centers * scale, self._matrix, self._n_threads)
        return self._matrix

    def _evaluate(self, logs: Double, amplitude: Double, bias: Double, noise: Double,
                  inverse_lengths: Double) -> tuple[float, Double]:
        matrix = self._kernel_matrix(inverse_lengths)
        covariance = np.multiply(matrix, amplitude, out=self._covariance)
        covariance += bias
        covariance.flat[:: self._n_rows + 1] += noise + _LEAST_NOISE
        if not linalg.factorise(covariance, self._scratch, self._n_threads):
            return math.inf, np.zeros(logs.size)
        linalg.invert(covariance, self._inverse, self._transposed, self._scratch, self._n_threads)
        away = np.subtract(logs, self._start, out=np.zeros(logs.size), where=self._free) / _PRIOR_SPREAD
        value = self._targets.shape[1] * np.log(covariance.diagonal()).sum() + 0.5 * (away**2).sum()
        slope = np.multiply(self._inverse, self._targets.shape[1], out=self._inverse)
        for target in self._targets.T:
            weights = target.copy()
            linalg.solve_factorised(covariance, weights)
            value += 0.5 * (target * weights).sum()
            slope -= np.multiply.outer(weights, weights)
        # `slope` holds the derivatives along twice the entries of the covariance.
        along_noise, along_bias = slope.diagonal().sum(), slope.sum()
        slope *= matrix
        sparse_likelihood.spread_along_features(slope, self._rows, self._partial, self._n_threads)
        # Half for `slope`, twice for the two triangles, and the exponent's -1/2 times the 2 of a square.
        lengths = -amplitude * inverse_lengths**2 * self._partial.sum(axis=0)
        gradient = np.concatenate([0.5 * amplitude * slope.sum(), 0.5 * bias * along_bias, 0.5 * noise * along_noise,
                                   lengths])
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


def _minimise(likelihood: Likelihood, start: Double, directions: Directions, max_iter: int,
              evaluations: _Evaluations) -> tuple[Double, float]:
    """Logarithms that are reached from a start along some directions, and the value there."""
    def along(x: Double) -> tuple[float, Double]:
        value, gradient = likelihood(start + directions.move(x))
        evaluations.count(value)
        return value, directions.slopes(gradient)

    x, _, _ = lbfgs.minimize(along, np.zeros(directions.size), max_iter, loss_tolerance=1e-6, gradient_tolerance=1e-4,
                              noise=1e-11)
    return start + directions.move(x), likelihood(start + directions.move(x))[0]


class Given(NamedTuple):
    """Kernel and noise that are given; None for those that are learned."""

    kernel: GaussianKernel | None
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
            start = np.log([given.kernel.amplitude, given.kernel.bias, 0.1, *(1 / given.kernel.lengthscales)])
    if given.noise is not None:
        start[2] = math.log(max(given.noise, 1e-300))
    return start


def likeliest_kernel(rows: Double, targets: Double, given: Given, length_scales: LengthScales,
                     rng: "np.random.Generator", n_threads: int | None) -> RegularisedKernel:
    """Maximise the marginal likelihood over what is not given; the noise becomes lambda.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features), in random order
    targets : array of shape (n_rows, n_outputs); all outputs share one kernel
    given : Given
    length_scales : `one_per_column` or `one_for_all`
    rng : numpy.random.Generator
        Source of one `standard_normal` draw of shape (2, 3 + n_features).
    n_threads : int or None
    """
    start = _start(rows, given)
    free = np.full(start.size, given.kernel is None)
    free[2] = given.noise is None
    directions = length_scales(free, rows.shape[1]) if given.kernel is None else _Apart(free)
    draws = _START_SPREAD * rng.standard_normal((_N_STARTS - 1, start.size))
    few = Likelihood(rows[:_FEW_ROWS], targets[:_FEW_ROWS], start, free, n_threads)
    evaluations = _Evaluations("length scales", _N_STARTS * _ITERATIONS[0])
    found = [_minimise(few, logs, directions, _ITERATIONS[0], evaluations)
             for logs in (start, *(start + directions.move(draw[: directions.size]) for draw in draws))]
    logs, _ = min(found, key=lambda pair: pair[1])
    if len(rows) > _FEW_ROWS:
        logs, _ = _minimise(Likelihood(rows, targets, start, free, n_threads), logs, directions, _ITERATIONS[1],
                            _Evaluations("length scales on more rows", _ITERATIONS[1]))
    amplitude, bias, noise, *inverse_lengths = np.exp(logs)
    kernel = GaussianKernel(1 / np.array(inverse_lengths), amplitude, bias) if given.kernel is None else given.kernel
    return RegularisedKernel(kernel, noise + _LEAST_NOISE if given.noise is None else given.noise)
