"""Tables of any package give the same columns."""

import datetime
import warnings

import numpy as np
import pytest
from helpers.tables import CONTENT, TABLES, same_table, table_of

from rffkern import (
    ColumnMap,
    ColumnWarning,
    FourierBoostingClassifier,
    GBRFF2Classifier,
    InvalidInputError,
    RowBlocks,
    dumps,
    loads,
)
from rffkern._column_map.cells import CATEGORY, Reading
from rffkern._column_map.tables import check_table, is_complete_numeric, read_table
from rffkern.errors import InvalidTypeError

EXPECTED = read_table(CONTENT)


@pytest.mark.parametrize("form", TABLES)
def test_the_same_content_gives_the_same_columns(form):
    assert same_table(read_table(table_of(form)), EXPECTED)


def test_kinds_of_the_content():
    assert EXPECTED.names == tuple(CONTENT)
    assert [column.kind for column in EXPECTED.columns] == [
        "numeric", "numeric", "category", "category", "date", "empty"]
    assert EXPECTED.n_rows == 5


def test_columns_by_name():
    wanted = ("flag", "size")
    table = read_table(CONTENT | {"size and more": [object()] * 5}, wanted=wanted)  # which is not looked at
    assert table.names == wanted
    assert same_table(table, EXPECTED._replace(names=wanted, columns=[EXPECTED.columns[3], EXPECTED.columns[0]]))
    with pytest.raises(InvalidInputError, match="seen at fit time, yet now missing:\n- weight\n"):
        read_table(CONTENT, wanted=("size", "weight"))


def test_rows_without_names():
    rows = [[1.0, "a", None], [2.5, "b", True]]
    for form in (rows, np.array(rows, object)):
        table = read_table(form)
        assert table.names is None
        assert [column.kind for column in table.columns] == ["numeric", "category", "category"]
    assert read_table(np.ones((3, 2), np.float32)).columns[0].kind == "numeric"


def test_numbers_that_are_categories():
    for marked in (["count"], [1], np.array([1])):
        assert read_table(CONTENT, categorical=marked).columns[1].levels == ("1", "2", "7")
    with pytest.raises(InvalidInputError, match="categorical_features must be names or indices of columns, got 'no'"):
        read_table(CONTENT, categorical=["no"])
    with pytest.raises(InvalidInputError, match="got 6 with 6 columns"):
        read_table(CONTENT, categorical=[6])
    with pytest.raises(InvalidInputError, match="the table has no names"):
        read_table([[1.0]], categorical=["a"])


def test_codes_that_are_read_as_numbers_are_warned_of(recwarn):
    """Once in a fit, and not where the column is a category, as the message says."""
    codes = [f"{k % 13:03d}" for k in range(60)]
    y = ["a" if k % 2 else "b" for k in range(60)]
    model = GBRFF2Classifier(2, random_state=0)
    with pytest.warns(ColumnWarning, match="'code' of X has numbers with leading zeros, such as '000', which are read "
                                           "as numbers; if they are codes, name the column in categorical_f") as found:
        model.fit({"code": codes, "month": [f"{k % 12 + 1:02d}" for k in range(60)]}, y)
    assert len(found) == 1
    model.predict({"code": codes, "month": ["01"] * 60})
    model.set_params(columns=ColumnMap(categorical_features=["code"])).fit({"code": codes, "x": [*range(60)]}, y)
    assert not recwarn


@pytest.mark.parametrize("dates", ["auto", "dmy"])
def test_dates_of_two_orders_are_warned_of(dates):
    when = [f"{k % 28 + 1}.{k % 12 + 1}.2022" if k % 2 else f"{k % 12 + 1}/{k % 28 + 1}/2022 10:30" for k in range(90)]
    said = (r"'when' .* has dates with the day first, such as '\d\d\.\d+\.2022', and with the month first, such as "
            r"'\d+/\d\d/2022 10:30', which are read as categories")
    with pytest.warns(ColumnWarning, match=said):
        ColumnMap(dates=dates).fit({"when": when, "x": [*range(90)]})


@pytest.mark.parametrize(("cells", "said"), [
    (["15 %", "n/a%", "20"], "'15 %' and '20', which are read as 0.15 and 20"), (["-3", "5%"], "'5%' and '-3'"),
    (["15%", "0.2", "1", ""], ""), (["15%", "20%"], ""), (["15", "20"], ""), (["$15", "20"], "")])
