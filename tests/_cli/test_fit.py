"""`rffkern fit`: tables, labels, parameters, and the messages about the result."""

import io
import itertools
import sys

import numpy as np
import pytest
from helpers.command_line import COLUMNS, run, write_csv

from rffkern import load
from rffkern._cli.fit import _signs
from rffkern._cli.main import main
from rffkern._training.fourier_boosting.parameters import LOSSES


@pytest.mark.slow
def test_seed(folder):
    for arguments, seed in (((), 0), (("--seed", "3"), 3), (("--set", "random_state=4"), 4)):
        run("fit", "train.csv", "-o", "s.npz", *arguments, cwd=folder)
        assert load(folder / "s.npz").random_state == seed


def test_npz_with_labels(tmp_path, table):
    X, y = table
    np.savez(tmp_path / "t.npz", X=X.astype(np.float32), y=np.where(y == "yes", 1, -1), feature_names=np.array(COLUMNS))
    run("fit", "t.npz", "-o", "m.npz", cwd=tmp_path)
    model = load(tmp_path / "m.npz")
    assert model.classes_.tolist() == [-1, 1]
    assert model.feature_names_in_.tolist() == COLUMNS
    done = run("predict", "m.npz", "t.npz", "-o", "o.npy", cwd=tmp_path)
    assert "accuracy on 300 rows" in done.stderr


@pytest.mark.parametrize("header", [True, False])
def test_labels_are_the_same_in_every_block(tmp_path, rng, header):
    """Blanks and quotes round labels, and a row that is read cell by cell, in a table of several blocks."""
    X = rng.standard_normal((9000, 2)).round(3)
    labels = np.where(X[:, 0] > 0, ' "yes"', " no ")
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X, labels, strict=True)]
    lines[8500] = f'"10",{X[8500, 1]}, "yes"'
    (tmp_path / "t.csv").write_text("\n".join(["2019,2020,label"] * header + lines))
    run("fit", "t.csv", "-o", "m.npz", *(["--header", "yes"] if header else []), cwd=tmp_path)
    assert load(tmp_path / "m.npz").classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize(("content", "message"), [
    ("a,b,c\n", "no rows below its header"),
    ("1,x\n", "t.csv: expected at least 2 rows to train on, got 1: add rows ["),
    ("a,b\n1,5\n", "expected at least 2 rows to train on, got 1: add rows; if row 1 is data, pass --header no ["),
    ("1\n2\n", "beside the labels, got one column: if something"),
    ("# of a tool\na,b\n1,x\n2,y\n", "got one column, '# of a tool': if something else"),
    ("2019,2020,label\n1,2,a\n3,4,b\n5,6,a\n", "row 1 may be column names"),
    ("2019,2020,2021\n1,2,3\n3,4,5\n5,6,1\n", "row 1 (line 1) may be column names or data"),
    ("1,a\n2,a\n", "must hold at least two classes, got 'a' in all 2 rows: name the column of labels by --target "),
    ("a,b\n1,5\n2,5\n", "target 'b' must hold at least two classes, got 5 in all 2 rows: name the column of labels by "
     "--target; to train a constant, pass --model fourier_boosting_regressor")])
def test_tables_that_cannot_be_trained_on(folder, content, message):
    (folder / "t.csv").write_text(content)
    assert message in run("fit", "t.csv", "-o", "new.npz", cwd=folder, expect=65).stderr


