"""Centers and scales of columns."""

import numpy as np
import pytest

from rffkern._data.scaling import measure_scaling
from rffkern._data.weights import RowWeights


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_scaling_at_the_ends_of_the_range(rng, unit):
    X = rng.standard_normal((500, 3)) + np.array([0, 5, -5])
    scaling = measure_scaling(X * unit, RowWeights(500))
    np.testing.assert_allclose(scaling.center, X.mean(axis=0) * unit, rtol=1e-9)
    np.testing.assert_allclose(scaling.inverse_scale, 1 / X.std(axis=0) / unit, rtol=1e-9)


def test_a_spread_whose_inverse_would_overflow_counts_as_none(rng):
    scaling = measure_scaling(rng.standard_normal((50, 2)) * np.array([1e-307, 1.0]), RowWeights(50))
    assert scaling.inverse_scale[0] == 0
    assert scaling.inverse_scale[1] == pytest.approx(1, rel=0.3)


def test_weighted_scaling_is_that_of_repeated_rows(rng):
    X, repeats = rng.standard_normal((60, 4)), rng.integers(1, 5, 60)
    weighted = measure_scaling(X, RowWeights(60, repeats.astype(float)))
    repeated = measure_scaling(np.repeat(X, repeats, axis=0), RowWeights(int(repeats.sum())))
    np.testing.assert_allclose(weighted.center, repeated.center, atol=1e-14)
    np.testing.assert_allclose(weighted.inverse_scale, repeated.inverse_scale, rtol=1e-12)
