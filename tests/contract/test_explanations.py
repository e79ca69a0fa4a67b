"""Explanations of every family: base value and values add up to the score, by files and for single rows as well."""

import copy
import warnings

import numpy as np
import pytest
from helpers.families import X, answers, fit, target_of

import rffkern
from rffkern import ColumnMap, Expansion, InvalidInputError, RowBlocks


@pytest.mark.parametrize("background", ["marginals", "rows"])
def test_values_add_up(predictor, background):
    model = fit(predictor)
    rows = X[:6].copy()
    found = model.explain(rows, background if background == "marginals" else X[10:14])
    scores = answers(model, rows)
    scale = 1 + np.abs(scores).max()
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), scores, rtol=0, atol=1e-9 * scale)
    np.testing.assert_array_equal(rows, X[:6])
    np.testing.assert_array_equal(found.data, rows)
    assert found.feature_names.tolist() == list(range(6))
    one = model.explain(rows[:1], background if background == "marginals" else X[10:14])
    np.testing.assert_array_equal(one.values, found.values[:1])


@pytest.mark.slow
def test_rows_in_single_precision(predictor):
    """They are those in double precision, also where a map computes from them."""
    single = X[:4].astype(np.float32)
    for model in (fit(predictor), fit(predictor, columns=ColumnMap())):
        found = model.explain(single)
        scores = answers(model, single.astype(np.float64))
        np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), scores, rtol=0,
                                   atol=1e-9 * (1 + np.abs(scores).max()))


@pytest.mark.slow
def test_files_keep_the_distributions_of_columns(predictor):
    model = fit(predictor)
    read = rffkern.loads(rffkern.dumps(model))
    for ours, theirs in zip(read.explain(X[:5]), model.explain(X[:5]), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    without = copy.copy(model)
    del without._reference
    without.expansion_ = copy.copy(model.expansion_)
    with pytest.raises(InvalidInputError, match="pass some hundred training rows as background"):
        without.explain(X[:2])


def test_columns_of_a_table(predictor):
    """Levels, missing values and dates of a map, and a column that is read by nothing."""
    table = {"number": X[:, 0].tolist(), "constant": [1.0] * len(X),
             "word": np.where(X[:, 3] > 0.5, "much", np.where(X[:, 4] > 1, "other", "little")).tolist(),
             "gaps": [None if k % 7 == 0 else value for k, value in enumerate(X[:, 3].tolist())]}
    with pytest.warns(rffkern.ColumnWarning, match="constant"):
        model = fit(predictor, table, target_of(predictor), columns=ColumnMap())
    few = {name: column[:9] for name, column in table.items()}
    for background in ("marginals", {name: column[9:12] for name, column in table.items()}):
        found = model.explain(few, background)
        scores = answers(model, few)
        np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), scores, rtol=0,
                                   atol=1e-9 * (1 + np.abs(scores).max()))
        assert found.values.shape[1] == 4
        assert not found.values[:, 1].any()
        assert found.data[0].tolist() == [few["number"][0], 1.0, few["word"][0], None] or np.isnan(found.data[0, 3])


def test_what_is_refused(predictor):
    model = fit(predictor)
    for X_given, background, message in [
            (RowBlocks(X), "marginals", "X must be rows in memory"), (X[:2], RowBlocks(X), "background must be rows"),
            (X[:2], "margins", "background must be"),
            (X[:2], None, "background must be \"marginals\", or rows, got None"),
            (X[:2], X[:2, :3], "expecting 6 features"),
            (X[:2, :3], "marginals", "expecting 6 features")]:
        with pytest.raises(InvalidInputError, match=message):
            model.explain(X_given, background)


def test_gradients_are_finite_differences_without_trees(predictor):
    model = fit(predictor)
    expansion = model.expansion_
    parts = [part for part in expansion.parts if part.kind != "trees"]
    smooth = Expansion(expansion.intercept, expansion.center, *parts, lower=expansion.lower, upper=expansion.upper)
    rows = X[:5] * 0.9 + 0.1 * X.mean(axis=0)  # off the centers of kernels, and within the bounds
    found = model.gradient(rows)
    assert found.shape == X[:5].shape
    np.testing.assert_array_equal(found[:1], model.gradient(rows[:1]))
    for column in range(X.shape[1]):
        step = 1e-5 * X[:, column].std() * np.eye(X.shape[1])[column]
        expected = (smooth.score(rows + step) - smooth.score(rows - step))[:, 0] / (2 * step[column])
        np.testing.assert_allclose(found[:, column], expected, rtol=1e-4, atol=1e-6 / X[:, column].std())


@pytest.mark.slow
def test_a_counterfactual_reaches_its_target(predictor):
    model = fit(predictor)
    now = model.predict(X[:1])[0]
    target = now + 0.1 if isinstance(now, float) else {"up": "down", "down": "up"}[now]
    found = model.what_if(X[0], target, change=[0, 3])
    assert set(found.changes) <= {0, 3}
    assert found.prediction >= target if isinstance(now, float) else found.prediction == target
    assert model.predict([found.row])[0] == found.prediction
    assert 0 <= found.lower_bound <= found.distance


@pytest.mark.slow
def test_the_package_shap_explains_the_same():
    """By its own code, which scores all coalitions with rows of a background."""
    shap = pytest.importorskip("shap")
    model = fit(rffkern.FourierBoostingRegressor)
    explainer = shap.Explainer(model.predict, shap.maskers.Independent(X[10:30]), algorithm="exact")
    found = explainer(X[:3], silent=True)
    np.testing.assert_allclose(found.values, model.explain(X[:3], X[10:30]).values, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("draw", ["bar", "beeswarm", "heatmap", "scatter", "waterfall"])
def test_plots_of_the_package_shap(draw):
    shap = pytest.importorskip("shap")
    pytest.importorskip("matplotlib").use("Agg")
    found = fit(rffkern.FourierBoostingRegressor).explain(X[:9]).to_shap()
    some = {"waterfall": found[0], "scatter": found[:, 3]}.get(draw, found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(shap.plots, draw)(some, show=False)


@pytest.mark.slow
def test_the_package_shap_takes_them():
    shap = pytest.importorskip("shap")
    model = fit(rffkern.FourierBoostingRegressor)
    found = model.explain(X[:5])
    given = found.to_shap()
    assert isinstance(given, shap.Explanation)
    assert given.shape == (5, 6)
    assert given.feature_names == list("012345")
    np.testing.assert_array_equal(given[2].values, found.values[2])
    assert given[2].base_values == found.base_values
