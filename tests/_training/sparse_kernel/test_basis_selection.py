"""Samples of rows, and the base learners that selections propose on them."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import in_outputs, kernel_rows, make_settings

from rffkern._rows.weights import RowWeights
from rffkern._training.kernel_ridge.kernel import Kernel
from rffkern._training.sparse_kernel.basis_selection import Selection, row_draws

LAMBDA = 0.05


@pytest.fixture
def problem(rng):
    """A kernel, 200 rows, their kernel matrix, and a target and a residual at them."""
    X = rng.standard_normal((200, 3))
    kernel = Kernel(np.array([1.0, 2.0, 1.5]), 0.9, 0.1)
    K = reference.gaussian_kernel(X, X, kernel.length_scale, 0.9, 0.1)
    return kernel, X, K, *rng.standard_normal((2, 200))


def settings_of(kernel, **changes):
    return make_settings(kernel, **{"reg_lambda": LAMBDA} | changes)


@pytest.mark.parametrize(("size", "group_size", "keeps_dictionary"), [
    (5, None, False), (5, 1, False), (1, 1, False), (1, None, True), (1, 4, True)])
def test_single_vectors_of_coefficients_that_are_optimal_together_are_in_a_dictionary(problem, size, group_size,
                                                                                      keeps_dictionary):
    kernel, X, _, target, _ = problem
    selection = Selection(settings_of(kernel, basis_size=size, group_size=group_size), kernel_rows(X, kernel))
    selection.propose(np.arange(200), in_outputs(target), in_outputs(target))
    assert len(selection.state()[1]) == keeps_dictionary


@pytest.mark.parametrize("weighted", [False, True])
def test_a_set_is_combined_along_the_gradient(rng, problem, weighted):
    """(24) and (25), of length 1 in the space of the kernel."""
    kernel, X, K, target, residual = problem
    weight = rng.uniform(0.1, 2, 200) if weighted else np.ones(200)
    selection = Selection(settings_of(kernel, basis_size=7), kernel_rows(X, kernel, weight))
    proposal = selection.propose(np.arange(0, 200, 2), in_outputs(target), in_outputs(residual))
    indices, weights, before = proposal[0][0]
    assert len(set(indices)) == 7
    assert (indices % 2 == 0).all()
    assert before.size == 0
    u = K[indices] @ (weight * residual) - LAMBDA * (target - residual)[indices]
    expected = np.linalg.solve(K[np.ix_(indices, indices)], u)
    np.testing.assert_allclose(weights, expected / np.sqrt(u @ expected), rtol=1e-6)
    np.testing.assert_allclose(weights @ K[np.ix_(indices, indices)] @ weights, 1, rtol=1e-9)


def test_a_set_does_not_depend_on_those_before_it(problem):
    kernel, X, _, target, residual = problem
    selection = Selection(settings_of(kernel), kernel_rows(X, kernel))
    found = [selection.propose(np.arange(200), in_outputs(target), in_outputs(residual)) for _ in range(2)]
    np.testing.assert_array_equal(found[0][0][0].indices, found[1][0][0].indices)
    np.testing.assert_array_equal(found[0][0][0].weights, found[1][0][0].weights)


def test_nothing_is_proposed_without_a_residual(problem):
    kernel, X, *_ = problem
    selection = Selection(settings_of(kernel), kernel_rows(X, kernel))
    assert selection.propose(np.arange(200), np.zeros((1, 2, 128)), np.zeros((1, 2, 128))) is None


@pytest.mark.parametrize(("group_size", "capacity"), [(1, 1), (None, 50)])
def test_single_vectors_are_selected_once(problem, group_size, capacity):
    kernel, X, _, target, _ = problem
    X, target = X[:40], target[:40]
    settings = settings_of(kernel, basis_size=1, group_size=group_size, capacity=capacity)
    selection = Selection(settings, kernel_rows(X, kernel))
    taken = [selection.propose(np.arange(40), in_outputs(target), in_outputs(target))[0][0].indices[-1]
             for _ in range(10)]
    assert taken == np.argsort(-np.abs(target))[:10].tolist()
    assert selection.n_skipped == 0  # those before are not looked at again
    assert selection.propose(np.array(taken), in_outputs(target), in_outputs(target)) is None


def test_a_single_vector_alone(problem):
    kernel, X, _, target, _ = problem
    selection = Selection(settings_of(kernel, basis_size=1, group_size=1, capacity=1), kernel_rows(X, kernel))
    learner = selection.propose(np.arange(200), in_outputs(target), in_outputs(target))[0][0]
    assert len(learner.indices) == 1
    assert np.abs(learner.weights).tolist() == [1.0]


def test_vectors_of_a_dictionary_make_orthonormal_learners(problem):
    kernel, X, K, target, residual = problem
    selection = Selection(settings_of(kernel, basis_size=1, capacity=9), kernel_rows(X, kernel))
    A, columns = np.zeros((200, 9)), []
    for m in range(9):
        proposal = selection.propose(np.arange(200), in_outputs(target), in_outputs(residual))
        A[proposal[0][0].indices, m] = proposal[0][0].weights
        assert len(proposal[0][0].before) == m
        column = proposal[0][0].weights[-1] * K[proposal[0][0].indices[-1]]
        columns.append(column - sum(f * c for f, c in zip(proposal[0][0].before, columns, strict=True)))
    np.testing.assert_allclose(A.T @ K @ A, np.eye(9), atol=1e-9)
    np.testing.assert_allclose(np.array(columns).T, K @ A, atol=1e-9)


def test_a_vector_that_is_refused_leaves_the_dictionary(problem):
    kernel, X, K, target, residual = problem
    selection = Selection(settings_of(kernel, basis_size=1), kernel_rows(X, kernel))
    first, refused = (selection.propose(np.arange(200), in_outputs(target), in_outputs(residual)) for _ in range(2))
    selection.refuse()
    third = selection.propose(np.arange(200), in_outputs(target), in_outputs(residual))
    assert third[0][0].indices[0] == first[0][0].indices[0]
    assert third[0][0].indices[1] != refused[0][0].indices[1]
    assert len(third[0][0].indices) == 2
    gram = K[np.ix_(third[0][0].indices, third[0][0].indices)]
    np.testing.assert_allclose(third[0][0].weights @ gram @ third[0][0].weights, 1, rtol=1e-9)


@pytest.mark.parametrize(("rule", "dtype", "threshold"), [
    ("ald", np.float64, 1e-2), ("max-res", np.float64, 1e-9), ("max-res", np.float32, 1e-4)])
@pytest.mark.parametrize("share", [0.6, 1.6])
def test_the_distance_below_which_a_vector_depends_on_those_before_it(rule, dtype, threshold, share):
    """As a share of k(x, x) = 1, of its squared distance 1 - k(x, z)^2 from another vector."""
    kernel = Kernel(np.ones(1), 1.0, 0.0)
    X = np.array([[0.0], [np.sqrt(-np.log1p(-share * threshold))]])
    rows = kernel_rows(X, kernel, dtype=dtype)
    selection = Selection(settings_of(kernel, basis_size=2, rule=rule), rows)
    found = selection._choose(np.arange(2), *np.array([[[2.0, 1.0]]] * 2))
    assert len(found) == (1 if share < 1 else 2)


def test_near_duplicates_are_counted(rng):
    X = np.repeat(rng.standard_normal((5, 2)), 40, axis=0)
    kernel = Kernel(np.ones(2), 1.0, 0.0)
    selection = Selection(settings_of(kernel, basis_size=20), kernel_rows(X, kernel))
    values = in_outputs(rng.standard_normal(200))
    assert len(selection.propose(np.arange(200), values, values)[0][0].indices) == 5
    assert selection.n_skipped == 195


@pytest.mark.parametrize("rule", ["max-res", "mp", "random"])
def test_near_duplicates_of_a_dictionary_are_met_once(rng, rule):
    """Which made some fits fifty times as long: most candidates of each round had been skipped in all before."""
    X = np.repeat(rng.standard_normal((5, 2)), 40, axis=0)
    kernel = Kernel(np.ones(2), 1.0, 0.0)
    selection = Selection(settings_of(kernel, rule=rule, basis_size=1, group_size=None, capacity=50),
                          kernel_rows(X, kernel))
    values, n_found = in_outputs(rng.standard_normal(200)), 0
    while selection.propose(np.arange(200), values, values) is not None:
        n_found += 1
    assert n_found == 5
    assert selection.n_skipped == 195


def test_samples(rng):
    drawn = row_draws(RowWeights(1000), 50, rng)()
    assert len(np.unique(drawn)) == 50
    assert drawn.tolist() != sorted(drawn)
    assert sorted(row_draws(RowWeights(30), 31, rng)()) == list(range(30))
    some = RowWeights(30, (np.arange(30) % 2).astype(float))
    assert sorted(row_draws(some, 15, rng)()) == list(range(1, 30, 2))


def test_samples_by_weight(rng):
    weight = np.zeros(1000)
    weight[[3, 500]], weight[800:] = 100, 1e-3
    counts = np.zeros(1000)
    draw = row_draws(RowWeights(1000, weight), 50, rng)
    for _ in range(300):
        drawn = draw()
        assert len(np.unique(drawn)) == len(drawn)
        counts[drawn] += 1
    assert counts[[3, 500]].min() == 300
    assert counts[weight == 0].sum() == 0
    assert 0 < counts[800:].sum() < 150  # expected: 300 x 50 x 0.2 / 200.2 = 15
