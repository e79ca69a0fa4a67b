"""What `rffkern fit` says of faults: the file that has them, and the parameter that is wrong."""

import itertools

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

N = 120
DATES = pandas.Series(pandas.date_range("2021-01-01", periods=N))
KINDS = {"dates": DATES, "dates as text": DATES.dt.strftime("%Y-%m-%d"),
         "words": pandas.Series(["u", "v", "w"] * (N // 3)), "numbers": pandas.Series(np.linspace(0, 1, N).round(3)),
         "truth values": pandas.Series([True, False] * (N // 2))}
FAST = ("-o", "n.npz", "--model", "fourier_boosting", "--set", "kernel_ridge=false", "--set", "n_estimators=2",
        "--set", "n_bags=1")


def write(path, frame):
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)


@pytest.mark.parametrize("suffixes", [*itertools.product([".csv", ".parquet"], repeat=2)], ids=" ".join)
@pytest.mark.parametrize("trained", KINDS)
def test_a_fault_of_eval_names_its_file(trained, suffixes, command, folder):
    X, y = np.random.default_rng(0).standard_normal(N).round(3), ["no", "yes"] * (N // 2)
    for name, column in KINDS.items():
        frame = pandas.DataFrame({"x": X, "when": column, "y": y})
        for suffix in suffixes:
            write(folder / f"{name}{suffix}", frame)
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
    write(folder / "t.csv", frame)
    for change in ({"w": -1.0}, {"w": 0.0}, {"w": "heavy"}, {"y": "perhaps"}):
        write(folder / "e.csv", frame.assign(**change))
        code, _, said = command("fit", "t.csv", "--eval", "e.csv", "--weight", "w", *FAST)
        assert code == 65
        assert said.splitlines()[-1].startswith("rffkern: error: e.csv: ")


def test_a_column_that_is_called_like_the_rows_of_eval(command, folder):
    frame = pandas.DataFrame({"eval_set": [np.nan, 1e308] * (N // 2), "y": ["no", "yes"] * (N // 2)})
    write(folder / "t.parquet", frame)
    code, _, said = command("fit", "t.parquet", "--eval", "test.csv", *FAST)
    assert code == 65
    assert said.splitlines()[-1].startswith("rffkern: error: t.parquet: ")


@pytest.mark.parametrize(("settings", "expected"), [
    (["loss=pinball"], "loss must be one of 'squared_error', 'huber', 'quantile', 'poisson', got 'pinball'"),
    (["loss=quantile", "quantile=0.1,0.5,0.9"],
     "quantile must be a number, or several in ascending order, such as [0.1, 0.5, 0.9], got '0.1,0.5,0.9'"),
    (["loss=quantile", "quantile=2"], "quantile must be a finite number >= 1e-06 and <= 0.999999, got 2"),
    (["loss=huber", "n_bags=0"], "n_bags must be an integer >= 1 and <= 1000, got 0"),
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
