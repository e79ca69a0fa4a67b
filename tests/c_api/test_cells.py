"""Rows of cells in C: words, dates, numbers as text and missing values, against Python at one row after the other."""

import ctypes
import datetime
import json
import pathlib
import re
import struct
import subprocess

import numpy as np
import pytest
from helpers.c_cells import CELL, OK, ROWS, WORDS, CellModel, Info
from helpers.c_reader import SANITIZERS, build, compiler

import rffkern
from rffkern import ColumnMap, FourierBoostingClassifier, FourierBoostingRegressor, GBRFF2Classifier, InvalidInputError
from rffkern._column_map.cells import level_text

pytestmark = [pytest.mark.skipif(compiler() is None, reason="there is no C compiler: set CC"),
              pytest.mark.filterwarnings("ignore::rffkern.errors.ColumnWarning",
                                         "ignore::rffkern.errors.DataConversionWarning")]

N_ROWS = 300


def some_table(rng):
    """Columns of every kind and format, some of them with missing values."""
    n, x = N_ROWS, rng.standard_normal(N_ROWS)
    pick = lambda words: [words[k] for k in rng.integers(len(words), size=n)]
    whole = lambda low, high: rng.integers(low, high, n).tolist()
    holes = lambda values: [None if gone else value for gone, value in zip(rng.random(n) < 0.1, values, strict=True)]
    return {
        "city": holes(pick(["Bern", "Zürich", "東京", "x y", "ab\tc", "7", "007", "1.5", "Ω", "\U0001f600"])),
        "many": holes([f"w{k}" for k in np.minimum(rng.geometric(0.03, n), 60)]),
        "code": pick(["1", "2", "3", "10", "0.5", "1e+16"]), "yes": holes(pick(["yes", "no"])),
        "flag": pick(["0", "1", "x"]), "constant": ["a"] * n,
        "day": holes([str(np.datetime64("2024-01-01") + k) for k in whole(0, 900)]),
        "dmy": [f"{d}/{m}/{y}" for d, m, y in zip(whole(1, 28), whole(1, 13), whole(1990, 2030), strict=True)],
        "mdy": [f"{m}/{d}/{y:02d} {h}:05 PM" for m, d, y, h in zip(whole(1, 13), whole(1, 29), whole(0, 30),
                                                                  whole(1, 12), strict=True)],
        "clock": [f"{h}:{m:02d}" for h, m in zip(whole(0, 24), whole(0, 60), strict=True)],
        "kg": holes([f"{value:.3f} kg" for value in 10 * x + 50]), "usd": [f"${value:,.2f}" for value in 1e5 * x],
        "eur": [f"{value:,.2f} €".translate(str.maketrans(",.", ".,")) for value in 1e4 * x],
        "ohm": [f"{value:.1f} Ω" for value in 10 * x], "comma": [f"{value:.3f}".replace(".", ",") for value in x],
        "number": holes((x + 0.1 * rng.standard_normal(n)).tolist()), "text": [repr(3 * value) for value in x.tolist()],
        "date": [*(np.datetime64("2020-01-01", "s") + rng.integers(0, 10**8, n))],
    }


# Cells that some column reads, and many that it does not; some are very long.
TEXTS = [*json.loads(pathlib.Path(__file__).with_name("texts.json").read_text()), "9" * 400 + ".5", "a" * 100_000,
         "\u00e9" * 300]
NUMBERS = [0.0, -0.0, 1.0, 2.0, 3.0, 10.0, 0.5, 1e16, -1e16, 1.5, 7.0, 2.0**53, 1e300, 1e308, np.inf, np.nan, 0.1, 1e-7,
           5e-324]
CHARACTERS = [*"0123456789.,-+ eE%$€'():/kgKGapm\u00a0\u2212\u2013\u5e74\u6708\u65e5\u00b2zZtT"]


