"""Random Fourier features, landmark descent and losses of boosted landmarks against their NumPy twins."""

import numpy as np
import pytest
import reference
from helpers.landmark import LOSSES, Landmark
from helpers.packing import DTYPES, TOLERANCE, Problem, problems
from hypothesis import given
from hypothesis import strategies as st

landmark_problems = problems(n_components=st.sampled_from([1, 2, 3, 4, 5, 9, 17, 130]))


@given(landmark_problems, st.sampled_from(sorted(LOSSES)))
def test_features_and_objective(problem, kind):
    landmark = Landmark(problem, kind)
    found = landmark.rff.transpose(0, 2, 1).reshape(-1, 2 * len(problem.omegas))[: len(problem.X)]
    tolerance = TOLERANCE[problem.rows.dtype.type]
    np.testing.assert_allclose(found, reference.fourier_features(problem.X, problem.omegas), atol=tolerance)
    x = problem.X[0] + 0.3
    value, gradient = landmark.objective(x)
    expected = landmark.expected(x)
    scale = np.abs(problem.weight).max() * max(1.0, np.exp(np.abs(landmark.flat_r).max()) if kind == "exponential" else
                                               np.abs(landmark.flat_r).max())
    assert value == pytest.approx(expected[0], abs=tolerance * scale)
    np.testing.assert_allclose(gradient, expected[1], rtol=0, atol=10 * tolerance * scale)


@given(landmark_problems, st.sampled_from(sorted(LOSSES)))
def test_search_over_phases_is_the_search_over_landmarks(problem, kind):
    """With u = omegas x both objectives are one, and the gradients differ by the factor omegas."""
    x = problem.X[0] + 0.3
    value, gradient = Landmark(problem, kind).objective(x)
    by_phases, slopes = Landmark(problem, kind, over_phases=True).objective(problem.omegas @ x)
    scale = 1 + np.abs(gradient).max()
    tolerance = TOLERANCE[problem.rows.dtype.type]
    assert by_phases == pytest.approx(value, rel=1e-5, abs=tolerance)
    np.testing.assert_allclose(slopes @ problem.omegas, gradient, rtol=0, atol=10 * tolerance * scale)


@given(problems(dtype=np.float64, spread=0.5, n_components=st.sampled_from([1, 5, 17])),
       st.sampled_from(sorted(LOSSES)), st.booleans())
def test_gradient_by_finite_differences(problem, kind, over_phases):
    landmark = Landmark(problem, kind, over_phases)
    x = problem.phases.copy() if over_phases else problem.X[0] + 0.3
    _, gradient = landmark.objective(x)
    step = 1e-5
    for j in range(x.size):
        there, back = x.copy(), x.copy()
        there[j] += step
        back[j] -= step
        difference = (landmark.objective(there)[0] - landmark.objective(back)[0]) / (2 * step)
        assert gradient[j] == pytest.approx(difference, abs=1e-6)


@given(landmark_problems, st.sampled_from(sorted(LOSSES)), st.booleans())
def test_descent_goes_down(problem, kind, over_phases):
    landmark = Landmark(problem, kind, over_phases)
    start = np.zeros(len(problem.omegas) if over_phases else problem.rows.n_features)
    x, evaluations = landmark.descend(start)
    np.testing.assert_allclose(landmark.u[: len(problem.omegas)], x if over_phases else problem.omegas @ x, atol=1e-12)
    before, after = landmark.objective(start)[0], landmark.objective(x)[0]
    assert after <= before + 1e-5 * abs(before)
    assert 1 <= evaluations <= 1 + 20 * 10


@given(landmark_problems, st.sampled_from(sorted(LOSSES)))
def test_component_losses(problem, kind):
    landmark = Landmark(problem, kind)
    expected = reference.component_losses(kind, problem.X, landmark.flat_r, problem.weight, problem.omegas,
                                          problem.phases)
    scale = max(1.0, np.exp(np.abs(landmark.flat_r).max()) if kind == "exponential" else np.abs(landmark.flat_r).max())
    np.testing.assert_allclose(landmark.component_losses(problem.phases), expected, rtol=0,
                               atol=2 * TOLERANCE[problem.rows.dtype.type] * scale)


@pytest.mark.parametrize("dtype", DTYPES)
def test_phases_of_many_turns(dtype):
    """A landmark far away has phases of many turns, which no precision may lose."""
    problem = Problem(1, 300, 4, dtype, False, n_components=6)
    landmark = Landmark(problem, "squared")
    turns = 2 * np.pi * np.arange(6) * 1e5
    np.testing.assert_allclose(landmark.component_losses(problem.phases + turns),
                               landmark.component_losses(problem.phases), atol=1e-4 if dtype is np.float32 else 1e-9)


def test_landmark_by_hand():
    """One row at 0 of residual 1/2, omega = 2: (1/2 - cos(2 x))^2 is lowest at x = pi / 6."""
    problem = Problem(0, 1, 1, np.float64, False)
    problem.rows.tiles[0, 0, 0] = 0.0
    problem.residuals.r[0, 0] = 0.5
    problem.omegas[:] = 2.0
    landmark = Landmark(problem, "squared")
    assert landmark.objective(np.zeros(1))[0] == pytest.approx(0)  # (1/2 - 1)^2 - 1/4
    assert landmark.objective(np.array([np.pi / 2]))[0] == pytest.approx(2)  # (1/2 + 1)^2 - 1/4
    x, _ = landmark.descend(np.array([0.3]), 30)
    assert x[0] == pytest.approx(np.pi / 6, abs=1e-4)


@given(problems(n_samples=4500, n_components=st.just(7)), st.sampled_from(sorted(LOSSES)))
def test_bits_do_not_depend_on_threads(problem, kind):
    found = []
    for n_threads in (1, 2, 3):
        landmark = Landmark(problem, kind, n_threads=n_threads)
        x, _ = landmark.descend(np.zeros(problem.rows.n_features))
        found.append(x.tobytes() + landmark.component_losses(problem.phases).tobytes())
    assert found[0] == found[1] == found[2]
