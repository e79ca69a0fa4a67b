"""Sparse kernel machines against their twin, scheme by scheme, and with outputs that share weak learners or do not."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import GIVEN, KERNEL, waves

from rffkern import SparseKernelClassifier, SparseKernelRegressor
from rffkern._native.sparse import RULES

pytestmark = pytest.mark.slow

EXACT = GIVEN | {"precision": "double"}  # twins agree to 1e-7 and better


def twin(X, target, n_estimators, subset_size, weight=None, **scheme):
    """Values at X after each learner, of the twin on the draws of a model of `random_state` 0."""
    rng = np.random.default_rng(0)
    subsets = [rng.choice(len(X), subset_size, replace=False) for _ in range(n_estimators)]
    K = reference.gaussian_kernel(X, X, np.array(KERNEL["length_scale"]), 1.5, 0.2)
    weight = np.ones(len(X)) if weight is None else weight
    return reference.sparse_boosting(K / 1.7, weight, target, subsets, reg_lambda=0.02 / 1.7, **scheme)[0]


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize(("update", "learner_size"), [
    ("full", 6), ("full", 1), ("one", 6), ("group", 6), ("pairs", 6), ("pairs", 1)])
def test_the_twin(rng, rule, update, learner_size):
    X, y = waves(rng, 400)
    spread = y.std()
    scheme = {"update": "full", "in_pairs": learner_size > 1} if update == "pairs" else {"update": update}
    values = twin(X, (y - y.mean()) / spread, 11, 40, rule=rule, learner_size=learner_size, group_size=4, **scheme)
    assert len(values) == 11
    model = SparseKernelRegressor(len(values), learner_size=learner_size, subset_size=40, selection=rule,
                                  update=update, group_size=4, **EXACT).fit(X, y)
    assert model.n_estimators_ == len(values)
    for staged, expected in zip(model.staged_predict(X), values, strict=True):
        np.testing.assert_allclose(staged, y.mean() + spread * expected, atol=1e-7)
    np.testing.assert_allclose(model.train_loss_[1:], [np.mean((y - s) ** 2) / spread**2 for s in
                                                       model.staged_predict(X)], rtol=1e-8)


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize(("update", "learner_size"), [("full", 6), ("full", 1), ("one", 6), ("group", 6)])
def test_the_twin_of_outputs_that_share(rng, rule, update, learner_size):
    """One target is three times another, so that the third alone gives gradients a second direction."""
    X, y = waves(rng, 400)
    Y = np.column_stack([y, 1 - 3 * y, X[:, 0] ** 2 - X[:, 1]])
    target = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    values = twin(X, target, 9, 40, rule=rule, learner_size=learner_size, update=update, group_size=4,
                  n_together=min(2, learner_size))
    model = SparseKernelRegressor(9, learner_size=learner_size, subset_size=40, selection=rule, update=update,
                                  group_size=4, **EXACT).fit(X, Y)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(values) == 9
    for stage, value in zip(stages, values, strict=True):
        np.testing.assert_allclose(stage, Y.mean(axis=0) + Y.std(axis=0) * value, atol=1e-7)
    np.testing.assert_allclose(model.train_loss_[1:], [np.mean((target - value) ** 2) for value in values], rtol=1e-7)
    np.testing.assert_allclose(stages[-1], model.predict(X), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_output_has_nothing_to_share(rng, weighted):
    X, y = waves(rng, 200)
    weight = rng.uniform(0.5, 2, 200) if weighted else None
    found = [SparseKernelRegressor(5, shared=shared, **EXACT).fit(X, y, weight).predict(X) for shared in (True, False)]
    np.testing.assert_array_equal(*found)


def test_outputs_that_do_not_share_are_learned_alone(rng):
    X, y = waves(rng, 200)
    params = EXACT | {"random_state": None}
    both = SparseKernelRegressor(1, shared=False, **EXACT).fit(X, np.column_stack([y, X[:, 0] ** 2]))
    alone = SparseKernelRegressor(1, **params | {"random_state": 0}).fit(X, y)
    np.testing.assert_allclose(both.predict(X)[:, 0], alone.predict(X), atol=1e-12)


def test_classes_that_share_follow_weights(rng):
    X, y = waves(rng, 150)
    labels = np.digitize(y, [-1, 1])
    repeats = rng.integers(1, 4, 150)
    params = EXACT | {"subset_size": None, "learner_size": 8}
    model = SparseKernelClassifier(20, loss="squared_error", **params).fit(X, labels, repeats)
    signs = np.where(labels[:, None] == model.classes_, 1, -1)
    for n_rounds, scores in enumerate(model.staged_decision_function(X), 1):
        loss = np.average((signs - scores) ** 2, axis=0, weights=repeats).mean()
        assert model.train_loss_[n_rounds] == pytest.approx(loss, rel=1e-9)
    assert n_rounds == model.n_estimators_ >= 10
    assert model.expansion_.n_terms <= 20 * 8
    assert model.score(X, labels, repeats) > 0.9
