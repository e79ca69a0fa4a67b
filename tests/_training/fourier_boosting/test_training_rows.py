"""Rows as members learn from them."""

import numpy as np
import pytest

from rffkern import RowBlocks
from rffkern._rows.scaling import measure_scaling
from rffkern._rows.tiles import TILE
from rffkern._rows.training_rows import LabelledRows
from rffkern._rows.weights import RowWeights
from rffkern._training.fourier_boosting.training_rows import RowOrder, assign_folds, read_columns

X = np.random.default_rng(0).standard_normal((300, 4)) * [1, 100, 1e-3, 0] + [0, 5, 0, 7]


def rows_of(part, weights=None):
    return LabelledRows(part, np.zeros(part.shape[0], dtype=int), RowWeights(part.shape[0], weights), 2)


def columns_of(*parts, extrapolates=True):
    scaling = measure_scaling(X, RowWeights(300))
    return read_columns([part if isinstance(part, LabelledRows) else rows_of(part) for part in parts], scaling,
                      np.array([2, 2, 5, 9]), None, extrapolates)


def test_columns_are_in_units_of_the_scaling():
    columns = columns_of(X)
    np.testing.assert_allclose(columns.values[:3].mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(columns.values[:3].std(axis=1), 1, rtol=1e-5)
    assert not columns.values[3].any()
    assert columns.values.dtype == np.float32
    assert columns.sources.tolist() == [0, 0, 1, 2]
    assert columns.n_sources == 3


def test_blocks_and_parts_give_the_same():
    expected = columns_of(X)
    found = columns_of(RowBlocks([X[:7], X[7:]]).check())
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(columns_of(X[:100], X[100:]).values, expected.values)


def test_rows_of_a_second_part_do_not_move_bounds():
    """They are held out."""
    alone, with_others = columns_of(X), columns_of(X, X + 0.01)
    for one, other in zip(alone.edges, with_others.edges, strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_without_weight_do_not_move_bounds():
    """Nor do they overflow."""
    weights = np.where(np.arange(300) % 3, 1.0, 0.0)
    spoiled = np.where(weights[:, None] > 0, X, 1e300)
    found = columns_of(rows_of(RowBlocks([spoiled[:7], spoiled[7:]]).check(), weights))
    expected = columns_of(X[weights > 0])
    np.testing.assert_array_equal(found.values[:, weights > 0], expected.values)
    for one, other in zip(found.edges, expected.edges, strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_far_out_stay_finite():
    far = X.copy()
    far[0] = 1.7e308
    far[1] = -1.7e308
    values = columns_of(far).values
    assert np.isfinite(values**2).all()
    assert values[:3, 0].min() == -values[:3, 1].max() == values.max()


def test_a_layout_pads_both_parts():
    order = RowOrder.of(np.arange(0, 200), np.arange(200, 300), np.random.default_rng(0))
    assert order.n_train == 2 * TILE
    assert len(order.rows) == 3 * TILE
    assert sorted(order.rows[: 2 * TILE][order.used[: 2 * TILE]]) == list(range(200))
    assert order.rows[2 * TILE :][order.used[2 * TILE :]].tolist() == list(range(200, 300))
    assert order.rows[:200].tolist() != list(range(200))


def by_remainders(strata, n_folds, rng):
    """The folds as they were when their number was always whole: model files of then have the same bits."""
    order = np.lexsort((rng.random(len(strata)), strata))
    folds = np.empty(len(strata), dtype=np.intp)
    folds[order] = (np.arange(len(strata)) + rng.integers(n_folds)) % n_folds
    return folds


@pytest.mark.parametrize("share", [0.3, 0.15, 0.45, 0.07, 1 / 3, 0.4999])
def test_folds_of_any_share(share):
    """Each has its share of every stratum, to one row, and no row is in two."""
    strata = np.repeat([0, 1, 2], [2000, 701, 30])
    for seed in range(5):
        folds = assign_folds(strata, 1 / share, np.random.default_rng(seed))
        for fold in range(int(1 / share)):
            for k, n_rows in enumerate((2000, 701, 30)):
                assert abs((folds[strata == k] == fold).sum() - share * n_rows) <= 1
            assert abs((folds == fold).sum() - share * 2731) <= 1
        assert folds.min() == 0
        assert folds.max() <= int(1 / share)


@pytest.mark.parametrize("n_folds", [2, 5, 10])
def test_folds_have_their_share_of_every_stratum(n_folds):
    strata = np.repeat([0, 1, 2], [200, 70, 30])
    folds = assign_folds(strata, n_folds, np.random.default_rng(0))
    counts = np.array([np.bincount(folds[strata == k], minlength=n_folds) for k in range(3)])
    assert (counts.max(axis=1) - counts.min(axis=1)).max() <= 1
    assert np.ptp(np.bincount(folds)) <= 1
    np.testing.assert_array_equal(folds, by_remainders(strata, n_folds, np.random.default_rng(0)))
    again = assign_folds(strata, n_folds, np.random.default_rng(1))
    assert not np.array_equal(folds, again)
