"""How rows differ from the training rows: counts against loops, shifts, and what a summary says."""

import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern import (
    ColumnMap,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    InvalidInputError,
    NotFittedError,
    RowBlocks,
    dumps,
    loads,
)
from rffkern._column_map.drift import MOST_LEVELS, ColumnReference, Reference, summary
from rffkern.errors import ColumnWarning

N = 3000


def table(n=N, seed=0, **changed):
    """Columns of all kinds."""
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal(n), "gaps": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(1, n)),
            "word": rng.choice(["red", "blue", "green"], n),
            "day": np.datetime64("2024-01-01") + rng.integers(0, 90, n),
            "flag": rng.random(n) < 0.3, "few": rng.integers(0, 3, n), "same": np.full(n, 7.0),
            "zero": np.where(rng.random(n) < 0.6, 0.0, rng.random(n))} | {
                name: change(n, rng) for name, change in changed.items()}


@pytest.fixture(scope="module")
def model():
    rows = table()
    return FourierBoostingRegressor(5, n_bags=1, kernel_ridge=False, random_state=0).fit(rows, rows["x"])


def of(report, name):
    return next(column for column in report["columns"] if column["column"] == name)


@pytest.mark.parametrize("n", [1, 20, 200, 3000, 20_000])
def test_rows_like_those_of_training_have_no_shift(model, n):
    report = model.drift(table(n, seed=1))
    assert (report["rows"], report["training_rows"]) == (n, N)
    assert [column["column"] for column in report["columns"]] == ["x", "gaps", "word", "day", "flag", "few", "zero"]
    assert report["largest_shift"] < 0.2
    assert summary(report) == ""
    assert json.loads(json.dumps(report)) == report


