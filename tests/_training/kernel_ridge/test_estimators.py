"""Kernel machines on all rows: models, files, and real data."""

import io

import numpy as np
import pytest
import reference
from helpers.sparse_rows import waves

from rffkern import (
    ColumnMap,
    InvalidInputError,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    RowBlocks,
    dumps,
    load,
    loads,
    save,
)

pytestmark = pytest.mark.slow

GIVEN = {"length_scale": [1.0, 2.0, 3.0], "reg_lambda": 0.3}


@pytest.mark.parametrize("kernel", ["exponential", "gaussian"])
def test_regression_is_the_dense_solution(rng, kernel):
    X, y = waves(rng, 300)
    weights = rng.uniform(0, 2, 300)
    weights[:20] = 0
    model = KernelRidgeRegressor(kernel, **GIVEN, tol=1e-10, precision="double", standardize=False).fit(X, y, weights)
    used = weights > 0
    mean = np.average(y, weights=weights)
    K = reference.kernel_of_shape(X, X[used], GIVEN["length_scale"], shape=kernel)
    expected = mean + K @ np.linalg.solve(K[used] + 0.3 * np.diag(1 / weights[used]), y[used] - mean)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)
    assert model.expansion_.n_terms == used.sum()
    assert model.residual_ <= 1e-10


@pytest.mark.parametrize(("params", "remedy"), [({"reg_lambda": 1e-12}, "a larger reg_lambda"),
                                                ({"reg_lambda": 1e-6, "max_iter": 1}, "a larger max_iter")])
def test_systems_that_are_not_solved_are_said(rng, params, remedy):
    X, y = waves(rng, 150)
    with pytest.warns(RuntimeWarning, match=f"is not solved.*take {remedy}") as caught:
        model = KernelRidgeRegressor("gaussian", length_scale=1.0, precision="double", **params).fit(X, y)
    assert caught[0].filename == __file__
    assert model.residual_ > model.tol


def test_a_weight_of_two_is_a_row_twice(rng):
    X, y = waves(rng, 200)
    weights = 1 + np.arange(200) % 2
    given = GIVEN | {"tol": 1e-10, "precision": "double", "standardize": False}
    one = KernelRidgeRegressor(**given).fit(X, y, weights)
    two = KernelRidgeRegressor(**given).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(one.predict(X), two.predict(X), atol=1e-7)


def test_several_targets_are_those_of_each_alone(rng):
    X, y = waves(rng, 200)
    both = np.column_stack([y, -3 * y + X[:, 0]])
    given = GIVEN | {"tol": 1e-9, "precision": "double"}
    together = KernelRidgeRegressor(**given, random_state=0).fit(X, both).predict(X)
    for k in range(2):
        alone = KernelRidgeRegressor(**given, random_state=0).fit(X, both[:, k]).predict(X)
        np.testing.assert_allclose(together[:, k], alone, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_fit_rows_that_are_left_out(n_classes):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (8800, 2))
    y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(8800), np.linspace(-0.5, 0.5, n_classes - 1))
    model = KernelRidgeClassifier(random_state=0).fit(X[:800], y[:800])
    proba = model.predict_proba(X[800:])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    for k in range(n_classes):
        sure = proba[:, k] > 0.7
        if sure.sum() > 300:
            assert (y[800:][sure] == k).mean() == pytest.approx(proba[sure, k].mean(), abs=0.07)
    shares = np.bincount(y[800:], minlength=n_classes) / 8000
    np.testing.assert_allclose(proba.mean(axis=0), shares, atol=0.05)


@pytest.mark.slow
def test_blocks_give_the_bits_of_arrays(rng):
    X, y = waves(rng, 300)
    blocks = RowBlocks([X[:100], X[100:250], X[250:]])
    one, other = (KernelRidgeClassifier(random_state=0).fit(rows, y > 0) for rows in (X, blocks))
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("cls", [KernelRidgeClassifier, KernelRidgeRegressor])
def test_files_keep_what_is_known_of_the_kernel(rng, cls):
    X, y = waves(rng, 200)
    y = y > 0 if cls is KernelRidgeClassifier else y
    for given in ({}, {"length_scale": (1.0, 2.0, 3.0), "kernel": "gaussian"}, {"length_scale": np.ones(3)}):
        model = cls(**given, random_state=0).fit(X, y)
        file = io.BytesIO()
        save(model, file)
        file.seek(0)
        loaded = load(file)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_array_equal(loaded.length_scale_, model.length_scale_)
        assert loaded.reg_lambda_ == model.reg_lambda_
        assert loaded.expansion_.kernels.shape == given.get("kernel", "exponential")


