"""Samples of the rows that rounds take in turn: in memory, and collected from the passes over streamed rows."""

import numpy as np
import pytest

from rffkern import GBRFF2Classifier, RowBlocks
from rffkern._rows.scaling import measure_scaling, no_scaling
from rffkern._rows.weights import RowWeights
from rffkern._training.gbrff import packed_rows
from rffkern._training.gbrff.losses import SquaredRows
from rffkern._training.gbrff.packed_rows import StreamedRows, n_samples_of, pack_rows, pack_samples, sample_edges

DOUBLE = np.dtype(np.float64)


class CountedBlocks:
    """An iterable over blocks of rows that counts the passes."""

    def __init__(self, X, size):
        self.blocks, self.n_passes = [X[start : start + size] for start in range(0, len(X), size)], 0

    def __iter__(self):
        self.n_passes += 1
        return iter(self.blocks)


def packed(X, streamed, weights, scaling, n_samples, order):
    """Rows in double precision, divided into samples."""
    return pack_samples(RowBlocks([X])._check() if streamed else X, weights, scaling, "double", 0.0, 1, 1, n_samples,
                        order)


def weight_of_rows(subset):
    """Weights of a subset, written out for every row of its tiles."""
    if len(subset.weight) == len(subset.tiles):
        return subset.weight.reshape(-1)
    full, last = subset.weight
    return np.concatenate([*[full] * (len(subset.tiles) - 1), last])


def rows_of(subset):
    """Rows of positive weight of a subset."""
    return subset.tiles.transpose(0, 2, 1).reshape(-1, subset.tiles.shape[1])[weight_of_rows(subset) > 0]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_hold_every_row_once(rng, streamed, weighted):
    X, order = rng.standard_normal((1000, 5)), rng.permutation(1000)
    weights = RowWeights(1000, rng.uniform(0.5, 2, 1000) if weighted else None)
    scaling = measure_scaling(X, weights)
    rows = packed(X, streamed, weights, scaling, 3, order)
    standardised = (X - scaling.center) * scaling.inverse_scale
    found, totals = [], []
    for index in range(3):
        subset = rows.sample(index)
        found.append(rows_of(subset))
        totals.append(subset.total_weight)
        assert subset.total_weight == pytest.approx(weight_of_rows(subset).sum())
        # A tile has rows that are together in the order, and a subset 2 or 3 of the 8 tiles.
        members = order[[0, 2 * 128, 5 * 128][index] : [2 * 128, 5 * 128, 1000][index]]
        np.testing.assert_array_equal(np.sort(found[-1], axis=0), np.sort(standardised[members], axis=0))
    np.testing.assert_array_equal(np.sort(np.concatenate(found), axis=0), np.sort(standardised, axis=0))
    assert sum(totals) == pytest.approx(weights.total)
    np.testing.assert_array_equal(rows_of(rows.sample(1)), found[1])


@pytest.mark.parametrize("streamed", [False, True])
def test_residuals_are_those_of_the_rows_of_a_sample(rng, streamed):
    """Where residuals are the first column, those of a subset are the first column of its tiles."""
    X, order = rng.standard_normal((700, 2)), rng.permutation(700)
    rows = packed(X, streamed, RowWeights(700), no_scaling(2), 2, order)
    state = SquaredRows(rows, X[:, 0], 0.0)
    for index in (0, 1, 0):
        sample = rows.sample(index)
        np.testing.assert_array_equal(state.residuals(sample), sample.tiles[:, 0])


@pytest.mark.parametrize("n_rows", [2, 1000, 100_003])
def test_permutations_are_the_same_in_four_bytes(n_rows):
    """RowBlocks shuffle indices of 4 bytes, arrays those of 8."""
    orders = [np.arange(n_rows, dtype=dtype) for dtype in (np.int32, np.intp)]
    for order in orders:
        np.random.default_rng(3).shuffle(order)
        np.testing.assert_array_equal(order, np.random.default_rng(3).permutation(n_rows))


@pytest.mark.parametrize("streamed", [False, True])
def test_blocks_cover_all_rows_with_their_weights(rng, streamed):
    X = rng.standard_normal((5000, 3))
    for values in (None, rng.integers(1, 4, 5000).astype(float)):
        weights = RowWeights(5000, values)
        rows = pack_rows(RowBlocks([X])._check() if streamed else X, weights, no_scaling(3),
                         DOUBLE, 1, 1)
        stop, total = 0, 0.0
        for place, tiles, weight in rows.blocks():
            assert place.start == stop
            stop = place.stop
            assert len(tiles) == place.stop - place.start
            total += weight.sum() if len(weight) == len(tiles) else weight[0].sum() * (len(tiles) - 1) + weight[1].sum()
        assert stop == rows.n_tiles == 40
        assert total == weights.total


