import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float32] | NDArray[np.float64]
Double = NDArray[np.float64]

CENTER_MULTIPLE: int
PRODUCT_SCRATCH: int
UNIT: float

def correlate_centers(tiles: Real, v: Double, centers: Real, partial: Double, sums: Double,
                      n_threads: int) -> None: ...
def fill_column(tiles: Real, centers: Real, weights: Double, constant: float, column: Real, n_threads: int) -> None: ...
def multiply_columns(columns: Real, n_columns: int, weight: Double, residual: Double, partial: Double,
                     scratch: Double, products: Double, n_threads: int) -> None: ...
def shift_residual(columns: Real, steps: Double, weight: Double, residual: Double, partial: Double,
                   n_threads: int) -> float: ...
