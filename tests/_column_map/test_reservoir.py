"""Some rows, chosen by their index alone."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rffkern._column_map import sketch as reservoir
from rffkern._column_map.sketch import Reservoir


def held(n_rows, places):
    """Indices of the rows that are held, where row i has the values i and -i and the weight i."""
    found = Reservoir(2)
    index = np.arange(n_rows)
    for a, b in itertools.pairwise(sorted({0, *places, n_rows})):
        values = np.array([index, -index], float)[:, a:b]
        found.add(index[a:b], values, np.arange(b - a), index[a:b].astype(float))
    np.testing.assert_array_equal(found.values, [found.weights, -found.weights])
    return found.weights


@given(st.lists(st.integers(1, 8999), max_size=6))
def test_the_cuts_do_not_matter(places):
    np.testing.assert_array_equal(held(9000, places), held(9000, []))


def test_rows_are_spread_and_in_order():
    rows = held(200_000, range(0, 200_000, 4096))
    assert len(rows) == reservoir._MOST_ROWS
    assert (np.diff(rows) > 0).all()
    counts = np.histogram(rows, 8)[0]
    assert abs(counts - 256).max() < 6 * 16  # a drawn number would be off by 16
    np.testing.assert_array_equal(held(1000, [3]), np.arange(1000))


def test_wide_tables_hold_fewer_rows():
    assert Reservoir(1 << 14)._most == 128
    assert Reservoir(1 << 20)._most == 64
