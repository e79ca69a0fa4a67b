"""Which columns each cosine reads."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Share of omegas that are not 0, above which zeros are multiplied as all others.
_MOST_USED = 0.8


class Used(NamedTuple):
    """All of omegas but zeros, and where they stand, as kernels read them."""

    places: NDArray[np.int32]  # (n_terms + 1 + n_numbers,) where numbers of terms begin and end, and their columns
    numbers: NDArray[Any]  # (n_numbers,) both empty where few are zero


def used(omegas: NDArray[Any]) -> Used:
    """The numbers of omegas (n_terms, n_features) that are not 0, term by term."""
    counts = np.count_nonzero(omegas, axis=1)
    if not 0 < counts.sum() < min(_MOST_USED * omegas.size, 1 << 31):
        return Used(np.empty(0, np.int32), np.empty(0, omegas.dtype))
    terms, columns = np.nonzero(omegas)
    return Used(np.concatenate([[0], np.cumsum(counts), columns]).astype(np.int32), omegas[terms, columns])
