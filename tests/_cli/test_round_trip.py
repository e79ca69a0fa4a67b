"""One table in many forms: the same model, and the same predictions to the bit."""

import gzip

import numpy as np
import pytest

from rffkern import ColumnMap, GBRFF2Classifier, load, save

N = 240
COLUMNS = ["size", "count", "colour", "alone", "joined", "zip", "empty"]
MAP = ColumnMap(("standard", "rank"), categorical_features=["zip"], date_parts=True, max_levels=3)


@pytest.fixture
def columns(rng):
    """Columns as lists of Python's own values, and labels."""
    start = np.datetime64("2020-02-27T22:00:00", "s")
    found = {
        "size": rng.exponential(30, N).astype(np.float32).astype(float).tolist(),
        "count": rng.integers(-100, 100, N).tolist(),
        "colour": rng.choice(["red", "light, blue", "ÿ \"x\"", "e5", "7a"], N, p=[0.5, 0.3, 0.15, 0.03, 0.02]).tolist(),
        "alone": (rng.random(N) > 0.5).tolist(),
        "joined": (start + rng.integers(0, 10**8, N)).tolist(),
        "zip": rng.integers(10, 17, N).tolist(),
        "empty": [None] * N,
    }
    y = np.where((np.array(found["count"]) > 0) ^ (np.array(found["colour"]) == "red"), "yes", "no")
    for name, share in (("size", 0.3), ("colour", 0.1), ("alone", 0.05), ("joined", 0.1)):
        found[name] = [None if gone else value for value, gone in zip(found[name], rng.random(N) < share, strict=True)]
    return found, y


def as_dict(columns, reverse=False):
    arrays = {"size": np.array([np.nan if value is None else value for value in columns["size"]], np.float32),
              "count": np.array(columns["count"], np.int8), "zip": np.array(columns["zip"], np.float64),
              "joined": np.array(columns["joined"], "M8[ms]"), "empty": np.full(len(columns["empty"]), np.nan),
              **{name: np.array(columns[name], object) for name in ("colour", "alone")}}
    return {name: arrays[name] for name in (COLUMNS[::-1] if reverse else COLUMNS)}


def as_pandas(columns, reverse=False):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns).astype({"count": "Int64", "zip": np.int8 if reverse else np.int64})
    levels = sorted({value for value in columns["colour"] if value is not None}, reverse=reverse)
    frame["colour"] = pandas.Categorical(columns["colour"], ["never", *levels])
    frame["joined"] = frame["joined"].astype("datetime64[ns]" if reverse else "datetime64[s]")
    return frame[COLUMNS[::-1]] if reverse else frame


def as_polars(columns, reverse=False):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(columns)
    if reverse:
        frame = frame.select(COLUMNS[::-1]).with_columns(polars.col("colour").cast(polars.Categorical))
    return frame


def as_pyarrow(columns, reverse=False):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(columns)
    if reverse:
        j = COLUMNS.index("colour")
        table = table.set_column(j, "colour", table["colour"].dictionary_encode()).select(COLUMNS[::-1])
    return table


KINDS = {"dict": as_dict, "pandas": as_pandas, "polars": as_polars, "pyarrow": as_pyarrow}


def written(folder, kind, table, y):
    """The same table as files, as each package writes them; all columns before the label."""
    if kind == "pandas":
        table = table.assign(y=y)
        table.to_csv(folder / "pandas.csv", index=False)
        (folder / "semicolons.csv.gz").write_bytes(gzip.compress(table.to_csv(index=False, sep=";", na_rep="NA")
                                                                 .encode()))
        return "pandas.csv", "semicolons.csv.gz"
    if kind == "polars":
        import polars

        table.with_columns(polars.Series("y", y)).write_csv(folder / "polars.csv", quote_style="non_numeric")
        return ("polars.csv",)
    if kind == "pyarrow":
        pyarrow = pytest.importorskip("pyarrow")
        csv, parquet = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
        table = table.append_column("y", pyarrow.array(y.tolist()))
        csv.write_csv(table, folder / "arrow.csv")
        parquet.write_table(table, folder / "t.parquet", row_group_size=50)
        return "arrow.csv", "t.parquet"
    return ()


OPTIONS = ("--columns", '{"numeric": ["standard", "rank"], "date_parts": true, "max_levels": 3}', "--categorical",
           "zip")


@pytest.mark.parametrize("kind", KINDS)
def test_one_model_and_one_prediction(kind, columns, command, folder):
    """Files are equal byte by byte; predictions do not depend on the order of columns, or on what holds them."""
    columns, y = columns
    model = GBRFF2Classifier(30, columns=MAP, random_state=0).fit(as_dict(columns), y)
    save(model, folder / "model.npz")
    expected = model.predict_proba(as_dict(columns))
    make = KINDS[kind]
    for reverse in (False, True):  # other orders of columns and categories, and other widths of numbers
        np.testing.assert_array_equal(model.predict_proba(make(columns, reverse)), expected)
    save(GBRFF2Classifier(30, columns=MAP, random_state=0).fit(make(columns), y), folder / "again.npz")
    assert (folder / "again.npz").read_bytes() == (folder / "model.npz").read_bytes()
    for name in written(folder, kind, make(columns), y):
        done = command("fit", name, "-o", "from.npz", "--set", "n_estimators=30", *OPTIONS)
        assert done[0] == 0, done
        assert (folder / "from.npz").read_bytes() == (folder / "model.npz").read_bytes(), name
    for name in written(folder, kind, make(columns, True), y):
        done = command("predict", "model.npz", name, "--proba", "--target", "y", "--keep", "colour", "--jobs",
                       2 if name == "pandas.csv" else 1)
        assert done[0] == 0, done
        numbers = [line.rsplit(",", 2)[1:] for line in done[1].splitlines()[1:]]
        np.testing.assert_array_equal(np.array(numbers, dtype=float), expected)


def test_the_order_of_columns_is_that_of_the_terms(columns):
    """A fit on columns in another order is another model, whose columns are told by the same names."""
    columns, y = columns
    models = [GBRFF2Classifier(30, columns=MAP, random_state=0).fit(as_dict(columns, reverse), y)
              for reverse in (False, True)]
    assert models[0].feature_names_in_.tolist() == models[1].feature_names_in_.tolist()[::-1]
    facts = [{(row["column"], row["form"]): row for row in model.column_map_.describe()} for model in models]
    assert facts[0] == facts[1]
    for model in models:
        assert (model.predict_proba(as_dict(columns)) == model.predict_proba(as_dict(columns, True))).all()


def test_what_a_file_gives_is_what_python_gives(columns, command, folder):
    """Without an option, a table with words gets the same map as `ColumnMap()`; one of numbers gets none."""
    columns, y = columns
    lines = [",".join(["", "y", *COLUMNS[:3]])] + [
        f'{i},{label},{"" if size is None else size},{count},"{(colour or "").replace(chr(34), chr(34) * 2)}"'
        for i, (label, size, count, colour) in enumerate(zip(y, *(columns[name] for name in COLUMNS[:3]), strict=True))]
    (folder / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    assert command("fit", "t.csv", "-o", "m.npz", "--target", "y", "--drop", "0")[0] == 0
    first = {name: as_dict(columns)[name] for name in COLUMNS[:3]}
    save(GBRFF2Classifier(columns=ColumnMap(), random_state=0).fit(first, y), folder / "p.npz")
    assert (folder / "m.npz").read_bytes() == (folder / "p.npz").read_bytes()
    assert command("fit", "t.csv", "-o", "n.npz", "--target", "y", "--drop", "0,size,colour")[0] == 0
    assert load(folder / "n.npz").columns is None
