"""Rows under the exponential and the squared loss, by hand and against plain formulas."""

import numpy as np
import pytest
import reference
from helpers.boosted import PackedProblem
from helpers.packing import DTYPES

from rffkern import RowBlocks
from rffkern._rows import row_blocks
from rffkern._rows.scaling import no_scaling
from rffkern._rows.weights import RowWeights
from rffkern._training.gbrff import packed_rows
from rffkern._training.gbrff.losses import ExactStepRows, ExponentialRows, SquaredRows, exponential_step
from rffkern._training.gbrff.packed_rows import Sample, pack_rows
from rffkern._training.gbrff.weak_learners import WeakLearner

STATES = [ExponentialRows, ExactStepRows, SquaredRows]


def test_steps_by_hand():
    """Weights 3 right against 1 wrong with h = +-1: alpha = 1/2 ln 3."""
    assert SquaredRows.step_from((3.0, 4.0), None) == 0.75
    assert SquaredRows.step_from((0.0, 0.0), None) == 0
    assert exponential_step(4.0, 2.0) == pytest.approx(0.5 * np.log(3))
    assert exponential_step(1.0, 0.0) == 0
    assert exponential_step(5.0, 5.0) == -exponential_step(5.0, -5.0) == pytest.approx(0.5 * np.log(2**27 + 1))
    assert exponential_step(1.0, 1.5) == exponential_step(1.0, 1.0)
    assert exponential_step(0.0, 0.0) == 0


def residuals(state):
    """Those of all rows."""
    return state.residuals_in(slice(0, state.rows.n_tiles))


def intercept_of(loss, target, weights):
    return loss.intercept(loss.target_sums(target, weights))


def test_intercepts_by_hand():
    sign = np.array([1, 1, 1, -1], np.int8)
    assert intercept_of(ExponentialRows, sign, RowWeights(4)) == pytest.approx(0.5 * np.log(3))
    weights = RowWeights(4, np.array([0.5, 0.5, 1.0, 2.0]))
    assert intercept_of(ExponentialRows, sign, weights) == pytest.approx(0)
    assert intercept_of(SquaredRows, sign, weights) == pytest.approx(0)
    assert intercept_of(SquaredRows, sign, RowWeights(4)) == 0.5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_states_are_complete_at_construction(dtype, weighted):
    """Residuals and loss of the intercept, whatever the workspace held before."""
    problem = PackedProblem(0, 300, 3, dtype, weighted)
    problem.rows.h[:] = np.nan
    problem.rows.partial[:] = np.nan
    state = ExponentialRows(problem.rows, problem.y, 0.3)
    losses = np.exp(-problem.y * 0.3)
    assert state.loss == pytest.approx(np.average(losses, weights=problem.weight), rel=1e-6)
    assert state.largest_residual == pytest.approx(losses.max(), rel=1e-6)
    np.testing.assert_allclose(problem.flat(residuals(state)) * np.log(2), problem.y * losses, rtol=1e-6)
    np.testing.assert_array_equal(problem.flat(state.scores), 0.3)
    state = SquaredRows(problem.rows, problem.raw_prediction, 0.3)
    residual = problem.raw_prediction - 0.3
    assert state.loss == pytest.approx(np.average(residual**2, weights=problem.weight), rel=1e-6)
    np.testing.assert_allclose(problem.flat(residuals(state)), residual, rtol=1e-6,
                               atol=1e-6 if dtype is np.float32 else 0)
    np.testing.assert_array_equal(problem.flat(state.scores), residual)


@pytest.mark.parametrize("kind", STATES)
def test_outputs_of_the_same_rows_do_not_mix(kind):
    """Outputs take turns in the scratch memory: each sets its direction and adds its step before the next."""
    alone, together = PackedProblem(1, 500, 4, np.float64, True, n_components=3), PackedProblem(
        1, 500, 4, np.float64, True, n_components=3)
    others = WeakLearner(2 * together.omegas, together.phases, together.posterior)
    single = kind(alone.rows, alone.y, 0.1)
    first, second = (kind(together.rows, sign * together.y, 0.1 * sign) for sign in (1, -1))
    for _ in range(3):
        for state, learner in ((single, alone.cosines), (first, together.cosines), (second, others)):
            state.set_direction(learner)
            state.add_step(state.best_step())
    assert single.loss == first.loss != second.loss
    np.testing.assert_array_equal(residuals(single), residuals(first))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(5))
