"""Sums of terms and kernels: scores are those of both parts, and what is refused."""

import pickle

import numpy as np
import pytest
from helpers.boosted_terms import expansion as terms_like

from rffkern import InvalidInputError, KernelExpansion, SumExpansion, load, save


def parts(n_outputs=2, n_features=4, n_centers=300):
    rng = np.random.default_rng(5)
    kernels = KernelExpansion(rng.standard_normal((n_centers, n_features)), rng.standard_normal((n_centers, n_outputs)),
                              np.zeros(n_outputs), rng.uniform(0, 1, n_features), [1.0])
    return terms_like(n_outputs), kernels


@pytest.mark.parametrize("n", [1, 3, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_sum_of_those_of_the_parts(n, dtype):
    terms, kernels = parts()
    both, X = SumExpansion.of(terms, kernels), np.random.default_rng(0).standard_normal((n, 4)).astype(dtype)
    expected = terms.score(X) + kernels.score(X)
    for _ in range(2):  # few rows are scored in another way once some have been
        np.testing.assert_array_equal(both.score(X), expected)
        plain = both.score_plain(X)
        assert plain is None or (plain == expected).all()
    np.testing.assert_array_equal(both.score_tiles(X[:, :, None], n), expected)
    assert (np.abs(expected) <= both.bound()).all()


def test_it_is_the_same_from_its_arrays_and_from_a_file(tmp_path):
    terms, kernels = parts()
    both, X = SumExpansion.of(terms, kernels), np.random.default_rng(0).standard_normal((50, 4))
    assert (both.n_terms, both.n_features, both.n_outputs) == (terms.n_terms + 300, 4, 2)
    save(both, tmp_path / "e")
    for again in (SumExpansion(**both.arrays()), pickle.loads(pickle.dumps(both)), load(tmp_path / "e")):
        assert type(again) is SumExpansion
        assert {name: array.tobytes() for name, array in again.arrays().items()} == {
            name: array.tobytes() for name, array in both.arrays().items()}
        np.testing.assert_array_equal(again.score(X), both.score(X))


def test_no_part_may_differ_in_shape_or_have_a_second_intercept():
    terms, kernels = parts()
    with pytest.raises(InvalidInputError, match=r"terms and kernels must agree.*got \(4, 2\) and \(4, 1\)"):
        SumExpansion.of(terms, parts(1)[1])
    with pytest.raises(InvalidInputError, match=r"kernels must have an intercept of 0, got \[1.0, 0.0\]"):
        SumExpansion.of(terms, KernelExpansion(**kernels.arrays() | {"intercept": [1.0, 0.0]}))
    with pytest.raises(InvalidInputError, match="exponent must be"):
        SumExpansion(**SumExpansion.of(terms, kernels).arrays() | {"exponent": [3.0]})
    with pytest.raises(AttributeError, match="immutable"):
        SumExpansion.of(terms, kernels).terms = terms


@pytest.mark.parametrize(("terms_are_small", "kernels_are_small"), [(True, True), (True, False), (False, True)])
def test_single_precision_must_suffice_for_both(terms_are_small, kernels_are_small):
    terms, kernels = parts()
    amplitudes = terms.amplitudes * (1 if terms_are_small else 1e31)
    weights = kernels.weights * (1 if kernels_are_small else 1e31)
    both = SumExpansion.of(type(terms)(**terms.arrays() | {"amplitudes": amplitudes}),
                           KernelExpansion(**kernels.arrays() | {"weights": weights}))
    assert both.fits_single() == (terms_are_small and kernels_are_small)
