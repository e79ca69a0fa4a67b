"""RFFNet as its users meet it: what it learns, with which losses and kernels, and which columns it finds."""

import math

import numpy as np
import pytest
from helpers.networks import wavy

from rffkern import DataConversionWarning, RFFNetClassifier, RFFNetRegressor
from rffkern._training.rffnet import training

pytestmark = pytest.mark.slow


def test_finds_the_columns_that_matter(rffnet, few_columns):
    assert rffnet.score(*few_columns[2:]) > 0.97
    assert sorted(rffnet.select_top_k(2).tolist()) == [2, 5]
    assert np.sort(rffnet.relevances_)[-3] < 0.2 * rffnet.relevances_.max()
    np.testing.assert_allclose(rffnet.feature_importances_, rffnet.relevances_ / rffnet.relevances_.sum())


@pytest.mark.parametrize(("n_samples", "expected"), [
    (50, 100), (2000, int(math.sqrt(2000) * math.log(2000))), (3000, 400)])
def test_number_of_terms(n_samples, expected, monkeypatch):
    assert training._MOST_TERMS == 4096
    monkeypatch.setattr(training, "_MOST_TERMS", 400)
    model = RFFNetClassifier(max_epochs=1).fit(*(wavy(n_samples)[0], np.arange(n_samples) % 2))
    assert model.n_components_ == model.expansion_.n_terms == expected


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "matern32", "matern52"])
def test_learns_with_every_kernel(kernel, precision, few_columns):
    model = RFFNetRegressor(kernel=kernel, precision=precision, random_state=0).fit(*few_columns[:2])
    assert model.score(*few_columns[2:]) > 0.9


def test_l1_penalty_makes_relevances_zero(few_columns):
    model = RFFNetRegressor(random_state=0, reg_l1=0.02).fit(*few_columns[:2])
    assert np.flatnonzero(model.relevances_).tolist() == [2, 5]


def test_huber_loss_resists_outliers(few_columns):
    X, y, X_new, y_new = few_columns
    spoiled = y.copy()
    spoiled[::10] += 50
    errors = {}
    for loss, params in (("squared_error", {}), ("huber", {"delta": 0.1})):
        model = RFFNetRegressor(loss=loss, random_state=0, **params).fit(X, spoiled)
        errors[loss] = np.median(np.abs(model.predict(X_new) - y_new))
    assert errors["huber"] < 0.25 < 2 * errors["huber"] < errors["squared_error"]


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantile_loss_estimates_quantiles(quantile, rng):
    X = rng.standard_normal((13_000, 3))
    y = X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.standard_normal(13_000)
    model = RFFNetRegressor(loss="quantile", quantile=quantile, random_state=0).fit(X[:3000], y[:3000])

    def loss(predicted):
        return np.mean(np.maximum(quantile * (y[3000:] - predicted), (quantile - 1) * (y[3000:] - predicted)))

    predicted = model.predict(X[3000:])
    assert np.mean(y[3000:] < predicted) == pytest.approx(quantile, abs=0.07)
    assert loss(predicted) < 0.8 * loss(np.quantile(y[:3000], quantile))


def test_several_targets_share_relevances(few_columns):
    X, y, X_new, y_new = few_columns
    both = RFFNetRegressor(random_state=0).fit(X, np.column_stack([y, 1000 * X[:, 2] + 7]))
    assert both.score(X_new, np.column_stack([y_new, 1000 * X_new[:, 2] + 7])) > 0.95
    assert both.relevances_.shape == (8,)


def test_several_classes(few_columns):
    X, y, X_new, y_new = few_columns
    edges = np.quantile(y, [0.25, 0.5, 0.75])
    labels, labels_new = (np.array(["a", "b", "c", "d"])[np.digitize(values, edges)] for values in (y, y_new))
    model = RFFNetClassifier(random_state=0).fit(X, labels)
    assert model.score(X_new, labels_new) > 0.85
    scores, proba = model.decision_function(X_new), model.predict_proba(X_new)
    np.testing.assert_allclose(proba, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), rtol=1e-12)
    assert sorted(model.select_top_k(2).tolist()) == [2, 5]
    loss = -np.mean(np.log(proba[np.arange(1000), np.searchsorted(model.classes_, labels_new)]))
    assert loss < 0.5


def test_two_classes(few_columns):
    X, y, X_new, y_new = few_columns
    model = RFFNetClassifier(random_state=0).fit(X, y > 1)
    scores = model.decision_function(X_new)
    np.testing.assert_allclose(model.predict_proba(X_new)[:, 1], 1 / (1 + np.exp(-scores)), rtol=0, atol=1e-12)
    assert model.score(X_new, y_new > 1) > 0.9


def test_weights_decide_between_contradictions(few_columns):
    X = few_columns[0]
    rows, labels = np.vstack([X, X]), np.repeat([0, 1], 2000)
    weight = np.where(np.concatenate([X[:, 0] > 0, X[:, 0] <= 0]), 20.0, 1.0)
    model = RFFNetClassifier(random_state=0).fit(rows, labels, weight)
    assert model.score(X, X[:, 0] <= 0) > 0.95


def test_nothing_is_learned_from_noise(rng):
    X, y = rng.standard_normal((1000, 20)), rng.standard_normal(1000)
    model = RFFNetRegressor(random_state=0).fit(X[:500], y[:500], eval_set=(X[500:], y[500:]))
    assert np.mean((model.predict(X[500:]) - y[500:]) ** 2) <= np.mean((y[500:] - y[:500].mean()) ** 2) * (1 + 1e-6)


@pytest.mark.parametrize("params", [{"learning_rate": 1.0}, {"reg_lambda": 0.0}, {"reg_lambda": 1e10},
                                    {"reg_l1": 1e10}, {"kernel": "laplace"}])
def test_extremes_are_finite(params, few_columns):
    X, y = few_columns[0].copy(), few_columns[1] * 1e20
    X[0, 0] = 1e6  # an outlier: the cosines of a column that begins at its range would alias
    with pytest.warns(DataConversionWarning, match="column 0 of X has a few rows so far out"):
        model = RFFNetRegressor(random_state=0, max_epochs=10, **params).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.eval_loss_).all()
    assert np.isfinite(model.train_loss_).all()


@pytest.mark.parametrize("standardize", [True, False])
def test_ratios_of_spreads_are_kept_without_standardisation(standardize, few_columns):
    X, y, X_new, y_new = few_columns
    unit = np.array([1, 1, 10, 1, 1, 1, 1, 1]) * 1000.0
    model = RFFNetRegressor(random_state=0, standardize=standardize).fit(X * unit, y)
    assert model.score(X_new * unit, y_new) > 0.9
    ratio = model.relevances_[5] / model.relevances_[2]
    assert ratio > 3 if not standardize else ratio < 3
