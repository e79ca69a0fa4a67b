"""Columns of text: each of the corpus is read as the rules say, whatever holds it."""

import warnings

import numpy as np
import pytest
from helpers.awkward_columns import columns

from rffkern import ColumnMap, InvalidInputError
from rffkern._column_map.cells import Reading, infer_reading, read_column
from rffkern._column_map.tables import read_table
from rffkern.errors import ColumnWarning

COLUMNS = columns()


def content_of(raw):
    """Values of a raw column as Python's own."""
    return [None if np.isnan(value) else raw.levels[int(value)] if raw.levels else value for value in raw.values]


def test_the_corpus_is_large_and_has_distinct_names():
    assert len({column.name for column in COLUMNS}) == len(COLUMNS) > 300


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_each_column_is_read_as_the_rules_say(column):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        raw = read_table({"a": np.array(column.cells, dtype=object)}).columns[0]
    assert raw.kind == column.kind
    assert content_of(raw) == column.values
    assert len(caught) == bool(column.remark)
    if caught:
        assert caught[0].category is ColumnWarning
        assert column.remark in str(caught[0].message)
        assert "column 'a' of X" in str(caught[0].message)


def test_what_holds_the_text_does_not_matter():
    few = [column for column in COLUMNS if len(column.cells) == 40 and not column.remark][::7]
    cells = {column.name: column.cells for column in few}
    expected = [content_of(read_table({"a": np.array(column.cells, object)}).columns[0]) for column in few]
    tables = [cells, {name: np.array(held) for name, held in cells.items()}, np.array([*cells.values()], object).T]
    for package, make in (("pandas", lambda p: p.DataFrame(cells)), ("polars", lambda p: p.DataFrame(cells)),
                          ("pyarrow", lambda p: p.table(cells))):
        try:
            tables.append(make(__import__(package)))
        except ImportError:
            continue
    for table in tables:
        assert [content_of(raw) for raw in read_table(table).columns] == expected


@pytest.mark.slow
def test_the_whole_column_decides_also_after_many_cells():
    """A sample is looked at first; what it does not show counts all the same."""
    early = [f"{1 + k % 12}/{1 + k % 11}/{1900 + k % 120} {k % 24}:{k % 60:02d}:{k % 59:02d}" for k in range(40_000)]
    assert infer_reading(early).ambiguous
    assert infer_reading([*early, "17/1/2000 00:00:00"]) == Reading("date", "dmy")
    numbers = [f"{k}.5" for k in range(40_000)]
    assert infer_reading(numbers) == Reading("numeric")
    assert infer_reading([*numbers, "$7"]) == Reading("numeric", ".$")
    assert infer_reading([*numbers, "odd"]) == Reading("numeric", words=("odd",))
    assert infer_reading([*numbers, *(f"word {k}" for k in range(33))]).kind == "category"
    assert infer_reading([f"word {k}" for k in range(40_000)]).kind == "category"


def test_the_order_of_dates_is_settled_by_others_or_by_a_parameter():
    both, first = ["3/4/2024", "5/6/2024"], ["13/4/2024", "5/6/2024"]
    march, april = 1709510400.0, 1712102400.0
    with pytest.warns(ColumnWarning, match=r"column 'a' of X has dates such as '3/4/2024'.*month first.*dates=\"dmy\""):
        assert read_table({"a": both}).columns[0].values[0] == march
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table({"a": both, "b": first}).columns[0].values[0] == april
        assert read_table({"a": both}, dates="dmy").columns[0].values[0] == april
        assert read_table({"a": both}, dates="mdy").columns[0].values[0] == march
        assert read_table({"a": first}, dates="mdy").columns[0].values[1] == 1717545600.0  # no choice is left


def test_a_fitted_map_reads_as_in_training():
    """One row alone would be ambiguous; cells that training did not know are an error."""
    table = {"when": [f"{1 + k % 28}/{1 + k % 12}/2024" for k in range(60)],
             "price": [f"{k},5 €" if k % 12 else "none yet" for k in range(60)],
             "flag": ["ja" if k % 3 else "nein" for k in range(60)]}
    with pytest.warns(ColumnWarning, match="column 'price' of X has cells that are no numbers, such as 'none yet'"):
        found = ColumnMap(("raw",), dates="mdy").fit(table)
    kinds = [row["kind"] for row in found.describe() if row["form"] not in ("missing", "weekday")]
    assert kinds == ["date", "numeric", "category"]
    row = {"when": ["3/4/2024"], "price": ["7,5"], "flag": ["JA"]}
    mapped = dict(zip(found.get_feature_names_out(), found.transform(row)[0], strict=True))
    assert (mapped["when_raw"], mapped["price_raw"]) == (1712102400.0, 7.5)
    assert mapped["flag=False"] < 0
    place = found.get_feature_names_out().tolist().index("price_missing")
    assert found.transform(row | {"price": ["none yet"]})[0, place] > 0
    message = ("column 'price' of X must hold numeric values alone or with '€', as in training, got text such as '7,5 "
               "CHF' at row 0: None in its place counts as missing")
    with pytest.raises(InvalidInputError, match=message):
        found.transform(row | {"price": ["7,5 CHF"]})
    with pytest.raises(InvalidInputError, match="column 'when' of X must hold date values with the day first, as in "
                                                    "training, got text"):
        found.transform(row | {"when": ["3/14/2024"]})


def test_dates_of_text_are_learned_from():
    """What was lost before: a column of ISO dates as text, the only one."""
    from rffkern import FourierBoostingRegressor

    days = np.datetime64("2015-01-01") + np.arange(1000)
    y = np.sin(np.arange(1000) / 58.0)
    model = FourierBoostingRegressor(n_bags=2, n_estimators=60, random_state=0)
    assert model.fit({"day": np.datetime_as_string(days).tolist()}, y).score({"day": days}, y) > 0.9


def test_levels_are_texts_without_blanks_around_them():
    found = ColumnMap(min_level_rows=1).fit({"a": ["x ", " y", "x", "", "NA"]})
    assert found.get_feature_names_out().tolist() == ["a=x", "a_missing"]
    assert read_table({"a": ["7", "7.0", "8"]}, categorical=["a"]).columns[0].levels == ("7", "8")
    assert read_table({"a": ["07", "7", "8"]}, categorical=["a"]).columns[0].levels == ("07", "7", "8")


def test_values_of_a_reading():
    values, odd = read_column(["1.5 kg", " 2 ", "x", "3 lb", "NA"], Reading("numeric", ".kg", ("x",)))
    np.testing.assert_array_equal(values, [1.5, 2, np.nan, np.nan, np.nan])
    assert odd == ["3 lb"]


def test_durations_are_seconds_in_any_table():
    pd = pytest.importorskip("pandas")
    spans = pd.to_timedelta(np.arange(9) * 5000, unit="s")
    found = [ColumnMap(("raw",)).fit({"took": cells}).transform({"took": cells}) for cells in (
        spans, [*map(str, spans)], (np.arange(9) * 5000).astype("m8[s]"), np.arange(9) * 5000.0)]
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])


@pytest.mark.parametrize("cells", [["1", "2.5"], ["1 kg", "2 kg"], ["$1", "$2"], ["2024-01-01", "2024-01-02"],
                                   ["12:30", "12:45"], ["red", "blue"]])
def test_nan_of_either_sign_is_missing_in_every_column(cells):
    raw = read_table({"a": np.array([*cells, "+NaN", "-nan"], dtype=object)}).columns[0]
    assert np.isnan(raw.values).tolist() == [False, False, True, True]
    assert "+NaN" not in raw.levels
