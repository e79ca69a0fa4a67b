"""Training rows as kernels read them: standardised, packed in tiles, and answering with sums over rows.

Everything a boosted family learns from data it learns through `Rows` and `Margins`, whose answers are sums over fixed
blocks of rows added in order.  Bits therefore do not depend on the number of threads, and blocks may live elsewhere.
"""

import math
from typing import NamedTuple

import numpy as np

from ._kernels import _boosting, _features
from ._row_blocks import chunks
from ._threads import check_n_threads
from ._tiles import TILE, aligned, make_tiles, tiled

# A column whose spread is below one part in this counts as constant: its omegas would overflow in its own unit.
_LARGEST_INVERSE = 1e305

_NO_WEIGHT = np.empty(0)


class Scaling(NamedTuple):
    """x -> (x - center) * inverse_scale, with inverse_scale 0 for columns that do not vary."""

    center: np.ndarray  # (n_features,)
    inverse_scale: np.ndarray  # (n_features,)
    mean_variance: float  # of the columns, as given


def measure_scaling(X, weight=None, standardize=True, n_threads=None):
    """Weighted mean and standard deviation of the columns of X, an array or RowBlocks.

    Columns are first brought to magnitude 1 by a power of two, so that neither 1e300 nor 1e-300 over- or underflows.
    """
    n_threads = check_n_threads(n_threads, math.prod(X.shape))
    low, high = _column_range(X, weight, n_threads)
    exponent = np.clip(np.frexp(np.maximum(np.abs(low), np.abs(high)))[1], -1021, 1021)
    unit = np.ldexp(1.0, -exponent)
    total = X.shape[0] if weight is None else weight.sum()
    center = _column_sums(X, unit, np.zeros(X.shape[1]), weight, 1, n_threads) / total
    variance = np.where(low == high, 0.0, _column_sums(X, unit, center, weight, 2, n_threads) / total)
    with np.errstate(over="ignore", divide="ignore"):
        inverse_scale = np.ldexp(1 / np.sqrt(variance), -exponent)
        mean_variance = float(np.mean(np.ldexp(variance, 2 * exponent)))
    varies = (variance > 0) & (inverse_scale < _LARGEST_INVERSE)
    inverse_scale = np.where(varies, inverse_scale if standardize else 1.0, 0.0)
    return Scaling(np.where(low == high, low, np.ldexp(center, exponent)), inverse_scale, mean_variance)


