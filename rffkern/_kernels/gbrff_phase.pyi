from .array_types import Double, Real

def search_phase(
    tiles: Real, r2: Real, weight: Real, omega: Double, total_weight: float, largest_residual: float, a: Real, b: Real,
    scaled: Real, circle: Real, partial: Double, n_threads: int,
) -> float: ...
