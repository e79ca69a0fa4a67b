"""The Gaussian kernel, and lambda beside it."""

import numpy as np
import pytest
import reference

from rffkern._rows.scaling import no_scaling
from rffkern._rows.weights import RowWeights, check_weights
from rffkern._training.kernel_ridge.kernel import Kernel


def test_units_in_which_the_kernel_is_a_power_of_two(rng):
    X = rng.standard_normal((20, 3)) * [1, 10, 0.1]
    kernel = Kernel(np.array([0.5, 2.0, 3.0]), 1.5, 0.2)
    scaling = no_scaling(X.shape[1])._replace(center=X.mean(axis=0), inverse_scale=1 / X.std(axis=0))
    units = kernel.scaling(scaling)
    rows = (X - units.center) * units.inverse_scale
    found = 1.5 * 2.0 ** -((rows[:, None] - rows) ** 2).sum(axis=2) + 0.2
    lengths = kernel.length_scale * X.std(axis=0)
    np.testing.assert_allclose(found, reference.gaussian_kernel(X, X, lengths, 1.5, 0.2), rtol=1e-12)
    np.testing.assert_allclose(kernel.inverse_lengths(scaling), 1 / lengths, rtol=1e-12)


def test_lengths_that_would_overflow_are_finite():
    kernel = Kernel(np.array([1e-100]), 1.0, 0.0)
    assert np.isfinite(kernel.inverse_lengths(no_scaling(1)._replace(inverse_scale=np.array([1e300])))).all()


@pytest.mark.parametrize(("weights", "expected"), [
    (RowWeights(4), 8.0), (check_weights([2, 2, 2, 2], 4), 4.0), (check_weights([1, 3, 0, 0], 4), 4.0)])
def test_lambda_beside_weights_of_mean_one(weights, expected):
    """A sum of squares times weights is as much as their mean times larger."""
    kernel = Kernel(np.array([1.0, 4.0]), 3.0, 1.0, reg_lambda=32.0)
    assert kernel.at_zero == 4.0
    assert kernel.normalised(weights)[1:] == (0.75, 0.25, "gaussian", expected)
    assert kernel.normalised(weights).length_scale.tolist() == [1.0, 4.0]


def test_lambda_is_bounded():
    kernel = Kernel(np.ones(1), 1.0, 0.0, reg_lambda=1e100)
    assert kernel.normalised(RowWeights(2, None, 1e-200)).reg_lambda == 1e200
