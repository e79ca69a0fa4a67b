"""`rffkern fit` and `predict` on tables with categories, dates, booleans and missing values, in many file formats."""

import csv
import gzip
import io
import re
import shlex

import numpy as np
import pytest

from rffkern import ColumnMap, ColumnWarning, GBRFF2Classifier, load, save
from rffkern._cli import training_table
from rffkern._cli.table import Block
from rffkern._estimator.base import fitted_map_of

N = 400
NAMES = ["sex", "age", "fare", "port", "alone", "joined", "ticket", "note"]


@pytest.fixture
def passengers(rng, folder):
    """Rows of a table, written as passengers.csv: names first, labels last."""
    age = rng.integers(1, 80, N).astype(str)
    age[rng.random(N) < 0.2] = ""
    columns = [rng.choice(["male", "female"], N), age, rng.exponential(30, N).round(2).astype(str),
               rng.choice(["S", "C", "Q", "NA"], N, p=[0.6, 0.2, 0.1, 0.1]), rng.choice(["true", "FALSE"], N),
               np.datetime_as_string(np.datetime64("2020-01-01") + rng.integers(0, 900, N)),
               np.where(rng.random(N) < 0.7, rng.integers(1, 500, N).astype(str), "A/5"), np.full(N, "")]
    labels = np.where((columns[0] == "female") ^ (columns[2].astype(float) > 30), "yes", "no")
    rows = [[*NAMES, "y"], *map(list, zip(*columns, labels, strict=True))]
    written(folder / "passengers.csv", rows)
    return rows


def written(path, rows, delimiter=","):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    path.write_text(text.getvalue())


TOLD = """passengers.csv: categories: sex (2 levels), port (3 levels), alone (2 levels), \
ticket ({} levels, such as 'A/5')
passengers.csv: dates: joined
passengers.csv: missing values: age ({} rows), port ({} rows)
passengers.csv: empty columns: note
passengers.csv: column 'joined' has dates, but rows are held out at random; if later rows are to be predicted, hold \
out the last rows: --time 'joined'
trained GBRFF2Classifier on 300 rows of 8 columns in"""


def test_what_is_no_number_is_told(command, folder, passengers):
    code, _, errors = command("fit", "passengers.csv", "-o", "p.npz", "--holdout", "0.25")
    assert code == 0
    cells = list(zip(*passengers[1:], strict=True))
    assert errors.startswith(TOLD.format(len(set(cells[6])), cells[1].count(""), cells[3].count("NA")))
    assert "columns not used: note (all values are missing: leave the column out)\n" in errors
    assert float(errors.split("100 held-out rows; the model on ")[1].split(" %")[0]) > 80
    model = load(folder / "p.npz")
    kinds = {row["column"]: row["kind"] for row in model.column_map_.describe()}
    assert kinds == dict.fromkeys(NAMES, "category") | {"age": "numeric", "fare": "numeric", "joined": "date",
                                                        "note": "empty"}
    shown = command("info", "p.npz")[1]
    assert "column joined  date, standard, " in shown
    assert "column note    empty, dropped, reason all values are missing" in shown


@pytest.fixture
def model(command, folder, passengers):
    """A model of the passengers, and what it predicts for them."""
    assert command("fit", "passengers.csv", "-o", "p.npz", "--columns", "standard,rank")[0] == 0
    code, out, errors = command("predict", "p.npz", "passengers.csv", "--proba")
    assert (code, errors) == (0, "")
    return [line.split(",", 1)[1] for line in out.splitlines()[1:]]


@pytest.mark.parametrize("jobs", [1, 2])
def test_any_order_more_columns_and_a_pipe(command, folder, passengers, model, jobs):
    rows = [[*row[::-1], f'{i}, "{i}"', "1e999"] for i, row in enumerate(passengers)]
    rows[0][-2:] = ["id", "more"]
    written(folder / "q.csv", rows, ";")
    packed = gzip.compress((folder / "q.csv").read_bytes())
    code, out, errors = command("predict", "p.npz", "-", "--proba", "--keep", "id", "--target", "y", "--jobs", jobs,
                                stdin=packed)
    assert code == 0
    assert "standard input: using ';' as delimiter" in errors
    assert "accuracy on 400 rows: 9" in errors
    found = list(csv.reader(io.StringIO(out)))[1:]
    assert [row[0] for row in found] == [f'{i}, "{i}"' for i in range(1, N + 1)]
    assert [",".join(row[2:]) for row in found] == model


