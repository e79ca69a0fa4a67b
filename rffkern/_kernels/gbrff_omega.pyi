import numpy as np
from numpy.typing import NDArray

from .lbfgs import LBFGS

Real = NDArray[np.float32] | NDArray[np.float64]
Double = NDArray[np.float64]

def omega_objective(
    tiles: Real, r2: Real, weight: Real, omega: Double, phase: float, reg_lambda: float, total_weight: float,
    gradient: Double, scaled: Real, lanes: Real, partial: Double, n_threads: int,
) -> float: ...
def descend_omega(
    search: LBFGS, tiles: Real, r2: Real, weight: Real, omega: Double, phase: float, reg_lambda: float,
    total_weight: float, first_length: float, scaled: Real, lanes: Real, partial: Double, n_threads: int,
) -> int: ...
