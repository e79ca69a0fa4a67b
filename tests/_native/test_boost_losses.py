"""Losses of boosting against their NumPy twins and finite differences."""

import numpy as np
import pytest
from helpers.boost_losses import BOUNDS, NAMES, LossProblem, loss_problems, twin
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import boosting, simd

ROUNDING = 1e-6  # of single precision, relative to values of about 1


def assert_alike(found, expected, tolerance=ROUNDING):
    for mine, other in zip(found, expected, strict=True):
        size = 1 + np.abs(other).max() if np.size(other) else 1
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance * size)


def assert_same(found, expected):
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, other)


@given(loss_problems(), st.floats(-2, 2, width=32))
def test_derivatives_and_update(problem, step):
    sums, update = problem.twin(step)
    assert_alike(problem.derivatives(step), sums, 1e-5)
    found = problem.update(step)
    if problem.name == "quantile":  # rounding of a score may put it on the other side of its target
        near = np.abs(problem.targets - update[0])[:, : problem.n_train] < 1e-5
        for array in (found[3], update[3]):
            array[near] = 0
    assert_alike(found, update)


@pytest.mark.parametrize("name", NAMES)
def test_sums_of_strips(name):
    """The twin's sums, with the same bits on any number of threads."""
    problem = LossProblem(3, name, 20_000, 9_000)
    sums, update = problem.twin(0.25)
    assert_alike(problem.derivatives(0.25), sums, 1e-5)
    assert_alike(problem.update(0.25)[1:3], update[1:3], 1e-5)
    for n_threads in (2, 3):
        assert_same(problem.derivatives(0.25, n_threads), problem.derivatives(0.25))
        assert_same(problem.update(0.25, n_threads), problem.update(0.25))
        assert problem.best_step(1.0, 4, n_threads=n_threads) == problem.best_step(1.0, 4)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_the_twins_by_finite_differences(name):
    problem, step = LossProblem(1, name, 700, 0), 1e-5
    _, g, h = twin(name, problem.scores, problem.targets)
    for k in range(len(g)):
        there, back = problem.scores.astype(float), problem.scores.astype(float)
        there[k] += step
        back[k] -= step
        losses, gradients = zip(*[twin(name, scores, problem.targets)[:2] for scores in (there, back)], strict=True)
        np.testing.assert_allclose(g[k], (losses[1] - losses[0]) / (2 * step), rtol=1e-6, atol=1e-6)
        if name not in BOUNDS:
            np.testing.assert_allclose(h[k], (gradients[1] - gradients[0])[k] / (2 * step), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_by_finite_differences(name):
    """Of the losses that `update` sums; the derivative of a quantile jumps, so that the step must be short."""
    problem, size = LossProblem(2, name, 3000, 0), 0.001 if name == "quantile" else 0.02
    derivative, curvature = problem.derivatives(0.5)
    there, here, back = (problem.update(0.5 + side * size)[1] for side in (1, 0, -1))
    assert derivative == pytest.approx((back - there) / (2 * size), rel=2e-3)
    if name not in {*BOUNDS, "softmax"}:
        assert curvature == pytest.approx((back + there - 2 * here) / size**2, rel=0.05)


@given(loss_problems(), st.integers(0, 6))
def test_best_step_takes_steps_of_newton(problem, n_steps):
    step = 1.0
    for _ in range(n_steps):
        derivative, curvature = problem.derivatives(step)
        if not curvature > 0:
            break
        step += min(max(derivative / curvature, -0.5), 0.5)
    assert problem.best_step(1.0, n_steps, 0.5) == step


@pytest.mark.parametrize("name", [name for name in NAMES if name != "quantile"])
def test_best_step_is_best(name):
    problem = LossProblem(8, name, 2000, 100)
    step = problem.best_step(1.0, 200)  # of a bound of the curvature they are short
    losses = [problem.update(step + side)[1] for side in (-0.05, 0.0, 0.05)]
    assert losses[1] == min(losses)
    assert problem.best_step(step, 3) == pytest.approx(step, abs=1e-4)


def test_best_step_ends_at_a_small_move():
    problem = LossProblem(8, "logistic", 2000, 100)
    few = [problem.best_step(1.0, n_steps) for n_steps in (1, 2, 3)]
    moves = np.abs(np.diff(few))
    assert moves[1] < moves[0]
    assert problem.best_step(1.0, 20, smallest_move=1.01 * moves[0]) == few[1]
    problem.directions[:] = 0
    assert problem.best_step(1.0, 20) == 1  # no curvature


@given(loss_problems())
def test_padding_has_no_influence(problem):
    before = problem.derivatives(0.3), problem.update(0.3)[1:]
    padding = problem.weight == 0
    problem.scores[:, padding], problem.directions[:, padding], problem.targets[padding] = np.nan, np.inf, np.nan
    assert_same(problem.derivatives(0.3), before[0])
    assert_same(problem.update(0.3)[1:], before[1])
    problem.targets[padding] = 1e30
    assert_same(problem.derivatives(0.3), before[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_repeats_a_row(name):
    problem = LossProblem(3, name, 128, 128, weighted=False)
    many = LossProblem(3, name, 384, 384, weighted=False)
    for array in ("scores", "directions", "targets"):
        values = getattr(problem, array)
        setattr(many, array, np.ascontiguousarray(np.concatenate([np.tile(half, 3) for half in np.split(values, 2, -1)],
                                                                 axis=-1)))
    problem.weight *= 3
    assert_alike(problem.derivatives(0.7), many.derivatives(0.7))
    assert_alike(problem.update(0.7)[1:3], many.update(0.7)[1:3])


@pytest.mark.parametrize("name", ["logistic", "softmax", "poisson", "tweedie"])
@pytest.mark.parametrize("size", [1e-30, 1.0, 30.0, 100.0, 1e4, 1e30, 3e38])
def test_any_finite_score(name, size):
    problem = LossProblem(4, name, 300, 200)
    signs = np.sign(problem.scores)
    problem.scores, problem.directions = (signs * np.float32(size)).astype(np.float32), np.zeros_like(problem.scores)
    found, (_, update) = problem.update(0.0), problem.twin(0.0)
    assert all(np.isfinite(part).all() for part in (*found, problem.derivatives(0.0)))
    if name == "logistic" and size > 1e30:  # held to 1e30, so that the sum is finite
        problem.scores = problem.scores.clip(-1e30, 1e30)
        update = problem.twin(0.0)[1]
    if name in ("poisson", "tweedie") and size > 50:
        update = update[0], found[1], found[2], *update[3:]  # dominated by exp(50), which single precision rounds
    np.testing.assert_allclose(found[1:3], update[1:3], rtol=2e-6)
    for mine, other in zip(found[3:], update[3:], strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=1e-6)


def test_losses_that_are_small_keep_their_digits():
    """log(1 + exp(-10)) is not the logarithm of a rounded number."""
    problem = LossProblem(5, "logistic", 256, 0, weighted=False, n_outputs=1)
    problem.scores[0] = 10 * problem.targets
    assert problem.update(0.0)[1] == pytest.approx(256 * np.log1p(np.exp(-10)), rel=3e-6)


def test_many_rows_lose_no_digits():
    """The sum over a million equal rows is that of one tile so many times; in single precision it would be far off."""
    sums = []
    for n_rows in (128, 2**20):
        problem = LossProblem(6, "logistic", n_rows, 128, weighted=False, n_outputs=1)
        problem.scores[:], problem.directions[:], problem.targets[:] = 0.3, 1, 1
        sums.append(np.array([problem.update(0.0)[1], *problem.derivatives(0.0)]))
    np.testing.assert_allclose(sums[1], 2**13 * sums[0], rtol=1e-12)
    loss, g, h = twin("logistic", problem.scores[:, :1], problem.targets[:1])
    np.testing.assert_allclose(sums[0] / 128, [loss[0], g[0, 0], h[0, 0]], rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_levels_agree(level, name):
    problem = LossProblem(7, name, 900, 300, n_outputs=5)
    problem.scores[:, ::7] = problem.targets[::7] - 1  # far from where the derivative of a quantile jumps
    found = problem.derivatives(0.25), problem.update(0.25)
    simd.select("baseline")
    assert_alike(found[0], problem.derivatives(0.25), 2e-6)
    assert_alike(found[1], problem.update(0.25), 2e-6)


@pytest.mark.parametrize(("changes", "message"), [
    ({"loss": len(NAMES)}, "loss must be one"), ({"loss": -1}, "loss must be one"),
    ({"loss": boosting.LOSSES["huber"]}, "parameters must be above 0"),
    ({"loss": boosting.LOSSES["quantile"]}, "parameters must be quantiles"),
    ({"loss": boosting.LOSSES["quantile"], "parameters": np.array([0.5, 1.0], np.float32), "n_outputs": 2},
     "parameters must be quantiles"),
    ({"n_train": 100}, "n_train must be"), ({"n_train": 384}, "n_train must be"), ({"n_train": -128}, "n_train must"),
    ({"step": np.inf}, "step must be finite"), ({"parameters": np.zeros(2, np.float32)}, "parameters must have shape"),
])
def test_refusals(changes, message):
    scores = np.zeros((changes.pop("n_outputs", 1), 256), np.float32)
    arguments = {"loss": boosting.LOSSES["logistic"], "parameters": np.zeros(len(scores), np.float32), "scores": scores,
                 "directions": scores.copy(), "step": 0.0, "targets": scores[0], "weight": scores[0],
                 "n_train": 128, "n_threads": 1} | changes
    with pytest.raises(ValueError, match=message):
        boosting.step_derivatives(**arguments)
    with pytest.raises(ValueError, match=message):
        boosting.update(**arguments, half_weight=scores[0], gradient=scores.copy(), hessian=scores.copy())
