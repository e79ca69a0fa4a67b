"""Texts of numbers and dates in a database mean what they mean in Python, or count as missing."""

import contextlib
import math
import sqlite3
from types import SimpleNamespace

import pytest
from helpers.awkward_columns import columns as awkward_columns

from rffkern._column_map.cells import DATE, NUMERIC, Reading, infer_reading, is_number, read_column
from rffkern._column_map.compiled import Values
from rffkern._export.function import Column, Output, RowMap
from rffkern._export.sql_file import _raw

NUMBERS = [
    "12", "-0.5", "+1e-3", "1,234", "1,234.5", "-1,234,567.25", "1 234.5", "1'234", "1\u2019234", "1\u202f234",
    "12,34,567", "4%", "4 %", "-2.5%", "1,200 %", ".5 %", "(1,234)", "(5.25)", "123-", "5.-", "\u22125", "\u20135",
    "true"]
COMMA = ["1,5", "1.234,5", "1 234,5", "-0,25", "1.234.567", "3,5%", "5,-", "12"]
OF_UNIT = ["$5", "-$1,234.50", "$ 5", "5 $", "($5)", "7"]
ODD = ["", "NA", "unknown", "-", "1,23", "12,3456", "1,2,3", "0,125", "5kg5", "5k", "1.2.3", "%", "1;234", ",5", ".",
       "1,234k"]
DAYS = ["16/10/2021", "3/4/2024", "03.04.24", "31-12-1999", "1.2.68", "1.2.69", "29/2/2024", "2021/10/16", "2021/3/7",
        "2024-03", "2024-03-01", "2024-03-01T12:30:15.5+02:00", "16/10/2021 12:30", "16/10/2021 9:05:07",
        "3.4.2024T23:59:59", "16/10/2021, 12:30:00", "4-3-2024 1:05 PM", "4-3-2024 12:05 am", "4-3-2024 12:05:09PM",
        "5/6/2021 11:00 p.m.", "16/10/2021 12:30 GMT", "2021年3月7日", "16/10/2021 12:30:01.25 +0130"]
NO_DAYS = ["", "n/a", "29/2/2023", "1/1/202", "1/1/20211", "1/13/2024x", "16/10/2021 13:05 PM", "16/10/2021 noon",
           "2021/13/1", "1.1.", "tomorrow"]

READINGS = [(Reading(NUMERIC), NUMBERS, ODD), (Reading(NUMERIC, ","), COMMA, [*ODD[:4], "1.2.3", "1,2,3", "5 €"]),
            (Reading(NUMERIC, ".$"), OF_UNIT, ODD), (Reading(NUMERIC, ".kg"), ["5 kg", "1,234kg", "5 KG"], ODD),
            (Reading(DATE, "dmy"), DAYS, NO_DAYS), (Reading(DATE, "mdy"), [*DAYS[1:3], *DAYS[7:12]], NO_DAYS),
            (Reading(DATE), DAYS[7:12], NO_DAYS)]


def statement_of(reading):
    """What reads a table of one column."""
    mapping = RowMap((Column(reading),), (Output("value", 0, 0, 0.0),), (), [], Values([0], 1))
    function = SimpleNamespace(mapping=mapping, column_names=lambda: ["c"])
    return f"WITH {', '.join(_raw(function, 'cells', 'id'))} SELECT x0 FROM rff_x ORDER BY id"


@contextlib.contextmanager
def sqlite():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        yield connection


@contextlib.contextmanager
def duckdb():
    with pytest.importorskip("duckdb").connect() as connection:
        yield connection


def read(connect, reading, texts):
    """The values of texts; None where missing."""
    with connect() as connection:
        connection.execute("CREATE TABLE cells (id integer, c text)")
        rows = ", ".join(f"({i}, '{text.replace(chr(39), 2 * chr(39))}')" for i, text in enumerate(texts))
        connection.execute(f"INSERT INTO cells VALUES {rows}")
        return [value for value, in connection.execute(statement_of(reading)).fetchall()]


def expected_of(reading, text):
    """The value of a text in Python; None where it is missing or refused."""
    values, odd = read_column([text], reading)
    return None if odd or math.isnan(values[0]) else float(values[0])


@pytest.mark.parametrize("connect", [sqlite, duckdb])
@pytest.mark.parametrize(("reading", "texts", "odd"), READINGS)
def test_texts_mean_what_they_mean_in_python(connect, reading, texts, odd):
    found = read(connect, reading, [*texts, *odd])
    expected = [1.0 if text == "true" else expected_of(reading, text) for text in texts]
    assert None not in expected
    assert found == [*expected, *[None] * len(odd)]


@pytest.mark.parametrize("connect", [sqlite, pytest.param(duckdb, marks=pytest.mark.slow)])
def test_no_text_means_something_else(connect):
    """Others count as missing: names of months, clocks, durations, and what is no number by the reading.

    But for plain numbers, which columns of numbers of a database are, and seconds of dates and clocks.
    """
    columns = [(each.cells, infer_reading(each.cells)) for each in awkward_columns()]
    columns = [(cells, reading._replace(words=(), ambiguous=False)) for cells, reading in columns
               if reading is not None and reading.kind in (NUMERIC, DATE)]
    texts = [*dict.fromkeys(text for cells, _ in columns for text in cells[::25] if "\0" not in text)]
    n_read, wrong = 0, []
    for reading in dict.fromkeys(reading for _, reading in columns):
        for text, value in zip(texts, read(connect, reading, texts), strict=True):
            n_read += value is not None
            if value is not None and value != expected_of(reading, text) and not is_number(text):
                wrong.append((reading, text, value, expected_of(reading, text)))
    assert not wrong
    assert n_read > 300
