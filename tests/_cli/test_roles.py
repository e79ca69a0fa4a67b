"""Columns of `rffkern fit`: features, targets, weights, and tables to measure the loss on."""

import numpy as np
import pytest
from helpers.command_line import COLUMNS, run, write_csv

from rffkern import GBRFF2Classifier, load
from rffkern._cli.table import open_table
from rffkern._cli.training_table import Roles, roles_of

pytestmark = pytest.mark.slow

FAST = ["--set", "n_estimators=20"]


def opened(folder, header="a,b,c,d"):
    (folder / "t.csv").write_text(f"{header}\n1,2,3,4\n5,6,7,8\n")
    return open_table(str(folder / "t.csv"))


@pytest.mark.parametrize(("said", "roles"), [
    ({}, Roles([0, 1, 2], 3, None)), ({"target": "b"}, Roles([0, 2, 3], 1, None)),
    ({"weight": "d"}, Roles([0, 1], 2, 3)), ({"weight": "0", "target": "b"}, Roles([2, 3], 1, 0)),
    ({"features": ["c,a"]}, Roles([0, 2], 3, None)), ({"features": ["d"]}, Roles([3], 2, None)),
    ({"dropped": ["d", "a"]}, Roles([1], 2, None)),
    ({"features": ["a"], "weight": "b", "target": "c"}, Roles([0], 2, 1)),
])
def test_roles(tmp_path, said, roles):
    given = {"target": None, "weight": None, "features": [], "dropped": []} | said
    assert roles_of(opened(tmp_path), **given) == roles


@pytest.mark.parametrize(("arguments", "message"), [
    (["--features", "length", "--target", "length"], "--target and --features must name different columns, got 0 (le"),
    (["--weight", "width", "--drop", "width"], "--weight and --drop must name different columns, got 1 (width) for bo"),
    (["--exclude", "length,width,depth"], "expected at least one column besides the labels"),
    (["--weight", "mass"], "no column 'mass': expected one of"),
    (["--features", "length", "--categorical", "width"], "--categorical must name columns to train on, got 1 (width)"),
])
def test_columns_that_contradict_each_other(folder, arguments, message):
    expect = 2 if "must name" in message else 65
    assert message in run("fit", "train.csv", "-o", "n.npz", *arguments, cwd=folder, expect=expect).stderr


def test_the_same_columns_of_another_table(tmp_path):
    table = opened(tmp_path)
    other = tmp_path / "other.csv"
    other.write_text("d,x,b,c,a\n1,2,3,4,5\n")
    assert Roles([0, 1], 2, 3).in_table(table, open_table(str(other))) == Roles([4, 2], 3, 0)
    other.write_text("1,2,3,4\n5,6,7,8\n")
    assert Roles([0, 1], 2, 3).in_table(table, open_table(str(other))) == Roles([0, 1], 2, 3)


def test_features_and_exclude(folder):
    for arguments in (["--features", "width,length"], ["--exclude", "depth"]):
        run("fit", "train.csv", "-o", "n.npz", *FAST, *arguments, cwd=folder)
        assert load(folder / "n.npz").feature_names_in_.tolist() == ["length", "width"]