def test_numbers_with_and_without_a_per_cent_sign_are_warned_of(cells, said):
    """Where those without are above 1, which shares are not."""
    numbers = [f"{k}%" for k in range(60)] if "%" in "".join(cells) else [f"{k}" for k in range(60)]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ColumnMap().fit({"discount": cells + numbers})
    if not said:
        assert not [each for each in found if "%" in str(each.message)]
    else:
        assert f"such as {said}" in " ".join(str(each.message) for each in found)


@pytest.mark.parametrize(("years", "last"), [
    (range(1931, 2005), 2068), ([1955, 1962, 1990, 2001], 2062), (range(1969, 2030), 0), (range(2001, 2066), 0),
    ([2024], 0), ([1999, 2001], 0), (range(1969, 2069), 0)])
@pytest.mark.parametrize("form", ["{d}.{m}.{y:02d}", "{m}/{d}/{y:02d}", "{d} March {y:02d}"])
def test_years_of_two_digits_that_may_be_of_another_century_are_warned_of(years, last, form):
    """Births of 1931 to 2004 are read as dates until 2068; the same with four digits are not."""
    cells = [form.format(d=1 + k % 28, m=1 + k % 12, y=year % 100) for k, year in enumerate([*years] * 20)]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        (column,) = read_table({"born": cells}).columns
    said = [str(each.message) for each in found if "two digits" in str(each.message)]
    assert column.kind == "date"
    assert len(said) == bool(last)
    assert not last or f"which is read as {last}: 69 to 99 are of 1900" in said[0]
    full = [form.replace("{y:02d}", "{y}").format(d=1 + k % 28, m=1, y=year) for k, year in enumerate([*years] * 20)]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read_table({"born": full})
    assert "two digits" not in "".join(str(each.message) for each in found)


@pytest.mark.parametrize(("form", "units"), [
    (["{}.25K", "{}.5M"], ["k", "m"]), (["{}.25K", "{}"], ["k"]), (["{} kg", "{} lb", "{}kg"], ["kg", "lb"]),
    (["{}a", "{}b", "{}c", "{}d", "{}e", "{}"], []), (["{}"] * 21 + ["{}a", "{}b", "{}c"], []),
    (["x{}"], []), (["{} kg"], None), (["${}/mo"], ["$/mo"]), (["{} sq ft"], ["sq ft"]), (["{}", "<{}"], ["<"]),
    (["{}st"], []), (["{}-a"], []), (["CUST-{}"], [])])
def test_numbers_of_several_units_are_warned_of(form, units):
    """They are categories; letters of codes are no units."""
    cells = [form[k % len(form)].format(k) for k in range(120)]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        (column,) = read_table({"volume": cells}).columns
    assert column.kind == ("numeric" if units is None else "category")
    assert [str(each.message) for each in found] == ([] if not units else [
        f"column 'volume' of X has numbers with units or other text ({', '.join(units)}), which are read as "
        "categories: to have numbers, write them alone, all in one unit"])


@pytest.mark.parametrize("form", [
    "{month}/{year}", "{month:02d}-{year}", "{year}/{month}", "{year}-Q{part}", "{year}Q{part}", "Q{part} {year}",
    "{part}Q24", "{year}H1", "{year}M{month:02d}", "{year}-W{month:02d}"])
