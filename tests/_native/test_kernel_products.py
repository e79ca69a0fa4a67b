"""Products of kernel matrices with vectors, and columns of them, against their twin."""

import numpy as np
import pytest
import reference
from helpers.packing import DTYPES, SIZES
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import sparse
from rffkern._native.sparse import PRODUCT_MULTIPLE, SHAPES, UNITS
from rffkern._rows.scaling import no_scaling
from rffkern._rows.tiles import TILE, pack

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


class Problem:
    """Rows, some centers and vectors of weights for them, with the kernels between them."""

    def __init__(self, seed, n_samples, n_features, n_centers, n_outputs, n_kept, shape, dtype):
        rng = np.random.default_rng(seed)
        X, Z = rng.standard_normal((n_samples, n_features)), rng.standard_normal((n_centers, n_features))
        Z[0] = X[0]  # at a distance of 0
        self.dtype, self.shape, self.n_samples = np.dtype(dtype), SHAPES[shape], n_samples
        self.K = reference.kernel_of_shape(X, Z, shape=shape)
        self.weights = np.zeros((n_outputs, -(-n_centers // PRODUCT_MULTIPLE) * PRODUCT_MULTIPLE))
        self.weights[:, :n_centers] = rng.standard_normal((n_outputs, n_centers))
        self.expected = self.weights[:, :n_centers] @ self.K.T
        units = UNITS[self.shape]
        self.tiles, _ = pack(units * X, no_scaling(n_features), self.dtype, 1)
        self.centers = np.zeros((self.weights.shape[1], n_features), dtype)
        self.centers[:n_centers] = units * Z
        self.kept = np.empty((min(n_kept, len(self.tiles)), len(self.centers), TILE), dtype)

    def products(self, is_filled=False, n_threads=1):
        products = np.empty((len(self.weights), len(self.tiles), TILE))
        sparse.multiply_kernels(self.tiles, self.centers, self.weights, self.kept, is_filled, products,
                                self.shape, n_threads)
        return products.reshape(len(products), -1)[:, : self.n_samples]

    def columns(self, n_threads=1):
        columns = np.empty((self.K.shape[1], len(self.tiles), TILE), self.dtype)
        sparse.kernel_columns(self.tiles, self.centers, columns, self.shape, n_threads)
        return columns.reshape(len(columns), -1)[:, : self.n_samples]


problems = st.builds(Problem, seed=st.integers(0, 2**32 - 1), n_samples=st.sampled_from(SIZES),
                     n_features=st.integers(1, 23), n_centers=st.integers(1, 80), n_outputs=st.integers(1, 9),
                     n_kept=st.sampled_from([0, 1, 99]), shape=st.sampled_from(sorted(SHAPES)),
                     dtype=st.sampled_from(DTYPES))


@given(problems)
def test_products(problem):
    atol = TOLERANCE[problem.dtype.type] * problem.K.shape[1]
    first = problem.products()
    np.testing.assert_allclose(first, problem.expected, atol=atol)
    np.testing.assert_array_equal(problem.products(is_filled=True), first)
    np.testing.assert_array_equal(problem.products(n_threads=3), first)


@given(problems)
def test_columns(problem):
    found = problem.columns()
    np.testing.assert_allclose(found, problem.K.T, atol=TOLERANCE[problem.dtype.type])
    np.testing.assert_array_equal(problem.columns(n_threads=3), found)


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_are_symmetric_to_the_last_bit(shape, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((256, 7)).astype(dtype)
    tiles, _ = pack(X, no_scaling(7), np.dtype(dtype), 1)
    columns = np.empty((256, 2, TILE), dtype)
    sparse.kernel_columns(tiles, X, columns, SHAPES[shape], 1)
    np.testing.assert_array_equal(columns.reshape(256, 256), columns.reshape(256, 256).T)


def test_columns_beyond_kept_ones_are_not_read():
    """What is kept is taken for the kernels, and what is not kept is computed."""
    problem = Problem(0, 400, 3, 20, 1, 1, "exponential", np.float64)
    problem.products()
    problem.kept[:] = 0
    found = problem.products(is_filled=True)
    assert (found[:, :TILE] == 0).all()
    np.testing.assert_allclose(found[:, TILE:], problem.expected[:, TILE:], atol=1e-11)
