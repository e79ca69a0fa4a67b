"""Losses of scores and the steps of RFFNet, against their twins and finite differences."""

import numpy as np
import pytest
import reference
from helpers.packing import DTYPES
from hypothesis import assume, given
from hypothesis import strategies as st

from rffkern._data.scaling import Scaling
from rffkern._kernels import rffnet, rffnet_losses
from rffkern._rffnet import losses as _score_losses
from rffkern._rffnet.network import Descent, Network

# Adam's steps have the sign of a slope, which may be lost to rounding: tolerances are of the size of a step or two.
TOLERANCE = {np.float32: 2e-3, np.float64: 1e-9}

LOSSES = {"squared": _score_losses.Squared(), "huber": _score_losses.Huber(0.7),
          "pinball": _score_losses.Pinball(0.3), "logistic": _score_losses.Logistic(),
          "softmax": _score_losses.Softmax()}


def values_and_slopes(loss, scores, targets):
    losses, slopes = np.empty(len(scores)), np.empty(scores.shape)
    rffnet_losses.row_losses(loss.compiled, scores, targets, losses, slopes)
    return losses, slopes


def random_targets(name, rng, n_samples, n_outputs):
    if name == "softmax":
        return rng.integers(0, n_outputs, (n_samples, 1)).astype(float)
    targets = rng.standard_normal((n_samples, n_outputs))
    return np.where(targets > 0, 1.0, -1.0) if name == "logistic" else targets


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


@pytest.mark.parametrize("name", LOSSES)
def test_start_is_the_best_constant(name, rng):
    n_outputs = 3 if name == "softmax" else 2
    targets, weight = random_targets(name, rng, 300, n_outputs), rng.uniform(0, 2, 300)
    start = LOSSES[name].start(targets, weight, n_outputs)

    def mean(constant):
        return LOSSES[name].mean(np.tile(constant, (300, 1)), targets, weight)

    assert mean(start) == pytest.approx(np.average(TWINS[name](np.tile(start, (300, 1)), targets), weights=weight))
    slack = 0.02 if name == "huber" else 0  # whose median is near the best
    for step in 0.05 * np.vstack([np.eye(n_outputs), -np.eye(n_outputs)]):
        assert mean(start + step) > mean(start) - slack


@pytest.mark.parametrize(("name", "targets"), [("logistic", [[1.0]] * 5), ("softmax", [[2.0]] * 5)])
def test_start_is_even_where_a_class_is_lacking(name, targets):
    assert not LOSSES[name].start(np.array(targets), None, 1 if name == "logistic" else 3).any()


class Steps:
    """A random network with rows to pass over, in both forms."""

    def __init__(self, seed, n_samples, n_features, n_terms, name, dtype, weighted, batch_size, joint, n_threads=1):
        rng = np.random.default_rng(seed)
        self.dtype, self.name, self.batch_size, self.joint = dtype, name, batch_size, joint
        self.n_outputs = {"softmax": 3, "squared": 2}.get(name, 1)
        self.X = rng.standard_normal((n_samples, n_features)).astype(dtype)
        self.targets = random_targets(name, rng, n_samples, self.n_outputs)
        self.weight = rng.uniform(0.2, 2, n_samples) if weighted else None
        self.order = rng.permutation(n_samples)[: max(1, n_samples - 3)]
        self.center, self.unit = rng.standard_normal(n_features), rng.uniform(0.5, 2, n_features)
        self.omegas = rng.standard_normal((n_terms, n_features)).astype(dtype).astype(float)
        self.offsets = rng.uniform(0, 2 * np.pi, n_terms)
        self.network = Network(self.omegas, self.offsets, 0.5, np.full(self.n_outputs, 0.1), dtype)
        self.network.coefficients[0, :, :n_terms] = 0.3 * rng.standard_normal((self.n_outputs, n_terms))
        self.descent = Descent(self.network, LOSSES[name], Scaling(self.center, self.unit, 1.0), batch_size, joint,
                               None)
        self.descent._n_threads = n_threads

    def taken(self, ridge=1e-3, lasso=1e-3):
        """Coefficients and relevances after a pass over the rows."""
        self.descent.take(self.X, self.order, self.targets, self.weight, 0.01, ridge, lasso)
        n_terms = len(self.omegas)
        return self.network.coefficients[:, :, : n_terms + 1], self.network.relevances

    def twin(self, ridge=1e-3, lasso=1e-3):
        n_terms = len(self.omegas)
        coefficients = self.network.coefficients[:, :, : n_terms + 1].astype(float)
        relevances = self.network.relevances.astype(float)
        rows = (self.X[self.order] - self.center) * self.unit
        weight = np.ones(len(self.X)) if self.weight is None else self.weight
        size = np.sqrt(2 / n_terms)
        reference.rffnet_pass(
            rows, self.targets[self.order], weight[self.order], self.omegas,
            -np.pi * self.network.shifts[:n_terms].astype(float), coefficients, relevances,
            lambda f, y: values_and_slopes(LOSSES[self.name], np.ascontiguousarray(f), y)[1], self.batch_size, 0,
            (0.23 / n_terms, 0.23 / n_terms / size, 0.01 / np.sqrt(rows.shape[1])), ridge / size**2, lasso, self.joint)
        return coefficients, relevances