def test_levels_that_are_new_and_gaps_where_there_were_none(command, folder, passengers, model):
    """They pass, as they do in Python."""
    odd = [["other", "", "", "", "", "", "", ""], ["male", "NaN", "null", "?", "None", "NA", "B/6", "anything"],
           ["FEMALE", "7", "-0", "Z", "maybe", "2030-01-01T10:00Z", "1.0", "5"]]
    written(folder / "odd.csv", [NAMES, *odd])
    code, out, errors = command("predict", "p.npz", "odd.csv", "--proba")
    assert code == 0
    assert errors.startswith("rows differ from training: 'alone' (33.3% new levels, 'maybe'")
    none, nan = None, np.nan
    table = {"sex": ["other", "male", "FEMALE"], "age": [nan, nan, 7], "fare": [nan, nan, 0], "port": [none, none, "Z"],
             "alone": [none, none, "maybe"], "ticket": [none, "B/6", "1"], "note": [none] * 3,
             "joined": np.array(["NaT", "NaT", "2030-01-01T10"], "M8[s]")}
    expected = load(folder / "p.npz").predict_proba(table)
    found = [line.split(",")[1:] for line in out.splitlines()[1:]]
    np.testing.assert_array_equal(np.array(found, dtype=float), expected)


BAD = [(3, 1, "old", "data row 3 (line 4), column 1 (age): expected a finite number, got 'old': pass "
        "--missing=old if it means a missing value, or skip such rows with --reject FILE"),
       (5, 2, "1e999", "data row 5 (line 6), column 2 (fare): expected a finite number, got '1e999': correct "
        "it, or skip such rows with --reject FILE"),
       (9, 5, "soon", "data row 9 (line 10), column 5 (joined): expected a date, such as 2024-03-01 or 2024-03-01 "
        "12:30, got 'soon': pass --missing=soon if it means a missing value, or skip such rows with --reject FILE"),
       (11, 2, "1,5", "data row 11 (line 12), column 2 (fare): expected a finite number, got '1,5': if it has a "
        "decimal comma, write a point, because commas separate the columns")]


@pytest.mark.parametrize("which", [*range(4), "all"])
def test_cells_of_another_kind(command, folder, passengers, model, which):
    for row, column, cell, _ in BAD if which == "all" else [BAD[which]]:
        passengers[row][column] = cell
    written(folder / "bad.csv", passengers)
    if which != "all":
        assert command("predict", "p.npz", "bad.csv") == (
            65, "prediction\n", f"rffkern: error: bad.csv: {BAD[which][3]} [rffkern help E65]\n")
        return
    code, out, errors = command("predict", "p.npz", "bad.csv", "--proba", "--reject", "r.csv", "--jobs", "2")
    assert (code, errors) == (0, "4 of 400 rows rejected: r.csv\n")
    rejected = {3, 5, 9, 11}
    assert [line.split(",", 1)[1] for line in out.splitlines()[1:]] == [
        line for i, line in enumerate(model, 1) if i not in rejected]
    with open(folder / "r.csv", newline="") as file:
        faults = list(csv.DictReader(file))
    assert [int(fault["row"]) for fault in faults] == sorted(rejected)
    assert all(next(csv.reader([fault["text"]])) == passengers[int(fault["row"])] for fault in faults)


