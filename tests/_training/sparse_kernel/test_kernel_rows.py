"""Rows as kernels read them: their weights, subsets, centers, precision and threads."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import DOUBLE, given_kernel, in_tiles, kernel_rows, waves

from rffkern import RowBlocks
from rffkern._rows.scaling import no_scaling
from rffkern._rows.threads import ELEMENTS_PER_THREAD, check_n_threads
from rffkern._rows.tiles import tiled
from rffkern._rows.weights import RowWeights
from rffkern._training.kernel_ridge.kernel import Kernel
from rffkern._training.kernel_ridge.kernel_matrix import LARGEST_SINGLE_LENGTH
from rffkern._training.sparse_kernel import kernel_rows as kernel_rows_module
from rffkern._training.sparse_kernel.kernel_rows import KernelRows, Kernels


@pytest.mark.parametrize("n_rows", [1, 128, 300])
@pytest.mark.parametrize("n_centers", [1, 7, 8, 9])
def test_sums_over_rows_and_centers(rng, n_rows, n_centers):
    X, _ = waves(rng, n_rows)
    kernel = given_kernel()
    rows = kernel_rows(X, kernel)
    indices = rng.integers(0, n_rows, n_centers)
    K = reference.gaussian_kernel(X, X[indices], kernel.length_scale)
    v, weights = rng.standard_normal(n_rows), rng.standard_normal(n_centers)
    kernels = Kernels(rows, rows.centers(indices))
    np.testing.assert_allclose(kernels.correlate(in_tiles(v)[None])[0, :n_centers], v @ K, atol=1e-10)
    for combining in (kernels, Kernels(rows, rows.centers(indices))):
        columns = np.full((1, rows.n_tiles, 128), np.nan)
        combining.combine(weights[None], np.array([0.5]), columns)
        np.testing.assert_allclose(columns.reshape(-1)[:n_rows], K @ weights + 0.5, atol=1e-12)
    columns = np.empty((1, rows.n_tiles, 128))
    rows.fill(columns, rows.centers(indices), weights[None], np.array([0.5]))
    np.testing.assert_allclose(columns.reshape(-1)[:n_rows], K @ weights + 0.5, atol=1e-12)


def test_some_rows_in_tiles(rng):
    X, _ = waves(rng, 300)
    rows = kernel_rows(X, given_kernel(), rng.uniform(0.5, 1.5, 300), np.float32)
    indices = rng.permutation(300)[:130]
    tiles = rows.tiles_of(indices)
    assert tiles.shape == (2, 4, 128)
    assert tiles.dtype == np.float64
    np.testing.assert_allclose(tiles[:, 3], (tiles[:, :3] ** 2).sum(axis=1), rtol=1e-15)
    assert not tiles[1, :, 2:].any()
    lengths = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(tiles[1, :3, 0] * lengths, X[indices[128]] * np.sqrt(0.5 / np.log(2)), rtol=1e-6)


def test_some_of_the_rows(rng):
    X, _ = waves(rng, 300)
    rows = kernel_rows(X, given_kernel(), np.arange(300))
    indices = np.array([5, 250, 7])
    taken = rows.taken(indices)
    np.testing.assert_array_equal(taken.centers(np.arange(3))[:3], rows.centers(indices)[:3])
    assert taken.flat_weight.tolist() == [5, 250, 7]
    assert taken.weights.total == 262


def test_values_of_rows_without_weight_do_not_matter(rng):
    X, _ = waves(rng, 200)
    weights = RowWeights(200, (np.arange(200) % 2).astype(float))
    changed = X.copy()
    changed[::2] = 1e300
    found = [KernelRows(RowBlocks([Z[:90], Z[90:]])._check(), no_scaling(3), weights, DOUBLE, 1) for Z in (X, changed)]
    np.testing.assert_array_equal(found[0].tiles.transpose(0, 2, 1).reshape(-1, 4)[1:200:2],
                                  found[1].tiles.transpose(0, 2, 1).reshape(-1, 4)[1:200:2])
    assert found[1].largest_length < 10


@pytest.mark.parametrize(("lengths", "expected"), [(350, False), (356, True)])
def test_single_becomes_double_beyond_353_length_scales(lengths, expected):
    X = np.zeros((3, 1))
    X[2] = lengths
    scaling = given_kernel()._replace(length_scale=np.ones(1)).scaling(no_scaling(1))
    rows = KernelRows(X, scaling, RowWeights(3), np.float32, 1)
    assert (rows.largest_length > LARGEST_SINGLE_LENGTH) == expected


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("per_row", [0, 1, 5000, 10**6, 10**9])
def test_threads_are_those_of_the_rule_for_all_kernels(rng, n_threads, per_row):
    rows = kernel_rows(rng.standard_normal((300, 2)), given_kernel()._replace(length_scale=np.ones(2)),
                       n_threads=n_threads)
    assert rows.threads(per_row) == check_n_threads(n_threads, 300 * per_row)
    assert rows.threads(2 * ELEMENTS_PER_THREAD // 300 + 1) == min(n_threads, 2)


def test_kernels_of_rows_with_squares_are_right_to_a_millionth_in_single_precision(rng):
    """Rows as far from the center as rows with squares may be."""
    X = rng.standard_normal((600, 6))
    X /= np.linalg.norm(X, axis=1)[:, None]
    kernel = Kernel(np.full(6, 0.57), 1.0, 0.0)
    rows = kernel_rows(X, kernel, dtype=np.float32)
    assert rows.has_squares
    assert rows.largest_length > 1.45
    kernels, columns = Kernels(rows, rows.centers(np.arange(600))), np.empty((600, rows.n_tiles, 128), np.float32)
    kernels.combine(np.eye(600), np.zeros(600), columns)
    expected = reference.kernel_of_shape(X, X, *kernel[:4])
    np.testing.assert_allclose(columns.reshape(600, -1)[:, :600], expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_kernels_that_do_not_fit_into_memory_are_computed_twice(rng, monkeypatch, precision, spread):
    """The same sums to rounding, whether rows lie near the center or far from it."""
    X = spread * rng.standard_normal((1000, 3))
    rows = kernel_rows(X, given_kernel()._replace(length_scale=np.full(3, spread)), dtype=precision)
    far = kernel_rows(X, given_kernel()._replace(length_scale=np.full(3, spread / 50)), dtype=precision)
    assert (rows.has_squares, far.has_squares) == (precision is np.float64, False)
    assert kernel_rows(X, given_kernel()._replace(length_scale=np.full(3, 4 * spread)), dtype=precision).has_squares
    v = np.array([tiled(values, DOUBLE) for values in rng.standard_normal((2, 1000))])
    weights, found = rng.standard_normal((2, 5)), []
    for most in (2**26, 1):
        monkeypatch.setattr(kernel_rows_module, "_MOST_KEPT", most)
        kernels, columns = Kernels(rows, rows.centers(np.arange(5))), np.empty((2, rows.n_tiles, 128), precision)
        sums = kernels.correlate(v)
        kernels.combine(weights, np.ones(2), columns)
        found.append((sums, columns))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found[0][1], found[1][1])
