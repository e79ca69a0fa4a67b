"""Linear functions of boosting against NumPy: sums over rows, values at rows, bits for any number of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import boosting, simd

TILE = 128


class LinearProblem:
    """Training rows and others, with weights, and some of their columns."""

    def __init__(self, seed, n_tiles, n_columns, n_vectors=1, size=None):
        rng = np.random.default_rng(seed)
        self.n_train, n = TILE * max(n_tiles - 1, 0), TILE * n_tiles
        self.columns = rng.standard_normal((n_columns, n), dtype=np.float32) + np.float32(0.5)
        self.weight = np.where(rng.random(n) < 0.9, rng.uniform(0.2, 3, n), 0).astype(np.float32)
        self.vectors = rng.standard_normal((n_vectors, n), dtype=np.float32)
        self.subset = rng.permutation(n_columns)[: size or n_columns].astype(np.intp)
        self.coefficients = rng.standard_normal((n_vectors, self.subset.size))

    def products(self, n_threads=1):
        products = np.full(self.coefficients.shape, np.nan)
        boosting.column_products(self.columns, self.subset, self.vectors, self.n_train, products, n_threads)
        return products

    def gram(self, n_threads=1):
        gram = np.full((self.subset.size, self.subset.size), np.nan)
        boosting.column_gram(self.columns, self.subset, self.weight, self.n_train, gram, n_threads)
        return gram

    def values(self, n_threads=1):
        out = np.full((len(self.coefficients), self.columns.shape[1]), np.nan, np.float32)
        boosting.evaluate_linear(self.columns, self.subset, self.coefficients, out, n_threads)
        return out

    def all(self, n_threads=1):
        return self.products(n_threads), self.gram(n_threads), self.values(n_threads)

    def twin(self):
        """The same in double precision."""
        columns = self.columns[self.subset].astype(float)
        trained = columns[:, : self.n_train]
        return (self.vectors[:, : self.n_train] @ trained.T,
                np.tril((trained * self.weight[: self.n_train]) @ trained.T), self.coefficients @ columns)


@given(st.builds(LinearProblem, st.integers(0, 999), st.sampled_from([0, 1, 2, 3, 5, 9]),
                 st.sampled_from([1, 3, 4, 15, 16, 17, 63, 65, 130]), st.sampled_from([1, 2, 5])))
def test_against_numpy(problem):
    for found, expected in zip(problem.all(), problem.twin(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * problem.columns.size)


def test_some_columns_in_any_order():
    problem = LinearProblem(1, 6, 90, 2, size=70)
    assert sorted(problem.subset.tolist()) != problem.subset.tolist()
    for found, expected in zip(problem.all(), problem.twin(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-2)


def test_rows_without_weight_may_hold_anything():
    problem = LinearProblem(2, 6, 40)
    before = problem.gram()
    problem.columns[:, problem.weight == 0] = np.nan
    problem.columns[:, problem.n_train :] = np.nan
    assert problem.gram().tobytes() == before.tobytes()


@pytest.mark.parametrize("n_columns", [5, 200])
def test_threads_change_no_bit(n_columns):
    problem = LinearProblem(3, 40, n_columns, 3)
    for found, expected in zip(problem.all(n_threads=3), problem.all(), strict=True):
        assert found.tobytes() == expected.tobytes()


def test_levels_agree(level):
    problem = LinearProblem(4, 9, 70, 2)
    found = problem.all()
    simd.select("baseline")
    for mine, expected in zip(found, problem.all(), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-2)
