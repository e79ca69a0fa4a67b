"""The minimiser, on functions whose minima are known."""

import numpy as np
import pytest

from rffkern._native.solvers import minimize


def rosenbrock(x):
    value = np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    gradient = np.zeros_like(x)
    gradient[1:] += 200 * (x[1:] - x[:-1] ** 2)
    gradient[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    return value, gradient


def quadratic(scales):
    return lambda x: (0.5 * np.sum(scales * (x - 1) ** 2), scales * (x - 1))


@pytest.mark.parametrize("n", [2, 5, 20])
def test_rosenbrock(n):
    x, n_iterations, n_evaluations = minimize(rosenbrock, np.tile([-1.2, 1.0], n)[:n], 500, gradient_tolerance=1e-12)
    np.testing.assert_allclose(x, 1, atol=1e-5)
    assert n_evaluations < 2 * n_iterations + 20


def test_quadratic_over_six_decades():
    x, _, _ = minimize(quadratic(np.logspace(-3, 3, 8)), np.zeros(8), 500, loss_tolerance=0, gradient_tolerance=1e-12)
    np.testing.assert_allclose(x, 1, atol=1e-6)


@pytest.mark.parametrize("factor", [2.0**-100, 2.0**100])
def test_a_factor_on_the_function_changes_no_bit(factor):
    """Powers of two are exact, so every relative decision must come out the same."""
    start = np.array([-1.2, 1.0, 0.3])
    plain = minimize(rosenbrock, start, 30)
    scaled = minimize(lambda x: tuple(factor * part for part in rosenbrock(x)), start, 30)
    np.testing.assert_array_equal(plain[0], scaled[0])
    assert plain[1:] == scaled[1:]


def test_no_iterations_and_no_gradient():
    start = np.array([0.5, 0.5])
    np.testing.assert_array_equal(minimize(rosenbrock, start, 0)[0], start)
    x, n_iterations, _ = minimize(rosenbrock, np.ones(2), 10)
    np.testing.assert_array_equal(x, 1)
    assert n_iterations == 0


@pytest.mark.parametrize("wall", [np.nan, np.inf])
def test_steps_back_from_where_the_function_is_not_finite(wall):
    def walled(x):
        return (wall, np.full_like(x, np.nan)) if x[0] > 0.9 else quadratic(np.array([1.0, 50.0]))(x)

    x, _, _ = minimize(walled, np.array([-3.0, 2.0]), 100, first_length=10.0)
    assert x[0] <= 0.9
    assert walled(x)[0] < walled(np.array([-3.0, 2.0]))[0] / 10


def test_a_function_that_is_nowhere_finite_ends_at_once():
    start = np.array([1.0, 2.0])
    x, n_iterations, n_evaluations = minimize(lambda x: (np.nan, x), start, 10)
    np.testing.assert_array_equal(x, start)
    assert (n_iterations, n_evaluations) == (0, 1)


def test_a_false_gradient_neither_hangs_nor_climbs():
    start = np.array([2.0, 2.0])
    x, _, n_evaluations = minimize(lambda x: (float(x @ x), -x), start, 10)
    assert x @ x <= (start @ start) * (1 + 1e-12)
    assert n_evaluations <= 21


@pytest.mark.parametrize(("function", "first_length", "trials"), [
    (lambda x: (x**3 - 3 * x, 3 * x**2 - 3), 3.0, [0, 3, 1]),  # a cubic in a bracket
    (lambda x: (x**3 - 3 * x, 3 * x**2 - 3), 1.5, [0, 1.5, 1]),
    (lambda x: ((x - 4) ** 2, 2 * (x - 4)), 1.0, [0, 1, 4]),  # a parabola beyond the first step
    (lambda x: ((x - 400) ** 2, 2 * (x - 400)), 1.0, [0, 1, 5]),  # five times as far at most
])
def test_interpolation_is_exact(function, first_length, trials):
    """Where the function is what a line search takes it for."""
    seen = []

    def watched(x):
        seen.append(x[0])
        loss, slope = function(x[0])
        return loss, np.array([slope])

    minimize(watched, np.zeros(1), 10, gradient_tolerance=1e-9, first_length=first_length)
    np.testing.assert_allclose(seen[: len(trials)], trials, rtol=1e-12)


def test_what_a_like_function_has_shown_saves_steps():
    """Steps of another search, on a function a hundredth as steep, tell curvatures along them."""
    scales, steps = np.logspace(-1, 2, 6), 0.1 * np.eye(6)
    pairs = np.array([[step, scales * step] for step in steps])
    known, _, n_known = minimize(quadratic(scales), np.zeros(6), 100, gradient_tolerance=1e-10, pairs=pairs)
    _, _, n_found = minimize(quadratic(scales), np.zeros(6), 100, gradient_tolerance=1e-10)
    np.testing.assert_allclose(known, 1, atol=1e-6)
    assert n_known < 5 < n_found
    like, _, n_like = minimize(quadratic(0.01 * scales), np.zeros(6), 100, gradient_tolerance=1e-10, pairs=pairs)
    np.testing.assert_allclose(like, 1, atol=1e-6)
    assert n_like < n_found


def test_pairs_without_positive_curvature_change_nothing():
    start = np.array([-1.2, 1.0, 0.3])
    pairs = np.array([[[1.0, 2.0, 3.0], [-1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    np.testing.assert_array_equal(minimize(rosenbrock, start, 30, pairs=pairs)[0], minimize(rosenbrock, start, 30)[0])


@pytest.mark.parametrize("shape", [(1, 3, 3), (2, 2, 2)])
def test_pairs_must_fit(shape):
    with pytest.raises(ValueError, match="pairs must have shape"):
        minimize(rosenbrock, np.zeros(3), pairs=np.zeros(shape))
