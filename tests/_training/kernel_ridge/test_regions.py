"""Rows divided into regions."""

import numpy as np
import pytest

from rffkern._model.regions import Regions
from rffkern._model.tree_layout import UNREACHED
from rffkern._training.kernel_ridge.regions import divide, undivided


def rows_of(kind, n_rows=1000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4, n_rows)).astype(np.float32)
    if kind == "few values":
        X = np.round(X)
    if kind == "one value":
        X[:] = 3
    if kind == "ties above":
        X = np.minimum(X, -0.3)
    if kind == "two values":
        X = (X > 0.7).astype(np.float32)
    return X


KINDS = "usual", "few values", "one value", "ties above", "two values"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most_rows", [1, 60, 400, 2000])
def test_each_row_is_in_the_region_that_thresholds_say(kind, most_rows):
    X = rows_of(kind, 64 if most_rows == 1 else 1000)
    found = divide(X, np.array([1.0, 4.0, 0.0, 2.0]), most_rows)
    n_regions = len(found.regions)
    assert n_regions * most_rows >= X.shape[1]
    assert n_regions == 1 or n_regions * most_rows < 2 * X.shape[1]
    assert found.columns.shape == found.thresholds.shape == (n_regions - 1,)
    cells = Regions(found.columns, found.thresholds, np.zeros(n_regions + 1, dtype=np.intp)).of_rows(X.T)
    for index, region in enumerate(found.regions):
        np.testing.assert_array_equal(region.own, np.flatnonzero(cells == index))
        assert np.isin(region.own, region.learned).all()
        assert (np.diff(region.learned) > 0).all()


def test_sides_are_of_equal_size_and_know_their_neighbours():
    X = rows_of("usual", 8000)
    found = divide(X, np.array([1.0, 4.0, 0.0, 2.0]), 1000)
    assert found.columns.tolist()[0] == 1  # of the largest relevance
    assert 2 not in found.columns  # of none
    assert [len(region.own) for region in found.regions] == [1000] * 8
    for region in found.regions:
        assert 1.15 <= len(region.learned) / len(region.own) <= 2
    left, right = divide(X, np.array([0.0, 1.0, 0.0, 0.0]), 4000).regions
    beyond = X[1, np.setdiff1d(left.learned, left.own)]
    assert beyond.max() <= np.sort(X[1, right.own])[600]  # the nearest


def test_thresholds_are_halfway_between_values():
    """Units that are rounded otherwise must not move rows that are equal to the other side."""
    X = rows_of("few values", 4000)
    found = divide(X, np.ones(4), 300)
    used = found.thresholds < UNREACHED
    assert used.sum() > 5
    assert (found.thresholds[used] % 1 == 0.5).all()


def test_what_cannot_be_divided_stays_together():
    found = divide(rows_of("one value"), np.ones(4), 100)
    assert (found.thresholds == UNREACHED).all()
    assert [len(region.own) for region in found.regions] == [1000] + [0] * 15
    assert [len(region.learned) for region in found.regions] == [1000] + [0] * 15
    assert len(undivided(5).regions) == 1
