"""Tables of many files: folders, patterns and partitions; and files whose name and content disagree."""

import gzip
import os
import shutil

import numpy as np
import pytest

from rffkern import load
from rffkern._cli.open_table import FileSequence, input_files, open_table
from rffkern._cli.table import Selection

pytestmark = pytest.mark.slow

NAMES = ["x", "colour", "id", "y"]


def rows_of(k, n=40):
    rng = np.random.default_rng(k)
    x, colour = rng.standard_normal(n).round(3), rng.choice(["red", "blue"], n)
    y = np.where((x > 0) ^ (colour == "red"), "yes", "no")
    return [list(map(str, row)) for row in zip(x.tolist(), colour.tolist(), range(k * n, (k + 1) * n), y.tolist(),
                                              strict=True)]


def write(path, rows, names=NAMES, order=None):
    order = list(range(len(names))) if order is None else order
    lines = [",".join(row[j] for j in order) for row in ([names, *rows] if names else rows)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def parts(folder):
    """A folder of three files, one compressed, one with its columns in another order, and all.csv with their rows."""
    (folder / "parts" / "more").mkdir(parents=True)
    write(folder / "parts" / "b.csv", rows_of(1), order=[3, 0, 2, 1])
    write(folder / "parts" / "a.csv", rows_of(0))
    write(folder / "parts" / "more" / "c.csv", rows_of(2))
    text = (folder / "parts" / "more" / "c.csv").read_bytes()
    (folder / "parts" / "more" / "c.csv.gz").write_bytes(gzip.compress(text))
    (folder / "parts" / "more" / "c.csv").unlink()
    (folder / "parts" / "_SUCCESS").write_text("")
    (folder / "parts" / ".hidden.csv").write_text("no table")
    write(folder / "all.csv", [row for k in range(3) for row in rows_of(k)])
    return folder


@pytest.mark.parametrize("source", ["parts", "parts/", "parts/**/*.csv*"])
def test_a_folder_is_the_table_of_its_files(command, parts, source):
    train = ("--drop", "id", "--set", "n_estimators=20")
    assert command("fit", "all.csv", "-o", "a.npz", *train)[0] == 0
    assert command("fit", source, "-o", "b.npz", *train)[0] == 0
    assert (parts / "a.npz").read_bytes() == (parts / "b.npz").read_bytes()
    expected = command("predict", "a.npz", "all.csv", "--proba", "--keep", "id", "--target", "y")
    for jobs in ("1", "2"):
        assert command("predict", "a.npz", source, "--proba", "--keep", "id", "--target", "y", "--jobs",
                       jobs) == expected


def test_names_are_sorted_and_hidden_ones_ignored(parts):
    found = [os.path.relpath(file, parts) for file in input_files(str(parts / "parts"))]
    assert found == ["parts/a.csv", "parts/b.csv", "parts/more/c.csv.gz"]
    assert input_files("no such file") == ["no such file"]
    odd = parts / "odd[1].csv"
    odd.write_text("a\n1\n")
    assert input_files(str(odd)) == [str(odd)]  # the name of a file is no pattern


def test_files_without_names_and_arrays(command, folder, table):
    X, _ = table
    (folder / "n").mkdir()
    (folder / "t").mkdir()
    for k in range(3):
        np.save(folder / "n" / f"{k}.npy", X[k * 100 : (k + 1) * 100])
        np.savetxt(folder / "t" / f"{k}.csv", X[k * 100 : (k + 1) * 100], delimiter=";")
    expected = load(folder / "m.npz").predict(X).tolist()
    for source in ("n", "t"):
        code, out, errors = command("predict", "m.npz", source)
        assert code == 0
        assert out.splitlines()[1:] == expected
        assert errors.count("using ';' as delimiter") == (source == "t")  # once
    opened = open_table(str(folder / "n"))
    assert isinstance(opened, FileSequence)
    raw_blocks, parse = opened.read(Selection([0, 2]))
    done = [parse(raw).done for raw in raw_blocks]
    assert done == sorted(done)
    assert 0.9 < done[-1] / opened.total <= 1


def test_kinds_that_are_inferred_hold_for_all_files(command, parts):
    """A column of numbers in the first file that has words in another: the error names file and row."""
    rows = rows_of(3)
    rows[4][0] = "many"
    write(parts / "parts" / "d.csv", rows)
    code, _, errors = command("fit", "parts", "-o", "a.npz", "--drop", "id")
    assert code == 65
    assert "parts/d.csv: data row 5 (line 6), column 0 (x): expected a finite number, got 'many'" in errors


def test_an_empty_file_has_no_rows(command, parts):
    assert command("fit", "parts", "-o", "a.npz")[0] == 0
    for name in ("0.csv", "d.csv"):  # the first and the last
        (parts / "parts" / name).touch()
    assert command("fit", "parts", "-o", "b.npz")[0] == 0
    assert (parts / "a.npz").read_bytes() == (parts / "b.npz").read_bytes()


def test_wrong_folders(command, parts):
    for options, message in (((), "column 'length' of the model is missing"), (("--drop", "z"), "no column 'z'")):
        assert f"error: parts/a.csv: {message}" in command("predict", "m.npz", "parts", *options)[2]
    write(parts / "parts" / "b.csv", [row[:3] for row in rows_of(1)], NAMES[:3])
    code, _, errors = command("fit", "parts", "-o", "a.npz")
    assert code == 65
    assert "b.csv: expected 4 columns, as parts/a.csv has, got 3" in errors
    write(parts / "parts" / "b.csv", rows_of(1), ["x", "color", "id", "y"])
    assert "b.csv: no column 'colour'" in command("fit", "parts", "-o", "a.npz")[2]
    np.save(parts / "parts" / "b.npy", np.zeros((3, 4)))
    code, _, errors = command("fit", "parts", "-o", "a.npz")
    assert code == 65
    assert "parts: expected files of one format, .csv, .npy, .parquet or .arrow, got .csv, .csv.gz, .npy" in errors
    (parts / "empty").mkdir()
    for source, message in (("empty", "empty: no file in the folder"), ("e*.csv", "e*.csv: no file matches")):
        code, _, errors = command("fit", source, "-o", "a.npz")
        assert code == 66
        assert message in errors
    code, _, errors = command("predict", "m.npz", "parts", "-o", "parts/more/out.csv")
    assert code == 2
    assert "the output must not be in a folder that is read" in errors


def test_partitions_of_parquet(command, parts):
    """The values that folders name are a column."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import dataset

    rows = [row for k in range(3) for row in rows_of(k)]
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    table = pyarrow.table({"x": np.array(columns["x"], float), "colour": columns["colour"], "id": np.array(
        columns["id"], int), "y": columns["y"], "year": 2020 + np.arange(120, dtype=np.int32) // 40})
    folders = dataset.partitioning(pyarrow.schema([("year", pyarrow.int32())]), flavor="hive")
    dataset.write_dataset(table, parts / "p", format="parquet", partitioning=folders, max_rows_per_file=15,
                          max_rows_per_group=5)
    assert (parts / "p" / "year=2021" / "part-2.parquet").exists()
    dataset.write_dataset(table.drop_columns(["year"]), parts / "f", format="ipc", max_rows_per_file=50,
                          max_rows_per_group=50)
    options = ("--drop", "id", "--target", "y", "--set", "n_estimators=20")
    assert command("fit", "p", "-o", "p.npz", *options)[0] == 0
    assert load(parts / "p.npz").feature_names_in_.tolist() == ["x", "colour", "year"]
    assert command("fit", "f", "-o", "f.npz", *options)[0] == 0
    assert command("fit", "all.csv", "-o", "a.npz", *options)[0] == 0
    assert (parts / "f.npz").read_bytes() == (parts / "a.npz").read_bytes()
    code, out, errors = command("predict", "p.npz", "p", "--keep", "id,year", "--target", "y")
    assert code == 0
    assert [line.split(",")[:2] for line in out.splitlines()[1:]] == [[str(k), str(2020 + k // 40)] for k in range(120)]
    assert "accuracy on 120 rows" in errors
    assert "error: f/part-0.arrow: column 'length' of the" in command("predict", "m.npz", "f", "-o", "out.csv")[2]
    lacking = parts / "f" / "part-1.arrow"
    with pyarrow.OSFile(str(lacking), "wb") as file, pyarrow.ipc.new_file(file, table.select(["x", "y"]).schema) as out:
        out.write(table.select(["x", "y"]))
    for line in (("fit", "f", "-o", "lacking.npz", *options), ("predict", "f.npz", "f", "-o", "out.csv")):
        code, _, errors = command(*line)
        assert code == 65
        assert "part-1.arrow: expected the column 'colour', which f" in errors
    assert not {"lacking.npz", "out.csv"} & {path.name for path in parts.iterdir()}
    damaged = parts / "p" / "year=2021" / "part-1.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    code, _, errors = command("predict", "p.npz", "p", "-o", "out.csv")
    assert code == 65
    assert "not a table that pyarrow can read" in errors
    assert not (parts / "out.csv").exists()


def test_the_content_decides_where_the_name_is_wrong(command, folder, table):
    X, _ = table
    expected = command("predict", "m.npz", "test.csv", "--target", "answer")[1]
    np.save(folder / "X.npy", X[200:])
    shutil.move(folder / "X.npy", folder / "X.csv")
    code, out, errors = command("predict", "m.npz", "X.csv")
    assert (code, out) == (0, expected)
    assert errors == "X.csv: the name ends in .csv, but the file contains NumPy; it is read as .npy\n"
    pytest.importorskip("pyarrow")
    import pyarrow
    from pyarrow import feather, parquet

    held = pyarrow.table({name: X[200:, j] for j, name in enumerate(["length", "width", "depth"])})
    parquet.write_table(held, folder / "t.arrow")
    feather.write_feather(held, folder / "u.parquet")
    for name, content, read_as in (("t.arrow", "Parquet", ".parquet"), ("u.parquet", "Arrow", ".arrow")):
        code, out, errors = command("predict", "m.npz", name)
        assert (code, out) == (0, expected)
        assert f"but the file contains {content}; it is read as {read_as}" in errors
    feather.write_feather(held, folder / "u.feather")
    assert command("predict", "m.npz", "u.feather") == (0, expected, "")


def test_an_export_by_another_name(command, folder):
    assert "m.c: the file has the format sql; a better name is m.sql" in command("export", "m.npz", "--to", "sql", "-o",
                                                                                "m.c")[2]
    assert command("export", "m.npz", "--to", "sql", "-o", "m.sql")[2] == ""


@pytest.mark.parametrize("name", ["t.tsv", "t.TXT", "t.tsv.gz"])
def test_text_of_other_names_is_read_as_csv(command, folder, name):
    """Whatever separates its columns, and beside files of .csv in a folder."""
    rows = rows_of(0)
    write(folder / "t.csv", rows)
    text = (folder / "t.csv").read_text().replace(",", "\t").encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert command("fit", name, "-o", "t.npz", "--seed", "0")[0] == 0
    assert command("fit", "t.csv", "-o", "c.npz", "--seed", "0")[0] == 0
    assert (folder / "t.npz").read_bytes() == (folder / "c.npz").read_bytes()
    (folder / "two").mkdir()
    write(folder / "two" / "a.csv", rows)
    shutil.copy(folder / name, folder / "two" / f"b{name}")
    (folder / "two" / "a.csv").write_text((folder / "two" / "a.csv").read_text().replace(",", "\t"))
    assert open_table(str(folder / "two")).n_columns == 4


def test_what_is_no_table_says_what_to_do(command, folder):
    (folder / "t.xlsx").write_bytes(b"PK\x03\x04")
    code, _, errors = command("fit", "t.xlsx", "-o", "t.npz")
    assert (code, "save tables of other programs, such as .xlsx, as .csv" in errors) == (65, True)
    code, _, errors = command("fit", "m.npz", "-o", "t.npz")
    assert (code, "m.npz: expected a table, got a model file" in errors) == (65, True)
