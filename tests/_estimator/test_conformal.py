"""Intervals and label sets: what they cover, what is kept of residuals, groups, files, and refusals."""

import json

import numpy as np
import pytest
from helpers.model_files import assert_refused

from rffkern import (
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    GBRFFRegressor,
    InvalidInputError,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    NotFittedError,
    TrainingStateError,
    dumps,
    load,
    loads,
)
from rffkern._estimator.conformal import MOST_QUANTILES, intervals, label_sets, quantile, residuals_of, sample_of
from rffkern._files.archive import decode, encode

FAST = {"random_state": 0, "n_estimators": 60}


def waves(rng, n_rows):
    """Rows whose noise grows with the target."""
    X = rng.uniform(-1, 1, (n_rows, 3))
    mean = 3 + 2 * X[:, 0] + np.sin(3 * X[:, 1])
    return X, mean + 0.2 * mean * rng.standard_normal(n_rows)


def labelled(rng, n_rows):
    X = rng.uniform(-1, 1, (n_rows, 2))
    chance = rng.random((n_rows, 3)) + 2 * np.stack([X[:, 0] > 0, X[:, 1] > 0, X.sum(axis=1) < 0], axis=1)
    return X, np.array(["a", "b", "c"])[chance.argmax(axis=1)]


def covered(model, X, y, coverage):
    ends = model.predict_interval(X, coverage)
    return np.mean((y >= ends[:, 0]) & (y <= ends[:, 1]))


def contains(model, X, y, coverage):
    sets = model.predict_set(X, coverage)
    return np.mean(sets[np.arange(len(y)), np.searchsorted(model.classes_, y)])


@pytest.mark.slow
@pytest.mark.parametrize("model", [
    FourierBoostingRegressor(**FAST), FourierBoostingRegressor(loss="quantile", quantile=(0.1, 0.5, 0.9), **FAST),
    FourierBoostingRegressor(loss="quantile", quantile=0.7, **FAST), FourierBoostingRegressor(loss="huber", **FAST),
    FourierBoostingRegressor(kernel_ridge=True, **FAST), KernelRidgeRegressor(random_state=0)], ids=str)
def test_intervals_cover_what_is_asked(model, rng):
    X, y = waves(rng, 3000)
    model.fit(X[:600], y[:600])
    for coverage in (0.5, 0.8, 0.95):
        assert covered(model, X[600:], y[600:], coverage) == pytest.approx(coverage, abs=0.05)
    ends = model.predict_interval(X, 0.8)
    assert (ends[:, 0] < ends[:, 1]).all()
    assert (ends[:, 1] - ends[:, 0] < np.diff(model.predict_interval(X, 0.95))[:, 0]).all()
    np.testing.assert_array_equal(loads(dumps(model)).predict_interval(X), model.predict_interval(X))
    assert dumps(loads(dumps(model))) == dumps(model)


def test_counts_are_not_negative(rng):
    X = rng.uniform(-1, 1, (1500, 2))
    y = rng.poisson(np.exp(X[:, 0]))
    model = FourierBoostingRegressor(loss="poisson", **FAST).fit(X[:500], y[:500])
    assert model.predict_interval(X).min() == 0
    assert covered(model, X[500:], y[500:], 0.9) == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize("model", [FourierBoostingClassifier(**FAST), KernelRidgeClassifier(random_state=0)], ids=str)
def test_sets_contain_the_label(model, rng):
    X, y = labelled(rng, 3000)
    model.fit(X[:600], y[:600])
    for coverage in (0.9, 0.97):
        assert contains(model, X[600:], y[600:], coverage) == pytest.approx(coverage, abs=0.03)
    sets = model.predict_set(X)
    assert sets.dtype == bool
    assert sets.any(axis=1).all()
    assert sets[np.arange(len(X)), np.searchsorted(model.classes_, model.predict(X))].all()
    assert model.predict_set(X, 0.5).sum() < sets.sum() < model.predict_set(X, 0.98).sum()
    np.testing.assert_array_equal(loads(dumps(model)).predict_set(X), sets)


def test_widths_follow_the_prediction(rng):
    X, y = waves(rng, 3000)
    model = FourierBoostingRegressor(**FAST).fit(X[:1500], y[:1500])
    mean, ends = model.predict(X[1500:]), model.predict_interval(X[1500:])
    low, high = mean < np.quantile(mean, 0.2), mean > np.quantile(mean, 0.8)
    width = ends[:, 1] - ends[:, 0]
    assert width[high].mean() > 2 * width[low].mean()
    inside = (y[1500:] >= ends[:, 0]) & (y[1500:] <= ends[:, 1])
    assert min(inside[low].mean(), inside[high].mean()) > 0.85


