"""Whole numbers that float64 rounds, in every file that `rffkern` reads."""

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

N = 120
X = np.random.default_rng(0).standard_normal(N).round(3)
LARGE = {"signed": 2**62 + np.arange(N), "negative": -(2**60) - np.arange(N),
         "unsigned": np.uint64(2**64 - 1) - np.arange(N, dtype=np.uint64),
         "one of many": np.r_[9007199254740993, np.arange(1, N)],
         "with gaps": pandas.array([None, *(2**60 + k for k in range(1, N))], dtype="Int64")}
FINE = {"just below": 2**53 - 1 - np.arange(N), "floats": 1e20 + 1e10 * np.arange(N)}
FIT = ("-o", "n.npz", "--model", "fourier_boosting", "--set", "kernel_ridge=false", "--set", "n_estimators=2")


def write(folder, name, ids):
    frame = pandas.DataFrame({"x": X, "id": ids, "y": np.where(X > 0, "yes", "no")})
    if name.endswith(".parquet"):
        frame.to_parquet(folder / name)
    elif name == "comma.csv":
        frame.to_csv(folder / name, index=False, sep=";", decimal=",")
    else:
        frame.to_csv(folder / name, index=False)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "comma.csv"])
@pytest.mark.parametrize("ids", [*LARGE.values(), *FINE.values()], ids=[*LARGE, *FINE])
def test_they_are_told(ids, name, command, folder):
    write(folder, name, ids)
    options = ("--decimal", ",") if name == "comma.csv" else ()
    warning = f"{name}: column 1 (id) has integers of 2^53 or more, which float64 rounds: if they are identifiers, "
    code, _, said = command("fit", name, *FIT, *options)
    assert code == 0
    assert (warning + "leave the column out (--drop), or name it in --categorical" in said) == (
        not any(ids is each for each in FINE.values()))
    assert "id (constant)" not in said
    assert "2^53" not in command("fit", name, *FIT, *options, "--drop", "id")[2]
    assert "2^53" not in command("fit", name, *FIT, *options, "--categorical", "id")[2]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_predict_tells_them_too(jobs, command, folder):
    write(folder, "small.csv", np.arange(N))
    write(folder, "large.csv", LARGE["one of many"])
    assert command("fit", "small.csv", *FIT)[0] == 0
    assert "large.csv: column 1 (id) has integers of 2^53 or more" in command(
        "predict", "n.npz", "large.csv", "--jobs", jobs)[2]
    assert "2^53" not in command("predict", "n.npz", "small.csv", "--jobs", jobs)[2]


def test_an_archive(command, folder):
    np.savez(folder / "t.npz", X=np.column_stack([np.arange(N), LARGE["signed"]]), y=X > 0)
    assert "t.npz: column 1 (the first is 0) has integers of 2^53 or more" in command("fit", "t.npz", *FIT)[2]


@pytest.mark.parametrize("labels", [[2**64 - 2, 2**64 - 1], [2**53, 2**53 + 1]], ids=str)
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_as_labels(labels, name, command, folder):
    """They are told apart in training, in predictions and in the score."""
    frame = pandas.DataFrame({"x": X, "y": np.array(labels, np.uint64)[(X > 0).astype(int)]})
    frame.to_csv(folder / name, index=False) if name.endswith("csv") else frame.to_parquet(folder / name)
    assert command("fit", name, *FIT)[0] == 0
    code, out, said = command("predict", "n.npz", name, "--target", "y")
    assert code == 0
    predicted = [int(line) for line in out.split()[1:]]
    assert {*predicted} == {*labels}
    right = np.mean([a == b for a, b in zip(predicted, frame["y"].tolist(), strict=True)])
    assert f"accuracy on {N} rows: {100 * right:.2f} %" in said
    assert right > 0.9
    wrong = frame.assign(y=np.array(labels, np.uint64)[(X < 0).astype(int)])
    wrong.to_csv(folder / "w.csv", index=False)
    assert "rows: 100" not in command("predict", "n.npz", "w.csv", "--target", "y")[2]
    assert f"rows: {100 - 100 * right:.2f} %" in command("predict", "n.npz", "w.csv", "--target", "y")[2]
