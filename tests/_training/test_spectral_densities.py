"""Mean cosines of drawn omegas are the kernels whose densities they are drawn from."""

import numpy as np
import pytest

from rffkern._training.spectral import SPECTRAL_DENSITIES

KERNELS = {
    "gaussian": lambda d: np.exp(-0.5 * (d**2).sum()),
    "laplace": lambda d: np.exp(-np.abs(d).sum()),
    "matern32": lambda d: (1 + np.sqrt(3) * np.linalg.norm(d)) * np.exp(-np.sqrt(3) * np.linalg.norm(d)),
    "matern52": lambda d: (1 + np.sqrt(5) * np.linalg.norm(d) + 5 / 3 * (d**2).sum())
    * np.exp(-np.sqrt(5) * np.linalg.norm(d)),
}


def test_every_kernel_has_a_density():
    assert set(KERNELS) == set(SPECTRAL_DENSITIES)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("difference", [(0.0, 0.0), (0.5, 0.0), (0.3, -0.4), (1.5, 1.0)])
def test_mean_cosine_is_the_kernel(name, difference):
    omegas = SPECTRAL_DENSITIES[name](np.random.default_rng(3), (100_000, 2))
    assert omegas.shape == (100_000, 2)
    difference = np.array(difference)
    # Four standard errors of a mean of cosines.
    assert np.cos(omegas @ difference).mean() == pytest.approx(KERNELS[name](difference), abs=4 / np.sqrt(2e5))
