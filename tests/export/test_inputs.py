"""What rows exported files take: data frames and lists, objects by name, dates of databases, and what they refuse."""

import json
import math
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest
from helpers.exported_tables import CASES, case_of

import rffkern
from rffkern import ColumnMap, GBRFF2Classifier, InvalidInputError
from rffkern._column_map.cells import CATEGORY, MISSING, Reading, known_level
from rffkern._export.engines import imported
from rffkern._export.function import Column

MARKED = "numbers and dates as text, regression"


def module_of(model, path):
    """The exported Python file, imported."""
    rffkern.export(model, path, to="numpy")
    return imported(path)


@pytest.mark.parametrize("case", [case if case == MARKED else pytest.param(case, marks=pytest.mark.slow)
                                  for case in CASES])
def test_numpy_takes_tables_as_they_come(case, tmp_path):
    model, table = case_of(case)
    X = table(60, 1)
    module = module_of(model, tmp_path / "m.py")
    expected = model._raw_scores(X)
    found = module.scores(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1, np.abs(expected).max()))
    columns = [np.asarray(column, dtype=object) if np.asarray(column).dtype.kind != "M" else
               np.array([None if np.isnat(each) else each for each in column], dtype=object) for column in X.values()]
    np.testing.assert_array_equal(module.scores([*zip(*columns, strict=True)]), found)
    np.testing.assert_array_equal(module.scores(np.array(columns, dtype=object).T), found)


@pytest.mark.parametrize("case", [MARKED, "numbers", "words"])
def test_numpy_takes_rows_by_name_and_no_text_for_a_column(case, tmp_path):
    """A word in place of a column was as many rows as it has letters; the first column may be one without use."""
    if case == MARKED:
        model, table = case_of(case)
        X = {name: list(cells) for name, cells in table(9, 1).items()}
    else:
        X = {"name": [f"person {i}" for i in range(60)], "a": [*map(float, range(60))]}
        X |= {"b": [0.5, 1.5, 2.5] * 20} if case == "numbers" else {"b": ["up", "down"] * 30}
        model = GBRFF2Classifier(3, columns=ColumnMap(), random_state=0).fit(X, np.arange(60) > 30)
    module = module_of(model, tmp_path / "m.py")
    rows = [dict(zip(X, cells, strict=True)) for cells in zip(*X.values(), strict=True)]
    expected = module.scores(X)
    np.testing.assert_array_equal(module.scores(rows), expected)
    used = {name: cells for name, cells in X.items() if name != "name"}
    np.testing.assert_array_equal(module.scores(used), expected)
    with pytest.raises(ValueError, match=r"column '\w+': expected one value for each row, got .*: a list of one value"):
        module.scores(rows[0])
    with pytest.raises(KeyError):
        module.scores([{}])
    short = [[*row.values()][:-1] for row in rows]
    with pytest.raises(ValueError, match=rf"^expected rows of {len(X)} columns, got an array of shape "
                                         rf"\({len(rows)}, {len(X) - 1}\)$"):
        module.scores(short)


def test_numpy_takes_data_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    model, table = case_of("dates, two classes")
    X = table(60, 1)
    module = module_of(model, tmp_path / "m.py")
    np.testing.assert_array_equal(module.predict(pandas.DataFrame(X)), model.predict(X))
    np.testing.assert_array_equal(module.predict(pandas.DataFrame(X)[:1]), model.predict(X)[:1])


def test_numpy_finds_numbers_by_name_and_reads_no_column_without_use(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).standard_normal((100, 2)), columns=["a", "b"])
    frame.insert(1, "name", [f"person {i}" for i in range(100)])
    for columns, table in ((ColumnMap(), frame), (None, frame[["a", "b"]])):
        model = GBRFF2Classifier(3, columns=columns, random_state=0).fit(table, frame["b"] > 0)
        module = module_of(model, tmp_path / "m.py")
        expected = model.decision_function(table)[:, None]
        for X in (table, frame[["b", "name", "a"]], {name: list(table[name]) for name in table}, table.to_numpy(),
                  table.to_numpy().tolist()):
            np.testing.assert_allclose(module.scores(X), expected, rtol=1e-12)


