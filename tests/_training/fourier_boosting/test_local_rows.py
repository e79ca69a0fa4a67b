"""Where the boosting of a member stands."""

import numpy as np
import pytest

from rffkern._native import boosting
from rffkern._training.fourier_boosting.losses import ClassLoss, ValueLoss
from rffkern._training.fourier_boosting.training_rows import Columns, LocalRows, RowOrder, bin_columns

RNG = np.random.default_rng(0)
VALUES = RNG.standard_normal((3, 300)).astype(np.float32)
COLUMNS = Columns(VALUES, np.arange(3), *bin_columns(VALUES, np.array([0, 2])), VALUES.min(axis=1), VALUES.max(axis=1))
WEIGHTS = RNG.uniform(0.5, 2, 300)


def state_of(loss, targets):
    order = RowOrder.of(np.arange(200), np.arange(200, 300), np.random.default_rng(0))
    problem = loss.data(np.atleast_2d(targets), WEIGHTS)
    return LocalRows.of(COLUMNS, problem, WEIGHTS, order), order


def test_columns_are_laid_out():
    state, order = state_of(ValueLoss(boosting.SQUARED), VALUES[0].astype(float))
    np.testing.assert_array_equal(state.columns, VALUES[:, order.rows])
    np.testing.assert_array_equal(state.codes, COLUMNS.codes[:, order.rows])
    assert not state.weight[~order.used].any()
    np.testing.assert_allclose(state.weight[order.used], WEIGHTS[order.rows[order.used]], rtol=1e-6)


def test_losses_are_weighted_means_of_both_parts():
    y = VALUES[0].astype(float)
    state, _ = state_of(ValueLoss(boosting.SQUARED), y)
    center = np.average(y, weights=WEIGHTS)
    for part, found in ((slice(0, 200), state.losses.train), (slice(200, 300), state.losses.validation)):
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
        losses.append(state.add_step(step).train)
        state.add_step(-step)
    assert losses[1] == min(losses) < state.losses.train
