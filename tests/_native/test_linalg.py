"""Cholesky factors, whole and growing."""

import numpy as np
import pytest

from rffkern._native import solvers

SIZES = [1, 2, 5, 33, 127, 128, 129, 300]


def definite(rng, size):
    root = rng.standard_normal((size, size + 2))
    return root @ root.T / size + 0.1 * np.eye(size)


@pytest.mark.parametrize("size", SIZES)
def test_factorise_and_solve(rng, size):
    matrix, x = definite(rng, size), rng.standard_normal(size)
    scratch = np.full((2, solvers.factor_scratch(size)), np.nan)
    factor = np.tril(matrix)
    assert solvers.factorise(factor, scratch, 2)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(matrix), atol=1e-12)
    right = matrix @ x
    solvers.solve_factorised(factor, right)
    np.testing.assert_allclose(right, x, atol=1e-10)


@pytest.mark.parametrize("size", [4, 128, 132, 300])
def test_rows_below_a_triangle(rng, size):
    """Rows R below A = L L' become R L'^-1."""
    matrix, below = definite(rng, size), rng.standard_normal((7, size))
    both = np.vstack([matrix, below])
    assert solvers.factorise(both, np.full((2, solvers.factor_scratch(size)), np.nan), 2)
    factor = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(np.tril(both[:size]), factor, atol=1e-12)
    np.testing.assert_allclose(both[size:], np.linalg.solve(factor, below.T).T, atol=1e-10)


@pytest.mark.parametrize(("n_rows", "depth", "offset", "n_columns"),
                         [(1, 1, 0, 1), (7, 3, 0, 7), (130, 40, 5, 120), (300, 256, 0, 300), (300, 17, 20, 20)])
def test_add_products(rng, n_rows, depth, offset, n_columns):
    """In several pieces of rows; above the diagonal and before the offset nothing changes."""
    rows, before = rng.standard_normal((n_rows, depth)), rng.standard_normal((offset + n_rows, n_columns))
    found = []
    for n_threads, step in ((1, n_rows), (3, 128), (2, 5)):
        matrix, scratch = before.copy(), np.full((n_threads, solvers.factor_scratch(depth)), np.nan)
        for first in range(0, n_rows, step):
            solvers.add_products(rows, first, min(first + step, n_rows), -2.0, matrix, offset, scratch, n_threads)
        found.append(matrix)
    expected = before.copy()
    expected[offset:, offset:] -= 2 * np.tril(rows @ rows.T)[:, : n_columns - offset]
    np.testing.assert_allclose(found[0], expected, atol=1e-10)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_indefinite_matrices_have_no_factor(rng, size):
    matrix = definite(rng, size)
    matrix[-1, -1] = matrix[-1, :-1] @ np.linalg.solve(matrix[:-1, :-1], matrix[:-1, -1]) - 0.1 if size > 1 else 0.0
    scratch = np.empty((1, solvers.factor_scratch(size)))
    assert not solvers.factorise(matrix, scratch, 1)
    assert not solvers.factorise(np.full((size, size), np.nan), scratch, 1)


def test_bits_do_not_depend_on_the_number_of_threads(rng):
    matrix = definite(rng, 400)
    found = []
    for n_threads in (1, 2, 3):
        factor = np.tril(matrix)
        scratch = np.empty((n_threads, solvers.factor_scratch(400)))
        assert solvers.factorise(factor, scratch, n_threads)
        found.append(factor.tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("size", SIZES)
def test_extend(rng, size):
    """Row by row, the factor of the whole; a row that others make up has no pivot, and leaves the factor as it is."""
    matrix = definite(rng, size)
    factor = np.zeros((size + 1, size + 1))
    for i in range(size):
        factor[i, : i + 1] = matrix[i, : i + 1]
        assert solvers.extend(factor, i, 1e-12)
    np.testing.assert_allclose(factor[:size, :size], np.linalg.cholesky(matrix), atol=1e-12)
    mixture = rng.standard_normal(size)
    factor[size] = np.append(mixture @ matrix, mixture @ matrix @ mixture)
    assert not solvers.extend(factor, size, 1e-11)
    right = matrix @ mixture
    solvers.solve_factorised(factor, right)
    np.testing.assert_allclose(right, mixture, atol=1e-10)
