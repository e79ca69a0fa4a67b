"""A call answers by the model that it began with, also where the model is fitted again in the meantime."""

import numpy as np
import pytest
from helpers.families import X, fit, target_of

pytestmark = pytest.mark.slow

METHODS = ("decision_function", "predict", "predict_proba", "predict_log_proba", "transform",
           "staged_decision_function", "staged_predict", "staged_predict_proba")


class RowsThatRefit:
    """Rows that change the model at the moment when a call reads them."""

    def __init__(self, rows, refit):
        self.rows, self.refit = rows, refit

    def __array__(self, dtype=None, copy=None):
        self.refit()
        return self.rows


def answer(method, rows):
    found = method(rows)
    return np.asarray(found if isinstance(found, np.ndarray) else list(found))


def short_fit(family):
    """A model that is trained in an instant."""
    short = {"n_estimators": 3, "n_landmarks": 3, "max_epochs": 2}
    return fit(family, **{name: value for name, value in short.items() if name in family().get_params()})


@pytest.mark.parametrize("n_features", [6, 2])
def test_a_refit_during_a_call(family, n_features):
    model, target = short_fit(family), target_of(family)
    other = np.where(np.arange(400) % 3, target, "new") if target.dtype.kind == "U" else target[::-1]
    names = [name for name in METHODS if hasattr(model, name)]
    expected = [answer(getattr(model, name), X) for name in names]
    for name, given in zip(names, expected, strict=True):
        model.fit(X, target)
        rows = RowsThatRefit(X, lambda: model.fit(X[:, :n_features], other))
        np.testing.assert_array_equal(answer(getattr(model, name), rows), given, name)
        assert model.n_features_in_ == n_features


def test_a_refit_during_score(predictor):
    model, target = short_fit(predictor), target_of(predictor)
    expected = model.score(X, target)
    other = np.where(target == "up", "east", "west") if target.dtype.kind == "U" else target[::-1]
    assert model.score(RowsThatRefit(X, lambda: model.fit(X[:, :2], other)), target) == expected