def some_cell(rng, seen):
    """A cell that a column may have seen in training, is made of such a one, or is anything."""
    of = lambda cells: cells[rng.integers(len(cells))]
    kind = rng.integers(12)
    if kind == 0:
        return None
    if kind < 3:
        return of([*NUMBERS, float(rng.normal())])
    if kind == 3:
        return np.datetime64(int(rng.integers(-10**10, 10**10)), "s")
    if kind < 7:
        return of(TEXTS)
    if kind == 7:
        return "".join(of(CHARACTERS) for _ in range(rng.integers(1, 9)))
    if kind < 10:
        text = [*of(seen)[:80]]
        for _ in range(rng.integers(1, 3)):
            place = int(rng.integers(len(text) + 1))
            text[place : place + int(rng.integers(2))] = of(CHARACTERS)
        return "".join(text) if rng.random() < 0.7 else "".join(text).upper()
    return of(seen)


@pytest.fixture(scope="module")
def table():
    return some_table(np.random.default_rng(0))


@pytest.fixture(scope="module")
def models(table):
    """Models by what they take of the columns: parts of dates, all levels, target statistics, rare levels, missing."""
    x = np.array([float(text) for text in table["text"]])
    label = np.array(["no", "perhaps", "yes"])[np.digitize(x + (np.array(table["city"]) == "Bern"), [-1, 1.5])]
    forms = ("raw", "standard", "bounded", "rank", "bins")
    return {
        "dates": FourierBoostingClassifier(15, n_bags=2, random_state=0, columns=ColumnMap(
            ("standard", "rank"), date_parts=True, max_levels=12, categorical_features=["code"])).fit(table, label),
        "forms": GBRFF2Classifier(8, random_state=0, columns=ColumnMap(
            forms, categorical_features=["code"], n_knots=9, n_bins=4, date_parts=True, min_level_rows=1,
            max_levels=100)).fit(table, label),
        "targets": FourierBoostingRegressor(12, n_bags=1, random_state=0, columns=ColumnMap(
            max_levels=3, min_level_rows=30, categorical_features=["code"])).fit(table, x)}


def in_python(model, row, names):
    """Scores of a row, or the message that refuses it."""
    one = {name: np.array([value]) if isinstance(value, np.datetime64) else [value]
           for name, value in zip(names, row, strict=True)}
    try:
        return np.ravel(model.decision_function(one) if hasattr(model, "classes_") else model.predict(one))
    except InvalidInputError as error:
        return str(error)


@pytest.mark.parametrize("name", ["dates", "forms", "targets"])
def test_training_rows(library, models, table, name):
    """All at once: scores, labels and probabilities."""
    model, rows = models[name], [*zip(*table.values(), strict=True)]
    with CellModel(library, rffkern.dumps(model)) as in_c:
        if name == "targets":
            code, found, *_ = in_c(rows, 1)
            assert code == OK
            np.testing.assert_array_equal(found[:, 0], model.predict(table))
            return
        np.testing.assert_array_equal(in_c(rows, 3)[1], model.decision_function(table))
        labels = model.classes_[in_c(rows, 1, "predict")[1][:, 0].astype(int)]
        np.testing.assert_array_equal(labels, model.predict(table))
        np.testing.assert_allclose(in_c(rows, 3, "predict_proba")[1], model.predict_proba(table), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["dates", "forms", "targets"])
