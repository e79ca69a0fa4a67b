"""Spectral densities, against the kernels whose Fourier transforms they are."""

import math

import numpy as np
import pytest

from rffkern._fourier.spectral_densities import SPECTRAL_DENSITIES

KERNELS = {
    "gaussian": lambda x: np.exp(-0.5 * (x**2).sum(axis=1)),
    "laplace": lambda x: np.exp(-np.abs(x).sum(axis=1)),
    "matern32": lambda x: (1 + np.sqrt(3 * (x**2).sum(axis=1))) * np.exp(-np.sqrt(3 * (x**2).sum(axis=1))),
    "matern52": lambda x: (1 + np.sqrt(5 * (x**2).sum(axis=1)) + 5 / 3 * (x**2).sum(axis=1))
    * np.exp(-np.sqrt(5 * (x**2).sum(axis=1))),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_omegas_are_of_the_spectral_density(kernel, rng):
    omegas = SPECTRAL_DENSITIES[kernel](rng, (200_000, 3))
    x = rng.standard_normal((20, 3)) * rng.uniform(0.1, 2, (20, 1))
    np.testing.assert_allclose(np.cos(x @ omegas.T).mean(axis=1), KERNELS[kernel](x), atol=5 / math.sqrt(200_000))