def test_numpy_takes_time_intervals_in_seconds(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"took": pandas.to_timedelta(rng.integers(0, 9000, 100), unit="s"),
                              "size": rng.standard_normal(100)})
    model = GBRFF2Classifier(3, columns=ColumnMap(), random_state=0).fit(frame, frame["size"] > 0)
    module = module_of(model, tmp_path / "m.py")
    np.testing.assert_allclose(module.scores(frame)[:, 0], model.decision_function(frame), rtol=1e-12)


@pytest.mark.parametrize(("column", "cell"), [
    ("price", "12 kg"), ("price", "1e999"), ("when", "2.13.2024 10:00"), ("named", "Foo 3, 2024"), ("clock", "25:00"),
    ("weight", np.inf), ("iso", True)])
def test_numpy_refuses_what_python_refuses(column, cell, tmp_path):
    model, table = case_of(MARKED)
    X = {name: cells.copy() for name, cells in table(3, 1).items()}
    X[column][1] = cell
    with pytest.raises(InvalidInputError):
        model.predict(X)
    with pytest.raises(ValueError, match=f"column '{column}': expected .* values, as in training, got "):
        module_of(model, tmp_path / "m.py").predict(X)


@pytest.mark.skipif(shutil.which("node") is None, reason="node not found")
def test_javascript_finds_numbers_by_name_and_reads_no_column_without_use(tmp_path):
    pandas, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    table = {"a": rng.standard_normal(100), "name": [f"person {i}" for i in range(100)], "b": rng.standard_normal(100)}
    for columns, names in ((ColumnMap(), ("a", "name", "b")), (None, ("a", "b"))):
        X = pandas.DataFrame({name: table[name] for name in names})
        model = GBRFF2Classifier(3, columns=columns, random_state=0).fit(X, table["b"] > 0)
        rffkern.export(model, tmp_path / "m.mjs", to="js")
        rows = X.to_dict("records")
        (tmp_path / "run.mjs").write_text(
            'import { scores } from "./m.mjs";\n'
            f"const rows = {json.dumps(rows)};\nlet said, short;\ntry {{ scores({{ b: 1 }}); }} "
            "catch (error) { said = error.message; }\nconst of = (row) => scores(row)[0];\n"
            "try { scores([1]); } catch (error) { short = error.message; }\n"
            "console.log(JSON.stringify([rows.map(of), rows.map((row) => of(Object.values(row))), said, short]));\n")
        done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
        by_name, by_place, said, short = json.loads(done.stdout)
        np.testing.assert_allclose(by_name, model.decision_function(X), rtol=1e-12)
        assert by_place == by_name
        assert said == 'the row has no column "a"'
        assert short == f"expected a row of {len(names)} columns, got 1"


@pytest.mark.skipif(shutil.which("node") is None, reason="node not found")
def test_javascript_takes_no_gap_for_a_zero(tmp_path):
    """JSON has null for nan, and a line of text that is cut at its commas has empty text."""
    X = np.random.default_rng(0).standard_normal((100, 2))
    model = GBRFF2Classifier(3, columns=ColumnMap(), random_state=0).fit(X, X[:, 0] > 0)
    rffkern.export(model, tmp_path / "m.mjs", to="js")
    (tmp_path / "run.mjs").write_text(
        'import { scores } from "./m.mjs";\nlet said;\n'
        'try { scores(["one", 1]); } catch (error) { said = error.message; }\n'
        'const rows = [[NaN, 1], [null, 1], [undefined, 1], ["", "1"], [" ", true]];\n'
        "console.log(JSON.stringify([rows.map((row) => scores(row)[0]), said]));\n")
    done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    found, said = json.loads(done.stdout)
    np.testing.assert_allclose(found, model.decision_function([[np.nan, 1.0]] * 5), rtol=1e-12)
    assert said == 'column "x0" must hold numbers, got one'