def test_weights_are_those_of_fit(folder, table, rng):
    X, y = table
    weights = rng.integers(0, 3, len(X))
    write_csv(folder / "w.csv", np.column_stack([X, weights]), y, [*COLUMNS, "mass"])
    done = run("fit", "w.csv", "-o", "n.npz", "--weight", "mass", "--holdout", "0.2", *FAST, cwd=folder)
    assert "weighted accuracy on 60 held-out rows" in done.stderr
    run("fit", "w.csv", "-o", "n.npz", "--weight", "mass", *FAST, cwd=folder)
    expected = GBRFF2Classifier(n_estimators=20, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(load(folder / "n.npz").decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize(("weights", "message"), [
    ("1,x,1", "data row 2 (line 3), column 1 (w): expected a finite number"),
    ("1,-1,1", "t.csv: sample_weight must"), ("0,0,0", "t.csv: sample_weight must"),
])
def test_weights_that_are_none(tmp_path, weights, message):
    rows = [f"{k},{weight},{'yn'[k % 2]}" for k, weight in enumerate(weights.split(","))]
    (tmp_path / "t.csv").write_text("\n".join(["a,w,y", *rows]))
    assert message in run("fit", "t.csv", "-o", "n.npz", "--weight", "w", cwd=tmp_path, expect=65).stderr


def test_eval_stops_training_early(folder):
    arguments = ["--set", "n_estimators=500", "--set", "early_stopping_rounds=5", "--set", "gamma=30"]
    done = run("fit", "train.csv", "-o", "n.npz", "--eval", "test.csv", *arguments, cwd=folder)
    model = load(folder / "n.npz")
    assert len(model.eval_loss_) == len(model.train_loss_) < 500
    said = done.stderr.splitlines()[-1]
    assert said.startswith("accuracy on 100 rows of test.csv: ")
    predicted = run("predict", "n.npz", "test.csv", "-o", "o.csv", "--target", "answer", cwd=folder).stderr
    assert predicted.split(": ")[-1].strip() == said.split(": ")[-1]


def test_eval_of_regression_and_of_words(tmp_path, rng):
    """Columns are found by name, and read as those of the training table are."""
    colors = np.array(["red", "blue", "1"])
    for name, n_rows in (("t.csv", 120), ("e.csv", 40)):
        x, place = rng.standard_normal(n_rows).round(3), rng.integers(0, 3, n_rows)
        place[:] = place if name == "t.csv" else 2  # a word that looks like a number
        cells = {"x": x, "color": colors[place], "y": (x + place).round(3)}
        order = list(cells) if name == "t.csv" else ["y", "color", "x"]
        (tmp_path / name).write_text("\n".join([",".join(order), *(",".join(map(str, row)) for row in
                                                                   zip(*(cells[key] for key in order), strict=True))]))
    arguments = ["--model", "fourier_boosting_regressor", "--set", "n_estimators=60", "--target", "y"]
    done = run("fit", "t.csv", "-o", "n.npz", "--eval", "e.csv", *arguments, cwd=tmp_path)
    assert float(done.stderr.split("40 rows of e.csv: ")[1]) > 0.5
    assert len(load(tmp_path / "n.npz").eval_loss_) > 0


def test_eval_tables_that_do_not_fit(folder):
    (folder / "few.csv").write_text("length,answer\n1,yes\n")
    (folder / "word.csv").write_text("length,width,depth,answer\n1,2,x,yes\n")
    (folder / "label.csv").write_text("length,width,depth,answer\n1,2,3,maybe\n")
    for name, message in [("few.csv", "few.csv: no column 'width'"), ("word.csv", "word.csv: data row 1 (line 2), col"),
                          ("label.csv", "label.csv: eval_set y must"), ("gone.csv", "gone.csv: No such file")]:
        done = run("fit", "train.csv", "-o", "n.npz", "--eval", name, cwd=folder, expect=66 if "gone" in name else 65)
        assert message in done.stderr
    done = run("fit", "train.csv", "-o", "n.npz", "--eval", "test.csv", "--model", "pbrff", cwd=folder, expect=2)
    assert "--eval needs a model that is trained in rounds, which pbrff is not" in done.stderr
    assert "must not be an input" in run("fit", "train.csv", "-o", "test.csv", "--eval", "test.csv", cwd=folder,
                                         expect=2).stderr


@pytest.mark.parametrize(("name", "numbers", "is_told"), [
    ("row", np.arange(200), True), ("row", 7 + np.random.default_rng(0).permutation(200), True),
    ("customer_id", 3 * np.arange(200), True), ("size", 3 * np.arange(200), False),
    ("row", np.arange(200) // 2, False), ("id", np.arange(200) % 9, False),
])
def test_columns_that_number_the_rows_are_told(folder, table, name, numbers, is_told):
    X, y = table
    write_csv(folder / "t.csv", np.column_stack([X[:200], numbers]), y[:200], [*COLUMNS, name])
    done = run("fit", "t.csv", "-o", "n.npz", *FAST, cwd=folder)
    assert (f"column {name!r} has a number of its own for each row; --exclude" in done.stderr) == is_told
