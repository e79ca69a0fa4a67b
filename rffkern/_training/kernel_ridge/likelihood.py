"""The marginal likelihood of a Gaussian process, and the kernel and noise that maximise it.

Kernel ridge regression predicts what a Gaussian process predicts whose covariance is the kernel and whose noise has the
variance lambda.  The likelihood of the targets under that process says how good length scales and lambda are.
"""

import itertools
import math
from typing import Any

import numpy as np

from ..._estimator.monitor import Steps
from ..._native import solvers
from ..._native.array_types import Double, Mask
from ..._rows.tiles import DOUBLE
from .kernel import Kernel
from .kernel_matrix import DenseKernels, DenseSystem, in_panels, precision_beside

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
PRIOR_SPREAD = 5.0

# Noise below this share of the variance of the targets would leave Cholesky factors to rounding.
LEAST_NOISE = 1e-6


class Likelihood:
    """Negative logarithm of the marginal likelihood of some targets, with that of the prior.

    Its argument holds the logarithms of amplitude, bias, noise (beyond the least) and inverse length scales.  Those
    that are `free` have a prior around `start`.  With the precision "single", the matrix is in single precision where
    the noise allows it.
    """

    def __init__(self, rows: Double, targets: Double, start: Double, free: Mask, shape: str,
                 n_threads: int | None, precision: str = "double", least_noise: float = LEAST_NOISE,
                 prior_spread: float = PRIOR_SPREAD) -> None:
        self._start, self._free, self._targets, self._precision = start, free, targets, precision
        self._least_noise, self._prior_spread = least_noise, prior_spread
        self._rows, self._shape, self._n_threads = rows, shape, n_threads
        self.rounding = _ROUNDING[precision]
        # Differences count alone, and those of large numbers would be lost in products; a constant column becomes 0.
        with np.errstate(over="ignore", invalid="ignore"):
            apart = rows - rows[0]
            self._centered = apart - apart.mean(axis=0)
        self._allocate(DOUBLE)

    def _allocate(self, dtype: "np.dtype[Any]") -> None:
        """Bring rows and targets into the form for one precision, with memory for matrices in it."""
        rows, self.dtype, size = self._rows, dtype, (len(self._rows), len(self._rows))
        self._kernels = DenseKernels(rows, rows, self._n_threads, dtype)
        self._system = DenseSystem(len(rows), self._n_threads, dtype)
        self._inverse, self._matrix = np.empty(size, dtype), np.empty(size, dtype)
        # -2 dk / d(r^2), which of a Gaussian kernel is k itself.
        self._derivatives = np.empty(size, dtype) if self._shape == "exponential" else self._matrix
        with np.errstate(over="ignore", invalid="ignore"):
            self._row_panels, self._target_panels = in_panels(self._centered, dtype), in_panels(self._targets, dtype)

    def __call__(self, logs: Double) -> tuple[float, Double]:
        """Value and gradient; inf where rounding leaves no factor, or numbers overflow."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, gradient = self._evaluate(logs)
        good = np.isfinite(value) and np.isfinite(gradient).all()
        return (float(value), gradient) if good else (math.inf, np.zeros(logs.size))

    def value(self, logs: Double) -> float:
        """The value alone, in a third of the time."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value = (self._value(self._system.solve(self._targets), self._away(logs)) if self._factorise(logs)
                     else math.inf)
        return value if math.isfinite(value) else math.inf

    def _factorise(self, logs: Double) -> bool:
        """Compute kernels and the factor of their covariance; False if there is none."""
        amplitude, bias, noise = np.exp(logs[:3]).tolist()
        dtype = precision_beside(self._precision, max(noise, self._least_noise), amplitude + bias)
        if self.dtype != dtype:
            self._allocate(dtype)
        self._kernels.fill(np.exp(logs[3:]), self._shape, self._matrix,
                           self._derivatives if self._shape == "exponential" else None)
        covariance = np.multiply(self._matrix, dtype.type(amplitude), out=self._system.matrix)
        covariance += dtype.type(bias)
        covariance.flat[:: len(covariance) + 1] += dtype.type(noise + self._least_noise)
        return self._system.factorise()

    def _away(self, logs: Double) -> Double:
        """Distances from the start, in deviations of the prior."""
        return np.subtract(logs, self._start, out=np.zeros(logs.size), where=self._free) / self._prior_spread

    def _value(self, weights: Double, away: Double) -> float:
        log_roots = np.log(self._system.matrix.diagonal(), dtype=np.float64).sum()
        return float(self._targets.shape[1] * log_roots + 0.5 * (self._targets * weights).sum()
                     + 0.5 * (away**2).sum())

    def _evaluate(self, logs: Double) -> tuple[float, Double]:
        if not self._factorise(logs):
            return math.inf, np.zeros(logs.size)
        system, inverse, rows = self._system, self._inverse, self._centered
        system.invert(inverse)
        weights = system.multiply(inverse, self._target_panels, self._targets.shape[1])
        away = self._away(logs)
        value = self._value(weights, away)
        on_diagonal, along_bias, along_kernel, steepness = system.likelihood_gradient(
            inverse, np.ascontiguousarray(weights.T), self._matrix, self._derivatives)
        # The sum over pairs of rows of gradient times squared difference is twice that over rows x of x (x - mean)
        # by gradient.
        means = system.multiply(inverse, self._row_panels, rows.shape[1])
        spread = (rows * (steepness[:, None] * rows - means)).sum(axis=0)
        amplitude, bias, noise = np.exp(logs[:3]).tolist()
        inverse_lengths = np.exp(logs[3:])
        gradient = np.concatenate([[0.5 * amplitude * along_kernel.sum(), 0.5 * bias * along_bias.sum(),
                                    0.5 * noise * on_diagonal.sum()], -amplitude * inverse_lengths**2 * spread])
        return value, gradient + away / self._prior_spread


