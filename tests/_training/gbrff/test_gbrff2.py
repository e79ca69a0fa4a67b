"""GBRFF2 against its plain twin, and on the inputs that broke the authors' code."""

import numpy as np
import pytest
import reference
from helpers.boosted import standardised, waves

from rffkern import GBRFF2Classifier
from rffkern._native.solvers import minimize


@pytest.mark.parametrize("reg_lambda", [0.0, 2**-5])
def test_follows_the_algorithm(rng, reg_lambda):
    """Every round in double precision is that of the twin, which shares only the minimiser.

    Each round of the twin continues from the model's learners: rounding errors then do not add up over rounds.
    """
    X, y = waves(rng)
    model = GBRFF2Classifier(25, reg_lambda=reg_lambda, precision="double", random_state=3).fit(X, y)
    draws = np.sqrt(2 / 4) * np.random.default_rng(3).standard_normal((25, 1, 4))[:, 0]
    parts = model.expansion_.fourier
    learners = list(zip(parts.omegas * X.std(axis=0), parts.phases, parts.amplitudes[:, 0], strict=True))

    def descend(function, start):
        return minimize(function, start, 10, loss_tolerance=2e-9, gradient_tolerance=1e-5, noise=1e-14,
                        first_length=1.0)[0]

    rounds = reference.replay_gbrff2(standardised(X), y, draws, reg_lambda, descend, learners)
    for t, (phase, omega, step, loss, given_loss, train_loss) in enumerate(rounds):
        assert np.cos(learners[t][1] - phase) == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(learners[t][0], omega, atol=1e-2)
        assert given_loss == pytest.approx(loss, rel=1e-6)
        assert learners[t][2] == pytest.approx(step, rel=1e-7)  # the guard against perfect learners is 2^-26
        assert model.train_loss_[t + 1] == pytest.approx(train_loss, rel=1e-9)
    assert t == 24


def test_single_precision_descends_as_far(rng):
    """First rounds start from the same omega and phase; L-BFGS must end equally low in both precisions."""
    X, y = waves(rng, 2000)
    for seed in range(10):
        single, double = (GBRFF2Classifier(1, reg_lambda=0, precision=precision, random_state=seed).fit(X, y)
                          for precision in ("single", "double"))
        assert abs(single.n_iter_ - double.n_iter_) <= 2
        assert single.train_loss_[1] == pytest.approx(double.train_loss_[1], rel=1e-3)


def test_draws_do_not_depend_on_the_number_of_rounds(rng):
    X, y = waves(rng)
    short, long = (GBRFF2Classifier(n, random_state=5).fit(X, y) for n in (5, 12))
    np.testing.assert_array_equal(short.expansion_.fourier.omegas, long.expansion_.fourier.omegas[:5])


def test_without_descent_the_drawn_omegas_are_kept(rng):
    X, y = waves(rng)
    model = GBRFF2Classifier(7, max_iter=0, standardize=False, gamma=0.5, random_state=4).fit(X, y)
    np.testing.assert_array_equal(model.expansion_.fourier.omegas,
                                  np.random.default_rng(4).standard_normal((7, 1, 4))[:, 0])
    assert model.n_iter_ == 0


@pytest.mark.parametrize("precision", ["single", "double"])
def test_one_class_is_separated_long_before_the_others(precision):
    """Residuals of that output are all 0 then, while the rounds go on for the others."""
    codes = np.arange(300) % 3
    X = np.where(codes == 0, 1.0, -1.0)[:, None]
    model = GBRFF2Classifier(60, reg_lambda=0, precision=precision, random_state=0).fit(X, codes)
    assert np.isfinite(model.train_loss_).all()
    assert (model.predict(X)[codes == 0] == 0).all()


def test_losses_stay_finite_where_one_row_has_all_the_weight():
    """An evaluation row of the wrong class, fitted ever more wrongly."""
    X = np.repeat([[-1.0], [1.0]], 50, axis=0)
    X_eval, weight = np.tile(X, (2000, 1)), np.full(200_000, 1e-12)
    y, y_eval = X[:, 0] > 0, X_eval[:, 0] > 0
    y_eval[0], weight[0] = True, 1.0
    model = GBRFF2Classifier(60, learning_rate=0.92, reg_lambda=0, early_stopping_rounds=None, random_state=0)
    model.fit(X, y, eval_set=(X_eval, y_eval, weight))
    assert np.isfinite(model.eval_loss_).all()
    assert model.eval_loss_.max() > 1e20


