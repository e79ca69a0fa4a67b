"""Random Fourier features with a Mahalanobis distance in place of kernels, where gradients say so."""

import numpy as np
import pytest

import rffkern
from rffkern import FourierBoostingClassifier, FourierBoostingRegressor
from rffkern._estimator import monitor
from rffkern._training.fourier_boosting import stacked_features

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
