"""The search for a phase against its NumPy twin."""

import numpy as np
import pytest
import reference
from helpers.landmark import phase_loss, search_phase
from helpers.packing import DTYPES, Problem, problems
from hypothesis import example, given


@given(problems())
@example(Problem(112382051, 1, 1, np.float32, False, spread=2.0))  # a loss of exp(-29)
def test_phase_is_the_global_minimum(problem):
    phase = search_phase(problem)
    assert -np.pi <= phase <= np.pi
    best = phase_loss(problem, reference.best_phase(problem.X, problem.y_tilde, problem.weight, problem.omega))
    # What rounding does to the loss: an angle is known to eps, the exponent to eps times the largest residual.  A loss
    # is a sum of exp - 1 over the rows, so that one below eps, of few heavy rows, is as good as none.
    eps = np.finfo(problem.rows.dtype).eps
    best = max(best, np.log(eps))
    rounding = eps * problem.margins.largest_residual * problem.rows.n_features
    assert phase_loss(problem, phase) <= best + 10 * rounding * (1 + problem.margins.largest_residual * (best > 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_phase_by_hand(dtype):
    """One row of class +1 at angle theta: the loss exp(-r cos(theta - b)) is lowest at b = theta."""
    problem = Problem(0, 1, 1, dtype, False)
    problem.rows.tiles[0, 0, 0] = 1.25
    problem.margins.r[0, 0] = 0.75
    problem.margins.largest_residual = 0.75 * np.log(2)
    problem.omega[:] = 2.0
    assert search_phase(problem) == pytest.approx(2.5, abs=1e-6 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("largest", [1.0, 20.0, 64.0])
def test_two_deep_valleys_of_which_the_second_is_deeper(largest):
    """Two opposite heavy rows leave two valleys; a third, slightly heavier side decides between them."""
    problem = Problem(0, 3, 1, np.float64, False)
    angles, r = np.array([0.1, 0.1 + np.pi, 0.1 + np.pi / 2]), np.array([largest, largest, 0.01])
    problem.rows.tiles[0, 0, :3] = angles
    problem.margins.r[0, :3] = r / np.log(2)
    problem.margins.largest_residual = largest
    problem.omega[:] = 1.0
    found = search_phase(problem)
    assert found == pytest.approx(reference.best_phase(angles[:, None], r, np.ones(3), problem.omega), abs=1e-5)


@pytest.mark.parametrize("seed", range(60))
def test_narrow_valleys(seed):
    """A few rows of large residuals, of both signs, where Newton's steps would leave the valley."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    angles = rng.uniform(-np.pi, np.pi, n)
    r = 64 * rng.uniform(0, 1, n) ** rng.choice([0.1, 1, 4]) * rng.choice([-1, 1], n)
    problem = Problem(0, n, 1, np.float64, False)
    problem.rows.tiles[0, 0, :n], problem.margins.r[0, :n] = angles, r / np.log(2)
    problem.margins.largest_residual = np.abs(r).max()
    problem.omega[:] = 1.0
    with np.errstate(divide="ignore"):  # a loss of 0
        best = reference.best_phase(angles[:, None], r, np.ones(n), problem.omega)
        losses = reference.phase_curve(angles[:, None], r, np.ones(n), problem.omega, [search_phase(problem), best])
    found, lowest = np.maximum(losses, -30)
    assert found <= lowest + 1e-9


@given(problems(n_samples=4500))
def test_bits_do_not_depend_on_threads(problem):
    found = []
    for n_threads in (1, 2, 3):
        problem.rows.use_threads(n_threads)
        found.append(search_phase(problem))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_levels_agree(level, dtype):
    """Every instruction-set level gives what the twin gives."""
    problem = Problem(3, 2049, 17, dtype, True)
    best = reference.best_phase(problem.X, problem.y_tilde, problem.weight, problem.omega)
    found = phase_loss(problem, search_phase(problem)) - phase_loss(problem, best)
    assert found == pytest.approx(0, abs=1e-7 if dtype is np.float32 else 1e-12)