@pytest.mark.parametrize(("column", "most"), [(2, "numbers"), (5, "dates")])
def test_a_word_among_numbers_or_dates(command, folder, passengers, column, most):
    """It ends training, unless the column is said to be a category, or rows may be rejected."""
    passengers[7][column] = "unknown"
    written(folder / "odd.csv", passengers)
    code, _, errors = command("fit", "odd.csv", "-o", "n.npz")
    assert code == 65
    assert f"odd.csv: data row 7 (line 8), column {column} ({NAMES[column]}): expected a " in errors
    assert f"got 'unknown': most of the first cells of the column are {most}; pass --missing=unknown if it means a " \
           "missing value, skip such rows with --reject FILE, or list the column in --categorical" in errors
    code, _, errors = command("fit", "odd.csv", "-o", "n.npz", "--reject", "r.csv")
    assert (code, errors.splitlines()[0]) == (0, "1 of 400 rows rejected: r.csv")
    passengers[9][column] = " - "
    written(folder / "odd.csv", passengers)
    code, _, errors = command("fit", "odd.csv", "-o", "n.npz", "--missing=-,unknown")
    assert (code, f"{NAMES[column]} (" in errors.splitlines()[2]) == (0, True), errors
    assert fitted_map_of(load(folder / "n.npz")).columns[column].words == ("-", "unknown")
    passengers[7][column] = passengers[9][column] = ""
    written(folder / "empty.csv", passengers)
    assert command("fit", "empty.csv", "-o", "e.npz")[0] == 0
    told = command("predict", "e.npz", "empty.csv", "--proba")[1]
    assert command("predict", "n.npz", "odd.csv", "--proba")[1] == told  # the model knows the words
    assert command("evaluate", "n.npz", "odd.csv")[0] == 0
    code, _, errors = command("predict", "e.npz", "odd.csv")
    assert (code, "got 'unknown': pass --missing=unknown if it means a missing value, or " in errors) == (65, True)
    assert command("predict", "e.npz", "odd.csv", "--proba", "--missing=unknown,-")[1] == told
    code, _, errors = command("fit", "odd.csv", "-o", "n.npz", "--categorical", NAMES[column], "--missing=-")
    assert (code, f"{NAMES[column]} (" in errors.splitlines()[0]) == (0, True)


def test_words_that_a_model_of_python_counts_as_missing(command, folder, rng):
    age = np.where(rng.random(300) < 0.05, "unknown", rng.permutation(300).astype(str))
    X = {"age": age.astype(object), "size": rng.standard_normal(300)}
    with pytest.warns(ColumnWarning, match="unknown"):
        model = GBRFF2Classifier(5, random_state=0).fit(X, X["size"] > 0)
    save(model, folder / "w.npz")
    written(folder / "w.csv", [["age", "size"], *map(list, zip(*X.values(), strict=True))])
    code, out, errors = command("predict", "w.npz", "w.csv")
    assert (code, out.splitlines()[1:]) == (0, [*map(str, model.predict(X))]), errors


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["--missing", "-999"], 2, "--missing: expected texts that are no numbers, got '-999': empty such cells"),
    (["--missing", " , "], 2, "--missing: expected 1 to 32 texts, separated by commas, got 0"),
    (("--columns", "none"), 65, "data row 1 (line 2), column 0 (sex): expected a finite number, got "),
    (("--columns", "standard,flat"), 2, "numeric must be a tuple of distinct forms"),
    (("--columns", '{"levels": 3}'), 2, "Invalid parameter 'levels'"),
    (("--columns", "3"), 2, "columns must be none, map, auto, search, numeric transforms separated by commas"),
    (("--columns", '{"categorical_features": [1]}'), 2, "must be names of columns (--categorical also takes indices)"),
    (("--columns", "none", "--categorical", "age"), 2, "--categorical needs a column map"),
    (("--columns", "none", "--set", "columns__n_bins=3"), 2, "columns__n_bins needs a column map, got columns=None"),
    (("--categorical", "y"), 2, "--categorical must name columns to train on, got 8 (y)"),
    (("--categorical", "nothing"), 65, "no column 'nothing'"),
])
def test_maps_that_cannot_be(command, folder, passengers, arguments, code, message):
    found, _, errors = command("fit", "passengers.csv", "-o", "n.npz", *arguments)
    assert (found, message in errors) == (code, True), errors
    assert not (folder / "n.npz").exists()


@pytest.mark.parametrize(("arguments", "params"), [
    (("--columns", "map"), {}), (("--set", "columns=map", "--categorical", "0"), {"categorical_features": ("length",)}),
    (("--columns", "rank,bins", "--set", "columns__n_bins=4"), {"numeric": ("rank", "bins"), "n_bins": 4}),
    (("--columns", '{"numeric": ["raw"], "categorical_features": ["width"]}'),
     {"numeric": ("raw",), "categorical_features": ("width",)}),
    (("--set", "columns__max_levels=7"), {"max_levels": 7}), ((), "auto"), (("--columns", "search"), "search"),
    (("--set", "columns=None"), None),
])
def test_how_a_map_is_said(command, folder, arguments, params):
    """Also of a table of plain numbers, which has no map by default."""
    assert command("fit", "train.csv", "-o", "n.npz", *arguments)[0] == 0
    columns = load(folder / "n.npz").columns
    assert (columns.get_params() if isinstance(params, dict) else columns) == (
        ColumnMap(**params).get_params() if isinstance(params, dict) else params)
    if not arguments:
        assert (folder / "n.npz").read_bytes() == (folder / "m.npz").read_bytes()


