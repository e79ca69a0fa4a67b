"""Sums of kernels over centers, least-squares columns and kernel matrices against their twins."""

import numpy as np
import pytest
import reference
from helpers.packing import DTYPES, SIZES
from hypothesis import given
from hypothesis import strategies as st

from rffkern import InvalidInputError, KernelExpansion, load, save
from rffkern._data.scaling import Scaling
from rffkern._data.tiles import aligned, pack, tiled
from rffkern._data.weights import RowWeights
from rffkern._kernels import sparse_columns, sparse_likelihood
from rffkern._sparse.packed_rows import KernelRows

TOLERANCE = {np.float32: 3e-5, np.float64: 1e-12}
DOUBLE = np.dtype(np.float64)


class Columns:
    """Random rows, centers, weights and columns, in both forms."""

    def __init__(self, seed, n_samples, n_features, n_centers, dtype, weighted, n_threads=1):
        rng = np.random.default_rng(seed)
        self.lengthscales = rng.uniform(1, 3, n_features) * np.sqrt(n_features)
        self.X = rng.standard_normal((n_samples, n_features))
        self.weight = rng.uniform(0, 2, n_samples) if weighted else np.ones(n_samples)
        self.residual = rng.standard_normal(n_samples)
        self.a = rng.standard_normal(n_centers)
        self.F = rng.standard_normal((4, n_samples)).astype(dtype)
        scaling = Scaling(np.zeros(n_features), sparse_columns.UNIT / self.lengthscales, 1.0)
        self.rows = KernelRows(self.X, scaling, RowWeights(n_samples, self.weight), dtype, None)
        self.rows.threads = lambda per_row: n_threads
        self.n_threads = n_threads
        indices = rng.integers(0, n_samples, n_centers)
        self.centers = self.rows.centers(indices)
        self.K = reference.gaussian_kernel(self.X, self.X[indices], self.lengthscales)
        self.columns = aligned((5, self.rows.n_tiles, 128), np.dtype(dtype))
        for column, values in zip(self.columns, self.F, strict=False):
            column[:] = tiled(values, np.dtype(dtype))

    def flat(self, tiles):
        return tiles.reshape(-1)[: len(self.X)]

    def products(self):
        rows, products = self.rows, np.full((5, 2), np.nan)
        sparse_columns.multiply_columns(self.columns, 4, rows.weight, tiled(self.residual, DOUBLE),
                                         np.empty((rows.n_blocks, 8)),
                                         np.empty((self.n_threads, sparse_columns.PRODUCT_SCRATCH)), products,
                                         self.n_threads)
        return products[:4]

    def shrunk(self, steps):
        rows, residual = self.rows, tiled(self.residual, DOUBLE)
        loss = sparse_columns.shift_residual(self.columns, -steps, rows.weight, residual,
                                              np.empty((rows.n_blocks, 1)), self.n_threads)
        return loss, self.flat(residual)

    def correlations(self):
        return self.rows.correlate(tiled(self.residual, DOUBLE), self.centers)[: len(self.a)]

    def filled(self):
        self.rows.fill(self.columns[4], self.centers, self.a, 0.5)
        return self.flat(self.columns[4])


columns = st.builds(Columns, seed=st.integers(0, 2**32 - 1), n_samples=st.sampled_from(SIZES),
                    n_features=st.integers(1, 23), n_centers=st.integers(1, 9), dtype=st.sampled_from(DTYPES),
                    weighted=st.booleans())


@given(columns)
def test_correlate(problem):
    tolerance = TOLERANCE[problem.rows.dtype.type]
    np.testing.assert_allclose(problem.correlations(), problem.residual @ problem.K,
                               atol=tolerance * np.sqrt(len(problem.X)) * 3)


@given(columns)
def test_fill(problem):
    tolerance = TOLERANCE[problem.rows.dtype.type]
    np.testing.assert_allclose(problem.filled(), problem.K @ problem.a + 0.5, atol=10 * tolerance)


@given(columns)
def test_products(problem):
    """Sums are double whatever the columns are kept in: they agree to rounding in both precisions."""
    F = problem.F.astype(np.float64)
    expected = np.column_stack([(F * problem.weight) @ F[3], (F * problem.weight) @ problem.residual])
    np.testing.assert_allclose(problem.products(), expected, atol=1e-11 * len(problem.X))


@given(columns, st.integers(0, 4))
def test_shrink(problem, n_steps):
    steps = np.linspace(-1, 2, 4)[:n_steps].copy()
    loss, residual = problem.shrunk(steps)
    expected = problem.residual - steps @ problem.F[:n_steps].astype(np.float64)
    np.testing.assert_allclose(residual, expected, atol=1e-13)
    np.testing.assert_allclose(loss, problem.weight @ expected**2, rtol=1e-12)


