"""The choice of length scales and lambda."""

import numpy as np
import pytest
import reference

from rffkern._estimator.monitor import Steps
from rffkern._training.kernel_ridge.calibration import calibrated, every_class, log_losses
from rffkern._training.kernel_ridge.length_scales import (
    LAMBDAS,
    SMALL_LAMBDAS,
    Choice,
    ChoiceRows,
    best_lambda,
    choose,
    gradient_relevances,
    normalised,
)

CACHE = 1 << 24


def rows_of(n, noise=0.1, seed=0):
    """Rows of which the target depends on two columns of five."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 3] + noise * rng.standard_normal(n)
    return ChoiceRows(X, (y - y.mean())[None] / y.std(), np.ones(n), 1)


def equal(rows):
    return normalised(np.ones(5), rows.X, rows.weights)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["exponential", "gaussian"])
def test_losses_are_those_of_dense_regressions_on_folds(shape):
    rows = rows_of(200)
    found = best_lambda(rows, shape, Choice(np.full(5, 0.2), 2.0), (0.5,), CACHE, Steps("", 1))
    K = reference.kernel_of_shape(rows.X, rows.X, 1 / np.sqrt(0.4), shape=shape)
    y, folds, loss = rows.targets[0], np.arange(200) * 5 // 200, 0.0
    for fold in range(5):
        inside, outside = folds != fold, folds == fold
        a = np.linalg.solve(K[np.ix_(inside, inside)] + 0.5 * np.eye(inside.sum()), y[inside])
        loss += ((y[outside] - K[np.ix_(outside, inside)] @ a) ** 2).sum() / 200
    assert found.reg_lambda == 0.5
    assert found.loss == pytest.approx(loss, rel=1e-2)


def test_slopes_find_the_columns_that_matter():
    """And they are those of finite differences of the machine."""
    rows = rows_of(300)
    choice = Choice(np.full(5, 0.2), 1.0, 0.1)
    for shape in ("exponential", "gaussian"):
        found = gradient_relevances(rows, shape, choice)
        assert (found * rows.X.var(axis=0)).sum() == pytest.approx(1)
        assert found[0] > found[3] > 2 * max(found[[1, 2, 4]])
    K = reference.kernel_of_shape(rows.X, rows.X, np.sqrt(5))
    a = np.linalg.solve(K + 0.1 * np.eye(300), rows.targets[0])

    def predict(X):
        return reference.kernel_of_shape(X, rows.X, np.sqrt(5)) @ a

    steps = 1e-5 * np.eye(5)
    squares = np.array([(((predict(rows.X + h) - predict(rows.X - h)) / 2e-5) ** 2).mean() for h in steps])
    expected = 0.98 * squares / (squares * rows.X.var(axis=0)).sum() + 0.02 * equal(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_choice_is_near_the_best_of_a_grid():
    rows = rows_of(1200)
    found = choose(rows, "exponential", None, CACHE)
    grid = [Choice(equal(rows), scale) for scale in (0.1, 0.4, 1.6, 6.4)]
    assert found.loss <= min(best_lambda(rows, "exponential", each, LAMBDAS, CACHE, Steps("", 1)).loss for each in grid)
    assert found.reg_lambda in LAMBDAS + SMALL_LAMBDAS


def test_what_is_given_stays():
    rows = rows_of(300)
    relevances = np.full(5, 0.5)
    found = choose(rows, "exponential", None, CACHE, relevances, 1.0)
    assert (found.relevances is relevances, found.scale) == (True, 1.0)
    found = choose(rows, "exponential", 0.7, CACHE, relevances)
    np.testing.assert_allclose(found.relevances / found.relevances[0], 1)
    assert found.reg_lambda == 0.7


def test_targets_without_noise_get_a_small_lambda():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (800, 2))
    y = X[:, 0] + X[:, 1]
    rows = ChoiceRows(X, (y / y.std())[None], np.ones(800), 1)
    assert choose(rows, "gaussian", None, CACHE).reg_lambda < LAMBDAS[0]


def test_calibration_has_the_gradient_zero_of_its_objective():
    rng = np.random.default_rng(0)
    f = np.clip(rng.standard_normal(500), -1, 1)
    codes = (rng.random(500) < 1 / (1 + np.exp(-(3 * f + 0.5)))).astype(np.intp)
    weights = rng.uniform(0.5, 2, 500)
    slope, shifts = calibrated(f[None], codes, weights)
    p = 1 / (1 + np.exp(-(slope * f + shifts[0])))
    assert (weights * (p - codes) * f).sum() + slope - 2 == pytest.approx(0, abs=1e-3)
    assert (weights * (p - codes)).sum() + shifts[0] == pytest.approx(0, abs=1e-3)
    assert slope == pytest.approx(3, abs=0.5)


def test_calibration_of_several_classes_and_of_rows_that_are_all_right():
    codes = np.arange(90) % 3
    right = np.where(np.arange(3)[:, None] == codes, 1.0, -1.0)
    slope, shifts = calibrated(right, codes, np.ones(90))
    assert 2 < slope < 20
    assert len(shifts) == 3
    assert calibrated(-right, codes, np.ones(90))[0] == 0


def test_one_score_is_the_second_of_two_classes():
    score = np.array([[-2.0, 0.5, 800.0]])
    losses, slopes = log_losses(every_class(score), np.array([0, 1, 0]))
    slope = [1 / (1 + np.exp(2)), -1 / (1 + np.exp(0.5)), 1]
    np.testing.assert_allclose(losses, [np.log1p(np.exp(-2)), np.log1p(np.exp(-0.5)), 800])
    np.testing.assert_allclose(slopes, [[-s for s in slope], slope])