def test_numbers_that_are_categories(command, folder):
    """Numbers by their value, unless one has a needless zero; digits beyond those of a double count."""
    big = 12345678901234567890
    for cells, levels in ((["7", "7.0", "8", "+8"], ["7", "8"]), (["07", "7", "8", "7"], ["07", "7", "8"]),
                          ([str(big), str(big + 1)], [str(big), str(big + 1)])):
        rows = [[cells[i % len(cells)], i / 8, "ab"[i % 2]] for i in range(60)]
        written(folder / "t.csv", [["code", "x", "y"], *rows])
        assert command("fit", "t.csv", "-o", "n.npz", "--categorical", "code")[0] == 0
        model = load(folder / "n.npz")
        assert model.columns.categorical_features == ("code",)
        assert list(model.column_map_._fitted.columns[0].levels) == levels
        assert command("predict", "n.npz", "t.csv", "--target", "y", "-o", "o.csv")[0] == 0


def test_years_of_two_digits_that_may_be_of_another_century_are_said(command, folder):
    """People who were born in 1960 are read as if they were to be born in 2060."""
    rows = [f"{1 + k % 28}.3.{(1950 + k % 60) % 100:02d},{1 + k % 28}.3.{10 + k % 9},{k}.5" for k in range(120)]
    (folder / "t.csv").write_text("\n".join(["born,since,y", *rows]) + "\n")
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", "--model", "gbrff_regressor", "--set", "n_estimators=5")
    assert (code, errors.count("two digits")) == (0, 1)
    assert ("t.csv: column 0 (born) has years of two digits, such as that of '23.3.68', which is read as 2068: 69 to "
            "99 are of 1900, others of 2000; if earlier ones are meant, write years of four digits\n") in errors


def test_a_title_above_the_names(command, folder):
    """The file seems to have one column, and none that is asked for."""
    (folder / "t.csv").write_text("Report 2024\n\na,y\n" + "".join(f"{k},{k % 7}.5\n" for k in range(40)))
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", "--target", "y")
    assert (code, "no column 'y': expected one of 'Report 2024'; if lines stand above the column names, remove them"
            in errors) == (65, True)


def test_points_of_thousands_beside_decimal_commas_are_said(command, folder):
    """1.200 pieces at 3,50 are 1200; without a decimal comma in the table, and with two decimals, 1.2."""
    def fit(count, price, *options):
        rows = [f"{count(300 + 37 * k)};{price(k)};{k}" for k in range(60)]
        (folder / "t.csv").write_text("\n".join(["count;price;y", *rows]) + "\n")
        code, _, errors = command("fit", "t.csv", "-o", "p.npz", "--model", "gbrff_regressor", "--set",
                                  "n_estimators=5", *options)
        assert code == 0, errors
        return errors

    grouped, commas = (lambda k: f"{k:,}".replace(",", ".")), (lambda k: f"{k},50")
    assert ("t.csv: column 0 (count) has numbers such as 1.003, read as 1.003, but column 1 (price) has a decimal "
            "comma: if points separate thousands, pass --decimal ,\n") in fit(grouped, commas)
    assert "thousands" not in fit(grouped, commas, "--decimal", ",")
    assert load(folder / "p.npz").column_map_.describe()[0]["mean"] == pytest.approx(300 + 37 * 29.5)
    assert "thousands" not in fit(grouped, str)
    assert "thousands" not in fit(lambda k: f"{k / 1000:.4g}", commas)
    assert "thousands" not in fit(lambda k: f"{k / 10000:.3f}", commas)