@pytest.mark.skipif(shutil.which("node") is None, reason="node not found")
def test_javascript_reads_text_by_all_rules(tmp_path):
    model, table = case_of(MARKED)
    X = table(60, 1)
    rffkern.export(model, tmp_path / "m.mjs", to="js")
    rows = [dict(zip(X, row, strict=True)) for row in zip(*X.values(), strict=True)]
    (tmp_path / "run.mjs").write_text(
        'import { predict } from "./m.mjs";\n'
        f"const rows = {json.dumps(rows)};\nconst of = (cells) => {{ try {{ return predict(cells); }} "
        "catch (error) { return error.message; } };\n"
        "console.log(JSON.stringify([rows.map(of), rows.map((row) => of(Object.values(row))), "
        'of({ ...rows[0], price: "12 kg" }), of({ price: 1 }), of({ ...rows[0], when: new Date(1e12), price: 3, '
        "weight: 2n, clock: null, iso: 1e9, named: '' })]));\n")
    done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    by_name, by_place, odd, absent, typed = json.loads(done.stdout)
    np.testing.assert_allclose(by_name, model.predict(X), rtol=1e-12)
    assert by_place == by_name
    assert odd == 'column "price" must hold numeric values, as in training, got 12 kg'
    assert absent == 'the row has no column "when"'
    one = {name: cells[:1].astype(object) for name, cells in X.items()}
    one |= {"when": np.array(["2001-09-09 01:46:40"], object), "price": np.array([3.0]), "weight": np.array([2.0]),
            "clock": np.array([None], object), "iso": np.array(["2001-09-09 01:46:40"], object),
            "named": np.array([None], object)}
    assert typed == pytest.approx(model.predict(one)[0], rel=1e-12)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc not found")
def test_c_says_which_cell_cannot_be_read(tmp_path):
    model, table = case_of("dates, two classes")
    X = {name: cells[:1] for name, cells in table(50, 1).items()} | {
        "moment": np.array(["2001-09-09 01:46:40"], object), "day": np.array(["2024-02-29"], object),
        "size": np.array([0.5])}
    rffkern.export(model, tmp_path / "m.c", to="c", name="ring")
    with (tmp_path / "m.c").open("a") as file:
        file.write("""
#include <stdio.h>
int main(void)
{
    ring_cell x[3] = {{"2001-09-09 01:46:40", 0}, {" 2024-02-29 ", 0}, {0, 0.5}};
    double h[1], p[2];
    printf("%d ", ring_scores(x, h));
    printf("%.17g %d ", h[0], ring_class(x));
    x[0].text = 0;
    x[0].number = 1e9;
    printf("%d %d %.17g ", ring_probabilities(x, p), ring_scores(x, h), h[0]);
    x[1].text = "29.2.2024";
    printf("%d %d %d ", ring_scores(x, h), ring_probabilities(x, p), ring_class(x));
    x[1].text = "";
    x[2].number = INFINITY;
    printf("%d\\n", ring_scores(x, h));
    return 0;
}
""")
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "m.c", "-lm", "-o", "m"],
                   cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "m"], capture_output=True, text=True, check=True).stdout.split()
    score = model.decision_function(X)[0]
    expected = [0, score, int(score > 0), 0, 0, score, 2, 2, -2, 3]
    assert [float(word) for word in done] == pytest.approx(expected, rel=1e-13)


# --- dates in databases

ZONES = ["2024-03-01", "2024-03-01 12:30", "2024-03-01T12:30:15.25", "2024-03-01 12:30:15+02", "2024-03-01 12:30:15Z",
         "1969-12-31 23:59:59.5 -05:30", "2024-02-29T00:00:00+0530", " 2000-01-01 ", "0099-12-31", None, "1709296215"]


