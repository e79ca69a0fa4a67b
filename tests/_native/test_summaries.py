"""Summaries of columns against their twin."""

import numpy as np
import reference
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import scoring


def drawn(rng, n, n_distinct):
    """Sorted values, and weights of which sums are exact."""
    return np.sort(rng.integers(0, n_distinct, n) * 0.1), rng.integers(0, 64, n) / 8 + (n == 1)


@given(n_a=st.integers(0, 60), n_b=st.integers(0, 60), n_distinct=st.sampled_from([3, 20, 1000]),
       n_entries=st.sampled_from([1, 2, 8, 32, 128]), seed=st.integers(0, 999))
def test_merged(n_a, n_b, n_distinct, n_entries, seed):
    rng = np.random.default_rng(seed)
    a, b = drawn(rng, n_a, n_distinct), drawn(rng, n_b, n_distinct)
    values, weights = np.empty((2, n_a + n_b))
    size = scoring.merge_summaries(*a, *b, n_entries, values, weights)
    expected = reference.summary(*(np.concatenate(both) for both in zip(a, b, strict=True)), n_entries)
    np.testing.assert_array_equal(values[:size], expected[0])
    np.testing.assert_array_equal(weights[:size], expected[1])
