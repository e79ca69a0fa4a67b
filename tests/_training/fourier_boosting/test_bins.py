"""Codes of columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern._training.fourier_boosting.training_rows import MAX_BINS, Columns, bin_columns, binned_columns


def bins_of(values):
    values = np.asarray(values, dtype=np.float32)[None]
    return Columns(values, np.array([0]), *bin_columns(values, np.array([0])), values.min(axis=1), values.max(axis=1))


def test_few_values_have_codes_of_their_own():
    bins = bins_of([3.0, 1.0, 1.0, 2.0])
    assert bins.codes.tolist() == [[2, 0, 0, 1]]
    assert bins.edges[0].tolist() == [1.5, 2.5]
    assert bins.bin_counts.tolist() == [3]


def test_many_values_share_codes_evenly():
    values = np.random.default_rng(0).standard_normal(10_000)
    bins = bins_of(values)
    counts = np.bincount(bins.codes[0])
    assert len(counts) == bins.bin_counts[0] == MAX_BINS
    assert counts.min() > 20
    assert counts.max() < 80


def test_one_frequent_value_does_not_use_up_the_codes():
    values = np.concatenate([np.zeros(9000), np.random.default_rng(0).standard_normal(1000)])
    assert bins_of(values).bin_counts[0] > 20


def test_a_constant_column_has_one_code():
    bins = bins_of(np.ones(5))
    assert bins.bin_counts.tolist() == [1]
    assert not bins.codes.any()


@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=600), st.integers(0, 2**32 - 1))
def test_codes_and_bounds_agree(values, seed):
    """A code above b says that the value is above edges[b], in either precision."""
    values = np.concatenate([values, np.random.default_rng(seed).choice(values, 50)]).astype(np.float32)
    bins = bins_of(values)
    edges = bins.edges[0]
    above = values[:, None].astype(np.float64) > edges
    np.testing.assert_array_equal(bins.codes[0], above.sum(axis=1))
    np.testing.assert_array_equal(values[:, None] > edges.astype(np.float32), above)
    assert (np.diff(edges) > 0).all()


@pytest.mark.parametrize(("sources", "forms", "expected"), [
    ([0, 1, 1], None, [0, 1, 2]),
    ([0, 0, 1, 1], ["standard", "rank", "rank", "bounded"], [0, 2]),
    ([0, 0, 0], ["standard", "missing", "rank"], [0, 1]),
    ([0, 0, 1], ["levels", "levels", "standard"], [0, 1, 2]),
    ([0, 0, 0], ["bins", "bins", "bins"], [0, 1, 2]),
])
def test_columns_that_thresholds_tell_apart(sources, forms, expected):
    forms = None if forms is None else np.array(forms)
    assert binned_columns(np.array(sources), forms).tolist() == expected
