"""Levels of categories: which are rare, indicators, target statistics."""

import warnings

import numpy as np
import pytest

from rffkern import ColumnMap, ColumnWarning, FourierBoostingRegressor, RowBlocks
from rffkern._column_map import transforms
from rffkern._column_map.column_map import unit_of
from rffkern._column_map.compiled import mapped_values
from rffkern._column_map.fitted_column import FittedColumn
from rffkern._column_map.learning import N_FOLDS, LevelStatistics
from rffkern._column_map.transforms import (
    _SHRINKAGES,
    Levels,
    intraclass_correlation,
    learn_frequency,
    learn_indicators,
    learn_target,
)


def facts_of(codes, names, targets=None):
    """What a collector finds in rows of some codes, by plain loops."""
    targets = np.zeros((len(codes), 0)) if targets is None else targets
    weights = np.zeros((len(names), N_FOLDS))
    sums = np.zeros((len(names), N_FOLDS, targets.shape[1]))
    for i, code in enumerate(codes):
        weights[code, i % N_FOLDS] += 1
        sums[code, i % N_FOLDS] += targets[i]
    return LevelStatistics(tuple(names), weights, sums)


def outputs_of(form, codes):
    return mapped_values([FittedColumn("category", (form,))], [np.array([codes], float)])


def values_of(form):
    """The values of all levels, (n_levels, n_outputs)."""
    return form.numbers.reshape(-1, len(form.outputs))


def test_rare_levels_are_pooled():
    facts = facts_of([0] * 5 + [1] * 2 + [2] * 9 + [3], "abcd")
    levels = Levels.of(facts, 3, None)
    assert levels.kept == ("a", "c")
    np.testing.assert_allclose(levels.shares(), [5 / 17, 9 / 17, 3 / 17])
    assert Levels.of(facts, 1, 2).kept == ("a", "c")
    np.testing.assert_allclose(Levels.of(facts, 1, None).shares(), np.array([5, 2, 9, 1]) / 17)
    assert Levels.of(facts, 100, None).kept == ()
    assert Levels.of(facts_of([0, 1, 2, 3], "abcd"), 1, 2).kept == ("a", "b")  # the first of equal ones


def test_indicators_are_one_unit():
    codes = np.array([0] * 5 + [1] * 3 + [2] * 2)
    form = learn_indicators(Levels.of(facts_of(codes, "abc"), 3, None))
    assert form.outputs == ("a", "b", "rare levels")
    outputs = outputs_of(form, codes)
    np.testing.assert_allclose(outputs.mean(axis=1), 0, atol=1e-12)
    assert outputs.var(axis=1).sum() == pytest.approx(1)
    two = learn_indicators(Levels.of(facts_of([0, 0, 1], "ab"), 1, None))
    assert two.outputs == ("a",)
    assert outputs_of(two, [0, 1]) @ np.array([2, 1]) == pytest.approx(0)


def test_target_statistics_leave_the_own_fold_out(rng):
    """Compared with the definition: means over the rows of the four other folds, shrunk as these ask for."""
    codes = rng.integers(0, 4, 103)
    targets = rng.standard_normal((103, 2)) + np.array([0, 5]) + np.outer([-0.3, 0, 0.2, 0.4], [1, 9])[codes]
    levels = Levels.of(facts_of(codes, "abcd", targets), 1, None)
    form, folds = learn_target(levels, 1.0)

    def statistic(rows, level, m):
        own = rows & (codes == level)
        return (targets[own].sum(axis=0) + m * targets[rows].mean(axis=0)) / (own.sum() + m)

    everyone, fold_of = np.ones(103, bool), np.arange(103) % N_FOLDS

    def error(m):
        of_rows = [statistic(fold_of != fold_of[i], codes[i], m) for i in range(103)]
        return ((of_rows - targets) ** 2).sum(axis=0)

    chosen = np.array(_SHRINKAGES)[np.argmin([error(m) for m in _SHRINKAGES], axis=0)]
    assert chosen[0] > chosen[1]
    frozen = np.array([statistic(everyone, level, chosen) for level in range(4)])
    center = frozen[codes].mean(axis=0)
    spread = np.sqrt(((frozen[codes] - center) ** 2).sum(axis=1).mean())
    np.testing.assert_allclose(values_of(form)[:4], (frozen - center) / spread)
    np.testing.assert_allclose(values_of(form)[4], (targets.mean(axis=0) - center) / spread, atol=1e-9)  # no rare ones
    for fold in range(N_FOLDS):
        expected = np.array([statistic(fold_of != fold, level, chosen) for level in range(4)])
        np.testing.assert_allclose(folds[:4, fold], (expected - center) / spread)
    assert form.outputs == ("target0", "target1")
    np.testing.assert_array_equal(outputs_of(form, [2, np.nan]), np.stack([values_of(form)[2], [0, 0]], axis=1))


def test_targets_of_noise_teach_nothing(rng):
    """With a level for every other row, what a row gets does not tell its own target."""
    codes = np.arange(1000) // 2
    for _ in range(5):
        targets = rng.standard_normal((1000, 1))
        levels = Levels.of(facts_of(codes, [f"{k:04d}" for k in range(500)], targets), 1, None)
        found = learn_target(levels, 1.0)
        if found is not None:
            form, folds = found
            assert abs(np.corrcoef(folds[codes, np.arange(1000) % N_FOLDS, 0], targets[:, 0])[0, 1]) < 0.15
            assert np.ptp(form.numbers) > 0


