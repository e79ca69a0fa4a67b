"""Files that pandas writes: errors of --eval name their file, equal tables give equal models, large integers."""

import json

import numpy as np
import pytest

import rffkern

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

N = 120
DATES = pandas.Series(pandas.date_range("2021-01-01", periods=N))
KINDS = {"dates": DATES, "dates as text": DATES.dt.strftime("%Y-%m-%d"),
         "words": pandas.Series(["u", "v", "w"] * (N // 3)), "numbers": pandas.Series(np.linspace(0, 1, N).round(3)),
         "truth values": pandas.Series([True, False] * (N // 2))}
FAST = ("-o", "n.npz", "--model", "fourier_boosting", "--set", "kernel_ridge=false", "--set", "n_estimators=2",
        "--set", "n_bags=1")


def write_frame(path, frame):
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)


@pytest.mark.filterwarnings("ignore:no value of:rffkern.errors.ColumnWarning")
@pytest.mark.parametrize("suffixes", [(".csv", ".parquet"), (".parquet", ".csv")], ids=" ".join)
@pytest.mark.parametrize("trained", KINDS)
def test_a_fault_of_eval_names_its_file(trained, suffixes, command, folder):
    X, y = np.random.default_rng(0).standard_normal(N).round(3), ["no", "yes"] * (N // 2)
    for name, column in KINDS.items():
        frame = pandas.DataFrame({"x": X, "when": column, "y": y})
        for suffix in suffixes:
            write_frame(folder / f"{name}{suffix}", frame)
    codes = set()
    for other in KINDS.keys() - {trained}:
        code, _, said = command("fit", trained + suffixes[0], "--eval", other + suffixes[1], *FAST)
        codes.add(code)
        if code:
            assert said.splitlines()[-1].startswith(f"rffkern: error: {other}{suffixes[1]}: ")
            assert "when" in said.splitlines()[-1]
            assert "eval_set" not in said
    assert codes <= {0, 65}
    assert 65 in codes or trained in ("words", "dates as text", "truth values")


def test_faults_of_weights_and_labels_of_eval(command, folder):
    frame = pandas.DataFrame({"x": np.arange(N), "w": np.ones(N), "y": ["no", "yes"] * (N // 2)})
    write_frame(folder / "t.csv", frame)
    for change in ({"w": -1.0}, {"w": 0.0}, {"w": "heavy"}, {"y": "perhaps"}):
        write_frame(folder / "e.csv", frame.assign(**change))
        code, _, said = command("fit", "t.csv", "--eval", "e.csv", "--weight", "w", *FAST)
        assert code == 65
        assert said.splitlines()[-1].startswith("rffkern: error: e.csv: ")


def test_a_column_that_is_called_like_the_rows_of_eval(command, folder):
    frame = pandas.DataFrame({"eval_set": [np.nan, 1e308] * (N // 2), "y": ["no", "yes"] * (N // 2)})
    write_frame(folder / "t.parquet", frame)
    code, _, said = command("fit", "t.parquet", "--eval", "test.csv", *FAST)
    assert code == 65
    assert said.splitlines()[-1].startswith("rffkern: error: t.parquet: ")


LABELS = {"words": ["yes", "no", "perhaps so"], "whole numbers": [0, 1, 7], "large numbers": [2**53 + 1, 2**53, 5]}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_same_bytes(labels, command, folder):
    rng = np.random.default_rng(0)
    x, word = rng.standard_normal(N), rng.choice(["a", "b"], N)
    frame = pandas.DataFrame({"x": x, "c": word, "y": [labels[k] for k in (x > 0).astype(int) + (word == "a")]})
    fitted = rffkern.FourierBoostingClassifier(4, kernel_ridge=False, random_state=0).fit(frame[["x", "c"]], frame["y"])
    assert fitted.score(frame[["x", "c"]], frame["y"]) > 0.9
    for name in ("t.csv", "t.parquet"):
        write_frame(folder / name, frame)
        assert command("fit", name, "-o", "n.npz", "--model", "fourier_boosting", "--set", "kernel_ridge=false",
                       "--set", "n_estimators=4")[0] == 0
        assert (folder / "n.npz").read_bytes() == rffkern.dumps(fitted, metadata={"target": "y", "rows": N})


def test_wide_labels_stay_objects():
    X = np.random.default_rng(0).standard_normal((50, 2))
    y = np.where(X[:, 0] > 0, "a" * 300, "b")
    for given in (y, y.astype(object)):
        fitted = rffkern.GBRFF2Classifier(3, random_state=0).fit(X, given)
        assert fitted.classes_.dtype == object
        assert rffkern.loads(rffkern.dumps(fitted)).predict(X).tolist() == fitted.predict(X).tolist()


X = np.random.default_rng(0).standard_normal(N).round(3)
LARGE = {"signed": 2**62 + np.arange(N), "negative": -(2**60) - np.arange(N),
         "unsigned": np.uint64(2**64 - 1) - np.arange(N, dtype=np.uint64),
         "one of many": np.r_[9007199254740993, np.arange(1, N)],
         "with gaps": pandas.array([None, *(2**60 + k for k in range(1, N))], dtype="Int64")}
FINE = {"just below": 2**53 - 1 - np.arange(N), "floats": 1e20 + 1e10 * np.arange(N)}
FIT = ("-o", "n.npz", "--model", "fourier_boosting", "--set", "kernel_ridge=false", "--set", "n_estimators=2")


def write_ids(folder, name, ids):
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
    write_ids(folder, name, ids)
    options = ("--decimal", ",") if name == "comma.csv" else ()
    warning = f"{name}: column 1 (id) has integers of 2^53 or more, which float64 rounds: if they are identifiers, "
    code, _, said = command("fit", name, *FIT, *options)
    assert code == 0
    assert (warning + "exclude the column (--drop), or list it in --categorical" in said) == (
        not any(ids is each for each in FINE.values()))
    assert "id (constant)" not in said
    assert "2^53" not in command("fit", name, *FIT, *options, "--drop", "id")[2]
    assert "2^53" not in command("fit", name, *FIT, *options, "--categorical", "id")[2]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_predict_tells_them_too(jobs, command, folder):
    write_ids(folder, "small.csv", np.arange(N))
    write_ids(folder, "large.csv", LARGE["one of many"])
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
    evaluated = json.loads(command("evaluate", "n.npz", name, "--target", "y", "--json")[1])
    assert evaluated["accuracy"] == pytest.approx(right)
    wrong = frame.assign(y=np.array(labels, np.uint64)[(X < 0).astype(int)])
    wrong.to_csv(folder / "w.csv", index=False)
    assert "rows: 100" not in command("predict", "n.npz", "w.csv", "--target", "y")[2]
    assert f"rows: {100 - 100 * right:.2f} %" in command("predict", "n.npz", "w.csv", "--target", "y")[2]
