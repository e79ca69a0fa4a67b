from .array_types import Double, Real
from .lbfgs import LBFGS

def omega_objective(
    tiles: Real, r2: Real, weight: Real, omega: Double, phase: float, reg_lambda: float, total_weight: float,
    gradient: Double, scaled: Real, lanes: Real, partial: Double, n_threads: int,
) -> float: ...
def descend_omega(
    search: LBFGS, tiles: Real, r2: Real, weight: Real, omega: Double, phase: float, reg_lambda: float,
    total_weight: float, first_length: float, scaled: Real, lanes: Real, partial: Double, n_threads: int,
) -> int: ...
