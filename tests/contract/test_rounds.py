"""Families that learn in rounds: staged predictions, loss curves and early stopping."""

import numpy as np
import pytest
from helpers.families import X, fit, one_member, target_of

import rffkern


def test_staged_answers_of_all_kinds(staged):
    """Labels and probabilities after each round are those of its scores, of two classes and of three."""
    targets = [target_of(staged)]
    targets.append(np.where(X[:, 3] > 1, "far", targets[0]) if targets[0].dtype.kind == "U"
                   else np.column_stack([targets[0], X[:, 4]]))
    for target in targets:
        model = fit(staged, target=target, n_estimators=3)
        answered = {name: list(getattr(model, name)(X[:50])) for name in dir(model) if name.startswith("staged_")}
        assert {len(stages) for stages in answered.values()} == {model.n_estimators_}
        assert set(answered) == {"staged_predict"} | (
            {"staged_predict_proba", "staged_decision_function"} if hasattr(model, "classes_") else set())
        for name, stages in answered.items():
            final = getattr(model, name.removeprefix("staged_"))(X[:50])
            assert [stage.shape for stage in stages] == [final.shape] * len(stages)
            if name == "staged_predict" and hasattr(model, "classes_"):
                scores, probabilities = answered["staged_decision_function"], answered["staged_predict_proba"]
                for labels, score, probability in zip(stages, scores, probabilities, strict=True):
                    best = (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)
                    np.testing.assert_array_equal(labels, model.classes_[best])
                    np.testing.assert_allclose(probability.sum(axis=1), 1)
            else:
                np.testing.assert_allclose(stages[-1], final, atol=1e-9)
            with pytest.raises(rffkern.NotFittedError):
                next(iter(getattr(staged(), name)(X)))


def test_stages_are_those_of_the_model_that_was_asked(staged):
    model, target = fit(staged, n_estimators=3), target_of(staged)
    expected = list(model.staged_predict(X))
    stages = model.staged_predict(X)
    model.fit(X, target[::-1])
    np.testing.assert_array_equal(list(stages), expected)


def test_early_stopping_keeps_the_best_round(boosted):
    target, seen = target_of(boosted), []
    model = boosted(400, early_stopping_rounds=5, random_state=0, **one_member(boosted))
    model.fit(X[:200, :2], target[:200], eval_set=(X[200:, :2], target[200:]),
              callback=lambda info: seen.append(info.eval_loss))
    assert 0 < model.n_estimators_ == np.argmin(seen) + 1 == model.eval_loss_.argmin() == len(seen) - 5
    seen = []
    model.set_params(early_stopping_rounds=None)
    model.fit(X, target, callback=lambda info: seen.append(info.train_loss) or len(seen) == 3)
    assert model.n_estimators_ == 3
    np.testing.assert_array_equal(model.train_loss_[1:], seen)
