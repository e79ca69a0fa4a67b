import numpy as np
from numpy.typing import NDArray

from .lbfgs import LBFGS

Real = NDArray[np.float32] | NDArray[np.float64]
Double = NDArray[np.float64]

class Loss: ...
class ExponentialLoss(Loss): ...
class SquaredLoss(Loss): ...

def make_waves(tiles: Real, omegas: Double, waves: Real, scaled: Real, n_threads: int) -> None: ...
def landmark_objective(
    loss: Loss, waves: Real, r: Real, weight: Real, basis: Double, x: Double, total_weight: float, gradient: Double,
    u: Double, direction: Real, lanes: Real, partial: Double, n_threads: int,
) -> float: ...
def descend_landmark(
    search: LBFGS, loss: Loss, waves: Real, r: Real, weight: Real, basis: Double, x: Double, total_weight: float,
    first_length: float, u: Double, direction: Real, lanes: Real, partial: Double, n_threads: int,
) -> int: ...
def component_losses(
    loss: Loss, waves: Real, r: Real, weight: Real, u: Double, total_weight: float, losses: Double, direction: Real,
    partial: Double, n_threads: int,
) -> None: ...
