"""Mean and spread of columns, by which rows and targets are standardised."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._native import scoring
from .._native.array_types import Double, Indices, Mask, NDArray
from .._protocol.warning import warn
from ..errors import DataConversionWarning, InvalidInputError
from .row_blocks import RowBlocks, take_rows
from .threads import check_n_threads
from .weights import RowWeights

Blocks = Callable[[], Iterable[tuple[NDArray[Any], Double]]]

# A column whose spread is below one part in this counts as constant: its omegas would overflow in its own unit.
_LARGEST_INVERSE = 1e305

# Outliers: at most this share of the weight of rows, if they raise the standard deviation by more than this factor.
OUTLIER_SHARE, OUTLIER_RATIO = 0.01, 1000.0

# Bound on values of a column with outliers, in standard deviations of its inliers.
_CLIP = 10.0

# Rows by whose median columns without outliers are ruled out.
_FIRST_ROWS = 1 << 14

# In standard deviations.  Only rows of hardly any weight, or of another set, can lie that far out.
_LARGEST_TARGET = 1e15


class Scaling(NamedTuple):
    """x -> (x - center) * inverse_scale, with inverse_scale 0 for columns that do not vary."""

    center: Double  # (n_features,)
    inverse_scale: Double  # (n_features,)
    mean_variance: float  # of the raw columns
    deviations: Double  # (n_features,), of the scaled columns: 1 or 0 where they are standardised
    farthest: float = math.inf  # bound on values in units of the scaling, if some column has outliers

    def take(self, X: Any, indices: Indices) -> Double:
        """Some rows of an array or RowBlocks, scaled."""
        return (take_rows(X, indices) - self.center) * self.inverse_scale

    def raw(self, values: NDArray[Any], columns: Any = slice(None)) -> Double:
        """Raw values from scaled ones of some columns; of columns that do not vary, from 0, the center."""
        units = np.where(self.inverse_scale > 0, self.inverse_scale, 1.0)[columns]
        with np.errstate(over="ignore"):
            raw: Double = values / units + self.center[columns]
        return raw

    def clip_outliers(self, X: Any) -> Any:
        """Rows, an array or RowBlocks, with outliers clipped.

        Kernels are 0 so far out, but length scales would follow outliers, and products with them lose all digits.
        """
        if self.farthest == math.inf:
            return X
        if isinstance(X, RowBlocks):
            return RowBlocks(lambda: (self.clip_outliers(block) for _, block in X._blocks()))._check()
        with np.errstate(divide="ignore"):
            width = self.farthest / self.inverse_scale
        return X.clip(self.center - width, self.center + width).astype(X.dtype)


def no_scaling(n_features: int) -> Scaling:
    """The scaling that leaves rows as they are, as of columns that are standardised."""
    return Scaling(np.zeros(n_features), np.ones(n_features), 1.0, np.ones(n_features))


class ColumnSums(Protocol):
    """Rows, wherever they are, whose columns can be summed up."""

    total: float  # sum of the weights

    def column_range(self) -> tuple[Double, Double]:
        """Smallest and largest value of each column."""

    def column_sums(self, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""


def measure_scaling(X: Any, weights: RowWeights, standardize: bool = True, n_threads: int | None = None) -> Scaling:
    """Weighted mean and standard deviation of the columns of X, an array or RowBlocks, without outliers."""
    columns = RowSums(X, weights, check_n_threads(n_threads, math.prod(X.shape)))
    scaling = scaling_from(columns, standardize)
    return _of_inliers(columns, scaling) if standardize else scaling


def target_scaling(values: Double, weights: RowWeights, n_threads: int | None = None) -> Scaling:
    """Weighted mean and standard deviation of targets; warns of outliers."""
    rows = RowSums(values, weights, check_n_threads(n_threads, values.size))
    scaling = scaling_from(rows, True)
    for found in _columns_with_outliers(rows, scaling):
        which = f" of column {found.column}" if len(scaling.center) > 1 else ""
        warn(
            f"y has a few values{which} so far out, between {found.low:.3g} and {found.high:.3g}, beside a deviation "
            f"of {found.deviation:.3g} of all others, that squared errors are about nothing else.  If they are errors, "
            "leave out their rows, or take loss='huber' or 'absolute_error', where there is one: they hardly move it",
            DataConversionWarning)
    return scaling


def scaling_from(columns: ColumnSums, standardize: bool) -> Scaling:
    """The scaling that follows from sums over the columns.

    Columns are first brought to magnitude 1 by a power of two, so that neither 1e300 nor 1e-300 over- or underflows.
    """
    low, high = columns.column_range()
    exponent = np.clip(np.frexp(np.maximum(np.abs(low), np.abs(high)))[1], -1021, 1021)
    unit = np.ldexp(1.0, -exponent)
    center = columns.column_sums(unit, np.zeros(low.size), 1) / columns.total
    variance = np.where(low == high, 0.0, columns.column_sums(unit, center, 2) / columns.total)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        inverse_scale = np.ldexp(1 / np.sqrt(variance), -exponent)
        mean_variance = float(np.mean(np.ldexp(variance, 2 * exponent)))
    varies = (variance > 0) & (inverse_scale < _LARGEST_INVERSE)
    inverse_scale = np.where(varies, inverse_scale if standardize else 1.0, 0.0)
    deviations = np.where(varies, 1.0 if standardize else np.ldexp(np.sqrt(variance), exponent), 0.0)
    return Scaling(np.where(low == high, low, np.ldexp(center, exponent)), inverse_scale, mean_variance,
                   deviations)


def _of_inliers(rows: "RowSums", scaling: Scaling) -> Scaling:
    """The scaling with mean and deviation of the inliers, for columns with outliers; warns of each."""
    center, inverse_scale = scaling.center.copy(), scaling.inverse_scale.copy()
    inliers = _columns_with_outliers(rows, scaling)
    for found in inliers:
        center[found.column], inverse_scale[found.column] = found.center, 1 / found.deviation
        warn(
            f"column {found.column} of X has a few rows so far out, between {found.low:.3g} and {found.high:.3g}, "
            "that its standard deviation says nothing of all others: it is scaled by theirs, "
            f"{found.deviation:.3g} about {found.center:.3g}.  If these rows are errors, leave them out",
            DataConversionWarning)
    return scaling._replace(center=center, inverse_scale=inverse_scale, farthest=_CLIP) if inliers else scaling


class _Inliers(NamedTuple):
    """Mean and deviation of a column without its outliers."""

    column: int
    center: float
    deviation: float
    low: float  # of all rows
    high: float


def _columns_with_outliers(rows: "RowSums", scaling: Scaling) -> list[_Inliers]:
    """The columns whose standard deviation comes from a few outliers.

    A handful of rows at 1e9, errors in the data as a rule, make the standard deviation so large that all other
    rows are one point.  The inliers of a column are the rows within a standard deviation of the
    mean, again and again, as long as all but `OUTLIER_SHARE` of the
    weight are there and their own deviation is less than half.
    """
    low, high = rows.column_range()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        farthest = np.maximum(high - scaling.center, scaling.center - low) * scaling.inverse_scale
        width = 1 / scaling.inverse_scale
    # So few rows that have nearly all of the variance must lie so far out, and the first rows hardly differ beside it.
    columns = np.flatnonzero(farthest > 0.9 / math.sqrt(OUTLIER_SHARE))
    columns = columns[rows.are_close(columns, width[columns] / math.sqrt(OUTLIER_RATIO))] if len(columns) else columns
    found = []
    for j in columns.tolist():
        center, deviation = float(scaling.center[j]), float(width[j])
        while True:
            weight, mean, inner = rows.within(j, center, deviation)
            if weight < (1 - OUTLIER_SHARE) * rows.total or not 0 < inner < 0.5 * deviation:
                break
            center, deviation = mean, inner
        if deviation * OUTLIER_RATIO < width[j] and 1 / deviation < _LARGEST_INVERSE:
            found.append(_Inliers(j, center, deviation, float(low[j]), float(high[j])))
    return found


def _n_sums(rows: NDArray[Any]) -> int:
    """Number of partial sums over some rows."""
    return -(-len(rows) // scoring.STRIP_ROWS)


def _weighted_blocks(X: Any, weights: RowWeights) -> Blocks:
    """A function that yields (array, its weights as kernels take them) over the rows of positive weight, at every call.

    The rows of an array are selected once, those of RowBlocks in every pass.
    """
    if isinstance(X, RowBlocks):
        return lambda: (found for rows, block in X._blocks() for found in _weighted(block, weights.for_kernel(rows)))
    found = _weighted(X, weights.kernel_values)
    return lambda: found


def _weighted(block: NDArray[Any], weight: Double) -> list[tuple[NDArray[Any], Double]]:
    """The rows of positive weight, in a list that is empty where there are none."""
    keep = weight > 0
    if keep.all():
        return [(block, weight)]
    return [(block[keep], weight[keep])] if keep.any() else []


class RowSums:
    """The sums over rows of an array or of RowBlocks."""

    def __init__(self, X: Any, weights: RowWeights, n_threads: int) -> None:
        self.total = weights.total
        self._weighted, self._n_features, self._n_threads = _weighted_blocks(X, weights), X.shape[1], n_threads

    def column_range(self) -> tuple[Double, Double]:
        """Smallest and largest value of each column."""
        lows, highs = [], []
        for block, _ in self._weighted():
            low, high = np.empty((2, _n_sums(block), self._n_features))
            scoring.column_range(block, low, high, self._n_threads)
            lows.append(low.min(axis=0))
            highs.append(high.max(axis=0))
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def column_sums(self, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""
        total = np.zeros(center.size)
        for block, weight in self._weighted():
            partial = np.empty((_n_sums(block), center.size))
            scoring.column_moments(block, unit, center, weight, power, partial, self._n_threads)
            total += partial.sum(axis=0)
        return total

    def are_close(self, columns: Indices, width: Double) -> Mask:
        """Whether most of the first rows lie within so much of their median, column by column."""
        block = next(iter(self._weighted()))[0][:_FIRST_ROWS, columns].astype(np.float64)
        return (np.abs(block - np.median(block, axis=0)) <= width).mean(axis=0) > 0.5

    def within(self, column: int, center: float, width: float) -> tuple[float, float, float]:
        """Weight, mean and standard deviation of the values of a column within so much of a center."""
        total, first, low, high = 0.0, 0.0, math.inf, -math.inf
        for apart, weight in self._apart(column, center, width):
            total, first = total + float(weight.sum()), first + float(weight @ apart)
            low, high = min(low, apart.min(initial=low)), max(high, apart.max(initial=high))
        if low >= high:  # whose deviation is nothing but rounding
            return total, center, 0.0
        unit = power_of_two(max(-low, high))  # beside which squares do not overflow
        second = sum(float(weight @ ((apart - first / total) / unit) ** 2)
                     for apart, weight in self._apart(column, center, width))
        return total, center + first / total, math.sqrt(second / total) * unit

    def _apart(self, column: int, center: float, width: float) -> Iterator[tuple[Double, Double]]:
        """Distances from a center that are no larger than a width, and the weights of their rows."""
        for block, weight in self._weighted():
            apart = block[:, column].astype(np.float64) - center
            inside = np.abs(apart) <= width
            yield apart[inside], weight[inside] if len(weight) else np.ones(np.count_nonzero(inside))


def power_of_two(size: float) -> float:
    """The largest one that a positive number is not below; what is divided by it keeps its digits."""
    return 2.0 ** (math.frexp(size)[1] - 1)


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
