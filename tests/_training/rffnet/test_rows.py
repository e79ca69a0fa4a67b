"""Rows with numeric targets, those to validate on, and the order in which epochs visit the others."""

import numpy as np
import pytest

from rffkern import RFFNetRegressor, RowBlocks
from rffkern._rows import row_blocks
from rffkern._rows.training_rows import TargetRows, check_labelled, check_with_targets
from rffkern._rows.weights import RowWeights
from rffkern._training.rffnet.rows import (
    n_validation_rows,
    numeric_rows,
    shuffled_epoch,
    shuffled_passes,
    taken,
)


def numbered(n_samples, weight=None):
    """Rows whose target is their index."""
    X = np.arange(2.0 * n_samples).reshape(n_samples, 2)
    return TargetRows(X, np.arange(float(n_samples))[:, None], RowWeights(n_samples, weight))


def places(rows, orders):
    """Indices of the rows visited, in each order."""
    return [rows.values[order, 0].astype(int) for order in orders]


def one_epoch(rows, members, batch_size, rng):
    """The rows of an epoch in the order of their visits, and where its parts end."""
    found = list(shuffled_epoch(rows, members, batch_size, rng))
    return [visit for *visit, _ in found], [ends_part for *_, ends_part in found]


def test_two_classes_are_signs_and_more_are_indices(rng):
    X = rng.standard_normal((4, 2))
    two = check_labelled(X, ["no", "yes", "yes", "no"], None)
    np.testing.assert_array_equal(numeric_rows(two.rows, two, None).values, [[-1], [1], [1], [-1]])
    three = check_labelled(X, ["b", "c", "a", "c"], None)
    np.testing.assert_array_equal(numeric_rows(three.rows, three, None).values, [[1], [2], [0], [2]])


def test_targets_are_in_the_units_of_the_training_that_goes_on(rng):
    X, y = rng.standard_normal((50, 2)), 5 + 3 * rng.standard_normal(50)
    training = check_with_targets(X, y, None, 1)
    np.testing.assert_allclose(numeric_rows(training.rows, training, None).values[:, 0], (y - y.mean()) / y.std())
    found = numeric_rows(training.rows, training, (np.array([1.0]), np.array([2.0])))
    np.testing.assert_allclose(found.values[:, 0], (y - 1) / 2)


@pytest.mark.parametrize("streamed", [False, True])
def test_rows_that_are_taken(streamed):
    rows = numbered(100, np.arange(100.0) + 1)
    if streamed:
        rows = rows._replace(X=RowBlocks([rows.X[:33], rows.X[33:]])._check())
    some = taken(rows, np.array([5, 70, 20]))
    np.testing.assert_array_equal(some.X[:, 0], [10, 140, 40])
    np.testing.assert_array_equal(some.values[:, 0], [5, 70, 20])
    np.testing.assert_array_equal(some.weights.each, [6, 71, 21])


@pytest.mark.parametrize(("n_samples", "n_features", "fraction", "expected"), [
    (99, 2, 0.1, 9), (99, 2, 0.0, 0), (10**6, 2, 0.5, 1 << 16), (40, 1 << 12, 0.5, 20), (40, 1 << 21, 0.5, 8),
])
def test_number_of_validation_rows(n_samples, n_features, fraction, expected):
    """At most 2^16 rows and 2^24 numbers."""
    assert n_validation_rows(n_samples, n_features, fraction) == expected


@pytest.mark.parametrize("streamed", [False, True])
def test_validation_rows_are_the_first_of_a_permutation_of_those_that_count(streamed, rng):
    X, y = rng.standard_normal((100, 3)), rng.standard_normal(100)
    weight = np.where(np.arange(100) % 5, 2.0, 0.0)
    seen = []
    model = RFFNetRegressor(10, random_state=3, max_epochs=1, n_restarts=1, validation_fraction=0.25)
    model.fit(RowBlocks([X[:33], X[33:]]) if streamed else X, y, weight, callback=seen.append)
    rows = model._training_state.validation_rows
    np.testing.assert_array_equal(rows, np.sort(np.random.default_rng(3).permutation(80)[:20]))
    chosen = np.flatnonzero(weight)[rows]
    values = (model.predict(X[chosen]) - y[chosen]) / np.std(y[weight > 0])
    assert min(model.eval_loss_) == pytest.approx(np.mean(values**2), rel=1e-4)