class KernelSearch:
    """The search for the likeliest kernel on some rows, which are in random order; all outputs share one.

    With `per_column` each column has a length scale, else all are one multiple of the spread of their columns, or of
    where they begin.  `kernel` and `noise` are None where they are to be found.  `inverse_lengths` are those at which
    the search begins, and which the prior is around; None for the spread of columns.
    """

    def __init__(self, rows: Double, targets: Double, shape: str, per_column: bool, n_threads: int | None,
                 kernel: Kernel | None = None, noise: float | None = None, precision: str = "single",
                 inverse_lengths: Double | None = None, least_noise: float = LEAST_NOISE,
                 prior_spread: float = PRIOR_SPREAD) -> None:
        self._rows, self._targets, self._kernel, self._noise = rows, targets, kernel, noise
        self._n_threads, self._precision = n_threads, precision
        self._least_noise, self._prior_spread = least_noise, prior_spread
        self._shape = shape if kernel is None else kernel.shape
        self._start = _start(rows, kernel, noise, inverse_lengths)
        self._is_free = np.full(self._start.size, kernel is None)
        self._is_free[2] = noise is None
        number = np.cumsum(self._is_free) - 1
        if kernel is None and not per_column:
            number[3:] = number[3]
        self._variables = np.where(self._is_free, number, -1)
        # Where the search is: logarithms of the parameters; and on how many rows it was made, with the pairs
        # (n_pairs, 2, n_variables) of steps and changes of the gradient that L-BFGS begins with on more rows.
        self._logs, self._n_rows = self._start, 1
        self._pairs = np.empty((0, 2, int(self._variables.max()) + 1))

    def _maximise(self, n_rows: int, stage: int, work: str) -> Kernel:
        """Go on with the search on so many rows, from where it is; the stage is 0 on few rows and 1 on all."""
        likelihood = Likelihood(self._rows[:n_rows], self._targets[:n_rows], self._start, self._is_free, self._shape,
                                self._n_threads, self._precision, self._least_noise, self._prior_spread)
        logs, noisy = self._logs, self._logs.copy()
        at_start = likelihood(logs)
        noisy[2] = max(noisy[2], self._start[2])  # few rows may be fitted without any noise, and more are then absurd
        if noisy[2] > logs[2] and likelihood.value(noisy) < at_start[0]:
            at_noisy = likelihood(noisy)
            if at_noisy[0] < at_start[0]:  # and not inf, for its gradient
                logs, at_start = noisy, at_noisy
        # Each parameter moves by the variable of its number, or not at all where that is negative.
        variables, is_free, n_variables = self._variables, self._variables >= 0, int(self._variables.max()) + 1
        path: list[tuple[float, Double, Double]] = []  # value, point, gradient wherever the value is the lowest so far
        steps = Steps(work, _ITERATIONS[stage])

        def moved(x: Double) -> Double:
            return logs + np.where(is_free, x[variables], 0.0)

        def along(x: Double) -> tuple[float, Double]:
            value, gradient = likelihood(moved(x)) if path else at_start
            steps.step(f"negative log-likelihood {value:.6g}")
            gradient = np.bincount(variables[is_free], gradient[is_free], n_variables).astype(np.float64, copy=False)
            if not path or value < path[-1][0]:
                path.append((value, x, gradient))
            return value, gradient

        # Values and gradients grow with the number of rows.
        x, _, _ = solvers.minimize(along, np.zeros(n_variables), _ITERATIONS[stage], loss_tolerance=_TOLERANCES[stage],
                                   gradient_tolerance=1e-3, noise=likelihood.rounding,
                                   pairs=self._pairs * [[1.0], [n_rows / self._n_rows]])
        pairs = [(after[1] - before[1], after[2] - before[2]) for before, after in itertools.pairwise(path)]
        self._logs, self._pairs, self._n_rows = moved(x), np.array(pairs).reshape(-1, 2, n_variables), n_rows
        return self._kernel_here()

    def _kernel_here(self) -> Kernel:
        """The kernel that the search has come to; its noise becomes lambda."""
        amplitude, bias, noise, *inverse_lengths = np.exp(self._logs)
        kernel = self._kernel or Kernel(1 / np.array(inverse_lengths), amplitude, bias, self._shape)
        return kernel._replace(reg_lambda=noise + self._least_noise if self._noise is None else self._noise)

    def on_few_rows(self) -> Kernel:
        """The likeliest kernel and noise on the first `FEW_ROWS`."""
        return self._maximise(FEW_ROWS, 0, "length scales")

    def on_all_rows(self) -> Kernel:
        """The same on all rows, from where the search is."""
        if len(self._rows) <= FEW_ROWS:
            return self._kernel_here()
        return self._maximise(len(self._rows), 1, "length scales on more rows")

    def likeliest(self) -> Kernel:
        """The likeliest kernel and noise on all rows, those on few being the start."""
        self.on_few_rows()
        return self.on_all_rows()


def _start(rows: Double, kernel: Kernel | None, noise: float | None,
           inverse_lengths: Double | None = None) -> Double:
    """Logarithms at which the search begins, among them those that are given."""
    if inverse_lengths is None:
        inverse_lengths = 1 / (math.sqrt(rows.shape[1]) * _spread(rows))
    start = np.log([1.0, 0.1, 0.1, *inverse_lengths])
    if kernel is not None:
        with np.errstate(divide="ignore"):
            start = np.log([kernel.amplitude, kernel.bias, 0.1, *(1 / kernel.length_scale)])
    if noise is not None:
        start[2] = math.log(max(noise, 1e-300))
    return start


def _spread(rows: Double) -> Double:
    """Standard deviations of the columns, 1 for those that are constant; finite where their squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread: Double = rows.std(axis=0)
    wide = ~np.isfinite(spread)
    spread[wide] = np.ldexp(np.ldexp(rows[:, wide], -600).std(axis=0), 600)
    spread[spread == 0] = 1.0
    return np.minimum(spread, _LARGEST_SPREAD)
