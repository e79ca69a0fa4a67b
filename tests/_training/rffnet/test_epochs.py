"""The order in which epochs visit rows."""

from itertools import islice

import numpy as np
import pytest

from rffkern import RowBlocks
from rffkern._rows import row_blocks
from rffkern._rows.weights import RowWeights
from rffkern._training.rffnet.epochs import epochs, visits
from rffkern._training.rffnet.problem import Problem


def numbered(n_samples, weight=None):
    """Rows whose target is their index."""
    X = np.arange(2.0 * n_samples).reshape(n_samples, 2)
    return Problem(X, np.arange(float(n_samples))[:, None], RowWeights(n_samples, weight), 1)


def places(visit):
    """Indices of the rows visited, in each order."""
    return [visit.targets[order, 0].astype(int) for order in visit.orders]


def one_epoch(problem, members, batch_size, rng):
    found = []
    for step in epochs(problem, members, batch_size, rng):
        found.append(step)
        if step.ends_epoch:
            return found


def test_few_rows_are_passed_over_several_times(rng):
    """70 rows make 3 batches, 11 passes of which make 33 steps."""
    members = np.arange(5, 75)
    step, = one_epoch(numbered(80), members, 32, rng)
    assert step.ends_part
    orders = places(step.visit)
    assert len(orders) == 11
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), members)
    assert len({tuple(order) for order in orders}) == 11
    assert step.visit.total_weight == 11 * 70


def test_draws_of_passes_are_permutations_in_their_order():
    step, = one_epoch(numbered(40), np.arange(40), 4, np.random.default_rng(7))
    expected = np.random.default_rng(7)
    for order in places(step.visit):
        np.testing.assert_array_equal(order, expected.permutation(40))


@pytest.mark.parametrize(("n_samples", "sizes"), [
    (2000, [2000]), (2001, [1004, 997]), (4001, [1336, 1336, 1329]),
])
def test_long_epochs_have_parts_of_whole_batches(n_samples, sizes, rng):
    """Of at most 500 steps of 4 rows."""
    found = one_epoch(numbered(n_samples), np.arange(n_samples), 4, rng)
    assert [len(step.visit.orders[0]) for step in found] == sizes
    assert all(step.ends_part for step in found)
    assert [step.ends_epoch for step in found] == [False] * (len(sizes) - 1) + [True]
    visited = np.concatenate([order for step in found for order in places(step.visit)])
    np.testing.assert_array_equal(np.sort(visited), np.arange(n_samples))


def test_epochs_follow_each_other(rng):
    found = list(islice(epochs(numbered(3000), np.arange(3000), 4, rng), 6))
    assert [step.ends_epoch for step in found] == [False, True] * 3
    firsts = [tuple(found[k].visit.orders[0]) for k in (0, 2, 4)]
    assert len(set(firsts)) == 3


def test_total_weight_is_that_of_the_rows_visited(rng):
    weight = rng.random(200)
    members = np.arange(20, 90)
    found = list(visits(numbered(200, weight), members, 2, 50, rng))
    assert [len(visit.orders) for visit in found] == [2, 2]
    for visit in found:
        assert visit.total_weight == pytest.approx(sum(weight[order].sum() for order in places(visit)), rel=1e-14)
        np.testing.assert_array_equal(visit.weight, weight)


@pytest.fixture
def streamed(monkeypatch, tmp_path):
    """Rows of a mapped file in blocks of 2048."""
    monkeypatch.setattr(row_blocks, "BLOCK_ELEMENTS", 1)
    problem = numbered(7000, np.random.default_rng(1).random(7000))
    np.save(tmp_path / "X.npy", problem.X)
    rows, _ = row_blocks.check_rows(np.load(tmp_path / "X.npy", mmap_mode="r"))
    return problem._replace(X=rows)


def test_every_streamed_row_is_visited_once_in_random_order(streamed, rng):
    members = np.flatnonzero(rng.random(7000) < 0.6)
    found = list(visits(streamed, members, 1, len(members), rng))
    assert len(found) == 4
    visited = np.concatenate([places(visit)[0] for visit in found])
    np.testing.assert_array_equal(np.sort(visited), members)
    for visit in found:
        assert not (np.diff(visit.orders[0]) > 0).all()
        np.testing.assert_array_equal(visit.X[visit.orders[0], 0], 2.0 * places(visit)[0])
        np.testing.assert_array_equal(visit.weight[visit.orders[0]], streamed.weights.values[places(visit)[0]])
    firsts = {next(visits(streamed, members, 1, len(members), rng)).targets[0, 0] for _ in range(20)}
    assert len(firsts) > 2  # blocks come in random order


def test_parts_of_streams_end_with_the_block_that_completes_them(streamed, rng):
    """Of at most 500 steps of 4 rows, counted anew in each part."""
    firsts = ((0, 1000), (2048, 1000), (4096, 1999), (6144, 1))
    members = np.concatenate([np.arange(first, first + n) for first, n in firsts])
    streamed = streamed._replace(X=RowBlocks([streamed.X._source[:7000]]).check())
    found = one_epoch(streamed, members, 4, rng)
    assert [len(step.visit.orders[0]) for step in found] == [1000, 1000, 1999, 1]
    assert [step.ends_part for step in found] == [False, True, False, True]
    assert [step.ends_epoch for step in found] == [False, False, False, True]


def test_blocks_without_members_are_not_visited(streamed, rng):
    members = np.arange(2048, 4096)
    visit, = visits(streamed, members, 1, len(members), rng)
    np.testing.assert_array_equal(np.sort(places(visit)[0]), members)


def test_streams_are_passed_over_several_times(rng):
    problem = numbered(60)
    problem = problem._replace(X=RowBlocks([problem.X[:25], problem.X[25:]]).check())
    found = one_epoch(problem, np.arange(60), 32, rng)
    assert [len(step.visit.orders) for step in found] == [1] * 16
    assert [step.ends_part for step in found] == [False] * 15 + [True]
