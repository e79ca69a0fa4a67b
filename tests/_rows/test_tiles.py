"""Rows in tiles: their layout, rows that are packed anew in every pass, and the choice of precision."""

from unittest import mock

import numpy as np
import pytest

from rffkern import RowBlocks
from rffkern._rows import row_blocks
from rffkern._rows.scaling import no_scaling
from rffkern._rows.tiles import DOUBLE, SINGLE, TILE, PackedTiles, aligned, in_precision, pack, tile_rows, tiled
from rffkern._rows.weights import RowWeights, check_weights


def untiled(tiles, n_samples):
    """Rows of tiles of shape (n_tiles, n_features, 128)."""
    return tiles.transpose(0, 2, 1).reshape(-1, tiles.shape[1])[:n_samples]


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("shape", [(1,), (3, 5), (2, 7, 128)])
def test_arrays_begin_on_a_cache_line(dtype, shape):
    for _ in range(5):
        array = aligned(shape, dtype)
        assert (array.shape, array.dtype) == (shape, dtype)
        assert array.ctypes.data % 64 == 0
        assert array.flags.c_contiguous


@pytest.mark.parametrize("n_samples", [1, 127, 128, 129])
def test_values_of_rows_are_padded_with_zeros(n_samples):
    values = np.arange(1.0, n_samples + 1)
    found = tiled(values, SINGLE)
    assert found.shape == (-(-n_samples // TILE), TILE)
    np.testing.assert_array_equal(found.reshape(-1)[:n_samples], values)
    assert not found.reshape(-1)[n_samples:].any()


@pytest.mark.parametrize("n_samples", [1, 128, 300])
def test_packed_rows_are_standardised_and_padded(rng, n_samples):
    X = rng.standard_normal((n_samples, 3))
    scaling = no_scaling(3)._replace(center=np.array([1.0, 2, 3]), inverse_scale=np.array([2.0, 0, 4]))
    tiles, length = pack(X, scaling, DOUBLE, 1)
    expected = (X - scaling.center) * scaling.inverse_scale
    np.testing.assert_allclose(untiled(tiles, n_samples), expected)
    assert length == pytest.approx(np.linalg.norm(expected, axis=1).max())
    assert not tiles.transpose(0, 2, 1).reshape(-1, 3)[n_samples:].any()


def test_rows_are_packed_in_the_order_that_is_asked_for(rng):
    X, order = rng.standard_normal((200, 2)), rng.permutation(200)
    tiles, _ = pack(X, no_scaling(2), DOUBLE, 1, order)
    np.testing.assert_array_equal(untiled(tiles, 200), X[order])


def test_memory_is_used_again(rng):
    X, buffer = rng.standard_normal((200, 2)), aligned((5, 2, TILE), DOUBLE)
    tiles, _ = pack(X, no_scaling(2), DOUBLE, 1, out=buffer)
    assert np.shares_memory(tiles, buffer)
    assert len(tiles) == 2
    other, _ = pack(X, no_scaling(2), DOUBLE, 1, out=buffer[:1])
    assert not np.shares_memory(other, buffer)


def test_packed_and_streamed_tiles_are_the_same(rng):
    X = rng.standard_normal((5000, 3))
    packed, length = tile_rows(X, no_scaling(3), SINGLE, 1, RowWeights(5000))
    assert isinstance(packed, PackedTiles)
    with mock.patch.object(row_blocks, "BLOCK_ELEMENTS", 1):
        blocks = RowBlocks([X[:10], X[10:4000], X[4000:]])._check()
        streamed, streamed_length = tile_rows(blocks, no_scaling(3), SINGLE, 1, RowWeights(5000))
        for _ in range(2):
            found = [(place, tiles.copy()) for place, tiles in streamed.blocks()]
            assert [(place.start, place.stop) for place, _ in found] == [(0, 16), (16, 32), (32, 40)]
            np.testing.assert_array_equal(np.concatenate([tiles for _, tiles in found]), packed.tiles)
    assert streamed_length == length
    assert packed.dtype == streamed.dtype == SINGLE


def test_streamed_rows_without_weight_stand_at_the_center():
    """They must neither overflow nor decide on the precision."""
    X, weight = np.ones((300, 2)), np.ones(300)
    X[7], weight[7] = 1e300, 0
    scaling = no_scaling(2)._replace(center=np.array([0.5, 0.5]))
    streamed, length = tile_rows(RowBlocks([X])._check(), scaling, SINGLE, 1, check_weights(weight, 300))
    assert length == pytest.approx(np.sqrt(0.5))
    (_, tiles), = streamed.blocks()
    assert not untiled(tiles, 300)[7].any()


@pytest.mark.parametrize(("precision", "limit", "asked"), [
    ("single", 10, [SINGLE]), ("single", 3, [SINGLE, DOUBLE]), ("double", 10, [DOUBLE])])
def test_double_precision_where_it_is_asked_for_or_needed(precision, limit, asked):
    dtypes = []

    def pack_in(dtype):
        dtypes.append(dtype)
        return dtype, 5.0

    assert in_precision(pack_in, precision, limit) == asked[-1]
    assert dtypes == asked
