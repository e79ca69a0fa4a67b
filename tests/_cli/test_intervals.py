"""`rffkern predict --interval`: intervals and sets of labels in every kind of output."""

import csv

import numpy as np
import pytest
from helpers.command_line import write_csv

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor, GBRFFRegressor, load, save

pytestmark = pytest.mark.slow


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.fixture
def models(folder, table):
    """Models of numbers, of two targets, of quantiles and of labels, saved, by the names of their files."""
    X, y = table
    target = np.sin(X[:, 0]) + X[:, 1]
    fast = {"n_estimators": 30, "n_bags": 2, "random_state": 0}
    found = {"numbers": FourierBoostingRegressor(**fast).fit(X, target),
             "two": FourierBoostingRegressor(**fast).fit(X, np.column_stack([target, X[:, 2]])),
             "quantiles": FourierBoostingRegressor(loss="quantile", quantile=(0.1, 0.9), **fast).fit(X, target),
             "labels": FourierBoostingClassifier(**fast).fit(X, np.where(y == "yes", "a|b", "c\\d"))}
    for name, model in found.items():
        save(model, folder / f"{name}.npz")
    write_csv(folder / "rows.csv", X)
    return found


@pytest.mark.parametrize(("name", "header"), [
    ("numbers", ["prediction", "lower 80 %", "upper 80 %"]),
    ("quantiles", ["quantile 0.1", "quantile 0.9", "lower 80 %", "upper 80 %"]),
    ("two", ["prediction 0", "prediction 1", "lower 80 % 0", "upper 80 % 0", "lower 80 % 1", "upper 80 % 1"])])
def test_ends_are_columns(command, folder, models, table, name, header):
    assert command("predict", f"{name}.npz", "rows.csv", "-o", "o.csv", "--interval", "0.8")[0] == 0
    names, *lines = read(folder / "o.csv")
    assert names == header
    expected = models[name].predict_interval(table[0], 0.8).reshape(300, -1)
    np.testing.assert_array_equal(np.array(lines, dtype=float)[:, -expected.shape[1] :], expected)


def test_sets_are_labels_in_a_column(command, folder, models, table):
    options = ("--interval", "0.95", "--proba", "--names", "identifiers", "--keep", "depth", "--jobs", "2")
    assert command("predict", "labels.npz", "rows.csv", "-o", "o.csv", *options)[0] == 0
    names, *lines = read(folder / "o.csv")
    assert names == ["depth", "prediction", "probability_a_b", "probability_c_d", "set_95"]
    texts = {(True, True): "a\\|b|c\\\\d", (True, False): "a\\|b", (False, True): "c\\\\d"}
    assert [line[-1] for line in lines] == [texts[tuple(chosen)]
                                            for chosen in models["labels"].predict_set(table[0], 0.95).tolist()]


def test_digits_and_arrow(command, folder, models, table):
    assert command("predict", "numbers.npz", "rows.csv", "-o", "o.csv", "--interval", "0.925", "--round", "2")[0] == 0
    names, first, *_ = read(folder / "o.csv")
    assert names[1] == "lower 92.5 %"
    assert all(len(cell.partition(".")[2]) <= 2 for cell in first)
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, kind in (("numbers", "double"), ("labels", "string")):
        assert command("predict", f"{name}.npz", "rows.csv", "-o", "o.parquet", "--interval", "0.9")[0] == 0
        assert str(parquet.read_table(folder / "o.parquet").schema.types[-1]) == kind


def test_families_without_residuals_get_those_of_other_rows(command, folder, table):
    X, _ = table
    save(GBRFFRegressor(10, random_state=0).fit(X, X[:, 0]), folder / "g.npz")
    code, _, errors = command("predict", "g.npz", "test.csv", "--drop", "answer", "--interval", "0.9")
    assert code == 2
    assert "knows no rows that it was not trained on: train it with --cv 5 or --holdout 0.2, or call " in errors
    write_csv(folder / "r.csv", X, X[:, 0] + X[:, 1] ** 2)
    for options, source in ((("--cv", "4"), "cross-validation"), (("--holdout", "0.3"), "rows of --holdout")):
        assert command("fit", "r.csv", "-o", "n.npz", "--model", "gbrff_regressor", *options, "--set",
                       "n_estimators=20")[0] == 0
        assert load(folder / "n.npz")._out_of_fold["source"] == source
        assert f" rows: {source}\n" in command("info", "n.npz")[1]
        assert command("predict", "n.npz", "r.csv", "--interval", "0.9", "-o", "o.csv")[0] == 0
    assert command("fit", "r.csv", "-o", "n.npz", "--model", "gbrff_regressor", "--cv", "0")[0] == 0
    assert not hasattr(load(folder / "n.npz"), "_out_of_fold")


@pytest.mark.parametrize("target", ["labels", "numbers"])
def test_intervals_of_small_tables_are_those_of_cross_validation(command, folder, target):
    """Rows that bags hold out have chosen their rounds: of noise sets of 80 % contained two labels of three."""
    rng = np.random.default_rng(0)
    contained = []
    for seed in range(6):
        X, y = rng.standard_normal((1040, 3)), rng.standard_normal(1040)
        y = np.where(y > 0, "yes", "no") if target == "labels" else y
        write_csv(folder / "small.csv", X[:40], y[:40])
        assert command("fit", "small.csv", "-o", "n.npz", "--model", "fourier_boosting" if target == "labels" else
                       "fourier_boosting_regressor", "--cv", "5", "--seed", str(seed))[0] == 0
        model = load(folder / "n.npz")
        if target == "labels":
            contained.append(model.predict_set(X[40:], 0.8)[np.arange(1000), (y[40:] == "yes").astype(int)].mean())
        else:
            low, high = model.predict_interval(X[40:], 0.8).T
            contained.append(((low <= y[40:]) & (y[40:] <= high)).mean())
    assert model._out_of_fold["source"] == "cross-validation"
    assert {*model._out_of_fold} >= {"figures"}  # of the rows that bags hold out
    assert np.mean(contained) > 0.75


def test_what_fit_says_of_rows_that_bags_hold_out(command, folder, table):
    fast = ("--model", "fourier_boosting", "--set", "n_estimators=30", "--cv", "0")
    code, _, errors = command("fit", "train.csv", "-o", "n.npz", *fast)
    assert code == 0
    figures = load(folder / "n.npz")._out_of_fold["figures"]
    assert f"of 200 rows held out by bags; the model on {100 * figures['accuracy']:.1f} % +- " in errors
    assert 0.7 < figures["accuracy"] <= 1
    assert "held-out rows  200 rows, accuracy " in command("info", "n.npz")[1]


@pytest.mark.parametrize(("arguments", "message"), [
    (("numbers.npz", "--interval", "0.999"), "coverage must be at most 0.983471 for what is known of 120 rows"),
    (("numbers.npz", "--interval", "0.9", "-o", "o.npy"), "--interval needs a table as OUT, such as a .csv"),
    (("numbers.npz", "--interval", "1"), "expected a number above 0 and below 1, such as 0.9, got '1'")])
def test_wrong_intervals(command, models, arguments, message):
    model, *options = arguments
    code, _, errors = command("predict", model, "rows.csv", *options)
    assert (code, message in errors) == (2, True), errors
