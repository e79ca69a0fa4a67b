"""Columns of every type as numbers, categories or dates, with the same bits for the same content."""

import datetime
import decimal
import fractions
import sys
import types
import warnings

import numpy as np
import pytest

from rffkern import ColumnWarning, DataConversionWarning, InvalidInputError
from rffkern._column_map.cells import CATEGORY, DATE, EMPTY, NUMERIC, level_text
from rffkern._column_map.tables import category, category_of_numbers, of_array, read_table
from rffkern.errors import InvalidTypeError


def same(a, b):
    return a.kind == b.kind and a.levels == b.levels and a.values.tobytes() == b.values.tobytes()


def column_of(values):
    return read_table({"x": np.array(values, object)}).columns[0]


@pytest.mark.parametrize("values", [
    np.array([1, 0, 3], np.int8), np.array([1, 0, 3], np.uint64), np.array([1, 0, 3], np.float16),
    np.array([1, -0.0, 3], np.float32), np.array([1, 0, 3], ">f8"), np.array([1, 0, 3], np.longdouble),
    np.array([1, 0.0, fractions.Fraction(3)], object), np.array([decimal.Decimal(1), np.int8(0), 3], object),
], ids=lambda values: values.dtype.str)
def test_width_of_numbers_does_not_matter(values):
    assert same(of_array(values, "x"), of_array(np.array([1.0, 0.0, 3.0]), "x"))


def test_missing_numbers():
    expected = of_array(np.array([1.0, np.nan, np.nan]), "x")
    odd = np.array([0x3FF0000000000000, 0xFFF8000000000123, 0x7FF0000000000001], np.uint64).view(np.float64)
    assert same(of_array(odd, "x"), expected)  # nan of other bits
    assert same(of_array(np.array([1, None, float("nan")], object), "x"), expected)
    assert expected.kind == NUMERIC
    assert of_array(np.array([None, np.nan], object), "x").kind == EMPTY
    assert of_array(np.full(2, np.nan), "x").kind == EMPTY
    assert of_array(np.array(["NaT"], "M8[s]"), "x").kind == EMPTY


def test_text_and_booleans_are_categories():
    text = column_of(["b", None, "a", float("nan"), "b"])
    assert (text.kind, text.levels) == (CATEGORY, ("a", "b"))
    np.testing.assert_array_equal(text.values, [1, np.nan, 0, np.nan, 1])
    assert same(*(read_table({"x": np.array(["b", "a"], dtype)}).columns[0] for dtype in (str, object)))
    truth = of_array(np.array([True, False]), "x")
    assert truth.levels == ("False", "True")
    assert same(of_array(np.array([True, np.False_], object), "x"), truth)
    np.testing.assert_array_equal(of_array(np.array([None, True], object), "x").values, [np.nan, 0])


def test_levels_that_do_not_occur_are_left_out_and_equal_names_joined():
    found = category(np.array([2, 0, -1, 3]), ["z", "unused", 1, "1"])
    assert found.levels == ("1", "z")
    np.testing.assert_array_equal(found.values, [0, 1, np.nan, 0])
    assert category(np.array([-1, np.nan]), ["a"]).kind == EMPTY


def test_names_of_levels():
    assert [level_text(value) for value in (3, 3.0, np.int8(3), np.float32(3), 0.5, True, "3", 1e300)] == [
        "3", "3", "3", "3", "0.5", "True", "3", "1e+300"]
    numbers = category_of_numbers(of_array(np.array([10.0, np.nan, 2.0, 0.5]), "x"))
    assert numbers.levels == ("0.5", "10", "2")
    np.testing.assert_array_equal(numbers.values, [1, np.nan, 2, 0])


def test_dates_are_seconds_of_any_unit():
    moment = "2024-02-29T12:30:00.123456"
    expected = of_array(np.array([moment, "NaT"], "M8[us]"), "x")
    assert expected.kind == DATE
    assert expected.values[0] == 1709209800.123456
    assert same(of_array(np.array([moment, "NaT"], "M8[ns]"), "x"), expected)
    python = datetime.datetime.fromisoformat(moment)
    tokyo = python.replace(tzinfo=datetime.UTC).astimezone(datetime.timezone(datetime.timedelta(hours=9)))
    for value in (python, np.datetime64(moment), tokyo):
        assert same(of_array(np.array([value, None], object), "x"), expected)
    days = of_array(np.array(["1969-12-31"], "M8[D]"), "x")
    assert days.values == [-86400]
    assert same(of_array(np.array([datetime.date(1969, 12, 31)], object), "x"), days)
    assert same(of_array(np.array([1500], "m8[ms]"), "x"), of_array(np.array([1.5]), "x"))
    assert same(of_array(np.array([datetime.timedelta(seconds=1.5)], object), "x"), of_array(np.array([1.5]), "x"))