@pytest.mark.parametrize("n_rows", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_any_cell_is_read_as_in_python(library, models, table, name, n_rows):
    """The same bits, or a refusal that names the same column."""
    rng, model, names = np.random.default_rng(len(name)), models[name], [*table]
    seen = [value for column in table.values() for value in column[:40] if isinstance(value, str)]
    n_refused = 0
    with CellModel(library, rffkern.dumps(model)) as in_c:
        first = [table[each][0] for each in names]
        for _ in range(n_rows):
            row = [table[each][k] for each, k in zip(names, rng.integers(N_ROWS, size=len(names)), strict=True)]
            for j in rng.integers(len(names), size=rng.integers(4)):
                row[j] = some_cell(rng, seen)
            expected = in_python(model, row, names)
            code, found, _, column = in_c([row], 1 if name == "targets" else 3)
            if isinstance(expected, str):
                n_refused += 1
                j = names.index(re.search(r"column '(\w+)'", expected).group(1))
                alone = [*first[:j], row[j], *first[j + 1 :]]
                code, _, _, column = in_c([alone], 3)
                assert (code, column) == (ROWS if "finite" in expected else CELL, j), (row[j], expected)
            else:
                assert code == OK, (names[column], row[column])
                np.testing.assert_array_equal(found[0], expected, err_msg=repr(row))
    assert 0 < n_refused < n_rows


def test_durations(library):
    """Numbers are seconds, and texts what they are in exported files, but for bytes of 0, which these cannot have."""
    cells = [f"{k // 60}h {k % 60}m" for k in range(90)]
    fitted = ColumnMap(("raw",)).fit({"took": cells})
    assert [column.format for column in fitted._fitted.columns] == ["duration"]
    with CellModel(library, rffkern.dumps(fitted)) as in_c:
        for rows in ([[60.0 * k] for k in range(90)], [[text] for text in cells]):
            np.testing.assert_array_equal(in_c(rows, 1)[1], fitted.transform({"took": cells}))
        assert {in_c([[text]], 1)[0] for text in ("1h\x00", "1h\x00m", "1 hat")} == {CELL}


def test_units_of_any_script(library):
    """Upper and lower case mean the same, also of a sigma at the end."""
    for lower, upper in (("\u0570\u0561\u0566", "\u0540\u0531\u0536"), ("k\u010d", "K\u010c"),
                         ("\u03bf\u03b4\u03bf\u03c2", "\u039f\u0394\u039f\u03a3")):
        cells = [f"{k} {lower}" for k in range(60)]
        fitted = ColumnMap(("raw",)).fit({"x": cells})
        with CellModel(library, rffkern.dumps(fitted)) as in_c:
            for text in (f"5 {upper}", f"5 {lower}", f"5 {upper[:-1]}"):
                code, found, *_ = in_c([[text]], 1)
                try:
                    np.testing.assert_array_equal(found, fitted.transform({"x": [text]}))
                except InvalidInputError:
                    assert code == CELL


@pytest.mark.slow
def test_every_text_in_every_column(library, models, table):
    """What a text means, as far as the mapped columns tell."""
    fitted, names = models["forms"].column_map_, [*table]
    with CellModel(library, rffkern.dumps(fitted)) as in_c:
        for j, name in enumerate(names):
            rows, known = [], []
            for text in TEXTS:
                row = [None] * len(names)
                row[j] = text
                try:
                    known.append(fitted.transform({each: [value] for each, value in zip(names, row, strict=True)})[0])
                    rows.append(row)
                except InvalidInputError:
                    assert in_c([row], 1)[0] in (ROWS, CELL), (name, text)
            code, found, row, _ = in_c(rows, len(known[0]))
            assert code == OK, (name, rows[row][j])
            np.testing.assert_array_equal(found, known)


@pytest.mark.parametrize("name", ["gbrff2_with_columns", "gbrff2_with_choice", "column_map", "column_map_filled"])
def test_frozen_models_of_tables(library, name):
    """Of the rows of `tools/fixtures.py`, with words, dates and missing values."""
    path = pathlib.Path(__file__).parents[1] / "data" / "1" / f"{name}.npz"
    stored, model = json.loads(path.with_suffix(".json").read_text()), rffkern.load(path)
    rows = np.array(stored["rows"])
    words = np.array(["red", "gr\u00fcn", "blue"])[np.digitize(rows[:, 1], [-50, 50])]
    days = np.datetime64("2024-02-28", "s") + np.round(rows[:, 2] * 1e9).astype("m8[s]")
    columns = [np.where(rows[:, 0] > 1, np.nan, rows[:, 0]), words, days, rows[:, 1]]
    columns += [rows[:, 0]] if name.endswith("filled") else []
    table = dict(zip(("length", "colour", "day", "width", "near"), columns, strict=False))
    expected = (model.transform if name.startswith("column_map") else model.decision_function)(table)
    with CellModel(library, path.read_bytes()) as in_c:
        code, found, *_ = in_c([*zip(*columns, strict=True)], expected.shape[1])
    assert code == OK
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found.ravel(), stored["answers"], rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def reviews():
    """A map of free text for two targets, of two dates and of names with counts, and its table."""
    rng, n = np.random.default_rng(2), 400
    words = ["bright", "gloomy", "Straße", "日本語", "ΟΔΟΣ", "İstanbul", "x_y", "²", "don't", "\U0001d7d8", "Ǆ"]
    texts = [" ".join(words[k] for k in rng.integers(len(words), size=6)) + f" no {i}" for i in range(n)]
    start = np.datetime64("2021-03-01", "s") + rng.integers(0, 10**7, n)
    table = {"start": [*start], "text": texts, "end": [*(start + rng.integers(0, 10**6, n))],
             "number": rng.permutation(n).astype(float)}
    y = np.array([text.count("bright") - text.count("日本語") for text in texts])
    columns = ColumnMap(date_parts="differences", max_levels=4)
    return columns.fit(table, np.column_stack([y, [len(text) for text in texts]])), table


def test_free_text_and_differences(library, reviews):
    """The bits of Python for words, letters and cases of many scripts, lone marks, and texts longer than are read."""
    fitted, table = reviews
    assert {"text", "difference"} <= {*fitted.forms_.tolist()}
    rng = np.random.default_rng(3)
    letters = [*map(chr, [*range(1, 0x250), *range(0x370, 0x590), *range(0x1E00, 0x2000), *range(0x2C00, 0x2DFF), 0x307,
                          0x3A3, 0x130, 0x10400, 0xFFFD, 0x4E00, 0x1D49C]), *" ΣσΣ.'\u0300" * 40]
    texts = ["".join(letters[k] for k in rng.integers(len(letters), size=size)) for size in rng.integers(1, 60, 300)]
    texts += ["bright " * 4000, "x" * 5000, "ΑΣ" * 3000, "İ" * 4100, "a b " * 1024 + "ΑΣ", "!", "n/a", "", "7", "7.0",
              "1e3", "no"]
    dates = [None, np.datetime64("2021-03-01"), "2021-03-02 12:00", "1969-12-31T23:59:59.5Z",
             np.datetime64("9999-12-31")]
    rows = [(dates[k % 5], text, dates[k // 5 % 5], 1.0) for k, text in enumerate(texts)]
    rows += [(dates[1], value, dates[2], 1.0) for value in (7.0, 0.5, 1e16, -0.0, None)]
    rows += [*zip(*table.values(), strict=True)]
    n_out = fitted.transform(table).shape[1]
    with CellModel(library, rffkern.dumps(fitted)) as in_c:
        code, found, *_ = in_c(rows, n_out)
        assert code == OK
        assert in_c([(dates[1], dates[1], dates[1], 1.0)], n_out)[0::3] == (CELL, 1)
    for row, values in zip(rows, found, strict=True):
        one = {name: np.array([value]) if isinstance(value, np.datetime64) else [value]
               for name, value in zip(table, row, strict=True)}
        np.testing.assert_array_equal(values, fitted.transform(one)[0], err_msg=repr(row[1])[:99])


def test_models_of_text_and_differences(library, reviews):
    """Scores and labels, and the same of capsules, many rows at once."""
    _, table = reviews
    y = np.array(["bright" in text for text in table["text"]]) ^ (np.array(table["number"]) > 300)
    model = FourierBoostingClassifier(8, n_bags=1, random_state=0, kernel_ridge=False,
                                      columns=ColumnMap(date_parts="differences")).fit(table, y)
    assert {"text", "difference"} <= {*model.column_map_.forms_.tolist()}
    expected = model.decision_function(table)
    with CellModel(library, rffkern.dumps(model)) as in_c:
        np.testing.assert_array_equal(in_c([*zip(*table.values(), strict=True)], 1)[1][:, 0], expected.ravel())


def test_missing_values_and_new_levels(library):
    """A level that training did not have is rare where there were rare ones, and else missing, imputed from others."""
    rng = np.random.default_rng(1)
    near = rng.integers(0, 3, 400)
    table = {"near": near.astype(float), "word": [None if k < 40 else "abc"[near[k]] for k in range(400)],
             "rare": ["common"] * 398 + ["once", "twice"]}
    fitted = ColumnMap().fit(table)
    assert any(column.imputations for column in fitted._fitted.columns)
    rows = [(2.0, None, "new"), (2.0, "new", "once"), (0.0, "c", None), (None, None, None), (1.0, "a", "common")]
    with CellModel(library, rffkern.dumps(fitted)) as in_c:
        code, found, *_ = in_c(rows, fitted.transform(table).shape[1])
    columns = zip(*rows, strict=True)
    assert code == OK
    np.testing.assert_array_equal(found, fitted.transform({name: [*values] for name, values
                                                           in zip(table, columns, strict=True)}))
    np.testing.assert_array_equal(found[0, 1:-1], found[1, 1:-1])


def test_refusals_name_the_cell(library, models, table):
    rows = [list(row) for row in zip(*table.values(), strict=True)][:200]
    names, model = [*table], models["dates"]
    with CellModel(library, rffkern.dumps(model)) as in_c:
        for name, value, code in [("kg", "5 lb", CELL), ("kg", "\x00", CELL), ("number", b"\xff", CELL),
                                  ("day", 5.0, CELL),
                                  ("number", np.datetime64("2024-01-01"), CELL), ("city", b"Z\xfcrich", CELL),
                                  ("number", np.inf, ROWS), ("number", 1e308, ROWS), ("text", "1e999", ROWS),
                                  ("constant", np.inf, ROWS), ("city", np.datetime64("2024-01-01"), CELL)]:
            changed = [*map(list, rows)]
            changed[170][names.index(name)] = value
            found, out, row, column = in_c(changed, 3)
            assert (found, row, names[column]) == (code, 170, name)
            assert np.isnan(out[170:]).all()
        changed[170][names.index(name)] = b""
        changed[171][names.index("constant")] = b"\xff"  # a column that is not used
        assert in_c(changed, 3)[0] == OK


def test_columns_are_described(library, models, table):
    with CellModel(library, rffkern.dumps(models["dates"], metadata={"target": "größe"})) as in_c:
        for j, (name, fitted) in enumerate(zip(table, models["dates"].column_map_._fitted.columns, strict=True)):
            info, levels = in_c.column(j)
            assert (info.name.decode(), in_c.find(name)) == (name, j)
            assert (("numeric", "category", "date", "empty")[info.kind], bool(info.is_used)) == (fitted.kind,
                                                                                                bool(fitted.forms))
            assert (info.format.decode(), info.dropped.decode()) == (fitted.format, fitted.dropped)
            assert (bool(info.has_rare_levels), levels) == (fitted.has_rare, [*fitted.levels])
        assert in_c.find("other") is in_c.find("") is None


def test_rows_of_numbers_are_told_what_to_call(library, models):
    """The sentence names the column, with or without column names; the target is told too."""
    rows = np.array([["a", 1.0], ["b", 2.0]] * 20, dtype=object)
    unnamed = GBRFF2Classifier(2, random_state=0, columns=ColumnMap(min_level_rows=1)).fit(rows, [0, 1] * 20)
    numbers = GBRFF2Classifier(2, random_state=0, columns=None).fit(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1])
    for model, words, n_features in ((models["dates"], "column city holds categories: ", 18),
                                     (unnamed, "column 0 holds categories: ", 2), (numbers, None, 2)):
        with CellModel(library, rffkern.dumps(model, metadata={"target": "größe"})) as in_c:
            info = Info()
            library.rff_describe(in_c._model, ctypes.byref(info), ctypes.c_size_t(ctypes.sizeof(info)))
            assert info.target.decode() == "größe"
            out = np.zeros(3)
            code = library.rff_score(in_c._model, 8, np.ones(n_features).ctypes.data_as(ctypes.c_void_p),
                                     ctypes.c_size_t(1), out.ctypes.data_as(ctypes.c_void_p),
                                     in_c._scratch.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(in_c._size))
            if words is None:
                assert (code, info.takes_words) == (OK, None)
                np.testing.assert_array_equal(in_c([(1.0, 1.0)], 1)[1][0], model.decision_function([[1.0, 1.0]]))
                assert in_c([(1.0, None)], 1)[0] == ROWS
                assert in_c([(1.0, "1")], 1)[0] == CELL
            else:
                assert code == WORDS
                assert info.takes_words.decode().startswith(words)


def test_dates_of_python(library):
    """Seconds of dates are those of their text."""
    days = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=k, hours=k) for k in range(60)]
    fitted = ColumnMap(("standard", "rank"), date_parts=True).fit({"day": days})
    with CellModel(library, rffkern.dumps(fitted)) as in_c:
        found = in_c([(np.datetime64(day),) for day in days], fitted.transform({"day": days}).shape[1])[1]
        np.testing.assert_array_equal(found, fitted.transform({"day": days}))
        np.testing.assert_array_equal(in_c([(str(day),) for day in days], found.shape[1])[1], found)


DECIMALS = r"""
#include <stdio.h>
#include "rffscore.c"
int main(void)
{
    char line[2000], text[RFF_SHORTEST_ROOM + 1];
    double value;
    while (fgets(line, sizeof line, stdin)) {
        if (!rff_read_decimal(line, strlen(line) - 1, &value)) value = -1;
        text[rff_write_number(value, text)] = 0;
        printf("%a %s\n", value, text);
    }
    return 0;
}
"""


@pytest.mark.slow
def test_decimal_numbers_are_rounded_as_in_python(tmp_path):
    """Half way between two doubles and next to it, at every magnitude; written with the fewest digits."""
    rng = np.random.default_rng(0)
    texts = ["0", ".5", "5.", "1e5", "1E-5", "1e400", "1e-400", "9007199254740993", "5e-324", "2.4703282292062327e-324",
             "2.4703282292062328e-324", "1.7976931348623158e308", "1.7976931348623159e308", "1e22", "1e23", "0.0001",
             "0.00001", "1e16", "0." + "0" * 400 + "1", "1" + "0" * 309, "1e", "e5", ".", "", "1e+", "1.2.3",
             "-1", " 1"]
    for bits in rng.integers(0, 0x7FF << 52, 1500):
        value, after = struct.unpack("<2d", struct.pack("<2q", bits, bits + 1))
        texts += [repr(value), f"{value:.17e}", f"{value:.14g}"]
        if np.isfinite(after):
            numerator, denominator = (value / 2).as_integer_ratio()
            more, below = (after / 2).as_integer_ratio()
            shift = 1100 if below > 1 or denominator > 1 else 0
            half = numerator * 10**shift // denominator + more * 10**shift // below
            texts += [f"{half}e-{shift}", f"{half + 1}e-{shift}", f"{half}0000000e-{shift + 7}"]
    texts += [str(2.0**k) for k in range(-1074, 1024, 5)]
    texts = [text for text in texts if len(text) < 1990]
    (tmp_path / "decimals.c").write_text(DECIMALS)
    program = build(tmp_path, ("-DRFF_READER_ONLY", *SANITIZERS), tmp_path / "decimals.c")
    done = subprocess.run([program], input="".join(f"{text}\n" for text in texts), text=True, capture_output=True,
                          check=True)
    for text, line in zip(texts, done.stdout.splitlines(), strict=True):
        is_number = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text)
        value = float(text) if is_number else -1.0
        found, written = line.split()
        assert (float.fromhex(found), written) == (value, level_text(value)), text