def test_dates_of_sqlite(tmp_path):
    model, _ = case_of("dates, two classes")
    rffkern.export(model, tmp_path / "m.sql", to="sql")
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (id integer, moment text, day text, size real)")
    odd = ["2023-02-29", "2024-13-01", "tomorrow", "2024-00-10"]  # which count as missing
    connection.executemany("INSERT INTO rows VALUES (?, ?, '2024-05-06', 0.25)", enumerate(ZONES + odd))
    found = [row[-1] for row in sorted(connection.execute((tmp_path / "m.sql").read_text()).fetchall())]
    connection.close()
    moments = [*ZONES[:-1], "2024-03-01 12:30:15", *[None] * len(odd)]
    X = {"moment": np.array(moments, object), "day": np.array(["2024-05-06"] * len(moments), object),
         "size": np.full(len(moments), 0.25)}
    np.testing.assert_allclose(found, model.decision_function(X), rtol=1e-12)


def test_dates_of_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    model, _ = case_of("dates, two classes")
    rffkern.export(model, tmp_path / "m.sql", to="sql")
    text = (tmp_path / "m.sql").read_text()
    expected = model.decision_function({"moment": np.array(["2024-03-01 11:30:15.5"], object),
                                        "day": np.array(["2024-02-29"], object), "size": np.array([1.0])})[0]
    for moment in ("TIMESTAMP '2024-03-01 11:30:15.5'", "TIMESTAMPTZ '2024-03-01 12:30:15.5+01'",
                   "'2024-03-01T11:30:15.5'", "1709292615.5"):
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE rows AS SELECT 1 AS id, {moment} AS moment, DATE '2024-02-29' AS day, "
                               "1 AS size")
            assert connection.execute(text).fetchall()[0][-1] == pytest.approx(expected, rel=1e-12), moment


# --- numbers in databases

