"""Scores after each round."""

import numpy as np
import pytest

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor
from rffkern._estimator.inspection import check_term_rounds

RNG = np.random.default_rng(3)
X = RNG.standard_normal((150, 3))
LABELS = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] * X[:, 1] + 0.1 * X[:, 2], [-0.3, 0.3])]
TARGETS = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]])
QUICK = {"n_bags": 3, "random_state": 0, "n_jobs": 1, "kernel_ridge": False}


@pytest.mark.parametrize(("more", "rounding"), [({}, 1e-7), ({"columns": None}, 1e-7), ({"base_learners": ("fourier",)},
                                                                                        1e-12)])
def test_a_stage_is_the_model_of_so_many_rounds(monkeypatch, more, rounding):
    """Rounds do not depend on how many follow, but the temperature of all of them does, as their shift would.

    So does what of a value of a table is rounded to single precision.
    """
    monkeypatch.setattr("rffkern._training.fourier_boosting.fit.intercept_shifts", lambda _, scores, *__: np.zeros(
        len(scores)))
    model, *shorter = (FourierBoostingClassifier(n_rounds, early_stopping_rounds=None, **more, **QUICK)
                       .fit(X, LABELS) for n_rounds in (9, 1, 4))
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 9
    for stage, other in zip((stages[0], stages[3]), shorter, strict=True):
        found = other.decision_function(X)
        np.testing.assert_allclose(stage / np.linalg.norm(stage), found / np.linalg.norm(found), rtol=0, atol=rounding)
    np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-12)


def test_members_that_ended_stay():
    model = FourierBoostingRegressor(60, early_stopping_rounds=3, base_learners=("fourier", "tree"), **QUICK)
    model.fit(X, TARGETS[:, 0])
    *_, before, last = model.staged_predict(X)
    assert before.shape == last.shape == (150,)
    np.testing.assert_allclose(last, model.predict(X), atol=1e-12)
    rounds = model.term_rounds_
    assert len(model.train_loss_) - 1 == rounds.max()
    ended = rounds[rounds < rounds.max()].max()  # members end in different rounds
    assert ended < rounds.max()


def test_losses_are_those_of_the_stages():
    """The training loss of a single member without rows held out by chance: those of `eval_set`.

    Without lines, which are there from the first stage on.
    """
    model = FourierBoostingRegressor(20, early_stopping_rounds=None, base_learners=("fourier", "tree"),
                                     **{**QUICK, "n_bags": 1})
    model.fit(X, TARGETS[:, 0], eval_set=(X[:50], TARGETS[:50, 0]))
    spread = TARGETS[:, 0].var()
    losses = [0.5 * np.mean((stage - TARGETS[:, 0]) ** 2) / spread for stage in model.staged_predict(X)]
    np.testing.assert_allclose(losses, model.train_loss_[1:], rtol=1e-4)


def test_a_stage_is_the_callers():
    stages = FourierBoostingRegressor(3, **QUICK).fit(X, TARGETS[:, 0]).staged_predict(X)
    next(stages)[:] = 1e9
    assert np.abs(next(stages)).max() < 10


@pytest.mark.parametrize("rounds", [[1.0, 2.0], [-1.0, 1.0, 2.0], [1.0, 1.5, 2.0], [1.0, 2.0, 4.0], [1.0, np.nan, 1.0]])
def test_rounds_that_contradict(rounds):
    check_term_rounds(np.array([0.0, 3.0, 2.0]), 3, 3)
    with pytest.raises(ValueError, match="rounds and terms"):
        check_term_rounds(np.array(rounds), 3, 3)
