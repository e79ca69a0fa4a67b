"""The rows that `rffkern fit` trains on: roles of columns, targets, labels, and rows in memory or in a file."""

import argparse
import io
import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from helpers.command_line import COLUMNS, run, write_csv
from helpers.processes import PATIENCE, started

from rffkern import GBRFF2Classifier, InvalidInputError, RowBlocks, load, save
from rffkern._cli import training_table
from rffkern._cli.main import main
from rffkern._cli.open_table import open_table
from rffkern._cli.output import RejectedRows
from rffkern._cli.table import as_numbers, is_number
from rffkern._cli.training_table import (
    MAX_INTEGER_LABELS,
    GrowingArray,
    Roles,
    TrainingTable,
    column_roles,
    is_classification,
    matching_roles,
    read_training,
    to_labels,
    to_targets,
)


@pytest.mark.parametrize("n_expected", [0, 3, 5000, 10**30])
@pytest.mark.parametrize("sizes", [[1], [3, 0, 5], [8192] * 3 + [7], [1] * 300])
def test_an_array_that_grows(rng, sizes, n_expected):
    rows = [rng.standard_normal((size, 3)).astype(np.float32) for size in sizes]
    growing = GrowingArray()
    for block in rows:
        growing.add(block, n_expected)
    np.testing.assert_array_equal(growing.array(), np.concatenate(rows))
    assert growing.array().dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_go_to_a_file(rng, monkeypatch, dtype):
    monkeypatch.setattr(training_table, "MAX_BYTES_IN_MEMORY", 1000)
    rows = [rng.standard_normal((size, 3)).astype(dtype) for size in (0, 20, 100, 0, 7)]
    growing = GrowingArray()
    for block in rows:
        growing.add(block)
    found = growing.array()
    growing.close()
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, np.concatenate(rows))
    assert found.dtype == dtype


@pytest.mark.parametrize("header", ["", "a,b,c,y\n"])
@pytest.mark.parametrize("label", ["a", "1"])
def test_rows_in_a_file_are_streamed(rng, monkeypatch, tmp_path, header, label):
    """The model of the same rows as RowBlocks, with the same bits; and that of rows in memory up to rounding."""
    X = rng.standard_normal((3000, 3)).round(3)
    y = np.where(X[:, 0] * X[:, 1] > 0, label, "0")
    lines = [",".join([*map(str, row), word]) for row, word in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "t.csv").write_text(header + "\n".join(lines) + "\n")
    fit = ["fit", str(tmp_path / "t.csv"), "--model", "gbrff2", "--set", "n_estimators=5", "--set", "max_samples=512"]
    assert main([*fit, "-o", str(tmp_path / "held.npz")]) == 0
    monkeypatch.setattr(training_table, "MAX_BYTES_IN_MEMORY", 1000)
    assert main([*fit, "-o", str(tmp_path / "streamed.npz"), "--holdout", "0"]) == 0
    streamed, held = (load(tmp_path / f"{name}.npz") for name in ("streamed", "held"))
    expected = GBRFF2Classifier(5, max_samples=512, random_state=0)
    expected.fit(RowBlocks([X]), y.astype(streamed.classes_.dtype))
    np.testing.assert_array_equal(streamed.decision_function(X), expected.decision_function(X))
    np.testing.assert_allclose(streamed.decision_function(X), held.decision_function(X), atol=1e-4)
    assert streamed.classes_.tolist() == held.classes_.tolist()
    assert list(getattr(streamed, "feature_names_in_", [])) == list(getattr(held, "feature_names_in_", []))


def test_rows_in_a_file_with_words_gaps_and_held_out_rows(rng, monkeypatch, tmp_path):
    """A map holds its columns in memory; the model is that of rows in memory, bit by bit."""
    X = rng.standard_normal((2000, 2)).round(3)
    words = np.where(X[:, 0] > 0, "up", "down")
    lines = [f"{a},{'' if k % 7 == 0 else b},{word},{a * b > 0}" for k, ((a, b), word) in
             enumerate(zip(X.tolist(), words.tolist(), strict=True))]
    (tmp_path / "t.csv").write_text("a,b,w,y\n" + "\n".join(lines) + "\n")
    fit = ["fit", str(tmp_path / "t.csv"), "--model", "gbrff2", "--set", "n_estimators=3", "--holdout", "0.2"]
    assert main([*fit, "-o", str(tmp_path / "held.npz")]) == 0
    monkeypatch.setattr(training_table, "MAX_BYTES_IN_MEMORY", 1000)
    assert main([*fit, "-o", str(tmp_path / "file.npz")]) == 0
    held, file = (load(tmp_path / f"{name}.npz") for name in ("held", "file"))
    np.testing.assert_array_equal(held.expansion_.fourier.amplitudes, file.expansion_.fourier.amplitudes)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_rows_are_divided_in_their_order(rng, share):
    X, y = rng.standard_normal((20_000, 2)), np.arange(20_000)
    held_out = rng.random(20_000) < share
    given = X.copy()
    kept, rest = TrainingTable(X, y, ["a", "b"], [], [0, 1]).split(held_out)
    np.testing.assert_array_equal(kept.X, given[~held_out])
    np.testing.assert_array_equal(rest.X, given[held_out])
    assert (kept.y.tolist(), rest.y.tolist()) == (y[~held_out].tolist(), y[held_out].tolist())
    assert np.shares_memory(kept.X, X) or share == 1.0


