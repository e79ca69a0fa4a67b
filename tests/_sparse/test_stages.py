"""Paths of coefficients, and the scores after each round."""

import numpy as np
import pytest
from helpers.sparse_rows import GIVEN, waves

from rffkern import SparseKernelClassifier, SparseKernelRegressor, TrainingStateError, load, save
from rffkern._sparse.stages import CoefficientPath, StagedMachine, combine
from rffkern._sparse.weak_learner import WeakLearner


def learner(*pairs):
    indices, weights = zip(*pairs, strict=True)
    return WeakLearner(np.array(indices), np.array(weights, float))


def test_weak_learners_are_combined_on_distinct_rows():
    indices, weights = combine([learner((5, 1), (2, 2)), learner((2, 3), (9, 4))], np.array([10.0, 100.0]))
    assert indices.tolist() == [2, 5, 9]
    assert weights.tolist() == [320.0, 10.0, 400.0]
    assert combine([], np.empty(0))[0].size == 0


@pytest.mark.parametrize(("steps", "expected"), [
    ([[1], [2, 3], [4, 5, 6]], [[], [1], [2, 3], [4, 5, 6]]),  # one group
    ([[1], [2], [3]], [[], [1], [1, 2], [1, 2, 3]]),  # groups of one
    ([[1], [2, 3], [4], [5, 6], [7]], [[], [1], [2, 3], [2, 3, 4], [2, 3, 5, 6], [2, 3, 5, 6, 7]])])
def test_earlier_groups_keep_what_they_ended_with(steps, expected):
    path = CoefficientPath([learner((k, 1)) for k in range(len(steps))], [np.array(step, float) for step in steps])
    assert [path.at(n).tolist() for n in range(len(steps) + 1)] == expected
    indices, weights = path.combined()
    assert indices.tolist() == list(range(len(steps)))
    assert weights.tolist() == expected[-1]


@pytest.mark.parametrize("update", ["full", "one", "group"])
@pytest.mark.parametrize("size", [1, 5])
def test_the_last_stage_is_the_model(rng, update, size):
    X, y = waves(rng, 300)
    targets = np.column_stack([y, X[:, 0] ** 2])
    model = SparseKernelRegressor(11, learner_size=size, subset_size=60, update=update, group_size=4, **GIVEN)
    model.fit(X[:200], targets[:200], eval_set=(X[200:], targets[200:]))
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_estimators_
    np.testing.assert_allclose(stages[-1], model.predict(X), atol=1e-9)
    missed = [np.mean((stage[200:] - targets[200:]) ** 2 / targets[:200].var(axis=0)) for stage in stages]
    np.testing.assert_allclose(missed, model.eval_loss_[1 : len(stages) + 1], rtol=1e-6)


def test_each_weak_learner_is_evaluated_once(monkeypatch, rng):
    X, y = waves(rng, 100)
    model = SparseKernelRegressor(7, **GIVEN).fit(X, y)
    seen, values = [], StagedMachine._values
    monkeypatch.setattr(StagedMachine, "_values", lambda self, learner, *more: seen.append(learner)
                        or values(self, learner, *more))
    assert len(list(model.staged_predict(X))) == len(seen) == 7


def test_a_model_from_a_file_has_no_stages(rng, tmp_path):
    X, y = waves(rng, 200)
    for model, target, name in ((SparseKernelRegressor, y, "staged_predict"),
                                (SparseKernelClassifier, y > 0, "staged_decision_function")):
        save(model(5, **GIVEN).fit(X, target), tmp_path / "m")
        with pytest.raises(TrainingStateError, match="was read from a file, which keeps the trained function but not"):
            next(getattr(load(tmp_path / "m"), name)(X))
