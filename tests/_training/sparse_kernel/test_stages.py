"""Coefficients after each round, and the scores after each round."""

import numpy as np
import pytest
from helpers.sparse_rows import GIVEN, waves

from rffkern import SparseKernelRegressor
from rffkern._training.sparse_kernel import training
from rffkern._training.sparse_kernel.basis_selection import BaseLearner, combine
from rffkern._training.sparse_kernel.least_squares import Coefficients
from rffkern._training.sparse_kernel.training import first_coefficients


def learner(*pairs):
    indices, weights = zip(*pairs, strict=True)
    return BaseLearner(np.array(indices), np.array(weights, float))


def test_weak_learners_are_combined_on_distinct_rows():
    learners = [learner((5, 1), (2, 2)), learner((2, 3), (9, 4))]
    indices, weights = combine(learners, np.array([[10.0, 1.0], [100.0, 1.0]]))
    assert indices.tolist() == [2, 5, 9]
    assert weights.tolist() == [[320.0, 5.0], [10.0, 1.0], [400.0, 4.0]]
    assert combine([], np.empty((0, 1)))[0].size == 0


@pytest.mark.parametrize("sizes", [[3], [1, 1, 1], [2, 2, 1]])
def test_earlier_groups_keep_what_they_ended_with(rng, sizes):
    """A group of fewer has the coefficients that solve the equations of these alone."""
    factors = [np.linalg.cholesky(np.eye(size) + 0.1) for size in sizes]
    orthonormal = [rng.standard_normal((size, 2)) for size in sizes]
    last = [np.linalg.solve(factor.T, of_group) for factor, of_group in zip(factors, orthonormal, strict=True)]
    groups = list(map(Coefficients, last, factors, orthonormal))
    for n_learners in range(sum(sizes) + 1):
        expected = []
        for start, size, factor, of_group in zip(np.cumsum([0, *sizes]), sizes, factors, orthonormal, strict=False):
            n_here = min(max(n_learners - start, 0), size)
            expected.append(np.linalg.solve(factor[:n_here, :n_here].T, of_group[:n_here]))
        np.testing.assert_allclose(first_coefficients(groups, n_learners), np.vstack(expected), rtol=1e-12)
    np.testing.assert_array_equal(first_coefficients(groups, sum(sizes)), np.vstack(last))


@pytest.mark.parametrize("update", ["full", "one", "group"])
@pytest.mark.parametrize("size", [1, 5])
def test_the_last_stage_is_the_model(rng, small_groups, in_double, update, size):
    X, y = waves(rng, 300)
    targets = np.column_stack([y, X[:, 0] ** 2])
    model = SparseKernelRegressor(11, basis_size=size, max_samples=60, update=update, **GIVEN)
    model.fit(X[:200], targets[:200], eval_set=(X[200:], targets[200:]))
    predicted = list(model.staged_predict(X))
    assert len(predicted) == model.n_estimators_
    np.testing.assert_allclose(predicted[-1], model.predict(X), atol=1e-9)
    missed = [np.mean((stage[200:] - targets[200:]) ** 2 / targets[:200].var(axis=0)) for stage in predicted]
    np.testing.assert_allclose(missed, model.eval_loss_[1 : len(predicted) + 1], rtol=1e-6)


def test_each_weak_learner_is_evaluated_once(monkeypatch, rng):
    X, y = waves(rng, 100)
    model = SparseKernelRegressor(7, **GIVEN).fit(X, y)
    seen, expansion = [], training.Expansion
    monkeypatch.setattr(training, "Expansion", lambda *parts: seen.append(parts) or expansion(*parts))
    assert len(list(model.staged_predict(X))) == len(seen) == 7
