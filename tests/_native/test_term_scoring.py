"""Scores of symmetric tables against their twin."""

import numpy as np
import pytest
from helpers.packing import DTYPES
from helpers.term_scoring import Tables, packed_arrays
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import boosting

WIDTHS = (1, 16, 32, 64, 128)
ROUNDING = 1e-14  # sums are double, whatever the precision of the rows

tables = st.builds(Tables, seed=st.integers(0, 2**32 - 1), n_tables=st.integers(1, 140), depth=st.integers(1, 12),
                   n_features=st.integers(1, 80), n_outputs=st.integers(1, 3), dtype=st.sampled_from(DTYPES),
                   digits=st.integers(1, 7))


def rows(n_samples, n_features, dtype, seed=3):
    """Rows with values on the thresholds, and some that are no numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features)).round(1).astype(dtype)
    X[rng.random(X.shape) < 0.01] = np.nan
    X[rng.random(X.shape) < 0.01] = np.inf
    return X


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 17, 300, 9000]), st.integers(1, 9), st.sampled_from(DTYPES),
       st.sampled_from(WIDTHS), st.integers(1, 3))
def test_whether_rows_are_within_bounds(seed, n_samples, n_features, dtype, width, n_threads):
    """All, or all but one number; bounds are rounded to the precision of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((-(-n_samples // width), n_features, width)).astype(dtype)
    lower, upper = (bound(X, axis=(0, 2)).astype(np.float64) for bound in (np.min, np.max))
    assert boosting.is_within(X, lower, upper, n_threads)
    j = rng.integers(n_features)
    for bound, way in ((lower, 1), (upper, -1)):
        narrow = bound.copy()
        narrow[j] = np.nextafter(dtype(bound[j]), dtype(way * np.inf))
        low, high = (narrow, upper) if way == 1 else (lower, narrow)
        expected = ((low.astype(dtype)[:, None] <= X) & (high.astype(dtype)[:, None] >= X)).all()
        assert not expected
        assert boosting.is_within(X, low, high, n_threads) == expected


@given(tables, st.sampled_from([1, 2, 3, 4, 17, 127, 128, 129, 300, 1025]), st.sampled_from(WIDTHS))
def test_score(problem, n_samples, width):
    X = rows(n_samples, problem.n_features, problem.dtype)
    np.testing.assert_allclose(problem.score(X, width), problem.twin(X), rtol=0,
                               atol=ROUNDING * (1 + len(problem.columns)))


@pytest.mark.parametrize("depth", [1, 3, 5, 6, 7, 8, 9, boosting.MAX_SCORED_DEPTH])
@pytest.mark.parametrize("dtype", DTYPES)
def test_score_at_every_level(level, dtype, depth):
    for n_outputs, n_features in ((1, 9), (3, 9), (1, 200), (1, 2)):
        problem, X = Tables(0, 90, depth, n_features, n_outputs, dtype), rows(200, n_features, dtype)
        for some in (X, X[:1]):
            np.testing.assert_allclose(problem.score(some), problem.twin(some), rtol=0, atol=ROUNDING * 90)


@pytest.mark.slow
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_scores_the_same_bits_in_any_company(level, dtype, n_outputs):
    problem, X = Tables(1, 333, 6, 11, n_outputs, dtype), rows(700, 11, dtype)
    together = problem.score(X)
    for n_rows in (1, 2, 5, 140):
        apart = [problem.score(X[i : i + n_rows]) for i in range(0, 700, n_rows)]
        np.testing.assert_array_equal(np.concatenate(apart), together)
    for width in WIDTHS:
        np.testing.assert_array_equal(problem.score(X, width), together)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_do_not_depend_on_the_number_of_threads(dtype):
    problem, X = Tables(2, 200, 10, 7, 2, dtype), rows(9000, 7, dtype)
    expected = problem.score(X)
    for n_threads in (2, 3):
        np.testing.assert_array_equal(problem.score(X, n_threads=n_threads), expected)


@pytest.mark.parametrize("n_samples", [2, 300])
def test_scores_are_added_to_what_is_there(n_samples):
    problem, X = Tables(3, 50, 4, 5, 2, np.float64), rows(n_samples, 5, np.float64)
    np.testing.assert_allclose(problem.score(X, start=100.0), 100 + problem.score(X), rtol=1e-15)


def test_large_scores_of_many_tables_keep_their_digits():
    """Values are summed in double precision beyond a few tables."""
    problem = Tables(4, 4000, 2, 3, 1, np.float32)
    problem.values[:] = np.float32(0.1)
    np.testing.assert_allclose(problem.score(rows(20, 3, np.float32)), 4000 * np.float64(np.float32(0.1)), rtol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_more_thresholds_on_a_column_than_codes(dtype):
    """Also 255 and 256, and none."""
    for n_tables in (1, 255, 256, 700):
        problem = Tables(6, n_tables, 1, 1, 1, np.float64, digits=9)
        problem.dtype = np.dtype(dtype)
        X = np.random.default_rng(0).standard_normal((300, 1)).astype(dtype)
        np.testing.assert_allclose(problem.score(X), problem.twin(X), rtol=0, atol=1e-11)
    problem.thresholds[:] = np.finfo(np.float64).max
    problem.sizes, problem.values = [1] * 700, problem.values[:700]
    np.testing.assert_allclose(problem.score(X), problem.twin(X), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", packed_arrays())
def test_packed_arrays_that_do_not_agree_are_refused(name):
    arrays = packed_arrays()
    boosting.Tables(**arrays)
    for axis in range(arrays[name].ndim):
        short = np.ascontiguousarray(np.delete(arrays[name], -1, axis))
        if name != "values" or axis == 0:
            with pytest.raises(ValueError, match="must"):
                boosting.Tables(**arrays | {name: short})


@pytest.mark.parametrize(("name", "value"), [
    ("coded", -1), ("edge_starts", 2), ("columns", 2), ("columns", -1), ("steps", 2), ("firsts", 3), ("units", 3),
    ("units", -1), ("units", 70000), ("starts", 5), ("starts", -1)])
def test_packed_numbers_that_lead_out_are_refused(name, value):
    arrays = packed_arrays()
    arrays[name].reshape(-1)[1] = value
    with pytest.raises(ValueError, match="must"):
        boosting.Tables(**arrays)


def test_no_cell_beyond_those_that_bytes_can_number():
    arrays = packed_arrays()
    arrays["steps"][0, 0], arrays["starts"][1:] = 255, [1000, 1004, 1008]
    boosting.Tables(**arrays | {"values": np.ones((1008, 1), np.float32)})
    arrays["firsts"][0] = 2
    with pytest.raises(ValueError, match="must agree"):
        boosting.Tables(**arrays | {"values": np.ones((1008, 1), np.float32)})


def test_wide_rows():
    problem, X = Tables(5, 60, 8, 3000, 1, np.float64), rows(400, 3000, np.float64)
    np.testing.assert_allclose(problem.score(X), problem.twin(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_lines(dtype, n_outputs):
    """Rows one by one and in tiles have the same bits, those of sums over the columns in their order."""
    rng = np.random.default_rng(4)
    X, center, slopes = rng.standard_normal((70, 5)).astype(dtype), rng.standard_normal(5), rng.standard_normal(
        (5, n_outputs))
    start = rng.standard_normal((70, n_outputs))
    expected = start.copy()
    for j in range(5):
        expected += (X[:, j].astype(float) - center[j])[:, None] * slopes[j]
    alone, tiled = start.copy(), start.copy()
    boosting.score_lines(X[:, :, None].copy(), center, slopes, alone)
    tiles = np.zeros((5, 5, 16), dtype)
    for i, row in enumerate(X):
        tiles[i // 16, :, i % 16] = row
    boosting.score_lines(tiles, center, slopes, tiled)
    np.testing.assert_array_equal(alone, expected)
    np.testing.assert_array_equal(tiled, expected)