@pytest.mark.slow
def test_sparse_machines_from_the_command_line(folder, table):
    """A parameter that is a dict is given as JSON."""
    write_csv(folder / "t.csv", table[0], table[0][:, 0] * 2, target="size")
    run("fit", "t.csv", "-o", "k.npz", "--model", "sparse_kernel_regressor", "--target", "size", "--set",
        'kernel={"length_scale": 2.0}', "--set", "n_estimators=10", cwd=folder)
    run("predict", "k.npz", "t.csv", "-o", "o.npy", "--target", "size", cwd=folder)
    np.testing.assert_allclose(np.load(folder / "o.npy"), load(folder / "k.npz").predict(table[0]))
    assert load(folder / "k.npz").kernel == {"length_scale": 2.0}


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gbrff", "gbrff1", "pbrff", "rffnet"])
def test_other_families(folder, family):
    run("fit", "train.csv", "-o", "n.npz", "--model", family, "--seed", "3", cwd=folder)
    lines = run("predict", "n.npz", "test.csv", "--proba", cwd=folder).stdout.splitlines()
    assert lines[0] == "prediction,probability of no,probability of yes"
    assert load(folder / "n.npz").family in run("info", "n.npz", "--json", cwd=folder).stdout.lower()


def test_progress_of_training_tells_the_validation_loss(folder, monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    arguments = ["fit", str(folder / "train.csv"), "-o", str(folder / "n.npz"), "--set", "max_epochs=3"]
    assert main([*arguments, "--model", "rffnet"]) == 0
    drawn = next(piece for piece in stream.getvalue().split("\r") if piece.startswith("training"))
    assert drawn.startswith("training [")
    assert "s left  train loss" in drawn
    assert "validation loss" in drawn


@pytest.mark.parametrize(("settings", "expected"), [
    (["loss=pinball"], f"loss must be one of {', '.join(map(repr, LOSSES))}, got 'pinball'"),
    (["loss=quantile", "quantile=0.1,0.5,0.9"],
     "quantile must be a number, or several in ascending order, such as [0.1, 0.5, 0.9], got '0.1,0.5,0.9'"),
    (["loss=quantile", "quantile=2"], "quantile must be a finite number >= 1e-06 and <= 0.999999, got 2"),
    (["loss=huber", "n_bags=0"], "n_bags must be None or an integer >= 1 and <= 1000, got 0"),
    (["loss=huber", "n_estimator=50"],
     "Invalid parameter 'n_estimator' for estimator FourierBoostingRegressor. Did you mean 'n_estimators'?"),
    (["n_estimator=50"], "Invalid parameter 'n_estimator' for estimator FourierBoostingClassifier. Did you mean"),
    (["loss=huber", "class_weight=balanced"], "Invalid parameter"),
    (["learning_rate=-1"], "learning_rate must be"), (["loss=huber", "columns__n_knots=0"], "n_knots must be"),
])
def test_wrong_settings(settings, expected, command):
    code, _, said = command("fit", "train.csv", "-o", "n.npz", "--model", "auto",
                            *itertools.chain(*(("--set", setting) for setting in settings)))
    assert code == 2
    assert expected in said
    assert "Invalid parameter 'loss'" not in said or "class_weight=balanced" in settings


def test_a_map_is_searched_for(command, folder, table):
    X, y = table
    write_csv(folder / "skewed.csv", np.exp(4 * X), y)
    assert command("fit", "skewed.csv", "-o", "a.npz", "--columns", "search", "--holdout", "0.2")[0] == 0
    model = load(folder / "a.npz")
    assert model.columns == "search"
    assert model.column_map_.n_features_in_ == 3
    shown = command("info", "a.npz")[1]
    assert f"chosen columns {', '.join(model.column_map_.numeric)}\n" in shown
    assert "column length  numeric, standard, " in shown
    code, out, _ = command("predict", "a.npz", "test.csv")
    assert (code, len(out.splitlines())) == (0, 101)


def test_complete_numbers_stay_as_they_are(command, folder, table):
    np.savez(folder / "t.npz", X=table[0], y=table[1])
    assert command("fit", "t.npz", "-o", "a.npz")[0] == 0
    assert load(folder / "a.npz").column_map_ is None
    assert "chosen columns as they are\n" in command("info", "a.npz")[1]
    assert command("predict", "a.npz", "t.npz", "-o", "o.npy")[0] == 0
    assert command("fit", "t.npz", "-o", "a.npz", "--set", "columns=all")[0] == 2


def test_max_seconds(folder):
    done = run("fit", "train.csv", "-o", "s.npz", "--max-seconds", "1e-9", cwd=folder)
    assert "training was ended by max_seconds=1e-09 with the best rounds so far" in done.stderr
    assert load(folder / "s.npz").n_estimators_ == 1
    done = run("fit", "train.csv", "-o", "s.npz", "--max-seconds", "1e9", cwd=folder)
    assert "max_seconds" not in done.stderr
    done = run("fit", "train.csv", "-o", "s.npz", "--max-seconds", "9", "--model", "pbrff", cwd=folder, expect=2)
    assert "--max-seconds needs a model that is trained in rounds, which pbrff is not" in done.stderr
    done = run("fit", "train.csv", "-o", "s.npz", "--max-seconds", "-1", cwd=folder, expect=2)
    assert "expected a number of seconds > 0, got '-1'" in done.stderr


def test_an_option_with_two_values_is_refused(folder, capsys):
    fit = ["fit", str(folder / "train.csv"), "-o", str(folder / "n.npz"), "--target"]
    with pytest.raises(SystemExit, match="2"):
        main([*fit, "length", "--target", "width"])
    assert "argument --target: given twice, as 'length' and 'width': leave out one" in capsys.readouterr().err


def test_names_with_commas_have_an_order():
    assert _signs(["a,b=1,c=-1", "d=+1"]) == {"a,b": 1, "c": -1, "d": 1}


def test_columns_with_an_order_and_additive_models(folder):
    """Predictions rise with a column, and its effect does not depend on the others; info shows both."""
    options = ("--model", "fourier_boosting", "--set", "n_estimators=20", "--set", "n_bags=1")
    run("fit", "train.csv", "-o", "order.npz", "--monotone", f"{COLUMNS[0]}=1,{COLUMNS[1]}=-1", "--additive",
        "--pairs", "1", *options, cwd=folder)
    model = load(folder / "order.npz")
    assert model.monotone_constraints == {COLUMNS[0]: 1, COLUMNS[1]: -1}
    X = np.random.default_rng(0).standard_normal((50, 3))
    assert (model.decision_function(X + np.array([1, -1, 0])) >= model.decision_function(X)).all()
    shown = run("info", "order.npz", cwd=folder).stdout
    assert "monotone_constraints" in shown
    assert model.interaction_constraints == 1
    assert ["interactions", *" x ".join(model.interaction_pairs_[0]).split()] in [*map(str.split, shown.splitlines())]


@pytest.mark.parametrize(("options", "message"), [
    (("--monotone", "a=2"), "--monotone takes NAME=SIGN with a sign of 1 or -1, such as age=1,price=-1, got 'a=2'"),
    (("--monotone", "=1"), "got '=1'"),
    (("--monotone", "a=1,a=-1"), "--monotone gives 'a' two values"),
    (("--set", "n_estimators=3", "--set", "n_estimators=4"), "--set gives 'n_estimators' two values"),
    (("--set", "random_state=5", "--seed", "3"), "--seed and --set random_state give two values"),
    (("--monotone", "a=1", "--model", "gbrff2"), "--monotone needs Fourier boosting, which gbrff2 is not"),
    (("--pairs", "3"), "--pairs needs --additive"),
    (("--additive", "--model", "gbrff2"), "--additive needs Fourier boosting, which gbrff2 is not"),
])
def test_wrong_constraints(folder, options, message, capsys):
    assert main(["fit", str(folder / "train.csv"), "-o", str(folder / "n.npz"), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_column_without_a_name_is_shown(folder, table):
    """As spreadsheets write it where rows end with a delimiter."""
    lines = [",".join([*map(str, row), label, ""]) for row, label in zip(*table, strict=True)]
    (folder / "t.csv").write_text("\n".join(["length,width,depth,answer,", *lines]) + "\n")
    done = run("fit", "t.csv", "-o", "new.npz", "--target", "answer", cwd=folder)
    assert "t.csv: empty columns: column 4\n" in done.stderr
    assert "columns not used: a column without a name (all values are missing: leave the column out)\n" in done.stderr