@pytest.mark.parametrize("form", ["plain", "quoted", "no header", "words", "parquet"])
def test_leading_zeros_are_said_once_with_what_keeps_them(command, folder, form):
    """Not those of months, and of no column that is a category already."""
    zips = ["10117" if k < 9 else f"{70 * k:05d}" for k in range(60)]
    rows = [[zips[k], f"{k % 12 + 1:02d}", f"{k % 7}.5", f"{k}", "up" if k % 2 else "down"] for k in range(60)]
    names, which, name = ["zip code", "month", "x", "n", "y"], "0 (zip code)", "zip code"
    if form == "quoted":
        rows = [[f'"{cell}"' for cell in row] for row in rows]
    if form == "no header":
        rows, which, name = [row[:4] for row in rows], "0 (the first is 0)", "0"
    if form == "words":
        rows = [[*row[:2], "" if k % 9 == 0 else row[2], *row[3:]] for k, row in enumerate(rows)]
    lines = rows if form == "no header" else [names, *rows]
    (folder / "t.csv").write_text("".join(",".join(row) + "\n" for row in lines))
    path = "t.csv"
    if form == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        path = "t.parquet"
        parquet.write_table(pyarrow.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))),
                            folder / path)
    code, _, errors = command("fit", path, "-o", "p.npz", "--set", "n_estimators=5", *(
        ("--model", "gbrff_regressor") if form == "no header" else ()))
    assert code == 0, errors
    quoted = f"'{name}'" if " " in name else name
    assert errors.count("leading zeros") == 1
    assert (f"{path}: column {which} has numbers with leading zeros, such as '00630', which are read as numbers; if "
            f"they are codes, pass --categorical {quoted}\n") in errors
    code, _, errors = command("fit", path, "-o", "p.npz", "--set", "n_estimators=5", "--categorical", name, *(
        ("--model", "gbrff_regressor") if form == "no header" else ()))
    assert (code, "leading zeros" in errors) == (0, False)
    assert load(folder / "p.npz").column_map_.describe()[0]["kind"] == "category"


def test_numbers_of_several_units_are_said(command, folder):
    (folder / "t.csv").write_text("volume,x,y\n" + "".join(
        f"{k}.25{'M' if k % 3 else 'K'},2024-Q{k % 4 + 1},{'up' if k % 2 else 'down'}\n" for k in range(60)))
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", "--set", "n_estimators=5")
    assert code == 0
    assert ("t.csv: column 1 (x) has months, quarters or weeks such as '2024-Q1', which are read as categories: to "
            "have dates, write the first day of each, such as 2024-07-01\n") in errors
    assert ("t.csv: column 0 (volume) has numbers with units or other text (k, m), which are read as categories: "
            "to have numbers, write them alone, all in one unit\n") in errors


@pytest.mark.parametrize(("words", "said", "option"), [
    (["-"], "'-'", "--missing=-"), (["--"], "'--'", "--missing=--"),
    (["not known", "-"], "'-', 'not known'", "--missing='-,not known'")])
def test_words_that_make_a_category_of_numbers_are_said(command, folder, words, said, option):
    (folder / "t.csv").write_text("price,x,y\n" + "".join(
        f"{words[k // 4 % len(words)] if k % 4 == 0 else k / 4},{k % 7},{'up' if k % 2 else 'down'}\n"
        for k in range(80)))
    code, _, errors = command("fit", "t.csv", "-o", "p.npz")
    assert code == 0
    assert (f"t.csv: column 0 (price) has numbers, but is read as a category because of {said}: if that means missing, "
            f"pass {option}\n") in errors
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", *shlex.split(option))
    assert (code, "categor" in errors, "missing values: price (20 rows)" in errors) == (0, False, True)


def test_advice_on_rare_levels_works(command, folder):
    (folder / "t.csv").write_text("shop,x,y\n" + "".join(
        f"s{k % 20},{k % 7},{'up' if k // 20 else 'down'}\n" for k in range(60)))  # which no shop tells
    code, _, errors = command("fit", "t.csv", "-o", "p.npz")
    advice = re.search(r"not used: shop \(all levels are rare: .*, as by (--columns '.*'); or", errors)
    assert (code, advice is not None) == (0, True), errors
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", *shlex.split(advice[1]))
    assert (code, "not used" in errors) == (0, False)


