"""What stands for a missing value: what the other columns say of it."""

import numpy as np
import pytest

from rffkern import ColumnMap, RowBlocks
from rffkern._column_map import imputation
from rffkern._column_map.imputation import Imputation, learn_imputations


@pytest.fixture
def table(rng):
    """Columns with gaps that say much of each other, and one that says nothing."""
    z = rng.standard_normal((1500, 2))
    X = {"a": z[:, 0] + 0.2 * rng.standard_normal(1500), "b": np.exp(z[:, 0] + 0.2 * z[:, 1]),
         "c": np.array(["low", "high"])[(z[:, 0] > 0).astype(int)].astype(object), "noise": rng.standard_normal(1500)}
    return {name: np.where(rng.random(1500) < 0.3, None if name == "c" else np.nan, column)
            for name, column in X.items()}


def without(table, name):
    return table | {name: np.full(len(table[name]), None if name == "c" else np.nan, dtype=table[name].dtype)}


def test_other_columns_tell_missing_values(table):
    found = ColumnMap(("standard", "rank")).fit(table)
    mapped = found.transform(table)
    known = ~np.isnan(table["a"]) & ~np.isnan(table["b"]) & (table["c"] != None)  # noqa: E711
    for name, j, least in (("a", 0, 0.6), ("b", 1, 0.4), ("c", 2, 0.5)):
        values = (found.sources_ == j) & (found.forms_ != "missing")
        told = found.transform(without(table, name))[known][:, values]
        truth = mapped[known][:, values]
        assert 1 - ((told - truth) ** 2).sum() / (truth**2).sum() > least, name
    noise = (found.sources_ == 3) & (found.forms_ != "missing")
    assert (found.transform(without(table, "noise"))[:, noise] == 0).all()
    nothing = {name: [None] for name in table}
    values = found.forms_ != "missing"
    assert (found.transform(nothing)[:, values] == 0).all()
    row = {row["column"]: row for row in found.describe() if row["form"] == "missing"}
    assert set(row["a"]["imputed_from"]) == {"b", "c"}
    assert "imputed_from" not in row["noise"]


def test_rows_do_not_matter_to_each_other(table):
    found = ColumnMap(("standard", "rank")).fit(table)
    one_by_one = [found.transform({name: column[i : i + 1] for name, column in table.items()}) for i in range(200)]
    np.testing.assert_array_equal(np.concatenate(one_by_one), found.transform(table)[:200])


def test_blocks_give_the_same_fills(table, monkeypatch):
    monkeypatch.setattr("rffkern._column_map.sketch._MOST_ROWS", 700)
    whole = ColumnMap().fit(table)
    assert sum(len(column.imputations) for column in whole._fitted.columns) == 3
    cut = ColumnMap().fit(RowBlocks([{name: column[a:b] for name, column in table.items()}
                                     for a, b in ((0, 1), (1, 900), (900, 1500))]))
    assert cut._fitted.header() == whole._fitted.header()
    np.testing.assert_array_equal(cut._fitted.numbers(), whole._fitted.numbers())


def test_values_as_they_are_have_their_own_units(table):
    """Far from 0 and in other units they are told as well, and stay in the range of training."""
    moved = table | {"a": 1e6 + 1e-3 * table["a"]}
    found, other = ColumnMap(("raw",)).fit(moved), ColumnMap(("standard",)).fit(table)
    missing = np.isnan(moved["a"])
    told = (found.transform(moved)[missing, 0] - np.nanmean(moved["a"])) / np.nanstd(moved["a"])
    np.testing.assert_allclose(told, other.transform(table)[missing, 0], atol=1e-6)
    extreme = {name: column[:1] for name, column in table.items()} | {"a": [None], "b": [2.0**1021]}
    assert abs(found.transform(extreme)[0, 0] - np.nanmean(moved["a"])) < 2 * np.ptp(moved["a"][~missing])
    huge = {"a": np.where(np.isnan(table["a"]), np.nan, table["a"] * 2.0**1000), "b": table["a"] * 1e-290,
            "c": np.where(np.arange(1500) % 3, table["b"], np.nan)}
    assert np.isfinite(ColumnMap(("raw", "standard")).fit_transform(huge)).all()


def test_regression_is_that_of_its_definition(rng):
    """Ridge regression on the rows in which the value is known, in units of the spread of each output."""
    outputs = rng.standard_normal((4, 300))
    outputs[0] += outputs[1] - 0.5 * outputs[2]
    missing = rng.random(300) < 0.3
    outputs[0, missing] = 0
    weights = rng.exponential(size=300)
    sample = outputs, weights, np.arange(4), np.zeros(4)
    (imputation,) = learn_imputations(*sample, {0: missing}, np.ones(4, bool))
    spread = np.sqrt((outputs**2 * weights).sum(axis=1) / weights.sum())
    scaled, known = outputs / spread[:, None], np.where(missing, 0, weights)
    A = scaled[1:3]
    factors = np.linalg.solve((A * known) @ A.T + 10 * np.eye(2), (A * known) @ scaled[0])
    np.testing.assert_allclose(imputation.factors, factors * spread[0] / spread[1:3])
    assert imputation.predictors.tolist() == [1, 2]  # and not what is noise
    low, high = outputs[0, ~missing].min(), outputs[0, ~missing].max()
    np.testing.assert_allclose([imputation.low, imputation.high], [1.5 * low - high / 2, 1.5 * high - low / 2])
    assert learn_imputations(*sample, {3: missing}, np.ones(4, bool)) == []  # nothing tells it
    assert learn_imputations(*sample, {0: np.ones(300, bool)}, np.ones(4, bool)) == []


def test_work_is_bounded(monkeypatch, table):
    monkeypatch.setattr(imputation, "_MOST_PRODUCTS", 8 * 4 * 250)  # 250 of 1500 rows and 8 outputs, 4 of values
    assert any(column.imputations for column in ColumnMap().fit(table)._fitted.columns)
    monkeypatch.setattr(imputation, "_MOST_PRODUCTS", 8 * 4 * 150)
    assert not any(column.imputations for column in ColumnMap().fit(table)._fitted.columns)


@pytest.mark.parametrize("numbers", [[1.0, 0.0, 1.0], [0.0, 1.0, 1e300]])
def test_numbers_that_no_fill_has_are_refused(numbers):
    with pytest.raises(ValueError, match="out of range"):
        Imputation.from_numbers(0, [1], np.array(numbers))


def test_outputs_that_extreme_weights_make_equal_impute_nothing():
    values = np.array([1.0, -1.0])
    assert imputation._regression(values, np.array([values, values]), np.full(2, 1e40), np.full(2, 2e40)) is None


def test_products_of_extreme_weights_may_overflow():
    values = np.array([1.0, -1.0])
    found = imputation._regression(values, values[None], np.full(2, 1e200), np.full(1, 2e200))
    assert [each.tolist() for each in found] == [[0], [1.0]]
