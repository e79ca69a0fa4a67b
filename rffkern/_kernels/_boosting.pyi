import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float32] | NDArray[np.float64]
Double = NDArray[np.float64]

LARGEST_RESIDUAL: float

def search_phase(
    tiles: Real, r2: Real, weight: Real, omega: Double, total_weight: float, largest_residual: float, a: Real, b: Real,
    scaled: Real, circle: Real, partial: Double, n_threads: int,
) -> float: ...
def apply_cosine(
    tiles: Real, raw_prediction: Double, y: Real, r2: Real, weight: Real, omega: Double, phase: float, bounded: bool,
    h: Real, scaled: Real, partial: Double, n_threads: int,
) -> tuple[float, float]: ...
def boost_rows(
    raw_prediction: Double, y: Real, weight: Real, h: Real, step: float, r2: Real, partial: Double, n_threads: int,
) -> tuple[float, float]: ...
