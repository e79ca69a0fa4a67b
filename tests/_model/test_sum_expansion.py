"""Sums of terms and kernels: scores are those of both parts, and what is refused."""

import pickle

import numpy as np
import pytest
from helpers.expansions import kernel_expansion, with_kernels
from helpers.expansions import small_expansion as terms_like

from rffkern import Expansion, InvalidInputError, load, save


def parts(n_outputs=2, n_features=4, n_centers=300):
    rng = np.random.default_rng(5)
    centers, weights = rng.standard_normal((n_centers, n_features)), rng.standard_normal((n_centers, n_outputs))
    kernels = kernel_expansion(centers, weights, np.zeros(n_outputs), rng.uniform(0, 1, n_features), [1.0])
    return terms_like(n_outputs), kernels


@pytest.mark.parametrize("n", [1, 3, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_sum_of_those_of_the_parts(n, dtype):
    terms, kernels = parts()
    both, X = with_kernels(terms, kernels), np.random.default_rng(0).standard_normal((n, 4)).astype(dtype)
    expected = terms.score(X) + kernels.score(X)
    for _ in range(2):  # few rows are scored in another way once some have been
        np.testing.assert_array_equal(both.score(X), expected)
        plain = both._scorer.score_few(X)
        assert plain is None or (plain == expected).all()
    np.testing.assert_array_equal(both._scorer.score_tiles(X[:, :, None], n, None), expected)
    assert (np.abs(expected) <= both._bound()).all()


def test_it_is_the_same_from_its_arrays_and_from_a_file(tmp_path):
    terms, kernels = parts()
    both, X = with_kernels(terms, kernels), np.random.default_rng(0).standard_normal((50, 4))
    assert (both.n_terms, both.n_features, both.n_outputs) == (terms.n_terms + 300, 4, 2)
    save(both, tmp_path / "e")
    for again in (Expansion._of_arrays(both.arrays()), pickle.loads(pickle.dumps(both)), load(tmp_path / "e")):
        assert {name: array.tobytes() for name, array in again.arrays().items()} == {
            name: array.tobytes() for name, array in both.arrays().items()}
        np.testing.assert_array_equal(again.score(X), both.score(X))


def test_the_sum_of_two():
    terms, kernels = parts()
    X = np.random.default_rng(1).standard_normal((50, 4))
    for one, two in ((terms, kernels), (kernels, terms), (terms, terms), (kernels, kernels)):
        np.testing.assert_allclose((one + two).score(X), one.score(X) + two.score(X), atol=1e-11)
    assert {part.kind for part in (terms + kernels).parts} == {"fourier", "linear", "trees", "kernels"}
    bounded = Expansion(terms.intercept, terms.center, *terms.parts, lower=[-1] * 4, upper=[1] * 4)
    np.testing.assert_allclose((bounded + bounded).score(X), 2 * bounded.score(X), atol=1e-12)


def test_what_cannot_be_added():
    terms, kernels = parts()
    with pytest.raises(InvalidInputError, match="numbers of features and outputs to be added, got 4 and 2, 4 and 1"):
        terms + parts(1)[1]
    other = Expansion._of_arrays(terms.arrays() | {"center": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(InvalidInputError, match="must have the same center"):
        terms + other
    with pytest.raises(InvalidInputError, match="must have the same bounds"):
        terms + Expansion(terms.intercept, terms.center, *terms.parts, lower=[-1] * 4, upper=[1] * 4)
    longer = Expansion._of_arrays(kernels.arrays() | {"inverse_length_scales": [1.0] * 4})
    with pytest.raises(InvalidInputError, match="same length scales"):
        kernels + longer
    with pytest.raises(TypeError):
        terms + 1


def test_what_makes_no_expansion():
    terms, kernels = parts()
    with pytest.raises(InvalidInputError, match="at most one of each kind"):
        Expansion(terms.intercept, terms.center, terms.fourier, terms.fourier)
    with pytest.raises(InvalidInputError, match="kernels must have the 1 outputs of intercept, got 2"):
        Expansion([0.0], kernels.center, kernels.kernels)
    with pytest.raises(InvalidInputError, match="exponent must be"):
        Expansion._of_arrays(with_kernels(terms, kernels).arrays() | {"exponent": [3.0]})
    with pytest.raises(AttributeError, match="immutable"):
        with_kernels(terms, kernels).fourier = None


def test_terms_that_are_taken_and_what_they_read():
    """Cosines, then trees, then kernels, by their indices."""
    terms, kernels = parts(n_centers=5)
    both, X = with_kernels(terms, kernels), np.random.default_rng(0).standard_normal((20, 4))
    every = sum(both._take(np.array([k])).score(X) for k in range(both.n_terms))
    np.testing.assert_allclose(both.intercept + both._only("linear").score(X) + every, both.score(X), atol=1e-11)
    reads = both._reads()
    assert reads.shape == (both.n_terms, 4)
    for k in range(both.n_terms):
        moved = X.copy()
        moved[:, ~reads[k]] += 1
        np.testing.assert_array_equal(both._take(np.array([k])).score(moved), both._take(np.array([k])).score(X))


@pytest.mark.parametrize(("terms_are_small", "kernels_are_small"), [(True, True), (True, False), (False, True)])
def test_single_precision_must_suffice_for_both(terms_are_small, kernels_are_small):
    terms, kernels = parts()
    amplitudes = terms.fourier.amplitudes * (1 if terms_are_small else 1e31)
    weights = kernels.kernels.weights * (1 if kernels_are_small else 1e31)
    both = with_kernels(Expansion._of_arrays(terms.arrays() | {"amplitudes": amplitudes}),
                        Expansion._of_arrays(kernels.arrays() | {"weights": weights}))
    assert all(both._scorer.fits) == (terms_are_small and kernels_are_small)
