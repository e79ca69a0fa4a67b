from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .array_types import Double

_Indices = NDArray[np.intp]

ROWS: int

@disjoint_base
class ProductTerms:
    n_terms: int
    n_factors: int
    n_mapped: int
    n_columns: int
    n_outputs: int
    most: int
    is_complex: bool
    def __new__(cls, n_mapped: int, n_columns: int, ends: _Indices, columns: _Indices, entry_ends: _Indices,
                entries: _Indices, numbers: Double, centers: Double, lows: Double, highs: Double, turns: Double,
                weights: Double) -> Self: ...
    def scratch_size(self, with_pairs: bool) -> int: ...
    def factors(self, rows: Double, out: Double, scratch: Double, n_threads: int) -> None: ...
    def add_values(self, rows: Double, means: Double, rule_ends: _Indices, rules: Double, with_pairs: bool, out: Double,
                   scratch: Double, n_threads: int) -> None: ...

def add_leaves(rows: Double, columns: _Indices, thresholds: Double, steps: _Indices, ends: _Indices, places: _Indices,
               starts: _Indices, tables: Double, out: Double, n_threads: int) -> None: ...