@pytest.mark.parametrize("streamed", [False, True])
def test_long_rows_are_packed_in_double_precision(rng, streamed):
    X = rng.standard_normal((300, 2))
    X[7] = [30.0, 40.0]
    some, scaling = RowBlocks([X])._check() if streamed else X, no_scaling(2)
    found = [pack_samples(some, RowWeights(300), scaling, precision, length, 1, 1, 1, None).dtype
             for precision, length in (("single", 50.1), ("single", 49.9), ("double", 50.1))]
    assert found == [np.float32, np.float64, np.float64]


def test_rows_without_weight_belong_to_no_streamed_sample(rng):
    X, values = rng.standard_normal((600, 2)), np.repeat([0.0, 2.0], 300)
    rows = packed(X, True, RowWeights(600, values), no_scaling(2), 2, rng.permutation(300))
    found = np.concatenate([rows_of(rows.sample(index)).copy() for index in range(2)])
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(X[300:], axis=0))


def collecting(X, members):
    source = CountedBlocks(X, 100)
    blocks, n_features = RowBlocks(source)._check(), X.shape[1]
    scaling = no_scaling(n_features)
    source.n_passes = 0
    return source, StreamedRows(blocks, RowWeights(len(X)), scaling, DOUBLE, 1, 1, members)


def test_a_pass_collects_the_sample_that_is_next(rng):
    X = rng.standard_normal((500, 3))
    members = [np.sort(part) for part in np.split(rng.permutation(500), [150, 320])]
    source, tiles = collecting(X, members)
    for index in (0, 1, 2, 0, 1):
        list(tiles.blocks())  # a pass that evaluates a weak learner
        n_passes = source.n_passes
        np.testing.assert_array_equal(rows_of(tiles.sample(index)), X[members[index]])
        assert source.n_passes == n_passes


def test_a_sample_out_of_turn_takes_one_more_pass(rng):
    X = rng.standard_normal((500, 3))
    members = [np.arange(0, 250), np.arange(250, 400), np.arange(400, 500)]
    source, tiles = collecting(X, members)
    np.testing.assert_array_equal(rows_of(tiles.sample(2)), X[400:])
    assert source.n_passes == 1
    np.testing.assert_array_equal(rows_of(tiles.sample(2)), X[400:])  # still there
    assert source.n_passes == 1
    np.testing.assert_array_equal(rows_of(tiles.sample(1)), X[250:400])
    assert source.n_passes == 2


def test_a_single_sample_is_collected_once(rng):
    X = rng.standard_normal((300, 2))
    source, tiles = collecting(X, [np.arange(300)])
    list(tiles.blocks())
    X[:] = 7.0
    list(tiles.blocks())
    assert not (rows_of(tiles.sample(0)) == 7.0).any()
    assert source.n_passes == 2


@pytest.mark.parametrize(("n_samples", "max_samples"),
                         [(1000, 334), (1000, 128), (1025, 256), (1000, 1000), (300, 299)])
def test_no_sample_is_larger_than_allowed(monkeypatch, rng, n_samples, max_samples):
    divided = []

    def watch(*arguments):
        divided.append(pack_samples(*arguments))
        return divided[-1]

    monkeypatch.setattr(packed_rows, "pack_samples", watch)
    X = rng.standard_normal((n_samples, 5))
    GBRFF2Classifier(2, max_samples=max_samples, random_state=0).fit(X, X[:, 0] > 0)
    sizes = [divided[0].sample(t).total_weight for t in range(n_samples_of(max_samples, n_samples))]
    assert sum(sizes) == n_samples
    assert max_samples / 3 < max(sizes) <= max_samples


@pytest.mark.parametrize("n_rows", [1, 128, 129, 1000, 5000])
@pytest.mark.parametrize("max_samples", [None, 128, 300, 1024])
def test_the_size_of_the_largest_sample(n_rows, max_samples):
    edges = sample_edges(n_rows, n_samples_of(max_samples, n_rows))
    largest = max(np.diff(edges))
    assert max_samples is None or largest * 128 <= max(max_samples, 128) + 127
    assert edges[0] == 0
    assert edges[-1] == -(-n_rows // 128)
