from .array_types import Double, Real

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
