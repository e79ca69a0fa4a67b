"""Cosines as kernels read them."""

from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import NDArray

Real = NDArray[Any]  # float32 or float64

# Share of omegas that are not 0, above which zeros are multiplied as all others.
_MOST_USED = 0.8


class PackedCosines(NamedTuple):
    """Terms with angles in half turns, padded with zeros to a multiple."""

    omegas: Real  # (n_padded, n_features)
    uses: NDArray[np.int32]  # (n_padded + 1 + n_numbers,) where numbers of terms begin and end, and their columns
    numbers: Real  # (n_numbers,) all of omegas but zeros; both empty where few are zero
    shifts: Real  # (n_padded,)
    amplitudes: Real  # (n_outputs, n_padded)


def pack_cosines(omegas: Real, shifts: Real, amplitudes: Real) -> PackedCosines:
    """Padded terms with what of their omegas is not 0."""
    counts = np.count_nonzero(omegas, axis=1)
    if not 0 < counts.sum() < min(_MOST_USED * omegas.size, 1 << 31):
        return PackedCosines(omegas, np.empty(0, np.int32), np.empty(0, omegas.dtype), shifts, amplitudes)
    terms, columns = np.nonzero(omegas)
    uses = np.concatenate([[0], np.cumsum(counts), columns]).astype(np.int32)
    return PackedCosines(omegas, uses, omegas[terms, columns], shifts, amplitudes)
