"""Forward selection of basis vectors against its twin, rule by rule."""

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st

from rffkern._data.scaling import Scaling
from rffkern._kernels.sparse_columns import UNIT
from rffkern._kernels.sparse_selection import RULES
from rffkern._sparse.basis import BasisSelection, Subsets
from rffkern._sparse.kernel import GaussianKernel
from rffkern._sparse.packed_rows import KernelRows

LAMBDA = 0.05


def kernel_rows(X, weight=None):
    scaling = Scaling(np.zeros(X.shape[1]), np.full(X.shape[1], UNIT), 1.0)
    return KernelRows(X, scaling, weight, np.float64, 1)


def selection(rule, n_features, n_wanted, capacity=50, n_candidates=60):
    return BasisSelection(rule, GaussianKernel(np.ones(n_features), 2.0, 0.1), LAMBDA, n_wanted, capacity, n_candidates)


@given(seed=st.integers(0, 2**32 - 1), rule=st.sampled_from(sorted(RULES)), n_wanted=st.integers(1, 12),
       n_rows=st.sampled_from([2, 3, 60, 127, 129, 300]), n_candidates=st.sampled_from([1, 3, 8, 60]),
       weighted=st.booleans())
def test_rules(seed, rule, n_wanted, n_rows, n_candidates, weighted):
    rng = np.random.default_rng(seed)
    X, target = 2 * rng.standard_normal((n_rows, 3)), rng.standard_normal(n_rows)
    weight = rng.uniform(0.2, 2, n_rows) if weighted else np.ones(n_rows)
    pull = 0.1 * rng.standard_normal(n_rows) if n_wanted == 1 else np.zeros(n_rows)
    order = rng.permutation(n_rows)
    K = reference.gaussian_kernel(X, X, 1.0, 2.0, 0.1)
    expected = reference.select_basis(K, weight, target, pull, order, rule, n_wanted, LAMBDA, n_looks=n_candidates)
    found = selection(rule, 3, n_wanted, n_candidates=n_candidates).choose(kernel_rows(X, weight), order, target[order],
                                                                            pull[order])
    # Of two that are as good the one or the other may come first, by their last bits.
    assume(len(np.unique(np.round(np.abs(target), 9))) == n_rows)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_duplicates_are_skipped_and_counted(rng, rule):
    X = np.repeat(rng.standard_normal((5, 2)), 40, axis=0)
    chooser = selection(rule, 2, 20, n_candidates=200)
    found = chooser.choose(kernel_rows(X), rng.permutation(200), rng.standard_normal(200), np.zeros(200))
    assert len(found) <= 5
    assert len(np.unique(X[found], axis=0)) == len(found)
    if rule not in ("ald", "ran"):
        assert len(found) == 5
        assert chooser.n_skipped == 195


def test_alone_a_vector_differs_from_all_before_it(rng):
    """With one basis vector for a learner the dictionary is that of the model, until it is reset."""
    X = rng.standard_normal((40, 2))
    chooser, rows, target = selection("max-res", 2, 1), kernel_rows(X), rng.standard_normal(40)
    taken = [chooser.choose(rows, np.arange(40), target, np.zeros(40))[0] for _ in range(10)]
    assert taken == np.argsort(-np.abs(target))[:10].tolist()
    assert chooser.n_skipped == 0  # those before are not looked at again
    chooser.reset()
    assert chooser.choose(rows, np.arange(40), target, np.zeros(40))[0] == taken[0]


def test_ald_takes_what_is_not_approximated(rng):
    X = rng.uniform(0, 0.01, (100, 1))
    X[7], X[31] = 3.0, -3.0
    found = selection("ald", 1, 10).choose(kernel_rows(X), np.arange(100), rng.standard_normal(100), np.zeros(100))
    assert found.tolist() == [0, 7, 31]


def test_ran_takes_nothing_where_nothing_is_gained(rng):
    X = rng.standard_normal((100, 2))
    assert len(selection("ran", 2, 10).choose(kernel_rows(X), np.arange(100), np.zeros(100), np.zeros(100))) == 0


def test_the_factor_is_that_of_the_gram_matrix(rng):
    X = rng.standard_normal((100, 4))
    chooser = selection("max-res", 4, 30)
    found = chooser.choose(kernel_rows(X), np.arange(100), rng.standard_normal(100), np.zeros(100))
    gram = reference.gaussian_kernel(X[found], X[found], 1.0, 2.0, 0.1)
    np.testing.assert_allclose(np.tril(chooser.factor()), np.linalg.cholesky(gram), atol=1e-10)


def test_subsets(rng):
    drawn = Subsets(1000, 50, np.ones(1000), rng).draw()
    assert len(np.unique(drawn)) == 50
    assert drawn.tolist() != sorted(drawn)
    assert sorted(Subsets(30, None, np.ones(30), rng).draw()) == list(range(30))
    assert Subsets(30, None, np.ones(30), rng).holds_all
    assert not Subsets(30, 29, np.ones(30), rng).holds_all
    weight = np.zeros(1000)
    weight[[3, 500]], weight[800:] = 100, 1e-3
    counts = np.zeros(1000)
    subsets = Subsets(1000, 50, weight, rng)
    for _ in range(300):
        drawn = subsets.draw()
        assert len(np.unique(drawn)) == len(drawn)
        counts[drawn] += 1
    assert counts[[3, 500]].min() == 300
    assert counts[weight == 0].sum() == 0
    assert 0 < counts[800:].sum() < 150  # expected: 300 x 50 x 0.2 / 200.2 = 15