@pytest.mark.parametrize("n", [10, 30, 100, 400])
def test_a_row_outside_the_range_is_no_change(model, n):
    """Of 100 rows one is outside the range of 3,000 by chance in one of five tables of five numbers."""
    assert sum(summary(model.drift(table(n, seed))) != "" for seed in range(2, 42)) <= 2
    moved = table(n, seed=1, x=lambda n, rng: np.append(rng.standard_normal(n - n // 10), np.full(n // 10, 50.0)))
    assert ("outside the range" in summary(model.drift(moved))) == (n > 10)  # a single one of ten is chance
    assert "outside the range" in summary(model.drift({name: each[:1] for name, each in (
        moved | {"x": np.full(n, 50.0)}).items()}))


def test_what_is_new_is_found(model):
    report = model.drift(table(
        4000, 1, x=lambda n, rng: 1000 * rng.standard_normal(n), word=lambda n, rng: rng.choice(["red", "new"], n),
        gaps=lambda n, rng: np.where(rng.random(n) < 0.5, np.nan, rng.exponential(1, n)),
        day=lambda n, rng: np.datetime64("2025-01-01") + rng.integers(0, 90, n)))
    assert of(report, "day")["outside"] == 1
    assert of(report, "x")["outside"] > 0.9
    low, high = of(report, "x")["range"]
    assert (low, high) == (table()["x"].min(), table()["x"].max())
    word = of(report, "word")
    assert word["new_levels"].keys() == {"new"}
    assert word["new"] == word["new_levels"]["new"] / 4000 == pytest.approx(0.5, abs=0.03)
    assert of(report, "gaps")["missing"] == pytest.approx(0.5, abs=0.05)
    assert of(report, "gaps")["missing_in_training"] == pytest.approx(0.1, abs=0.02)
    assert report["largest_shift_of"] == max(report["columns"], key=lambda column: column["shift"])["column"]
    assert min(of(report, name)["shift"] for name in ("day", "x", "word", "gaps")) > 0.25
    assert max(of(report, name)["shift"] for name in ("few", "flag", "zero")) < 0.05
    line = summary(report)
    assert "\n" not in line
    for text in ("rows differ from training: ", "'word' (", "new levels, 'new', shift ", "'day' (100.0% outside",
                 "% missing, "):
        assert text in line


def test_a_summary_names_some_columns():
    rows = {f"c{j}": np.arange(50.0) + j * np.sin(np.arange(50.0)) for j in range(20)}
    model = FourierBoostingRegressor(2, n_bags=1, kernel_ridge=False).fit(rows, rows["c0"])
    line = summary(model.drift({name: 1000 + values for name, values in rows.items()}))
    assert line.count("outside") == 6
    assert line.endswith(" and 14 more columns")


def test_forms_of_tables_and_files(model):
    pandas = pytest.importorskip("pandas")
    rows = table(500, 2, word=lambda n, rng: rng.choice(["red", "new"], n))
    report = model.drift(rows)
    assert model.drift(pandas.DataFrame(rows)) == report
    halves = [{name: values[part] for name, values in rows.items()} for part in (slice(200), slice(200, None))]
    assert model.drift(RowBlocks(lambda: iter(halves))) == report
    loaded = loads(dumps(model))
    assert loaded.drift(rows) == report
    assert dumps(loaded) == dumps(model)
    assert pickle.loads(pickle.dumps(model)).drift(rows) == report


def test_booleans_and_numbers_as_categories():
    rng = np.random.default_rng(0)
    rows = {"flag": rng.random(200) < 0.5, "zip": rng.integers(100, 104, 200), "x": rng.random(200)}
    model = FourierBoostingRegressor(2, n_bags=1, kernel_ridge=False, columns=ColumnMap(categorical_features=["zip"]))
    model.fit(rows, rows["x"])
    report = model.drift(rows | {"flag": rows["flag"].astype(int), "zip": rows["zip"].astype(float)})
    assert [column["n_new_levels"] for column in report["columns"]] == [0, 0, 0]
    assert report["largest_shift"] == 0
    assert of(model.drift(rows | {"zip": rows["zip"] + 1}), "zip")["new_levels"].keys() == {"104"}


def test_words_of_booleans_are_no_new_levels():
    """With gaps, as text; rows that training has not seen differ in nothing."""
    rng = np.random.default_rng(0)
    words = rng.choice(np.array(["YES", "NO", ""], object), 600, p=[0.6, 0.3, 0.1])
    X, y = {"a": words, "b": rng.standard_normal(600)}, rng.standard_normal(600)
    model = FourierBoostingRegressor(2, n_bags=1, kernel_ridge=False)
    model.fit({key: each[:300] for key, each in X.items()}, y[:300])
    column = of(model.drift({key: each[300:] for key, each in X.items()}), "a")
    assert column["n_new_levels"] == 0
    assert column["new"] == 0
    assert column["shift"] < 0.1
    assert column["missing"] == pytest.approx(np.mean(words[300:] == ""))


def test_many_levels():
    """The most frequent are kept; what the others are is not known."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(1000)])[np.minimum(rng.geometric(0.005, 20_000), 999)]
    model = FourierBoostingRegressor(2, n_bags=1, kernel_ridge=False)
    model.fit({"w": words, "x": np.arange(20_000.0)}, words == "w1")
    reference = Reference.from_json(model.column_map_._reference, 2).columns[0]
    assert len(reference.levels) == MOST_LEVELS
    assert len(reference.shares) == MOST_LEVELS + 1
    assert not reference.is_complete
    assert sum(reference.shares) == pytest.approx(1)
    report = model.drift({"w": np.where(np.arange(20_000) % 2 == 0, words, "other"), "x": np.arange(20_000.0)})
    assert of(report, "w")["new"] == 0
    assert of(report, "w")["shift"] > 0.25


def test_levels_that_no_file_can_hold():
    words = np.array(["a", "b", "\x07"] * 100 + ["\ud800"])
    model = FourierBoostingRegressor(2, n_bags=1, kernel_ridge=False,
                                     columns=ColumnMap(min_level_rows=150)).fit(
                                         {"w": words, "x": np.arange(301.0)}, np.arange(301.0))
    assert loads(dumps(model)).drift({"w": words, "x": np.arange(301.0)})["columns"][0]["shift"] == 0


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, -3.0, math.nan, 7.25]), min_size=3, max_size=60),
       st.lists(st.sampled_from([0.0, 1.0, -9.0, math.nan, 7.25, 8.0]), min_size=1, max_size=40))
def test_counts_of_numbers_are_those_of_a_loop(trained, rows):
    values = [value for value in trained if value == value]
    if len({*values}) < 2:
        return
    model = FourierBoostingRegressor(1, n_bags=1, kernel_ridge=False).fit(
        {"a": np.array(trained), "x": np.arange(float(len(trained)))}, np.arange(float(len(trained))))
    found = of(model.drift({"a": np.array(rows), "x": np.zeros(len(rows))}), "a")
    present = [value for value in rows if value == value]
    assert found["missing"] == (len(rows) - len(present)) / len(rows)
    assert found["outside"] == sum(not min(values) <= value <= max(values) for value in present) / len(rows)
    reference = Reference.from_json(model.column_map_._reference, 2).columns[0]
    bins = [next((k for k, edge in enumerate(reference.edges) if value <= edge), len(reference.edges))
            for value in present]
    expected = [*(np.array(reference.shares) * (1 - reference.missing)), reference.missing]
    counts = [bins.count(k) for k in range(len(reference.shares))] + [len(rows) - len(present)]
    pairs = [(max(e, 1e-4), count) for e, count in zip(expected, counts, strict=True) if e > 0 or count]
    shares = [(e, (count + len(pairs) * e) / (len(rows) + len(pairs))) for e, count in pairs]
    shift = sum((a - e) * math.log(a / e) for e, a in shares)
    shift -= (len(pairs) - 1) * (1 / len(rows) + 1 / len(trained))
    assert found["shift"] == pytest.approx(max(shift, 0), abs=1e-12)
    shares = [sum(next((k for k, edge in enumerate(reference.edges) if value <= edge), len(reference.edges)) == j
                  for value in values) / len(values) for j in range(len(reference.shares))]
    assert reference.shares == pytest.approx(shares)


def test_a_reference_has_ten_bins():
    reference = ColumnReference.of_numbers(0.0, 0.0, 999.0, np.arange(1000.0), np.ones(1000))
    assert reference.edges == [99, 199, 299, 399, 499, 599, 699, 799, 899]
    assert reference.shares == [0.1] * 10


def test_weights_count():
    rows = {"x": np.arange(100.0), "w": np.repeat(["a", "b"], 50)}
    weight = np.repeat([3.0, 1.0], 50)
    model = FourierBoostingRegressor(1, n_bags=1, kernel_ridge=False).fit(rows, rows["x"], weight)
    numbers, words = Reference.from_json(model.column_map_._reference, 2).columns
    assert words.shares == [0.75, 0.25, 0.0]
    assert numbers.edges[4] < 40


def test_models_without_a_reference():
    X = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.raises(NotFittedError):
        FourierBoostingRegressor().drift(X)
    with pytest.raises(InvalidInputError, match="keeps no reference of its training rows: train it with a column map"):
        GBRFF2Classifier(2, columns=None).fit(X, X[:, 0] > 0).drift(X)
    fitted = GBRFF2Classifier(2, columns=ColumnMap()).fit(X, X[:, 0] > 0)
    assert fitted.drift(X)["largest_shift"] == 0
    with pytest.raises(InvalidInputError, match="X has 1 features"):
        fitted.drift(X[:, :1])
    for wrong in ({}, {"rows": 3, "columns": [{"missing": 0}]}, {"rows": "x", "columns": []},
                  {"rows": 3, "columns": [None]}, {"rows": 3, "columns": 5}):
        fitted.column_map_._reference = wrong
        with pytest.raises(InvalidInputError, match="the reference of this GBRFF2Classifier is malformed"):
            fitted.drift(X)


def test_texts_and_names_of_another_kind():
    """Most are new in any case: it is their n-grams, and levels of two rows or more, that tell."""
    rng = np.random.default_rng(2)
    words = np.array([f"{a}{b}" for a in ("mon", "ter", "sil", "bra", "ket") for b in ("a", "el", "ino", "ur")])

    def rows(n, alphabet=words, first=0):
        texts = [" ".join(each) for each in alphabet[rng.integers(0, len(alphabet), (n, 6))]]
        names = [f"name{k}" for k in first + rng.geometric(0.003, n)]
        return {"text": texts, "name": names}

    training = rows(1200)
    y = np.array([text.count("mon") for text in training["text"]]) + rng.standard_normal(1200)
    model = FourierBoostingRegressor(n_estimators=2, n_bags=1).fit(training, y)
    assert [column.text is not None for column in model.column_map_._fitted.columns] == [True, False]
    model = loads(dumps(model))
    shifts = [{each["column"]: each["shift"] for each in model.drift(found)["columns"]} for found in (
        rows(600), rows(600, np.array(["zyx", "qvwj", "xxyz", "jjq"]), first=100_000))]
    assert max(shifts[0].values()) < 0.1
    assert min(shifts[1].values()) > 0.25
    with pytest.raises(InvalidInputError, match="X must have one row or more"):
        model.drift({"text": np.array([], dtype=object), "name": np.array([], dtype=object)})


@pytest.mark.parametrize(("n", "draw", "moved"), [
    (120, lambda rng, n: rng.integers(60, size=n), 1.0),  # each level has two rows in the mean
    (1200, lambda rng, n: rng.integers(600, size=n), 1.0),
    (1200, lambda rng, n: rng.zipf(1.5, size=n), 1.0),
    (3000, lambda rng, n: rng.geometric(0.003, n), 0.2)])  # "name", that all texts share, is most of their n-grams
def test_rare_levels_of_the_same_distribution_are_no_shift(n, draw, moved):
    """Of many levels that few rows have, other rows have others."""
    def rows(rng, size, first=0):
        return {"name": [f"name{k}" for k in first + draw(rng, size)], "a": rng.standard_normal(size)}

    for seed in range(2):
        rng = np.random.default_rng(seed)
        training = rows(rng, n)
        y = np.array([len(name) for name in training["name"]]) + rng.standard_normal(n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnWarning)
            fitted = GBRFF2Classifier(1).fit(training, y > y.mean())
        same, other = (fitted.drift(found)["columns"][0]["shift"] for found in (
            rows(rng, n // 2), rows(rng, n // 2, first=3000)))
        assert same < 0.05
        assert other > moved


def test_a_table_without_a_usable_column_is_one_that_rows_never_differ_from():
    X = {"name": [f"name{k}" for k in range(30)], "same": np.ones(30)}
    with pytest.warns(ColumnWarning, match="not used"):
        model = FourierBoostingRegressor(1, n_bags=1).fit(X, np.arange(30.0))
    model = loads(dumps(model))
    assert model.drift({"name": ["other"] * 30, "same": np.ones(30)})["columns"] == []
    assert not model.explain(X).values.any()


@pytest.mark.parametrize(("n_rows", "missing"), [(880, 0.0), (880, 0.2), (480, 0.0)])
def test_other_groups_than_those_of_training_are_found(rng, n_rows, missing):
    """Of more groups than the reference names: the map has an indicator of each."""
    def drawn(groups):
        names = np.array([f"g{k}" for k in groups], dtype=object)
        names[rng.random(len(groups)) < missing] = None
        return {"group": names, "x": rng.standard_normal(len(groups))}

    groups = rng.integers(220, size=n_rows)
    y = 3 * rng.standard_normal(220)[groups] + 0.3 * rng.standard_normal(n_rows)
    fitted = FourierBoostingRegressor(1, n_bags=1, kernel_ridge=False, random_state=0).fit(drawn(groups), y)
    assert fitted.column_map_.describe()[0]["form"] == "levels"
    for n, least, most in ((220, 0.0, 0.1), (440, 0.1, np.inf)):
        assert least <= fitted.drift(drawn(rng.integers(n, size=400)))["columns"][0]["shift"] <= most
    assert fitted.drift(drawn(rng.integers(220, 440, size=400)))["columns"][0]["shift"] > 1


@pytest.mark.parametrize("n_of_first", [0, 10])
def test_training_rows_do_not_differ_from_training(rng, n_of_first):
    """New rows of so many groups would show new ones, but these have none; one level of ten rows says little."""
    groups = np.array(["first"] * n_of_first + [f"group {k}" for k in rng.permutation(90 - n_of_first) // 1.6])
    X = {"group": groups, "x": rng.standard_normal(90)}
    effects = dict(zip(np.unique(groups), rng.standard_normal(90), strict=False))
    y = np.array([*map(effects.get, groups)]) + 0.1 * X["x"]
    model = FourierBoostingRegressor(20, random_state=0).fit(X, y)
    assert model.drift(X)["largest_shift"] < 0.2
    assert model.drift(X | {"group": np.array([f"other {k}" for k in range(90)])})["largest_shift"] > 0.5
