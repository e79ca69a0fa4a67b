from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .array_types import Double

@disjoint_base
class LBFGS:
    def __new__(
        cls, most: int, max_iter: int, loss_tolerance: float, gradient_tolerance: float, noise: float
    ) -> Self: ...
    @property
    def n_iterations(self) -> int: ...
    @property
    def n_evaluations(self) -> int: ...

def minimize(
    function: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    x0: NDArray[np.float64],
    max_iter: int = 100,
    *,
    loss_tolerance: float = 1e-12,
    gradient_tolerance: float = 1e-8,
    noise: float = 1e-15,
    first_length: float = 1.0,
    pairs: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], int, int]: ...

def factor_scratch(size: int) -> int: ...
def factorise(matrix: Double, scratch: Double, n_threads: int) -> bool: ...
def add_products(rows: Double, first: int, last: int, factor: float, matrix: Double, offset: int, scratch: Double,
                 n_threads: int) -> None: ...
def extend(factor: Double, size: int, smallest: float) -> bool: ...
def solve_factorised(factor: Double, x: Double, forward: bool = True, back: bool = True) -> None: ...
