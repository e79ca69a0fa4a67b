"""Packing and scoring against NumPy."""

import numpy as np
import pytest
import reference
from helpers.packing import DTYPES, SIZES
from hypothesis import given
from hypothesis import strategies as st

from rffkern import FourierExpansion
from rffkern._data.scaling import measure_scaling
from rffkern._data.tiles import pack
from rffkern._gbrff.packed_rows import Rows
from rffkern._kernels import packing


def random_expansion(rng, n_terms, n_features, n_outputs):
    return FourierExpansion(rng.standard_normal((n_terms, n_features)), rng.uniform(-np.pi, np.pi, n_terms),
                            rng.standard_normal((n_terms, n_outputs)), rng.standard_normal(n_outputs),
                            rng.standard_normal(n_features))


@given(st.integers(0, 2**32 - 1), st.sampled_from(SIZES), st.integers(1, 9), st.integers(0, 40), st.integers(1, 3),
       st.sampled_from(DTYPES))
def test_score(seed, n_samples, n_features, n_terms, n_outputs, dtype):
    rng = np.random.default_rng(seed)
    expansion = random_expansion(rng, n_terms, n_features, n_outputs)
    X = rng.standard_normal((n_samples, n_features)).astype(dtype)
    expected = reference.score(X.astype(np.float64), expansion.center, expansion.omegas, expansion.phases,
                               expansion.amplitudes, expansion.intercept)
    np.testing.assert_allclose(expansion.score(X), expected, rtol=0,
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
    wave = FourierExpansion([[1.0]], [0.0], [[1.0]], [0.0], [0.0])
    theta = np.linspace(-20, 20, 100_001).astype(dtype)
    error = np.abs(wave.score(theta[:, None])[:, 0] - np.cos(theta.astype(np.float64)))
    assert (error <= np.finfo(dtype).eps * (1 + np.abs(theta))).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_levels_agree(level, rng, dtype):
    expansion, X = random_expansion(rng, 100, 20, 1), rng.standard_normal((500, 20)).astype(dtype)
    expected = reference.score(X.astype(np.float64), *(getattr(expansion, name) for name in
                                                       ("center", "omegas", "phases", "amplitudes", "intercept")))
    np.testing.assert_allclose(expansion.score(X), expected, atol=1e-4 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("value", [1e300, -1e300, 1e17, np.finfo(np.float64).max / 4])
def test_absurd_rows_score_within_the_sum_of_amplitudes(rng, value):
    """Angles beyond what a float resolves count as zero: a finite row never scores nan or out of range."""
    expansion = random_expansion(rng, 20, 3, 1)
    scores = expansion.score(np.array([[value, -value, value], [value, 0.0, 0.0]]))
    assert np.isfinite(scores).all()
    assert (np.abs(scores - expansion.intercept) <= np.abs(expansion.amplitudes).sum() + 1e-9).all()


def test_years_in_single_precision(rng):
    """A large mean is taken off before the product: single precision keeps its digits on a column of years."""
    expansion = FourierExpansion([[3.0]], [0.2], [[1.0]], [0.0], [2000.0])
    years = (2000 + rng.integers(-50, 50, 200))[:, None]
    np.testing.assert_allclose(expansion.score(years.astype(np.float32)), expansion.score(years.astype(np.float64)),
                               atol=2e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_packing(rng, source, dtype):
    X = (5 + 3 * rng.standard_normal((300, 7))).astype(source)
    X[:, 2] = 4
    scaling = measure_scaling(X)
    rows = Rows(X, scaling, None, dtype, 1)
    packed = rows.store.tiles.transpose(0, 2, 1).reshape(-1, 7)
    spread = X.astype(np.float64).std(axis=0)
    spread[2] = np.inf
    expected = (X - X.astype(np.float64).mean(axis=0)) / spread
    np.testing.assert_allclose(packed[:300], expected, atol=1e-5 if np.float32 in (source, dtype) else 1e-12)
    assert not packed[300:].any()
    assert rows.store.largest_length == pytest.approx(np.sqrt((expected**2).sum(axis=1)).max(), rel=1e-5)


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_scaling_at_the_ends_of_the_range(rng, unit):
    X = rng.standard_normal((500, 3)) + np.array([0, 5, -5])
    scaling = measure_scaling(X * unit)
    np.testing.assert_allclose(scaling.center, X.mean(axis=0) * unit, rtol=1e-9)
    np.testing.assert_allclose(scaling.inverse_scale, 1 / X.std(axis=0) / unit, rtol=1e-9)


def test_a_spread_whose_inverse_would_overflow_counts_as_none(rng):
    scaling = measure_scaling(rng.standard_normal((50, 2)) * np.array([1e-307, 1.0]))
    assert scaling.inverse_scale[0] == 0
    assert scaling.inverse_scale[1] == pytest.approx(1, rel=0.3)


def test_weighted_scaling_is_that_of_repeated_rows(rng):
    X, repeats = rng.standard_normal((60, 4)), rng.integers(1, 5, 60)
    weighted, repeated = measure_scaling(X, repeats.astype(float)), measure_scaling(np.repeat(X, repeats, axis=0))
    np.testing.assert_allclose(weighted.center, repeated.center, atol=1e-14)
    np.testing.assert_allclose(weighted.inverse_scale, repeated.inverse_scale, rtol=1e-12)


@given(st.sampled_from(DTYPES), st.integers(1, 70), st.integers(0, 69),
       st.sampled_from([np.nan, np.inf, -np.inf, -3.5]))
def test_find_unbounded(dtype, size, place, bad):
    values = np.linspace(-2, 2, size).astype(dtype)
    assert packing.find_unbounded(values, 2.0) == -1
    values[place % size] = bad
    values[size - 1] = values[size - 1] if place % 2 else np.nan
    wrong = ~(np.abs(values) <= 2)
    assert packing.find_unbounded(values, 2.0) == (np.argmax(wrong) if wrong.any() else -1)


@given(st.sampled_from(DTYPES), st.sampled_from(SIZES), st.integers(1, 9), st.booleans(), st.integers(0, 2**32 - 1))
def test_columns(dtype, n_samples, n_features, weighted, seed):
    """Ranges exactly, moments up to rounding, for any number of threads the same."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features)).astype(dtype)
    weight = rng.uniform(0, 2, n_samples) if weighted else np.empty(0)
    unit, center = rng.uniform(0.5, 2, n_features), rng.standard_normal(n_features)
    n_blocks = -(-n_samples // packing.ROW_BLOCK)
    low, high = np.empty((2, n_blocks, n_features))
    packing.column_range(X, low, high, 2)
    np.testing.assert_array_equal(low.min(axis=0), X.min(axis=0))
    np.testing.assert_array_equal(high.max(axis=0), X.max(axis=0))
    for power in (1, 2):
        one, three = np.empty((2, n_blocks, n_features))
        packing.column_moments(X, unit, center, weight, power, one, 1)
        packing.column_moments(X, unit, center, weight, power, three, 3)
        np.testing.assert_array_equal(one, three)
        terms = (X * unit - center) ** power * (weight[:, None] if weighted else 1)
        np.testing.assert_allclose(one.sum(axis=0), terms.sum(axis=0), rtol=0, atol=1e-12 * np.abs(terms).sum())


@pytest.mark.parametrize("dtype", DTYPES)
def test_packing_in_an_order(rng, dtype):
    X, order = rng.standard_normal((3000, 5)), rng.permutation(3000)
    scaling = measure_scaling(X)
    tiles, length = pack(X, scaling, np.dtype(dtype), 2, order)
    straight, same_length = pack(X[order], scaling, np.dtype(dtype), 1)
    np.testing.assert_array_equal(tiles, straight)
    assert length == same_length