steps = st.builds(Steps, seed=st.integers(0, 2**32 - 1), n_samples=st.sampled_from([1, 2, 31, 33, 100, 300]),
                  n_features=st.integers(1, 23), n_terms=st.integers(1, 70), name=st.sampled_from(sorted(LOSSES)),
                  dtype=st.sampled_from(DTYPES), weighted=st.booleans(),
                  batch_size=st.sampled_from([1, 5, 32, 128, 150, 300]), joint=st.booleans())


@given(steps)
def test_a_pass_is_that_of_the_twin(problem):
    assume(problem.name != "pinball" or problem.dtype is np.float64)  # whose slope jumps where a score meets its target
    expected_coefficients, expected_relevances = problem.twin()
    coefficients, relevances = problem.taken()
    np.testing.assert_allclose(relevances[0], expected_relevances[0], rtol=0, atol=TOLERANCE[problem.dtype])
    np.testing.assert_allclose(coefficients[0], expected_coefficients[0], rtol=0, atol=TOLERANCE[problem.dtype])


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_slopes_are_those_of_finite_differences(name, joint):
    """After one step from moments of 0, the mean slopes are a tenth of the slopes."""
    problem = Steps(5, 60, 6, 20, name, np.float64, True, 60, joint)
    problem.order = np.arange(60)
    network, scaling = problem.network, Scaling(problem.center, problem.unit, 1.0)

    def loss():
        scores = network.scores(problem.X, scaling, 1)
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
    along_relevances = differences(network.relevances[0]) if joint else None
    problem.taken()
    np.testing.assert_allclose(10 * network.coefficients[1, :, :21], along_coefficients, rtol=1e-5, atol=1e-7)
    if not joint:  # the relevances' slopes are taken where the coefficients' step has led to
        stepped = network.relevances[1].copy()
        network.relevances[0] = 0.5
        along_relevances = differences(network.relevances[0])
        network.relevances[1] = stepped
    np.testing.assert_allclose(10 * network.relevances[1], along_relevances, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("joint", [False, True])
def test_same_bits_for_any_number_of_threads(dtype, joint):
    found = [Steps(3, 900, 7, 50, "softmax", dtype, True, 400, joint, n_threads).taken() for n_threads in (1, 2, 3)]
    for coefficients, relevances in found[1:]:
        np.testing.assert_array_equal(coefficients, found[0][0])
        np.testing.assert_array_equal(relevances, found[0][1])


def test_penalties_shrink_all_but_the_constant():
    problem = Steps(1, 300, 5, 40, "squared", np.float64, False, 10, False)
    coefficients, relevances = problem.taken(ridge=1e10, lasso=1e10)
    assert np.abs(coefficients[0, :, :-1]).max() < 1e-6
    assert (np.abs(coefficients[0, :, -1]) > 1e-3).all()
    np.testing.assert_array_equal(relevances[0], 0)


def test_terms_that_pad_a_group_stay_zero():
    problem = Steps(1, 300, 5, 40, "squared", np.float32, False, 10, False)
    problem.taken()
    np.testing.assert_array_equal(problem.network.coefficients[:, :, 41:], 0)
    assert len(problem.network.omegas) % rffnet.TERM_GROUP == 0
