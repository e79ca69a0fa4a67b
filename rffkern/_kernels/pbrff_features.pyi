import numpy as np
from numpy.typing import NDArray

from .array_types import Double, Real

def weighted_cosines(
    tiles: Real, targets: Real, group: NDArray[np.intp], omegas: Real, shifts: Real, n_components: int, sums: Double,
    partial: Double, n_threads: int,
) -> None: ...
def landmark_features(
    tiles: Real, omegas: Real, shifts: Real, posterior: Real, out: Real, scratch: Real, n_threads: int,
) -> None: ...
