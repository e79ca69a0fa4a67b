"""Messages of the command line whose advice is followed here, word by word."""

import re

import numpy as np
import pytest
from helpers.command_line import COLUMNS, run, write_csv

FEW = ("--model", "fourier_boosting", "--set", "n_estimators=3", "--set", "kernel_ridge=false")
AUTO = ("--model", "auto", "--set", "n_estimators=3", "--set", "kernel_ridge=false")


@pytest.fixture
def table():
    X = np.random.default_rng(0).standard_normal((80, 3)).round(3)
    return X, np.where(X[:, 0] > 0, "yes", "no")


def said(folder, *arguments, expect=0):
    return run(*arguments, cwd=folder, expect=expect).stderr


def test_a_missing_value_in_a_column_of_the_model(tmp_path, table):
    X, y = table
    write_csv(tmp_path / "train.csv", X, y)
    said(tmp_path, "fit", "train.csv", "-o", "m.npz", "--columns", "none", *FEW)
    (tmp_path / "gap.csv").write_text("length,width,depth\n1,2,3\n1,,3\n", encoding="utf-8")
    errors = said(tmp_path, "predict", "m.npz", "gap.csv", "-o", "p.csv", expect=65)
    assert "column 1 (width): expected a finite number, got ''" in errors
    assert "--drop" not in errors  # which the model, that needs the column, would refuse
    assert "or leave out such rows (--reject FILE)" in errors
    assert "1 of 2 rows rejected" in said(tmp_path, "predict", "m.npz", "gap.csv", "-o", "p.csv", "--reject", "r.csv")


def test_columns_are_counted_as_options_count_them(tmp_path, table):
    X, y = table
    write_csv(tmp_path / "t.csv", np.column_stack([np.arange(80), X]), (y == "yes").astype(int), header=None)
    errors = said(tmp_path, "fit", "t.csv", "-o", "m.npz", *AUTO)
    place = re.search(r"target column (\d+) \(the first is 0\) has 2 distinct whole numbers: classes", errors)[1]
    index = re.search(r"has a number of its own for each row; --exclude '(\d+)' leaves it out", errors)[1]
    assert (place, index) == ("4", "0")
    errors = said(tmp_path, "fit", "t.csv", "-o", "m.npz", "--target", place, "--exclude", index, *AUTO)
    assert "trained FourierBoostingClassifier on 80 rows of 3 columns" in errors
    assert "number of its own" not in errors
    assert "expected an index from 0 to 4" in said(tmp_path, "fit", "t.csv", "-o", "m.npz", "--target", "5", expect=65)


@pytest.mark.parametrize("first", [0, 1])
def test_an_index_that_is_advised_is_that_of_the_table(tmp_path, table, first):
    """Also where the target stands before the columns that are learned from."""
    X, y = table
    columns = [(y == "yes").astype(int), np.arange(80)]
    write_csv(tmp_path / "t.csv", np.column_stack([columns[first], columns[1 - first], X]), header=None)
    target = ("--target", str(first))
    errors = said(tmp_path, "fit", "t.csv", "-o", "m.npz", *target, *AUTO)
    index = re.search(r"--exclude '(\d+)' leaves it out", errors)[1]
    errors = said(tmp_path, "fit", "t.csv", "-o", "m.npz", *target, "--exclude", index, *AUTO)
    assert "on 80 rows of 3 columns" in errors
    assert "number of its own" not in errors


@pytest.mark.parametrize(("separator", "advice", "options"), [
    (";", "say --decimal ,", ["--decimal", ","]), (",", "write a point, because commas separate the columns", None)])
def test_decimal_commas(tmp_path, table, separator, advice, options):
    X, y = table
    lines = [separator.join([*(f'"{value}"'.replace(".", ",") for value in row), label])
             for row, label in zip(X, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join([separator.join([*COLUMNS, "answer"]), *lines]), encoding="utf-8")
    assert advice in said(tmp_path, "fit", "t.csv", "-o", "m.npz", *FEW, expect=65)
    if options is None:  # as it is advised
        text = (tmp_path / "t.csv").read_text(encoding="utf-8")
        (tmp_path / "t.csv").write_text(re.sub(r'"(-?\d+),(\d+)"', r"\1.\2", text), encoding="utf-8")
    assert "on 80 rows of 3 columns" in said(tmp_path, "fit", "t.csv", "-o", "m.npz", *FEW, *(options or []))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_two_bytes_for_each_character_without_a_mark(tmp_path, table, encoding):
    write_csv(tmp_path / "u.csv", *table)
    (tmp_path / "t.csv").write_bytes((tmp_path / "u.csv").read_text(encoding="utf-8").encode(encoding))
    assert "say --encoding utf-16-le or utf-16-be" in said(tmp_path, "fit", "t.csv", "-o", "m.npz", *FEW, expect=65)
    assert "on 80 rows" in said(tmp_path, "fit", "t.csv", "-o", "m.npz", "--encoding", encoding, *FEW)


def test_numbers_that_can_be_classes_are_offered_as_such(tmp_path, table):
    X, _ = table
    for y, offered in ((X[:, 0], False), (np.arange(80) % 40, True)):
        write_csv(tmp_path / "t.csv", X, y)
        errors = said(tmp_path, "fit", "t.csv", "-o", "m.npz", *AUTO)
        assert "distinct numbers: regression" in errors
        assert ("--model fourier_boosting would make them classes" in errors) == offered
    assert "trained FourierBoostingClassifier" in said(tmp_path, "fit", "t.csv", "-o", "m.npz", *FEW)


@pytest.mark.parametrize(("name", "advised"), [("x.pkl", "x.npz"), ("m.npz", None), ("model", None)])
def test_a_model_file_is_named_for_what_it_is(tmp_path, table, name, advised):
    write_csv(tmp_path / "t.csv", *table)
    errors = said(tmp_path, "fit", "t.csv", "-o", name, *FEW)
    told = f"{name}: a model file is an .npz archive, whatever it is called; name it {advised}\n"
    assert errors.startswith(told) if advised else ".npz archive" not in errors
    assert run("predict", name, "t.csv", cwd=tmp_path).stdout.startswith("prediction\n")