def test_exact_steps_minimise_the_loss(dtype, seed):
    problem = PackedProblem(seed, [3, 129, 300, 2049, 4500][seed], 5, dtype, True, n_components=4)
    state = ExactStepRows(problem.rows, problem.y, 0.0)
    state.set_direction(problem.cosines)
    step, closed = state.best_step(), exponential_step(*state.direction_sums)
    h = reference.cosine_sum(problem.X, *problem.cosines[:3])
    value = lambda step: reference.loss_along_step(problem.y, problem.weight, 0.0, h, step)[0]
    assert abs(step) <= 9.4
    assert value(step) <= min(map(value, (0.0, closed, step - 0.01, step + 0.01))) * (1 + 1e-5) or abs(step) > 9.3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_weighted_products_are_those_of_the_twin(dtype, weighted):
    problem = PackedProblem(4, 2500, 6, dtype, weighted, n_components=5)
    h, tolerance = reference.cosine_sum(problem.X, *problem.cosines[:3]), 2e-5 if dtype is np.float32 else 1e-11
    w = problem.weight * np.exp(-0.2 * problem.y)
    state = ExponentialRows(problem.rows, problem.y, 0.2)
    state.set_direction(problem.cosines)
    total, agreement = state.direction_sums
    np.testing.assert_allclose(problem.flat(problem.rows.h), h, atol=tolerance)
    assert total == pytest.approx(w.sum(), rel=tolerance)
    assert agreement == pytest.approx(w @ (problem.y * h), abs=tolerance * w.sum())
    state = SquaredRows(problem.rows, problem.raw_prediction, 0.2)
    state.set_direction(problem.cosines)
    product, square = state.direction_sums
    assert product == pytest.approx(problem.weight @ ((problem.raw_prediction - 0.2) * h), abs=tolerance * w.sum())
    assert square == pytest.approx(problem.weight @ h**2, rel=tolerance)


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("weighted", [False, True])
def test_streamed_rows_give_the_sums_of_rows_in_memory(monkeypatch, kind, weighted):
    monkeypatch.setattr(row_blocks, "BLOCK_ELEMENTS", 1)  # 2048 rows each
    problem = PackedProblem(5, 5000, 3, np.float64, weighted)
    weights = RowWeights(5000, problem.weight if weighted else None)
    scaling = no_scaling(3)
    rows = pack_rows(RowBlocks([problem.X])._check(), weights, scaling, np.dtype(np.float64), 1, 1)
    assert len(list(rows.blocks())) == 3
    target = problem.raw_prediction if kind is SquaredRows else problem.y
    states = [kind(some, target, 0.1) for some in (problem.rows, rows)]
    for _ in range(2):
        for state in states:
            state.set_direction(problem.cosine)
        np.testing.assert_array_equal(problem.rows.h, rows.h)
        assert states[0].direction_sums == pytest.approx(states[1].direction_sums, rel=1e-14)
        assert states[0].derivatives(0.3) == pytest.approx(states[1].derivatives(0.3), rel=1e-12)
        for state in states:
            state.add_step(0.3)
        np.testing.assert_array_equal(states[0].scores, states[1].scores)
        assert states[0].loss == pytest.approx(states[1].loss, rel=1e-14)
        np.testing.assert_array_equal(*(state.residuals_in(slice(3, 8)) for state in states))
        rows_of = np.array([0, 7, 128, 2047, 2048, 4999], dtype=np.int32)
        np.testing.assert_array_equal(states[1].residuals(Sample(rows_of, rows_of, 6.0, rows_of)).ravel()[:6],
                                      residuals(states[0]).ravel()[rows_of])


def test_states_of_streamed_rows_update_span_by_span(monkeypatch):
    """Spans of one strip, of which the last is not full: values are those of one span, and sums up to rounding."""
    problem = PackedProblem(6, 5000, 3, np.float32, False)
    X, scaling, states = RowBlocks([problem.X])._check(), no_scaling(3), []
    for n_tiles in (16, 1024):
        monkeypatch.setattr(packed_rows, "_SPAN_TILES", n_tiles)
        rows = pack_rows(X, RowWeights(5000), scaling, np.dtype(np.float32), 1, 1)
        assert len(list(rows.spans())) == (3 if n_tiles == 16 else 1)
        states.append(ExactStepRows(rows, problem.y, 0.1))
        states[-1].set_direction(problem.cosine)
        states[-1].add_step(0.5)
    np.testing.assert_array_equal(states[0].scores, states[1].scores)
    assert states[0].loss == pytest.approx(states[1].loss, rel=1e-14)
    assert states[0].largest_residual == states[1].largest_residual