def test_several_targets_and_weights(rng):
    X, y = waves(rng, 400)
    both = np.column_stack([y, 10 * X[:, 0] + rng.standard_normal(400)])
    ends = FourierBoostingRegressor(**FAST).fit(X, both).predict_interval(X)
    assert ends.shape == (400, 2, 2)
    assert (ends[:, 1, 1] - ends[:, 1, 0]).mean() > 2
    weights = (np.arange(400) % 2).astype(float)
    far = np.where(weights, y, y + 100)
    model = GBRFFRegressor(n_estimators=20, random_state=0).fit(X, y).conformalize(X, far, weights)
    assert np.diff(model.predict_interval(X)).max() < 20


def test_rows_of_weight_0_are_not_judged_by(rng):
    X, y = waves(rng, 300)
    weights = np.r_[np.ones(200), np.zeros(100)]
    few, all_rows = (FourierBoostingRegressor(**FAST).fit(*rows) for rows in (
        (X[:200], y[:200]), (X, np.r_[y[:200], y[200:] + 50], weights)))
    assert few._out_of_fold["rows"] == all_rows._out_of_fold["rows"] == 200
    np.testing.assert_allclose(few.predict_interval(X), all_rows.predict_interval(X), rtol=1e-5)


def test_few_rows_are_refused(rng):
    X, y = waves(rng, 200)
    model = GBRFFRegressor(n_estimators=20, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"X must have at least 4 rows, got 3 .*: a coverage of 0.9 takes 19"):
        model.conformalize(X[:3], y[:3])
    assert model.conformalize(X[:4], y[:4]).predict_interval(X, 0.55).shape == (200, 2)
    classifier = GBRFF2Classifier(n_estimators=5).fit(X, y > 3)
    with pytest.raises(InvalidInputError, match=r"X must have at least 2 rows, got 1 .*: a coverage of 0.9 takes 9"):
        classifier.conformalize(X[:1], y[:1] > 3)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_intervals_of_constant_targets_contain_them(rng, loss):
    X = rng.standard_normal((60, 2))
    for value in (0.1, 3.0, 7e5):
        model = FourierBoostingRegressor(n_estimators=5, loss=loss, n_bags=2, random_state=0).fit(X, np.full(60, value))
        low, high = model.predict_interval(X, 0.8).T
        assert ((low <= value) & (value <= high)).all()
        np.testing.assert_allclose(high, low, rtol=1e-13)


@pytest.mark.parametrize("model", [GBRFFRegressor(5, random_state=0), GBRFF2Classifier(5, random_state=0)],
                         ids=lambda model: type(model).__name__)
def test_rows_without_weight_are_as_if_left_out(rng, model):
    X, y = waves(rng, 120) if hasattr(model, "predict_interval") else labelled(rng, 120)
    method = "predict_interval" if hasattr(model, "predict_interval") else "predict_set"
    weight, groups = np.repeat([2.0, 0.0], 60), np.repeat(["a", "b", "c"], 40)
    model.fit(X, y).conformalize(X[:60], y[:60])
    expected = getattr(model, method)(X)
    model.conformalize(X, y, weight, groups=groups)
    np.testing.assert_array_equal(getattr(model, method)(X), expected)
    with pytest.raises(InvalidInputError, match="groups must be those of conformalize, such as 'a', got 'c'"):
        getattr(model, method)(X, groups=groups)


def test_conformalize_by_group(rng):
    X, y = waves(rng, 2000)
    groups = np.where(X[:, 2] > 0.3, "loud", "quiet")
    y = y + np.where(groups == "loud", 3, 0) * rng.standard_normal(2000)
    model = GBRFFRegressor(n_estimators=30, random_state=0).fit(X[:500], y[:500])
    with pytest.raises(TrainingStateError, match=r"this GBRFFRegressor knows no rows .*: call conformalize\(X, y\)"):
        model.predict_interval(X)
    assert model.conformalize(X[500:1200], y[500:1200]) is model
    with pytest.raises(TrainingStateError, match="groups need a model that knows some: call conformalize"):
        model.predict_interval(X, groups=groups)
    model.conformalize(X[500:1200], y[500:1200], groups=groups[500:1200])
    ends = loads(dumps(model)).predict_interval(X[1200:], 0.8, groups=groups[1200:])
    inside = (y[1200:] >= ends[:, 0]) & (y[1200:] <= ends[:, 1])
    for name in ("loud", "quiet"):
        assert inside[groups[1200:] == name].mean() == pytest.approx(0.8, abs=0.07)
    with pytest.raises(InvalidInputError, match="groups must be those of conformalize, such as 'loud', got 'other'"):
        model.predict_interval(X, groups=["other"] * 2000)
    with pytest.raises(InvalidInputError, match="group 'loud': coverage must be at most"):
        model.predict_interval(X, 0.999, groups=groups)
    labels = np.where(X[:, 0] > 0, "yes", "no")
    classifier = GBRFF2Classifier(n_estimators=20, random_state=0).fit(X[:500], labels[:500])
    classifier.conformalize(X[500:], labels[500:], groups=groups[500:] == "loud")
    assert classifier.predict_set(X, groups=groups == "loud").shape == (2000, 2)
    assert not hasattr(classifier.fit(X, labels), "_out_of_fold")


