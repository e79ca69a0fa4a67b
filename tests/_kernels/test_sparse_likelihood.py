"""Kernel matrices and their derivatives against NumPy."""

import numpy as np
import reference
from helpers.packing import packed
from hypothesis import given
from hypothesis import strategies as st

from rffkern._kernels import sparse_columns, sparse_likelihood


@given(seed=st.integers(0, 2**32 - 1), n_rows=st.sampled_from([1, 2, 5, 127, 129, 260]), n_features=st.integers(1, 9))
def test_kernel_matrix_and_spread(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    scaled = sparse_columns.UNIT * X
    tiles = packed(scaled)
    centers = np.zeros((-(-n_rows // 4) * 4, n_features))
    centers[:n_rows] = scaled
    matrix = np.full((n_rows, n_rows), np.nan)
    sparse_likelihood.kernel_matrix(tiles, centers, matrix, 2)
    np.testing.assert_allclose(matrix, reference.gaussian_kernel(X, X), atol=1e-13)
    partial = np.full((n_rows, n_features), np.nan)
    sparse_likelihood.spread_along_features(matrix, X, partial, 2)
    apart = (X[:, None] - X) ** 2
    np.testing.assert_allclose(2 * partial.sum(axis=0), np.einsum("ij,ijl->l", matrix, apart), atol=1e-9)
