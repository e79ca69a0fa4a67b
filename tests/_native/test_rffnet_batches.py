"""The steps of RFFNet against their twin and finite differences."""

import numpy as np
import pytest
from helpers.packing import DTYPES
from helpers.rffnet_steps import LOSSES, Steps, values_and_slopes
from hypothesis import assume, given
from hypothesis import strategies as st

from rffkern._native import rffnet

# Adam's steps have the sign of a slope, which may be lost to rounding: tolerances are of the size of a step or two.
TOLERANCE = {np.float32: 2e-3, np.float64: 1e-9}

steps = st.builds(Steps, seed=st.integers(0, 2**32 - 1), n_samples=st.sampled_from([1, 2, 31, 33, 100, 300]),
                  n_features=st.integers(1, 23), n_terms=st.integers(1, 70), name=st.sampled_from(sorted(LOSSES)),
                  dtype=st.sampled_from(DTYPES), weighted=st.booleans(),
                  batch_size=st.sampled_from([1, 5, 32, 128, 150, 300]))


@given(steps)
def test_a_pass_is_that_of_the_twin(problem):
    assume(problem.name != "pinball" or problem.dtype is np.float64)  # whose slope jumps where a score meets its target
    expected_coefficients, expected_relevances = problem.twin()
    coefficients, relevances = problem.taken()
    np.testing.assert_allclose(relevances[0], expected_relevances[0], rtol=0, atol=TOLERANCE[problem.dtype])
    np.testing.assert_allclose(coefficients[0], expected_coefficients[0], rtol=0, atol=TOLERANCE[problem.dtype])


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_are_those_of_finite_differences(name):
    """After one step from moments of 0, the mean slopes are a tenth of the slopes."""
    problem = Steps(5, 60, 6, 20, name, np.float64, True, 60)
    problem.order = np.arange(60)
    coefficients, relevances = problem.coefficients, problem.relevances

    def loss():
        return np.average(values_and_slopes(name, problem.scores(), problem.targets)[0] * problem.weight)

    def differences(array):
        found = np.empty(array.shape)
        for index in np.ndindex(array.shape):
            value = array[index]
            array[index] = value + 1e-6
            above = loss()
            array[index] = value - 1e-6
            found[index] = (above - loss()) / 2e-6
            array[index] = value
        return found

    along_coefficients = differences(coefficients[0, :, :21])
    problem.taken()
    np.testing.assert_allclose(10 * coefficients[1, :, :21], along_coefficients, rtol=1e-5, atol=1e-7)
    stepped = relevances[1].copy()
    relevances[0] = 0.5  # the gradient along the relevances is taken where the coefficients' step has led to
    along_relevances = differences(relevances[0])
    relevances[1] = stepped
    np.testing.assert_allclose(10 * relevances[1], along_relevances, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_for_any_number_of_threads(dtype):
    found = [Steps(3, 900, 7, 50, "softmax", dtype, True, 400, n_threads).taken() for n_threads in (1, 2, 3)]
    for coefficients, relevances in found[1:]:
        np.testing.assert_array_equal(coefficients, found[0][0])
        np.testing.assert_array_equal(relevances, found[0][1])


def test_penalties_shrink_all_but_the_constant():
    problem = Steps(1, 300, 5, 40, "squared", np.float64, False, 10)
    coefficients, relevances = problem.taken(ridge=1e10, lasso=1e10)
    assert np.abs(coefficients[0, :, :-1]).max() < 1e-6
    assert (np.abs(coefficients[0, :, -1]) > 1e-3).all()
    np.testing.assert_array_equal(relevances[0], 0)


def test_terms_that_pad_a_group_stay_zero():
    problem = Steps(1, 300, 5, 40, "squared", np.float32, False, 10)
    problem.taken()
    np.testing.assert_array_equal(problem.coefficients[:, :, 41:], 0)
    assert len(problem.omegas) % rffnet.TERM_GROUP == 0