def test_refusals(rng):
    X, y = waves(rng, 60)
    model = FourierBoostingRegressor(**FAST)
    for call in (lambda: model.predict_interval(X), lambda: model.conformalize(X, y)):
        with pytest.raises(NotFittedError):
            call()
    model.fit(X, y)
    for coverage in (0, 1, 1.5, float("nan"), "0.9", None, True):
        with pytest.raises(InvalidInputError, match="coverage must be a number above 0 and below 1"):
            model.predict_interval(X, coverage)
    with pytest.raises(InvalidInputError, match=r"at most 0\.967213 for what is known of 60 rows"):
        model.predict_interval(X, 0.99)
    assert model.predict_interval(X, 0.967).shape == (60, 2)
    with pytest.raises(InvalidInputError, match="y must have 1 targets, got 2"):
        model.conformalize(X, np.column_stack([y, y]))
    labels = np.where(y > 3, 1, 0)
    classifier = FourierBoostingClassifier(**FAST).fit(X, labels)
    with pytest.raises(InvalidInputError, match=r"y must have one entry per row of X \(60\), got 59"):
        classifier.conformalize(X, labels[1:])
    with pytest.raises(InvalidInputError, match=r"coverage must be at most 0\.983606"):
        classifier.predict_set(X, 0.99)
    assert classifier.predict_set(X, 0.983606).shape == (60, 2)  # as the message says
    assert not hasattr(classifier, "predict_interval")


def test_samples_keep_their_quantiles(rng):
    values = rng.standard_normal(50)
    assert sample_of(values)["values"] == pytest.approx(np.sort(values), rel=1e-6)
    many = rng.standard_normal(100_000)
    sample = sample_of(many)
    assert (sample["rows"], len(sample["values"])) == (100_000, MOST_QUANTILES)
    for level in (1e-4, 0.01, 0.3, 0.5, 0.99, 0.9999):
        room = 2e-3 * np.sqrt(level * (1 - level)) + 5e-5
        assert np.mean(many <= quantile(sample, level)) == pytest.approx(level, abs=room)
    doubled = sample_of(values, np.where(values > 0, 2.0, 1.0))
    assert doubled == sample_of(values, np.where(values > 0, 2.0, 1.0) * 2.0**-1000)
    assert quantile(doubled, 0.5) == pytest.approx(np.quantile(np.r_[values, values[values > 0]], 0.5), abs=0.1)
    assert sample_of(np.zeros(3)) == {"rows": 3, "values": [0.0, 0.0, 0.0]}


def test_ends_are_order_statistics():
    """Of 19 residuals the outermost leave 1/20 on each side, as exchangeable rows do."""
    record = {"residuals": [residuals_of(np.zeros(19), np.arange(-9.0, 10), None, True)]}
    np.testing.assert_array_equal(intervals(record, np.array([[1.0]]), 0.9, ()), [[[-8, 10]]])
    np.testing.assert_array_equal(intervals(record, np.array([[1.0]]), 0.8, ()), [[[-7, 9]]])
    labels = {"labels": [sample_of(np.arange(1, 10) / 10)]}
    assert label_sets(labels, np.array([[0.2, 0.8], [0.19, 0.81]]), 0.8).tolist() == [[True, True], [False, True]]


def test_equal_residuals_and_large_ones():
    for unit in (5e-324, 1e-200, 1e200, 1e308):
        kept = residuals_of(unit * np.linspace(0, 1, 400), unit * np.linspace(-1, 1, 400), None, True)
        assert np.isfinite([*kept["knots"], *kept["spreads"], *kept["values"]]).all()
        json.dumps(kept, allow_nan=False)
    exact = residuals_of(np.arange(400.0), np.zeros(400), None, True)
    assert (exact["spreads"], exact["values"][:2]) == ([1.0], [0.0, 0.0])
    some = residuals_of(np.arange(400.0), np.where(np.arange(400) < 300, 0.0, 1.0), None, True)
    assert min(some["spreads"]) > 0


def test_damaged_records(rng, tmp_path):
    X, y = waves(rng, 60)
    header, arrays = decode(dumps(FourierBoostingRegressor(**FAST).fit(X, y)))
    record = header["out_of_fold"]
    (sample,) = record["residuals"]
    for damaged in ([], {}, {"source": "x"}, record | {"residuals": []}, record | {"source": 1},
                    *(record | {"residuals": [sample | change]} for change in (
                        {"values": sample["values"][::-1]}, {"rows": 3}, {"rows": "60"}, {"values": ["a"]},
                        {"spreads": [-1.0]}, {"spreads": []}, {"knots": [1, 1], "spreads": [1, 1]}, {"more": 1})),
                    record | {"groups": []}, record | {"groups": {"a": 1}}):
        assert_refused(tmp_path / "m.npz", encode({**header, "out_of_fold": damaged}, arrays),
                       in_c=not isinstance(damaged, dict))  # which does not read it
    (tmp_path / "m.npz").write_bytes(encode({**header, "out_of_fold": record}, arrays))
    assert load(tmp_path / "m.npz").predict_interval(X).shape == (60, 2)
