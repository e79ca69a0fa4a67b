"""Omegas drawn from the spectral densities of shift-invariant kernels of length scale 1 (Bochner's theorem)."""

from collections.abc import Callable

import numpy as np

from .._data.pieces import drawn
from .._kernels.array_types import NDArray

Double = NDArray[np.float64]
Shape = tuple[int, int]  # (n_omegas, n_features)
SpectralDensity = Callable[["np.random.Generator", Shape], Double]


def _gaussian(rng: "np.random.Generator", shape: Shape) -> Double:
    """Of exp(-1/2 |x - z|^2)."""
    return drawn(rng.standard_normal, shape)


def _laplace(rng: "np.random.Generator", shape: Shape) -> Double:
    """Of exp(-sum of |x_j - z_j|): a Cauchy density for each column."""
    return drawn(rng.standard_cauchy, shape)


def _matern(degrees: int) -> SpectralDensity:
    """Of the Matern kernel of smoothness degrees / 2: Student's t density with this number of degrees of freedom."""
    def draw(rng: "np.random.Generator", shape: Shape) -> Double:
        normal = drawn(rng.standard_normal, shape)
        return normal / np.sqrt(rng.chisquare(degrees, (shape[0], 1)) / degrees)
    return draw


SPECTRAL_DENSITIES: dict[str, SpectralDensity] = {
    "gaussian": _gaussian, "laplace": _laplace, "matern32": _matern(3), "matern52": _matern(5),
}
