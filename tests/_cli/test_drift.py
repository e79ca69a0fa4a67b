"""`rffkern predict` says what is new in the rows: --check and --max-shift."""

import json
import warnings

import numpy as np
import pytest

import rffkern

pytestmark = pytest.mark.slow

N = 3000


def write(path, seed, shifted=False, n=N):
    rng = np.random.default_rng(seed)
    tenure, fare = rng.integers(0, 72, n) * (1000 if shifted else 1), rng.exponential(30, n).round(2)
    words = rng.choice(["monthly", "yearly"] if not shifted else ["weekly", "yearly"], n)
    rows = [f"{a},{b},{c},{c / 10 + (b == 'yearly'):.2f}" for a, b, c in zip(tenure, words, fare, strict=True)]
    path.write_text("\n".join(["tenure,contract,fare,y", *rows]) + "\n")


@pytest.fixture
def trained(command, folder):
    write(folder / "a.csv", 0)
    write(folder / "b.csv", 1)
    write(folder / "c.csv", 2, shifted=True)
    assert command("fit", "a.csv", "-o", "d.npz", "--model", "fourier_boosting_regressor", "--set", "n_estimators=5",
                   "--set", "n_bags=1")[0] == 0
    return folder


def test_rows_like_those_of_training(command, trained):
    code, _, errors = command("predict", "d.npz", "b.csv", "--check", "b.json", "--max-shift", "0.1")
    assert (code, errors) == (0, "")
    found = json.loads((trained / "b.json").read_text())
    assert found == rffkern.load(trained / "d.npz").drift({
        name: np.array([row.split(",")[j] for row in (trained / "b.csv").read_text().splitlines()[1:]],
                       dtype=str if name == "contract" else float)
        for j, name in enumerate(["tenure", "contract", "fare"])})
    assert found["largest_shift"] < 0.1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_shifted_rows(command, trained, jobs):
    expected = command("predict", "d.npz", "c.csv")
    code, out, errors = command("predict", "d.npz", "c.csv", "--check", "c.json", "--max-shift", "0.25", "--jobs", jobs)
    assert (code, out) == (3, expected[1])
    line, error = errors.splitlines()
    assert expected[0] == 0
    assert expected[2] == f"{line}\n"
    assert line.startswith("rows differ from training: 'contract' (")
    assert "% new levels, 'weekly'" in line
    assert "'tenure' (9" in line
    assert "fare" not in line
    assert error.startswith("rffkern: error: c.csv: the shift of column 'contract' is ")
    assert error.endswith("above --max-shift 0.25; the predictions are written [rffkern help E3]")
    found = json.loads((trained / "c.json").read_text())
    assert found["largest_shift_of"] == "contract"
    assert command("predict", "d.npz", "c.csv", "--max-shift", "1000")[0] == 0


def test_many_blocks_and_a_file_of_arrays(command, trained):
    write(trained / "long.csv", 3, n=30_000)
    code, _, errors = command("predict", "d.npz", "long.csv", "-o", "o.csv", "--check", "long.json")
    assert (code, errors) == (0, "")
    found = json.loads((trained / "long.json").read_text())
    assert found["rows"] == 30_000
    assert found["largest_shift"] < 0.05
    log = command("predict", "d.npz", "c.csv", "-o", "o.csv", "--log", "json")[2].splitlines()
    events = [json.loads(line) for line in log]
    assert [event.get("event") for event in events] == ["batch", "drift", None]
    assert events[1]["column"] == "contract"


def test_wrong_uses(command, folder, trained):
    code, _, errors = command("predict", "m.npz", "test.csv", "--check", "k.json")
    assert code == 2
    assert "--check and --max-shift need a model with a column map, m.npz has none" in errors
    code, _, errors = command("predict", "d.npz", "b.csv", "-o", "o.csv", "--check", "o.csv")
    assert code == 2
    assert "OUT and --check must be two files, got 'o.csv' for both" in errors
    code, _, errors = command("predict", "d.npz", "b.csv", "--check", "b.csv")
    assert code == 2
    assert "the output must not be an input" in errors
    assert command("predict", "d.npz", "b.csv", "--max-shift", "-1")[0] == 2
    assert not (folder / "k.json").exists()


def test_a_warning_is_a_line_of_its_own(command, folder):
    """Without the place in the code that Python shows, also among the objects of --log json."""
    (folder / "t.csv").write_text("x,plan,y\n" + "".join(f"{k % 7},{'ab'[k % 2]},{'no' if k % 3 else 'yes'}\n"
                                                          for k in range(60)))
    (folder / "n.csv").write_text("x,plan\n" + "1,A b\n" * 12)
    assert command("fit", "t.csv", "-o", "p.npz", "--set", "n_estimators=2")[0] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        lines = command("predict", "p.npz", "n.csv", "-o", "o.csv")[2].splitlines()
        objects = command("predict", "p.npz", "n.csv", "-o", "o.csv", "--log", "json")[2].splitlines()
    assert lines[0].startswith("no value of column 'plan' of X is a level of training, such as 'a', got 'A b'")
    assert json.loads(objects[0]) == {"message": lines[0]}
