"""The omega objective against its NumPy twin and finite differences, and the descent."""

import numpy as np
import pytest
import reference
from helpers.landmark import omega_objective as objective
from helpers.packing import DTYPES, TOLERANCE, Problem, problems
from hypothesis import given

from rffkern._native import gbrff


def descend(problem, reg_lambda=0.0):
    rows, omega = problem.rows, problem.omega.copy()
    evaluations = gbrff.descend_omega(problem.search, rows.tiles, problem.margins.r, rows.weight, omega,
                                      problem.phase, reg_lambda, rows.total_weight, 1.0, rows.scaled, rows.lanes,
                                      rows.partial, rows.n_threads)
    return omega, evaluations


@given(problems())
def test_objective(problem):
    loss, gradient = objective(problem, problem.omega, 0.25)
    expected_loss, expected_gradient = reference.omega_objective(problem.X, problem.y_tilde, problem.weight,
                                                                 problem.omega, problem.phase, 0.25)
    # Rounding of the exponent is multiplied by the largest term of the mean, exp(largest residual).
    angle = problem.X @ problem.omega - problem.phase
    size = np.average(np.exp(-problem.y_tilde * np.cos(angle)) * (1 + np.abs(problem.y_tilde)), weights=problem.weight)
    tolerance = TOLERANCE[problem.rows.dtype.type] * (1 + size) * max(1.0, problem.margins.largest_residual)
    assert abs(loss - expected_loss) <= tolerance
    reach = np.abs(problem.X).max()
    np.testing.assert_allclose(gradient, expected_gradient, rtol=0, atol=tolerance * (1 + reach))


def test_small_residuals_keep_their_digits():
    """exp(-r c) - 1 for r = 1e-12 in single precision: computed as such, not as a difference from 1."""
    problem = Problem(5, 300, 4, np.float32, False)
    problem.margins.r *= np.float32(1e-12)
    loss, gradient = objective(problem, problem.omega, 0.0)
    expected = reference.omega_objective(problem.X, problem.y_tilde, problem.weight, problem.omega, problem.phase, 0.0)
    assert loss == pytest.approx(expected[0], rel=1e-5)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-4)


@given(problems(dtype=np.float64, spread=0.5))
def test_gradient_by_finite_differences(problem):
    _, gradient = objective(problem, problem.omega, 0.1)
    step = 1e-5
    for j in range(problem.rows.n_features):
        there, back = problem.omega.copy(), problem.omega.copy()
        there[j] += step
        back[j] -= step
        difference = (objective(problem, there, 0.1)[0] - objective(problem, back, 0.1)[0]) / (2 * step)
        assert gradient[j] == pytest.approx(difference, abs=1e-7)


@given(problems())
def test_descent_goes_down(problem):
    omega, evaluations = descend(problem, 0.01)
    start, end = objective(problem, problem.omega, 0.01)[0], objective(problem, omega, 0.01)[0]
    assert end <= start + 1e-5 * abs(start)
    assert 1 <= evaluations <= 1 + 20 * 10


@pytest.mark.parametrize("dtype", DTYPES)
def test_descent_is_blind_to_the_scale_of_residuals(dtype):
    """Residuals times 1e-6: the same path, for tolerances are relative (and the loss of small residuals linear)."""
    paths = []
    for scale in (1e-8, 1e-14):
        problem = Problem(6, 500, 5, dtype, False)
        problem.margins.r *= dtype(scale)
        paths.append(descend(problem))
    assert paths[0][1] > 8
    np.testing.assert_allclose(paths[0][0], paths[1][0], rtol=1e-3, atol=1e-3)


@given(problems(n_samples=4500))
def test_bits_do_not_depend_on_threads(problem):
    ends = []
    for n_threads in (1, 2, 3):
        problem.rows.use_threads(n_threads)
        ends.append(descend(problem)[0].tobytes())
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_levels_agree(level, dtype):
    problem = Problem(4, 2049, 18, dtype, True)
    loss, gradient = objective(problem, problem.omega, 0.1)
    expected = reference.omega_objective(problem.X, problem.y_tilde, problem.weight, problem.omega, problem.phase, 0.1)
    tolerance = 1e-5 if dtype is np.float32 else 1e-13
    assert loss == pytest.approx(expected[0], rel=tolerance)
    np.testing.assert_allclose(gradient, expected[1], rtol=0, atol=tolerance * np.abs(expected[1]).max())
