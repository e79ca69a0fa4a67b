"""Random Fourier features with a Mahalanobis distance in place of kernels, where gradients say so."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rffkern
from rffkern import Expansion, FourierBoostingClassifier, FourierBoostingRegressor
from rffkern._estimator import monitor
from rffkern._rows.scaling import Scaling
from rffkern._training.fourier_boosting import stacked_features
from rffkern._training.fourier_boosting.stacked_features import (
    FeatureMatrix,
    Mahalanobis,
    draw_omegas_by_amplitude,
    learn_by_gradients,
    regress,
    with_scale,
)
from rffkern._training.fourier_boosting.terms import fourier_terms
from rffkern._training.kernel_ridge.dense_regression import DenseRegression
from rffkern._training.kernel_ridge.length_scales import Choice, ChoiceRows, gradients

DIRECTION = np.array([1.0, -1.0, 1.0, 0.5, 0.0])


def rows(n, seed=0, noise=0.05, scale=2.0):
    """Rows whose targets depend on a sum of columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, np.sin(scale * X @ DIRECTION / 2) + noise * rng.standard_normal(n)


def squared_error(model, X, y):
    return float(np.mean((model.predict(X) - y) ** 2))


@pytest.fixture(scope="module")
def trained():
    return FourierBoostingRegressor(random_state=1, n_jobs=1).fit(*rows(600))


def test_a_function_of_a_sum_is_learned_on_random_features(trained):
    X, y = rows(2000, 1, noise=0.0)
    report = trained.kernel_ridge_report_
    assert report.kept
    assert "random Fourier features" in report.reason
    assert report.length_scale_factor is None
    assert report.loss_with < 0.5 * report.loss_without
    alone = FourierBoostingRegressor(random_state=1, n_jobs=1, kernel_ridge=False).fit(*rows(600))
    assert squared_error(trained, X, y) < 0.2 * squared_error(alone, X, y)
    assert trained.expansion_.kernels is None


def test_they_are_judged_by_rows_that_no_matrix_has_seen(trained):
    """Half of the rows, by which their weight and the intervals of the model are measured, too."""
    assert trained.kernel_ridge_report_.n_rows == 300
    X, y = rows(4000, 2)
    lower, upper = trained.predict_interval(X, 0.8).T
    assert 0.7 < np.mean((lower <= y) & (y <= upper)) < 0.92


def test_a_function_of_each_column_has_no_matrix():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = np.abs(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(400)
    model = FourierBoostingRegressor(random_state=1, n_jobs=1).fit(X, y)
    assert "random Fourier features" not in model.kernel_ridge_report_.reason


def test_two_classes_have_them_and_more_do_not():
    X, y = rows(1200, noise=0.0)
    model = FourierBoostingClassifier(random_state=1, n_jobs=1).fit(X, y > 0)
    assert "random Fourier features" in model.kernel_ridge_report_.reason
    three = FourierBoostingClassifier(random_state=1, n_jobs=1).fit(X, np.digitize(y, [-0.5, 0.5]))
    assert "random Fourier features" not in three.kernel_ridge_report_.reason


def test_files_explanations_and_stages_have_their_terms(trained, tmp_path):
    X, _ = rows(40, 3)
    path = tmp_path / "m.npz"
    rffkern.save(trained, path)
    again = rffkern.load(path)
    assert again.predict(X).tobytes() == trained.predict(X).tobytes()
    assert again.kernel_ridge_report_ == trained.kernel_ridge_report_
    explained = trained.explain(X)
    np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values, trained.predict(X), rtol=1e-6)
    stages = list(trained.staged_predict(X))
    assert len(stages) == trained.n_estimators_
    np.testing.assert_allclose(stages[-1], trained.predict(X), rtol=1e-9)
    assert (trained.term_rounds_ == 0).sum() == 1024  # there from the first round on


def test_bits_do_not_depend_on_threads(trained):
    two = FourierBoostingRegressor(random_state=1, n_jobs=2).fit(*rows(600))
    X, _ = rows(40, 3)
    assert two.predict(X).tobytes() == trained.predict(X).tobytes()


def test_several_targets_share_the_matrix():
    X, y = rows(600)
    both = np.column_stack([y, 2 * np.cos(X @ DIRECTION / 2) + 3])
    model = FourierBoostingRegressor(random_state=1, n_jobs=1).fit(X, both)
    assert "random Fourier features" in model.kernel_ridge_report_.reason
    alone = FourierBoostingRegressor(random_state=1, n_jobs=1, kernel_ridge=False).fit(X, both)
    X, _ = rows(500, 5)
    truth = np.column_stack([np.sin(X @ DIRECTION), 2 * np.cos(X @ DIRECTION / 2) + 3])
    errors, errors_alone = (((each.predict(X) - truth) ** 2).mean(axis=0) for each in (model, alone))
    assert (errors < 0.5 * errors_alone).all()


