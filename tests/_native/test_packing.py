"""Packing, ranges and moments against NumPy."""

import numpy as np
import pytest
from helpers.packing import DTYPES, SIZES, padded_size
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import scoring

NO_ORDER = np.empty(0, np.intp)


def pack(X, center, inverse_scale, dtype, n_threads, order=NO_ORDER):
    """Rows (n_rows padded, n_features) as they stand in tiles, and the largest squared length of each tile."""
    n_tiles = padded_size(len(X), scoring.TILE_ROWS) // scoring.TILE_ROWS
    tiles = np.full((n_tiles, X.shape[1], scoring.TILE_ROWS), np.nan, dtype)
    lengths = np.full(n_tiles, np.nan)
    scoring.pack_rows(X, order, center, inverse_scale, tiles, lengths, n_threads)
    return tiles.transpose(0, 2, 1).reshape(-1, X.shape[1]), lengths


@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES), st.sampled_from(SIZES), st.integers(1, 9),
       st.integers(0, 2**32 - 1))
def test_packing(source, dtype, n_samples, n_features, seed):
    rng = np.random.default_rng(seed)
    X = (5 + 3 * rng.standard_normal((n_samples, n_features))).astype(source)
    center, inverse_scale = rng.standard_normal(n_features), rng.uniform(0, 2, n_features)
    inverse_scale[0] = 0
    rows, lengths = pack(X, center, inverse_scale, dtype, 2)
    expected = (X - center) * inverse_scale
    np.testing.assert_array_equal(rows[:n_samples], expected.astype(dtype))
    assert not rows[n_samples:].any()
    squares = np.zeros(len(rows))
    squares[:n_samples] = (expected**2).sum(axis=1)
    np.testing.assert_allclose(lengths, squares.reshape(len(lengths), -1).max(axis=1), rtol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_packing_in_an_order(rng, dtype):
    X, order = rng.standard_normal((3000, 5)), rng.permutation(3000)
    center, inverse_scale = rng.standard_normal(5), np.ones(5)
    found = pack(X, center, inverse_scale, dtype, 2, order)
    for one, other in zip(found, pack(X[order], center, inverse_scale, dtype, 1), strict=True):
        np.testing.assert_array_equal(one, other)


@given(st.sampled_from(DTYPES), st.integers(1, 70), st.integers(0, 69),
       st.sampled_from([np.nan, np.inf, -np.inf, -3.5]))
def test_find_unbounded(dtype, size, place, bad):
    values = np.linspace(-2, 2, size).astype(dtype)
    assert scoring.find_unbounded(values, 2.0) == -1
    values[place % size] = bad
    values[size - 1] = values[size - 1] if place % 2 else np.nan
    wrong = ~(np.abs(values) <= 2)
    assert scoring.find_unbounded(values, 2.0) == (np.argmax(wrong) if wrong.any() else -1)


@given(st.sampled_from(DTYPES), st.sampled_from(SIZES), st.integers(1, 9), st.booleans(), st.integers(0, 2**32 - 1))
def test_columns(dtype, n_samples, n_features, weighted, seed):
    """Ranges exactly, moments up to rounding, for any number of threads the same."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features)).astype(dtype)
    weight = rng.uniform(0, 2, n_samples) if weighted else np.empty(0)
    unit, center = rng.uniform(0.5, 2, n_features), rng.standard_normal(n_features)
    n_strips = -(-n_samples // scoring.STRIP_ROWS)
    low, high = np.empty((2, n_strips, n_features))
    scoring.column_range(X, low, high, 2)
    np.testing.assert_array_equal(low.min(axis=0), X.min(axis=0))
    np.testing.assert_array_equal(high.max(axis=0), X.max(axis=0))
    for power in (1, 2):
        one, three = np.empty((2, n_strips, n_features))
        scoring.column_moments(X, unit, center, weight, power, one, 1)
        scoring.column_moments(X, unit, center, weight, power, three, 3)
        np.testing.assert_array_equal(one, three)
        terms = (X * unit - center) ** power * (weight[:, None] if weighted else 1)
        np.testing.assert_allclose(one.sum(axis=0), terms.sum(axis=0), rtol=0, atol=1e-12 * np.abs(terms).sum())
