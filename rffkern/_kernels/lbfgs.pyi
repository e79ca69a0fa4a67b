from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self, disjoint_base

@disjoint_base
class LBFGS:
    n_iterations: int
    n_evaluations: int
    def __new__(
        cls, size: int, max_iter: int, loss_tolerance: float, gradient_tolerance: float, noise: float
    ) -> Self: ...

def minimize(
    function: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    x0: NDArray[np.float64],
    max_iter: int = 100,
    *,
    loss_tolerance: float = 1e-12,
    gradient_tolerance: float = 1e-8,
    noise: float = 1e-15,
    first_length: float = 1.0,
) -> tuple[NDArray[np.float64], int, int]: ...
