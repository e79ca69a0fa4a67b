"""Shares of columns in the distances that kernel ridge regression measures."""

from typing import Any

import numpy as np

from ..._native.array_types import NDArray

Double = NDArray[np.float64]

# A difference of two rows times this may overflow, as for rows that are far apart; for equal rows the product is 0.
LARGEST_INVERSE = 1e305


def shares_of_columns(expansion: Any, column_map: Any) -> Double:
    """The share of each column of the table in the squared distances between centers, of sum 1, or 0 of equal ones."""
    shares = _shares(expansion.kernels.centers, expansion.kernels.inverse_length_scales)
    if column_map is None:
        return shares
    return np.bincount(column_map.sources_, shares, column_map.n_features_in_).astype(np.float64, copy=False)


def _shares(centers: Double, inverse_length_scales: Double) -> Double:
    if not len(centers):
        return np.zeros(len(inverse_length_scales))
    unit = np.maximum(np.abs(centers).max(axis=0), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        spread = np.minimum((centers / unit).std(axis=0) * unit * inverse_length_scales, LARGEST_INVERSE)
    squares = (spread / max(spread.max(), np.finfo(np.float64).tiny)) ** 2
    shares: Double = squares / (squares.sum() or 1.0)
    return shares
