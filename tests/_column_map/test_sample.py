"""Some rows of tables of any kind."""

import itertools

import numpy as np
import pytest

from rffkern import InvalidInputError, RowBlocks
from rffkern._column_map.tables import CATEGORY, EMPTY, NUMERIC, read_table, rows_of, sampled

ROWS = np.array([0, 3, 4, 7])
TABLE = {"size": [1.0, 2, None, 4, 5, 6, 7, 8], "colour": ["red", "blue", None, "green", "red", "red", "blue", "ochre"],
         "late": [None, None, None, None, 1.5, 2, 3, 4], "never": [None] * 8}


def part(first, last):
    return {name: values[first:last] for name, values in TABLE.items()}


def assert_same(found, expected):
    assert found.names == expected.names
    assert found.n_rows == expected.n_rows
    for one, other in zip(found.columns, expected.columns, strict=True):
        assert one.kind == other.kind
        words = [[None if np.isnan(value) else column.levels[int(value)] if column.kind == CATEGORY else value
                  for value in column.values] for column in (one, other)]
        assert words[0] == words[1]


def test_rows_of_a_table():
    found = sampled(TABLE, ROWS, 8)
    assert [column.kind for column in found.columns] == [NUMERIC, CATEGORY, NUMERIC, EMPTY]
    assert found.columns[0].values.tolist() == [1, 4, 5, 8]
    ends = rows_of(found, np.array([True, False, False, True]))
    assert_same(ends, rows_of(read_table(TABLE), np.array([0, 7])))


@pytest.mark.parametrize("cuts", [[0, 8], [0, 1, 8], [0, 3, 4, 6, 8], range(9)])
def test_blocks_give_the_same_rows(cuts):
    """Also where a level or the kind of a column shows in some blocks only."""
    blocks = RowBlocks([part(first, last) for first, last in itertools.pairwise(cuts)])
    assert_same(sampled(blocks, ROWS, 8), sampled(TABLE, ROWS, 8))


def test_arrays():
    X = np.random.default_rng(0).standard_normal((5000, 300))  # of two blocks
    rows = np.arange(0, 5000, 7)
    for given in (X, X.astype(np.float32), np.round(X).astype(int), RowBlocks([X[:5], X[5:]])):
        found = sampled(given, rows, 5000)
        np.testing.assert_array_equal(found.columns[7].values, (X if isinstance(given, RowBlocks) else given)[rows, 7])


def test_numbers_of_rows_must_agree():
    for n_samples in (7, 9):
        with pytest.raises(InvalidInputError, match=rf"one entry per row of X \(8\), got {n_samples}"):
            sampled(TABLE, ROWS[:2], n_samples)


def test_kinds_of_blocks_must_agree():
    with pytest.raises(InvalidInputError, match="values of one kind, got category and numeric"):
        sampled(RowBlocks([[[1.0]], [["a"]]]), np.array([0, 1]), 2)
