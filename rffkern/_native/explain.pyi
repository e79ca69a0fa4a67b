import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .array_types import Double

Indices = NDArray[np.intp]

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
    def __init__(self, n_mapped: int, n_columns: int, ends: Indices, columns: Indices, entry_ends: Indices,
                 entries: Indices, numbers: Double, centers: Double, lows: Double, highs: Double, turns: Double,
                 weights: Double) -> None: ...
    def scratch_size(self, with_pairs: bool) -> int: ...
    def factors(self, rows: Double, out: Double, scratch: Double, n_threads: int) -> None: ...
    def add_values(self, rows: Double, means: Double, rule_ends: Indices, rules: Double, with_pairs: bool, out: Double,
                   scratch: Double, n_threads: int) -> None: ...

def add_leaves(rows: Double, columns: Indices, thresholds: Double, steps: Indices, ends: Indices, places: Indices,
               starts: Indices, tables: Double, out: Double, n_threads: int) -> None: ...
