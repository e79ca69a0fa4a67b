import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float32] | NDArray[np.float64]
Double = NDArray[np.float64]

TILE_ROWS: int
LANE_COUNT: int
ROW_BLOCK: int
TERM_MULTIPLE: int

def pack_rows(
    X: Real, order: NDArray[np.intp], center: Double, inverse_scale: Double, tiles: Real, lengths: Double,
    n_threads: int,
) -> None: ...
def score_rows(
    X: Real, center: Double, omegas: Real, shifts: Real, amplitudes: Real, out: Double, scratch: Real, n_threads: int,
) -> None: ...
