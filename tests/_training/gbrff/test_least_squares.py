"""GBRFF by least squares: its steps, its losses and its targets."""

import numpy as np
import pytest
from helpers.boosted import mean_score, standardised, waves

from rffkern import GBRFFRegressor, InvalidInputError


def test_one_cosine_of_least_squares_finds_the_lower_valley(rng):
    X, y = waves(rng)
    model = GBRFFRegressor(1, n_components=1, precision="double", max_iter=50, random_state=5).fit(X, y)
    theta = standardised(X) @ (model.expansion_.fourier.omegas[0] * X.std(axis=0))
    r = standardised(y[:, None].astype(float))[:, 0]
    grid = np.linspace(-np.pi, np.pi, 4001)
    losses = ((r[:, None] - np.cos(theta[:, None] - grid)) ** 2).mean(axis=0)
    assert np.cos(model.expansion_.fourier.phases[0] - grid[losses.argmin()]) == pytest.approx(1, abs=1e-5)


def test_train_loss_is_in_units_of_the_variance(rng):
    X, _ = waves(rng)
    target = 1e6 + 1e3 * (X[:, 0] + np.sin(X[:, 1]))
    model = GBRFFRegressor(30, random_state=0).fit(X, target)
    assert model.train_loss_[0] == pytest.approx(1)
    assert model.train_loss_[-1] == pytest.approx(1 - model.score(X, target), rel=1e-4)


def test_several_targets_in_any_unit(rng):
    X, _ = waves(rng, 800)
    targets = np.column_stack([np.sin(X[:, 0]), 1e8 + 1e3 * X[:, 1], 1e-100 * X[:, 2], np.full(800, 7.0)])
    model = GBRFFRegressor(100, random_state=0).fit(X[:600], targets[:600])
    predicted = model.predict(X)
    assert predicted.shape == (800, 4)
    for k in range(3):
        missed, spread = predicted[600:, k] - targets[600:, k], targets[600:, k].std()
        assert (missed / spread).std() < 0.3
    np.testing.assert_array_equal(predicted[:, 3], 7)
    assert 0.9 < model.score(X[600:], targets[600:]) < 1
    single = GBRFFRegressor(100, random_state=0).fit(X[:600], targets[:600, :1])
    assert single.predict(X).shape == (800,)
    stages = list(single.staged_predict(X[:5]))
    assert stages[0].shape == (5,)


@pytest.mark.parametrize("bad", [None, "words", [[1, 2]] * 3, np.full(200, np.nan), np.ones((200, 0)),
                                 np.ones((200, 2, 2)), np.ones(199)])
def test_bad_targets_are_named(rng, bad):
    X, _ = waves(rng, 200)
    with pytest.raises(InvalidInputError, match=r"^y "):
        GBRFFRegressor().fit(X, bad)


def test_targets_without_weight_decide_nothing(rng):
    X, y = waves(rng, 300)
    weight, spoiled = np.ones(300), y.astype(float)
    weight[:50], spoiled[:50] = 0, 1e300
    models = [GBRFFRegressor(5, random_state=0).fit(X, target, weight, eval_set=(X, target, weight))
              for target in (y, spoiled)]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_real_targets(real_data):
    assert mean_score(GBRFFRegressor, *real_data("energy"), 500, 2) > 0.93