def _n_blocks(rows):
    return -(-len(rows) // _features.ROW_BLOCK)


def _weighty_chunks(X, weight):
    """Yield (array, its weights) over the rows of positive weight."""
    for rows, block in chunks(X):
        if weight is None:
            yield block, _NO_WEIGHT
            continue
        keep = weight[rows] > 0
        if keep.any():
            yield (block, weight[rows]) if keep.all() else (block[keep], weight[rows][keep])


def _column_range(X, weight, n_threads):
    """Smallest and largest value of each column."""
    lows, highs = [], []
    for block, _ in _weighty_chunks(X, weight):
        low, high = np.empty((2, _n_blocks(block), X.shape[1]))
        _features.column_range(block, low, high, n_threads)
        lows.append(low.min(axis=0))
        highs.append(high.max(axis=0))
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _column_sums(X, unit, center, weight, power, n_threads):
    """Sums over rows of weight (X unit - center)^power."""
    total = np.zeros(X.shape[1])
    for block, block_weight in _weighty_chunks(X, weight):
        partial = np.empty((_n_blocks(block), X.shape[1]))
        _features.column_moments(block, unit, center, block_weight, power, partial, n_threads)
        total += partial.sum(axis=0)
    return total


class Sample:
    """The rows that one round descends on."""

    def __init__(self, tiles, weight, total_weight, place):
        self.tiles = tiles  # (n_tiles, n_features, 128)
        self.weight = weight  # (n_tiles or 2, 128)
        self.total_weight = total_weight
        self.place = place  # slice of all tiles, or indices of rows

    def of(self, values):
        """Entries of the sample in a tiled array over all rows."""
        if isinstance(self.place, slice):
            return values[self.place]
        return tiled(values.reshape(-1)[self.place], values.dtype)


class Rows:
    """Rows packed in tiles of shape (n_tiles, n_features, 128), with their weights and the scratch of the kernels.

    Rounds descend in turn on each of `n_parts` parts of the rows (0 where there is nothing to descend on).  With more
    than one, `order`, a permutation of the rows of positive weight, says what is together: parts are random samples.

    Memory: for an array, 4 bytes per number in single precision, 8 in double; for RowBlocks about 12 or 16 MB of
    buffers and for each row of a part its numbers twice, once in double; 1 number of scratch a row, 2 a row of a part.
    """

    def __init__(self, X, scaling, weight, dtype, n_threads, n_parts=1, order=None):
        self.n_samples, self.n_features = X.shape
        self.n_parts = n_parts
        self.dtype = np.dtype(dtype)
        self.n_tiles = -(-self.n_samples // TILE)
        self.n_threads = check_n_threads(n_threads, self.n_samples * self.n_features)
        self.total_weight = float(self.n_samples if weight is None else weight.sum())
        self.store = make_tiles(X, scaling, self.dtype, self.n_threads, n_parts, order, weight)
        self.weight = self._uniform_weight(self.n_samples) if weight is None else self.tile(weight)
        n_blocks = -(-self.n_samples // _features.ROW_BLOCK)
        self.partial = np.zeros((n_blocks, -(-max(64, self.n_features + 1) // 8) * 8))
        self.scaled = np.zeros(self.n_features, self.dtype)
        self.lanes = aligned((self.n_threads, self.n_features * _features.LANE_COUNT), self.dtype)
        self.lanes[:] = 0
        self.circle = np.zeros((2, 32), self.dtype)
        self.h = aligned((self.n_tiles, TILE), self.dtype)
        self.h[:] = 0
        part_size = self.store.largest_part * TILE * self.n_features
        self.part_threads = min(self.n_threads, check_n_threads(n_threads, part_size))
        self.cosine, self.sine = aligned((2, self.store.largest_part, TILE), self.dtype)

    def _uniform_weight(self, n_samples):
        """Weights of a full tile and of the last one, which is all that equal weights need."""
        weight = np.ones((2, TILE), self.dtype)
        weight[1, (n_samples - 1) % TILE + 1 :] = 0
        return weight if n_samples > TILE else weight[1:]

    def tile(self, values):
        """Lay a value per row of X out in tiles, padded with 0."""
        order = self.store.order
        return tiled(values if order is None else values[order], self.dtype)

    def blocks(self):
        """Yield (slice of tiles, tiles, their weights) over all rows."""
        for place, tiles in self.store.blocks():
            if len(self.weight) == self.n_tiles:
                yield place, tiles, self.weight[place]
            else:
                yield place, tiles, self.weight if place.stop == self.n_tiles else self.weight[[0, 0]]

    def sample(self, round_index):
        """The part of the rows to descend on in a round."""
        tiles, place, n_samples = self.store.part(round_index % self.n_parts)
        if n_samples == self.n_samples:
            return Sample(tiles, self.weight, self.total_weight, place)
        if len(self.weight) < self.n_tiles:
            return Sample(tiles, self._uniform_weight(n_samples), float(n_samples), place)
        weight = Sample(tiles, self.weight, 0.0, place).of(self.weight)
        # In single precision weights may all be too small to be told from 0.
        return Sample(tiles, weight, float(weight.sum(dtype=np.float64)) or 1.0, place)


class Margins:
    """State of the exponential loss on some rows: predictions, and the residuals y_tilde = y exp(-y prediction)."""

    def __init__(self, rows, sign, intercept):
        self.rows = rows
        self.y = rows.tile(sign)
        self.raw_prediction = aligned((rows.n_tiles, TILE), np.dtype(np.float64))
        self.raw_prediction[:] = intercept
        self.r2 = aligned((rows.n_tiles, TILE), rows.dtype)  # log2(e) y_tilde
        self.boost(0.0)

    def agreement(self, omega, phase):
        """Evaluate h = cos(omega . x - phase); return the sums of w and of w y h, w = weight exp(-y prediction)."""
        rows, total, agreeing = self.rows, 0.0, 0.0
        bounded = self.largest_residual >= _boosting.LARGEST_RESIDUAL
        for part, tiles, weight in rows.blocks():
            sums = _boosting.apply_cosine(tiles, self.raw_prediction[part], self.y[part], self.r2[part], weight, omega,
                                          phase, bounded, rows.h[part], rows.scaled, rows.partial, rows.n_threads)
            total, agreeing = total + sums[0], agreeing + sums[1]
        return total, agreeing

    def boost(self, step):
        """Add step times the learner last evaluated."""
        rows = self.rows
        loss, self.largest_residual = _boosting.boost_rows(self.raw_prediction, self.y, rows.weight, rows.h, step,
                                                           self.r2, rows.partial, rows.n_threads)
        self.loss = loss / rows.total_weight