def test_text_of_sqlite_that_is_no_number_is_missing(tmp_path):
    """CAST makes 0 of it, or a number of how it begins; `.import` of a CSV file makes columns of text."""
    X = np.random.default_rng(0).standard_normal((200, 2))
    X[::10, 0] = np.nan
    model = GBRFF2Classifier(5, columns=ColumnMap(), random_state=0).fit(X, X[:, 1] > 0)
    rffkern.export(model, tmp_path / "m.sql", to="sql")
    cells = ["", " ", "NA", "2,38", "$6", "12 kg", None, "nan", "1.5", " -2e-1 ", 3, 0.25, "true", "false"]
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (id integer, x0, x1 text)")
    connection.executemany("INSERT INTO rows VALUES (?, ?, '0.5')", enumerate(cells))
    found = [row[-1] for row in sorted(connection.execute((tmp_path / "m.sql").read_text()).fetchall())]
    connection.close()
    numbers = np.array([np.nan] * 8 + [1.5, -0.2, 3, 0.25, 1, 0])
    expected = model.decision_function(np.column_stack([numbers, np.full(len(cells), 0.5)]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_numbers_of_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    X = np.random.default_rng(0).standard_normal((200, 1))
    X[::10, 0] = np.nan
    model = GBRFF2Classifier(5, columns=ColumnMap(), random_state=0).fit(X, X[:, 0] > 0)
    rffkern.export(model, tmp_path / "m.sql", to="sql")
    for cell, number in {"NULL": np.nan, "'nan'::double": np.nan, "''": np.nan, "1.5::float": 1.5, "TRUE": 1,
                         "0.25::decimal(9, 4)": 0.25, "-7::bigint": -7, "1e-300::double": 1e-300}.items():
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE rows AS SELECT 1 AS id, {cell} AS x0")
            score = connection.execute((tmp_path / "m.sql").read_text()).fetchall()[0][-1]
        assert score == pytest.approx(model.decision_function([[number]])[0], rel=1e-12), cell


# --- ONNX

def test_onnx_inputs_have_names_of_columns(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    words = np.array(["a", "b", "c"], object)[rng.integers(0, 3, 200)]
    table = {"label": words, "concat_1": rng.standard_normal(200), "constant_0": rng.permutation(words),
             "": rng.standard_normal(200)}
    model = GBRFF2Classifier(5, columns=ColumnMap(), random_state=0).fit(table, words == "a")
    rffkern.export(model, tmp_path / "m.onnx", to="onnx", precision="single")
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    inputs = {given.name: (given.type, given.shape) for given in session.get_inputs()}
    assert inputs == {"label_": ("tensor(string)", ["rows", 1]), "concat_1": ("tensor(float)", ["rows", 1]),
                      "constant_0": ("tensor(string)", ["rows", 1]), "_": ("tensor(float)", ["rows", 1])}
    for n_rows in (0, 1, 200):
        feed = {name: column[:n_rows, None] if column.dtype == object else column[:n_rows, None].astype(np.float32)
                for name, column in zip(inputs, table.values(), strict=True)}
        scores = session.run(["scores"], feed)[0][:, 0]
        np.testing.assert_allclose(scores, model.decision_function(table)[:n_rows], atol=1e-5)


# --- texts with a meaning

@pytest.mark.parametrize("levels", [("a", "b"), ("0", "1"), ("False", "True"), ("1", "2", "x"), ("None", "True"),
                                    ("1.5", "10"), ("no", "yes")], ids=" ".join)
def test_lists_of_texts_agree_with_python(levels):
    column = Column(Reading(CATEGORY, "raw"), levels)
    for text, place in column.texts().items():
        level = known_level(text, levels)
        assert level is None if math.isnan(place) else level == levels[int(place)]
    for word in [*MISSING, *map(str.upper, MISSING)]:
        assert word in column.texts()


def test_characters_that_a_target_has_not(tmp_path):
    table = {"word": np.array(["re\0d", "blue"] * 50, object), "size": np.arange(100.0)}
    model = GBRFF2Classifier(2, columns=ColumnMap(), random_state=0).fit(table, table["size"] > 50)
    for to in ("c", "sql"):
        with pytest.raises(InvalidInputError, match=r"a level of column 'word', 're\\x00d', has a character that no"):
            rffkern.export(model, tmp_path / "m", to=to)
    assert module_of(model, tmp_path / "m.py").predict(table).tolist() == model.predict(table).tolist()


@pytest.mark.parametrize("engine", ["sqlite3", "duckdb"])
def test_blanks_around_texts_in_sql(engine, tmp_path):
    connect = pytest.importorskip(engine).connect
    words = np.array(["a", "\u3000b\u2028"] * 50, object)
    model = GBRFF2Classifier(2, columns=ColumnMap(), random_state=0).fit({"word": words}, words == "a")
    rffkern.export(model, tmp_path / "m.sql", to="sql")
    blanks = "".join(filter(str.isspace, map(chr, range(0x110000))))
    connection = connect(":memory:")
    connection.execute("CREATE TABLE rows (id integer, word varchar)")
    for i, word in enumerate(["a", words[1], f"{blanks}b{blanks}"]):
        connection.execute("INSERT INTO rows VALUES (?, ?)", (i, word))
    statement = (tmp_path / "m.sql").read_bytes().decode()  # with its carriage return
    labels = [row[1] for row in sorted(connection.execute(statement).fetchall())]
    connection.close()
    assert labels == [True, False, False]


# --- many columns and levels in SQL

def test_sqlite_joins_more_tables_of_levels_than_it_can_at_once(tmp_path):
    """It joins 64 tables at most, and needs an index for each."""
    rng = np.random.default_rng(0)
    table = {f"c{j}": np.array(["a", "b", "c"], object)[rng.integers(0, 3, 300)] for j in range(120)}
    model = GBRFF2Classifier(3, columns=ColumnMap(), random_state=0).fit(table, table["c119"] == "a")
    rffkern.export(model, tmp_path / "m.sql", to="sql")
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE rows (id integer, {', '.join(f'{name} text' for name in table)})")
    rows = [(i, *row) for i, row in enumerate(zip(*table.values(), strict=True))]
    connection.executemany(f"INSERT INTO rows VALUES (?{', ?' * 120})", rows)
    text = (tmp_path / "m.sql").read_text()
    scores = [row[-1] for row in sorted(connection.execute(text).fetchall())]
    plan = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + text) if "rff_levels" in row[3]]
    connection.close()
    np.testing.assert_allclose(scores, model.decision_function(table), rtol=1e-12)
    assert sum("AUTOMATIC" in step for step in plan) == 120