def test_an_evaluation_set_judges_them():
    X, y = rows(900)
    model = FourierBoostingRegressor(random_state=1, n_jobs=1).fit(X[:600], y[:600], eval_set=(X[600:], y[600:]))
    assert "random Fourier features" in model.kernel_ridge_report_.reason
    assert model.kernel_ridge_report_.n_rows == 300


def test_columns_of_an_order_are_not_read():
    X, y = rows(600)
    model = FourierBoostingRegressor(random_state=1, n_jobs=1, columns=None,
                                     monotone_constraints=[0, 0, 0, 0, 1]).fit(
        X, y + 0.1 * X[:, 4])
    assert "random Fourier features" in model.kernel_ridge_report_.reason
    fourier = model.expansion_.fourier
    assert not fourier.omegas[:, 4].any()
    assert fourier.omegas[:, :4].any()
    aside = X[:50].copy()
    aside[:, 4] += 1
    assert (model.predict(aside) >= model.predict(X[:50])).all()


def test_rows_of_groups_and_in_order_have_none():
    X, y = rows(600)
    for more in ({"groups": np.arange(600) // 3}, {}):
        model = FourierBoostingRegressor(random_state=1, n_jobs=1, validation="random" if more else "last").fit(
            X, y, **more)
        assert "random Fourier features" not in model.kernel_ridge_report_.reason


def test_a_trial_takes_fewer_rows_where_bags_took_little():
    assert stacked_features._rows_for(1e18, 10) == 600
    assert stacked_features._rows_for(1e8, 10) < 600
    assert stacked_features._rows_for(0.0, 10) == 1


def test_rows_of_hardly_any_weight_have_no_part():
    """Nor do they change what the others say."""
    X, y = rows(600)
    weight = np.where(np.arange(600) % 3 == 0, 1e-9, 1.0)
    y = np.where(weight < 1, 100.0, y)
    model = FourierBoostingRegressor(random_state=1, n_jobs=1).fit(X, y, sample_weight=weight)
    assert "random Fourier features" in model.kernel_ridge_report_.reason
    X, y = rows(500, 4, noise=0.0)
    assert squared_error(model, X, y) < 0.1


def test_constant_targets_have_no_matrix():
    """Of which all errors are 0: no regression is learned that cannot be better."""
    X, y = rows(700)
    model = FourierBoostingRegressor(random_state=1, n_jobs=1).fit(X, np.ones_like(y))
    assert model.kernel_ridge_report_.n_rows == 700


@pytest.mark.parametrize("last_step", [0, 1])
def test_time_that_ends_in_the_search_leaves_the_kernels(monkeypatch, last_step):
    """It ends the search at a step, and what has been learned before is not lost."""
    X, y = rows(600)
    works, now = [], [1000.0]
    monkeypatch.setattr(monitor, "_clock", lambda: now[0])

    def listen(work, done, total, note):
        works.append(work)
        now[0] += 1.0 if works.count("kernel ridge along directions") > last_step else 0.0

    model = FourierBoostingRegressor(random_state=1, n_jobs=1, max_seconds=0.5)
    with monitor.listening(listen):
        model.fit(X, y)
    assert works[-1] == "kernel ridge along directions"
    assert model.timed_out_
    assert model.expansion_.kernels is not None
    assert model.kernel_ridge_report_.kept
    monkeypatch.setattr(stacked_features, "_ROWS_PER_COLUMN", 1000)  # so that none is tried
    without = FourierBoostingRegressor(random_state=1, n_jobs=1).fit(X, y)
    assert model.predict(X).tobytes() == without.predict(X).tobytes()


def test_what_the_bags_know_is_not_learned_again():
    """The matrix is better than length scales here, but its regression tells the bags nothing."""
    rng = np.random.default_rng(6)
    X, rows_to_score = rng.standard_normal((1000, 5)), rng.standard_normal((5000, 5))

    def values(X):
        return np.abs(X[:, 0]) + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 0]

    middle = np.median(values(X))

    model, alone = (FourierBoostingClassifier(random_state=1, n_jobs=1, kernel_ridge=each).fit(X, values(X) > middle)
                    for each in ("auto", False))
    assert "random Fourier features" not in model.kernel_ridge_report_.reason
    labels = (values(rows_to_score) > middle).astype(int)
    losses = [-each.predict_log_proba(rows_to_score)[np.arange(5000), labels].mean()
              for each in (model, alone)]
    assert losses[0] <= losses[1]


# --- the regression on random Fourier features, and the matrix of their distance


def kernel(X, Z, omegas):
    """The mean of the cosines, in NumPy."""
    return np.cos((X[:, None] - Z) @ omegas.T).mean(axis=2)


def rows_of(n, d, direction, noise=0.05, n_outputs=1, seed=0):
    """Rows whose targets depend on one direction alone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(X @ direction + np.arange(n_outputs)[:, None]) + noise * rng.standard_normal((n_outputs, n))
    return ChoiceRows(X, y - y.mean(axis=1, keepdims=True), np.ones(n), 1)


@given(st.integers(1, 300), st.integers(1, 5), st.integers(1, 70), st.integers(0, 2**32))
def test_the_matrix_is_that_of_mean_cosines(n_rows, n_features, n_omegas, seed):
    rng = np.random.default_rng(seed)
    X, omegas = rng.standard_normal((n_rows, n_features)), rng.standard_normal((n_omegas, n_features))
    matrix, K = FeatureMatrix(X, omegas, 1), kernel(X, X, omegas)
    vectors = rng.standard_normal((2, n_rows))
    products = matrix.multiply(matrix.padded(vectors))
    np.testing.assert_allclose(products[:, :n_rows], vectors @ K, atol=1e-4 * np.abs(vectors).sum())
    assert not products[:, n_rows:].any()
    some = rng.integers(n_rows, size=3)
    columns = matrix.columns(some).reshape(3, -1)
    np.testing.assert_allclose(columns[:, :n_rows], K[some], atol=1e-4)
    assert not columns[:, n_rows:].any()


def test_rows_far_out_are_in_double_precision():
    """Single precision would not tell their angles."""
    X = np.array([[0.0], [1e6], [1e6 + 0.5]])
    matrix = FeatureMatrix(X, np.array([[1.0], [3.0]]), 1)
    columns = matrix.columns(np.arange(3)).reshape(3, -1)[:, :3]
    assert columns.dtype == np.float64
    np.testing.assert_allclose(columns, kernel(X, X, np.array([[1.0], [3.0]])), atol=1e-8)


@pytest.mark.parametrize("shape", ["gaussian", "exponential"])
def test_gradients_are_those_of_finite_differences(shape):
    rows = rows_of(60, 3, np.array([1.0, -1.0, 0.5]), n_outputs=2)
    choice = Choice(np.array([0.2, 0.3, 0.1]), 1.5, 0.1)
    regression = DenseRegression(rows, shape)
    assert regression.fit(choice)
    found = np.array(list(gradients(rows, shape, choice)))
    h = 1e-4
    if shape == "exponential":  # whose kink at each row has no slope, but on either side
        away = rows.X[:, None] - rows.X
        r = np.sqrt(((away * choice.inverse) ** 2).sum(axis=2))
        slopes = -np.exp(-r) / np.where(r > 0, r, np.inf)
        expected = np.einsum("oj,ij,ijk->oik", regression.coefficients, slopes, away) * choice.inverse**2
        np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3)
        return
    for j, step in enumerate(h * np.eye(3)):
        differences = regression.predict(rows.X + step) - regression.predict(rows.X - step)
        np.testing.assert_allclose(found[:, :, j], differences / (2 * h), rtol=1e-2, atol=1e-3)


def test_the_matrix_finds_the_direction():
    direction = np.array([1.0, 1.0, -1.0, 0.0, 0.5, 0.0])
    rows = rows_of(400, 6, direction)
    start = with_scale(rows, Mahalanobis(np.eye(6) / np.sqrt(6), 0.1))
    found = learn_by_gradients(rows, start)
    assert found.loss < 0.2 * start.loss
    values, vectors = np.linalg.eigh(found.matrix)
    assert abs(vectors[:, -1] @ direction) > 0.999 * np.linalg.norm(direction)
    assert values[-1] > 10 * values[-2]
    np.testing.assert_allclose(found.root @ found.root.T, found.matrix)


def test_a_function_of_each_column_keeps_the_loss():
    """Where gradients are along columns nothing is lost: a search ends with the lowest error so far."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3))
    y = np.abs(X[:, 0]) + np.sin(3 * X[:, 1])
    rows = ChoiceRows(X, (y - y.mean())[None], np.ones(200), 1)
    start = with_scale(rows, Mahalanobis(np.diag([1.0, 2.0, 0.1]), 0.1))
    assert learn_by_gradients(rows, start).loss <= start.loss


def test_gradients_of_constant_targets_say_nothing():
    rows = rows_of(50, 3, np.ones(3))._replace(targets=np.zeros((1, 50)))
    start = Mahalanobis(np.eye(3), 0.1, 1.0)
    assert learn_by_gradients(rows, start) is start


def fitted(distance, rows):
    regression = distance.regression(rows)
    assert regression.fit(distance.choice)
    return regression


def test_omegas_are_drawn_by_their_amplitudes():
    """Each is one of the normal candidates, and more are where the function has its amplitudes."""
    rows = rows_of(300, 2, np.array([3.0, 0.0]))
    found = with_scale(rows, Mahalanobis(np.eye(2), 0.01))
    omegas = draw_omegas_by_amplitude(rows.X, fitted(found, rows), found, 500, np.random.default_rng(1))
    candidates = np.random.default_rng(1).standard_normal((8192, 2)) @ found.root.T
    assert omegas.shape == (500, 2)
    assert len(np.unique(omegas, axis=0)) == 500
    assert all(np.isclose(candidates, omega).all(axis=1).any() for omega in omegas[:20])
    near = [(np.abs(np.abs(each) - [3.0, 0.0]) < 0.7).all(axis=1).mean() for each in (omegas, candidates)]  # of sin 3 x
    assert near[0] > 1.5 * near[1]


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_regressions_without_folds_are_those_of_dense_systems(n_outputs):
    n = 150
    rows = rows_of(n, 3, np.array([1.0, 1.0, 0.0]), n_outputs=n_outputs)
    weights = np.random.default_rng(2).uniform(0.5, 2, n)
    rows = rows._replace(folds=np.arange(n) % 4 - 1, weights=weights)  # a quarter of the rows is in no fold
    omegas = np.random.default_rng(3).standard_normal((40, 3))
    found = regress(rows, omegas, 0.3, np.arange(50), 1e-9, 300)
    K = kernel(rows.X, rows.X, omegas)

    def predictions(learned, of):
        A = K[np.ix_(learned, learned)] + np.diag(0.3 / weights[learned])
        return np.linalg.solve(A, rows.targets[:, learned].T).T @ K[np.ix_(learned, of)]

    for fold in range(-1, 3):
        of = np.flatnonzero(rows.folds == fold)
        learned = np.flatnonzero(rows.folds != fold) if fold >= 0 else np.arange(n)
        np.testing.assert_allclose(found.out_of_fold[:, of], predictions(learned, of), atol=2e-4)
    scaling = Scaling(np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.0, 1.0]), 1.0, np.ones(3))
    factors = np.arange(1.0, 1.0 + n_outputs)
    terms = fourier_terms(found.omegas * scaling.inverse_scale, found.amplitudes, factors)
    function = Expansion(np.zeros(n_outputs), scaling.center, terms)
    expected = factors[:, None] * predictions(np.arange(n), np.arange(n))
    np.testing.assert_allclose(function.score(scaling.raw(rows.X)).T, expected, atol=2e-4)


def peak_of(function):
    """Bytes that a call takes at its peak."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_draws_and_columns():
    """Far less than that of the features of all candidates, or of columns in double precision."""
    rows = rows_of(1000, 4, np.ones(4))
    found = with_scale(rows, Mahalanobis(np.eye(4), 0.1))
    peak = peak_of(lambda: draw_omegas_by_amplitude(rows.X, fitted(found, rows), found, 1024,
                                                    np.random.default_rng(1)))
    assert peak < 0.5 * 8192 * 2 * 1000 * 4
    X, omegas = np.random.default_rng(0).standard_normal((4000, 2)), np.ones((16, 2))
    matrix = FeatureMatrix(X, omegas, 1)
    assert peak_of(lambda: matrix.columns(np.arange(512))) < 1.4 * 512 * 4096 * 4


def test_bits_of_a_regression_do_not_depend_on_threads():
    rows = rows_of(700, 4, np.ones(4))._replace(folds=np.arange(700) % 3 - 1)
    omegas = np.random.default_rng(3).standard_normal((100, 4))
    one, two = (regress(rows._replace(n_threads=n), omegas, 0.1, np.arange(200), 1e-3, 50) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert a.tobytes() == b.tobytes()