def test_times_of_day_are_seconds():
    times = of_array(np.array([datetime.time(1, 2, 3, 500_000), None], object), "x")
    assert same(times, of_array(np.array([3723.5, np.nan]), "x"))


def test_every_nan_is_missing():
    """A signaling one cannot be compared."""
    odd = [decimal.Decimal("NaN"), decimal.Decimal("sNaN"), np.float32("nan")]
    numbers = of_array(np.array([*odd, decimal.Decimal(2)], object), "x")
    assert same(numbers, of_array(np.array([np.nan] * 3 + [2]), "x"))
    assert same(column_of([*odd, "a"]), column_of([None] * 3 + ["a"]))


@pytest.mark.parametrize("module", [None, types.ModuleType("decimal")], ids=["refused", "half imported"])
def test_decimal_numbers_that_nobody_has_imported_yet(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "decimal", module)
    assert same(of_array(np.array([1, 2.5, None], object), "x"), of_array(np.array([1, 2.5, np.nan]), "x"))


def test_missing_levels_are_missing_values():
    assert same(category(np.array([0, 1, 2, 3]), ["b", None, float("nan"), "a"]),
                column_of(["b", None, None, "a"]))


@pytest.mark.parametrize(("value", "shown"), [(np.inf, "infinity"), (-np.inf, "infinity"), (1e308, "1e.308"),
                                              (10**400, "infinity")])
def test_infinite_values_are_refused_with_name_and_row(value, shown):
    with pytest.raises(InvalidInputError, match=f"column 'a' of X must be finite .* or missing, got {shown} at row 2"):
        of_array(np.array([1.0, None, value], object), "column 'a' of X")


@pytest.mark.parametrize("values", [np.array([1, 2**53]), np.array([1, 2**53], object),
                                    np.array([2**64 - 1], np.uint64)])
def test_large_integers_are_warned_of(values):
    with pytest.warns(DataConversionWarning, match=r"x has integers of 2\^53 or more"):
        of_array(values, "x")


def test_large_floats_and_smaller_integers_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of_array(np.array([2.0**60]), "x")
        of_array(np.array([2**53 - 1]), "x")
        of_array(np.array([2**53 - 1, None], object), "x")


def test_mixed_kinds_are_read_as_text_as_the_message_advises():
    """A column of a spreadsheet has numbers, and texts where there are none."""
    cells = np.array([1.5, "2,250.5", None, 3, "n.n.", *range(40)], dtype=object)
    with pytest.raises(InvalidInputError, match=r"make text of all, which is read cell by cell, as .*astype"):
        of_array(cells, "x")
    frame = pytest.importorskip("pandas").DataFrame({"x": cells})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        found = read_table(frame.assign(x=frame["x"].astype(str))).columns[0]
    np.testing.assert_array_equal(found.values[:4], [1.5, 2250.5, np.nan, 3])


@pytest.mark.parametrize("values", [[1, "a"], ["a", True], [1.5, datetime.date(2020, 1, 1)], [True, 2]], ids=str)
def test_mixed_kinds_are_refused(values):
    with pytest.raises(InvalidInputError, match=r"x must hold values of one kind, got [a-z]+ and [a-z]+"):
        of_array(np.array(values, object), "x")


def test_other_types_are_refused():
    with pytest.raises(InvalidTypeError, match=r"argument must be a string or a number.*got dict"):
        of_array(np.array([1.0, {"a": 1}], object), "x")
    with pytest.raises(InvalidInputError, match="Complex data not supported"):
        of_array(np.array([1j]), "x")
    with pytest.raises(InvalidTypeError, match="must hold numbers, text, booleans or dates, got dtype"):
        of_array(np.array([b"bytes"]), "x")