def test_one_against_the_rest_is_the_binary_fit_of_each_class(rng):
    X = rng.standard_normal((300, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = GBRFF2Classifier(5, random_state=0).fit(X, y)
    omegas = np.random.default_rng(0).standard_normal((5, 3, 2))
    for k in range(3):
        class Fixed(np.random.Generator):
            def standard_normal(self, size=None, k=k):
                return omegas[:, k : k + 1].reshape(size)

        alone = GBRFF2Classifier(5, random_state=Fixed(np.random.PCG64())).fit(X, np.where(y == k, 1, 0))
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-9)


def test_probabilities_are_those_of_the_exponential_loss(rng):
    X, y = waves(rng)
    model = GBRFF2Classifier(10, random_state=0).fit(X, y)
    H = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * H)), rtol=1e-10)


def test_a_perfect_learner_on_two_rows_gets_a_finite_step():
    for seed in range(200):
        X = np.random.RandomState(seed).randn(2, 2)
        model = GBRFF2Classifier(5, gamma=0.5, reg_lambda=0, standardize=False, random_state=seed).fit(X, [-1, 1])
        assert np.isfinite(model.expansion_.fourier.amplitudes).all()
        np.testing.assert_array_equal(model.predict(X), [-1, 1])


def test_thousands_of_rounds_on_two_rows():
    """Weights underflow long before: the rounds end when nothing is left to fit, and the answer stays right."""
    model = GBRFF2Classifier(3000, gamma=1.0, reg_lambda=0, random_state=0).fit([[0.0], [1.0]], [-1, 1])
    assert np.isfinite(model.expansion_.fourier.amplitudes).all()
    assert (np.isfinite(model.train_loss_) & (model.train_loss_ >= 0)).all()
    assert model.n_estimators_ < 1000
    assert model.train_loss_[-1] < 1e-30 <= model.train_loss_[-2]
    np.testing.assert_array_equal(model.predict([[0.0], [1.0]]), [-1, 1])


@pytest.mark.parametrize("precision", ["single", "double"])
def test_half_a_million_against_one(precision):
    """exp(-y exp(-y H)) overflows at this imbalance unless residuals are held."""
    X = np.zeros((504_001, 1))
    X[-1] = 3.0
    y = np.full(504_001, -1)
    y[-1] = 1
    model = GBRFF2Classifier(5, gamma=0.5, standardize=False, precision=precision, random_state=1).fit(X, y)
    assert np.isfinite(model.expansion_.fourier.amplitudes).all()
    assert (np.diff(model.train_loss_) <= 1e-6).all()
    assert model.decision_function([[3.0]])[0] > model.decision_function([[0.0]])[0]


@pytest.mark.parametrize("X", [np.ones((50, 3)), np.full((50, 1), 1e300), np.zeros((50, 2)), np.full((50, 2), -1e-300)])
def test_rows_that_are_all_equal_give_the_prior(X):
    y = np.where(np.arange(50) < 15, 1, 0)
    model = GBRFF2Classifier(20, random_state=0).fit(X, y)
    assert model.predict_proba(X)[0, 1] == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("unit", [1e6, 1e9])
def test_large_unscaled_columns_predict_in_training_as_in_scoring(rng, unit):
    """A million radians are noise to single precision; training then runs in double, and both agree on every row."""
    X, y = waves(rng)
    model = GBRFF2Classifier(20, standardize=False, gamma=0.25, random_state=0).fit(unit * X, y)
    assert model.train_loss_[-1] == pytest.approx(np.exp(-y * model.decision_function(unit * X)).mean(), rel=1e-3)


def test_more_columns_than_rows_duplicates_and_constants(rng):
    X = rng.standard_normal((12, 40))
    X[6:] = X[:6]
    X[:, 5] = 3
    y = np.tile([0, 1, 0, 1, 1, 0], 2)
    model = GBRFF2Classifier(20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert not model.expansion_.fourier.omegas[:, 5].any()


def test_contradicting_duplicates_give_even_odds():
    model = GBRFF2Classifier(20, random_state=0).fit([[1.0], [1.0], [2.0], [2.0]], [0, 1, 0, 1])
    np.testing.assert_allclose(model.predict_proba([[1.0], [2.0]]), 0.5, atol=1e-6)


@pytest.mark.parametrize(("name", "floor"), [("wine", 0.93), ("balance", 0.93), ("wdbc", 0.93), ("occupancy", 0.98)])
def test_real_data_untuned(real_data, name, floor):
    """Well below the paper's means (98.5, 97.7, 97.3, 98.9), far above the majority class."""
    X, y = real_data(name)
    order = np.random.default_rng(99).permutation(len(y))
    train, test = order[: int(0.7 * len(y))], order[int(0.7 * len(y)) :]
    assert GBRFF2Classifier(random_state=0).fit(X[train], y[train]).score(X[test], y[test]) > floor
