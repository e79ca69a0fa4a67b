import numpy as np
from numpy.typing import NDArray

from .array_types import Double, Real

def weighted_cosines(
    tiles: Real, targets: Real, group: NDArray[np.intp], omegas: Real, shifts: Real, n_components: int, sums: Double,
    partial: Double, n_threads: int,
) -> None: ...
def landmark_features(
    tiles: Real, omegas: Real, shifts: Real, posterior: Real, out: Real, scratch: Real, n_threads: int,
) -> None: ...

STRIP_ROWS: int

def descend_dual(
    features: Real, sign: NDArray[np.int8], bound: Double, curvature: Double, is_squared: bool,
    tolerance: float, n_epochs: int, alpha: Double, coef: Real, active: NDArray[np.intp],
    random_state: NDArray[np.uint64],
) -> int: ...
def combine_rows(
    features: Real, sign: NDArray[np.int8], alpha: Double, coef: Real, partial: Double, n_threads: int,
) -> None: ...
def project_rows(
    features: Real, sign: NDArray[np.int8], coef: Real, margins: Double, n_threads: int,
) -> None: ...
def gram_scratch(width: int) -> int: ...
def weighted_gram(features: Real, scale: Double, partial: Double, scratch: Real, n_threads: int) -> None: ...