def options(**given):
    """What a command gets for the roles of columns."""
    roles = dict.fromkeys(("target", "weight", "time", "groups")) | {"features": [], "drop": []}
    return argparse.Namespace(**roles | given)


def test_rows_of_an_archive_are_not_copied(tmp_path, rng):
    np.savez(tmp_path / "t.npz", X=rng.standard_normal((50, 3)), y=np.arange(50) % 2)
    table = open_table(str(tmp_path / "t.npz"))
    for dropped, shape in (([], (50, 3)), (["1"], (50, 2))):
        found = read_training(table, column_roles(table, options(drop=dropped)), True, RejectedRows(None, None)).X
        assert (found.shape, found is table.X) == (shape, not dropped)


def test_targets_are_read_as_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,y,b\n1,2.5,3\n4,-1e3,6\n")
    table = open_table(str(tmp_path / "t.csv"))
    rows = read_training(table, column_roles(table, options(target="y")), False, RejectedRows(None, None))
    assert (rows.X.tolist(), rows.y.tolist(), rows.names) == ([[1.0, 3.0], [4.0, 6.0]], [2.5, -1000.0], ["a", "b"])


MEASURE = """
import sys
from rffkern._cli.output import RejectedRows
from rffkern._cli.open_table import open_table
from rffkern._cli.training_table import Roles
from rffkern._cli.training_table import read_training
roles = Roles(list(range(100)), 100, None)
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
few = read_training(open_table("few.csv"), roles, True, RejectedRows(None, None)).X.nbytes
before = peak()
rows = read_training(open_table("many.csv"), roles, True, RejectedRows(None, None))
print((rows.X.nbytes - few) // 1024, peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's account of a process's memory")
def test_a_table_is_held_once(tmp_path):
    """More rows take hardly more memory than they hold; two copies of them would take twice as much.

    The few are several blocks, as the many are, so that both have read all that is held beside the rows.
    """
    lines = "".join(",".join(["0.25"] * 100) + f",{label}\n" for label in "ab")
    (tmp_path / "few.csv").write_text(lines * 12_500)
    (tmp_path / "many.csv").write_text(lines * 62_500)
    done = subprocess.run([sys.executable, "-c", MEASURE], cwd=tmp_path, capture_output=True, text=True,
                          timeout=PATIENCE, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    held, taken = map(int, done.stdout.split())
    assert held == 100_000 * 100 * 8 // 1024
    assert taken < 1.35 * held


FEW_ROUNDS = ["--set", "n_estimators=20"]


def opened(folder, header="a,b,c,d"):
    (folder / "t.csv").write_text(f"{header}\n1,2,3,4\n5,6,7,8\n")
    return open_table(str(folder / "t.csv"))


@pytest.mark.slow
@pytest.mark.parametrize(("said", "roles"), [
    ({}, Roles([0, 1, 2], 3, None)), ({"target": "b"}, Roles([0, 2, 3], 1, None)),
    ({"weight": "d"}, Roles([0, 1], 2, 3)), ({"weight": "0", "target": "b"}, Roles([2, 3], 1, 0)),
    ({"features": ["c,a"]}, Roles([0, 2], 3, None)), ({"features": ["d"]}, Roles([3], 2, None)),
    ({"drop": ["d", "a"]}, Roles([1], 2, None)),
    ({"features": ["a"], "weight": "b", "target": "c"}, Roles([0], 2, 1)),
])
def test_roles(tmp_path, said, roles):
    assert column_roles(opened(tmp_path), options(**said)) == roles


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "message"), [
    (["--features", "length", "--target", "length"], "--target and --features must name different columns, got 0 (le"),
    (["--weight", "width", "--drop", "width"], "--weight and --drop must name different columns, got 1 (width) for bo"),
    (["--exclude", "length,width,depth"], "column besides the labels, got 4, all named by --drop, --target"),
])
def test_columns_that_contradict_each_other(folder, arguments, message):
    expect = 2 if "must name" in message else 65
    assert message in run("fit", "train.csv", "-o", "n.npz", *arguments, cwd=folder, expect=expect).stderr


@pytest.mark.slow
def test_the_same_columns_of_another_table(tmp_path):
    table = opened(tmp_path)
    other = tmp_path / "other.csv"
    other.write_text("d,x,b,c,a\n1,2,3,4,5\n")
    assert matching_roles(Roles([0, 1], 2, 3), table, open_table(str(other))) == Roles([4, 2], 3, 0)
    other.write_text("1,2,3,4\n5,6,7,8\n")
    assert matching_roles(Roles([0, 1], 2, 3), table, open_table(str(other))) == Roles([0, 1], 2, 3)


@pytest.mark.slow
def test_weights_are_those_of_fit(folder, table, rng):
    X, y = table
    weights = rng.integers(0, 3, len(X))
    write_csv(folder / "w.csv", np.column_stack([X, weights]), y, [*COLUMNS, "mass"])
    done = run("fit", "w.csv", "-o", "n.npz", "--weight", "mass", "--holdout", "0.2", *FEW_ROUNDS, cwd=folder)
    assert " weighted held-out rows; the model on " in done.stderr
    run("fit", "w.csv", "-o", "n.npz", "--weight", "mass", *FEW_ROUNDS, cwd=folder)
    expected = GBRFF2Classifier(n_estimators=20, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(load(folder / "n.npz").decision_function(X), expected.decision_function(X))


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "message"), [
    ("1,x,1", "data row 2 (line 3), column 1 (w): expected a finite number"),
    ("1,-1,1", "t.csv: sample_weight must"), ("0,0,0", "t.csv: sample_weight must"),
])
def test_weights_that_are_none(tmp_path, weights, message):
    rows = [f"{k},{weight},{'yn'[k % 2]}" for k, weight in enumerate(weights.split(","))]
    (tmp_path / "t.csv").write_text("\n".join(["a,w,y", *rows]))
    assert message in run("fit", "t.csv", "-o", "n.npz", "--weight", "w", cwd=tmp_path, expect=65).stderr


@pytest.mark.slow
def test_eval_stops_training_early(folder):
    arguments = ["--set", "n_estimators=500", "--set", "early_stopping_rounds=5", "--set", "gamma=30"]
    done = run("fit", "train.csv", "-o", "n.npz", "--eval", "test.csv", *arguments, cwd=folder)
    model = load(folder / "n.npz")
    assert len(model.eval_loss_) == len(model.train_loss_) < 500
    assert "of 100 rows of test.csv, which decided when training ended; the model on " in done.stderr
    said = float(done.stderr.split("ended; the model on ")[1].split()[0])
    predicted = run("predict", "n.npz", "test.csv", "-o", "o.csv", "--target", "answer", cwd=folder).stderr
    assert abs(float(predicted.split(": ")[-1].split()[0]) - said) < 0.1


@pytest.mark.slow
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
    assert "on 40 rows of e.csv, which decided when training ended; the model one of " in done.stderr
    assert float(done.stderr.split("R^2 ")[1].split()[0]) > 0.5
    assert len(load(tmp_path / "n.npz").eval_loss_) > 0


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "numbers", "is_told"), [
    ("row", np.arange(200), True), ("row", 7 + np.random.default_rng(0).permutation(200), True),
    ("customer_id", 3 * np.arange(200), True), ("size", 3 * np.arange(200), False),
    ("row", np.arange(200) // 2, False), ("id", np.arange(200) % 9, False),
])
def test_columns_that_number_the_rows_are_told(folder, table, name, numbers, is_told):
    X, y = table
    write_csv(folder / "t.csv", np.column_stack([X[:200], numbers]), y[:200], [*COLUMNS, name])
    done = run("fit", "t.csv", "-o", "n.npz", *FEW_ROUNDS, cwd=folder)
    assert (f"column {name!r} has a different number in each row, like an identifier; " in done.stderr) == is_told


FAST = ["--set", "n_bags=2", "--set", "n_estimators=30"]


def words(*cells):
    return np.array(cells, dtype=np.str_)


@pytest.mark.parametrize(("cells", "expected"), [
    (words("a", "b", "a"), True), (words("0", "1", "1", "0"), True), (words("0", "1"), False),
    (words(*"0011"), True), (words(*["0.5", "1.5"] * 9), False), (words(*["007", "012"] * 3), True),
    (words(*["1", "2", "NA", "2", "1"]), True), (words(*map(str, range(100)), "oops"), False),
    (words(*[f"{k}.5" for k in range(30)], "NA"), False), (words(*[f"A{k}" for k in range(100)], "12"), True),
    (np.arange(200) % MAX_INTEGER_LABELS, True), (np.arange(200) % (MAX_INTEGER_LABELS + 1), False),
    (np.arange(12), False),
    (np.arange(12) % 2 == 0, True), (np.arange(12) % 2 / 2, False), (np.arange(12.0) % 2, True),
    (np.zeros((12, 2)), False), (np.array([0.0, 1.0, np.nan, 0.0, 1.0, 1.0]), True),
])
def test_labels_or_numbers(cells, expected):
    assert is_classification([cells], len(cells)) is expected
    assert is_classification([cells[:1], cells[1:]], len(cells)) is expected


def fit(folder, name, *options):
    """The exit code of a fit with the default model."""
    return main(["fit", str(folder / name), "-o", str(folder / "n.npz"), *FAST, *options])


@pytest.mark.slow
def test_the_table_chooses_the_class(folder, table, capsys):
    X, y = table
    assert fit(folder, "train.csv", "--holdout", "0.25", "--seed", "4") == 0
    said = capsys.readouterr().err
    assert "trained FourierBoostingClassifier on 150 rows of 3 columns" in said
    assert "distinct" not in said
    model = load(folder / "n.npz")
    assert (model.random_state, model.n_bags, model.columns) == (4, 2, "auto")
    write_csv(folder / "p.csv", X, X[:, 0] * 2, target="price")
    assert fit(folder, "p.csv", "--holdout", "0.25") == 0
    said = capsys.readouterr().err
    n_distinct = len(np.unique(X[:, 0]))
    assert f"p.csv: target 'price' has {n_distinct} distinct numbers: regression\n" in said  # they cannot be classes
    assert "trained FourierBoostingRegressor on 225 rows" in said
    assert float(said.split("on 75 held-out rows; the model one of ")[1].split("R^2 ")[1].split()[0]) > 0.9
    write_csv(folder / "c.csv", X, np.full(len(X), 2.5), target="price")
    assert fit(folder, "c.csv") == 0
    assert "target 'price' has the same number in all rows, of which nothing can be" in capsys.readouterr().err
    np.savez(folder / "c.npz", X=X, y=(y == "yes").astype(int))
    assert fit(folder, "c.npz") == 0
    assert ("c.npz: target y has 2 distinct numbers: classification; for regression, pass --model "
            "fourier_boosting_regressor\n") in capsys.readouterr().err
    assert fit(folder, "c.npz", "--model", "fourier_boosting_regressor") == 0
    assert "distinct" not in capsys.readouterr().err
    assert load(folder / "n.npz").predict(X).dtype == float


def test_parameters_choose_too(folder, table, capsys):
    np.savez(folder / "c.npz", X=table[0], y=(table[1] == "yes").astype(int))
    assert fit(folder, "c.npz", "--set", "loss=huber") == 0
    assert "trained FourierBoostingRegressor" in capsys.readouterr().err
    assert fit(folder, "c.npz", "--set", "colour=1") == 2
    assert "Invalid parameter 'colour' for estimator FourierBoostingClassifier" in capsys.readouterr().err


def test_a_fault_among_numbers_is_named(folder, table, capsys):
    X, _ = table
    target = [str(value) for value in X[:, 0]]
    target[8] = "oops"
    write_csv(folder / "f.csv", X, target)
    assert fit(folder, "f.csv") == 65
    assert ("expected a finite number as the target of data row 9, got 'oops'; correct it, or skip such rows with "
            "--model fourier_boosting_regressor --reject FILE") in capsys.readouterr().err
    assert fit(folder, "f.csv", "--reject", str(folder / "r.csv")) == 65
    capsys.readouterr()
    assert fit(folder, "f.csv", "--reject", str(folder / "r.csv"), "--model", "fourier_boosting_regressor") == 0
    assert "1 of 300 rows rejected" in capsys.readouterr().err


def test_progress_comes_from_the_threads_of_members(folder, monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    tellers = set()
    monkeypatch.setattr("rffkern._cli.output.Progress.show", lambda *_: tellers.add(threading.current_thread().name))
    monkeypatch.setattr("rffkern._training.fourier_boosting.bags.check_n_threads", lambda *_: 2)
    assert fit(folder, "train.csv", "--set", "kernel_ridge=false") == 0  # which the main thread trains
    assert tellers
    assert threading.main_thread().name not in tellers
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stderr", stream)
    assert fit(folder, "train.csv") == 0
    drawn = [piece for piece in stream.getvalue().split("\r") if piece.startswith("training [")]
    assert "of 2 bags  train loss" in drawn[0]
    assert "validation loss" in drawn[0]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_ends_a_fit(folder, rng):
    X = rng.standard_normal((20_000, 10))
    np.savez(folder / "big.npz", X=X, y=(X[:, 0] * X[:, 1] + rng.standard_normal(len(X)) > 0).astype(int))
    command = [sys.executable, "-m", "rffkern", "fit", "big.npz", "-o", "b.npz", "--set", "verbose=1", "--set",
               "early_stopping_rounds=null", "--set", "n_estimators=100000"]
    with started(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert any("round 2/" in line for line in process.stdout)  # it trains
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 130
    # A bag beside it may still write a line.
    assert "rffkern: error: interrupted [rffkern help E130]" in rest.splitlines()
    assert "Traceback" not in rest
    assert not (folder / "b.npz").exists()


@pytest.mark.parametrize(("text", "expected"), [("1", True), (" 1e-3 ", True), ("nan", True), ("", False),
                                                ("1,5", False), (".5", True), ("5.", True), (".", False),
                                                ("-Infinity", True), ("1_000", False), ("0x10", False),
                                                ("\uff11\uff12", False), ("\u0661", False), ("+-1", False)])
def test_is_number(text, expected):
    assert is_number(text) is expected


@pytest.mark.parametrize(("words", "expected"), [
    (["1", "2", "1"], [1, 2, 1]), (["1.0", "2"], [1, 2]), (["0.5", "2"], [0.5, 2.0]), (["1", "b"], ["1", "b"]),
    (["1", "1.0"], ["1", "1.0"]), (["9007199254740993", "9007199254740992"], [9007199254740993, 9007199254740992]),
    (["5", "18446744073709551615"], np.array([5, 2**64 - 1], np.uint64)), (["-1", "18446744073709551615"],) * 2,
    (["9007199254740993", "1e3"], [9007199254740993, 1000]),
    (["1e300", "2"], [1e300, 2.0]), (["True", "False"], ["True", "False"]), (["nan", "yes"], ["nan", "yes"]),
    (["007", "8"], ["007", "8"]), (["-01", "1"], ["-01", "1"]), (["+1", "-1"], [1, -1]), (["0", "0.5"], [0.0, 0.5]),
    (["1_000", "2"], ["1_000", "2"]), (["\uff11", "2"], ["\uff11", "2"]), (["0x10", "2"], ["0x10", "2"]),
])
def test_words(words, expected):
    found = to_labels([np.array(words[:1]), np.array(words[1:])], "t.csv")
    np.testing.assert_array_equal(found, np.array(expected))
    assert found.dtype.kind == np.array(expected).dtype.kind


def test_the_type_is_that_of_all_blocks():
    assert to_labels([np.array(["1"]), np.array(["2", "x"])], "t.csv").tolist() == ["1", "2", "x"]


def test_labels_of_an_array_are_kept():
    for labels in (np.array([3, 1], np.uint8), np.array([True, False]), np.array([["1", "2"]])):
        found = to_labels([labels], "t.npz")
        assert found.dtype == labels.dtype
        np.testing.assert_array_equal(found, labels)


def test_as_numbers():
    np.testing.assert_array_equal(as_numbers(np.array([["1", "x"], ["-2.5", ""]])), [[1, np.nan], [-2.5, np.nan]])
    np.testing.assert_array_equal(as_numbers(np.array([b"1", b"x"])), [1, np.nan])
    assert as_numbers(np.array([1, 2], np.int8)).dtype == np.float64


def test_targets():
    found = to_targets([np.array(["1", "2.5"]), np.array(["-3"])], "t.csv")
    assert found.tolist() == [1, 2.5, -3]
    with pytest.raises(InvalidInputError, match=r"t\.csv: expected a finite number .* of data row 3, got 'x'"):
        to_targets([np.array(["1", "2"]), np.array(["x"])], "t.csv")
    with pytest.raises(InvalidInputError, match=r"target of data row 2, got \[2\.0, nan\]"):
        to_targets([np.array([[1.0, 2.0], [2.0, np.nan]])], "t.npz")


@pytest.mark.parametrize("word", ["nan", "inf", "-Infinity", "1e400"])
def test_numbers_that_are_no_labels(word):
    with pytest.raises(InvalidInputError, match=rf"t\.csv: .* number as the label of data row 3, got '{word}'"):
        to_labels([np.array(["1", "2"]), np.array([word, "1"])], "t.csv")
    with pytest.raises(InvalidInputError, match=r"t\.npz: .* as the label of data row 2, got nan"):
        to_labels([np.array([1.0, np.nan])], "t.npz")


@pytest.mark.parametrize(("cell", "said"), [
    ("{0}", "21 distinct numbers: classification; for regression, pass --model fourier_boosting_regressor"),
    ("2024-03-{1}", "21 distinct values that are no numbers: classification"),
    ("{2}", "21 distinct values, of which 'N/A' is no number: classification"),
    ("{0:03d}", "21 distinct values, which are read as labels: classification")])
def test_a_classifier_of_many_labels(command, folder, cell, said):
    (folder / "t.csv").write_text("x,y\n" + "".join(f"{k},{cell.format(k % 21, 10 + k % 21, k % 21 or 'N/A')}\n"
                                             for k in range(84)))
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", "--model", "gbrff2", "--set", "n_estimators=1")
    assert code == 0
    assert f"t.csv: target 'y' has {said}\n" in errors
    code, _, errors = command("fit", "train.csv", "-o", "p.npz", "--model", "gbrff2", "--set", "n_estimators=1")
    assert (code, "distinct" in errors) == (0, False)


def fitted(capsysbinary):
    """What `rffkern fit` says of t.csv, where the target decides between classes and numbers."""
    assert main(["fit", "t.csv", "-o", "p.npz", "--cv", "0", "--set", "n_estimators=5"]) == 0
    return capsysbinary.readouterr().err.decode()


@pytest.mark.parametrize(("cells", "delimiter", "read"), [
    ([f"{1 + k % 9},{37 * k % 1000:03d}" for k in range(60)], ",", "'1,000' is read as 1000"),
    ([f"${1 + k}.{k:02d}" for k in range(60)], ",", "'$1.00' is read as 1"),
    ([f"{1 + k},{k:02d}" for k in range(60)], ";", "'1,00' is read as 1"),
    ([f"{k}.5 %" for k in range(60)], ",", "'0.5 %' is read as 0.005")])
def test_targets_with_marks_are_numbers(command, folder, capsysbinary, cells, delimiter, read):
    """As columns are read; in `evaluate`, too, where no row may be left out because of them."""
    (folder / "t.csv").write_text(f"x{delimiter}price\n" + "".join(
        f'{k % 17}{delimiter}"{cell}"\n' for k, cell in enumerate(cells)))
    errors = fitted(capsysbinary)
    assert "'price' has 60 distinct numbers: regression" in errors
    assert read in errors
    _, out, errors = command("evaluate", "p.npz", "t.csv")
    assert "60 rows" in out
    assert "left out" not in errors
    _, _, errors = command("predict", "p.npz", "t.csv", "-o", "out.csv", "--target", "price")
    assert "R^2 on 60 rows" in errors


def test_targets_are_read_as_those_of_the_training(command, folder, capsysbinary):
    """The decimal comma of 1,25 holds for 1,375, which alone would be 1375; that of --decimal holds as before."""
    weights = [1 + k / 8 for k in range(60)]
    cells = [f"{weight:.3f}".rstrip("0").replace(".", ",") for weight in weights]
    (folder / "t.csv").write_text("x;kg\n" + "".join(f"{k};{cell}\n" for k, cell in enumerate(cells)))
    (folder / "e.csv").write_text("x;kg\n" + "".join(f"{k};{cell}\n" for k, cell in enumerate(cells) if len(cell) == 5))
    fitted(capsysbinary)
    assert load(folder / "p.npz").metadata_["target_format"] == ","
    for more in ((), ("--decimal", ",")):
        assert json.loads(command("evaluate", "p.npz", "e.csv", "--json", *more)[1])["constant"]["mae"] < 10
    assert command("report", "p.npz", "e.csv", "-o", "r.html", "--json", "r.json")[0] == 0
    assert "1375" not in (folder / "r.json").read_text()
    model = load(folder / "p.npz")
    for odd in ("kg", 7):  # metadata may be anything
        save(model, folder / "odd.npz", metadata={"target": "kg", "target_format": odd})
        assert command("evaluate", "odd.npz", "t.csv")[0] == 0
    _, _, errors = command("predict", "p.npz", "e.csv", "-o", "out.csv", "--target", "kg")
    assert "R^2 on 30 rows: 1.0000" in errors
    for model in ("auto", "fourier_boosting_regressor"):
        options = "-o", "p.npz", "--cv", "0", "--set", "n_estimators=5", "--eval", "e.csv", "--model", model
        assert command("fit", "t.csv", *options)[0] == 0
        assert load(folder / "p.npz").metadata_["eval"]["rmse"] < 10
        assert load(folder / "p.npz").metadata_["target_format"] == ","


@pytest.mark.parametrize(("cells", "read"), [
    ([f"${1 + k % 9},{37 * k % 1000:03d}" for k in range(60)], lambda cell: float(cell[1:].replace(",", ""))),
    ([f"{1 + k},{k:02d}" for k in range(60)], lambda cell: float(cell.replace(",", "."))),
    ([f"{k}.5 kg" for k in range(60)], lambda cell: float(cell[:-3]))])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_regressor_that_is_named_reads_targets_with_marks(command, folder, cells, read, ending):
    """Also where a parameter names it, and targets of an evaluation table."""
    rows = "".join(f'{k % 17};"{cell}"\n' for k, cell in enumerate(cells))
    (folder / "t.csv").write_text("x;price\n" + rows)
    if ending == "parquet":
        parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(pyarrow.table({"x": [k % 17 for k in range(60)], "price": cells}), folder / "t.parquet")
    options = "fit", f"t.{ending}", "-o", "p.npz", "--cv", "0", "--set", "n_estimators=5", "--model", "auto"
    assert command(*options)[0] == 0
    chosen = load(folder / "p.npz")
    for more in (("--model", "fourier_boosting_regressor"), ("--set", "loss=squared_error")):
        code, _, errors = command(*options, *more)
        assert (code, f"target 1 (price): {cells[0]!r} is read as {read(cells[0]):.15g}\n" in errors) == (0, True)
        assert load(folder / "p.npz").predict({"x": [3.0, 5.0]}).tolist() == chosen.predict({"x": [3.0, 5.0]}).tolist()
    assert command(*options, "--eval", f"t.{ending}")[0] == 0
    mean = np.mean([read(cell) for cell in cells])
    assert abs(chosen.predict({"x": [8.0]})[0] - mean) < 5 * mean


def test_rows_whose_target_is_no_number_are_rejected(command, folder):
    """By a regressor that is named, as the message of the automatic choice says, also among targets with marks."""
    cells = [f"${1 + k % 9},{37 * k % 1000:03d}" for k in range(60)]
    cells[4], cells[7], cells[9] = "N/A", "k.A.", ""
    (folder / "t.csv").write_text("x;price\n" + "".join(f"{k % 17};{cell}\n" for k, cell in enumerate(cells) if cell))
    options = "fit", "t.csv", "-o", "p.npz", "--cv", "0", "--set", "n_estimators=5", "--model", "auto"
    code, _, errors = command(*options)
    assert code == 65
    assert "got 'N/A'; correct it, or skip such rows with --model fourier_boosting_regressor --reject FILE" in errors
    (folder / "t.csv").write_text("x;price\n" + "".join(f"{k % 17};{cell}\n" for k, cell in enumerate(cells)))
    code, _, errors = command(*options, "--model", "fourier_boosting_regressor", "--reject", "r.csv")
    assert (code, "3 of 60 rows rejected: r.csv" in errors) == (0, True)
    assert [line.split(",")[0] for line in (folder / "r.csv").read_text().splitlines()[1:]] == ["5", "8", "10"]


def test_a_regressor_that_gets_labels_says_what_to_train(command, folder):
    (folder / "t.csv").write_text("x,left\n" + "".join(f"{k % 17},{'no' if k % 3 else 'yes'}\n" for k in range(60)))
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", "--model", "auto", "--set", "loss=huber")
    assert code == 65
    assert ("column 1 (left): expected a finite number, got 'yes': skip such rows with --reject FILE, or, if these are "
            "labels, train --model fourier_boosting") in errors


def test_few_numbers_with_units_stay_labels(command, folder, capsysbinary):
    (folder / "t.csv").write_text("x,size\n" + "".join(f"{k % 7},{5 + 5 * (k % 2)} kg\n" for k in range(60)))
    fitted(capsysbinary)
    assert load(folder / "p.npz").classes_.tolist() == ["10 kg", "5 kg"]


def test_a_word_among_targets_is_named(command, folder, capsysbinary):
    (folder / "t.csv").write_text("x,price\n" + "".join(f"{k % 17},{600 + k}\n" for k in range(60)))
    (folder / "e.csv").write_text('x,price\n1,"1,400"\n2,700\n3,\n4,abc\n')
    fitted(capsysbinary)
    for arguments in (("evaluate", "p.npz", "e.csv"), ("report", "p.npz", "e.csv", "-o", "r.html"),
                      ("predict", "p.npz", "e.csv", "-o", "out.csv", "--target", "price")):
        code, _, errors = command(*arguments)
        assert code == 65
        assert ("e.csv: column 1 (price): expected numbers as targets, as in training, got 'abc'; correct it, leave "
                "the cell empty, or pass --missing=abc if it means a missing value") in errors
        assert command(*arguments, "--missing=abc")[0] == 0


def test_labels_that_differ_in_case_alone_are_named(command, folder, capsysbinary):
    labels = ["No" if k % 2 else "no" if k % 6 == 0 else "Yes" for k in range(60)]
    (folder / "t.csv").write_text("x,left\n" + "".join(f"{k % 17},{label}\n" for k, label in enumerate(labels)))
    assert ("t.csv: labels that differ in case alone become classes of their own: 'no' (10 rows) and 'No' (30 rows); "
            "if they mean the same, write them alike\n") in fitted(capsysbinary)
    text = (folder / "t.csv").read_text()
    (folder / "t.csv").write_text(text.replace("Yes", "no"))
    assert fitted(capsysbinary).count("differ in case alone") == 1
    (folder / "t.csv").write_text(text.replace("1,Yes", "1,YES"))
    assert "'No' (30 rows) (and 1 more such group);" in fitted(capsysbinary)
    (folder / "t.csv").write_text(text.replace("no", "No"))
    assert "differ in case" not in fitted(capsysbinary)


@pytest.mark.parametrize("form", ["2024-{:02d}-{:02d}", "{1}/{0}/2024"])
def test_a_target_of_many_dates_is_refused(command, folder, form):
    """With what to do; few dates are labels, and many where the user asks for a classifier."""
    days = [(1 + k % 2, 1 + k % 28) for k in range(84)]
    rows = [f"{k % 17},{form.format(*each)}\n" for k, each in enumerate(days)]
    (folder / "t.csv").write_text("".join(["x,when\n", *rows]))
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", "--model", "auto")
    assert code == 65
    assert (f"t.csv: target 'when' has 28 different dates, such as {form.format(1, 1)!r}: write them as numbers, such "
            "as days since the first one, or name another column by --target; if each date is a class, pass --model "
            "fourier_boosting ") in errors
    assert command("fit", "t.csv", "-o", "p.npz", "--model", "gbrff2", "--set", "n_estimators=2")[0] == 0
    code, _, errors = command("fit", "t.csv", "-o", "p.npz", "--model", "gbrff_regressor")
    assert code == 65
    assert f"t.csv: target 1 (when): expected numbers, got dates such as {form.format(1, 1)!r}: write them" in errors
    (folder / "t.csv").write_text("".join(["x,when\n", *rows[:28]]))  # no date twice
    assert "--model" not in command("fit", "t.csv", "-o", "p.npz", "--model", "auto")[2]
    (folder / "t.csv").write_text("".join(["x,when\n", *rows[:8] * 3]))
    assert command("fit", "t.csv", "-o", "p.npz", "--model", "auto", "--set", "n_estimators=2")[0] == 0


def test_a_target_of_another_text_in_each_row_is_refused(command, folder):
    rows = [f"{k % 17},comment {k}\n" for k in range(60)]
    (folder / "t.csv").write_text("x,said\n" + "".join(rows))
    code, _, errors = command("fit", "t.csv", "-o", "p.npz")
    assert code == 65
    assert ("t.csv: target 'said' has another text in each of 60 rows, such as 'comment 0': name the column of labels "
            "by --target [rffkern help E65]") in errors
    (folder / "t.csv").write_text("x,said\n" + "".join(rows + rows[:10]))
    _, _, errors = command("fit", "t.csv", "-o", "p.npz", "--model", "gbrff2", "--set", "n_estimators=2", "--cv", "0")
    assert ("target 'said' has 60 distinct values that are no numbers: classification; most rows have one of "
            "their own: --target names another column\n") in errors


def test_labels_that_may_mean_missing_ones_are_named(command, folder, capsysbinary):
    labels = ["NA" if k % 6 == 0 else k % 2 for k in range(60)]
    (folder / "t.csv").write_text("x,left\n" + "".join(f"{k % 17},{label}\n" for k, label in enumerate(labels)))
    errors = fitted(capsysbinary)
    assert "10 rows have the label 'NA', which becomes a class" in errors
