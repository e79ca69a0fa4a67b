"""What `rffkern fit` takes unless told otherwise: Fourier boosting of labels or of numbers, as the target says."""

import io
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from helpers.command_line import write_csv
from helpers.processes import PATIENCE, started

from rffkern import ColumnMap, load
from rffkern._cli.main import main
from rffkern._cli.training_table import MOST_LABELS, holds_labels

FAST = ["--set", "n_bags=2", "--set", "n_estimators=30"]


def words(*cells):
    return np.array(cells, dtype=np.str_)


@pytest.mark.parametrize(("cells", "expected"), [
    (words("a", "b", "a"), True), (words("0", "1", "1", "0"), True), (words("0", "1"), False),
    (words(*"0011"), True), (words(*["0.5", "1.5"] * 9), False), (words(*["007", "012"] * 3), True),
    (words(*["1", "2", "NA", "2", "1"]), True), (words(*map(str, range(100)), "oops"), False),
    (words(*[f"{k}.5" for k in range(30)], "NA"), False), (words(*[f"A{k}" for k in range(100)], "12"), True),
    (np.arange(200) % MOST_LABELS, True), (np.arange(200) % (MOST_LABELS + 1), False), (np.arange(12), False),
    (np.arange(12) % 2 == 0, True), (np.arange(12) % 2 / 2, False), (np.arange(12.0) % 2, True),
    (np.zeros((12, 2)), False), (np.array([0.0, 1.0, np.nan, 0.0, 1.0, 1.0]), True),
])
def test_labels_or_numbers(cells, expected):
    assert holds_labels([cells]) is expected
    assert holds_labels([cells[:1], cells[1:]]) is expected


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
    assert float(said.split("R^2 on 75 held-out rows: ")[1].split()[0]) > 0.9
    np.savez(folder / "c.npz", X=X, y=(y == "yes").astype(int))
    assert fit(folder, "c.npz") == 0
    assert ("c.npz: target y has 2 distinct whole numbers: classes; --model fourier_boosting_regressor would predict "
            "numbers\n") in capsys.readouterr().err
    assert fit(folder, "c.npz", "--model", "fourier_boosting_regressor") == 0
    assert "distinct" not in capsys.readouterr().err
    assert load(folder / "n.npz").predict(X).dtype == float


def test_parameters_choose_too(folder, table, capsys):
    np.savez(folder / "c.npz", X=table[0], y=(table[1] == "yes").astype(int))
    assert fit(folder, "c.npz", "--set", "loss=huber") == 0
    assert "trained FourierBoostingRegressor" in capsys.readouterr().err
    assert fit(folder, "c.npz", "--set", "colour=1") == 2
    assert "Invalid parameter 'colour' for estimator FourierBoostingClassifier" in capsys.readouterr().err


def test_words_gaps_and_categories(folder, table, capsys):
    """The map of the class takes them; what it does not know of is told to it."""
    X, y = table
    columns = [X[:, 0].astype(str), np.where(X[:, 1] > 0, "up", "down"), (X[:, 2] > 0).astype(int).astype(str)]
    columns[0][::7] = ""
    write_csv(folder / "w.csv", zip(*columns, strict=True), y)
    assert fit(folder, "w.csv") == 0
    said = capsys.readouterr().err
    assert "w.csv: categories: width (2 levels)\n" in said
    assert "w.csv: gaps: length (43 rows)\n" in said
    assert "so columns are mapped" not in said
    assert load(folder / "n.npz").columns == "auto"
    assert fit(folder, "w.csv", "--categorical", "depth") == 0
    model = load(folder / "n.npz")
    assert model.columns.get_params() == ColumnMap(("standard", "rank"), categorical_features=("depth",)).get_params()
    assert [row["kind"] for row in model.column_map_.describe()][-1] == "category"
    assert fit(folder, "w.csv", "--columns", "none") == 65


def test_a_fault_among_numbers_is_named(folder, table, capsys):
    X, _ = table
    target = [str(value) for value in X[:, 0]]
    target[8] = "oops"
    write_csv(folder / "f.csv", X, target)
    assert fit(folder, "f.csv") == 65
    assert "expected a finite number as the target of data row 9, got 'oops'\n" in capsys.readouterr().err
    assert fit(folder, "f.csv", "--reject", str(folder / "r.csv")) == 65
    assert "got 'oops'; --model fourier_boosting_regressor rejects such rows\n" in capsys.readouterr().err
    assert fit(folder, "f.csv", "--reject", str(folder / "r.csv"), "--model", "fourier_boosting_regressor") == 0
    assert "1 of 300 rows rejected" in capsys.readouterr().err


def test_progress_comes_from_the_threads_of_members(folder, monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    tellers = set()
    monkeypatch.setattr("rffkern._cli.output.Progress.show", lambda *_: tellers.add(threading.current_thread().name))
    monkeypatch.setattr("rffkern._training.fourier_boosting.members.check_n_threads", lambda *_: 2)
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
    assert (process.returncode, rest.splitlines()[-1]) == (130, "rffkern: error: interrupted")
    assert "Traceback" not in rest
    assert not (folder / "b.npz").exists()
