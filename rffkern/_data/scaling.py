"""Mean and spread of columns, by which rows and targets are standardised."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._kernels import scoring
from .._kernels.array_types import NDArray
from ..errors import InvalidInputError
from .row_blocks import RowBlocks
from .threads import check_n_threads
from .weights import RowWeights

Double = NDArray[np.float64]
Blocks = Callable[[], Iterable[tuple[NDArray[Any], Double]]]

# A column whose spread is below one part in this counts as constant: its omegas would overflow in its own unit.
_LARGEST_INVERSE = 1e305

# In standard deviations.  Only rows of hardly any weight, or of another set, can lie that far out.
_LARGEST_TARGET = 1e15


class Scaling(NamedTuple):
    """x -> (x - center) * inverse_scale, with inverse_scale 0 for columns that do not vary."""

    center: Double  # (n_features,)
    inverse_scale: Double  # (n_features,)
    mean_variance: float  # of the columns, as given


def no_scaling(n_features: int) -> Scaling:
    """The scaling that leaves rows as they are."""
    return Scaling(np.zeros(n_features), np.ones(n_features), 1.0)


class ColumnSums(Protocol):
    """Rows, wherever they are, whose columns can be summed up."""

    total: float  # sum of the weights

    def column_range(self) -> tuple[Double, Double]:
        """Smallest and largest value of each column."""

    def column_sums(self, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""


def measure_scaling(X: Any, weights: RowWeights, standardize: bool = True, n_threads: int | None = None) -> Scaling:
    """Weighted mean and standard deviation of the columns of X, an array or RowBlocks."""
    return scaling_in_threads(X, weights, standardize, check_n_threads(n_threads, math.prod(X.shape)))


def scaling_in_threads(X: Any, weights: RowWeights, standardize: bool, n_threads: int) -> Scaling:
    """The same with a number of threads that suits X."""
    return scaling_from(RowSums(X, weights, n_threads), standardize)


def scaling_from(columns: ColumnSums, standardize: bool) -> Scaling:
    """The scaling that follows from sums over the columns.

    Columns are first brought to magnitude 1 by a power of two, so that neither 1e300 nor 1e-300 over- or underflows.
    """
    low, high = columns.column_range()
    exponent = np.clip(np.frexp(np.maximum(np.abs(low), np.abs(high)))[1], -1021, 1021)
    unit = np.ldexp(1.0, -exponent)
    center = columns.column_sums(unit, np.zeros(low.size), 1) / columns.total
    variance = np.where(low == high, 0.0, columns.column_sums(unit, center, 2) / columns.total)
    with np.errstate(over="ignore", divide="ignore"):
        inverse_scale = np.ldexp(1 / np.sqrt(variance), -exponent)
        mean_variance = float(np.mean(np.ldexp(variance, 2 * exponent)))
    varies = (variance > 0) & (inverse_scale < _LARGEST_INVERSE)
    inverse_scale = np.where(varies, inverse_scale if standardize else 1.0, 0.0)
    return Scaling(np.where(low == high, low, np.ldexp(center, exponent)), inverse_scale, mean_variance)


def _n_sums(rows: NDArray[Any]) -> int:
    """Number of partial sums over some rows."""
    return -(-len(rows) // scoring.STRIP_ROWS)


def _counting_blocks(X: Any, weights: RowWeights) -> Blocks:
    """A function that yields (array, its weights as kernels take them) over the rows of positive weight, at every call.

    The rows of an array are selected once, those of RowBlocks in every pass.
    """
    if isinstance(X, RowBlocks):
        return lambda: (found for rows, block in X.blocks() for found in _counting(block, weights.for_kernel(rows)))
    found = _counting(X, weights.kernel_values)
    return lambda: found


def _counting(block: NDArray[Any], weight: Double) -> list[tuple[NDArray[Any], Double]]:
    """The rows of positive weight, in a list that is empty where there are none."""
    keep = weight > 0
    if keep.all():
        return [(block, weight)]
    return [(block[keep], weight[keep])] if keep.any() else []


class RowSums:
    """The sums over rows of an array or of RowBlocks."""

    def __init__(self, X: Any, weights: RowWeights, n_threads: int) -> None:
        self.total = weights.total
        self._counting, self._n_features, self._n_threads = _counting_blocks(X, weights), X.shape[1], n_threads

    def column_range(self) -> tuple[Double, Double]:
        """Smallest and largest value of each column."""
        lows, highs = [], []
        for block, _ in self._counting():
            low, high = np.empty((2, _n_sums(block), self._n_features))
            scoring.column_range(block, low, high, self._n_threads)
            lows.append(low.min(axis=0))
            highs.append(high.max(axis=0))
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def column_sums(self, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""
        total = np.zeros(center.size)
        for block, weight in self._counting():
            partial = np.empty((_n_sums(block), center.size))
            scoring.column_moments(block, unit, center, weight, power, partial, self._n_threads)
            total += partial.sum(axis=0)
        return total


def standardised_targets(values: Double, weights: RowWeights, center: Double, inverse_scale: Double,
                         name: str) -> Double:
    """Targets in units of a spread, refused where their squares would overflow in single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = (values - center) * inverse_scale
    if weights.has_zeros:
        values[weights.each == 0] = 0  # arbitrary values stand there
    if not np.abs(values).max() <= _LARGEST_TARGET:
        raise InvalidInputError(f"{name} must lie within {_LARGEST_TARGET:g} standard deviations of the mean of y, "
                                f"got {np.abs(values).max():.3g}")
    return values
