import numpy as np
from numpy.typing import NDArray

from .array_types import Double, Real

TILE_ROWS: int
LANE_COUNT: int
STRIP_ROWS: int
TERM_MULTIPLES: tuple[int, int]

def find_unbounded(values: Real, limit: float) -> int: ...
def column_range(X: Real, low: Double, high: Double, n_threads: int) -> None: ...
def column_moments(
    X: Real, unit: Double, center: Double, weight: Double, power: int, partial: Double, n_threads: int,
) -> None: ...
def pack_rows(
    X: Real, order: NDArray[np.intp], center: Double, inverse_scale: Double, tiles: Real, lengths: Double,
    n_threads: int,
) -> None: ...
