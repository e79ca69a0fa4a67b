"""`rffkern compare`: the same folds for all, differences, and tables with words, dates and missing values."""

import json
from argparse import Namespace

import numpy as np
import pytest

from rffkern._cli import compare
from rffkern._cli.training_table import TrainingTable
from rffkern._estimator.evaluation import Evaluation, Predictions

pytestmark = pytest.mark.slow

LIBRARIES = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "CatBoost": "catboost", "HistGradientBoosting": "sklearn"}


def compared(command, *arguments):
    code, out, errors = command("compare", *arguments, "--json")
    assert code == 0, errors
    return json.loads(out)


@pytest.fixture
def people(folder):
    """A table of words, dates, numbers with gaps, and two targets."""
    rng = np.random.default_rng(0)
    n_rows = 240
    color, x = rng.integers(0, 3, n_rows), rng.standard_normal(n_rows)
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, n_rows)
    price = 2 * x + np.array([0, 4, -4])[color] + 0.3 * rng.standard_normal(n_rows)
    lines = [f"{'' if k % 9 == 0 else np.array(['red', 'blue', 'green'])[color[k]]},{'' if k % 7 == 0 else x[k]:.5},"
             f"{days[k]},{k % 4},{'yes' if price[k] > 0 else 'no'},{price[k]:.3f}" for k in range(n_rows)]
    (folder / "people.csv").write_text("\n".join(["color,x,day,code,answer,price", *lines]) + "\n")
    return folder


def test_the_best_comes_first_and_differences_are_of_the_same_rows(command, people):
    found = compared(command, "people.csv", "--target", "answer", "--drop", "price", "--cv", "3", "--models",
                     "constant,logistic regression,gbrff2", "--categorical", "code")
    names = [row["model"] for row in found["models"]]
    assert names[-1] == "constant"
    losses = [row["log_loss"] for row in found["models"]]
    assert losses == sorted(losses)
    for row in found["models"]:
        assert row["difference"] == pytest.approx(row["log_loss"] - losses[0])
        assert (row["rows"], row["bytes"] > 0) == (240, True)
    assert found["models"][0]["difference_error"] == 0
    assert found["summary"].startswith(f"{names[0]} has the best log loss on 240 rows of people.csv in 3-fold")
    by_area = compared(command, "people.csv", "--target", "answer", "--drop", "price", "--cv", "3", "--models",
                       "constant,logistic regression", "--metric", "roc_auc", "--seed", "1")
    assert [row["model"] for row in by_area["models"]] == ["logistic regression", "constant"]
    assert by_area["models"][1]["difference"] > 0.2


def test_a_regression_by_groups_in_a_table(command, people):
    code, out, _ = command("compare", "people.csv", "--target", "price", "--drop", "answer", "--cv", "3", "--groups",
                           "code", "--models", "constant,ridge regression")
    assert code == 0
    assert out.startswith("ridge regression has the best root mean squared error on 240 rows of people.csv in 3-fold "
                          "cross-validation of groups, by more than 2 standard errors of each difference")
    header, best, constant = (line.split() for line in out.splitlines()[2:5])
    assert " ".join(header) == "root mean squared error behind R^2 mean absolute error fit a row bytes"
    assert (best[0], constant[0]) == ("ridge", "constant")
    assert "one standard error" in out


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("target", ["answer", "price"])
def test_libraries_take_words_and_missing_values(command, people, library, target):
    pytest.importorskip(LIBRARIES[library])
    found = compared(command, "people.csv", "--target", target, "--drop", "price" if target == "answer" else "answer",
                     "--cv", "2", "--models", f"constant,{library}", "--threads", "1")
    assert [row["model"] for row in found["models"]] == [library, "constant"]
    assert found["failed"] == {}