@pytest.mark.slow
def test_importances_name_the_columns_that_matter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    y = np.sin(3 * X[:, 2]) + 0.1 * rng.standard_normal(400)
    model = KernelRidgeRegressor(random_state=0).fit(X, y)
    assert model.feature_importances_.argmax() == 2
    assert model.feature_importances_[2] > 0.8
    assert model.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("kernel", ["exponential", "gaussian"])
def test_each_region_is_the_dense_solution_of_what_it_learns_from(rng, kernel):
    X, y = waves(rng, 600)
    weights = rng.uniform(0.5, 2, 600)
    weights[:50] = 0
    model = KernelRidgeRegressor(kernel, **GIVEN, region_size=100, tol=1e-10, precision="double",
                                   standardize=False).fit(X, y, weights)
    kernels, mean = model.expansion_.kernels, np.average(y, weights=weights)
    assert kernels.n_regions == 8
    places = {tuple(row): i for i, row in enumerate(X)}
    new, _ = waves(rng, 300)
    regions = kernels.regions.of_rows(new)
    assert (np.bincount(regions, minlength=8) > 10).all()
    for region in range(8):
        start, stop = kernels.region_starts[region : region + 2].astype(int)
        learned = [places[tuple(row)] for row in kernels.centers[start:stop]]
        assert (weights[learned] > 0).all()
        here = new[regions == region]
        rows = np.concatenate([X[learned], here])
        K = reference.kernel_of_shape(rows, X[learned], GIVEN["length_scale"], shape=kernel)
        n = len(learned)
        expected = mean + K[n:] @ np.linalg.solve(K[:n] + 0.3 * np.diag(1 / weights[learned]), y[learned] - mean)
        np.testing.assert_allclose(model.predict(here), expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_regions_of_classes(rng, n_classes):
    X = rng.uniform(-1, 1, (4000, 2))
    y = np.digitize(X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(4000), [0, 0.2][: n_classes - 1])
    given = {"region_size": 150, "random_state": 0}
    model = KernelRidgeClassifier(**given, n_jobs=1).fit(X[:750], y[:750])
    assert model.expansion_.kernels.n_regions == 8
    for same in (KernelRidgeClassifier(**given, n_jobs=3).fit(X[:750], y[:750]),
                 KernelRidgeClassifier(**given).fit(RowBlocks([X[:350], X[350:750]]), y[:750]),
                 loads(dumps(model))):
        np.testing.assert_array_equal(same.decision_function(X), model.decision_function(X))
    whole = KernelRidgeClassifier(region_size=None, random_state=0).fit(X[:750], y[:750])
    assert whole.expansion_.kernels.n_regions == 1
    assert abs(model.score(X[750:], y[750:]) - whole.score(X[750:], y[750:])) < 0.02
    losses = [-each.predict_log_proba(X[750:])[np.arange(3250), y[750:]].mean() for each in (model, whole)]
    assert losses[0] < 1.15 * losses[1]


def test_rows_with_ties_are_scored_where_they_were_learned(rng):
    X = rng.integers(0, 5, (600, 3)).astype(float)
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    model, whole = (KernelRidgeRegressor(region_size=size, length_scale=[0.6, 1.0, 1.0], reg_lambda=1e-3,
                                           random_state=0).fit(X, y) for size in (200, None))
    assert model.expansion_.kernels.n_regions == 4
    assert model.score(X, y) > 0.999
    np.testing.assert_allclose(model.predict(X), model.predict(X.astype(np.float32)), atol=1e-3)
    assert whole.score(X, y) > 0.999


def test_large_regions_learn_from_all_their_rows(monkeypatch, rng):
    monkeypatch.setattr("rffkern._training.kernel_ridge.fit.MOST_ROWS", 100)
    X, y = waves(rng, 1000)
    model = KernelRidgeRegressor(**GIVEN, region_size=500).fit(X, y)
    assert np.diff(model.expansion_.kernels.region_starts).min() >= 500
    weights = np.arange(1000) < 700.0  # of which 700 count, no more than a region has
    assert KernelRidgeRegressor(**GIVEN, region_size=700).fit(X, y, weights).expansion_.n_terms == 700


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-150, 1e39, 1e150])
def test_regions_of_columns_of_any_size(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    given = {"standardize": False, "random_state": 0, "region_size": 50}
    found = [KernelRidgeRegressor(**given).fit(rows, X[:, 0]).predict(rows) for rows in (X, X * scale)]
    np.testing.assert_allclose(*found, atol=0.05)


def test_many_rows_are_divided(monkeypatch, rng):
    X, y = waves(rng, 700)
    assert KernelRidgeRegressor(**GIVEN).fit(X, y).expansion_.kernels.n_regions == 1
    monkeypatch.setattr("rffkern._training.kernel_ridge.fit.MOST_ROWS", 600)
    monkeypatch.setattr("rffkern._training.kernel_ridge.fit.LARGEST_REGION", 200)
    assert KernelRidgeRegressor(**GIVEN).fit(X, y).expansion_.kernels.n_regions == 4
    assert KernelRidgeRegressor(**GIVEN, region_size=None).fit(X, y).expansion_.kernels.n_regions == 1
    same = np.tile(X[:1], (700, 1))  # which no threshold divides: 600 of them are learned from
    model = KernelRidgeRegressor(**GIVEN, random_state=0).fit(same, y)
    np.testing.assert_allclose(model.predict(X[:1]), y.mean(), atol=0.1)


@pytest.mark.slow
def test_tables_with_words_and_gaps():
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c"], 400)
    x = np.where(rng.random(400) < 0.1, np.nan, rng.standard_normal(400))
    y = (words == "a") | (np.nan_to_num(x) > 1)
    table = {"word": words, "number": x}
    for columns in (ColumnMap(("standard", "rank")), "auto"):
        model = KernelRidgeClassifier(columns=columns, random_state=0).fit(table, y)
        assert model.score(table, y) > 0.95
        assert model.feature_importances_.shape == (2,)


def test_bad_parameters_are_refused():
    X, y = np.eye(4), np.arange(4.0)
    for given, message in [
        ({"length_scale": [1.0, 2.0]}, "length_scale must be 'auto', a number or 4 numbers"),
        ({"length_scale": -1.0}, "length_scale must be a finite number"),
        ({"length_scale": "wide"}, "length_scale must be 'auto'"),
        ({"length_scale": [[1.0] * 4]}, "length_scale must be 'auto'"),
        ({"region_size": 9}, 'region_size must be'),
        ({"region_size": "many"}, 'region_size must be'),
        ({"kernel": "cubic"}, "kernel must be one of 'exponential', 'gaussian', got 'cubic'"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            KernelRidgeRegressor(**given).fit(X, y)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_probabilities_do_not_depend_on_the_unit_of_weights(rng, unit):
    """The calibration has a prior; lambda, where it is not given, is chosen beside the weights."""
    X, _ = waves(rng, 200)
    y, weights = X[:, 0] + rng.standard_normal(200) > 0, rng.uniform(0.5, 2, 200)
    given = {"length_scale": 2.0, "random_state": 0}
    for each in (weights, np.ones(200)):
        expected = KernelRidgeClassifier(**given).fit(X, y, each).predict_proba(X)
        np.testing.assert_allclose(KernelRidgeClassifier(**given).fit(X, y, unit * each).predict_proba(X), expected,
                                   atol=1e-5)


def test_one_inverse_serves_many_outputs(rng, monkeypatch):
    """Its scores are those of conjugate gradients."""
    X = rng.normal(size=(96, 3))
    y, weights = np.arange(96) % 12, rng.uniform(0.5, 2, 96)
    X += y[:, None] / 4
    dense = KernelRidgeClassifier(**GIVEN, random_state=0).fit(X, y, weights)
    monkeypatch.setattr("rffkern._training.kernel_ridge.fit._FEW_DENSE", 95)
    monkeypatch.setattr("rffkern._training.kernel_ridge.fit._MOST_DENSE", 95)
    iterated = KernelRidgeClassifier(**GIVEN, tol=1e-8, random_state=0).fit(X, y, weights)
    assert dense.n_iter_ == 1 < iterated.n_iter_
    np.testing.assert_allclose(dense.decision_function(X), iterated.decision_function(X), atol=1e-4)


def test_progress_is_told(rng, capsys):
    X, y = waves(rng, 300)
    KernelRidgeRegressor(random_state=0, verbose=1).fit(X, y)
    assert "nan" not in capsys.readouterr().err


def test_real_data(real_data):
    """Ahead of a support vector machine with its default parameters, which is not searched here either."""
    X, y = real_data("phoneme")
    order = np.random.default_rng(1).permutation(len(y))[:3000]
    train, test = order[:2000], order[2000:]
    model = KernelRidgeClassifier(random_state=0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.86
    proba = model.predict_proba(X[test])
    log_loss = -np.log(proba[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]).mean()
    assert log_loss < 0.33
