"""Losses of scores and the steps of RFFNet, against their twins and finite differences."""

import numpy as np
import pytest
from helpers.packing import DTYPES
from helpers.rffnet_steps import LOSSES, Steps, random_targets, values_and_slopes
from hypothesis import assume, given
from hypothesis import strategies as st

from rffkern._kernels import rffnet

# Adam's steps have the sign of a slope, which may be lost to rounding: tolerances are of the size of a step or two.
TOLERANCE = {np.float32: 2e-3, np.float64: 1e-9}

TWINS = {
    "squared": lambda f, y: ((f - y) ** 2).sum(axis=1),
    "huber": lambda f, y: np.where(np.abs(f - y) < 0.7, (f - y) ** 2, 0.7 * (2 * np.abs(f - y) - 0.7)).sum(axis=1),
    "pinball": lambda f, y: np.where(y > f, 0.3 * (y - f), 0.7 * (f - y)).sum(axis=1),
    "logistic": lambda f, y: np.logaddexp(0, -y * f).sum(axis=1),
    "softmax": lambda f, y: (np.log(np.exp(f).sum(axis=1)) - f[np.arange(len(f)), y[:, 0].astype(int)]),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_slopes(name, rng):
    scores, targets = 3 * rng.standard_normal((200, 4)), random_targets(name, rng, 200, 4)
    values, slopes = values_and_slopes(LOSSES[name], scores, targets)
    np.testing.assert_allclose(values, TWINS[name](scores, targets), rtol=1e-12)
    for output in range(4):
        step = np.zeros(4)
        step[output] = 1e-6
        difference = TWINS[name](scores + step, targets) - TWINS[name](scores - step, targets)
        np.testing.assert_allclose(slopes[:, output], difference / 2e-6, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_losses_of_extreme_scores(name):
    scores = np.array([[1000.0, -1000.0], [-1000.0, 1000.0], [0.0, 0.0]])
    targets = np.ones((3, 2)) if name == "logistic" else np.ones((3, 1))
    values, slopes = values_and_slopes(LOSSES[name], scores, targets)
    expected = [1000.0, 1000.0, 2 * np.log(2)] if name == "logistic" else [2000.0, 0.0, np.log(2)]
    np.testing.assert_allclose(values, expected, rtol=1e-15)
    assert np.isfinite(slopes).all()


steps = st.builds(Steps, seed=st.integers(0, 2**32 - 1), n_samples=st.sampled_from([1, 2, 31, 33, 100, 300]),
                  n_features=st.integers(1, 23), n_terms=st.integers(1, 70), name=st.sampled_from(sorted(LOSSES)),
                  dtype=st.sampled_from(DTYPES), weighted=st.booleans(),
                  batch_size=st.sampled_from([1, 5, 32, 128, 150, 300]),
                  solver=st.sampled_from(["alternating", "joint"]))


@given(steps)
def test_a_pass_is_that_of_the_twin(problem):
    assume(problem.name != "pinball" or problem.dtype is np.float64)  # whose slope jumps where a score meets its target
    expected_coefficients, expected_relevances = problem.twin()
    coefficients, relevances = problem.taken()
    np.testing.assert_allclose(relevances[0], expected_relevances[0], rtol=0, atol=TOLERANCE[problem.dtype])
    np.testing.assert_allclose(coefficients[0], expected_coefficients[0], rtol=0, atol=TOLERANCE[problem.dtype])


@pytest.mark.parametrize("solver", ["alternating", "joint"])
@pytest.mark.parametrize("name", LOSSES)
def test_slopes_are_those_of_finite_differences(name, solver):
    """After one step from moments of 0, the mean slopes are a tenth of the slopes."""
    problem = Steps(5, 60, 6, 20, name, np.float64, True, 60, solver)
    problem.order = np.arange(60)
    network = problem.network

    def loss():
        scores = network.scores(problem.X, problem.workspace)
        return np.average(values_and_slopes(LOSSES[name], scores, problem.targets)[0] * problem.weight)

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

    along_coefficients = differences(network.coefficients[0, :, :21])
    along_relevances = differences(network.relevances[0]) if solver == "joint" else None
    problem.taken()
    np.testing.assert_allclose(10 * network.coefficients[1, :, :21], along_coefficients, rtol=1e-5, atol=1e-7)
    if solver == "alternating":  # the relevances' slopes are taken where the coefficients' step has led to
        stepped = network.relevances[1].copy()
        network.relevances[0] = 0.5
        along_relevances = differences(network.relevances[0])
        network.relevances[1] = stepped
    np.testing.assert_allclose(10 * network.relevances[1], along_relevances, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("solver", ["alternating", "joint"])
def test_same_bits_for_any_number_of_threads(dtype, solver):
    found = [Steps(3, 900, 7, 50, "softmax", dtype, True, 400, solver, n_threads).taken() for n_threads in (1, 2, 3)]
    for coefficients, relevances in found[1:]:
        np.testing.assert_array_equal(coefficients, found[0][0])
        np.testing.assert_array_equal(relevances, found[0][1])


def test_penalties_shrink_all_but_the_constant():
    problem = Steps(1, 300, 5, 40, "squared", np.float64, False, 10, "alternating")
    coefficients, relevances = problem.taken(ridge=1e10, lasso=1e10)
    assert np.abs(coefficients[0, :, :-1]).max() < 1e-6
    assert (np.abs(coefficients[0, :, -1]) > 1e-3).all()
    np.testing.assert_array_equal(relevances[0], 0)


def test_terms_that_pad_a_group_stay_zero():
    problem = Steps(1, 300, 5, 40, "squared", np.float32, False, 10, "alternating")
    problem.taken()
    np.testing.assert_array_equal(problem.network.coefficients[:, :, 41:], 0)
    assert len(problem.network.omegas) % rffnet.TERM_GROUP == 0
