"""The squared-exponential kernel with a length for every feature, and its lengths by maximum marginal likelihood.

The kernel of Sun and Yao (2010), (33): k(x, z) = amplitude exp(-1/2 sum over l of ((x_l - z_l) / lengthscale_l)^2) +
bias.  A machine that is regularised by lambda predicts what a Gaussian process of that covariance and of noise of
variance lambda does; the likelihood of the targets under it tells how good lengths are.
"""

import math
from typing import NamedTuple

import numpy as np

from .._data import validation as check
from .._data.scaling import Scaling
from .._data.threads import check_n_threads
from .._data.tiles import pack
from .._kernels import lbfgs, linalg, sparse_likelihood
from .._kernels.sparse_columns import UNIT
from ..errors import InvalidInputError
from ..expansion import pad_centers

# Rows the likelihood is maximised on: several starts on few of them, then the best start on more.
_FEW_ROWS = 256
_MOST_ROWS = 1000
_N_STARTS = 3
_ITERATIONS = 40, 60

# Logarithms of parameters have a normal prior of this deviation: a length that tells nothing stays where it is, instead
# of running away.  A factor of e^5 = 150 either way costs half a unit of log-likelihood.
_PRIOR_SPREAD = 5.0
_START_SPREAD = 1.0

# Times the difference of two rows this may overflow, and tells that they are far apart, but not for equal ones.
_LARGEST_INVERSE = 1e305

# Noise below this share of the variance of the targets would leave Cholesky factors to rounding.
_LEAST_NOISE = 1e-6


class GaussianKernel(NamedTuple):
    """Parameters of k, in units of the columns that learning takes place in."""

    lengthscales: np.ndarray  # (n_features,)
    amplitude: float
    bias: float

    @property
    def at_zero(self):
        """k(x, x)."""
        return self.amplitude + self.bias

    def normalised(self):
        """The kernel with k(x, x) = 1, which makes the same functions."""
        return self._replace(amplitude=self.amplitude / self.at_zero, bias=self.bias / self.at_zero)

    def inverse_lengths(self, scaling):
        """Per unit of a raw column."""
        with np.errstate(over="ignore"):
            return np.minimum(scaling.inverse_scale / self.lengthscales, _LARGEST_INVERSE)

    def scaling(self, scaling):
        """From raw rows to units in which k is amplitude 2^-|x - z|^2 + bias."""
        return Scaling(scaling.center, UNIT * self.inverse_lengths(scaling), scaling.mean_variance)


def check_kernel(kernel):
    """Check the parameter `kernel` but for the number of lengthscales."""
    if isinstance(kernel, str) and kernel in ("auto", "likelihood"):
        return
    if not isinstance(kernel, dict) or not kernel.keys() <= {"lengthscales", "amplitude", "bias"} or (
            "lengthscales" not in kernel):
        raise InvalidInputError("kernel must be 'auto', 'likelihood' or a dict of lengthscales and, if wanted, "
                                f"amplitude and bias, got {kernel!r}")
    lengthscales = np.asarray(kernel["lengthscales"], dtype=object)
    if lengthscales.ndim > 1 or not lengthscales.size:
        raise InvalidInputError("kernel lengthscales must be a number, or one for each column, got shape "
                                f"{lengthscales.shape}")
    for length in lengthscales.ravel():
        check.check_scalar("kernel lengthscales", length, float, low=1e-100, high=1e100)
    check.check_scalar("kernel amplitude", kernel.get("amplitude", 1.0), float, low=1e-100, high=1e100)
    check.check_scalar("kernel bias", kernel.get("bias", 0.0), float, low=0, high=1e100)


def given_kernel(kernel, n_features):
    """The GaussianKernel of a dict."""
    lengthscales = np.asarray(kernel["lengthscales"], dtype=np.float64)
    if lengthscales.ndim and lengthscales.shape != (n_features,):
        raise InvalidInputError(f"kernel lengthscales must be a number or {n_features} numbers, one for each column, "
                                f"got shape {lengthscales.shape}")
    return GaussianKernel(np.broadcast_to(lengthscales, n_features).copy(), float(kernel.get("amplitude", 1.0)),
                          float(kernel.get("bias", 0.0)))


