"""Training rows as kernels read them: standardised, packed in tiles, and answering with sums over rows.

Everything a boosted family learns from data it learns through `Rows` and `Margins`, whose answers are sums over fixed
blocks of rows added in order.  Bits therefore do not depend on the number of threads, and blocks may live elsewhere.
"""

import math
from typing import NamedTuple

import numpy as np

from ._kernels import _boosting, _features
from ._threads import check_n_threads
from ._validation import row_blocks

_TILE = _features.TILE_ROWS

# A column whose spread is below one part in this counts as constant: its omegas would overflow in its own unit.
_LARGEST_INVERSE = 1e305


class Scaling(NamedTuple):
    """x -> (x - center) * inverse_scale, with inverse_scale 0 for columns that do not vary."""

    center: np.ndarray  # (n_features,)
    inverse_scale: np.ndarray  # (n_features,)
    mean_variance: float  # of the columns, as given


def measure_scaling(X, weight=None, standardize=True):
    """Weighted mean and standard deviation of the columns of X, in blocks of rows.

    Columns are first brought to magnitude 1 by a power of two, so that neither 1e300 nor 1e-300 over- or underflows.
    """
    low, high = np.full((2, X.shape[1]), np.nan)
    for rows in row_blocks(X):
        low, high = np.fmin(low, X[rows].min(axis=0)), np.fmax(high, X[rows].max(axis=0))
    exponent = np.clip(np.frexp(np.maximum(np.abs(low), np.abs(high)))[1], -1021, 1021)
    unit = np.ldexp(1.0, -exponent)
    total = X.shape[0] if weight is None else weight.sum()

    def mean(function):
        sums = sum((function(X[rows] * unit) * (1 if weight is None else weight[rows, None])).sum(axis=0)
                   for rows in row_blocks(X))
        return sums / total

    center = mean(lambda x: x)
    variance = np.where(low == high, 0.0, mean(lambda x: (x - center) ** 2))
    with np.errstate(over="ignore", divide="ignore"):
        inverse_scale = np.ldexp(1 / np.sqrt(variance), -exponent)
        mean_variance = float(np.mean(np.ldexp(variance, 2 * exponent)))
    varies = (variance > 0) & (inverse_scale < _LARGEST_INVERSE)
    inverse_scale = np.where(varies, inverse_scale if standardize else 1.0, 0.0)
    return Scaling(np.where(low == high, low, np.ldexp(center, exponent)), inverse_scale, mean_variance)


def _aligned(shape, dtype):
    """An empty array that begins on a cache line: vector loads then never straddle two."""
    size = math.prod(shape) * dtype.itemsize
    buffer = np.empty(size + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + size].view(dtype).reshape(shape)


class Rows:
    """Rows in tiles of shape (n_tiles, n_features, 128), with their weights.

    Memory: 4 bytes per number in single precision, 8 in double, plus 3 numbers a row of scratch.
    """

    def __init__(self, X, scaling, weight, dtype, n_threads):
        self.n_samples, self.n_features = X.shape
        self.dtype = np.dtype(dtype)
        self.n_tiles = -(-self.n_samples // _TILE)
        self.n_threads = check_n_threads(n_threads, X.size)
        self.total_weight = float(self.n_samples if weight is None else weight.sum())
        self.tiles = _aligned((self.n_tiles, self.n_features, _TILE), self.dtype)
        lengths = np.empty(self.n_tiles)
        _features.pack_rows(X, scaling.center, scaling.inverse_scale, self.tiles, lengths, self.n_threads)
        self.largest_length = float(np.sqrt(lengths.max()))
        self.weight = self._uniform_weight() if weight is None else self.tile(weight)
        n_blocks = -(-self.n_samples // _features.ROW_BLOCK)
        self.partial = np.zeros((n_blocks, -(-max(64, self.n_features + 1) // 8) * 8))
        self.scaled = np.zeros(self.n_features, self.dtype)
        self.lanes = _aligned((self.n_threads, self.n_features * _features.LANE_COUNT), self.dtype)
        self.lanes[:] = 0
        self.circle = np.zeros((2, 32), self.dtype)
        self.h, self.cosine, self.sine = _aligned((3, self.n_tiles, _TILE), self.dtype)
        self.h[:] = 0

    def _uniform_weight(self):
        """Weights of a full tile and of the last one, which is all that equal weights need."""
        last = self.n_samples - (self.n_tiles - 1) * _TILE
        weight = np.ones((2, _TILE), self.dtype)
        weight[1, last:] = 0
        return weight if self.n_tiles > 1 else weight[1:]

    def tile(self, values):
        """Lay a value per row out in tiles, padded with 0."""
        tiled = _aligned((self.n_tiles * _TILE,), self.dtype)
        tiled[: self.n_samples] = values
        tiled[self.n_samples :] = 0
        return tiled.reshape(self.n_tiles, _TILE)


class Margins:
    """State of the exponential loss on some rows: predictions, and the residuals y_tilde = y exp(-y prediction)."""

    def __init__(self, rows, sign, intercept):
        self.rows = rows
        self.y = rows.tile(sign)
        self.raw_prediction = _aligned((rows.n_tiles, _TILE), np.dtype(np.float64))
        self.raw_prediction[:] = intercept
        self.r2 = _aligned((rows.n_tiles, _TILE), rows.dtype)  # log2(e) y_tilde
        self.boost(0.0)

    def agreement(self, omega, phase):
        """Evaluate h = cos(omega . x - phase); return the sums of w and of w y h, w = weight exp(-y prediction)."""
        rows = self.rows
        return _boosting.apply_cosine(rows.tiles, self.raw_prediction, self.y, rows.weight, omega, phase, rows.h,
                                      rows.scaled, rows.partial, rows.n_threads)

    def boost(self, step):
        """Add step times the learner last evaluated."""
        rows = self.rows
        loss, self.largest_residual = _boosting.boost_rows(self.raw_prediction, self.y, rows.weight, rows.h, step,
                                                           self.r2, rows.partial, rows.n_threads)
        self.loss = loss / rows.total_weight
