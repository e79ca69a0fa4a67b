"""Factors of large matrices against numpy, and the size of their pieces."""

import numpy as np
import pytest

from rffkern._native import solvers
from rffkern._training.pbrff import blocked_factors


def definite(rng, size):
    root = rng.standard_normal((size, size + 2))
    return root @ root.T / size + 0.1 * np.eye(size)


@pytest.mark.parametrize(("size", "n_below"), [(1, 0), (255, 0), (257, 0), (700, 0), (16, 3), (512, 40), (528, 5)])
def test_factors(rng, size, n_below):
    matrix, below = definite(rng, size), rng.standard_normal((n_below, size))
    both = np.vstack([np.tril(matrix), below])
    assert blocked_factors.factorise(both, 2)
    factor = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(np.tril(both[:size]), factor, atol=1e-12)
    np.testing.assert_allclose(both[size:], np.linalg.solve(factor, below.T).T, atol=1e-9)


def test_an_indefinite_matrix_has_no_factor(rng):
    matrix = definite(rng, 600)
    matrix[500, 500] = -1.0
    assert not blocked_factors.factorise(matrix, 1)


def test_pieces_are_short_and_change_nothing(rng, monkeypatch):
    """No call does more than the limit, but for the fewest rows, so that an interrupt is noticed between calls."""
    matrix = definite(rng, 700)
    whole, works, add_products = np.tril(matrix), [], solvers.add_products

    def measured(rows, first, last, *rest):
        works.append((last - first) * rows.size)
        add_products(rows, first, last, *rest)

    assert blocked_factors.factorise(whole, 1)
    monkeypatch.setattr(blocked_factors, "_WORK", 2.5e7)
    monkeypatch.setattr(solvers, "add_products", measured)
    pieces = np.tril(matrix)
    assert blocked_factors.factorise(pieces, 3)
    assert len(works) > 3
    assert max(works) <= 2.5e7
    assert whole.tobytes() == pieces.tobytes()


def test_products_of_parts(rng):
    rows, matrix = rng.standard_normal((150, 600)), np.zeros((150, 150))
    depth = blocked_factors.DEPTH
    parts = [np.ascontiguousarray(rows[:, start : start + depth]) for start in range(0, rows.shape[1], depth)]
    blocked_factors.add_products(parts, 3.0, matrix, 0, 2)
    np.testing.assert_allclose(matrix, 3 * np.tril(rows @ rows.T), atol=1e-10)
