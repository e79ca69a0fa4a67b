"""Phase search, weak-learner evaluation and the boosting update against their NumPy twins."""

import numpy as np
import pytest
import reference
from helpers.packing import DTYPES, TOLERANCE, Problem, problems
from hypothesis import given

from rffkern._kernels import gbrff_phase


def search_phase(problem):
    rows, margins = problem.rows, problem.margins
    return gbrff_phase.search_phase(rows.store.tiles, margins.r, rows.weight, problem.omega, rows.total_weight,
                                  margins.largest_residual, rows.cosine, rows.sine, rows.scaled, rows.circle,
                                  rows.partial, rows.n_threads)


@given(problems())
def test_phase_is_the_global_minimum(problem):
    phase = search_phase(problem)
    assert -np.pi <= phase <= np.pi
    curve = lambda b: reference.phase_curve(problem.X, problem.y_tilde, problem.weight, problem.omega, np.array([b]))[0]
    best = curve(reference.best_phase(problem.X, problem.y_tilde, problem.weight, problem.omega))
    # What rounding does to the loss: an angle is known to eps, the exponent to eps times the largest residual.
    rounding = np.finfo(problem.rows.dtype).eps * problem.margins.largest_residual * problem.rows.n_features
    assert curve(phase) <= best + 10 * rounding * (1 + problem.margins.largest_residual * (best > 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_phase_by_hand(dtype):
    """One row of class +1 at angle theta: the loss exp(-r cos(theta - b)) is lowest at b = theta."""
    problem = Problem(0, 1, 1, dtype, False)
    problem.rows.store.tiles[0, 0, 0] = 1.25
    problem.margins.r[0, 0] = 0.75
    problem.margins.largest_residual = 0.75 * np.log(2)
    problem.omega[:] = 2.0
    assert search_phase(problem) == pytest.approx(2.5, abs=1e-6 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("largest", [1.0, 20.0, 64.0])
def test_two_deep_valleys_of_which_the_second_is_deeper(largest):
    """Two opposite heavy rows leave two valleys; a third, slightly heavier side decides between them."""
    problem = Problem(0, 3, 1, np.float64, False)
    angles, r = np.array([0.1, 0.1 + np.pi, 0.1 + np.pi / 2]), np.array([largest, largest, 0.01])
    problem.rows.store.tiles[0, 0, :3] = angles
    problem.margins.r[0, :3] = r / np.log(2)
    problem.margins.largest_residual = largest
    problem.omega[:] = 1.0
    found = search_phase(problem)
    assert found == pytest.approx(reference.best_phase(angles[:, None], r, np.ones(3), problem.omega), abs=1e-5)


@given(problems())
def test_agreement(problem):
    total, agreeing = problem.margins.agreement(problem.cosine)
    expected = reference.agreement(problem.X, problem.y, problem.weight, problem.raw_prediction, problem.omega,
                                   problem.phase)
    tolerance = TOLERANCE[problem.rows.dtype.type]
    assert total == pytest.approx(expected[0], rel=tolerance)
    assert abs(agreeing - expected[1]) <= tolerance * total
    np.testing.assert_allclose(problem.flat(problem.rows.h), np.cos(problem.X @ problem.omega - problem.phase),
                               atol=tolerance)


@given(problems())
def test_boost(problem):
    problem.margins.agreement(problem.cosine)
    h = problem.flat(problem.rows.h)
    problem.margins.boost(0.3)
    raw_prediction = problem.raw_prediction + 0.3 * h
    tolerance = TOLERANCE[problem.rows.dtype.type]
    np.testing.assert_allclose(problem.flat(problem.margins.raw_prediction), raw_prediction, rtol=0, atol=1e-14)
    np.testing.assert_allclose(problem.y_tilde, reference.residuals(raw_prediction, problem.y), rtol=tolerance)
    assert problem.margins.loss == pytest.approx(
        np.average(np.exp(-problem.y * raw_prediction), weights=problem.weight), rel=1e-6)
    assert problem.margins.largest_residual == pytest.approx(
        np.abs(reference.residuals(raw_prediction, problem.y)).max(),
        rel=1e-6 if problem.rows.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_extreme_margins_stay_finite(dtype):
    """Margins of 1e4 on both sides: exp would over- and underflow; residuals are held to [1e-30, 64]."""
    problem = Problem(0, 4, 1, dtype, False)
    problem.y[:] = [1, 1, -1, -1]
    problem.margins.y[0, :4] = problem.y
    problem.margins.raw_prediction[0, :4] = [1e4, -1e4, 1e4, -1e4]
    problem.margins.boost(0.0)
    np.testing.assert_allclose(problem.y_tilde, [0, 64, -64, 0], rtol=1e-6)
    assert np.isfinite(problem.margins.loss)
    assert np.isfinite(problem.margins.agreement(problem.cosine)).all()


@given(problems(n_samples=4500))
def test_bits_do_not_depend_on_threads(problem):
    answers = []
    for n_threads in (1, 2, 3):
        problem.use_threads(n_threads)
        answers.append((search_phase(problem), *problem.margins.agreement(problem.cosine)))
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_levels_agree(level, dtype):
    """Every instruction-set level gives what the twin gives."""
    problem = Problem(3, 2049, 17, dtype, True)
    total, agreeing = problem.margins.agreement(problem.cosine)
    expected = reference.agreement(problem.X, problem.y, problem.weight, problem.raw_prediction, problem.omega,
                                   problem.phase)
    tolerance = 1e-6 if dtype is np.float32 else 1e-13
    assert (total, agreeing) == pytest.approx(expected, rel=0, abs=tolerance * expected[0])
    best = reference.best_phase(problem.X, problem.y_tilde, problem.weight, problem.omega)
    assert search_phase(problem) == pytest.approx(best, abs=1e-4 if dtype is np.float32 else 1e-6)
