"""Families that learn in rounds: staged predictions, loss curves and early stopping."""

import numpy as np
import pytest
from helpers.families import X, answers, fit, one_member, target_of

import rffkern


def test_staged_answers_end_in_the_answer(staged):
    fitted = fit(staged)
    method = getattr(fitted, "staged_decision_function", None) or fitted.staged_predict
    stages = list(method(X))
    assert len(stages) == fitted.n_estimators_
    # Weights of basis vectors may be large and cancel: both sums are then known to the rounding of their terms.
    rounding = np.finfo(float).eps * np.abs(getattr(fitted.expansion_, "weights", 0.0)).sum()
    np.testing.assert_allclose(stages[-1], answers(fitted, X), atol=max(1e-9, 2 * rounding))
    with pytest.raises(rffkern.NotFittedError):
        next(iter(getattr(staged(), method.__name__)(X)))


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
