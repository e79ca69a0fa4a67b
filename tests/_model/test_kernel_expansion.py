"""Kernel expansions: their scores, their files, and arrays that make none."""

import numpy as np
import pytest
import reference
from helpers.expansions import kernel_expansion
from helpers.packing import DTYPES

from rffkern import InvalidInputError, load, save
from rffkern._native import sparse


def random_expansion(seed, n_terms, n_outputs, n_features, exponent=2.0):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n_terms, n_outputs)) * (rng.random((n_terms, n_outputs)) < 0.6)
    return kernel_expansion(rng.standard_normal((n_terms, n_features)), weights, rng.standard_normal(n_outputs),
                           rng.uniform(0.1, 1, n_features), [exponent])


@pytest.mark.parametrize("exponent", [1.0, 2.0])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n_terms", "n_outputs", "n_features"), [(0, 2, 3), (1, 1, 1), (5, 3, 7), (70, 4, 33),
                                                                  (300, 1, 150)])
def test_scores_and_the_bits_of_a_row_alone(level, dtype, n_terms, n_outputs, n_features, exponent):
    expansion = random_expansion(n_terms, n_terms, n_outputs, n_features, exponent)
    assert expansion.kernels.shape == {1.0: "exponential", 2.0: "gaussian"}[exponent]
    X = np.random.default_rng(1).standard_normal((200, n_features)).astype(dtype)
    X[: min(n_terms, 3)] = expansion.kernels.centers[:3]  # where the root of a distance is steep
    together = expansion.score(X)
    kernels = expansion.kernels
    K = reference.kernel_of_shape(X.astype(np.float64), kernels.centers, 1 / kernels.inverse_length_scales,
                                  shape=kernels.shape)
    np.testing.assert_allclose(together, expansion.intercept + K @ kernels.weights,
                               atol=1e-4 if dtype is np.float32 else 1e-11)
    for size in (1, 3, 33):
        np.testing.assert_array_equal(np.vstack([expansion.score(X[i : i + size]) for i in range(0, 200, size)]),
                                      together)
    np.testing.assert_array_equal(expansion.score(X, n_jobs=2), together)


@pytest.mark.parametrize(("length", "fits"), [(990, True), (1010, False)])
def test_centers_far_apart_are_told_apart_in_double(length, fits):
    """In units of 2^-|x - z|^2, half of the way between the outermost."""
    scale = sparse.UNITS[2] * np.array([0.5, 2.0])
    centers = np.array([[0.0, 0.0], [2 * length, 0.0]]) / scale + [7.0, -3.0]
    assert all(kernel_expansion(centers, [[1.0], [1.0]], [0.0], [0.5, 2.0])._scorer.fits) == fits


def test_weights_that_cancel_are_scored_in_double():
    centers = np.linspace(0, 1, 30)[:, None]
    weights = np.linalg.solve(reference.gaussian_kernel(centers, centers) + 1e-11 * np.eye(30), np.sin(3 * centers))
    expansion = kernel_expansion(centers, weights, [0.0], [1.0])
    assert not all(expansion._scorer.fits)
    rows = np.linspace(0, 1, 50, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(expansion.score(rows), expansion.score(rows.astype(np.float64)))
    assert all(random_expansion(0, 30, 1, 2)._scorer.fits)


@pytest.mark.parametrize("exponent", [[0.0], [1.5], [2.0, 2.0], []])
def test_exponents_that_are_none(exponent):
    with pytest.raises(InvalidInputError, match="exponent"):
        kernel_expansion([[0.0]], [[1.0]], [0.0], [1.0], exponent)


@pytest.mark.parametrize("distance", [1.0, 0.3, 0.1, 0.03, 0.02, 0.01, 0.005, 0.003, 0.001])
def test_single_precision_moves_scores_by_little_or_is_not_used(distance):
    """Opposite weights of two centers: single precision loses about 1e-7 / distance^2 of the values."""
    expansion = kernel_expansion([[0.0, 1.0], [distance, 1.0]], [[1.0], [-1.0]], [0.0], [1.0, 1.0])
    rows = expansion.kernels.centers.astype(np.float32)
    exact = expansion.score(rows.astype(np.float64))
    assert np.abs(expansion.score(rows) - exact).max() <= 1e-4 * np.abs(exact).max()
    if distance in (1.0, 0.01):
        assert all(expansion._scorer.fits) == (distance == 1.0)


def test_a_bare_kernel_expansion_is_saved(tmp_path):
    expansion = random_expansion(3, 20, 2, 4, 1.0)
    save(expansion, tmp_path / "m")
    loaded = load(tmp_path / "m")
    X = np.random.default_rng(0).standard_normal((50, 4))
    np.testing.assert_array_equal(loaded.score(X), expansion.score(X))
    assert repr(loaded) == "Expansion(kernels=20, n_features=4, n_outputs=2)"


@pytest.mark.parametrize(("arrays", "message"), [
    (([[1.0]], [[1.0], [2.0]], [0.0], [1.0]), r"shapes must agree, got centers \(1, 1\), weights \(2, 1\)"),
    (([[np.nan]], [[1.0]], [0.0], [1.0]), r"centers must be a finite 2-D array, got shape \(1, 1\) with nan or inf"),
    (([[1.0]], [[1.0]], [0.0], [[1.0]]), r"inverse_length_scales must be a finite 1-D array, got shape \(1, 1\)"),
    ((np.empty((1, 0)), [[1.0]], [0.0], []), "must not be empty"),
])
def test_malformed_expansions(arrays, message):
    with pytest.raises(InvalidInputError, match=message):
        kernel_expansion(*arrays)