@pytest.mark.parametrize("zero", ["0000-00-00", "00/00/0000", "0000-00-00 00:00:00"])
def test_dates_of_zeros_may_be_missing(command, folder, zero):
    """As MySQL writes them."""
    form = "{1:02d}/{0:02d}/2024" if "/" in zero else "2024-{0:02d}-{1:02d}"
    days = [form.format(k % 12 + 1, k % 27 + 1) if k % 20 else zero for k in range(80)]
    (folder / "t.csv").write_text("day,x,y\n" + "".join(
        f"{day},{k % 7},{'up' if k % 2 else 'down'}\n" for k, day in enumerate(days)))
    code, _, errors = command("fit", "t.csv", "-o", "p.npz")
    option = f"--missing={shlex.quote(zero)}"
    assert (code, f"got {zero!r}: most of the first cells of the column are dates; pass {option} if it means" in errors
            ) == (65, True)
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", *shlex.split(option))
    assert (code, "missing values: day (4 rows)" in errors) == (0, True)


def test_gaps_of_arrays(command, folder, table):
    X, y = table[0].copy(), table[1]
    X[::3, 1] = np.nan
    for dtype in (np.float32, np.float64):
        np.savez(folder / "t.npz", X=X.astype(dtype), y=y)
        code, _, errors = command("fit", "t.npz", "-o", "n.npz", "--holdout", "0.5")
        assert (code, errors.splitlines()[0]) == (0, "t.npz: missing values: column 1 (100 rows)")
        np.save(folder / "X.npy", X.astype(dtype))
        assert command("predict", "n.npz", "X.npy", "-o", "o.csv")[0] == 0
        expected = load(folder / "n.npz").predict(X.astype(dtype))
        assert (folder / "o.csv").read_text().split() == ["prediction", *expected]
    X[5, 0] = np.inf
    np.savez(folder / "t.npz", X=X, y=y)
    code, _, errors = command("fit", "t.npz", "-o", "n.npz")
    assert (code, "data row 6, column 0 (the first is 0): expected a finite number" in errors) == (65, True)


def test_identifiers_take_bounded_memory():
    """Beyond what a map keeps, levels are not told apart."""
    index = training_table.CategoryIndex(50)
    block = Block(np.arange(80.0)[:, None], None, 0, levels={0: tuple(f"w{i}" for i in range(80))})
    index.recode(block, 0)
    assert len(index.levels(0)) == 51
    assert block.X[:52, 0].tolist() == [*range(51), 0]


@pytest.mark.filterwarnings("ignore:no value of:rffkern.errors.ColumnWarning")
def test_kinds_of_arrow_columns(command, folder):
    """A column of another kind than the model's is refused by name."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    when = np.datetime64("2024-01-01", "s") + np.arange(60) * 10**6
    columns = {"word": ["a", "b", None] * 20, "date": when, "flag": [True, False] * 30, "x": np.arange(60.0)}
    save = lambda name, held: parquet.write_table(pyarrow.table(held), folder / name)
    save("t.parquet", columns | {"y": ["u", "v"] * 30})
    code, _, errors = command("fit", "t.parquet", "-o", "n.npz")
    assert (code, errors.splitlines()[:3]) == (0, [
        "t.parquet: categories: word (2 levels), flag (2 levels)", "t.parquet: dates: date",
        "t.parquet: missing values: word (20 rows)"])
    for name, held, code, message in (
            ("date", [1.0] * 60, 65, "column 1 (date): expected values of kind 'date', as in training, got 'numeric'"),
            ("date", ["x"] * 60, 65, "data row 1, column 1 (date): expected a date, such as 2024-03-01 or 2024-03-01 "
             "12:30, got 'x'"), ("date", ["2024-01-01"] * 60, 0, ""), ("x", ["1"] * 60, 0, ""),
            ("x", ["1 kg"] * 60, 65, "data row 1, column 3 (x): expected a finite number, got '1 kg'"),
            ("word", when, 65, "column 0 (word): expected values of kind 'category', as in training, got 'date'"),
            ("x", [None] * 60, 0, ""), ("date", [None] * 60, 0, ""), ("flag", [None] * 60, 0, ""),
            ("word", [1] * 60, 0, "")):
        save("o.parquet", columns | {name: held})
        found, _, errors = command("predict", "n.npz", "o.parquet")
        assert (found, message in errors) == (code, True), (name, errors)


ROWS = 240
COLUMNS = ["size", "count", "colour", "alone", "joined", "zip", "empty"]
MAP = ColumnMap(("standard", "rank"), categorical_features=["zip"], date_parts=True, max_levels=3)


@pytest.fixture
def columns(rng):
    """Columns as lists of Python's own values, and labels."""
    start = np.datetime64("2020-02-27T22:00:00", "s")
    found = {
        "size": rng.exponential(30, ROWS).astype(np.float32).astype(float).tolist(),
        "count": rng.integers(-100, 100, ROWS).tolist(),
        "colour": rng.choice(["red", "light, blue", "ÿ \"x\"", "e5", "7a"], ROWS,
                             p=[0.5, 0.3, 0.15, 0.03, 0.02]).tolist(),
        "alone": (rng.random(ROWS) > 0.5).tolist(),
        "joined": (start + rng.integers(0, 10**8, ROWS)).tolist(),
        "zip": rng.integers(10, 17, ROWS).tolist(),
        "empty": [None] * ROWS,
    }
    y = np.where((np.array(found["count"]) > 0) ^ (np.array(found["colour"]) == "red"), "yes", "no")
    for name, share in (("size", 0.3), ("colour", 0.1), ("alone", 0.05), ("joined", 0.1)):
        gaps = rng.random(ROWS) < share
        found[name] = [None if gap else value for value, gap in zip(found[name], gaps, strict=True)]
    return found, y


