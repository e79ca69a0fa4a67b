"""Quantiles and moments in one pass, compared with exact ranks and sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern._column_map.sketch import BLOCK_ROWS, N_ENTRIES, Moments, QuantileSketch


def sketched(values, weights=None, n_entries=N_ENTRIES, block=BLOCK_ROWS):
    sketch = QuantileSketch(n_entries)
    weights = np.ones(len(values)) if weights is None else weights
    for start in range(0, len(values), block):
        sketch.add(values[start : start + block], weights[start : start + block])
    return sketch.summary()


def largest_rank_error(summary, values, weights):
    """Of the share of the weight at or below any value, and of that below it."""
    order = np.argsort(values)
    ends = np.concatenate([[0.0], np.cumsum(weights[order])]) / weights.sum()
    estimated = np.concatenate([[0.0], np.cumsum(summary.weights)]) / summary.weights.sum()
    at = np.concatenate([values, summary.values])
    return max(np.abs(ends[np.searchsorted(values[order], at, side)]
                      - estimated[np.searchsorted(summary.values, at, side)]).max() for side in ("left", "right"))


shapes = st.sampled_from([
    lambda rng, n: rng.standard_normal(n), lambda rng, n: np.sort(rng.standard_normal(n)),
    lambda rng, n: np.exp(5 * rng.standard_normal(n)), lambda rng, n: -np.arange(float(n)),
    lambda rng, n: np.where(rng.random(n) < 0.4, 0.0, rng.standard_normal(n)),
    lambda rng, n: np.round(rng.standard_cauchy(n)), lambda rng, n: np.sin(np.arange(n) * 0.01)])


@given(shapes, st.integers(1, 20_000), st.sampled_from([16, 64]), st.integers(0, 99))
def test_ranks_are_within_the_bound(shape, n, n_entries, seed):
    """With blocks of twice the entries, as in the package; the bound in the docstring holds at every value."""
    rng = np.random.default_rng(seed)
    values = shape(rng, n)
    block = 2 * n_entries
    summary = sketched(values, None, n_entries, block)
    bound = (2 + math.log2(max(1, n / block))) / (2 * n_entries)
    assert largest_rank_error(summary, values, np.ones(n)) <= bound + 1e-9
    assert summary.values[[0, -1]].tolist() == [values.min(), values.max()]
    assert summary.total == pytest.approx(n)
    assert (np.diff(summary.values) > 0).all()


@given(st.integers(1, 3000), st.integers(1, 16), st.integers(0, 99))
def test_few_distinct_values_are_exact(n, n_distinct, seed):
    """And an integer weight is a repetition."""
    rng = np.random.default_rng(seed)
    values, weights = rng.integers(0, n_distinct, n) * 0.1, rng.integers(1, 4, n)
    summary = sketched(values, weights.astype(float), 16, 32)
    distinct, place = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(summary.values, distinct)
    np.testing.assert_array_equal(summary.weights, np.bincount(place, weights))
    repeated = sketched(np.repeat(values, weights), None, 16, 32)
    np.testing.assert_array_equal(repeated.values, summary.values)
    np.testing.assert_array_equal(repeated.weights, summary.weights)


def test_weights_count(rng):
    values, weights = rng.standard_normal(50_000), rng.exponential(size=50_000)
    assert largest_rank_error(sketched(values, weights, 256, 512), values, weights) < 0.01
    assert largest_rank_error(sketched(values, None, 256, 512), values, weights) < 0.02


def test_a_chunk_is_never_held(rng):
    sketch = QuantileSketch(16)
    for _ in range(100):
        sketch.add(rng.standard_normal(32), np.ones(32))
    assert len(sketch.summary().values) <= 16 * (1 + math.log2(100)) + 2


def test_quantiles_and_middles():
    summary = sketched(np.array([3.0, 1.0, 2.0, 2.0]))
    assert [summary.quantile(share) for share in (0, 0.25, 0.3, 0.75, 0.8, 1)] == [1, 1, 2, 2, 3, 3]
    np.testing.assert_array_equal(summary.middles(), [0.125, 0.5, 0.875])
    assert sketched(np.empty(0)).values.size == 0


@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_moments(rng, scale, offset):
    values, weights = (rng.standard_normal(1000) + offset) * scale, rng.exponential(size=1000)
    whole = Moments()
    for start in range(0, 1000, 300):
        whole += Moments.of(values[start : start + 300], weights[start : start + 300])
    mean = np.average(values / scale, weights=weights)
    deviation = np.sqrt(np.average((values / scale - mean) ** 2, weights=weights))
    assert whole.weight == pytest.approx(weights.sum())
    assert whole.mean / scale == pytest.approx(mean, rel=1e-12, abs=1e-12)
    assert whole.deviation / scale == pytest.approx(deviation, rel=1e-9)


def test_moments_of_constants_are_exact():
    constant = np.full(7, 0.1)
    assert Moments.of(constant, np.arange(1.0, 8)) == (28, 0.1, 0)
    assert Moments.of(constant, np.ones(7)) + Moments.of(constant, np.ones(7)) == (14, 0.1, 0)
    assert Moments() + Moments() == Moments.of(np.empty(0), np.empty(0))
    assert Moments.of(np.array([-(2.0**1022), 2.0**1022]), np.ones(2)) == (2, 0, 2.0**1022)


def test_moments_of_tiny_weights_are_those_of_equal_ones():
    values = np.array([1e10, 3e10, -2e10])
    assert Moments.of(values, np.full(3, 2.0**-1030))[1:] == Moments.of(values, np.ones(3))[1:]
