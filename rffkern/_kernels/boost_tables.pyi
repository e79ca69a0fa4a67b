import numpy as np
from numpy.typing import NDArray

from .array_types import Double

MAX_DEPTH: int
FEW_CANDIDATES: int
ALWAYS_LEFT: int

def store_size(n_train: int, n_outputs: int, n_candidates: int, depth: int) -> int: ...
def grow_table(
    codes: NDArray[np.uint8], n_bins: NDArray[np.intp], gradient: NDArray[np.float32], hessian: NDArray[np.float32],
    candidates: NDArray[np.intp], depth: int, reg: float, n_train: int, columns: NDArray[np.intp],
    cuts: NDArray[np.intp], gains: Double, values: Double, store: Double,
) -> int: ...
def evaluate_table(
    codes: NDArray[np.uint8], columns: NDArray[np.intp], cuts: NDArray[np.intp], values: Double,
    out: NDArray[np.float32],
) -> None: ...
