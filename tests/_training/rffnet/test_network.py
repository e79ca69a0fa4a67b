"""The network: its function, its values and the steps that change it."""

import copy
import math

import numpy as np
import pytest
from helpers.networks import LOSSES, Steps, values_and_slopes
from helpers.packing import DTYPES

from rffkern import InvalidInputError, RowBlocks
from rffkern._rows.scaling import no_scaling
from rffkern._rows.training_rows import TargetRows
from rffkern._rows.weights import RowWeights
from rffkern._training.rffnet.network import LARGEST_LOSS, Network


@pytest.fixture(params=DTYPES)
def steps(request):
    """A random network whose coefficients are not 0."""
    return Steps(4, 300, 5, 40, "squared_error", request.param, True, 32)


def written_out(steps):
    """The function of a network, as its docstring has it."""
    network = steps.network
    rows = (steps.X.astype(float) - steps.center) * steps.unit
    cosines = np.cos((rows * network.relevances[0]) @ steps.omegas.T + steps.offsets)
    coefficients = network.coefficients[0].astype(float)
    return cosines @ coefficients[:, :40].T + coefficients[:, 40]


def test_scores_are_those_of_the_formula(steps):
    tolerance = 1e-5 if steps.dtype is np.float32 else 1e-12
    expected = written_out(steps)
    np.testing.assert_allclose(steps.objective.scores(steps.X), expected, rtol=0, atol=tolerance)
    blocks = RowBlocks([steps.X[:77], steps.X[77:]])._check()
    np.testing.assert_allclose(steps.objective.scores(blocks), expected, rtol=0, atol=tolerance)


def test_the_expansion_is_the_same_function_in_the_units_of_the_targets(steps):
    center, scale = np.array([3.0, -1.0]), np.array([2.0, 10.0])
    expansion = steps.network.expansion(center, scale, steps.scaling)
    tolerance = 1e-4 if steps.dtype is np.float32 else 1e-11
    found = expansion.score(steps.X.astype(float))
    np.testing.assert_allclose(found, center + scale * written_out(steps), rtol=0, atol=tolerance)


def test_many_rows_are_scored_in_parts():
    wide = Steps(0, 700, 4096, 30, "squared_error", np.float64, False, 32)
    assert wide.objective.block_size == 128
    whole = wide.objective.scores(wide.X)
    rows = slice(256, 300)
    np.testing.assert_allclose(wide.objective.scores(wide.X[rows]), whole[rows], rtol=1e-12)


def test_mean_loss(steps):
    expected, _ = values_and_slopes(LOSSES["squared_error"], steps.objective.scores(steps.X), steps.targets)
    found = steps.objective.mean_loss(TargetRows(steps.X, steps.targets, RowWeights(300, steps.weight)))
    assert found == pytest.approx(np.average(expected, weights=steps.weight), rel=1e-12)
    found = steps.objective.mean_loss(TargetRows(steps.X, steps.targets, RowWeights(300)))
    assert found == pytest.approx(expected.mean(), rel=1e-12)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_loss_that_is_no_number_is_the_largest(steps, value):
    steps.network.restore((np.full_like(steps.network.coefficients[0], value), steps.network.relevances[0]))
    with np.errstate(invalid="ignore"):
        found = steps.objective.mean_loss(TargetRows(steps.X, steps.targets, RowWeights(300)))
    assert found == LARGEST_LOSS


def test_values_are_restored_without_the_moments(steps):
    network = steps.network
    before = [array.copy() for array in network.values()]
    kept = network.values()
    steps.objective.descend(steps.rows, [steps.order], 0.01, 1e-3, 1e-3)
    moments = network.coefficients[1:].copy()
    assert (network.values()[0] != before[0]).any()
    network.restore(kept)
    for found, expected in zip(network.values(), before, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(network.coefficients[1:], moments)
    assert network.n_steps > 0


def test_several_orders_of_rows_are_as_many_passes(steps):
    orders = [np.arange(70), np.arange(70)[::-1].copy()]
    other = copy.deepcopy(steps.network)
    total, weight = steps.objective.descend(steps.rows, orders, 0.01, 1e-3, 1e-3)
    assert steps.network.n_steps == 6  # the last batch of each order has 6 rows
    objective = steps.objective_of(other)
    parts = [objective.descend(steps.rows, [order], 0.01, 1e-3, 1e-3) for order in orders]
    assert total == sum(part for part, _ in parts)
    assert weight == pytest.approx(2 * steps.weight[:70].sum(), rel=1e-14)
    np.testing.assert_array_equal(other.coefficients, steps.network.coefficients)
    np.testing.assert_array_equal(other.relevances, steps.network.relevances)


def test_a_network_begins_with_a_constant():
    network = Network(np.ones((3, 2)), np.full(3, 0.5), 0.25, np.array([2.0, -1.0]), np.float64)
    coefficients, relevances = network.values()
    np.testing.assert_array_equal(coefficients[:, :4], [[0, 0, 0, 2], [0, 0, 0, -1]])
    assert not coefficients[:, 4:].any()
    assert relevances.tolist() == [0.25, 0.25]
    scaling = no_scaling(2)
    found = network.expansion(np.zeros(2), np.ones(2), scaling).score(np.ones((5, 2)))
    np.testing.assert_array_equal(found, np.tile([2.0, -1.0], (5, 1)))


def test_relevances_of_columns_that_do_not_vary_are_zero():
    network = Network(np.ones((3, 2)), np.zeros(3), -0.5, np.zeros(1), np.float32)
    scaling = no_scaling(2)._replace(inverse_scale=np.array([0.0, 7.0]))
    np.testing.assert_array_equal(network.relevances_of(scaling), [0.0, 0.5])


def test_omegas_that_overflow_are_refused():
    network = Network(np.full((3, 1), 1e3), np.zeros(3), 1.0, np.zeros(1), np.float64)
    one = np.ones(1)
    with pytest.raises(InvalidInputError, match=r"X must have columns of larger spread: .* got a spread of 1e-306"):
        network.expansion(one, one, no_scaling(1)._replace(inverse_scale=np.array([1e306])))


def test_values_far_out_are_clipped():
    steps = Steps(2, 40, 3, 20, "squared_error", np.float64, False, 40)
    far, limit = steps.X.copy(), steps.X.copy()
    far[7, 1] = 1e300
    limit[7, 1] = steps.center[1] + 2e4 / steps.unit[1]
    np.testing.assert_array_equal(steps.objective.scores(far),
                                  steps.objective.scores(limit))
    assert math.isfinite(steps.objective.scores(far)[7, 0])
