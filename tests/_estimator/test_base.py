"""Calls that find a model changed under them."""

import numpy as np
import pytest
from helpers.families import X, fit, target_of

from rffkern import GBRFF2Classifier, InvalidInputError, RowBlocks
from rffkern._estimator import base, tasks
from rffkern._estimator.registry import FAMILIES

METHODS = ("predict", "decision_function", "predict_proba", "transform", "staged_predict", "staged_decision_function")


def other_fit(family, model):
    """Fit a model again, on other columns and labels."""
    target = target_of(family)
    target = np.where(target == target[0], "yes", "no") if hasattr(model, "classes_") else target[::-1]
    return model.fit(np.hstack([X, X[:, :1]]), target)


def called(model, method, rows):
    result = getattr(model, method)(rows)
    return np.array(list(result) if method.startswith("staged") else result)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_one_call_answers_from_one_model(name, method, monkeypatch):
    """The model is fitted again, to more columns, once a call has checked its rows."""
    family = FAMILIES[name].load()
    small = {"max_epochs": 1, "n_restarts": 1} if "max_epochs" in family._param_names() else {}
    small |= {"n_estimators": 2} if "n_estimators" in family._param_names() else {}
    model = fit(family, **{key: value for key, value in small.items() if key in family._param_names()})
    if not hasattr(model, method):
        return
    expected, check = called(model, method, X), base.check_array

    def check_and_fit_again(rows):
        checked = check(rows)
        monkeypatch.setattr(base, "check_array", check)
        other_fit(family, model)
        return checked

    monkeypatch.setattr(base, "check_array", check_and_fit_again)
    found = called(model, method, X)
    assert model.n_features_in_ == X.shape[1] + 1
    np.testing.assert_array_equal(found, expected)


class Constant(tasks.Regressor):
    """A regressor whose predictions are given."""

    def __init__(self, scores):
        self.scores = np.asarray(scores, float)

    def _snapshot(self):
        return self

    def _raw_scores(self, X):
        return self.scores

    def _n_targets(self):
        return self.scores.shape[1]


@pytest.mark.parametrize(("y", "predicted", "weight", "expected"), [
    ([1.0, 2.0, 3.0], [1.0, 2.0, 5.0], None, 1 - 4 / 2),
    ([1.0, 2.0, 3.0, 7.0], [1.0, 2.0, 5.0, 0.0], [1, 1, 1, 0], 1 - 4 / 2),
    ([0.0, 4.0], [1.0, 4.0], [3.0, 1.0], 1 - 3 / 12),
    ([1e200, 2e200, 3e200], [1e200, 2e200, 5e200], None, 1 - 4 / 2),
    ([5.0, 5.0], [5.0, 5.0], None, 1.0), ([5.0, 5.0], [5.0, 6.0], None, 0.0), ([0.0, 0.0], [0.0, 0.0], None, 1.0),
    ([[1.0, 0.0], [2.0, 0.0], [3.0, 3.0]], [[1.0, 0.0], [2.0, 0.0], [5.0, 3.0]], None, (1 - 4 / 2 + 1) / 2),
])
def test_the_score_of_a_regressor_by_hand(y, predicted, weight, expected):
    """R^2, of which several targets take the mean."""
    scores = np.array(predicted).reshape(len(y), -1)
    assert Constant(scores).score(np.zeros((len(y), 1)), y, weight) == pytest.approx(expected, rel=1e-12)


def test_the_score_asks_for_as_many_targets_as_are_predicted():
    with pytest.raises(InvalidInputError, match="y must have 2 targets, got 1"):
        Constant(np.zeros((3, 2))).score(np.zeros((3, 1)), np.zeros(3))


def test_a_column_of_labels_is_scored_as_it_is_trained_on(rng):
    X = rng.standard_normal((60, 2))
    y = X[:, :1] > 0
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        model = GBRFF2Classifier(5, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        assert model.score(X, y) == model.score(X, y[:, 0])


def test_blocks_of_one_call_are_scored_by_one_model():
    family = FAMILIES["gbrff2"].load()
    model = fit(family, n_estimators=2)
    expected = model.decision_function(X)

    def read():
        yield X[:5]
        other_fit(family, model)
        yield X[5:]

    np.testing.assert_array_equal(model.decision_function(RowBlocks(read)), expected)


def test_fitted_attributes_change_all_at_once():
    """What a call has taken before a fit does not change; attributes that the new fit has not are gone."""
    family = FAMILIES["gbrff2"].load()
    model = fit(family, n_estimators=2)
    before, old = vars(model), dict(vars(model))
    other_fit(family, model)
    assert {name: id(value) for name, value in before.items()} == {name: id(value) for name, value in old.items()}
    assert vars(model) is not before


@pytest.mark.parametrize("argument", ["X", "y", "sample_weight"])
def test_masked_arrays_are_refused(argument):
    family = FAMILIES["gbrff2"].load()
    given = {"X": X.copy(), "y": target_of(family), "sample_weight": np.ones(len(X))}
    given[argument] = np.ma.array(given[argument], mask=False)
    family(2, random_state=0).fit(**given)  # nothing is masked
    given[argument][0] = np.ma.masked
    with pytest.raises(InvalidInputError, match=f"{argument} must have no masked values"):
        family(2).fit(**given)
