"""Forward selection of basis vectors against its twin, rule by rule."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import DOUBLE, in_outputs
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rffkern._native.sparse import RULES, UNITS, Selector
from rffkern._rows.scaling import no_scaling
from rffkern._rows.tiles import pack

LAMBDA = 0.05


def selector(rule, n_features, capacity, n_candidates=60, reg_lambda=LAMBDA):
    smallest = 1e-2 if rule == "ald" else 1e-9
    return Selector(rule, capacity, n_features, 2.0, 0.1, reg_lambda, smallest, 1e-4, n_candidates, 2)


def choose(chooser, X, residual, n_wanted, weight=None, model=None):
    """Indices of the rows that are chosen, of X in its order."""
    n_rows, n_features = X.shape
    tiles, _ = pack(X, no_scaling(n_features)._replace(inverse_scale=np.full(n_features, UNITS[2])), DOUBLE, 1)
    weight = in_outputs(np.ones(n_rows) if weight is None else weight).reshape(-1)
    values = (in_outputs(residual), in_outputs(np.zeros(np.shape(residual)) if model is None else model))
    chosen = np.empty(n_wanted, np.intp)
    return chosen[: chooser.choose(tiles, n_rows, weight, *(value.reshape(len(value), -1) for value in values), chosen)]


@pytest.mark.parametrize("rule", sorted(RULES))
@settings(max_examples=max(10, settings.default.max_examples // 3))
@given(seed=st.integers(0, 2**32 - 1), n_wanted=st.integers(1, 12),
       n_rows=st.sampled_from([2, 3, 60, 127, 129, 300]), n_candidates=st.sampled_from([1, 3, 8, 60]),
       weighted=st.booleans(), reg_lambda=st.sampled_from([LAMBDA, 20.0]))
def test_rules(rule, seed, n_wanted, n_rows, n_candidates, weighted, reg_lambda):
    rng = np.random.default_rng(seed)
    X, target = 2 * rng.standard_normal((n_rows, 3)), rng.standard_normal(n_rows)
    weight = rng.uniform(0.2, 2, n_rows) if weighted else np.ones(n_rows)
    model = 0.1 * rng.standard_normal(n_rows)
    K = reference.gaussian_kernel(X, X, 1.0, 2.0, 0.1)
    expected = reference.select_basis(K, weight, target, model, np.arange(n_rows), rule, n_wanted, reg_lambda,
                                      n_looks=n_candidates)
    found = choose(selector(rule, 3, n_wanted, n_candidates, reg_lambda), X, target, n_wanted, weight, model)
    # Of two that are as good the one or the other may come first, by their last bits.
    assume(len(np.unique(np.round(np.abs(target), 9))) == n_rows)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rule", sorted(RULES))
@given(seed=st.integers(0, 2**32 - 1), n_outputs=st.integers(2, 4), weighted=st.booleans())
def test_rules_of_several_outputs(rule, seed, n_outputs, weighted):
    """What rules compare is added up over outputs: sums of squares, which rotations of outputs leave as they are."""
    rng = np.random.default_rng(seed)
    X, target = 2 * rng.standard_normal((90, 3)), rng.standard_normal((90, n_outputs))
    weight = rng.uniform(0.2, 2, 90) if weighted else np.ones(90)
    model = 0.1 * rng.standard_normal((90, n_outputs))
    K = reference.gaussian_kernel(X, X, 1.0, 2.0, 0.1)
    expected = reference.select_basis(K, weight, target, model, np.arange(90), rule, 7, LAMBDA, n_looks=8)
    found = choose(selector(rule, 3, 7, 8), X, target, 7, weight, model)
    np.testing.assert_array_equal(found, expected)
    rotation = np.linalg.qr(rng.standard_normal((n_outputs, n_outputs)))[0]
    turned = choose(selector(rule, 3, 7, 8), X, target @ rotation, 7, weight, model @ rotation)
    np.testing.assert_array_equal(turned, expected)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_choice_does_not_depend_on_those_before_it(rng, rule):
    X, residual = 2 * rng.standard_normal((50, 2)), rng.standard_normal(50)
    chooser = selector(rule, 2, 10, n_candidates=7)
    first = choose(chooser, X, residual, 10)
    chooser.reset()
    np.testing.assert_array_equal(choose(chooser, X, residual, 10), first)
    assert len(first) == 10


@pytest.mark.parametrize("rule", sorted(RULES))
def test_duplicates_are_skipped_and_counted(rng, rule):
    X = np.repeat(rng.standard_normal((5, 2)), 40, axis=0)[rng.permutation(200)]
    chooser = selector(rule, 2, 20, n_candidates=200)
    found = choose(chooser, X, rng.standard_normal(200), 20)
    assert len(found) <= 5
    assert len(np.unique(X[found], axis=0)) == len(found)
    if rule not in ("ald", "ran"):
        assert len(found) == 5
        assert chooser.n_skipped == 195


def test_ald_takes_what_is_not_approximated(rng):
    X = rng.uniform(0, 0.01, (100, 1))
    X[7], X[31] = 3.0, -3.0
    assert choose(selector("ald", 1, 10), X, rng.standard_normal(100), 10).tolist() == [0, 7, 31]


def test_ran_takes_nothing_where_nothing_is_gained(rng):
    assert len(choose(selector("ran", 2, 10), rng.standard_normal((100, 2)), np.zeros(100), 10)) == 0


def test_the_factor_is_that_of_the_gram_matrix(rng):
    X = rng.standard_normal((100, 4))
    chooser = selector("max-res", 4, 30)
    found = choose(chooser, X, rng.standard_normal(100), 30)
    gram = reference.gaussian_kernel(X[found], X[found], 1.0, 2.0, 0.1)
    np.testing.assert_allclose(np.tril(np.asarray(chooser.factor)), np.linalg.cholesky(gram), atol=1e-10)


def test_the_dictionary_grows_from_call_to_call_and_ends_at_its_capacity(rng):
    X, residual = rng.standard_normal((50, 2)), np.linspace(1, 2, 50)
    chooser = selector("max-res", 2, 3)
    assert choose(chooser, X, residual, 1).tolist() == [49]
    assert len(choose(chooser, X[49:], residual[49:], 1)) == 0  # a near-duplicate of the dictionary
    assert choose(chooser, X[:49], residual[:49], 1).tolist() == [48]
    assert chooser.n_basis == 2
    assert len(choose(chooser, X[:48], residual[:48], 2)) == 1
    assert len(choose(chooser, X[:40], residual[:40], 1)) == 0
    chooser.reset()
    assert chooser.n_basis == 0
    assert choose(chooser, X, residual, 1).tolist() == [49]


def test_the_last_vector_can_be_forgotten(rng):
    X, residual = rng.standard_normal((50, 2)), np.linspace(1, 2, 50)
    chooser = selector("max-res", 2, 3)
    choose(chooser, X, residual, 1)
    chooser.forget_last()
    assert choose(chooser, X, residual, 1).tolist() == [49]
    chooser.forget_last()
    chooser.forget_last()
    assert chooser.n_basis == 0