def as_dict(columns):
    arrays = {"size": np.array([np.nan if value is None else value for value in columns["size"]], np.float32),
              "count": np.array(columns["count"], np.int8), "zip": np.array(columns["zip"], np.float64),
              "joined": np.array(columns["joined"], "M8[ms]"), "empty": np.full(len(columns["empty"]), np.nan),
              **{name: np.array(columns[name], object) for name in ("colour", "alone")}}
    return {name: arrays[name] for name in COLUMNS}


def files_of(folder, package, table):
    """The names of the files that a package writes of a table."""
    module = pytest.importorskip(package)
    if package == "pandas":
        frame = module.DataFrame(table).astype({"colour": "category"})
        frame.to_csv(folder / "pandas.csv", index=False)
        text = frame.to_csv(index=False, sep=";", na_rep="NA")
        (folder / "semicolons.csv.gz").write_bytes(gzip.compress(text.encode()))
        return "pandas.csv", "semicolons.csv.gz"
    if package == "polars":
        module.DataFrame(table).write_csv(folder / "polars.csv", quote_style="non_numeric")
        return ("polars.csv",)
    arrow_csv, parquet = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    arrow_csv.write_csv(module.table(table), folder / "arrow.csv")
    coded = module.table(table | {"colour": module.array(table["colour"]).dictionary_encode()})
    parquet.write_table(coded, folder / "t.parquet", row_group_size=50)
    return "arrow.csv", "t.parquet"


OPTIONS = ("--columns", '{"numeric": ["standard", "rank"], "date_parts": true, "max_levels": 3}', "--categorical",
           "zip")


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_one_model_and_one_prediction(package, columns, command, folder):
    """Files are equal byte by byte, and predictions do not depend on the order of columns."""
    columns, y = columns
    model = GBRFF2Classifier(30, columns=MAP, random_state=0).fit(as_dict(columns), y)
    save(model, folder / "model.npz", metadata={"target": "y", "rows": len(y)})
    for name in files_of(folder, package, columns | {"y": y.tolist()}):
        assert command("fit", name, "-o", "from.npz", "--set", "n_estimators=30", *OPTIONS)[0] == 0
        assert (folder / "from.npz").read_bytes() == (folder / "model.npz").read_bytes(), name
    for name in files_of(folder, package, {"y": y.tolist()} | dict(reversed(columns.items()))):
        done = command("predict", "model.npz", name, "--proba", "--target", "y", "--keep", "colour", "--jobs",
                       2 if name == "pandas.csv" else 1)
        assert done[0] == 0, done
        numbers = [line.rsplit(",", 2)[1:] for line in done[1].splitlines()[1:]]
        np.testing.assert_array_equal(np.array(numbers, dtype=float), model.predict_proba(as_dict(columns)))
