"""Copies of rows, as of a minority that was oversampled or of a table that was joined twice.

A row that is held out is predicted all too well if a copy of it was learned from: what held-out rows say, from early
stopping to calibration, holds for new rows only if all copies of a row are on one side.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .._native.array_types import Double, Indices, NDArray

Keys = NDArray[np.uint64]

# Shares of rows that are copies of others for which copies count as one row, and the fewest rows that are then left.
_FEWEST_COPIES, _MOST_COPIES, _FEWEST_DISTINCT = 0.1, 0.8, 10

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd: mixes the bits of hashes


def hashes_of(keys: Iterable[NDArray[np.unsignedinteger]], n_rows: int) -> Keys:
    """A hash of each row, from arrays with a number of each row for all that must be equal."""
    hashes = np.zeros(n_rows, dtype=np.uint64)
    for key in keys:
        hashes = (hashes ^ (hashes >> np.uint64(29)) ^ key.astype(np.uint64)) * _FACTOR
    return hashes


def bits_of(values: NDArray[np.floating]) -> Keys:
    """Numbers that are equal for equal values, nan among them."""
    found = values.astype(np.float64) + 0.0  # of zeros one sign
    found[np.isnan(found)] = np.nan
    return found.view(np.uint64)


def first_copies(hashes: Keys) -> tuple[Indices, Indices] | None:
    """The first rows of each hash, and for each row which of these it copies; None where copies are few or nearly all.

    Rows of few values are equal by chance, and will be in new tables, too: `are_told_apart` says whether they are not.
    """
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    n_distinct = len(first)
    if n_distinct < _FEWEST_DISTINCT or not _FEWEST_COPIES <= 1 - n_distinct / len(hashes) <= _MOST_COPIES:
        return None
    return first, inverse


def are_told_apart(columns: Iterable[NDArray[np.generic]], n_distinct: int) -> bool:
    """Whether some column has a value of its own for more than half of the distinct rows."""
    return any(len(np.unique(column)) > n_distinct / 2 for column in columns)


def merge_copies(columns: NDArray[np.float32], targets: Double, weights: Double, rows: Indices,
                 groups: Indices | None = None) -> Double:
    """Weights in which the first of equal rows has the sum of their weights, and the others 0.

    Rows are equal in all columns (n_columns, n_rows), targets (n_outputs, n_rows) and groups.  Where few are, weights
    stay as they are.
    """
    def keys() -> Iterator[NDArray[Any]]:  # one after the other, for each takes memory
        yield from ((column[rows] + np.float32(0)).view(np.uint32) for column in columns)  # of zeros one sign
        yield from ((target[rows] + 0.0).view(np.uint64) for target in targets)
        if groups is not None:
            yield groups

    found = first_copies(hashes_of(keys(), len(rows)))
    if found is None or not are_told_apart((column[rows[found[0]]] for column in columns), len(found[0])):
        return weights
    first, inverse = found
    first = first[inverse]
    for key in keys():  # equal hashes do not guarantee it
        first = np.where(key[first] == key, first, np.arange(len(rows)))
    merged = weights.copy()
    merged[rows] = np.bincount(first, weights[rows], len(rows))
    return merged
