from collections.abc import Mapping
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .array_types import Double, Real

def read_numbers(text: bytes, delimiter: int, places: NDArray[np.intp], out: Double) -> bool: ...

TILE_ROWS: int
LANE_COUNT: int
STRIP_ROWS: int
TERM_MULTIPLES: tuple[int, int]

def find_unbounded(values: Real, limit: float) -> int: ...
def column_range(X: Real, low: Double, high: Double, n_threads: int) -> None: ...
def column_moments(
    X: Real, unit: Double, center: Double, weight: Double, power: int, partial: Double, n_threads: int,
) -> None: ...
def pack_rows(
    X: Real, order: NDArray[np.intp], center: Double, inverse_scale: Double, tiles: Real, lengths: Double,
    n_threads: int,
) -> None: ...

MODEL_KINDS: Final[Mapping[str, int]]
COLUMN_KINDS: Final[Mapping[str, int]]
LINKS: Final[Mapping[str, int]]
PREDICTIONS: Final[Mapping[str, int]]

def make_model(
    arrays: dict[str, Any], columns: dict[str, Any], kind: str, n_classes: int, link: str, slope: float,
    prediction: str,
) -> Any: ...
def functions() -> Any: ...

FEW: int
LARGEST_SINGLE_ANGLE: float

class Scorer:
    @property
    def row_size(self) -> int: ...
    @property
    def fits_single(self) -> tuple[bool, bool]: ...
    def __new__(cls, arrays: dict[str, Any], takes_single: bool) -> Self: ...
    def score(self, X: Real, out: Double, n_threads: int) -> None: ...
    def take(self, X: Any) -> Double | None: ...
    def find_far(self, X: Real) -> bytearray: ...

def tile_width(n_features: int, n_bytes: int) -> int: ...
def sparse_products(
    indptr: NDArray[np.intp], indices: NDArray[np.int32], cells: Double, vectors: Double, out: Double, n_threads: int,
) -> None: ...

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
