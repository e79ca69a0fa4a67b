"""Ridge regression on random Fourier features, and the matrix of their distance."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern import Expansion
from rffkern._rows.scaling import Scaling
from rffkern._training.fourier_boosting.stacked_features import (
    FeatureMatrix,
    Mahalanobis,
    draw_omegas_by_amplitude,
    learn_by_gradients,
    regress,
    with_scale,
)
from rffkern._training.fourier_boosting.terms import fourier_terms
from rffkern._training.kernel_ridge.dense_regression import DenseRegression
from rffkern._training.kernel_ridge.length_scales import Choice, ChoiceRows, gradients


def kernel(X, Z, omegas):
    """The mean of the cosines, in NumPy."""
    return np.cos((X[:, None] - Z) @ omegas.T).mean(axis=2)


def rows_of(n, d, direction, noise=0.05, n_outputs=1, seed=0):
    """Rows whose targets depend on one direction alone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(X @ direction + np.arange(n_outputs)[:, None]) + noise * rng.standard_normal((n_outputs, n))
    return ChoiceRows(X, y - y.mean(axis=1, keepdims=True), np.ones(n), 1)


@given(st.integers(1, 300), st.integers(1, 5), st.integers(1, 70), st.integers(0, 2**32))
def test_the_matrix_is_that_of_mean_cosines(n_rows, n_features, n_omegas, seed):
    rng = np.random.default_rng(seed)
    X, omegas = rng.standard_normal((n_rows, n_features)), rng.standard_normal((n_omegas, n_features))
    matrix, K = FeatureMatrix(X, omegas, 1), kernel(X, X, omegas)
    vectors = rng.standard_normal((2, n_rows))
    products = matrix.multiply(matrix.padded(vectors))
    np.testing.assert_allclose(products[:, :n_rows], vectors @ K, atol=1e-4 * np.abs(vectors).sum())
    assert not products[:, n_rows:].any()
    some = rng.integers(n_rows, size=3)
    columns = matrix.columns(some).reshape(3, -1)
    np.testing.assert_allclose(columns[:, :n_rows], K[some], atol=1e-4)
    assert not columns[:, n_rows:].any()


def test_rows_far_out_are_in_double_precision():
    """Single precision would not tell their angles."""
    X = np.array([[0.0], [1e6], [1e6 + 0.5]])
    matrix = FeatureMatrix(X, np.array([[1.0], [3.0]]), 1)
    columns = matrix.columns(np.arange(3)).reshape(3, -1)[:, :3]
    assert columns.dtype == np.float64
    np.testing.assert_allclose(columns, kernel(X, X, np.array([[1.0], [3.0]])), atol=1e-8)


@pytest.mark.parametrize("shape", ["gaussian", "exponential"])
def test_gradients_are_those_of_finite_differences(shape):
    rows = rows_of(60, 3, np.array([1.0, -1.0, 0.5]), n_outputs=2)
    choice = Choice(np.array([0.2, 0.3, 0.1]), 1.5, 0.1)
    regression = DenseRegression(rows, shape)
    assert regression.fit(choice)
    found = np.array(list(gradients(rows, shape, choice)))
    h = 1e-4
    if shape == "exponential":  # whose kink at each row has no slope, but on either side
        away = rows.X[:, None] - rows.X
        r = np.sqrt(((away * choice.inverse) ** 2).sum(axis=2))
        slopes = -np.exp(-r) / np.where(r > 0, r, np.inf)
        expected = np.einsum("oj,ij,ijk->oik", regression.coefficients, slopes, away) * choice.inverse**2
        np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3)
        return
    for j, step in enumerate(h * np.eye(3)):
        differences = regression.predict(rows.X + step) - regression.predict(rows.X - step)
        np.testing.assert_allclose(found[:, :, j], differences / (2 * h), rtol=1e-2, atol=1e-3)


def test_the_matrix_finds_the_direction():
    direction = np.array([1.0, 1.0, -1.0, 0.0, 0.5, 0.0])
    rows = rows_of(400, 6, direction)
    start = with_scale(rows, Mahalanobis(np.eye(6) / np.sqrt(6), 0.1), False)
    found = learn_by_gradients(rows, start, False)
    assert found.loss < 0.2 * start.loss
    values, vectors = np.linalg.eigh(found.matrix)
    assert abs(vectors[:, -1] @ direction) > 0.999 * np.linalg.norm(direction)
    assert values[-1] > 10 * values[-2]
    np.testing.assert_allclose(found.root @ found.root.T, found.matrix)


