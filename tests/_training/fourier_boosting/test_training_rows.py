"""Columns, bins, and the rows of a bag."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern import FourierBoostingRegressor, RowBlocks
from rffkern._rows.copies import merge_copies
from rffkern._rows.scaling import measure_scaling
from rffkern._rows.tiles import TILE
from rffkern._rows.training_rows import LabelledRows
from rffkern._rows.weights import RowWeights
from rffkern._training.fourier_boosting.binning import MAX_BINS, bin_columns, binned_columns, bundle_indicators
from rffkern._training.fourier_boosting.losses import Loss, class_loss
from rffkern._training.fourier_boosting.parameters import LOSSES
from rffkern._training.fourier_boosting.training_rows import (
    Columns,
    LocalRows,
    RowOrder,
    assign_folds,
    read_columns,
)

X = np.random.default_rng(0).standard_normal((300, 4)) * [1, 100, 1e-3, 0] + [0, 5, 0, 7]


def rows_of(part, weights=None):
    return LabelledRows(part, np.zeros(part.shape[0], dtype=int), RowWeights(part.shape[0], weights), 2)


def columns_of(*parts, extrapolates=True):
    scaling = measure_scaling(X, RowWeights(300))
    return read_columns([part if isinstance(part, LabelledRows) else rows_of(part) for part in parts], scaling,
                      np.array([2, 2, 5, 9]), None, np.full(4, extrapolates), np.zeros(4, bool))


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
    found = columns_of(RowBlocks([X[:7], X[7:]])._check())
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.bins, expected.bins)
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
    found = columns_of(rows_of(RowBlocks([spoiled[:7], spoiled[7:]])._check(), weights))
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


def test_halves_of_validation_rows():
    """Every other row, or every other group; or the later rows and groups, where they are in order."""
    def halves(parts=None, in_order=False, n=6):
        order = RowOrder.of(np.arange(0), np.arange(n), np.random.default_rng(0), parts, in_order)
        return order.halves[:n].astype(int).tolist()

    assert halves() == [0, 1, 0, 1, 0, 1]
    assert halves(np.array([7, 7, 3, 3, 9, 7])) == [1, 1, 0, 0, 0, 1]
    assert halves(in_order=True) == [0, 0, 0, 1, 1, 1]
    assert halves(np.array([1, 1, 1, 1, 2, 2]), in_order=True) == [0, 0, 0, 0, 1, 1]
    assert halves(np.array([5, 5]), n=2) == halves(np.array([5, 5]), True, n=2) == [0, 0]


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


# --- bins of columns


def bins_of(values):
    values = np.asarray(values, dtype=np.float32)[None]
    first = np.array([0])
    return Columns(values, first, first, *bin_columns(values, first), values.min(axis=1), values.max(axis=1))


def test_few_values_have_bins_of_their_own():
    columns = bins_of([3.0, 1.0, 1.0, 2.0])
    assert columns.bins.tolist() == [[2, 0, 0, 1]]
    assert columns.edges[0].tolist() == [1.5, 2.5]
    assert columns.bin_counts.tolist() == [3]


def test_many_values_share_bins_evenly():
    values = np.random.default_rng(0).standard_normal(10_000)
    columns = bins_of(values)
    counts = np.bincount(columns.bins[0])
    assert len(counts) == columns.bin_counts[0] == MAX_BINS
    assert counts.min() > 20
    assert counts.max() < 80


def test_one_frequent_value_does_not_use_up_the_bins():
    values = np.concatenate([np.zeros(9000), np.random.default_rng(0).standard_normal(1000)])
    assert bins_of(values).bin_counts[0] > 20


def test_a_constant_column_has_one_bin():
    columns = bins_of(np.ones(5))
    assert columns.bin_counts.tolist() == [1]
    assert not columns.bins.any()


@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=600), st.integers(0, 2**32 - 1))
def test_bins_and_bounds_agree(values, seed):
    """A bin above b says that the value is above edges[b], in either precision."""
    values = np.concatenate([values, np.random.default_rng(seed).choice(values, 50)]).astype(np.float32)
    columns = bins_of(values)
    edges = columns.edges[0]
    above = values[:, None].astype(np.float64) > edges
    np.testing.assert_array_equal(columns.bins[0], above.sum(axis=1))
    np.testing.assert_array_equal(values[:, None] > edges.astype(np.float32), above)
    assert (np.diff(edges) > 0).all()


@pytest.mark.parametrize(("sources", "forms", "expected"), [
    ([0, 1, 1], None, [0, 1, 2]),
    ([0, 0, 1, 1], ["standard", "rank", "rank", "bounded"], [0, 2]),
    ([0, 0, 0], ["standard", "missing", "rank"], [0, 1]),
    ([0, 0, 1], ["levels", "levels", "standard"], [0, 1, 2]),
    ([0, 0, 0], ["bins", "bins", "bins"], [0, 1, 2]),
])
def test_columns_that_thresholds_tell_apart(sources, forms, expected):
    forms = None if forms is None else np.array(forms)
    assert binned_columns(np.array(sources), forms, np.zeros(len(sources), bool)).tolist() == expected


# --- where the boosting of a member stands


RNG = np.random.default_rng(0)
VALUES = RNG.standard_normal((3, 300)).astype(np.float32)
BINNED = np.array([0, 2])
COLUMNS = Columns(VALUES, np.arange(3), BINNED, *bin_columns(VALUES, BINNED), VALUES.min(axis=1), VALUES.max(axis=1))
WEIGHTS = RNG.uniform(0.5, 2, 300)


def state_of(loss, targets):
    order = RowOrder.of(np.arange(200), np.arange(200, 300), np.random.default_rng(0))
    problem = loss.data(np.atleast_2d(targets), WEIGHTS)
    return LocalRows.of(COLUMNS, problem, WEIGHTS, order), order


def test_columns_are_laid_out():
    state, order = state_of(Loss(LOSSES["squared_error"]), VALUES[0].astype(float))
    np.testing.assert_array_equal(state.columns, VALUES[:, order.rows])
    np.testing.assert_array_equal(state.bins, COLUMNS.bins[:, order.rows])
    assert not state.weight[~order.used].any()
    np.testing.assert_allclose(state.weight[order.used], WEIGHTS[order.rows[order.used]], rtol=1e-6)


def test_losses_are_weighted_means_of_both_parts():
    y = VALUES[0].astype(float)
    state, _ = state_of(Loss(LOSSES["squared_error"]), y)
    center = np.average(y, weights=WEIGHTS)
    for part, found in ((slice(0, 200), state.losses.train), (slice(200, 300), state.losses.validation)):
        assert found == pytest.approx(np.average((y[part] - center) ** 2 / 2, weights=WEIGHTS[part]), rel=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_best_step_is_the_lowest_loss(n_classes):
    y = np.digitize(VALUES[0], np.linspace(-0.5, 0.5, n_classes - 1)).astype(float)
    state, _ = state_of(class_loss(n_classes), y)
    state.directions[:] = np.linspace(-1, 1, len(state.scores))[:, None] * state.columns[0] if n_classes > 2 else (
        state.columns[0])
    best = state.best_step()
    losses = []
    for step in (best - 0.1, best, best + 0.1):
        losses.append(state.add_step(step).train)
        state.add_step(-step)
    assert losses[1] == min(losses) < state.losses.train


def test_the_best_step_of_many_classes_may_be_far():
    """Amplitudes of Fourier terms are those of curvature 1, and a class of 40 has about a fortieth of it."""
    y = np.digitize(VALUES[0], np.linspace(-2, 2, 39)).astype(float)
    state, _ = state_of(class_loss(40), y)
    state.directions[:] = 0.05 * np.linspace(-1, 1, 40)[:, None] * state.columns[0]
    best = state.best_step()
    assert best > 40
    losses = []
    for step in (0.7 * best, best, 1.3 * best):
        losses.append(state.add_step(step).train)
        state.add_step(-step)
    assert losses[1] == min(losses)


def test_many_copies_of_rows_count_as_one_row(rng):
    columns = rng.standard_normal((3, 200)).astype(np.float32)[:, np.r_[0:100, 0:100]]
    columns[1, [0, 100]] = 0.0, -0.0
    targets, weights, rows = columns[:1].astype(float), np.arange(1.0, 201), np.arange(200)
    merged = merge_copies(columns, targets, weights, rows)
    np.testing.assert_array_equal(merged, np.r_[weights[:100] + weights[100:], np.zeros(100)])
    targets[0, 150] += 1  # a row with another target is no copy
    merged = merge_copies(columns, targets, weights, rows)
    assert (merged[50], merged[150], merged.sum()) == (weights[50], weights[150], weights.sum())
    groups = np.where(rows == 160, 1, 0)
    assert merge_copies(columns, targets, weights, rows, groups)[160] == weights[160]
    np.testing.assert_array_equal(merge_copies(columns, targets, weights, rows[:100]), weights)  # of few rows


def test_rows_that_are_equal_by_chance_stay(rng):
    columns, targets, weights = rng.integers(8, size=(2, 300)).astype(np.float32), np.zeros((1, 300)), np.ones(300)
    np.testing.assert_array_equal(merge_copies(columns, targets, weights, np.arange(300)), weights)
    columns[0] = np.arange(300) - (np.arange(300) < 20) * 20  # under a tenth
    columns[:, :20] = columns[:, 20:40]
    np.testing.assert_array_equal(merge_copies(columns, targets, weights, np.arange(300)), weights)


def test_losses_of_halves():
    y = VALUES[0].astype(float)
    state, _ = state_of(Loss(LOSSES["squared_error"]), y)
    losses = WEIGHTS * (y - np.average(y, weights=WEIGHTS)) ** 2 / 2
    np.testing.assert_allclose(state.half_sums, [losses[200::2].sum(), losses[201::2].sum()], rtol=1e-5)
    problem, rng = Loss(LOSSES["squared_error"]).data(y[None], WEIGHTS), np.random.default_rng(0)
    together = RowOrder.of(np.arange(200), np.arange(200, 300), rng, np.zeros(100))
    assert LocalRows.of(COLUMNS, problem, WEIGHTS, together).halves is None  # of one group


def test_indicators_of_a_category_are_bundled(rng):
    """Up to 63 of them, but not where rows have several, or other values, as imputed ones."""
    places = rng.integers(70, size=300)
    indicators = (places == np.arange(70)[:, None]).astype(np.uint8)
    several, single = (rng.integers(2, size=(size, 300), dtype=np.uint8) for size in (2, 1))
    imputed = rng.integers(3, size=(1, 300), dtype=np.uint8)
    bins = np.concatenate([single, indicators, several, imputed * 0, imputed])
    edges = tuple(np.arange(float(row.max())) for row in bins)
    sources = np.repeat([0, 1, 2, 3], [1, 70, 2, 2])
    found, bundles = bundle_indicators(bins, edges, sources, np.array(["standard", *["levels"] * 74]))
    np.testing.assert_array_equal(bundles, [[1, 64], [64, 71]])
    np.testing.assert_array_equal(found[:75], bins)
    np.testing.assert_array_equal(found[75:], [np.minimum(places, 63), np.where(places < 63, 7, places - 63)])
    for forms in (None, np.repeat("standard", 75)):
        unchanged, none = bundle_indicators(bins, edges, sources, forms)
        assert unchanged is bins
        assert none.shape == (0, 2)


def test_trees_of_bundles_are_those_of_indicators(rng, monkeypatch):
    level, x = rng.integers(20, size=400), rng.integers(40, size=400)  # so few bins that all thresholds are tried
    table, y = {"a": [f"level {k}" for k in level], "x": x}, np.sin(level) + np.sin(x / 5) + 0.1 * rng.random(400)
    model = FourierBoostingRegressor(base_learners=("tree",), kernel_ridge=False, n_jobs=1, random_state=0,
                                     n_estimators=20)
    with_bundles = model.fit(table, y).predict(table)
    monkeypatch.setattr("rffkern._training.fourier_boosting.training_rows.bundle_indicators",
                        lambda bins, *_: (bins, np.empty((0, 2), np.intp)))
    np.testing.assert_allclose(model.fit(table, y).predict(table), with_bundles, rtol=1e-6)
