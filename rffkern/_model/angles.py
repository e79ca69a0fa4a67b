"""For which rows single precision tells the angles of cosines."""

from typing import Any, NamedTuple, Self

import numpy as np

from .._native import scoring
from .._native.array_types import NDArray
from .._rows.pieces import row_pieces

Double = NDArray[np.float64]
RowParts = list[tuple[slice | NDArray[np.bool_], NDArray[Any]]]  # rows, and their places among all

# In radians, for training and scoring.  Single precision moves an angle of this size by 2e-4.
LARGEST_SINGLE_ANGLE = 4000.0

# The share of it within which a bound on all rows puts each row, whatever the rounding of sums.
_SURELY = 1 - 1e-9

# About how many numbers are held in double precision while rows are judged.
_NUMBERS_TOGETHER = 1 << 16


class AngleBound(NamedTuple):
    """Bound on the mean angle of cosines at a row, in radians: offset + slopes . |x - center|."""

    slopes: Double  # (n_features,)
    offset: float
    center: Double  # (n_features,)
    largest_value: float  # where no number of a row is larger, single precision suffices

    @classmethod
    def of(cls, omegas: Double, phases: Double, amplitudes: Double, center: Double) -> Self:
        """The bound for amplitudes . cos(omegas . (x - center) - phases).

        An angle counts by the amplitude of its term, as its rounding does in the score.
        """
        largest = np.abs(amplitudes).max(axis=0, initial=0)
        shares = np.abs(amplitudes) / np.where(largest == 0, 1.0, largest)  # whose sum cannot overflow
        shares = sum_in_order((shares / np.maximum(sum_in_order(shares), 1)).T) / amplitudes.shape[1]
        slopes, offset = np.zeros(omegas.shape[1]), float(sum_in_order(shares * np.abs(phases)))
        for rows in row_pieces(omegas.shape):
            slopes = sum_in_order(np.vstack([slopes, shares[rows, None] * np.abs(omegas[rows])]))
        total, centered = float(sum_in_order(slopes)), float(sum_in_order(slopes * np.abs(center)))
        left = LARGEST_SINGLE_ANGLE * _SURELY - offset - centered
        return cls(slopes, offset, center, left / total if total else np.inf)

    def phases_fit(self) -> bool:
        """Whether single precision suffices for any row at all."""
        return self.offset < LARGEST_SINGLE_ANGLE

    def are_small(self, X: NDArray[Any], largest: float = np.inf) -> bool:
        """Whether no number of a contiguous array, all within `largest`, is too large for single precision."""
        return largest <= self.largest_value or scoring.find_unbounded(X.reshape(-1), self.largest_value) < 0

    def divide(self, X: NDArray[Any]) -> RowParts:
        """Rows too far out for single precision in float64, and all others as they are."""
        if self.are_small(X):
            return [(slice(None), X)]
        far = self._is_far(X)
        parts = [(~far, X.dtype), (far, np.dtype(np.float64))]
        return [(rows, X[rows].astype(dtype, copy=False)) for rows, dtype in parts if rows.any()]

    def _is_far(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Judge each row alone, so that its score does not depend on the rows beside it."""
        far = np.empty(len(X), bool)
        step = max(1, _NUMBERS_TOGETHER // X.shape[1])
        for start in range(0, len(X), step):
            distances = np.abs(X[start : start + step] - self.center)
            distances *= self.slopes
            far[start : start + step] = self.offset + sum_in_order(distances.T) > LARGEST_SINGLE_ANGLE
        return far


def sum_in_order(values: Double) -> Double:
    """Sum over the first axis, one after the other: the same bits as in C, which those of `sum` and BLAS are not."""
    return np.add.accumulate(values, axis=0)[-1] if len(values) else np.zeros(values.shape[1:])
