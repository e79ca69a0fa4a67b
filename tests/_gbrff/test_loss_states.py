"""States of the exponential and the squared loss, by hand and against plain formulas."""

import numpy as np
import pytest
from helpers.packing import DTYPES, Problem

from rffkern._data.weights import RowWeights
from rffkern._gbrff.loss_states import (
    CosineSum,
    Evaluation,
    ExactStepLossState,
    ExponentialLossState,
    SquaredLossState,
    exponential_step,
)

STATES = [ExponentialLossState, ExactStepLossState, SquaredLossState]


def test_closed_step_by_hand():
    """Weights 3 right against 1 wrong with h = +-1: alpha = 1/2 ln 3."""
    assert exponential_step(4.0, 2.0) == pytest.approx(0.5 * np.log(3))
    assert exponential_step(1.0, 0.0) == 0
    assert exponential_step(5.0, 5.0) == -exponential_step(5.0, -5.0) == pytest.approx(0.5 * np.log(2**27 + 1))
    assert exponential_step(1.0, 1.5) == exponential_step(1.0, 1.0)
    assert exponential_step(0.0, 0.0) == 0


def test_intercepts_by_hand():
    sign = np.array([1, 1, 1, -1], np.int8)
    assert ExponentialLossState.intercept(sign, RowWeights(4)) == pytest.approx(0.5 * np.log(3))
    weights = RowWeights(4, np.array([0.5, 0.5, 1.0, 2.0]))
    assert ExponentialLossState.intercept(sign, weights) == pytest.approx(0)
    assert SquaredLossState.intercept(sign, weights) == pytest.approx(0)
    assert SquaredLossState.intercept(sign, RowWeights(4)) == 0.5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_states_are_complete_at_construction(dtype, weighted):
    """Residuals and loss of the intercept, whatever the workspace held before."""
    problem = Problem(0, 300, 3, dtype, weighted)
    problem.work.h[:] = np.nan
    problem.work.partial[:] = np.nan
    state = ExponentialLossState(problem.rows, problem.y, 0.3, problem.work)
    losses = np.exp(-problem.y * 0.3)
    assert state.loss == pytest.approx(np.average(losses, weights=problem.weight), rel=1e-6)
    assert state.largest_residual == pytest.approx(losses.max(), rel=1e-6)
    np.testing.assert_allclose(problem.flat(state.r) * np.log(2), problem.y * losses, rtol=1e-6)
    np.testing.assert_array_equal(problem.flat(state.raw_prediction), 0.3)
    state = SquaredLossState(problem.rows, problem.raw_prediction, 0.3, problem.work)
    residual = problem.raw_prediction - 0.3
    assert state.loss == pytest.approx(np.average(residual**2, weights=problem.weight), rel=1e-6)
    np.testing.assert_allclose(problem.flat(state.r), residual, rtol=1e-6, atol=1e-6 if dtype is np.float32 else 0)
    np.testing.assert_array_equal(problem.flat(state.residual), residual)


@pytest.mark.parametrize("kind", STATES)
def test_states_of_one_workspace_do_not_mix(kind):
    """Outputs take turns in a workspace: each evaluates, steps and updates before the next."""
    alone, together = Problem(1, 500, 4, np.float64, True, n_components=3), Problem(
        1, 500, 4, np.float64, True, n_components=3)
    others = CosineSum(2 * together.omegas, together.phases, together.posterior)
    single = kind(alone.rows, alone.y, 0.1, alone.work)
    first, second = (kind(together.rows, sign * together.y, 0.1 * sign, together.work) for sign in (1, -1))
    for _ in range(3):
        for state, learner in ((single, alone.cosines), (first, together.cosines), (second, others)):
            evaluation = state.evaluate(learner)
            state.update(evaluation, state.step(evaluation))
    assert single.loss == first.loss != second.loss
    np.testing.assert_array_equal(single.r, first.r)


@pytest.mark.parametrize("kind", STATES)
def test_the_update_takes_the_values_that_it_is_handed(kind):
    """Not those that happen to be in the workspace."""
    problem = Problem(2, 300, 3, np.float64, False)
    state = kind(problem.rows, problem.y, 0.0, problem.work)
    h = np.linspace(-1, 1, state.r.size).reshape(state.r.shape)
    problem.work.h[:] = 7.0
    state.update(Evaluation(h, (0.0, 0.0)), 0.5)
    h = problem.flat(h)
    if kind is SquaredLossState:
        np.testing.assert_allclose(problem.flat(state.residual), problem.y - 0.5 * h, rtol=1e-12)
    else:
        np.testing.assert_allclose(problem.flat(state.raw_prediction), 0.5 * h, rtol=1e-12)


def test_least_squares_step_by_hand():
    state = SquaredLossState.__new__(SquaredLossState)
    assert state.step(Evaluation(np.empty(0), (3.0, 4.0))) == 0.75
    assert state.step(Evaluation(np.empty(0), (0.0, 0.0))) == 0


def test_exact_steps_have_a_slope_of_zero():
    problem = Problem(3, 2000, 3, np.float64, True)
    state = ExactStepLossState(problem.rows, problem.y, 0.1, problem.work)
    evaluation = state.evaluate(problem.cosine)
    step, h = state.step(evaluation), problem.flat(evaluation.h)
    slopes = problem.weight * problem.y * h * np.exp(-problem.y * (0.1 + step * h))
    assert abs(slopes.sum()) < 1e-5 * np.abs(slopes).sum()
