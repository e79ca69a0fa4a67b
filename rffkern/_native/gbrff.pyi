from .array_types import Double, Real
from .solvers import LBFGS

LARGEST_RESIDUAL: float

def terms_size(n_components: int, n_features: int) -> int: ...
def apply_exponential(
    tiles: Real, raw_prediction: Double, y: Real, r2: Real, weight: Real, omegas: Double, phases: Double,
    posterior: Double, bounded: bool, h: Real, terms: Real, partial: Double, n_threads: int,
) -> tuple[float, float]: ...
def loss_along_step(
    raw_prediction: Double, y: Real, weight: Real, h: Real, step: float, partial: Double, n_threads: int,
) -> tuple[float, float, float]: ...
def boost_rows(
    raw_prediction: Double, y: Real, weight: Real, h: Real, step: float, r2: Real, partial: Double, n_threads: int,
) -> tuple[float, float]: ...
def apply_squared(
    tiles: Real, r: Real, weight: Real, omegas: Double, phases: Double, posterior: Double, h: Real, terms: Real,
    partial: Double, n_threads: int,
) -> tuple[float, float]: ...
def shrink_rows(
    residual: Double, weight: Real, h: Real, step: float, r: Real, partial: Double, n_threads: int,
) -> float: ...

def search_phase(
    tiles: Real, r2: Real, weight: Real, omega: Double, total_weight: float, largest_residual: float, a: Real, b: Real,
    scaled: Real, circle: Real, partial: Double, n_threads: int,
) -> float: ...

def omega_objective(
    tiles: Real, r2: Real, weight: Real, omega: Double, phase: float, reg_lambda: float, total_weight: float,
    gradient: Double, scaled: Real, lanes: Real, partial: Double, n_threads: int,
) -> float: ...
def descend_omega(
    search: LBFGS, tiles: Real, r2: Real, weight: Real, omega: Double, phase: float, reg_lambda: float,
    total_weight: float, first_length: float, scaled: Real, lanes: Real, partial: Double, n_threads: int,
) -> int: ...

def make_rff(tiles: Real, omegas: Double, rff: Real, scaled: Real, n_threads: int) -> None: ...
def landmark_objective(
    is_squared: bool, rff: Real, r: Real, weight: Real, basis: Double, x: Double, total_weight: float,
    gradient: Double, u: Double, direction: Real, lanes: Real, partial: Double, n_threads: int,
) -> float: ...
def descend_landmark(
    search: LBFGS, is_squared: bool, rff: Real, r: Real, weight: Real, basis: Double, x: Double, total_weight: float,
    first_length: float, u: Double, direction: Real, lanes: Real, partial: Double, n_threads: int,
) -> int: ...
def component_losses(
    is_squared: bool, rff: Real, r: Real, weight: Real, u: Double, total_weight: float, losses: Double,
    direction: Real, partial: Double, n_threads: int,
) -> None: ...
