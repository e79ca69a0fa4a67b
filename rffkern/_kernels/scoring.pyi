import numpy as np
from numpy.typing import NDArray

from .array_types import Double, Real

def tile_width(n_features: int, n_bytes: int) -> int: ...
def score_rows(
    X: Real, center: Double, omegas: Real, uses: NDArray[np.int32], numbers: Real, shifts: Real, amplitudes: Real,
    intercept: Double, out: Double, scratch: Real, n_threads: int,
) -> None: ...
def score_few(
    X: Real, center: Double, terms: Real, amplitudes: Real, intercept: Double, out: Double, row: Real,
) -> None: ...
def score_centers(X: Real, center: Double, scale: Double, centers: Real, weights: Double, intercept: Double,
                  shape: int, out: Double, scratch: Real, totals: Double, n_threads: int) -> None: ...
