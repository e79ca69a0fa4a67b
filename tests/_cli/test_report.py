"""`rffkern report`: the page and its numbers, from a table with words, dates and missing cells."""

import hashlib
import json

import numpy as np
import pytest

from rffkern import load


def reported(command, *arguments):
    code, _, errors = command("report", *arguments, "--json", "r.json")
    assert code == 0, errors
    with open("r.json", encoding="utf-8") as file:
        return json.load(file)


def test_a_page_and_the_same_numbers(command, folder, table):
    X, y = table[0][200:], table[1][200:]
    facts = reported(command, "m.npz", "test.csv", "-o", "r.html", "--date", "2024-03-01")
    model = load("m.npz")
    assert facts["validation"]["accuracy"] == model.score(X, y)
    assert (facts["head"]["target"], facts["head"]["date"]) == ("answer", "2024-03-01")
    assert facts["receipt"]["data_sha256"] == hashlib.sha256((folder / "test.csv").read_bytes()).hexdigest()
    assert facts["receipt"]["model_sha256"] == hashlib.sha256((folder / "m.npz").read_bytes()).hexdigest()
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert f"{100 * model.score(X, y):.1f} %" in page
    code, out, _ = command("report", "m.npz", "test.csv", "-o", "-", "--date", "2024-03-01")
    assert (code, out) == (0, page)
    evaluated = json.loads(command("evaluate", "m.npz", "test.csv", "--json")[1])
    assert "average precision of &#x27;yes&#x27;" in page
    assert facts["validation"]["positive"] == evaluated["positive"] == "yes"
    for name in ("accuracy", "log_loss", "roc_auc", "standard_errors", "constant"):
        assert facts["validation"][name] == evaluated[name]


def test_words_dates_and_missing_cells_in_blocks(command, folder):
    """More rows than a block has, whose levels come in another order in each."""
    rng = np.random.default_rng(0)
    n_rows = 9000
    colour = np.array(["red", "green", "", "blue"])[np.sort(rng.integers(0, 4, n_rows))]
    day = np.datetime64("2024-01-01") + rng.integers(0, 100, n_rows)
    price = rng.standard_normal(n_rows).round(3) + 3 * (colour == "red")
    for name, rows in (("a.csv", slice(0, None, 9)), ("b.csv", slice(None))):
        lines = [f"{c},{d},{p}" for c, d, p in zip(colour[rows], day[rows], price[rows], strict=True)]
        lines[3] = lines[3].rpartition(",")[0] + ","
        (folder / name).write_text("colour,day,price\n" + "\n".join(lines) + "\n")
    code, _, errors = command("fit", "a.csv", "-o", "p.npz", "--model", "fourier_boosting_regressor", "--set",
                              "n_estimators=20", "--set", "n_bags=2", "--reject", "bad.csv")
    assert code == 0, errors
    facts = reported(command, "p.npz", "b.csv", "--reject", "r.csv")
    assert facts["data"]["rows"] == n_rows - 1
    assert facts["data"]["unlabelled"] == 1
    columns = {each["column"]: each for each in facts["data"]["columns"]}
    assert columns["colour"]["levels"]["red"] == (np.delete(colour, 3) == "red").sum()
    assert columns["day"]["kind"] == "date"
    assert facts["validation"]["r2"] > 0.4


def test_tables_without_labels_and_bad_arguments(command, folder):
    (folder / "x.csv").write_text("length,width,depth\n" + "1,2,3\n2,3,4\n" * 20)
    code, _, errors = command("report", "m.npz", "x.csv", "-o", "x.html")
    assert code == 0
    assert "no column of labels or targets" in errors
    assert "no column of labels or targets" in (folder / "x.html").read_text()
    code, _, errors = command("report", "m.npz", "test.csv")
    assert code == 2
    assert "-o PAGE" in errors
    code, _, errors = command("report", "m.npz", "test.csv", "-o", "r.html", "--json", "r.html")
    assert code == 2
    assert "PAGE and --json must be two files, got 'r.html' for both" in errors
    assert command("report", "m.npz", "test.csv", "-o", "-", "--json", "-")[0] == 2
    code, _, errors = command("report", "m.npz", "test.csv", "-o", "test.csv")
    assert code == 2
    code, _, errors = command("report", "m.npz", "test.csv", "-o", "r.html", "--target", "depth")
    assert code == 65
    assert not (folder / "r.html").exists()


@pytest.mark.parametrize("task", ["arrays", "two targets"])
def test_arrays(command, folder, table, task):
    X, y = table
    targets = np.column_stack([X[:, 0], X[:, 1]]) if task == "two targets" else y
    np.savez(folder / "t.npz", X=X, y=targets)
    code, _, errors = command("fit", "t.npz", "-o", "n.npz", "--model",
                              "gbrff_regressor" if task == "two targets" else "gbrff2", "--set", "n_estimators=5")
    assert code == 0, errors
    facts = reported(command, "n.npz", "t.npz")
    assert facts["head"]["target"] == "y"
    assert facts["data"]["columns"][0]["column"] == "x0"
    assert facts["validation"]["rows"] == 300
