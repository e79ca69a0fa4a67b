import numpy as np
from numpy.typing import NDArray

from .array_types import Double, Real

CHUNK: int
MAX_EDGES: int
MAX_SCORED_DEPTH: int
LARGEST_SLOPE_PART: float

class Tables:
    def __new__(
        cls, coded: NDArray[np.int32], edge_starts: NDArray[np.intp], singles: NDArray[np.float32], doubles: Double,
        columns: NDArray[np.int32], cuts: NDArray[np.int8], steps: NDArray[np.uint8], firsts: NDArray[np.uint8],
        units: NDArray[np.int32], starts: NDArray[np.intp], values: NDArray[np.float32],
    ) -> Tables: ...
    def scratch_size(self, n_samples: int) -> int: ...

def score_tables(X: Real, tables: Tables, out: Double, scratch: NDArray[np.int8], n_threads: int) -> None: ...
def score_lines(X: Real, center: Double, slopes: Double, out: Double) -> None: ...