def test_months_and_quarters_are_warned_of(form):
    cells = [form.format(month=month, year=year, part=(month + 2) // 3)
             for year in (2019, 2024) for month in range(1, 13)]
    with pytest.warns(ColumnWarning) as found:
        (column,) = read_table({"when": [*cells, None]}).columns
    assert column.kind == "category"
    assert [str(each.message) for each in found] == [
        f"column 'when' of X has months, quarters or weeks such as {cells[0]!r}, which are read as categories: to have "
        "dates, write the first day of each, such as 2024-07-01"]


@pytest.mark.parametrize(("cells", "values"), [
    (["5,-", "7,50", "7,50-"], [5, 7.5, -7.5]), (["5.-", "7.50-", "(7.5)"], [5, -7.5, -7.5]), (["5-", "7"], [-5, 7])])
def test_prices_without_cents_are_positive(cells, values):
    (column,) = read_table({"price": cells}).columns
    assert column.values.tolist() == values


@pytest.mark.parametrize(("form", "what", "words"), [
    (["{}.5", "{}", "-"], "numbers", "'-'"), (["{}", "{} kg", "{} kg", "low", "high"], "numbers", "'high', 'low'"),
    (["20{:02d}-01-31", "-", "20{:02d}-02-01"], "dates", "'-'"),
    (["20{:02d}-01-31", "20{:02d}-01-30", "0000-00-00"], "dates", "'0000-00-00'"),
    (["{}", "a", "b", "c", "d", "e"], "", ""), (["{}", "x1"], "", ""), (["{:03d}", "-"], "", ""),
    (["{}", "-", "-"], "", "")])
def test_words_that_make_a_category_of_numbers_are_warned_of(form, what, words):
    """Not if these are codes, or many."""
    cells = [form[k % len(form)].format(k) for k in range(99)]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        (column,) = read_table({"price": cells}).columns
        read_table({"price": cells}, categorical=["price"])
    assert column.kind == "category"
    assert [str(each.message) for each in found] == ([] if not what else [
        f"column 'price' of X has {what}, but is read as a category because of {words}: if that means missing, write "
        "None in place of it; else name the column in categorical_features"])
    (column,) = read_table({"price": [None if cell in words else cell for cell in cells]}).columns
    assert column.kind == {"numbers": "numeric", "dates": "date", "": "category"}[what]


def test_a_series_is_no_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    for series in (frame.iloc[0], frame["a"]):
        with pytest.raises(InvalidInputError, match=r"Take a row of a data frame as frame.iloc\[\[i\]\], and a column"):
            read_table(series)
    assert len(read_table(frame.iloc[[0]]).columns) == 2


def test_what_is_no_table_is_refused():
    with pytest.raises(InvalidInputError, match=r"Expected 2D array, got 1D array.*Reshape your data"):
        read_table([1.0, 2.0])
    with pytest.raises(InvalidInputError, match=r"got 1D array of shape \(3,\)\. Make a table of its fields"):
        read_table(np.zeros(3, [("a", float), ("b", "<U3")]))
    with pytest.raises(InvalidInputError, match=r"got 1D array of shape \(2,\)\. Make a table of rows that are dicts"):
        read_table([{"a": 1.0}, {"a": 2.0}])
    with pytest.raises(InvalidInputError, match=r"one value for each row, got shape \(\): a list of one value is a"):
        read_table({"a": 1.0})
    with pytest.raises(InvalidInputError, match=r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1"):
        read_table(np.empty((2, 0)))
    with pytest.raises(InvalidInputError, match="rectangular table"):
        read_table([[1.0], [1.0, 2.0]])
    with pytest.raises(InvalidInputError, match=r"columns of one length, got \[1, 2\]"):
        read_table({"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(InvalidInputError, match="no masked values"):
        read_table(np.ma.masked_equal([[1.0, 2.0]], 2))
    with pytest.raises(InvalidInputError, match="column 'a' of X must have one value for each row"):
        read_table({"a": [[1.0, 2.0]]})
    with pytest.raises(InvalidInputError, match=r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"):
        check_table(read_table(np.empty((0, 3))), "X")


def test_columns_of_one_name_are_refused():
    class Frame:
        columns = ("a", "a")

        def __array__(self, dtype=None, copy=None):
            return np.ones((2, 2))

    with pytest.raises(InvalidInputError, match="distinct names, got 'a' twice"):
        read_table(Frame())


def test_tables_that_are_not_in_memory_are_refused():
    polars = pytest.importorskip("polars")
    with pytest.raises(InvalidTypeError, match=r"a table in memory.*LazyFrame"):
        read_table(polars.DataFrame({"a": [1]}).lazy())


def test_integers_with_missing_ones_are_warned_of():
    large = [2**53 + 2, None]
    for package, make in (("polars", lambda p: p.DataFrame({"a": large})),
                          ("pyarrow", lambda p: p.table({"a": large})),
                          ("pandas", lambda p: p.DataFrame({"a": p.array(large, dtype="Int64")}))):
        with pytest.warns(UserWarning, match="column 'a' of X has integers of"):
            read_table(make(pytest.importorskip(package)))


LARGE = [2**53, 2**53 + 1, None]


@pytest.mark.parametrize("make", [
    lambda: {"a": LARGE}, lambda: {"a": np.array([float("nan"), *LARGE], object)},
    lambda: {"a": np.array([2**53, 2**53 + 1, 2**53])},
    lambda: [[value] for value in LARGE], lambda: pytest.importorskip("polars").DataFrame({"a": LARGE}),
    lambda: pytest.importorskip("pyarrow").table({"a": LARGE}),
    lambda: pytest.importorskip("pandas").DataFrame({"a": LARGE}, dtype="Int64"),
    lambda: (pytest.importorskip("pyarrow"), pytest.importorskip("pandas"))[1].DataFrame(
        {"a": LARGE}, dtype="int64[pyarrow]")])
def test_integers_of_a_category_keep_all_digits(make):
    """Identifiers that float64 does not tell apart are categories of their own, and nobody is warned of them."""
    levels = tuple(map(str, LARGE[:2]))
    assert read_table(make(), categorical=[0]).columns[0].levels == levels
    assert read_table(make(), readings={0: Reading(CATEGORY)}).columns[0].levels == levels
    for mixed in (["a", 2**53], [2**53, True]):  # as without the name
        with pytest.raises(InvalidInputError, match="values of one kind"):
            read_table({"a": np.array(mixed, object)}, categorical=[0])


def test_dates_and_times_of_frames():
    """Periods, times of day and intervals of each package."""
    pandas, polars, pyarrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    periods = read_table(pandas.DataFrame({"a": pandas.period_range("2024-01", periods=2, freq="M")})).columns[0]
    assert same_table(read_table({"a": np.array(["2024-01-01", "2024-02-01"], "M8[D]")}),
                      read_table({"a": [0.0, 0.0]})._replace(names=("a",), columns=[periods]))
    hour = [datetime.time(1), None]
    step = [datetime.timedelta(hours=1), None]
    for column in (polars.DataFrame({"a": hour}), pyarrow.table({"a": hour}), polars.DataFrame({"a": step}),
                   pyarrow.table({"a": step}), pandas.DataFrame({"a": step})):
        assert same_table(read_table(column), read_table({"a": [3600.0, None]}))


def test_columns_of_several_values_a_row_are_refused_by_name():
    polars = pytest.importorskip("polars")
    with pytest.raises(InvalidInputError, match="column 'a' of X must have one value for each row"):
        read_table(polars.DataFrame({"a": polars.Series([[1.0, 2.0]], dtype=polars.Array(polars.Float64, 2))}))
    with pytest.raises(InvalidInputError, match="column 'a' of X must have one value for each row"):
        read_table({"a": [[1], [1, 2]]})


def test_what_is_complete_and_numeric(tmp_path):
    X = np.random.default_rng(0).standard_normal((500, 30))
    np.save(tmp_path / "x.npy", X)
    for rows in (X, X.astype(np.float32), np.round(X).astype(int), RowBlocks([X[:5], X[5:]]), X.tolist(), X[:, 0],
                 np.load(tmp_path / "x.npy", mmap_mode="r"), np.where(X > 2, np.inf, X), X.astype(object)):
        assert is_complete_numeric(rows)
    odd = X.copy()
    odd[499, 29] = np.nan
    for table in (odd, odd.astype(np.float32), RowBlocks([X, odd]), RowBlocks([X, [["a"] * 30]]), odd.tolist(),
                  np.array([["a"], ["b"]]), np.array([[True], [False]]), np.array([[1.0, True]], dtype=object),
                  {"a": [1.0, 2.0]}, np.array([["2020-01-01"]], "M8[D]"), np.array([[1]], "m8[s]")):
        assert not is_complete_numeric(table)


@pytest.mark.parametrize("names", [
    ["dtype"], ["column_names"], ["column_names", "column"], ["collect_schema"], ["nnz", "toarray", "tocsr"],
    ["get_columns"], ["type", "null_count"], ["to_physical", "indices", "indptr"], ["T", "shape", "columns", "dtypes"]])
@pytest.mark.parametrize("family", [FourierBoostingClassifier, GBRFF2Classifier])
def test_columns_with_the_names_of_attributes(rng, family, names):
    """A data frame of pandas has its columns as attributes, by which it must not be taken for another table."""
    pandas = pytest.importorskip("pandas")
    y = np.where(rng.random(40) < 0.5, "a", "b")
    for values in (rng.standard_normal((40, len(names))), rng.choice(["u", "v"], (40, len(names)))):
        frame = pandas.DataFrame(values, columns=names).assign(x=rng.standard_normal(40))
        plain = frame.rename(columns={name: f"column {k}" for k, name in enumerate(names)})
        weight = np.ones(40)
        found, expected = (family(5, random_state=0).fit(each, y, sample_weight=weight) for each in (frame, plain))
        assert found.feature_names_in_.tolist() == [*names, "x"]
        np.testing.assert_array_equal(found.predict_proba(frame), expected.predict_proba(plain))
        again = loads(dumps(found))
        np.testing.assert_array_equal(again.predict_proba(frame), found.predict_proba(frame))
        np.testing.assert_array_equal(ColumnMap().fit(frame).transform(frame),
                                      ColumnMap().fit(plain).transform(plain))
