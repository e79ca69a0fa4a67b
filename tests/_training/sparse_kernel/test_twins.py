"""Sparse kernel machines against their twin, scheme by scheme, and of several outputs."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import GIVEN, KERNEL, RAW, waves

from rffkern import SparseKernelClassifier, SparseKernelRegressor
from rffkern._native.sparse import RULES

# Twins agree to 1e-7 and better.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_double", "small_groups")]

EXACT = GIVEN | {"columns": RAW}


def twin(X, target, n_estimators, max_samples, weight=None, **scheme):
    """Values at X after each learner, of the twin on the draws of a model of `random_state` 0."""
    rng = np.random.default_rng(0)
    subsets = [rng.choice(len(X), max_samples, replace=False) for _ in range(n_estimators)]
    K = reference.gaussian_kernel(X, X, np.array(KERNEL["length_scale"]), 1.5, 0.2)
    weight = np.ones(len(X)) if weight is None else weight
    return reference.sparse_boosting(K / 1.7, weight, target, subsets, reg_lambda=0.02 / 1.7, **scheme)[0]


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize(("update", "basis_size"), [("full", 6), ("full", 1), ("one", 6), ("group", 6)])
def test_the_twin(rng, rule, update, basis_size):
    X, y = waves(rng, 400)
    spread = y.std()
    values = twin(X, (y - y.mean()) / spread, 11, 40, rule=rule, basis_size=basis_size, update=update, group_size=4)
    assert len(values) == 11
    model = SparseKernelRegressor(len(values), basis_size=basis_size, max_samples=40, selection=rule,
                                  update=update, **EXACT).fit(X, y)
    assert model.n_estimators_ == len(values)
    for staged, expected in zip(model.staged_predict(X), values, strict=True):
        np.testing.assert_allclose(staged, y.mean() + spread * expected, atol=1e-7)
    np.testing.assert_allclose(model.train_loss_[1:], [np.mean((y - s) ** 2) / spread**2 for s in
                                                       model.staged_predict(X)], rtol=1e-8)


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize(("update", "basis_size"), [("full", 6), ("full", 1), ("one", 6), ("group", 6)])
def test_the_twin_of_several_outputs(rng, rule, update, basis_size):
    """One target is three times another, so that the third alone gives gradients a second direction."""
    X, y = waves(rng, 400)
    Y = np.column_stack([y, 1 - 3 * y, X[:, 0] ** 2 - X[:, 1]])
    target = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    values = twin(X, target, 9, 40, rule=rule, basis_size=basis_size, update=update, group_size=4,
                  n_together=min(2, basis_size))
    model = SparseKernelRegressor(9, basis_size=basis_size, max_samples=40, selection=rule, update=update,
                                  **EXACT).fit(X, Y)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(values) == 9
    for stage, value in zip(stages, values, strict=True):
        np.testing.assert_allclose(stage, Y.mean(axis=0) + Y.std(axis=0) * value, atol=1e-7)
    np.testing.assert_allclose(model.train_loss_[1:], [np.mean((target - value) ** 2) for value in values], rtol=1e-7)
    np.testing.assert_allclose(stages[-1], model.predict(X), atol=1e-9)


def test_classes_follow_weights(rng):
    X, y = waves(rng, 150)
    labels = np.digitize(y, [-1, 1])
    repeats = rng.integers(1, 4, 150)
    params = EXACT | {"max_samples": None, "basis_size": 8}
    model = SparseKernelClassifier(20, **params).fit(X, labels, repeats)
    signs = np.where(labels[:, None] == model.classes_, 1, -1)
    stages, intercept = model._training_state, np.average(signs, axis=0, weights=repeats)
    for n_rounds, scores in enumerate(model.staged_decision_function(X), 1):
        scores = intercept + (scores - stages.intercept) / stages.scale  # before the calibration
        loss = np.average((signs - scores) ** 2, axis=0, weights=repeats).mean()
        assert model.train_loss_[n_rounds] == pytest.approx(loss, rel=1e-9)
    assert n_rounds == model.n_estimators_ >= 10
    assert model.expansion_.n_terms <= 20 * 8
    assert model.score(X, labels, repeats) > 0.9
