from .array_types import Double, Real
from .lbfgs import LBFGS

def make_waves(tiles: Real, omegas: Double, waves: Real, scaled: Real, n_threads: int) -> None: ...
def landmark_objective(
    is_squared: bool, waves: Real, r: Real, weight: Real, basis: Double, x: Double, total_weight: float,
    gradient: Double, u: Double, direction: Real, lanes: Real, partial: Double, n_threads: int,
) -> float: ...
def descend_landmark(
    search: LBFGS, is_squared: bool, waves: Real, r: Real, weight: Real, basis: Double, x: Double, total_weight: float,
    first_length: float, u: Double, direction: Real, lanes: Real, partial: Double, n_threads: int,
) -> int: ...
def component_losses(
    is_squared: bool, waves: Real, r: Real, weight: Real, u: Double, total_weight: float, losses: Double,
    direction: Real, partial: Double, n_threads: int,
) -> None: ...
