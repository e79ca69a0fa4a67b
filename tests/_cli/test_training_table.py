"""The rows that `rffkern fit` trains on, which are held once."""

import os
import subprocess
import sys

import numpy as np
import pytest

from rffkern._cli.readers import open_table
from rffkern._cli.roles import roles_of
from rffkern._cli.training_table import TrainingTable, _GrowingArray, read_training


@pytest.mark.parametrize("sizes", [[1], [3, 0, 5], [8192] * 3 + [7], [1] * 300])
def test_an_array_that_grows(rng, sizes):
    rows = [rng.standard_normal((size, 3)).astype(np.float32) for size in sizes]
    growing = _GrowingArray()
    for block in rows:
        growing.add(block)
    np.testing.assert_array_equal(growing.array(), np.concatenate(rows))
    assert growing.array().dtype == np.float32


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_rows_are_divided_in_their_order(rng, share):
    X, y = rng.standard_normal((20_000, 2)), np.arange(20_000)
    held_out = rng.random(20_000) < share
    given = X.copy()
    kept, rest = TrainingTable(X, y, ["a", "b"], []).divided(held_out)
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
from rffkern._cli.readers import open_table
from rffkern._cli.roles import Roles
from rffkern._cli.training_table import read_training
roles = Roles(list(range(100)), 100, None)
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
read_training(open_table("few.csv"), roles, True, None)
before = peak()
rows = read_training(open_table("many.csv"), roles, True, None)
print(rows.X.nbytes // 1024, peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's account of a process's memory")
def test_a_table_is_held_once(tmp_path):
    """Reading takes hardly more memory than the rows; two copies of them would take twice as much."""
    line = ",".join(["0.25"] * 100) + ",a\n"
    (tmp_path / "few.csv").write_text(line * 9000)
    (tmp_path / "many.csv").write_text(line * 60_000)
    done = subprocess.run([sys.executable, "-c", MEASURE], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    held, taken = map(int, done.stdout.split())
    assert held == 60_000 * 100 * 8 // 1024
    assert taken < 1.35 * held
