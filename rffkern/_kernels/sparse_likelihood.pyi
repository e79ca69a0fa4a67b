import numpy as np
from numpy.typing import NDArray

Double = NDArray[np.float64]

def kernel_matrix(tiles: Double, centers: Double, matrix: Double, n_threads: int) -> None: ...
def spread_along_features(matrix: Double, rows: Double, partial: Double, n_threads: int) -> None: ...
