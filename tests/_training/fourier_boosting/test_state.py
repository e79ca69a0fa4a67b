"""Where the boosting of a member stands."""

import numpy as np
import pytest

from rffkern._native import boosting
from rffkern._training.fourier_boosting.bins import make_bins
from rffkern._training.fourier_boosting.losses import ClassLoss, ValueLoss
from rffkern._training.fourier_boosting.rows import Bounds, Columns, Layout
from rffkern._training.fourier_boosting.state import MemberRows, State

RNG = np.random.default_rng(0)
VALUES = RNG.standard_normal((3, 300)).astype(np.float32)
COLUMNS = Columns(VALUES, np.arange(3), make_bins(VALUES, np.array([0, 2])),
                  Bounds(VALUES.min(axis=1), VALUES.max(axis=1)))
WEIGHTS = RNG.uniform(0.5, 2, 300)


def state_of(loss, targets):
    layout = Layout.of(np.arange(200), np.arange(200, 300), np.random.default_rng(0))
    problem = loss.problem(np.atleast_2d(targets), WEIGHTS)
    return State(MemberRows.of(COLUMNS, problem, WEIGHTS, layout), problem), layout


def test_columns_are_laid_out():
    state, layout = state_of(ValueLoss(boosting.SQUARED), VALUES[0].astype(float))
    np.testing.assert_array_equal(state.columns, VALUES[:, layout.rows])
    np.testing.assert_array_equal(state.codes, COLUMNS.bins.codes[:, layout.rows])
    assert not state.weight[~layout.used].any()
    np.testing.assert_allclose(state.weight[layout.used], WEIGHTS[layout.rows[layout.used]], rtol=1e-6)


def test_losses_are_weighted_means_of_both_parts():
    y = VALUES[0].astype(float)
    state, _ = state_of(ValueLoss(boosting.SQUARED), y)
    center = np.average(y, weights=WEIGHTS)
    for part, found in ((slice(0, 200), state.losses.learned), (slice(200, 300), state.losses.held_out)):
        assert found == pytest.approx(np.average((y[part] - center) ** 2 / 2, weights=WEIGHTS[part]), rel=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_best_step_is_the_lowest_loss(n_classes):
    y = np.digitize(VALUES[0], np.linspace(-0.5, 0.5, n_classes - 1)).astype(float)
    state, _ = state_of(ClassLoss(n_classes), y)
    state.directions[:] = np.linspace(-1, 1, len(state.scores))[:, None] * state.columns[0] if n_classes > 2 else (
        state.columns[0])
    best = state.best_step()
    losses = []
    for step in (best - 0.1, best, best + 0.1):
        losses.append(state.move(step).learned)
        state.move(-step)
    assert losses[1] == min(losses) < state.losses.learned
