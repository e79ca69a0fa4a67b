"""Rows outside the training range: columns are clipped, in training and wherever a model is scored."""

import numpy as np
import pytest
from helpers.expansions import boosted_expansion

from rffkern import (
    ColumnMap,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    InvalidInputError,
    RowBlocks,
    dumps,
    loads,
)
from rffkern._rows.scaling import no_scaling
from rffkern._training.fourier_boosting.parameters import BASE_LEARNERS, losses_with
from rffkern._training.fourier_boosting.training_rows import clipping_bounds

SHORT = {"n_estimators": 40, "n_bags": 2, "kernel_ridge": False, "random_state": 0}


def table(n, seed=0):
    """A column with heavy tails, others without, and a target in a bounded range."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[:, 0] = rng.lognormal(0, 1.5, n)
    return X, np.tanh(np.log(X[:, 0])) + 0.5 * np.sin(2 * X[:, 1]) + 0.3 * X[:, 2] / (1 + np.abs(X[:, 2]))


X, Y = table(300)
FAR = table(60, 1)[0]
FAR[::3, 1] *= 1000
FAR[1::3] *= -30


def bounds_of(column, extrapolates=True):
    values = np.asarray(column, dtype=np.float32)[None]
    lower, upper = clipping_bounds(values.min(axis=1), values.max(axis=1), values, no_scaling(1),
                                   np.array([extrapolates]), np.array([False]))
    return float(lower[0]), float(upper[0])


def test_lines_go_on_for_as_long_as_quartiles_say():
    even = np.linspace(0, 8, 8001)
    np.testing.assert_allclose(bounds_of(even), (-8, 16), rtol=1e-6)  # times: for as long again
    assert bounds_of(even, extrapolates=False) == (0, 8)
    normal = np.random.default_rng(0).standard_normal(1000)
    low, high = bounds_of(normal)
    np.testing.assert_allclose(high - normal.max(), (2 * 1.349) ** 2 / np.ptp(normal), rtol=0.1)
    np.testing.assert_allclose(high - normal.max(), normal.min() - low)
    low, high = bounds_of(np.r_[normal, 1e6])
    assert 0 <= high - 1e6 < 1e-5
    assert bounds_of(np.r_[np.zeros(900), np.ones(100)]) == (0, 1)
    assert bounds_of(np.r_[np.zeros(500), np.ones(500)]) == (-1, 2)  # never for longer than the width
    assert bounds_of(np.full(9, 3.0)) == (3, 3)


@pytest.mark.parametrize("columns", [None, "auto"])
def test_a_trend_goes_on_after_the_last_row(columns):
    """Neither Fourier terms nor the rank of the column, which end with the rows, carry what the line can."""
    t = np.arange(300.0)[:, None]
    y = 0.01 * t[:, 0] + 0.1 * np.random.default_rng(0).standard_normal(300)
    model = FourierBoostingRegressor(**SHORT, columns=columns).fit(t, y)
    np.testing.assert_allclose(model.predict([[300.0], [400.0], [500.0]]), [3, 4, 5], atol=0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_expansion_scores_clipped_rows(dtype):
    rng = np.random.default_rng(0)
    arrays = {"omegas": rng.standard_normal((5, 3)), "phases": rng.standard_normal(5),
              "amplitudes": rng.standard_normal((5, 2)), "intercept": [1.0, 2.0], "center": rng.standard_normal(3),
              "coefficients": rng.standard_normal((3, 2)), "tree_columns": [[0], [2]],
              "tree_thresholds": [[0.1], [0.2]],
              "tree_values": rng.standard_normal((4, 2))}
    lower, upper = np.array([-1.0, -0.3, -2.0]), np.array([0.1, 0.7, 0.1])
    free, bounded = boosted_expansion(**arrays), boosted_expansion(**arrays, lower=lower, upper=upper)
    for n in (1, 3, 700):
        rows = (3 * rng.standard_normal((n, 3))).astype(dtype)
        expected = free.score(rows.clip(lower.astype(dtype), upper.astype(dtype)))
        for _ in range(2):  # few rows take a way of their own once such have been scored
            np.testing.assert_array_equal(bounded.score(rows), expected)
        assert not np.array_equal(free.score(rows), expected)
    inside = rng.uniform(lower, upper, (9, 3)).astype(dtype)
    assert bounded._scorer.clip(inside) is inside
    for wrong in ({"lower": [0.0, 1.0, 0.0], "upper": upper}, {"lower": lower[:2], "upper": upper},
                  {"lower": [np.nan, 0, 0]}):
        with pytest.raises(InvalidInputError):
            boosted_expansion(**arrays, **wrong)


@pytest.mark.parametrize("params", [
    {}, {"columns": None}, {"kernel_ridge": True}, *({"base_learners": (name,)} for name in BASE_LEARNERS),
    *({"loss": name} for name in losses_with("identity")), {"loss": "quantile", "quantile": [0.1, 0.9]}], ids=str)
def test_no_row_is_predicted_far_outside_of_the_targets(params):
    """Whatever the base learners, in one call, row by row, block by block and after a file."""
    model = FourierBoostingRegressor(**SHORT | params).fit(X, Y)
    found = model.predict(FAR)
    assert max(Y.min() - found.min(), found.max() - Y.max()) < 0.75 * np.ptp(Y)
    np.testing.assert_array_equal(found, [model.predict(FAR[i : i + 1])[0] for i in range(len(FAR))])
    np.testing.assert_array_equal(found, model.predict(RowBlocks([FAR[:7], FAR[7:]])))
    np.testing.assert_array_equal(found, loads(dumps(model)).predict(FAR))
    np.testing.assert_allclose([*model.staged_predict(FAR)][-1], found, rtol=0, atol=1e-12)


def test_without_lines_rows_are_those_at_the_edge_of_the_training_range():
    model = FourierBoostingClassifier(**SHORT).fit(X, Y > 0)
    clipped = FAR.clip(X.min(axis=0), X.max(axis=0))
    np.testing.assert_allclose(model.predict_proba(FAR), model.predict_proba(clipped), rtol=0, atol=1e-12)
    with_kernels = FourierBoostingClassifier(**SHORT | {"kernel_ridge": True}).fit(X, Y > 0)
    assert with_kernels.expansion_.kernels is not None
    np.testing.assert_allclose(with_kernels.predict_proba(FAR), with_kernels.predict_proba(clipped), rtol=0, atol=1e-9)


def test_training_rows_are_as_they_are():
    for columns in (ColumnMap(), None):
        for rows in (X, X.astype(np.float32)):
            model = FourierBoostingRegressor(**SHORT, columns=columns).fit(rows, Y)
            mapped = rows if columns is None else model.column_map_.transform(rows)
            assert model.expansion_._scorer.clip(mapped) is mapped


def test_lines_end_where_few_rows_are_and_trees_go_on():
    """Only the standardised form of a column with heavy tails is cut, and its rank has the bins."""
    step = 1.0 * (X[:, 0] > np.quantile(X[:, 0], 0.96))
    model = FourierBoostingRegressor(**SHORT, base_learners=("tree", "linear")).fit(X, step)
    mapped = model.column_map_.transform(X)
    first, third = np.quantile(mapped, (0.25, 0.75), axis=0)
    cut = mapped.max(axis=0) > 4 * third - 3 * first
    assert model.column_map_.get_feature_names_out()[cut].tolist() == ["x0_standard"]
    upper = model.expansion_.upper
    np.testing.assert_allclose(upper[cut], (4 * third - 3 * first)[cut], rtol=1e-6)
    assert (upper[~cut] >= mapped.max(axis=0)[~cut]).all()
    assert X[step == 1, 0].min() > np.quantile(X[:, 0], 0.75) + 3 * np.ptp(np.quantile(X[:, 0], (0.25, 0.75)))
    assert model.predict(X)[step == 1].min() > model.predict(X)[step == 0].max()


def test_a_trend_goes_on_for_as_long_again():
    t = np.arange(400.0)[:, None]
    params = SHORT | {"n_estimators": 300, "base_learners": ("linear",), "columns": None}
    model = FourierBoostingRegressor(**params).fit(t, 0.01 * t[:, 0])
    np.testing.assert_allclose(model.predict([[700.0], [-300.0]]), [7.0, -3.0], rtol=1e-2)
    np.testing.assert_array_equal(*np.split(model.predict([[798.1], [8000.0]]), 2), strict=True)


def test_rows_of_an_eval_set_are_clipped_too():
    """Its loss is that of what the model predicts of it."""
    rows, targets = table(200, 2)
    rows[::20, 1] *= 1000
    params = SHORT | {"n_bags": 1, "base_learners": ("fourier", "tree")}
    model = FourierBoostingRegressor(**params).fit(X, Y, eval_set=(rows, targets))
    staged = np.array([*model.staged_predict(rows)])
    expected = ((staged - targets) ** 2).mean(axis=1) / Y.var()
    assert len(staged) > 20
    np.testing.assert_allclose(model.eval_loss_[1:] / model.eval_loss_[-1], expected / expected[-1], rtol=1e-3)


def test_explanations_say_which_columns_were_clipped():
    X_gaps = X.copy()
    X_gaps[::9, 3] = np.nan
    model = FourierBoostingClassifier(**SHORT).fit(X_gaps, Y > 0)
    found = model.explain(FAR)
    np.testing.assert_array_equal(found.clipped, (X.min(axis=0) > FAR) | (np.nanmax(X_gaps, axis=0) < FAR))
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.decision_function(FAR), rtol=0, atol=1e-9)
    assert not model.explain(X_gaps).clipped.any()
