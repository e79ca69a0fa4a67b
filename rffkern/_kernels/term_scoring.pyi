import numpy as np
from numpy.typing import NDArray

from .array_types import Double, Real

LARGEST_SLOPE_PART: float

def scratch_size(n_features: int, n_outputs: int, n_bytes: int) -> int: ...
def score_tables(
    X: Real, columns: NDArray[np.int32], thresholds: Real, values: Real, out: Double, scratch: Real, n_threads: int,
) -> None: ...
def score_lines(X: Real, center: Double, slopes: Double, out: Double) -> None: ...
