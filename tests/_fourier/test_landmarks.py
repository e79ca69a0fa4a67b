"""The pseudo-posterior against its twin."""

import numpy as np
import pytest
import reference

from rffkern._fourier.landmarks import pseudo_posterior


@pytest.mark.parametrize("temperature", [0.0, 1.0, 1e6, 1e300])
def test_pseudo_posterior(rng, temperature):
    losses = rng.standard_normal((3, 7))
    found = pseudo_posterior(-temperature * losses)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for k in range(3):
        np.testing.assert_allclose(found[k], reference.pseudo_posterior(losses[k], temperature))
    if temperature == 0:
        np.testing.assert_array_equal(found, 1 / 7)
