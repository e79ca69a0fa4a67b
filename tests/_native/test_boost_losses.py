"""Losses of boosting against their NumPy twins and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import boosting, simd

TILE = 128
NAMES = (*boosting.LOSSES,)
BOUNDS = {"huber", "quantile", "poisson", "tweedie"}  # whose h is no second derivative, but one of a function above
PARAMETERS = {"huber": (0.7, 1.2, 0.1), "quantile": (0.3, 0.9, 0.05), "tweedie": (1.5, 2, 1.1)}  # of outputs in turn
LEAST_RESIDUAL = 0.02  # in the curvature of the loss of a quantile


def parameters_of(name, n_outputs):
    """One for each output."""
    return np.resize(np.array(PARAMETERS.get(name, (0.0,)), np.float32), n_outputs)


def twin(name, scores, targets):
    """Loss of each row, and g = -dloss/dF and h = d2loss/dF2 of each score, in double precision."""
    F, y = scores.astype(float), targets.astype(float)
    parameter = parameters_of(name, len(F)).astype(float)[:, None]
    if name == "softmax":
        is_class = np.arange(len(F))[:, None] == y
        F = F - F.max(axis=0)
        total = np.logaddexp.reduce(F, axis=0)
        p = np.exp(F - total)
        return total - np.sum(np.where(is_class, F, 0), axis=0), is_class - p, p * (1 - p)
    residual = y - F
    if name == "squared":
        return (residual**2 / 2).sum(axis=0), residual, np.ones_like(F)
    if name == "logistic":
        p = np.exp(-np.logaddexp(0, y * F))
        return np.logaddexp(0, -y * F).sum(axis=0), y * p, p * np.exp(-np.logaddexp(0, -y * F))
    if name == "huber":
        held = residual.clip(-parameter, parameter)
        return (held * (residual - held / 2)).sum(axis=0), held, np.ones_like(F)
    if name == "quantile":
        derivative = parameter - (y < F)
        return (derivative * residual).sum(axis=0), derivative, 0.5 / (LEAST_RESIDUAL + np.abs(residual))
    if name == "tweedie":
        held, below, above = F.clip(-50, 50), parameter - 1, 2 - parameter
        target, mean = y * np.exp(-below * held), np.exp(above * held)
        of_mean = np.where(above > 0, (mean - 1) / np.where(above > 0, above, 1), F)
        return (((target - y) / below + of_mean).sum(axis=0), target - mean,
                np.maximum(below * target + above * mean, (target + mean) / 2))
    assert name == "poisson"
    rate = np.exp(F.clip(-50, 50))
    return (rate - y * F).sum(axis=0), y - rate, np.maximum(rate, (y + rate) / 2)


class LossProblem:
    """Training rows and rows held out, both padded with rows of weight 0."""

    def __init__(self, seed, name, n_train_rows, n_held_rows, weighted=True, n_outputs=3, spread=2.0):
        rng = np.random.default_rng(seed)
        self.name, self.loss = name, boosting.LOSSES[name]
        tiles = [(rows + TILE - 1) // TILE for rows in (n_train_rows, n_held_rows)]
        self.n_train, n = TILE * tiles[0], TILE * sum(tiles)
        self.weight = (rng.uniform(0.2, 3, n) if weighted else np.ones(n)).astype(np.float32)
        self.weight[n_train_rows : self.n_train] = 0
        self.weight[self.n_train + n_held_rows :] = 0
        self.half_weight = np.where(np.arange(n) % 2 == 1, self.weight, 0).astype(np.float32)
        self.half_weight[: self.n_train] = 0
        self.parameters = parameters_of(name, n_outputs)
        self.scores = (spread * rng.standard_normal((n_outputs, n))).astype(np.float32)
        self.directions = rng.standard_normal((n_outputs, n)).astype(np.float32)
        self.targets = {"logistic": lambda: rng.choice([-1, 1], n), "softmax": lambda: rng.integers(0, n_outputs, n),
                        "poisson": lambda: rng.poisson(2, n), "tweedie": lambda: rng.gamma(0.5, 4, n)}.get(
                            name, lambda: rng.standard_normal(n))()
        self.targets = self.targets.astype(np.float32)

    def twin(self, step):
        """What `derivatives` and `update` are to give."""
        scores = self.scores + np.float32(step) * self.directions
        loss, g, h = twin(self.name, scores, self.targets)
        g, h = self.weight * g, self.weight * h
        train = np.arange(self.weight.size) < self.n_train
        d = self.directions.astype(float)
        sums = np.sum((g * d)[:, train]), np.sum((h * d**2)[:, train])
        losses = [np.sum((self.weight * loss)[rows]) for rows in (train, ~train)]
        half = np.sum(self.half_weight * loss)
        return sums, (scores, *losses, g[:, train], self.comparable(h[:, train]), half)

    def comparable(self, h):
        """Curvatures, but of a quantile their reciprocals: linear in the residual, so that rounding hardly shows."""
        return np.divide(1, h, out=np.zeros(h.shape), where=h > 0) if self.name == "quantile" else h

    def derivatives(self, step, n_threads=1):
        return boosting.step_derivatives(self.loss, self.parameters, self.scores, self.directions, step, self.targets,
                                         self.weight, self.n_train, n_threads)

    def best_step(self, step, n_steps, largest_move=5.0, smallest_move=0.0, n_threads=1):
        return boosting.best_step(self.loss, self.parameters, self.scores, self.directions, step, self.targets,
                                  self.weight, self.n_train, n_steps, largest_move, smallest_move, n_threads)

    def update(self, step, n_threads=1):
        """Scores, both losses, gradient and hessian of the training rows, and the loss of half of the others."""
        scores, g, h = self.scores.copy(), np.full_like(self.scores, np.nan), np.full_like(self.scores, np.nan)
        *losses, half = boosting.update(self.loss, self.parameters, scores, self.directions, step, self.targets,
                                        self.weight, self.half_weight, self.n_train, g, h, n_threads)
        assert np.isnan([g[:, self.n_train :], h[:, self.n_train :]]).all()
        return scores, *losses, g[:, : self.n_train], self.comparable(h[:, : self.n_train]), half


def loss_problems(**fixed):
    sizes = st.sampled_from([0, 1, 127, 128, 129, 700])
    choices = {"seed": st.integers(0, 999), "name": st.sampled_from(NAMES), "n_train_rows": sizes,
               "n_held_rows": sizes, "weighted": st.booleans(), "n_outputs": st.integers(1, 6)}
    return st.builds(LossProblem, **choices | {name: st.just(value) for name, value in fixed.items()})


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
