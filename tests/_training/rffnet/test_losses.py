"""The constant scores at which training starts."""

import numpy as np
import pytest
from helpers.networks import LOSSES, random_targets, values_and_slopes

from rffkern._rows.weights import RowWeights


@pytest.mark.parametrize("name", LOSSES)
def test_start_is_the_best_constant(name, rng):
    n_outputs = 3 if name == "softmax" else 2
    targets, weight = random_targets(name, rng, 300, n_outputs), rng.uniform(0, 2, 300)
    start = LOSSES[name].start(targets, RowWeights(300, weight))

    def mean(constant):
        losses, _ = values_and_slopes(LOSSES[name], np.tile(constant, (300, 1)), targets)
        return np.average(losses, weights=weight)

    slack = 0.02 if name == "huber" else 0  # whose median is near the best
    for step in 0.05 * np.vstack([np.eye(n_outputs), -np.eye(n_outputs)]):
        assert mean(start + step) > mean(start) - slack


@pytest.mark.parametrize(("name", "targets", "expected"), [
    ("squared_error", [1, 2, 6], 3.0), ("huber", [1, 2, 6], 2.0), ("quantile", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 3.0),
    ("logistic", [1, 1, 1, -1], np.log(3)),
])
def test_start_without_weights(name, targets, expected):
    targets = np.array(targets, float)[:, None]
    np.testing.assert_allclose(LOSSES[name].start(targets, RowWeights(len(targets))), [expected], rtol=1e-12)


def test_start_of_several_classes():
    targets = np.array([0, 0, 0, 0, 1, 1, 2, 2], float)[:, None]
    start = LOSSES["softmax"].start(targets, RowWeights(8))
    np.testing.assert_allclose(np.exp(start) / np.exp(start).sum(), [0.5, 0.25, 0.25])


@pytest.mark.parametrize(("name", "targets"), [("logistic", [[1.0]] * 5), ("softmax", [[2.0]] * 5)])
def test_start_is_even_where_a_class_is_missing(name, targets):
    assert not LOSSES[name].start(np.array(targets), RowWeights(5)).any()
