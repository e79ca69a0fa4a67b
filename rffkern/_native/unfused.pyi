from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .array_types import Double, Real

KINDS: dict[str, int]
DATE_PARTS: dict[str, int]
MISSING: int
UNBOUNDED: int

@disjoint_base
class ColumnForms:
    @property
    def n_columns(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    def __new__(
        cls, starts: NDArray[np.intp], kinds: NDArray[np.intp], numbers: Double, n_knots: NDArray[np.intp],
        knots: Double, heights: Double,
    ) -> Self: ...

def scratch_size(n_samples: int, n_columns: int) -> int: ...
def map_rows(forms: ColumnForms, X: Real, limit: float, out: Real, scratch: Double, n_threads: int) -> int: ...
def merge_summaries(
    values_a: Double, weights_a: Double, values_b: Double, weights_b: Double, n_entries: int, values: Double,
    weights: Double,
) -> int: ...
