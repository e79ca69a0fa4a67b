"""Waves, landmark descent and pseudo-posterior losses of boosted landmarks against their NumPy twins."""

import numpy as np
import pytest
import reference
from helpers.packing import DTYPES, TOLERANCE, Problem, problems
from hypothesis import given
from hypothesis import strategies as st

from rffkern._gbrff.loss_states import ExactMargins, Margins
from rffkern._kernels import gbrff_landmark, gbrff_rounds, lbfgs, packing

KINDS = {"exponential": gbrff_landmark.EXPONENTIAL, "squared": gbrff_landmark.SQUARED}

landmark_problems = problems(n_components=st.sampled_from([1, 2, 3, 4, 5, 9, 17, 130]))


class Landmark:
    """What the kernels need for the landmarks of a problem's omegas."""

    def __init__(self, problem, kind, over_phases=False, n_threads=1):
        rows, n_components = problem.rows, len(problem.omegas)
        self.problem, self.kind, self.loss, self.n_threads = problem, kind, KINDS[kind], n_threads
        state = problem.margins if kind == "exponential" else problem.residuals
        self.r = state.r
        self.flat_r = problem.y_tilde if kind == "exponential" else problem.flat(state.r)
        self.waves = np.zeros((rows.n_tiles, 2 * n_components, rows.tile_size), rows.dtype)
        padded = np.zeros((-(-n_components // 4) * 4, rows.n_features), rows.dtype)
        gbrff_landmark.make_waves(rows.store.tiles, problem.omegas, self.waves, padded, n_threads)
        n_padded = -(-n_components // 16) * 16
        self.basis = np.zeros((0 if over_phases else rows.n_features, n_padded))
        if not over_phases:
            self.basis[:, :n_components] = problem.omegas.T
        self.u, self.direction = np.zeros(n_padded), np.zeros(2 * n_components, rows.dtype)
        self.lanes = np.zeros((n_threads, 2 * n_components * packing.LANE_COUNT), rows.dtype)
        self.partial = np.zeros((len(rows.partial), 1 + 2 * n_components))

    @property
    def scratch(self):
        return self.u, self.direction, self.lanes, self.partial, self.n_threads

    def objective(self, x):
        gradient = np.zeros_like(x)
        value = gbrff_landmark.landmark_objective(self.loss, self.waves, self.r, self.problem.rows.weight, self.basis, x,
                                              self.problem.rows.total_weight, gradient, *self.scratch)
        return value, gradient

    def descend(self, x, max_iter=10):
        x = x.copy()
        search = lbfgs.LBFGS(x.size, max_iter, 2e-9, 1e-5, 1e-6)
        evaluations = gbrff_landmark.descend_landmark(search, self.loss, self.waves, self.r, self.problem.rows.weight,
                                                  self.basis, x, self.problem.rows.total_weight, 1.0, *self.scratch)
        return x, evaluations

    def component_losses(self, phases):
        losses = np.zeros(len(phases))
        u = np.zeros(self.u.size)
        u[: len(phases)] = phases
        gbrff_landmark.component_losses(self.loss, self.waves, self.r, self.problem.rows.weight, u,
                                    self.problem.rows.total_weight, losses, self.direction, self.partial,
                                    self.n_threads)
        return losses

    def expected(self, x):
        problem = self.problem
        return reference.landmark_objective(self.kind, problem.X, self.flat_r, problem.weight, problem.omegas, x)


@given(landmark_problems, st.sampled_from(list(KINDS)))
def test_waves_and_objective(problem, kind):
    landmark = Landmark(problem, kind)
    found = landmark.waves.transpose(0, 2, 1).reshape(-1, 2 * len(problem.omegas))[: len(problem.X)]
    tolerance = TOLERANCE[problem.rows.dtype.type]
    np.testing.assert_allclose(found, reference.waves(problem.X, problem.omegas), atol=tolerance)
    x = problem.X[0] + 0.3
    value, gradient = landmark.objective(x)
    expected = landmark.expected(x)
    scale = np.abs(problem.weight).max() * max(1.0, np.exp(np.abs(landmark.flat_r).max()) if kind == "exponential" else
                                               np.abs(landmark.flat_r).max())
    assert value == pytest.approx(expected[0], abs=tolerance * scale)
    np.testing.assert_allclose(gradient, expected[1], rtol=0, atol=10 * tolerance * scale)


@given(landmark_problems, st.sampled_from(list(KINDS)))
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
       st.sampled_from(list(KINDS)), st.booleans())
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


@given(landmark_problems, st.sampled_from(list(KINDS)), st.booleans())
def test_descent_goes_down(problem, kind, over_phases):
    landmark = Landmark(problem, kind, over_phases)
    start = np.zeros(len(problem.omegas) if over_phases else problem.rows.n_features)
    x, evaluations = landmark.descend(start)
    np.testing.assert_allclose(landmark.u[: len(problem.omegas)], x if over_phases else problem.omegas @ x, atol=1e-12)
    before, after = landmark.objective(start)[0], landmark.objective(x)[0]
    assert after <= before + 1e-5 * abs(before)
    assert 1 <= evaluations <= 1 + 20 * 10


@given(landmark_problems, st.sampled_from(list(KINDS)))
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
    problem.rows.store.tiles[0, 0, 0] = 0.0
    problem.residuals.r[0, 0] = 0.5
    problem.omegas[:] = 2.0
    landmark = Landmark(problem, "squared")
    assert landmark.objective(np.zeros(1))[0] == pytest.approx(0)  # (1/2 - 1)^2 - 1/4
    assert landmark.objective(np.array([np.pi / 2]))[0] == pytest.approx(2)  # (1/2 + 1)^2 - 1/4
    x, _ = landmark.descend(np.array([0.3]), 30)
    assert x[0] == pytest.approx(np.pi / 6, abs=1e-4)


@given(problems(n_samples=4500, n_components=st.just(7)), st.sampled_from(list(KINDS)))
def test_bits_do_not_depend_on_threads(problem, kind):
    found = []
    for n_threads in (1, 2, 3):
        landmark = Landmark(problem, kind, n_threads=n_threads)
        x, _ = landmark.descend(np.zeros(problem.rows.n_features))
        found.append(x.tobytes() + landmark.component_losses(problem.phases).tobytes())
    assert found[0] == found[1] == found[2]


@given(landmark_problems)
def test_learners_of_several_cosines(problem):
    """Both losses evaluate the same learner, and answer with their own sums."""
    expected = reference.cosine_sum(problem.X, *problem.cosines)
    tolerance = TOLERANCE[problem.rows.dtype.type]
    n = problem.weight.sum()
    total, agreeing = problem.margins.agreement(problem.cosines)
    np.testing.assert_allclose(problem.flat(problem.rows.h), expected, atol=tolerance)
    w = problem.weight * np.exp(-problem.y * problem.raw_prediction)
    assert total == pytest.approx(w.sum(), rel=tolerance)
    assert agreeing == pytest.approx(w @ (problem.y * expected), abs=tolerance * w.sum())
    product, square = problem.residuals.agreement(problem.cosines)
    np.testing.assert_allclose(problem.flat(problem.rows.h), expected, atol=tolerance)
    size = 1 + np.abs(problem.raw_prediction).max()
    assert product == pytest.approx(problem.weight @ (problem.raw_prediction * expected), abs=tolerance * n * size)
    assert square == pytest.approx(problem.weight @ expected**2, abs=tolerance * n)


@given(landmark_problems, st.floats(-2, 2))
def test_loss_along_a_step(problem, step):
    rows, margins = problem.rows, problem.margins
    margins.agreement(problem.cosines)
    found = gbrff_rounds.loss_along_step(margins.raw_prediction, margins.y, rows.weight, rows.h, step, rows.partial,
                                      rows.n_threads)
    h = reference.cosine_sum(problem.X, *problem.cosines)
    expected = reference.loss_along_step(problem.y, problem.weight, problem.raw_prediction, h, step)
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * TOLERANCE[rows.dtype.type] * expected[0])


@given(landmark_problems)
def test_exact_steps_minimise_the_loss(problem):
    state = ExactMargins(problem.rows, problem.y, 0.0)
    step = state.best_step(problem.cosines)
    h = reference.cosine_sum(problem.X, *problem.cosines)
    value = lambda step: reference.loss_along_step(problem.y, problem.weight, 0.0, h, step)[0]
    assert abs(step) <= 9.4
    closed = Margins.best_step(state, problem.cosines)
    assert value(step) <= min(map(value, (0.0, closed, step - 0.01, step + 0.01))) * (1 + 1e-5) or abs(step) > 9.3


@given(landmark_problems)
def test_shrinking_residuals(problem):
    problem.residuals.agreement(problem.cosines)
    problem.residuals.boost(0.7)
    expected = problem.raw_prediction - 0.7 * reference.cosine_sum(problem.X, *problem.cosines)
    tolerance = TOLERANCE[problem.rows.dtype.type]
    np.testing.assert_allclose(problem.flat(problem.residuals.r), expected,
                               atol=tolerance * (1 + np.abs(expected).max()))
    assert problem.residuals.loss == pytest.approx(np.average(expected**2, weights=problem.weight), rel=20 * tolerance)