def test_few_rows_are_passed_over_several_times(rng):
    """70 rows make 3 batches, 11 passes of which make 33 steps."""
    members = np.arange(5, 75)
    (visit,), ends = one_epoch(numbered(80), members, 32, rng)
    assert ends == [True]
    orders = places(*visit)
    assert len(orders) == 11
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), members)
    assert len({tuple(order) for order in orders}) == 11


def test_draws_of_passes_are_permutations_in_their_order():
    (visit,), _ = one_epoch(numbered(40), np.arange(40), 4, np.random.default_rng(7))
    expected = np.random.default_rng(7)
    for order in places(*visit):
        np.testing.assert_array_equal(order, expected.permutation(40))


@pytest.mark.parametrize(("n_samples", "sizes"), [
    (2000, [2000]), (2001, [1004, 997]), (4001, [1336, 1336, 1329]),
])
def test_long_epochs_have_parts_of_whole_batches(n_samples, sizes, rng):
    """Of at most 500 steps of 4 rows."""
    found, ends = one_epoch(numbered(n_samples), np.arange(n_samples), 4, rng)
    assert [len(orders[0]) for _, orders in found] == sizes
    assert all(ends)
    visited = np.concatenate([order for visit in found for order in places(*visit)])
    np.testing.assert_array_equal(np.sort(visited), np.arange(n_samples))


def test_parts_of_passes(rng):
    weight = rng.random(200)
    found = list(shuffled_passes(numbered(200, weight), np.arange(20, 90), 2, 50, rng))
    assert [[len(order) for order in orders] for _, orders in found] == [[50, 50], [20, 20]]
    for rows, _ in found:
        np.testing.assert_array_equal(rows.weights.each, weight)


@pytest.fixture
def streamed(monkeypatch, tmp_path):
    """Rows of a mapped file in blocks of 2048."""
    monkeypatch.setattr(row_blocks, "BLOCK_ELEMENTS", 1)
    rows = numbered(7000, np.random.default_rng(1).random(7000))
    np.save(tmp_path / "X.npy", rows.X)
    X, _ = row_blocks.check_rows(np.load(tmp_path / "X.npy", mmap_mode="r"))
    return rows._replace(X=X)


def test_every_streamed_row_is_visited_once_in_random_order(streamed, rng):
    members = np.flatnonzero(rng.random(7000) < 0.6)
    found = list(shuffled_passes(streamed, members, 1, len(members), rng))
    assert len(found) == 4
    visited = np.concatenate([places(*visit)[0] for visit in found])
    np.testing.assert_array_equal(np.sort(visited), members)
    for rows, (order,) in found:
        assert not (np.diff(order) > 0).all()
        (place,) = places(rows, [order])
        np.testing.assert_array_equal(rows.X[order, 0], 2.0 * place)
        np.testing.assert_array_equal(rows.weights.each[order], streamed.weights.values[place])
    firsts = {next(shuffled_passes(streamed, members, 1, len(members), rng))[0].values[0, 0] for _ in range(20)}
    assert len(firsts) > 2  # blocks come in random order


def test_parts_of_streams_end_with_the_block_that_completes_them(streamed, rng):
    """Of at most 500 steps of 4 rows, counted anew in each part."""
    firsts = ((0, 1000), (2048, 1000), (4096, 1999), (6144, 1))
    members = np.concatenate([np.arange(first, first + n) for first, n in firsts])
    streamed = streamed._replace(X=RowBlocks([streamed.X._source[:7000]])._check())
    found, ends = one_epoch(streamed, members, 4, rng)
    assert [len(orders[0]) for _, orders in found] == [1000, 1000, 1999, 1]
    assert ends == [False, True, False, True]


def test_blocks_without_members_are_not_visited(streamed, rng):
    members = np.arange(2048, 4096)
    visit, = shuffled_passes(streamed, members, 1, len(members), rng)
    np.testing.assert_array_equal(np.sort(places(*visit)[0]), members)


def test_streams_are_passed_over_several_times(rng):
    rows = numbered(60)
    rows = rows._replace(X=RowBlocks([rows.X[:25], rows.X[25:]])._check())
    found, ends = one_epoch(rows, np.arange(60), 32, rng)
    assert [len(orders) for _, orders in found] == [1] * 16
    assert ends == [False] * 15 + [True]
