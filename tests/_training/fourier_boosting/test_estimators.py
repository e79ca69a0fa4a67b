"""The classifier and the regressor: classes, targets, losses, weights, rows in every form, and small or dull tables."""

import warnings

import numpy as np
import pytest

from rffkern import (
    DataConversionWarning,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    InvalidInputError,
    load,
    save,
)

RNG = np.random.default_rng(2)
X = RNG.standard_normal((600, 4))
SIGNAL = np.sin(2 * X[:, 0]) + 0.5 * X[:, 2]
Y = SIGNAL + 0.1 * RNG.standard_normal(600)
SHORT = {"n_estimators": 60, "n_bags": 2, "random_state": 0, "kernel_ridge": False}


def classifier(**params):
    return FourierBoostingClassifier(**SHORT | params)


def regressor(**params):
    return FourierBoostingRegressor(**SHORT | params)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_classes(n_classes):
    labels = np.array(list("edcba"))[np.digitize(SIGNAL, np.linspace(-0.8, 0.8, n_classes - 1))]
    model = classifier().fit(X[:450], labels[:450])
    assert model.classes_.tolist() == sorted(set(labels))
    assert model.decision_function(X).shape == ((600,) if n_classes == 2 else (600, n_classes))
    proba = model.predict_proba(X[450:])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X[450:], labels[450:]) > 0.75
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X[450:]))


def test_several_targets_share_terms():
    both = np.column_stack([Y, 1000 * X[:, 1] + 5])
    model = regressor(n_estimators=200).fit(X[:450], both[:450])
    assert model.predict(X).shape == (600, 2)
    assert model.score(X[450:], both[450:]) > 0.8
    assert model.expansion_.n_outputs == 2


@pytest.mark.parametrize("several", [False, True])
def test_files_keep_numbers_of_terms_and_members(several, tmp_path):
    target = np.column_stack([Y, -Y]) if several else Y
    for params in ({}, {"base_learners": ("fourier",)}, {"base_learners": ("tree",)}, {"base_learners": ("linear",)},
                   {"n_bags": 3}):
        model = regressor(**params).fit(X, target)
        save(model, tmp_path / "m")
        loaded = load(tmp_path / "m")
        for name in ("n_estimators_", "n_bags_", "n_features_in_", "base_learners"):
            assert getattr(loaded, name) == getattr(model, name)
        np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_huber_is_robust():
    spoiled = Y.copy()
    spoiled[::20] += 100
    errors = [np.median(np.abs(regressor(loss=loss, n_estimators=150).fit(X, spoiled).predict(X) - SIGNAL))
              for loss in ("squared_error", "huber")]
    assert errors[1] < 0.5 * errors[0]


def test_counts_are_predicted_in_their_unit():
    """Whatever it is: a mean of counts is a multiple of that of other units."""
    counts = RNG.poisson(np.exp(1 + SIGNAL)).astype(float)
    model = regressor(loss="poisson", n_estimators=200).fit(X, counts)
    assert (model.predict(X) > 0).all()
    assert np.corrcoef(np.log(model.predict(X)), SIGNAL)[0, 1] > 0.9
    assert model.predict(X).mean() == pytest.approx(counts.mean(), rel=0.1)
    for unit in (1e-30, 1e30):
        np.testing.assert_allclose(regressor(loss="poisson", n_estimators=200).fit(X, unit * counts).predict(X),
                                   unit * model.predict(X), rtol=1e-4)
    with pytest.raises(InvalidInputError, match="y must be >= 0 for loss='poisson', got -1"):
        regressor(loss="poisson").fit(X, counts - 1)
    for eval_set in ((X, counts - 1), {"a": (X, counts), "b": (X, counts - 1)}):
        with pytest.raises(InvalidInputError, match="eval_set y must be >= 0 for loss='poisson', got -1"):
            regressor(loss="poisson").fit(X, counts, eval_set=eval_set)
    with pytest.raises(InvalidInputError, match="y must be one target for loss='poisson', got 2"):
        regressor(loss="poisson").fit(X, np.column_stack([counts, counts]))


def test_weights_move_the_fit():
    """Two halves contradict each other; the heavier one is right."""
    labels = (X[:, 0] > 0) ^ (np.arange(600) >= 300)
    for first, second in ((20.0, 1.0), (1.0, 20.0)):
        weight = np.where(np.arange(600) < 300, first, second)
        chances = classifier().fit(X, labels, weight).predict_proba(X)
        assert np.mean((chances[:, 1] > 0.5) == (X[:, 0] > 0)) == pytest.approx(float(first > second), abs=0.05)
        np.testing.assert_allclose(classifier().fit(X, labels, 3 * weight).predict_proba(X), chances, atol=1e-12)


