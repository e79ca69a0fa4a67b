import numpy as np
from numpy.typing import NDArray

SQUARED: int
LOGISTIC: int
SOFTMAX: int
HUBER: int
QUANTILE: int
POISSON: int

def step_slopes(
    loss: int, parameters: NDArray[np.float32], scores: NDArray[np.float32],
    directions: NDArray[np.float32], step: float,
    targets: NDArray[np.float32], weight: NDArray[np.float32], n_train: int,
) -> tuple[float, float]: ...
def best_step(
    loss: int, parameters: NDArray[np.float32], scores: NDArray[np.float32],
    directions: NDArray[np.float32], step: float,
    targets: NDArray[np.float32], weight: NDArray[np.float32], n_train: int, n_steps: int, largest_move: float,
    smallest_move: float,
) -> float: ...
def update(
    loss: int, parameters: NDArray[np.float32], scores: NDArray[np.float32],
    directions: NDArray[np.float32], step: float,
    targets: NDArray[np.float32], weight: NDArray[np.float32], n_train: int, gradient: NDArray[np.float32],
    hessian: NDArray[np.float32],
) -> tuple[float, float]: ...
