"""Parts of dates."""

import datetime

import numpy as np
import pytest

from rffkern import ColumnMap, FourierBoostingRegressor, InvalidInputError, RowBlocks, dumps, loads
from rffkern._column_map.compiled import mapped_values
from rffkern._column_map.fitted_column import FittedColumn
from rffkern._column_map.fitted_map import FittedMap
from rffkern._column_map.transforms import PARTS, date_parts, part


@pytest.mark.parametrize("moment", ["1969-12-31T23:59:00", "2024-02-29T12:30:00", "1582-10-15T00:00:00",
                                    "2000-12-31T06:00:00"])
def test_parts_are_those_of_the_calendar(moment):
    date = datetime.datetime.fromisoformat(moment)
    seconds = np.array([(date - datetime.datetime(1970, 1, 1)).total_seconds()])
    values = {part: value[0] for part, (value, _) in date_parts(seconds).items()}
    assert values == {"hour": date.hour + date.minute / 60, "weekday": date.weekday(),
                      "yearday": 31 * date.month + date.day - 32}


def part_angles(seconds, name):
    return mapped_values([FittedColumn("date", (part(name, np.empty(0)),))], [np.array([seconds], float)])


def test_angles_close_the_circle():
    midnight = part_angles(np.array([-1e-3, 0.0, 86400.0]), "hour")
    np.testing.assert_allclose(midnight, [[0, 0, 0], [1, 1, 1]], atol=1e-6)
    for name in PARTS:
        np.testing.assert_allclose((part_angles(np.array([1e9, -3e8, 1e300]), name) ** 2).sum(axis=0), 1)


@pytest.mark.parametrize("name", PARTS)
def test_angles_are_those_of_the_parts(name, rng):
    """Compiled, at instants of a few centuries, and at the limit of the calendar."""
    seconds = np.concatenate([rng.uniform(-1e10, 1e10, 500), rng.integers(-10**6, 10**6, 500) * 86400.0,
                              [-0.5, 0.0, 1e11, -1e11, 1e300, -1e300, np.nan]])
    values, period = date_parts(seconds[:-1])[name]
    angles = 2 * np.pi * values / period
    found = part_angles(seconds, name)
    np.testing.assert_allclose(found[:, :-1], [np.sin(angles), np.cos(angles)], rtol=0, atol=3e-15)
    assert (found[:, -1] == 0).all()



def spans(rng, n=300):
    """Two dates, the second some days after the first, and a number between them."""
    start = np.datetime64("2024-01-01") + rng.integers(0, 700, n).astype("m8[D]")
    days = rng.integers(0, 60, n)
    return {"start": start, "x": rng.standard_normal(n), "end": start + days.astype("m8[D]")}, days


def test_differences_between_dates(rng):
    """A date also becomes the time since the one before it in the table; of blocks of rows the same."""
    table, days = spans(rng)
    columns = ColumnMap(date_parts="differences")
    found = columns.fit(table)
    names = found.get_feature_names_out().tolist()
    place = names.index("end_difference")
    assert sum("difference" in name for name in names) == 1
    np.testing.assert_allclose(found.transform(table)[:, place], (days - days.mean()) / days.std())
    blocks = RowBlocks(lambda: ({name: each[k : k + 70] for name, each in table.items()} for k in range(0, 300, 70)))
    np.testing.assert_array_equal(ColumnMap(date_parts="differences").fit(blocks).transform(table),
                                  found.transform(table))
    gone = {"start": [None, "2024-01-05"], "x": [0.0, 0.0], "end": ["2024-01-07", None]}
    np.testing.assert_array_equal(found.transform(gone)[:, place], 0)
    assert "difference" not in ColumnMap().fit(table).forms_
    assert "difference" not in columns.fit(table | {"end": table["start"] + np.timedelta64(3, "D")}).forms_


def test_a_model_of_differences(rng):
    table, days = spans(rng)
    model = FourierBoostingRegressor(80, kernel_ridge=False, random_state=0,
                                     columns=ColumnMap(date_parts="differences")).fit(table, np.sqrt(days))
    assert model.score(table, np.sqrt(days)) > 0.95
    np.testing.assert_array_equal(loads(dumps(model)).predict(table), model.predict(table))
    explanation = model.explain(table)
    np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, model.predict(table),
                               atol=1e-6)
    header = model.column_map_._fitted_map().header()
    assert header[2]["forms"][-1] == ["difference", 3]
    numbers = model.column_map_._fitted_map().numbers()
    for wrong in (1, 2, 3, 0.5, -1):  # a number, the date itself, no column
        changed = np.where(numbers == 0, wrong, numbers)
        with pytest.raises(ValueError, match="other column of a difference"):
            FittedMap.from_header(("start", "x", "end"), header, changed)


@pytest.mark.parametrize(("n_days", "expected"), [(1, set()), (10, {"hour"}), (100, {"hour", "weekday"}),
                                                  (400, {"hour", "weekday", "yearday"})])
def test_parts_are_those_that_training_covers(n_days, expected):
    dates = np.datetime64("2024-01-01T00:00") + np.linspace(0, 1440 * n_days, 800).astype("m8[m]")
    assert {*ColumnMap().fit({"when": dates}).forms_} - {"standard"} == expected
    assert {*ColumnMap(date_parts=True).fit({"when": dates}).forms_} >= {"hour", "weekday"}
    assert {*ColumnMap(date_parts=False).fit({"when": dates}).forms_} == {"standard"}


def test_the_order_of_day_and_month_is_said():
    column_map = ColumnMap().fit({"day": [f"{k}/3/2024" for k in range(10, 30)]})
    with pytest.raises(InvalidInputError, match="must hold date values with the day first, as in training, got text"):
        column_map.transform({"day": ["9/30/2019"]})
