import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .array_types import Double

RULES: dict[str, int]

@disjoint_base
class Selector:
    n_basis: int
    n_skipped: int
    factor: Double
    def __init__(self, rule: str, capacity: int, n_features: int, amplitude: float, bias: float, reg_lambda: float,
                 smallest: float, threshold: float, n_looks: int) -> None: ...
    def reset(self) -> None: ...
    def choose(self, tiles: Double, weight: Double, target: Double, pull: Double, order: NDArray[np.intp],
               chosen: NDArray[np.intp]) -> int: ...
