"""Weights of rows, and the sums and means that they enter.

Most fits have none.  `RowWeights` answers for both cases, so that nobody else asks which of them it is.
"""

from typing import Any

import numpy as np

from .._native.array_types import Double, Indices, Mask, NDArray
from ..errors import InvalidInputError
from .validation import LARGEST_VALUE, as_column, as_numeric, check_finite

_NONE = np.empty(0)

# Products of a smaller sum of weights would lose digits.
_LEAST_TOTAL = 1e-250


class RowWeights:
    """Weights of n rows, of mean 1 over those of positive weight.

    `each` has the weights of all rows, float64 of shape (n_samples,), read-only; equal ones take no memory.  `values`
    is the same, or None where all are equal, as NumPy's averages take it.  `given_total` is the sum of the weights as
    they were given, the n of a formula that counts rows; without any it is the number of rows.
    """

    def __init__(self, n_samples: int, values: Double | None = None, given_total: float | None = None) -> None:
        self.each = np.broadcast_to(1.0, n_samples) if values is None else values
        self.n_samples, self.values = n_samples, values
        self.given_total = float(n_samples) if given_total is None else given_total
        self.kernel_values = _NONE if values is None else values  # for kernels an empty array stands for equal weights
        self.is_uniform = values is None  # whether all rows count alike
        self.total = float(n_samples) if values is None else float(values.sum())
        self.unit = self.given_total / self.total  # weight of a row in the units given, over its weight here
        self.n_positive = n_samples if values is None else int(np.count_nonzero(values))  # rows that count
        self.has_zeros = self.n_positive < n_samples  # whether some rows count for nothing

    def positive(self) -> Indices:
        """Indices of the rows that count, sorted."""
        return np.arange(self.n_samples) if self.values is None else np.flatnonzero(self.values)

    def for_kernel(self, rows: slice | Indices = slice(None)) -> Double:
        """The weights of some rows as kernels take them: an empty array stands for equal ones."""
        return self.kernel_values if self.values is None else self.values[rows]

    def of(self, rows: slice | Indices) -> "RowWeights":
        """The weights of some of the rows, in the same units."""
        if self.values is not None:
            taken = self.values[rows]
            return RowWeights(len(taken), taken, self.given_total)
        n_taken = len(range(*rows.indices(self.n_samples))) if isinstance(rows, slice) else len(rows)
        return RowWeights(n_taken, None, self.given_total)

    def mean(self, values: Double) -> Any:
        """Weighted mean over the rows of values of shape (n_samples, ...)."""
        return np.average(values, axis=0, weights=self.values)

    def sum_of(self, mask: Mask) -> float:
        """Sum of the weights of the rows of a mask."""
        return float(mask.sum() if self.values is None else self.values[mask].sum())

    def sum_with(self, values: Double) -> float:
        """Weighted sum over the rows of values of shape (n_samples,)."""
        return float((values if self.values is None else np.multiply(values, self.values)).sum())

    def draw(self, rng: "np.random.Generator", n_draws: int) -> Indices:
        """Indices of rows drawn with replacement, as often as their weight says; uses n_draws uniform numbers."""
        uniform = rng.random(n_draws)
        if self.values is None:
            return (uniform * self.n_samples).astype(np.intp)
        cumulative = np.cumsum(self.values)
        drawn = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
        return drawn.clip(max=np.flatnonzero(self.values)[-1])

    def hide(self, rows: slice, block: NDArray[Any], stand_in: Double) -> NDArray[Any]:
        """A block of rows in which those that count for nothing hold `stand_in`: their values must not matter."""
        if self.values is None or self.values[rows].all():
            return block
        return np.where(self.values[rows, None] > 0, block, stand_in)


def weighted_quantile(values: Double, weights: Double, share: float) -> float:
    """The smallest of some values at which the cumulative weight reaches a share of the total."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order[min(np.searchsorted(reached, share * reached[-1]), len(order) - 1)]])


def row_products(values: Any, weights: Any) -> Any:
    """Sum over rows, the last axis, of values times weights.

    By NumPy's own loop: BLAS would do it on as many threads as it likes, in an order that depends on them.
    """
    return np.einsum("...i,i->...", values, weights)


def check_weights(sample_weight: Any, n_samples: int, name: str = "sample_weight") -> RowWeights:
    """Return the weights of rows, refusing what is no finite number >= 0, or all zeros."""
    if sample_weight is None:
        return RowWeights(n_samples)
    given = as_column(as_numeric(sample_weight, name), name, n_samples)
    array = given.astype(np.float64)
    check_finite(np.ascontiguousarray(array)[:, None], name)
    if (array < 0).any():
        raise InvalidInputError(f"{name} must not be negative, got {array.min()}")
    largest = array.max()
    if largest == 0:
        raise InvalidInputError(f"{name} must hold a positive weight, got all zeros")
    with np.errstate(over="ignore"):
        given_total = min(max(float(np.sum(given, dtype=np.float64)), _LEAST_TOTAL), LARGEST_VALUE)
    array = array / largest
    positive = array > 0
    if (array[positive] == 1).all() and positive.all():
        return RowWeights(n_samples, None, given_total)
    return RowWeights(n_samples, array / array[positive].mean(), given_total)
