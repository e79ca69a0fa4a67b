"""Predictions in Parquet and Arrow files, names of columns, rounding, and messages as JSON."""

import gzip
import json
import os

import numpy as np
import pytest
from helpers.command_line import run

import rffkern
from rffkern._cli import prediction_files

ENDINGS = ["parquet", "feather", "arrow"]


def read(path):
    from pyarrow import feather, parquet

    return parquet.read_table(path) if path.suffix == ".parquet" else feather.read_table(path)


@pytest.fixture
def typed(folder, table):
    """A Parquet file with columns of several types beside those of the model."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = table
    held = pyarrow.table({
        "length": X[:, 0], "width": X[:, 1], "depth": X[:, 2], "id": np.arange(300), "answer": y,
        "day": np.datetime64("2024-01-01") + np.arange(300), "place": pyarrow.array(["a", "b", None] * 100
                                                                                    ).dictionary_encode()})
    parquet.write_table(held, folder / "t.parquet")
    return held


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_table_is_written(command, folder, table, typed, ending, jobs, monkeypatch):
    monkeypatch.setattr(prediction_files, "_GROUP_ROWS", 100)
    monkeypatch.setattr("rffkern._cli.binary_table.BLOCK_ROWS", 70)
    code, _, errors = command("predict", "m.npz", "t.parquet", "-o", f"o.{ending}", "--proba", "--keep",
                              "id,day,place", "--target", "answer", "--jobs", jobs)
    assert code == 0
    assert "accuracy on 300 rows" in errors
    found, model = read(folder / f"o.{ending}"), rffkern.load(folder / "m.npz")
    assert found.column_names == ["id", "day", "place", "prediction", "probability of no", "probability of yes"]
    assert found["id"].equals(typed["id"])
    assert found["day"].type == typed["day"].type
    assert found["place"].to_pylist() == ["a", "b", None] * 100
    assert found["prediction"].to_pylist() == model.predict(table[0]).tolist()
    np.testing.assert_array_equal(found["probability of yes"], model.predict_proba(table[0])[:, 1])
    assert not [name for name in os.listdir(folder) if "tmp" in name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_labels_and_targets_have_their_types(command, folder, table, ending):
    pyarrow = pytest.importorskip("pyarrow")
    X, y = table
    np.save(folder / "X.npy", X)
    np.save(folder / "none.npy", X[:0])
    several = np.column_stack([X[:, 0], X[:, 1] ** 2])
    for target, expected in ((y == "yes", [pyarrow.bool_()]), ((y == "yes").astype(np.int16), [pyarrow.int16()]),
                             (y.astype(object), [pyarrow.string()]), (X[:, 0], [pyarrow.float64()]),
                             (several, [pyarrow.float64()] * 2)):
        cls = rffkern.GBRFF2Classifier if len(expected) == 1 and target is not X[:, 0] and target.dtype.kind != "f" \
            else rffkern.FourierBoostingRegressor
        model = cls(3, random_state=0).fit(X, target)
        rffkern.save(model, folder / "n.npz")
        for source, rows in (("X.npy", X), ("none.npy", X[:0])):
            assert command("predict", "n.npz", source, "-o", f"o.{ending}")[0] == 0
            found = read(folder / f"o.{ending}")
            assert found.schema.types == expected
            assert found.num_rows == len(rows)
        assert command("predict", "n.npz", "X.npy", "-o", f"o.{ending}", "--keep", "1")[0] == 0
        found = read(folder / f"o.{ending}")
        np.testing.assert_array_equal(found["column 1"], X[:, 1])
        written = np.column_stack([found[name] for name in found.column_names[1:]])
        np.testing.assert_array_equal(written.reshape(model.predict(X).shape), model.predict(X))


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_error_leaves_no_file(folder, table, typed, ending):
    import pyarrow
    from pyarrow import parquet

    column = typed["width"].to_numpy().copy()
    column[250] = np.inf
    parquet.write_table(typed.set_column(1, "width", pyarrow.array(column)), folder / "bad.parquet")
    before = sorted(os.listdir(folder))
    done = run("predict", "m.npz", "bad.parquet", "-o", f"o.{ending}", cwd=folder, expect=65)
    assert "data row 251" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert sorted(os.listdir(folder)) == before
    run("predict", "m.npz", "bad.parquet", "-o", f"o.{ending}", "--keep", "day,id", "--reject", "r.csv", cwd=folder)
    assert read(folder / f"o.{ending}")["id"].to_pylist() == [k for k in range(300) if k != 250]


def test_a_table_needs_a_file(command, folder):
    code, _, errors = command("predict", "m.npz", "test.csv", "-o", "out.xlsx")
    assert code == 2
    assert "the name of OUT must end in .csv, .csv.gz, .npy, .parquet, .feather or .arrow, got 'out.xlsx'" in errors
    os.mkfifo(folder / "pipe.parquet")
    code, _, errors = command("predict", "m.npz", "test.csv", "-o", "pipe.parquet")
    assert code == 2
    assert "a .parquet must be a file, because part of it is written last" in errors


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_text_may_be_compressed(command, folder, jobs):
    for out in ("plain.csv", "o.csv.gz", "again.csv.gz"):
        code, _, errors = command("predict", "m.npz", "test.csv", "-o", out, "--jobs", jobs)
        assert code == 0, errors
    assert gzip.decompress((folder / "o.csv.gz").read_bytes()) == (folder / "plain.csv").read_bytes()
    assert (folder / "o.csv.gz").read_bytes() == (folder / "again.csv.gz").read_bytes()


def test_names_without_blanks(command, folder, table):
    X, _ = table
    labels = np.array(["New York", "New-York", "new york", "Zürich"])[np.digitize(X[:, 0], [-1, 0, 1])]
    rffkern.save(rffkern.GBRFF2Classifier(3, random_state=0).fit(X, labels), folder / "n.npz")
    np.save(folder / "X.npy", X)
    header = command("predict", "n.npz", "X.npy", "--proba", "--names", "identifiers")[1].splitlines()[0]
    assert header == "prediction,probability_New_York,probability_New_York_2,probability_Z_rich,probability_new_york"
    several = np.column_stack([X[:, 0], X[:, 1]])
    rffkern.save(rffkern.GBRFFRegressor(2, random_state=0).fit(X, several), folder / "n.npz")
    for names, expected in (("identifiers", "prediction_0,prediction_1"), ("words", "prediction 0,prediction 1")):
        assert command("predict", "n.npz", "X.npy", "--names", names)[1].splitlines()[0] == expected


@pytest.mark.parametrize("ending", ["csv", "npy"])
def test_rounding(command, folder, table, ending):
    X, _ = table
    np.save(folder / "X.npy", X)
    assert command("predict", "m.npz", "X.npy", "-o", f"o.{ending}", "--proba", "--round", "2")[0] == 0
    expected = rffkern.load(folder / "m.npz").predict_proba(X).round(2)
    if ending == "npy":
        np.testing.assert_array_equal(np.load(folder / "o.npy"), expected)
    else:
        lines = (folder / "o.csv").read_text().splitlines()[1:]
        assert [line.split(",")[1:] for line in lines] == [list(map(str, row)) for row in expected.tolist()]
    rffkern.save(rffkern.GBRFFRegressor(2, random_state=0).fit(X, X[:, 0]), folder / "n.npz")
    out = command("predict", "n.npz", "X.npy", "--round", "0")[1].splitlines()[1:]
    assert {*out} <= {"-2.0", "-1.0", "-0.0", "0.0", "1.0", "2.0"}


def test_rounding_leaves_labels_and_the_score(command, folder, table):
    X, _ = table
    np.savetxt(folder / "X.csv", np.column_stack([X, X[:, 0]]), delimiter=",")
    rffkern.save(rffkern.GBRFFRegressor(5, random_state=0).fit(X, X[:, 0]), folder / "n.npz")
    reports = {command("predict", "n.npz", "X.csv", "--target", "3", *options)[2] for options in ((), ("--round", "0"))}
    assert len(reports) == 1
    assert command("predict", "n.npz", "X.csv", "--round", "-1")[0] == 2


def test_messages_as_json(command, folder, table, monkeypatch):
    monkeypatch.setattr("rffkern._cli.binary_table.BLOCK_ROWS", 110)
    X, y = table
    np.savez(folder / "X.npz", X=X, y=y)
    code, out, errors = command("predict", "m.npz", "X.npz", "--log", "json", "--reject", "r.csv")
    plain = command("predict", "m.npz", "X.npz", "--reject", "r.csv")
    assert (code, out) == plain[:2]
    *batches, rejected, score = [json.loads(line) for line in errors.splitlines()]
    assert [batch["batch_rows"] for batch in batches] == [110, 110, 80]
    assert [batch["rows"] for batch in batches] == [110, 220, 300]
    assert {batch["event"] for batch in batches} == {"batch"}
    assert batches[-1]["done"] == 1
    assert rejected == {"message": "0 of 300 rows rejected: r.csv"}
    assert score["name"] == "accuracy"
    assert f"{100 * score['value']:.2f} %" in plain[2]
    code, _, errors = command("predict", "m.npz", "missing.csv", "--log", "json")
    assert code == 66
    assert json.loads(errors) == {
        "message": "rffkern: error: missing.csv: No such file or directory [rffkern help E66]"}
