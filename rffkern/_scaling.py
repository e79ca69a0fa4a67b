"""Mean and spread of columns, by which rows and targets are standardised."""

import math
from typing import NamedTuple

import numpy as np

from ._kernels import _features
from ._row_blocks import chunks
from ._threads import check_n_threads
from .errors import InvalidInputError

# A column whose spread is below one part in this counts as constant: its omegas would overflow in its own unit.
_LARGEST_INVERSE = 1e305

# In standard deviations.  Only rows of hardly any weight, or of another set, can lie that far out.
_LARGEST_TARGET = 1e15

_NO_WEIGHT = np.empty(0)


class Scaling(NamedTuple):
    """x -> (x - center) * inverse_scale, with inverse_scale 0 for columns that do not vary."""

    center: np.ndarray  # (n_features,)
    inverse_scale: np.ndarray  # (n_features,)
    mean_variance: float  # of the columns, as given


def no_scaling(n_features):
    """The scaling that leaves rows as they are."""
    return Scaling(np.zeros(n_features), np.ones(n_features), 1.0)


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


def standardised_targets(values, weight, center, inverse_scale, name):
    """Targets in units of a spread, refused where their squares would overflow in single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = (values - center) * inverse_scale
    if weight is not None:
        values[weight == 0] = 0  # whatever stands there
    if not np.abs(values).max() <= _LARGEST_TARGET:
        raise InvalidInputError(f"{name} must lie within {_LARGEST_TARGET:g} standard deviations of the mean of y, "
                                f"got {np.abs(values).max():.3g}")
    return values
