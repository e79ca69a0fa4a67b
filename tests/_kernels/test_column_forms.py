"""Piecewise linear functions against NumPy's and the twin."""

import numpy as np
import reference
from hypothesis import given
from hypothesis import strategies as st

from rffkern._kernels import column_forms

NUMBERS = st.floats(-1e6, 1e6)


def interpolated(values, knots, heights):
    slopes, out = np.append(np.diff(heights) / np.diff(knots), 0.0), np.full(len(values), 7.0)
    column_forms.interpolate(values, knots, heights, slopes, out)
    return out


@given(st.sets(st.integers(-1000, 1000), min_size=1, max_size=300), st.lists(NUMBERS, max_size=50),
       st.integers(0, 99))
def test_interpolation(knots, values, seed):
    knots = np.array(sorted(knots)) / 8
    heights = np.cumsum(np.random.default_rng(seed).random(len(knots)))
    values = np.concatenate([knots, values, [-1e300, 1e300]])  # knots are met exactly
    found = interpolated(values, knots, heights)
    np.testing.assert_allclose(found, np.interp(values, knots, heights), rtol=0, atol=1e-12 * heights[-1])
    np.testing.assert_allclose(found, reference.interpolated(values, knots, heights), rtol=0, atol=1e-12 * heights[-1])
    np.testing.assert_array_equal(found[: len(knots)], heights)


def test_missing_values_stay_missing():
    found = interpolated(np.array([np.nan, 0.5]), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert np.isnan(found[0])
    assert found[1] == 0.5
    assert np.isnan(interpolated(np.array([np.nan]), np.array([0.0]), np.array([2.0])))