def test_a_function_of_each_column_keeps_the_loss():
    """Where gradients are along columns nothing is lost: a search ends with the lowest error so far."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3))
    y = np.abs(X[:, 0]) + np.sin(3 * X[:, 1])
    rows = ChoiceRows(X, (y - y.mean())[None], np.ones(200), 1)
    start = with_scale(rows, Mahalanobis(np.diag([1.0, 2.0, 0.1]), 0.1), False)
    assert learn_by_gradients(rows, start, False).loss <= start.loss


def test_constant_targets_have_no_matrix():
    rows = rows_of(50, 3, np.ones(3))._replace(targets=np.zeros((1, 50)))
    start = Mahalanobis(np.eye(3), 0.1, 1.0)
    assert learn_by_gradients(rows, start, False) is start


def test_omegas_are_drawn_by_their_amplitudes():
    """Each is one of the normal candidates, and more are where the function has its amplitudes."""
    rows = rows_of(300, 2, np.array([3.0, 0.0]))
    found = with_scale(rows, Mahalanobis(np.eye(2), 0.01), False)
    omegas = draw_omegas_by_amplitude(rows, found, 500, np.random.default_rng(1))
    candidates = np.random.default_rng(1).standard_normal((8192, 2)) @ found.root.T
    assert omegas.shape == (500, 2)
    assert len(np.unique(omegas, axis=0)) == 500
    assert all(np.isclose(candidates, omega).all(axis=1).any() for omega in omegas[:20])
    near = [(np.abs(np.abs(each) - [3.0, 0.0]) < 0.7).all(axis=1).mean() for each in (omegas, candidates)]  # of sin 3 x
    assert near[0] > 1.5 * near[1]


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_regressions_without_folds_are_those_of_dense_systems(n_outputs):
    n = 150
    rows = rows_of(n, 3, np.array([1.0, 1.0, 0.0]), n_outputs=n_outputs)
    weights = np.random.default_rng(2).uniform(0.5, 2, n)
    rows = rows._replace(folds=np.arange(n) % 4, weights=weights)  # three are left out
    omegas = np.random.default_rng(3).standard_normal((40, 3))
    found = regress(rows, omegas, 0.3, 3, np.arange(50), 1e-9, 300)
    K = kernel(rows.X, rows.X, omegas)

    def predictions(learned, of):
        A = K[np.ix_(learned, learned)] + np.diag(0.3 / weights[learned])
        return np.linalg.solve(A, rows.targets[:, learned].T).T @ K[np.ix_(learned, of)]

    for fold in range(4):
        of = np.flatnonzero(rows.folds == fold)
        learned = np.flatnonzero(rows.folds != fold) if fold < 3 else np.arange(n)
        np.testing.assert_allclose(found.out_of_fold[:, of], predictions(learned, of), atol=2e-4)
    scaling = Scaling(np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.0, 1.0]), 1.0, np.ones(3))
    factors = np.arange(1.0, 1.0 + n_outputs)
    terms = fourier_terms(found.omegas * scaling.inverse_scale, found.amplitudes, factors)
    function = Expansion(np.zeros(n_outputs), scaling.center, terms)
    expected = factors[:, None] * predictions(np.arange(n), np.arange(n))
    np.testing.assert_allclose(function.score(scaling.raw(rows.X)).T, expected, atol=2e-4)


def peak_of(function):
    """Bytes that a call takes at its peak."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_draws_and_columns():
    """Far less than that of the features of all candidates, or of columns in double precision."""
    rows = rows_of(1000, 4, np.ones(4))
    found = with_scale(rows, Mahalanobis(np.eye(4), 0.1), False)
    peak = peak_of(lambda: draw_omegas_by_amplitude(rows, found, 1024, np.random.default_rng(1)))
    assert peak < 0.5 * 8192 * 2 * 1000 * 4
    X, omegas = np.random.default_rng(0).standard_normal((4000, 2)), np.ones((16, 2))
    matrix = FeatureMatrix(X, omegas, 1)
    assert peak_of(lambda: matrix.columns(np.arange(512))) < 1.4 * 512 * 4096 * 4


def test_bits_do_not_depend_on_threads():
    rows = rows_of(700, 4, np.ones(4))._replace(folds=np.arange(700) % 3)
    omegas = np.random.default_rng(3).standard_normal((100, 4))
    one, two = (regress(rows._replace(n_threads=n), omegas, 0.1, 2, np.arange(200), 1e-3, 50) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert a.tobytes() == b.tobytes()
