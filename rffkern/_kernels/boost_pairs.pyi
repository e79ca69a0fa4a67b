import numpy as np
from numpy.typing import NDArray

from .array_types import Double
from .lbfgs import LBFGS

def scratch_size(n_columns: int, n_tiles: int) -> int: ...
def sums_size(n_columns: int, n_outputs: int) -> int: ...
def choose_pair(
    columns: NDArray[np.float32], gradient: NDArray[np.float32], weight: NDArray[np.float32], omegas: Double,
    reg_lambdas: Double, mu: float, first_tile: int, n_tiles: int, values: Double, subset: NDArray[np.intp],
    sums: Double,
) -> int: ...
def pair_objective(
    columns: NDArray[np.float32], gradient: NDArray[np.float32], weight: NDArray[np.float32], subset: NDArray[np.intp],
    omega: Double, reg_lambda: float, mu: float, first_tile: int, n_tiles: int, slope: Double, amplitudes: Double,
    scratch: NDArray[np.float32], sums: Double,
) -> float: ...
def descend_pair(
    search: LBFGS, columns: NDArray[np.float32], gradient: NDArray[np.float32], weight: NDArray[np.float32],
    subset: NDArray[np.intp], omega: Double, reg_lambda: float, mu: float, first_tile: int, n_tiles: int,
    first_length: float, amplitudes: Double, scratch: NDArray[np.float32], sums: Double,
) -> float: ...
def evaluate_pair(
    columns: NDArray[np.float32], subset: NDArray[np.intp], omega: Double, amplitudes: Double,
    out: NDArray[np.float32],
) -> None: ...