def test_frequencies_are_those_of_levels():
    codes = np.array([0] * 9 + [1] * 3 + [2, 3, 4])
    form = learn_frequency(Levels.of(facts_of(codes, "abcde"), 2, None), 1.0)
    logs = np.log(np.array([9, 3, 1]) + 1)  # the rare ones have one row each
    rows = logs[[0] * 9 + [1] * 3 + [2] * 3]
    np.testing.assert_allclose(form.numbers, (logs - rows.mean()) / rows.std())
    np.testing.assert_array_equal(outputs_of(form, [1, np.nan]), [[form.numbers[1], 0]])
    assert learn_frequency(Levels.of(facts_of([0, 0, 1, 1], "ab"), 1, None), 1.0) is None


@pytest.mark.parametrize(("form", "numbers", "message"), [
    ("indicators", [0.5, 0.5], "differ in number"), ("indicators", [0.2] * 5, "differ in number"),
    ("indicators", [0.2, 0.3, 0.6], "not those of a whole"), ("target", [], "differ in number"),
    ("target", [1, 2, 3], "differ in number"), ("target", [1, 2, 3, 1e300], "too large"),
    ("frequency", [1, 2, 3], "differ in number"), ("frequency", [1, 2, 3, 1e300], "too large")])
def test_numbers_that_no_form_has_are_refused(form, numbers, message):
    with pytest.raises(ValueError, match=message):
        getattr(transforms, form)(np.array(numbers, float), ("a", "b", "c"))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_levels_that_are_in_one_fold_each_have_no_target_statistics(rng, n_outputs):
    """As those of the groups that are held out as a whole: of these rows none say anything, whatever m rounds to."""
    for _ in range(20):
        weights, targets = np.zeros((50, N_FOLDS)), np.zeros((50, N_FOLDS, n_outputs))
        weights[np.arange(50), np.arange(50) % N_FOLDS] = rng.integers(1, 9, 50)
        targets[np.arange(50), np.arange(50) % N_FOLDS] = rng.standard_normal((50, n_outputs)) * 10
        facts = LevelStatistics(tuple(f"level {k:02d}" for k in range(50)), weights, targets)
        assert learn_target(Levels.of(facts, 1, None), 1.0) is None


def test_a_column_of_the_groups_does_not_mislead(rng):
    """Rows of these groups are predicted as without the column, which tells nothing of other groups."""
    groups = np.repeat(np.arange(40), 8)
    X = {"x": rng.standard_normal(320), "group": [f"g{k}" for k in groups]}
    y = X["x"] + rng.standard_normal(40)[groups]
    with pytest.warns(ColumnWarning, match="'group' .levels by which the target of held-out rows is not pred"):
        model = FourierBoostingRegressor(30, random_state=0).fit(X, y, groups=groups)
    without = FourierBoostingRegressor(30, random_state=0).fit({"x": X["x"]}, y, groups=groups)
    assert model.score(X, y) > without.score({"x": X["x"]}, y) - 0.05


@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e300 / 7])
def test_rounding_is_no_effect_of_levels(rng, constant):
    targets = np.full((240, 2), constant) / unit_of(np.full(2, constant)) * [1, -1]
    facts = facts_of(rng.integers(60, size=240), [f"level {k:02d}" for k in range(60)], targets)
    levels = Levels.of(facts, 1, None)
    assert learn_target(levels, 1.0) is None
    assert intraclass_correlation(levels, 1.0) == 0


@pytest.mark.parametrize("weight", [1e-200, 1e20, 1e200])
def test_levels_of_any_weight_have_target_statistics(rng, weight):
    X = {"town": [f"t{k}" for k in rng.integers(60, size=400)]}
    y = np.array([int(town[1:]) for town in X["town"]]) + rng.standard_normal(400)
    found = ColumnMap(min_level_rows=2).fit(X, y, np.full(400, weight)).describe()
    assert found[0]["form"] == "target"


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("n_rows", [6, 20])
def test_a_panel_in_order_of_time_tells_of_its_groups(rng, blocks, n_rows):
    """The rows of a firm have the same index modulo the number of folds: all would be held out together."""
    table = {"firm": [f"f{k}" for k in range(50)] * n_rows, "size": rng.standard_normal(50 * n_rows)}
    y = np.tile(rng.standard_normal(50), n_rows) + 0.2 * rng.standard_normal(50 * n_rows)
    X = RowBlocks(lambda: ({name: column[k : k + 70] for name, column in table.items()}
                           for k in range(0, len(y), 70))) if blocks else table
    for min_level_rows, form in (("auto", "levels" if n_rows < 16 else "target"), (5, "target")):
        column_map = ColumnMap(min_level_rows=min_level_rows).fit(X, y)
        assert column_map.describe()[0]["form"] == form
    mapped = ColumnMap(min_level_rows=5).fit_transform(table, y)[:, 0]
    assert np.corrcoef(mapped, y)[0, 1] > 0.9


def test_values_of_which_none_is_a_level_of_training_earn_a_warning():
    found = ColumnMap().fit({"zip": ["01234", "04321", "x"] * 10})
    with pytest.warns(ColumnWarning, match=r"no value of column 'zip' of X is a level .* '01234', got '1234'"):
        found.transform({"zip": np.array([1234, 4321] * 5)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.transform({"zip": ["other"] * 9})
        found.transform({"zip": ["other"] * 20 + ["x"]})
        found.transform({"zip": [None] * 20})


def test_values_of_rare_levels_earn_no_warning():
    """Most rows of training have levels that the column does not keep: those of other rows may be among them."""
    planes = [f"N{k}" for k in range(96)]
    found = ColumnMap().fit({"plane": ["N7"] * 5 + planes})
    (row,) = found.describe()
    assert (row["form"], [*row["shares"]]) == ("levels", ["N7"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.transform({"plane": planes[50:90]})
    with pytest.warns(ColumnWarning, match=r"no value of column 'plane' of X is a level .* 'N7', got 'n7'"):
        found.transform({"plane": ["n7", "n8"] * 200})