class _Likelihood:
    """Negative logarithm of the marginal likelihood of some targets, with that of the prior.

    Its argument holds the logarithms of amplitude, bias, noise (beyond the least) and inverse lengthscales.
    """

    def __init__(self, rows, targets, start, free, n_threads):
        self.rows, self.targets = rows, targets
        self.start, self.free = start, free
        self.n_rows, self.n_features = rows.shape
        self.n_threads = check_n_threads(n_threads, self.n_rows**2)
        self.matrix, self.covariance, self.inverse, self.transposed = np.empty((4, self.n_rows, self.n_rows))
        self.partial = np.empty((self.n_rows, self.n_features))
        self.scratch = np.empty((self.n_threads, linalg.factor_scratch(self.n_rows)))

    def _fill_matrix(self, inverse_lengths):
        scaling = Scaling(np.zeros(self.n_features), UNIT * inverse_lengths, 1.0)
        tiles, _ = pack(self.rows, scaling, np.dtype(np.float64), 1)
        centers = pad_centers(self.rows * scaling.inverse_scale, np.float64)
        sparse_likelihood.kernel_matrix(tiles, centers, self.matrix, self.n_threads)

    def __call__(self, logs):
        """Value and gradient; inf where rounding leaves no factor, or numbers overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = self._evaluate(logs, *np.split(np.exp(logs), [1, 2, 3]))
        good = np.isfinite(value) and np.isfinite(gradient).all()
        return (value, gradient) if good else (math.inf, np.zeros(logs.size))

    def _evaluate(self, logs, amplitude, bias, noise, inverse_lengths):
        self._fill_matrix(inverse_lengths)
        np.multiply(self.matrix, amplitude, out=self.covariance)
        self.covariance += bias
        self.covariance.flat[:: self.n_rows + 1] += noise + _LEAST_NOISE
        if not linalg.factorise(self.covariance, self.scratch, self.n_threads):
            return math.inf, np.zeros(logs.size)
        linalg.invert(self.covariance, self.inverse, self.transposed, self.scratch, self.n_threads)
        away = np.subtract(logs, self.start, out=np.zeros(logs.size), where=self.free) / _PRIOR_SPREAD
        value = self.targets.shape[1] * np.log(self.covariance.diagonal()).sum() + 0.5 * (away**2).sum()
        slope = np.multiply(self.inverse, self.targets.shape[1], out=self.inverse)
        for target in self.targets.T:
            weights = target.copy()
            linalg.solve_factorised(self.covariance, weights)
            value += 0.5 * (target * weights).sum()
            slope -= np.multiply.outer(weights, weights)
        return value, self._gradient(slope, amplitude, bias, noise, inverse_lengths) + away / _PRIOR_SPREAD

    def _gradient(self, slope, amplitude, bias, noise, inverse_lengths):
        """From the derivatives `slope` along twice the entries of the covariance."""
        along_noise, along_bias = slope.diagonal().sum(), slope.sum()
        slope *= self.matrix
        sparse_likelihood.spread_along_features(slope, self.rows, self.partial, self.n_threads)
        # Half for `slope`, twice for the two triangles, and the exponent's -1/2 times the 2 of a square.
        lengths = -amplitude * inverse_lengths**2 * self.partial.sum(axis=0)
        return np.concatenate([0.5 * amplitude * slope.sum(), 0.5 * bias * along_bias, 0.5 * noise * along_noise,
                               lengths])


def _minimise(likelihood, start, directions, max_iter):
    """Logarithms that are reached from a start along some directions, and the value there."""
    def along(x):
        value, gradient = likelihood(start + x @ directions)
        return value, directions @ gradient

    x, _, _ = lbfgs.minimize(along, np.zeros(len(directions)), max_iter, loss_tolerance=1e-6, gradient_tolerance=1e-4,
                              noise=1e-11)
    return start + x @ directions, likelihood(start + x @ directions)[0]


def likeliest_kernel(rows, targets, rng, kernel, noise, n_threads, one_length=False):
    """Maximise the marginal likelihood over what is not given.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features), in random order
    targets : array of shape (n_rows, n_outputs); all outputs share one kernel
    rng : numpy.random.Generator
        Taken from it is one `standard_normal` draw of shape (2, 3 + n_features).
    kernel : GaussianKernel or None
    noise : float or None
    n_threads : int or None
    one_length : bool, whether lengths are all one multiple of the spread of their columns

    Returns
    -------
    (GaussianKernel, noise)
    """
    spread = rows.std(axis=0)
    spread[spread == 0] = 1.0
    start = np.log([1.0, 0.1, 0.1, *(1 / (math.sqrt(rows.shape[1]) * spread))])
    free = np.zeros(start.size, dtype=bool)
    free[:2], free[2], free[3:] = kernel is None, noise is None, kernel is None
    if kernel is not None:
        with np.errstate(divide="ignore"):
            start = np.log([kernel.amplitude, kernel.bias, 0.1, *(1 / kernel.lengthscales)])
    if noise is not None:
        start[2] = math.log(max(noise, 1e-300))
    directions = np.eye(start.size)[free]
    if one_length and kernel is None:
        directions = np.vstack([directions[:-rows.shape[1]], directions[-rows.shape[1] :].sum(axis=0)])
    draws = _START_SPREAD * rng.standard_normal((_N_STARTS - 1, start.size))
    few = _Likelihood(rows[:_FEW_ROWS], targets[:_FEW_ROWS], start, free, n_threads)
    found = [_minimise(few, logs, directions, _ITERATIONS[0])
             for logs in (start, *(start + draw[: len(directions)] @ directions for draw in draws))]
    logs, _ = min(found, key=lambda pair: pair[1])
    if len(rows) > _FEW_ROWS:
        logs, _ = _minimise(_Likelihood(rows, targets, start, free, n_threads), logs, directions, _ITERATIONS[1])
    amplitude, bias, found_noise, *inverse_lengths = np.exp(logs)
    kernel = GaussianKernel(1 / np.array(inverse_lengths), amplitude, bias) if kernel is None else kernel
    return kernel, found_noise + _LEAST_NOISE if noise is None else noise


def n_rows_wanted(n_samples):
    """How many rows the likelihood is maximised on."""
    return min(n_samples, _MOST_ROWS)
