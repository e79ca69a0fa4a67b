from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class Loss: ...
class Squared(Loss): ...
class Logistic(Loss): ...
class Softmax(Loss): ...

@disjoint_base
class Huber(Loss):
    def __init__(self, delta: float) -> None: ...

@disjoint_base
class Pinball(Loss):
    def __init__(self, quantile: float) -> None: ...

def row_losses(
    loss: Loss, scores: NDArray[np.float64], targets: NDArray[np.float64], losses: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> None: ...

TERM_GROUP: int
LARGEST_VALUE: float

def scratch_sizes(n_features: int, padded_terms: int, n_outputs: int, batch_size: int) -> tuple[int, int]: ...
def train_rows(
    loss: Loss, X: NDArray[Any], order: NDArray[np.intp], center: NDArray[np.float64],
    inverse_scale: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64],
    omegas: NDArray[Any], groups: NDArray[Any], shifts: NDArray[Any], coefficients: NDArray[Any],
    relevances: NDArray[Any], n_terms: int, batch_size: int, n_steps: float, coefficient_rate: float,
    constant_rate: float, relevance_rate: float, ridge: float, lasso: float, work: NDArray[Any],
    sums: NDArray[np.float64], n_threads: int,
) -> float: ...