def test_an_eval_set_stops_all_members():
    model = classifier(n_estimators=500, early_stopping_rounds=10)
    model.fit(X[:300], Y[:300] > 0, eval_set=(X[300:], Y[300:] > 0))
    assert model.n_estimators_ < 500
    with pytest.raises(InvalidInputError, match="eval_set"):
        model.fit(X, Y > 0, eval_set=(X[:, :2], Y > 0))
    unseen = np.where(np.arange(600) == 3, "new", np.where(Y > 0, "a", "b"))
    with pytest.raises(InvalidInputError, match="eval_set y"):
        model.fit(X[10:], unseen[10:], eval_set=(X[:10], unseen[:10]))


def test_separable_classes_do_not_take_all_rounds():
    X = np.random.default_rng(0).normal(size=(150, 2))
    models = [FourierBoostingClassifier(random_state=0, kernel_ridge=False, early_stopping_rounds=patience).fit(
        X, np.digitize(X[:, 0], [-1, 1])) for patience in (100, "auto")]
    n_terms = [model.expansion_.n_terms for model in models]
    assert n_terms[1] < 0.5 * n_terms[0]


@pytest.mark.parametrize("target", [np.full(600, 7.0), np.zeros(600)], ids=["seven", "zero"])
@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile", "poisson"])
def test_a_constant_target_is_predicted(loss, target):
    np.testing.assert_allclose(regressor(loss=loss).fit(X, target).predict(X), target, atol=1e-5)


@pytest.mark.parametrize("columns", [None, "auto"])
@pytest.mark.parametrize("rows", [np.ones((40, 3)), np.zeros((2, 2)), X[:2], X[:3], X[:, :1]],
                         ids=["constant", "two equal rows", "two rows", "three rows", "one column"])
def test_small_and_dull_tables(rows, columns):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "columns that are not used")
        for model, target in ((classifier(columns=columns), np.arange(len(rows)) % 2),
                              (regressor(columns=columns), SIGNAL[: len(rows)])):
            model.fit(rows, target)
            assert np.isfinite(model.predict(rows)).all()
            assert np.isfinite(model.train_loss_).all()
            assert np.isfinite(model.eval_loss_).all()


def test_one_row_with_weight():
    model = regressor().fit(X[:2], [3.0, 5.0], [1.0, 0.0])
    np.testing.assert_allclose(model.predict(X), 3.0)


@pytest.mark.parametrize("y", [1e300 * np.sign(SIGNAL), 1e-300 * SIGNAL, np.where(np.arange(600) == 9, 1e150, 1.0)],
                         ids=["huge", "tiny", "one outlier"])
def test_targets_of_any_size(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor().fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.predict(X.astype(np.float32))).all()


def test_targets_in_an_object_array_are_those_of_numbers():
    """In statistics of many levels, too, which took each distinct target for a class."""
    words = [f"level {k}" for k in np.argsort(np.argsort(Y)) // 5]  # 120 levels
    frame = {"word": words, "x": X[:, 0]}
    expected = regressor().fit(frame, Y)
    for targets in (Y.astype(object), Y.astype(str).astype(object)):
        np.testing.assert_array_equal(regressor().fit(frame, targets).predict(frame), expected.predict(frame))


def test_targets_are_checked_before_columns_are_learned(monkeypatch):
    """Text that is no number took minutes to be refused, as labels of thousands of classes."""
    def learns(*_):
        raise AssertionError("columns are learned")

    monkeypatch.setattr("rffkern._column_map.column_map.ColumnMap._fit_rows", learns)
    frame = {"word": [f"level {k % 120}" for k in range(600)]}
    with pytest.raises(InvalidInputError, match="y must be numeric"):
        regressor().fit(frame, [f"${k},000" for k in range(600)])


@pytest.mark.slow
def test_wide_tables():
    rows = np.random.default_rng(0).standard_normal((60, 2000))
    assert regressor(n_estimators=10).fit(rows, rows[:, 5]).score(rows, rows[:, 5]) > 0


def test_a_row_so_far_out_that_no_line_is_found_is_named_with_advice_that_works():
    """Without a sample_weight the refusal is not of one alone."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.standard_normal((399, 4)), np.full((1, 4), 1e9)])
    y = np.sin(X[:, 0])
    model = FourierBoostingRegressor(5, columns=None, random_state=1)
    with pytest.warns(DataConversionWarning), pytest.raises(InvalidInputError, match="X and sample_"):
        model.fit(X, y)
    model.fit(X[:-1], y[:-1])
    with pytest.warns(DataConversionWarning):
        model.set_params(base_learners=("fourier", "tree")).fit(X, y)
