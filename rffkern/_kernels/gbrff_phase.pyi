import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float32] | NDArray[np.float64]
Double = NDArray[np.float64]

def search_phase(
    tiles: Real, r2: Real, weight: Real, omega: Double, total_weight: float, largest_residual: float, a: Real, b: Real,
    scaled: Real, circle: Real, partial: Double, n_threads: int,
) -> float: ...
