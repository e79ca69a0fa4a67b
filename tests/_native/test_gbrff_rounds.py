"""Evaluation of weak learners and the updates of boosting against their NumPy twins."""

import numpy as np
import pytest
import reference
from helpers.packing import DTYPES, TOLERANCE, Problem, problems
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import gbrff

many_cosines = problems(n_components=st.sampled_from([1, 2, 3, 4, 5, 9, 17, 130]))


@given(problems())
def test_weighted_products(problem):
    total, agreeing = problem.margins.apply(problem.cosine)
    expected = reference.agreement(problem.X, problem.y, problem.weight, problem.raw_prediction, problem.omega,
                                   problem.phase)
    tolerance = TOLERANCE[problem.rows.dtype.type]
    assert total == pytest.approx(expected[0], rel=tolerance)
    assert abs(agreeing - expected[1]) <= tolerance * total
    np.testing.assert_allclose(problem.flat(problem.rows.h), np.cos(problem.X @ problem.omega - problem.phase),
                               atol=tolerance)


@given(problems())
def test_boost(problem):
    problem.margins.apply(problem.cosine)
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
    assert np.isfinite(problem.margins.apply(problem.cosine)).all()


@given(many_cosines)
def test_weak_learners_of_several_cosines(problem):
    """Both losses evaluate the same learner, and answer with their own sums."""
    expected = reference.cosine_sum(problem.X, *problem.cosines)
    tolerance = TOLERANCE[problem.rows.dtype.type]
    n = problem.weight.sum()
    total, agreeing = problem.margins.apply(problem.cosines)
    np.testing.assert_allclose(problem.flat(problem.rows.h), expected, atol=tolerance)
    w = problem.weight * np.exp(-problem.y * problem.raw_prediction)
    assert total == pytest.approx(w.sum(), rel=tolerance)
    assert agreeing == pytest.approx(w @ (problem.y * expected), abs=tolerance * w.sum())
    product, square = problem.residuals.apply(problem.cosines)
    np.testing.assert_allclose(problem.flat(problem.rows.h), expected, atol=tolerance)
    size = 1 + np.abs(problem.raw_prediction).max()
    assert product == pytest.approx(problem.weight @ (problem.raw_prediction * expected), abs=tolerance * n * size)
    assert square == pytest.approx(problem.weight @ expected**2, abs=tolerance * n)


@given(many_cosines, st.floats(-2, 2))
def test_loss_along_a_step(problem, step):
    rows, margins = problem.rows, problem.margins
    margins.apply(problem.cosines)
    found = gbrff.loss_along_step(margins.raw_prediction, margins.y, rows.weight, rows.h, step, rows.partial,
                                  rows.n_threads)
    h = reference.cosine_sum(problem.X, *problem.cosines)
    expected = reference.loss_along_step(problem.y, problem.weight, problem.raw_prediction, h, step)
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * TOLERANCE[rows.dtype.type] * expected[0])


@given(many_cosines)
def test_shrinking_residuals(problem):
    problem.residuals.apply(problem.cosines)
    problem.residuals.boost(0.7)
    expected = problem.raw_prediction - 0.7 * reference.cosine_sum(problem.X, *problem.cosines)
    tolerance = TOLERANCE[problem.rows.dtype.type]
    np.testing.assert_allclose(problem.flat(problem.residuals.r), expected,
                               atol=tolerance * (1 + np.abs(expected).max()))
    assert problem.residuals.loss == pytest.approx(np.average(expected**2, weights=problem.weight), rel=20 * tolerance)


@given(problems(n_samples=4500))
def test_bits_do_not_depend_on_threads(problem):
    found = []
    for n_threads in (1, 2, 3):
        problem.rows.use_threads(n_threads)
        found.append((*problem.margins.apply(problem.cosine), *problem.residuals.apply(problem.cosine)))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_levels_agree(level, dtype):
    """Every instruction-set level gives what the twin gives."""
    problem = Problem(3, 2049, 17, dtype, True)
    total, agreeing = problem.margins.apply(problem.cosine)
    expected = reference.agreement(problem.X, problem.y, problem.weight, problem.raw_prediction, problem.omega,
                                   problem.phase)
    tolerance = 1e-6 if dtype is np.float32 else 1e-13
    assert (total, agreeing) == pytest.approx(expected, rel=0, abs=tolerance * expected[0])
