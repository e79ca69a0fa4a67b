"""Kernel matrices, their factors and inverses, and the gradient of the likelihood against NumPy."""

import numpy as np
import pytest
import reference
from helpers.packing import packed
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import sparse
from rffkern._training.kernel_ridge.kernel_matrix import DenseSystem, in_panels

WIDE = sparse.PANEL_COLUMNS

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.sampled_from([1, 2, 5, 31, 32, 33, 127, 129, 260])


@given(seed=SEEDS, n_rows=SIZES, n_features=st.integers(1, 9), shape=st.sampled_from(["gaussian", "exponential"]))
def test_kernel_matrix(seed, n_rows, n_features, shape):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[-1] = X[0]
    number = sparse.SHAPES[shape]
    scaled = sparse.UNITS[number] * X
    centers = np.zeros((-(-n_rows // 4) * 4, n_features))
    centers[:n_rows] = scaled
    matrix, derivatives = np.full((2, n_rows, n_rows), np.nan)
    sparse.kernel_matrix(packed(scaled), centers, matrix, derivatives, number, False, 2)
    expected = reference.kernel_of_shape(X, X, shape=shape)
    np.testing.assert_allclose(matrix, expected, atol=1e-13)
    if shape == "exponential":
        distance = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
        apart = distance > 0
        np.testing.assert_allclose(derivatives[apart], expected[apart] / distance[apart], rtol=1e-9, atol=1e-13)
        assert (derivatives[~apart] == 0).all()
    alone = np.full((n_rows, n_rows), np.nan)
    sparse.kernel_matrix(packed(scaled), centers, alone, np.empty((0, 0)), number, False, 1)
    assert alone.tobytes() == matrix.tobytes()
    lower = np.full((n_rows, n_rows), np.nan)
    sparse.kernel_matrix(packed(scaled), centers, lower, np.empty((0, 0)), number, True, 1)
    np.testing.assert_array_equal(np.tril(lower), np.tril(matrix))


@given(seed=SEEDS, size=SIZES, n_threads=st.integers(1, 3))
def test_factor_inverse_and_products(seed, size, n_threads):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((size, size + 3))
    matrix = root @ root.T / size + np.eye(size)
    system = DenseSystem(size, 1)
    system._n_threads = n_threads
    system.matrix[:] = np.where(np.tri(size, dtype=bool), matrix, np.nan)  # whose upper triangle is not read
    assert system.factorise()
    np.testing.assert_allclose(np.tril(system.matrix), np.linalg.cholesky(matrix), atol=1e-12)
    inverse, n_padded = np.full((size, size), np.nan), -(-size // WIDE) * WIDE
    system._panels = np.full((2, n_padded, n_padded), np.nan)  # memory may hold anything
    system.invert(inverse)
    np.testing.assert_allclose(inverse @ matrix, np.eye(size), atol=1e-10)
    system._panels[:] = np.nan
    np.testing.assert_allclose(system.inverse_diagonal(), np.diag(inverse), rtol=1e-11)
    targets = rng.standard_normal((size, 3))
    np.testing.assert_allclose(matrix @ system.solve(targets), targets, atol=1e-10)
    solutions = targets.T.copy()
    sparse.solve_system(system.matrix, solutions)
    np.testing.assert_allclose(solutions @ matrix, targets.T, atol=1e-10)
    wide = rng.standard_normal((size, 35))
    np.testing.assert_allclose(system.multiply(matrix, in_panels(wide), 35), matrix @ wide, atol=1e-11)


@pytest.mark.parametrize("size", [1, 33, 700])
def test_single_precision_is_near_double(rng, size):
    """With derivatives and gradients, whose terms are compared with the largest."""
    root, weights = rng.standard_normal((size, size + 3)), rng.standard_normal((2, size))
    matrix, found = root @ root.T / size + np.eye(size), []
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        system, inverse = DenseSystem(size, 1, dtype), np.empty((size, size), dtype)
        system.matrix[:] = matrix
        assert system.factorise()
        factor = np.tril(system.matrix)
        system.invert(inverse)
        product = system.multiply(inverse, in_panels(matrix, dtype), size)
        rounded = matrix.astype(dtype)
        found.append((factor, inverse.copy(), system.inverse_diagonal(), product, system.solve(root),
                      system.likelihood_gradient(inverse, weights.astype(dtype), rounded, rounded)))
    for single, double in zip(*found, strict=True):
        np.testing.assert_allclose(single, double, atol=2e-5 * np.abs(double).max())


@pytest.mark.parametrize("size", [3, 40, 700])
def test_what_is_not_positive_definite_has_no_factor(size):
    system = DenseSystem(size, 1)
    system.matrix[:] = np.eye(size)
    system.matrix[-1, -1] = 0.0
    assert not system.factorise()
    system.matrix[:] = np.eye(size)
    system.matrix[size // 2, size // 2] = np.nan
    assert not system.factorise()


@pytest.mark.parametrize("size", [150, 700])
def test_bits_do_not_depend_on_the_number_of_threads(rng, size):
    root = rng.standard_normal((size, size))
    found = []
    for n_threads in (1, 2, 3):
        system, inverse = DenseSystem(size, 1), np.empty((size, size))
        system._n_threads = n_threads
        system.matrix[:] = root @ root.T + size * np.eye(size)
        assert system.factorise()
        system.invert(inverse)
        sums = system.likelihood_gradient(inverse, root[:2].copy(), root, root)
        found.append((system.matrix.tobytes(), inverse.tobytes(), system.inverse_diagonal().tobytes(),
                      np.ascontiguousarray(sums).tobytes()))
    assert len(set(found)) == 1


@given(seed=SEEDS, size=SIZES, n_outputs=st.integers(1, 3))
def test_gradient_of_the_likelihood(seed, size, n_outputs):
    rng = np.random.default_rng(seed)
    inverse, matrix, derivatives = rng.standard_normal((3, size, size))
    weights = rng.standard_normal((n_outputs, size))
    gradient = n_outputs * inverse - weights.T @ weights
    system = DenseSystem(size, 1)
    sums = system.likelihood_gradient(inverse, weights, matrix, derivatives)
    np.testing.assert_allclose(inverse, gradient * derivatives, atol=1e-12)
    expected = [gradient.diagonal(), gradient.sum(axis=1), (gradient * matrix).sum(axis=1),
                (gradient * derivatives).sum(axis=1)]
    np.testing.assert_allclose(sums, expected, atol=1e-11)