def test_columns_longer_than_a_block():
    problem = Columns(5, 20_000, 2, 3, np.float64, True)
    F = problem.F * problem.weight
    expected = np.column_stack([F @ problem.F[3], F @ problem.residual])
    np.testing.assert_allclose(problem.products(), expected, rtol=1e-10)
    loss, residual = problem.shrunk(np.ones(4))
    np.testing.assert_allclose(residual, problem.residual - problem.F.sum(axis=0), atol=1e-13)
    np.testing.assert_allclose(loss, problem.weight @ residual**2, rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_do_not_depend_on_the_number_of_threads(dtype):
    found = []
    for n_threads in (1, 2, 3):
        problem = Columns(5, 30_000, 7, 10, dtype, True, n_threads)
        loss, residual = problem.shrunk(np.ones(4))
        found.append([problem.correlations(), problem.filled(), problem.products(), np.array(loss), residual])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_far_from_the_origin_are_told_apart():
    """Differences come before squares: |x|^2 - 2 x . z + |z|^2 would leave single precision nothing here."""
    X = 4000 + np.linspace(0, 1, 300)[:, None].astype(np.float32).astype(np.float64)
    rows = KernelRows(X, Scaling(np.zeros(1), np.ones(1), 1.0), RowWeights(300), np.float32, 1)
    centers = rows.centers(np.array([0]))
    v = np.zeros((rows.n_tiles, 128))
    v.reshape(-1)[299] = 1
    np.testing.assert_allclose(rows.correlate(v, centers), 0.5, atol=1e-3)


def test_extreme_distances_are_far_and_not_nan():
    rows = KernelRows(np.array([[0.0], [1e300], [-1e300], [1.0]]), Scaling(np.zeros(1), np.ones(1), 1.0),
                      RowWeights(4), np.float64, 1)
    column = np.empty((1, 128))
    rows.fill(column, rows.centers(np.array([0, 1])), np.ones(2), 0.0)
    np.testing.assert_allclose(column[0, :4], [1, 1, 0, 0.5], atol=1e-200)


@given(seed=st.integers(0, 2**32 - 1), n_rows=st.sampled_from([1, 2, 5, 127, 129, 260]), n_features=st.integers(1, 9))
def test_kernel_matrix_and_spread(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    scaled = sparse_columns.UNIT * X
    tiles, _ = pack(scaled, Scaling(np.zeros(n_features), np.ones(n_features), 1.0), DOUBLE, 1)
    centers = np.zeros((-(-n_rows // 4) * 4, n_features))
    centers[:n_rows] = scaled
    matrix = np.full((n_rows, n_rows), np.nan)
    sparse_likelihood.kernel_matrix(tiles, centers, matrix, 2)
    np.testing.assert_allclose(matrix, reference.gaussian_kernel(X, X), atol=1e-13)
    partial = np.full((n_rows, n_features), np.nan)
    sparse_likelihood.spread_along_features(matrix, X, partial, 2)
    apart = (X[:, None] - X) ** 2
    np.testing.assert_allclose(2 * partial.sum(axis=0), np.einsum("ij,ijl->l", matrix, apart), atol=1e-9)


def random_expansion(seed, n_terms, n_outputs, n_features):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n_terms, n_outputs)) * (rng.random((n_terms, n_outputs)) < 0.6)
    return KernelExpansion(rng.standard_normal((n_terms, n_features)), weights, rng.standard_normal(n_outputs),
                           rng.uniform(0.1, 1, n_features))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n_terms", "n_outputs", "n_features"), [(0, 2, 3), (1, 1, 1), (5, 3, 7), (70, 4, 33),
                                                                  (300, 1, 150)])
def test_scores_and_the_bits_of_a_row_alone(level, dtype, n_terms, n_outputs, n_features):
    expansion = random_expansion(n_terms, n_terms, n_outputs, n_features)
    X = np.random.default_rng(1).standard_normal((200, n_features)).astype(dtype)
    together = expansion.score(X)
    K = reference.gaussian_kernel(X.astype(np.float64), expansion.centers, 1 / expansion.inverse_lengthscales)
    np.testing.assert_allclose(together, expansion.intercept + K @ expansion.weights,
                               atol=1e-4 if dtype is np.float32 else 1e-11)
    for size in (1, 3, 33):
        np.testing.assert_array_equal(np.vstack([expansion.score(X[i : i + size]) for i in range(0, 200, size)]),
                                      together)
    np.testing.assert_array_equal(expansion.score(X, n_threads=2), together)


def test_weights_that_cancel_are_scored_in_double():
    centers = np.linspace(0, 1, 30)[:, None]
    weights = np.linalg.solve(reference.gaussian_kernel(centers, centers) + 1e-11 * np.eye(30), np.sin(3 * centers))
    expansion = KernelExpansion(centers, weights, [0.0], [1.0])
    assert not expansion.fits_single()
    rows = np.linspace(0, 1, 50, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(expansion.score(rows), expansion.score(rows.astype(np.float64)))
    assert random_expansion(0, 30, 1, 2).fits_single()


def test_a_bare_kernel_expansion_is_saved(tmp_path):
    expansion = random_expansion(3, 20, 2, 4)
    save(expansion, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert type(loaded) is KernelExpansion
    X = np.random.default_rng(0).standard_normal((50, 4))
    np.testing.assert_array_equal(loaded.score(X), expansion.score(X))
    assert repr(loaded) == "KernelExpansion(n_terms=20, n_features=4, n_outputs=2)"


@pytest.mark.parametrize(("arrays", "message"), [
    (([[1.0]], [[1.0], [2.0]], [0.0], [1.0]), r"shapes must agree, got centers \(1, 1\), weights \(2, 1\)"),
    (([[np.nan]], [[1.0]], [0.0], [1.0]), r"centers must be a finite 2-D array, got shape \(1, 1\) with nan or inf"),
    (([[1.0]], [[1.0]], [0.0], [[1.0]]), r"inverse_lengthscales must be a finite 1-D array, got shape \(1, 1\)"),
    ((np.empty((1, 0)), [[1.0]], [0.0], []), "shapes must agree"),
])
def test_malformed_expansions(arrays, message):
    with pytest.raises(InvalidInputError, match=message):
        KernelExpansion(*arrays)
