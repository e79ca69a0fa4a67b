"""The rows that `rffkern fit` trains on, which are held once."""

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.processes import PATIENCE

from rffkern import GBRFF2Classifier, RowBlocks, load
from rffkern._cli import training_table
from rffkern._cli.main import main
from rffkern._cli.table import open_table
from rffkern._cli.training_table import GatheredRows, TrainingTable, read_training, roles_of


@pytest.mark.parametrize("n_expected", [0, 3, 5000, 10**30])
@pytest.mark.parametrize("sizes", [[1], [3, 0, 5], [8192] * 3 + [7], [1] * 300])
def test_an_array_that_grows(rng, sizes, n_expected):
    rows = [rng.standard_normal((size, 3)).astype(np.float32) for size in sizes]
    growing = GatheredRows()
    for block in rows:
        growing.add(block, n_expected)
    np.testing.assert_array_equal(growing.array(), np.concatenate(rows))
    assert growing.array().dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_go_to_a_file(rng, monkeypatch, dtype):
    monkeypatch.setattr(training_table, "HELD_BYTES", 1000)
    rows = [rng.standard_normal((size, 3)).astype(dtype) for size in (0, 20, 100, 0, 7)]
    growing = GatheredRows()
    for block in rows:
        growing.add(block)
    found = growing.array()
    growing.close()
    assert training_table.is_in_file(found)
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
    monkeypatch.setattr(training_table, "HELD_BYTES", 1000)
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
    monkeypatch.setattr(training_table, "HELD_BYTES", 1000)
    assert main([*fit, "-o", str(tmp_path / "file.npz")]) == 0
    held, file = (load(tmp_path / f"{name}.npz") for name in ("held", "file"))
    np.testing.assert_array_equal(held.expansion_.amplitudes, file.expansion_.amplitudes)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_rows_are_divided_in_their_order(rng, share):
    X, y = rng.standard_normal((20_000, 2)), np.arange(20_000)
    held_out = rng.random(20_000) < share
    given = X.copy()
    kept, rest = TrainingTable(X, y, ["a", "b"], [], [0, 1]).divided(held_out)
    np.testing.assert_array_equal(kept.X, given[~held_out])
    np.testing.assert_array_equal(rest.X, given[held_out])
    assert (kept.y.tolist(), rest.y.tolist()) == (y[~held_out].tolist(), y[held_out].tolist())
    assert np.shares_memory(kept.X, X) or share == 1.0


def test_rows_of_an_archive_are_not_copied(tmp_path, rng):
    np.savez(tmp_path / "t.npz", X=rng.standard_normal((50, 3)), y=np.arange(50) % 2)
    table = open_table(str(tmp_path / "t.npz"))
    assert read_training(table, roles_of(table, None, None, [], []), True, None).X is table.X
    assert read_training(table, roles_of(table, None, None, [], ["1"]), True, None).X.shape == (50, 2)


def test_targets_are_read_as_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,y,b\n1,2.5,3\n4,-1e3,6\n")
    table = open_table(str(tmp_path / "t.csv"))
    rows = read_training(table, roles_of(table, "y", None, [], []), False, None)
    assert (rows.X.tolist(), rows.y.tolist(), rows.names) == ([[1.0, 3.0], [4.0, 6.0]], [2.5, -1000.0], ["a", "b"])


MEASURE = """
import sys
from rffkern._cli.table import open_table
from rffkern._cli.training_table import Roles
from rffkern._cli.training_table import read_training
roles = Roles(list(range(100)), 100, None)
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
few = read_training(open_table("few.csv"), roles, True, None).X.nbytes
before = peak()
rows = read_training(open_table("many.csv"), roles, True, None)
print((rows.X.nbytes - few) // 1024, peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's account of a process's memory")
def test_a_table_is_held_once(tmp_path):
    """More rows take hardly more memory than they hold; two copies of them would take twice as much.

    The few are several blocks, as the many are, so that both have read all that is held beside the rows.
    """
    line = ",".join(["0.25"] * 100) + ",a\n"
    (tmp_path / "few.csv").write_text(line * 25_000)
    (tmp_path / "many.csv").write_text(line * 125_000)
    done = subprocess.run([sys.executable, "-c", MEASURE], cwd=tmp_path, capture_output=True, text=True,
                          timeout=PATIENCE, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    held, taken = map(int, done.stdout.split())
    assert held == 100_000 * 100 * 8 // 1024
    assert taken < 1.35 * held