def test_families_of_this_package(command, people, monkeypatch):
    from rffkern import FourierBoostingRegressor, KernelRidgeRegressor

    monkeypatch.setattr(FourierBoostingRegressor, "_check_params", lambda self: self.set_params(n_estimators=20))
    monkeypatch.setattr(KernelRidgeRegressor, "_check_params", lambda self: self.set_params(length_scale=1.0))
    found = compared(command, "people.csv", "--target", "price", "--drop", "answer", "--cv", "2", "--models",
                     "constant,kernel_ridge_regressor,fourier_boosting_regressor")
    assert {row["model"] for row in found["models"][:2]} == {"kernel_ridge_regressor", "fourier_boosting_regressor"}


def test_a_model_that_fails_is_named(command, people, monkeypatch):
    def fail(*arguments):
        raise compare.RFFKernError("too many\nrows")

    monkeypatch.setattr(compare, "_linear", fail)
    code, out, errors = command("compare", "people.csv", "--target", "price", "--drop", "answer", "--cv", "2",
                                "--models", "constant,ridge regression", "--json")
    assert code == 0
    assert "ridge regression failed: too many\n" in errors
    assert json.loads(out)["failed"] == {"ridge regression": "too many"}


@pytest.mark.parametrize(("n_rare", "said"), [
    (1, "; not told from it by 2 standard errors: b"), (9, ", by more than 2 ")])
def test_nothing_is_told_apart_where_a_class_has_one_row(capsys, n_rare, said):
    """Of which no error of the difference is known."""
    codes = np.repeat([1, 0], [n_rare, 200 - n_rare])
    results = [compare.Result(name, Evaluation.of(Predictions(codes, np.column_stack([1 - p, p]), None, np.arange(2))),
                              1.0, 1.0, 1) for name, p in (("a", np.where(codes, 0.9, 0.1)), ("b", np.full(200, 0.1)))]
    compare._report(Namespace(json=False), "roc_auc", results, {}, "200 rows")
    assert said in capsys.readouterr().out


def test_a_table_of_one_class(command, people):
    X = np.random.default_rng(0).standard_normal((40, 2))
    np.savez("one.npz", X=X, y=np.array(["yes"] * 40))
    code, _, errors = command("compare", "one.npz", "--models", "constant")
    assert code == 65
    assert "one.npz: target y must hold at least two classes, got 'yes' in all 40 rows" in errors


@pytest.mark.parametrize(("options", "code", "message"), [
    (("--models", "forest"), 2, "no model 'forest' here: expected some of constant, logistic regression, gbrff2"),
    (("--metric", "foo"), 2, "--metric must be one of accuracy, balanced_accuracy, log_loss"),
    (("--metric", "rmse", "--models", "constant"), 2, "--metric must be one of accuracy, balanced_accuracy, log_loss"),
    (("--cv", "500", "--models", "constant"), 65, "--cv 500 needs more than 500 rows, got 200")])
def test_wrong_arguments(command, options, code, message):
    found, _, errors = command("compare", "train.csv", *options)
    assert (found, message in errors) == (code, True), errors


def table_of(X, y, **facts):
    return TrainingTable(X, y, None, [], [0, 1], has_labels=y.dtype.kind != "f", **facts)


def test_ridge_and_logistic_regression_against_scikit_learn(rng):
    linear = pytest.importorskip("sklearn.linear_model")
    X = rng.standard_normal((150, 4))
    weights = rng.integers(1, 4, 150).astype(float)
    y = X @ [3.0, 0, 1, 0] + rng.standard_normal(150)
    center, offset, coefficients = compare._ridge(X, y, weights)
    expected = min((linear.Ridge(alpha=150 * ridge * weights.mean()).fit(X, y, weights) for ridge in compare._RIDGES),
                   key=lambda model: np.abs(model.coef_ - coefficients).max())
    np.testing.assert_allclose(coefficients, expected.coef_, rtol=1e-6)
    np.testing.assert_allclose(offset + (X - center) @ coefficients, expected.predict(X), rtol=1e-6)
    codes = (rng.random((150, 3)) + 0.5 * X[:, :3]).argmax(axis=1)
    model = compare._logistic(X, codes, 3, weights)
    logistic = linear.LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(X, codes, weights)
    scores = X @ model[:-1] + model[-1]
    proba = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(proba, logistic.predict_proba(X), atol=1e-4)
