"""Sums of kernels over centers, and least-squares columns, against their twins."""

import numpy as np
import pytest
from helpers.columns import Columns
from helpers.packing import DTYPES, SIZES, packed, tiled
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import sparse

TOLERANCE = {np.float32: 3e-5, np.float64: 1e-12}

columns = st.builds(Columns, seed=st.integers(0, 2**32 - 1), n_samples=st.sampled_from(SIZES),
                    n_features=st.integers(1, 23), n_centers=st.integers(1, 9), dtype=st.sampled_from(DTYPES),
                    weighted=st.booleans(), squares=st.booleans(), n_outputs=st.integers(1, 3))
rough = st.builds(Columns, seed=st.integers(0, 2**32 - 1), n_samples=st.sampled_from(SIZES),
                  n_features=st.integers(1, 23), n_centers=st.integers(1, 9), dtype=st.sampled_from(DTYPES),
                  weighted=st.booleans(), n_outputs=st.integers(1, 3), shape=st.just("exponential"))


@given(columns | rough)
def test_correlate(problem):
    tolerance = TOLERANCE[problem.dtype]
    sums, kernels = problem.correlations()
    np.testing.assert_allclose(sums, problem.residual @ problem.K, atol=tolerance * np.sqrt(len(problem.X)) * 3)
    flat = kernels.transpose(1, 0, 2).reshape(kernels.shape[1], -1)
    np.testing.assert_allclose(flat[: problem.a.shape[1], : len(problem.X)], problem.K.T, atol=tolerance)


@given(columns | rough)
def test_fill(problem):
    expected = problem.a @ problem.K.T + 0.5
    np.testing.assert_allclose(problem.filled(), expected, atol=10 * TOLERANCE[problem.dtype])
    np.testing.assert_allclose(problem.combined(), expected, atol=10 * TOLERANCE[problem.dtype])


@given(columns)
def test_products(problem):
    """Sums are double whatever the columns are kept in: they agree to rounding in both precisions."""
    expected = (problem.residual * problem.weight) @ problem.F.T.astype(np.float64)
    np.testing.assert_allclose(problem.products(), expected, atol=1e-11 * len(problem.X))


@given(columns, st.integers(0, 4))
def test_shrink(problem, n_steps):
    steps = np.outer(1 + np.arange(len(problem.residual)), np.linspace(-1, 2, 4)[:n_steps])
    squares, residual = problem.shrunk(steps)
    expected = problem.residual - steps @ problem.F[:n_steps].astype(np.float64)
    np.testing.assert_allclose(residual, expected, atol=1e-12)
    np.testing.assert_allclose(squares, (problem.weight * expected**2).sum(axis=1), rtol=1e-11)


def test_columns_longer_than_a_block():
    problem = Columns(5, 20_000, 2, 3, np.float64, True, n_outputs=3)
    np.testing.assert_allclose(problem.products(), (problem.residual * problem.weight) @ problem.F.T, rtol=1e-10)
    squares, residual = problem.shrunk(np.ones((3, 4)))
    np.testing.assert_allclose(residual, problem.residual - problem.F.sum(axis=0), atol=1e-13)
    np.testing.assert_allclose(squares, (problem.weight * residual**2).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_do_not_depend_on_the_number_of_threads(dtype, squares):
    found = []
    for n_threads in (1, 2, 3):
        problem = Columns(5, 30_000, 7, 10, dtype, True, n_threads, squares, 3)
        found.append([*problem.correlations(), problem.filled(), problem.combined(), problem.products(),
                      *problem.shrunk(np.ones((3, 4)))])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_far_from_the_origin_are_told_apart():
    """Differences come before squares: |x|^2 - 2 x . z + |z|^2 would leave single precision nothing here."""
    X = 4000 + np.linspace(0, 1, 300)[:, None].astype(np.float32).astype(np.float64)
    v, centers, sums = np.zeros(300), np.zeros((4, 1), np.float32), np.empty((1, 4))
    v[299], centers[0] = 1, X[0]
    sparse.correlate_centers(packed(X, np.float32), centers, np.empty(0, np.float32), tiled(v)[None],
                             np.empty((3, 4, 128), np.float32), np.empty((1, 4)), sums, 2, 1)
    np.testing.assert_allclose(sums[0, 0], 0.5, atol=1e-3)


@pytest.mark.parametrize("shape", [1, 2])
def test_extreme_distances_are_far_and_not_nan(shape):
    tiles, columns = packed(np.array([[0.0], [1e300], [-1e300], [1.0]])), np.empty((1, 1, 128))
    centers, weights = np.array([[0.0], [1e300], [0.0], [0.0]]), np.array([[1.0, 1.0, 0.0, 0.0]])
    sparse.fill_columns(tiles, centers, np.empty(0), weights, np.zeros(1), columns, shape, 1)
    np.testing.assert_allclose(columns[0, 0, :4], [1, 1, 0, 0.5], atol=1e-200)


def test_tiles_are_filled_from_one_on():
    problem = Columns(5, 500, 2, 3, np.float64, False)
    kernels, columns = problem.correlations()[1], np.full((1, 4, 128), 7.0)
    sparse.combine_kernels(kernels[2:], problem.a, np.zeros(1), columns, 2, 1)
    np.testing.assert_allclose(columns[0, 2:].reshape(-1)[:244], (problem.a @ problem.K.T)[0, 256:], atol=1e-12)
    assert (columns[0, :2] == 7).all()


@given(seed=st.integers(0, 2**32 - 1), n_rows=st.sampled_from(SIZES), n_taken=st.sampled_from([1, 2, 127, 128, 129]),
       n_features=st.integers(1, 9), has_squares=st.booleans(), dtype=st.sampled_from(DTYPES))
def test_rows_are_taken_in_tiles(seed, n_rows, n_taken, n_features, has_squares, dtype):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features + 1)).astype(dtype)  # of which the last feature is not taken
    rows = rng.integers(0, n_rows, n_taken)
    taken = np.full((-(-n_taken // 128), n_features + has_squares, 128), np.nan)
    sparse.take_tiles(packed(X, dtype), rows, n_features, taken)
    expected = X[rows, :n_features].astype(np.float64)
    if has_squares:
        expected = np.column_stack([expected, (expected**2).sum(axis=1)])
    found = taken.transpose(0, 2, 1).reshape(-1, taken.shape[1])
    np.testing.assert_allclose(found[:n_taken], expected, rtol=1e-14)
    assert not found[n_taken:].any()
