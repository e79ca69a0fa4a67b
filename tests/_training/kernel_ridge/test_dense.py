"""Kernel matrices that are held whole."""

import numpy as np
import pytest

from rffkern._rows.tiles import DOUBLE, SINGLE
from rffkern._training.kernel_ridge.kernel_matrix import DenseKernels

X = np.random.default_rng(0).standard_normal((40, 3))


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_derivatives_are_kernels_over_distances(dtype):
    matrix, derivatives, alone = (np.empty((40, 40), dtype) for _ in range(3))
    kernels = DenseKernels(X, X, 1, dtype)
    kernels.fill(np.full(3, 0.5), "exponential", matrix, derivatives)
    kernels.fill(np.full(3, 0.5), "exponential", alone)
    np.testing.assert_array_equal(matrix, alone)
    r = 0.5 * np.linalg.norm(X[:, None] - X, axis=2)
    apart = r > 0
    np.testing.assert_allclose(derivatives[apart], (np.exp(-r[apart]) / r[apart]), rtol=1e-5)


@pytest.mark.parametrize(("dtype", "other"), [(SINGLE, DOUBLE), (DOUBLE, SINGLE)])
def test_derivatives_of_another_dtype_are_refused(dtype, other):
    kernels = DenseKernels(X, X, 1, dtype)
    with pytest.raises(ValueError, match="dtype mismatch"):
        kernels.fill(np.ones(3), "exponential", np.empty((40, 40), dtype), np.empty((40, 40), other))
