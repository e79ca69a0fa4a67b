"""Scores of Fourier expansions against NumPy, for many rows and few."""

import numpy as np
import pytest
import reference
from helpers.expansions import fourier_expansion, kernel_expansion
from helpers.packing import DTYPES, SIZES
from hypothesis import given, settings
from hypothesis import strategies as st


def random_expansion(rng, n_terms, n_features, n_outputs):
    return fourier_expansion(rng.standard_normal((n_terms, n_features)), rng.uniform(-np.pi, np.pi, n_terms),
                            rng.standard_normal((n_terms, n_outputs)), rng.standard_normal(n_outputs),
                            rng.standard_normal(n_features))


@given(st.integers(0, 2**32 - 1), st.sampled_from(SIZES), st.integers(1, 9), st.integers(0, 40), st.integers(1, 3),
       st.sampled_from(DTYPES))
def test_score(seed, n_samples, n_features, n_terms, n_outputs, dtype):
    rng = np.random.default_rng(seed)
    expansion = random_expansion(rng, n_terms, n_features, n_outputs)
    X = rng.standard_normal((n_samples, n_features)).astype(dtype)
    expected = reference.score(X.astype(np.float64), expansion.center, *list(expansion.fourier.arrays().values())[:2],
                               expansion.fourier.amplitudes, expansion.intercept)
    np.testing.assert_allclose(expansion.score(X), expected, rtol=0,
                               atol=(2e-5 if dtype is np.float32 else 1e-12) * (1 + n_terms))


@settings(max_examples=max(10, settings.default.max_examples // 3))
@given(st.integers(0, 2**32 - 1), st.sampled_from(SIZES[:-1]), st.sampled_from([1, 2, 9, 200]), st.integers(0, 40),
       st.integers(1, 3), st.sampled_from(DTYPES))
def test_score_of_kernels(seed, n_samples, n_features, n_terms, n_outputs, dtype):
    """Narrow rows fill tiles, of wide ones a few do."""
    rng = np.random.default_rng(seed)
    expansion = kernel_expansion(rng.standard_normal((n_terms, n_features)), rng.standard_normal((n_terms, n_outputs)),
                                rng.standard_normal(n_outputs), rng.uniform(0.1, 1, n_features) / n_features**0.5)
    X = rng.standard_normal((n_samples, n_features)).astype(dtype)
    middles = expansion.kernels.centers[np.arange(n_samples) % max(1, n_terms)] if n_terms else X
    X = (X + middles).astype(dtype)
    kernels = expansion.kernels
    K = np.exp(-0.5 * (((X[:, None].astype(np.float64) - kernels.centers) * kernels.inverse_length_scales) ** 2)
               .sum(axis=2))
    np.testing.assert_allclose(expansion.score(X), expansion.intercept + K @ expansion.kernels.weights, rtol=0,
                               atol=(2e-5 if dtype is np.float32 else 1e-12) * (1 + n_terms))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_scores_the_same_bits_alone_and_in_company(rng, dtype):
    expansion, X = random_expansion(rng, 37, 11, 2), rng.standard_normal((700, 11)).astype(dtype)
    together = expansion.score(X)
    alone = np.concatenate([expansion.score(X[i : i + 1]) for i in range(0, 700, 7)])
    np.testing.assert_array_equal(together[::7], alone)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cosine_to_the_last_digits(level, dtype):
    """Over several turns the error is that of rounding the angle, eps |theta|, and no more."""
    wave = fourier_expansion([[1.0]], [0.0], [[1.0]], [0.0], [0.0])
    theta = np.linspace(-20, 20, 100_001).astype(dtype)
    error = np.abs(wave.score(theta[:, None])[:, 0] - np.cos(theta.astype(np.float64)))
    assert (error <= np.finfo(dtype).eps * (1 + np.abs(theta))).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_levels_agree(level, rng, dtype):
    expansion, X = random_expansion(rng, 100, 20, 1), rng.standard_normal((500, 20)).astype(dtype)
    expected = reference.score(X.astype(np.float64), *(expansion.arrays()[name] for name in
                                                       ("center", "omegas", "phases", "amplitudes", "intercept")))
    np.testing.assert_allclose(expansion.score(X), expected, atol=1e-4 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("value", [1e300, -1e300, 1e17, np.finfo(np.float64).max / 4])
def test_absurd_rows_score_within_the_sum_of_amplitudes(rng, value):
    """Angles beyond what a float resolves count as zero: a finite row never scores nan or out of range."""
    expansion = random_expansion(rng, 20, 3, 1)
    scores = expansion.score(np.array([[value, -value, value], [value, 0.0, 0.0]]))
    assert np.isfinite(scores).all()
    assert (np.abs(scores - expansion.intercept) <= np.abs(expansion.fourier.amplitudes).sum() + 1e-9).all()


def test_years_in_single_precision(rng):
    """A large mean is taken off before the product: single precision keeps its digits on a column of years."""
    expansion = fourier_expansion([[3.0]], [0.2], [[1.0]], [0.0], [2000.0])
    years = (2000 + rng.integers(-50, 50, 200))[:, None]
    np.testing.assert_allclose(expansion.score(years.astype(np.float32)), expansion.score(years.astype(np.float64)),
                               atol=2e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n_terms", "n_outputs", "n_features"), [(1, 1, 1), (5, 3, 7), (70, 4, 33), (300, 1, 150)])
def test_a_row_alone_has_the_bits_it_has_among_others(level, dtype, n_terms, n_outputs, n_features):
    rng = np.random.default_rng(n_terms)
    amplitudes = rng.standard_normal((n_terms, n_outputs)) * (rng.random((n_terms, n_outputs)) < 0.6)
    expansion = fourier_expansion(rng.standard_normal((n_terms, n_features)), rng.uniform(-3, 3, n_terms), amplitudes,
                                 rng.standard_normal(n_outputs), rng.standard_normal(n_features))
    X = rng.standard_normal((200, n_features)).astype(dtype)
    together = expansion.score(X)
    for size in (1, 3, 7, 8, 33):
        np.testing.assert_array_equal(np.vstack([expansion.score(X[i : i + size]) for i in range(0, 200, size)]),
                                      together)
