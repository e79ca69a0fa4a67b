"""Rows as a loss reads them, and which of them are held out."""

import numpy as np
import pytest

from rffkern import RowBlocks
from rffkern._rows.training_rows import check_labelled, check_with_targets
from rffkern._rows.weights import RowWeights
from rffkern._training.rffnet.network import Network
from rffkern._training.rffnet.problem import Problem, divide, pose
from rffkern._training.rffnet.training_state import TrainingState


def state_of(n_samples=100, held_out=(), center=0.0, scale=1.0):
    network = Network(np.ones((2, 2)), np.zeros(2), 1.0, np.zeros(1), np.float32)
    return TrainingState(None, network, None, np.array([center]), np.array([scale]), n_samples, n_samples,
                         np.array(held_out, np.intp))


def numbered(n_samples, weight=None, n_features=2):
    X = np.repeat(np.arange(float(n_samples))[:, None], n_features, axis=1)
    return Problem(X, np.arange(float(n_samples))[:, None], RowWeights(n_samples, weight), 1)


def test_two_classes_are_signs_and_more_are_indices(rng):
    X = rng.standard_normal((4, 2))
    two = check_labelled(X, ["no", "yes", "yes", "no"], None)
    np.testing.assert_array_equal(pose(two.rows, two, None).targets, [[-1], [1], [1], [-1]])
    assert pose(two.rows, two, None).n_outputs == 1
    three = check_labelled(X, ["b", "c", "a", "c"], None)
    np.testing.assert_array_equal(pose(three.rows, three, None).targets, [[1], [2], [0], [2]])
    assert pose(three.rows, three, None).n_outputs == 3


def test_targets_are_in_the_units_of_the_training_that_goes_on(rng):
    X, y = rng.standard_normal((50, 2)), 5 + 3 * rng.standard_normal(50)
    training = check_with_targets(X, y, None, 1)
    np.testing.assert_allclose(pose(training.rows, training, None).targets[:, 0], (y - y.mean()) / y.std())
    found = pose(training.rows, training, state_of(center=1.0, scale=2.0))
    np.testing.assert_allclose(found.targets[:, 0], (y - 1) / 2)


@pytest.mark.parametrize("streamed", [False, True])
def test_division(streamed, rng):
    weight = np.where(np.arange(100) % 5, 2.0, 0.0)
    problem = numbered(100, weight)
    if streamed:
        problem = problem._replace(X=RowBlocks([problem.X[:33], problem.X[33:]]).check())
    expected = np.sort(np.random.default_rng(3).permutation(80)[:20])
    division = divide(problem, {}, 0.25, np.random.default_rng(3), None)
    np.testing.assert_array_equal(division.held_out, expected)
    held_out = np.flatnonzero(weight)[expected]
    np.testing.assert_array_equal(division.members, np.setdiff1d(np.flatnonzero(weight), held_out))
    np.testing.assert_array_equal(division.validation["valid_0"].X[:, 0], held_out)
    np.testing.assert_array_equal(division.validation["valid_0"].targets[:, 0], held_out)
    assert (division.validation["valid_0"].weights.each == 2).all()
    np.testing.assert_array_equal(division.probe.X[:, 0], division.members)
    assert (division.n_samples, division.n_measured) == (80, 60)


def test_the_probe_of_many_numbers_is_part_of_the_members(rng):
    division = divide(numbered(30, n_features=1 << 15), {}, 0.0, rng, None)
    np.testing.assert_array_equal(division.probe.X[:, 0], np.arange(0, 30, 4))
    assert division.validation == {}


@pytest.mark.parametrize("fraction", [0.0, 0.5])
def test_nothing_is_held_out_and_drawn_with_rows_to_validate_on(fraction, rng):
    eval_problem = numbered(200)
    before = rng.bit_generator.state
    division = divide(numbered(100), {"a": eval_problem}, fraction, rng, state_of(held_out=range(50)))
    assert division.validation["a"] is eval_problem
    assert division.held_out.size == 0
    assert (len(division.members), division.n_measured) == (100, 200)
    assert rng.bit_generator.state == before


def test_the_same_rows_are_held_out_where_training_goes_on(rng):
    state = state_of(held_out=range(3, 13))
    np.testing.assert_array_equal(divide(numbered(100), {}, 0.1, rng, state).held_out, np.arange(3, 13))
    assert not np.array_equal(divide(numbered(101), {}, 0.1, rng, state).held_out, np.arange(3, 13))
    assert divide(numbered(100), {}, 0.2, rng, state).held_out.size == 20


def test_few_rows_of_many_columns_are_held_out(rng):
    wide = Problem(np.broadcast_to(0.0, (40, 1 << 23)), np.zeros((40, 1)), RowWeights(40), 1)
    assert divide(wide._replace(X=wide.X[:, : 1 << 12]), {}, 0.5, rng, None).held_out.size == 20
    wide = Problem(np.broadcast_to(0.0, (40, 1 << 21)), np.zeros((40, 1)), RowWeights(40), 1)
    assert divide(wide, {}, 0.5, rng, None).held_out.size == 8
