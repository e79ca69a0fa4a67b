"""`rffkern evaluate`, `rffkern fit --cv`, and what both say of a model."""

import json
import re

import numpy as np
import pytest
from helpers.command_line import write_csv

from rffkern import (
    FourierBoostingRegressor,
    GBRFF2Classifier,
    GBRFFRegressor,
    InvalidInputError,
    KernelRidgeRegressor,
    RFFNetRegressor,
    SparseKernelRegressor,
    load,
    save,
)
from rffkern._cli.cross_validation import folds_of
from rffkern._cli.training_table import TrainingTable
from rffkern._estimator.evaluation import Evaluation, Predictions, joined, predictions_of, with_error
from rffkern._estimator.metrics import classification_metrics, label_codes, regression_metrics


def evaluated(command, *arguments):
    code, out, errors = command("evaluate", *arguments, "--json")
    assert code == 0, errors
    return json.loads(out)


def test_a_classifier(command, folder, table):
    X, y = table[0][200:], table[1][200:]
    model = load(folder / "m.npz")
    found = evaluated(command, "m.npz", "test.csv")
    expected = classification_metrics((y == "yes").astype(int), model.predict_proba(X))
    for name, each in expected.items():
        assert found[name] == pytest.approx(each.value)
    assert found["standard_errors"]["roc_auc"] == pytest.approx(expected["roc_auc"].standard_error)
    assert (found["rows"], found["target"], found["accuracy"]) == (100, "answer", model.score(X, y))
    assert found["constant"]["accuracy"] == max(np.mean(y == "yes"), np.mean(y == "no"))
    assert found["confusion"]["labels"] == ["no", "yes"]
    assert np.trace(found["confusion"]["counts"]) == round(100 * found["accuracy"])
    assert sum(each["rows"] for each in found["reliability"]) == 100
    code, out, _ = command("evaluate", "m.npz", "test.csv")
    assert code == 0
    assert out.startswith(f"Guessing {max(['no', 'yes'], key=[*y].count)!r} is right on ")
    assert f"the model on {100 * found['accuracy']:.1f} % +- " in out
    assert "label \\ predicted  no  yes\n" in out
    assert "ROC AUC" in out
    assert "average precision of 'yes'  " in out
    assert found["positive"] == "yes"


def test_a_regression_and_quantiles(command, folder, table):
    X, _ = table
    y = np.sin(X[:, 0]) + X[:, 1]
    write_csv(folder / "r.csv", X, y, target="price")
    mean, quantiles = (FourierBoostingRegressor(30, n_bags=2, random_state=0, **params).fit(X[:200], y[:200])
                       for params in ({}, {"loss": "quantile", "quantile": (0.1, 0.9)}))
    save(mean, folder / "r.npz")
    save(quantiles, folder / "q.npz")
    found = evaluated(command, "r.npz", "r.csv", "--target", "price")
    assert found["r2"] == pytest.approx(mean.score(X, y))
    assert found["mae"] == pytest.approx(np.abs(mean.predict(X) - y).mean())
    out = command("evaluate", "r.npz", "r.csv", "--target", "-1")[1]
    assert out.startswith(f"Guessing the mean has a root mean squared error of {found['constant']['rmse']:.4g} on ")
    assert f"; the model one of {with_error(found['rmse'], found['standard_errors']['rmse'])} (R^2 " in out
    found = evaluated(command, "q.npz", "r.csv", "--target", "price")
    assert found["below_0.9"] == np.mean(y <= quantiles.predict_quantiles(X)[:, 1])
    assert "pinball loss" in found["summary"]
    np.savez(folder / "two.npz", X=X, y=np.column_stack([y, X[:, 0]]))
    save(FourierBoostingRegressor(20, n_bags=1, random_state=0).fit(X, np.column_stack([y, X[:, 0]])), folder / "t.npz")
    assert 0 < evaluated(command, "t.npz", "two.npz")["r2"] < 1


@pytest.mark.parametrize(("loss", "judged"), [
    ("squared_error", "rmse"), ("absolute_error", "mae"), ("huber", "mae"), ("quantile", "mae"),
    ("poisson", "deviance"), ("gamma", "deviance"), ("tweedie", "deviance")])
def test_each_loss_is_judged_by_what_it_minimises(command, folder, loss, judged):
    """The same by fit on rows that bags hold out, by evaluate and by report: the model is better than a guess."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 1))
    expected = np.exp(X[:, 0])
    y = rng.gamma(2.0, expected / 2) if loss == "gamma" else rng.poisson(expected).astype(float)
    write_csv(folder / "c.csv", X, y, ["x"], target="claims")
    code, _, errors = command("fit", "c.csv", "-o", "c.npz", "--model", "fourier_boosting_regressor", "--cv", "0",
                              "--set", f"loss={loss}", "--set", "n_estimators=30")
    assert code == 0, errors
    model = load(folder / "c.npz")
    assert model._out_of_fold["figures"]["judged_by"] == judged
    found = evaluated(command, "c.npz", "c.csv")
    assert command("report", "c.npz", "c.csv", "-o", "c.html", "--json", "c.json")[0] == 0
    facts = json.loads((folder / "c.json").read_text())
    share = {"rmse": "r2", "deviance": "d2"}.get(judged, judged)
    assert facts["importances"]["metric"] == share
    assert facts["importances"]["columns"][0]["importance"] > 0
    said = {"rmse": "guessing the mean has a root mean squared error of ", "deviance":
            "guessing the mean has a mean deviance of ", "mae": "guessing the median has a mean absolute error of "}
    for sentence in (errors, found["summary"], facts["head"]["sentence"]):
        assert said[judged] in sentence
        assert "do not show" not in sentence
    assert found["judged_by"] == facts["validation"]["judged_by"] == judged
    assert found[judged] < found["constant"][judged]
    power = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}.get(loss)
    assert found[judged] == pytest.approx(regression_metrics(y, model.predict(X), None, power)[judged].value)


@pytest.mark.parametrize(("family", "params", "judged"), [
    (GBRFFRegressor, {"n_estimators": 3}, "rmse"), (KernelRidgeRegressor, {}, "rmse"),
    (SparseKernelRegressor, {}, "rmse"), (RFFNetRegressor, {"max_epochs": 2}, "rmse"),
    (RFFNetRegressor, {"max_epochs": 2, "loss": "huber"}, "mae"),
    (RFFNetRegressor, {"max_epochs": 2, "loss": "quantile"}, "mae"),
    (RFFNetRegressor, {"max_epochs": 2, "loss": "quantile", "quantile": 0.9}, "pinball")])
def test_other_families_are_judged_by_what_they_minimise(rng, family, params, judged):
    X = rng.standard_normal((60, 2))
    model = family(random_state=0, **params).fit(X, X[:, 0])
    assert Evaluation.of(predictions_of(model, X, X[:, 0])).figures()["judged_by"] == judged


def test_weights_missing_labels_and_labels_that_are_not_known(command, folder, table):
    X, y = table[0][:40], table[1][:40].astype(object)
    y[:3], y[3] = "", "maybe"
    weights = np.arange(40) % 3
    write_csv(folder / "w.csv", np.column_stack([X, weights]), y, ["length", "width", "depth", "mass"])
    model = load(folder / "m.npz")
    code, out, errors = command("evaluate", "m.npz", "w.csv", "--weight", "mass", "--json")
    assert code == 0
    assert "3 of 40 rows have no label or target, and are left out" in errors
    found = json.loads(out)
    counted = int(np.count_nonzero(weights[3:]))
    assert f"of {counted} weighted rows of w.csv" in found["summary"]
    assert np.sum(found["confusion"]["counts"]) == weights[3:].sum() - weights[3]
    assert sum(each["rows"] for each in found["reliability"]) == found["rows"] == counted
    right = model.predict(X)[3:] == y[3:]
    assert found["accuracy"] == pytest.approx(np.average(right, weights=weights[3:]))
    assert sum(found["confusion"]["unknown_labels"]) == 0  # of weight 0
    assert sum(evaluated(command, "m.npz", "w.csv", "--target", "answer")["confusion"]["unknown_labels"]) == 1
    _, out, errors = command("evaluate", "m.npz", "w.csv", "--target", "answer")
    assert "other labels" in out
    assert "w.csv: labels that the model does not know: 'maybe' (1 row)\n" in errors
    assert "; 1 of these rows has a label that the model does not know, and counts as wrong.\n" in out
    assert "the constant is the best one for these rows, of the labels that the model knows\n" in out


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_row_without_a_weight_is_rejected(command, folder, table, ending):
    X, y = table[0][:40], table[1][:40]
    weights = np.arange(40.0) % 3
    names = ["length", "width", "depth", "mass"]
    write_csv(folder / "w.csv", np.column_stack([X, weights]), y, names)
    lines = (folder / "w.csv").read_text().splitlines()
    (folder / "w.csv").write_text("\n".join([*lines[:8], ",".join([*lines[8].split(",")[:3], "", y[7]]), *lines[9:]]))
    if ending == "parquet":
        pd = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        pd.read_csv(folder / "w.csv").to_parquet(folder / "w.parquet")
    name = f"w.{ending}"
    code, _, errors = command("evaluate", "m.npz", name, "--weight", "mass")
    assert code == 65
    assert "column 3 (mass): expected a finite number" in errors
    code, out, errors = command("evaluate", "m.npz", name, "--weight", "mass", "--reject", "r.csv", "--json")
    assert code == 0, errors
    assert "1 of 40 rows rejected" in errors
    rest = np.arange(40) != 7
    right = load(folder / "m.npz").predict(X[rest]) == y[rest]
    assert json.loads(out)["accuracy"] == pytest.approx(np.average(right, weights=weights[rest]))


def test_labels_of_which_none_is_known(command, folder, table):
    write_csv(folder / "u.csv", table[0][:20], np.array(["never"] * 20, object))
    code, out, errors = command("evaluate", "m.npz", "u.csv")
    assert (code, out) == (65, "")
    assert ("expected labels of the model, such as 'no', got 'never': write them as in training, or give the column "
            "that has them by --target") in errors
    with pytest.raises(InvalidInputError, match="y must hold labels of the model, such as 'no', got 'never'"):
        load(folder / "m.npz").conformalize(table[0][:20], ["never"] * 20)


def test_a_single_row_of_numbers(command, folder, table):
    X, y = table[0], table[0][:, 0] + table[0][:, 1]
    save(FourierBoostingRegressor(20, n_bags=1, random_state=0).fit(X, y), folder / "r.npz")
    write_csv(folder / "r.csv", X[:1], y[:1])
    assert "(R^2 is not defined for a single row)" in command("evaluate", "r.npz", "r.csv", "--target", "3")[1]
    assert command("report", "r.npz", "r.csv", "-o", "r.html", "--target", "3")[0] == 0


def test_the_constant_of_weighted_rows_does_not_depend_on_folds(command, folder, rng):
    y, weights = rng.standard_normal(90), rng.integers(0, 4, 90)
    write_csv(folder / "v.csv", np.column_stack([rng.standard_normal(90), weights]), y, ["x", "mass"])
    expected = np.sqrt(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
    for n_folds in ("2", "5"):
        code, _, errors = command("fit", "v.csv", "-o", "v.npz", "--model", "gbrff_regressor", "--set",
                                  "n_estimators=2", "--weight", "mass", "--cv", n_folds)
        assert code == 0, errors
        assert load(folder / "v.npz").metadata_["cross_validation"]["constant"]["rmse"] == pytest.approx(expected)


def test_a_table_without_the_target_of_training_is_not_judged_by_another_column(command, folder, table):
    fit = ("fit", "train.csv", "-o", "t.npz", "--model", "gbrff2", "--set", "n_estimators=30", "--cv", "2")
    assert command(*fit)[0] == 0
    write_csv(folder / "other.csv", table[0][:20], table[1][:20], target="reply")
    assert command("evaluate", "t.npz", "test.csv")[2] == ""
    code, out, errors = command("evaluate", "t.npz", "other.csv")
    assert (code, out) == (65, "")
    assert "other.csv: no column 'answer', the target of training; --target names another [rffkern help E65]" in errors
    assert command("evaluate", "t.npz", "other.csv", "--target", "reply")[0] == 0
    assert command("evaluate", "t.npz", "other.csv", "--header", "no", "--target", "3", "--reject", "r.csv")[0] == 0
    (folder / "bare.csv").write_text("NA,unknown,missing,yes\n1,2,3,no\n")
    assert "the target of training; --target names another; if row 1 is data, pass --header no" in command(
        "evaluate", "t.npz", "bare.csv")[2]
    assert command("report", "t.npz", "other.csv", "-o", "r.html")[0] == 0
    assert "reply" not in (folder / "r.html").read_text()
    X, y = table
    save(GBRFF2Classifier(20, random_state=0).fit(X, y), folder / "python.npz")  # which knows no name of the target
    code, _, errors = command("evaluate", "python.npz", "other.csv")
    assert code == 0
    assert "other.csv: column 3 (reply) is taken as the target, the only one that is no feature of the model" in errors


@pytest.mark.parametrize("missing", [False, True])
def test_booleans_are_the_same_labels_in_text_and_in_types(command, folder, table, missing):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = table[0], table[1] == "yes"
    typed = pa.table({**dict(zip(["length", "width", "depth"], X.T, strict=True)),
                      "answer": [None, *y[1:].tolist()] if missing else y})
    parquet.write_table(typed.slice(1) if missing else typed, folder / "typed.parquet")
    parquet.write_table(typed, folder / "new.parquet")
    write_csv(folder / "text.csv", X, np.where(y, "true", "false"))
    write_csv(folder / "upper.csv", X, np.where(y, "TRUE", "FALSE"))
    for trained in ("text.csv", "typed.parquet"):
        fit = ("fit", trained, "-o", "b.npz", "--model", "gbrff2", "--set", "n_estimators=30", "--cv", "0")
        assert command(*fit)[0] == 0
        model = load(folder / "b.npz")
        right = model.predict(X).astype(str) == np.where(y, *("true", "false") if trained == "text.csv"
                                                         else ("True", "False"))
        for judged in ("text.csv", "upper.csv", "new.parquet"):
            first = int(missing and judged == "new.parquet")
            assert evaluated(command, "b.npz", judged, "--target", "answer")["accuracy"] == right[first:].mean()
            said = command("predict", "b.npz", judged, "--target", "answer")[2]
            assert f"accuracy on {300 - first} rows: {100 * right[first:].mean():.2f} %" in said


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("positive", ["no", "yes"])
def test_metrics_of_the_class_that_is_meant(command, folder, table, rng, n_classes, positive):
    """Those of scikit-learn with pos_label; `unclear` is a third class."""
    metrics = pytest.importorskip("sklearn.metrics")
    X, y = table
    y = np.where(rng.random(len(y)) < 0.15, "yes", y)
    y = np.where(X[:, 2] > 0.8, "unclear", y) if n_classes == 3 else y
    model = GBRFF2Classifier(20, random_state=0).fit(X, y)
    save(model, folder / "p.npz")
    write_csv(folder / "p.csv", X, y)
    found = evaluated(command, "p.npz", "p.csv", "--positive", positive)
    of_class, said = y == positive, model.predict(X) == positive
    scores = model.predict_proba(X)[:, model.classes_.tolist().index(positive)]
    for name, expected in (("precision", metrics.precision_score(of_class, said)),
                           ("recall", metrics.recall_score(of_class, said)), ("f1", metrics.f1_score(of_class, said)),
                           ("average_precision", metrics.average_precision_score(of_class, scores)),
                           ("roc_auc", metrics.roc_auc_score(of_class, scores))):
        assert found[name] == pytest.approx(expected, abs=1e-12)
        assert 0 < found["standard_errors"][name] < 0.2
    assert found["positive"] == positive
    assert {name: value for name, value in evaluated(command, "p.npz", "p.csv").items()
            if name in ("accuracy", "log_loss", "brier")}.items() <= found.items()
    out = command("evaluate", "p.npz", "p.csv", "--positive", positive)[1]
    assert f"recall of {positive!r} " in out
    assert f"probability of {positive!r}, and the share" in out
    assert "recall" not in command("evaluate", "p.npz", "p.csv")[1]


def test_a_class_that_is_never_predicted_has_a_precision_of_0(command, folder, table):
    X, y = table
    save(GBRFF2Classifier(1, random_state=0).fit(X, np.where(np.arange(len(y)) < 3, "rare", "usual")), folder / "p.npz")
    write_csv(folder / "p.csv", X, np.where(np.arange(len(y)) % 9, "usual", "rare"))
    found = evaluated(command, "p.npz", "p.csv", "--positive", "rare")
    assert (found["precision"], found["recall"], found["f1"]) == (0, 0, 0)


def test_few_rows_that_are_all_right_do_not_show_that_all_are():
    codes = np.arange(60) % 3 % 2
    some = classification_metrics(codes, np.eye(2)[codes], None, 1)
    assert [some[name].value for name in ("precision", "recall", "f1")] == [1, 1, 1]
    errors = [some[name].standard_error for name in ("precision", "recall", "f1")]
    assert errors == [pytest.approx(2 / 24)] * 3
    none = classification_metrics(np.zeros(9, dtype=int), np.eye(2)[[0] * 9], None, 1)  # nor any that none is
    assert [none[name].value for name in ("precision", "recall", "f1")] == [0, 0, 0]
    assert none["f1"].standard_error == 0


def test_errors_of_precision_recall_and_f1_are_those_of_drawn_tables(rng):
    """Standard errors of 200 rows, and the spread over tables."""
    found = []
    for _ in range(400):
        codes = (rng.random(200) < 0.3).astype(int)
        p = np.clip(0.35 * codes + rng.random(200) * 0.6, 0, 1)
        some = classification_metrics(codes, np.column_stack([1 - p, p]), None, 1)
        found.append([(some[name].value, some[name].standard_error) for name in ("precision", "recall", "f1")])
    values, errors = np.moveaxis(np.array(found), 2, 0)
    np.testing.assert_allclose(errors.mean(axis=0), values.std(axis=0), rtol=0.15)


def test_labels_are_found_in_a_model_whose_labels_have_blanks(command, folder, table):
    X, y = table
    save(GBRFF2Classifier(5, random_state=0).fit(X, np.where(y == "no", "no ", y)), folder / "b.npz")
    write_csv(folder / "b.csv", X, y)
    assert evaluated(command, "b.npz", "b.csv")["rows"] == len(y)


def test_labels_that_are_numbers(command, folder, table):
    X, y = table
    model = GBRFF2Classifier(20, random_state=0).fit(X, (y == "yes") + 3)
    save(model, folder / "n.npz")
    write_csv(folder / "n.csv", X, (y == "yes") + 3)
    np.savez(folder / "f.npz", X=X, y=(y == "yes") + 3.0)
    for name in ("n.csv", "f.npz"):
        assert evaluated(command, "n.npz", name)["accuracy"] == model.score(X, (y == "yes") + 3)


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (("p.npz", "two.csv"), 2, "because 2 columns are no features of the model: 3 (id), 4 (said)"),
    (("p.npz", "features.csv"), 65, "no column of labels or targets: all are features of the model"),
    (("m.npz", "features.csv"), 65, "no column 'answer', the target of training; --target names another"),
    (("m.npz", "none.csv"), 65, "the table has no rows with a label or target"),
    (("m.npz", "head.csv"), 65, "head.csv: expected rows with a label or target, got none: give a table that has some"),
    (("m.npz", "test.csv", "--weight", "answer", "--target", "answer"), 65, "column 3 (answer): expected a finite"),
    (("m.npz", "nowhere.csv"), 66, "nowhere.csv: No such file"),
    (("m.npz", "test.csv", "--target", "x"), 65, "no column 'x'"),
    (("m.npz", "test.csv", "--positive", "maybe"), 2, "a label of the model, one of 'no', 'yes', got 'maybe'"),
    (("r.npz", "test.csv", "--positive", "yes"), 2, "--positive needs a classifier, and the model predicts numbers"),
    (("m.npz", "test.csv", "--reject", "test.csv"), 2, "must not be an input")])
def test_wrong_arguments(command, folder, table, arguments, code, message):
    write_csv(folder / "two.csv", np.column_stack([table[0], table[0][:, 0]]), table[1],
              ["length", "width", "depth", "id"], "said")
    write_csv(folder / "features.csv", table[0])
    model = load(folder / "m.npz")
    save(model, folder / "p.npz", metadata={})
    save(GBRFFRegressor(1, random_state=0).fit(table[0], table[0][:, 0]), folder / "r.npz")
    write_csv(folder / "none.csv", table[0][:9], [""] * 9)
    write_csv(folder / "head.csv", table[0][:0], [])
    found, _, errors = command("evaluate", *arguments)
    assert (found, message in errors) == (code, True), errors


def test_small_tables_are_cross_validated(command, folder, table):
    fast = ["fit", "train.csv", "-o", "n.npz", "--model", "gbrff2", "--set", "n_estimators=30"]
    code, _, errors = command(*fast, "--cv", "4")
    assert code == 0
    figures = load(folder / "n.npz").metadata_["cross_validation"]
    assert figures["rows"] == 200
    assert f"of 200 rows in 4-fold cross-validation; the model on {100 * figures['accuracy']:.1f} % +- " in errors
    assert 0.8 < figures["accuracy"] < load(folder / "n.npz").score(table[0][:200], table[1][:200])
    assert "cross validation 200 rows, accuracy " in command("info", "n.npz")[1]
    plain = ["fit", "train.csv", "-o", "p.npz", "--model", "gbrff2", "--set", "n_estimators=30"]
    assert command(*plain, "--cv", "0")[0] == 0
    assert load(folder / "p.npz").metadata_ == {"target": "answer", "rows": 200}


@pytest.mark.parametrize(("options", "code", "message"), [
    (("--cv", "5", "--holdout", "0.2"), 2, "leave one of them out"),
    (("--cv", "300"), 65, "--cv 300 needs more than 300 rows, got 200")])
def test_wrong_folds(command, options, code, message):
    found, _, errors = command("fit", "train.csv", "-o", "n.npz", *options)
    assert (found, message in errors) == (code, True), errors


def rows_of(y, **facts):
    return TrainingTable(np.arange(len(y))[:, None] * 1.0, y, ["x"], [], [0], has_labels=y.dtype.kind != "f", **facts)


def test_folds_divide_the_rows_and_have_all_labels():
    y = np.repeat(["a", "b", "c"], [50, 30, 6])
    for folds in (folds_of(rows_of(y), 5, 0), folds_of(rows_of(y, groups=np.arange(86) // 4), 5, 0)):
        assert sum(validation.astype(int) for _, validation in folds.pairs).tolist() == [1] * 86
        for training, validation in folds.pairs:
            assert (training ^ validation).all()
            assert abs(validation.sum() - 86 / 5) < 4
    for _, validation in folds_of(rows_of(y), 5, 0).pairs:
        assert np.unique(y[validation], return_counts=True)[1].tolist() in ([10, 6, 1], [10, 6, 2])
    groups = np.arange(86) // 4
    for training, validation in folds_of(rows_of(y, groups=groups), 5, 0).pairs:
        assert not {*groups[training]} & {*groups[validation]}


def test_folds_in_order_of_time_look_back_alone():
    times = np.repeat(np.arange(20), 3)
    folds = folds_of(rows_of(np.arange(60.0), times=times), 4, 0).pairs
    assert len(folds) == 4
    for training, validation in folds:
        assert times[training].max() < times[validation].min()
    assert np.concatenate([np.flatnonzero(validation) for _, validation in folds]).tolist() == [*range(12, 60)]


def test_a_label_that_a_fold_lacks_is_one_of_the_whole_model(command, folder, table):
    """It has the probability 0 there, and is no label that the model does not know."""
    y = np.array(table[1][:60], object)
    y[7] = "once"
    write_csv(folder / "o.csv", table[0][:60], y)
    code, _, errors = command("fit", "o.csv", "-o", "o.npz", "--model", "gbrff2", "--set", "n_estimators=10", "--cv",
                              "3")
    assert code == 0, errors
    assert "other labels" not in errors
    assert "does not know" not in errors
    figures = load(folder / "o.npz").metadata_["cross_validation"]
    assert figures["constant"]["accuracy"] == max(np.mean(y == "yes"), np.mean(y == "no"))
    assert figures["log_loss"] > -np.log(1e-15) / 60


def test_many_labels_have_their_most_frequent_confusions():
    """A table of 1,000 labels has a million numbers."""
    truth = np.repeat(np.arange(100), 3)
    predicted = np.where(truth < 30, (truth + 1) % 100, truth)
    predicted[:3], truth[-2:] = 7, -1
    names = np.array([f"L{k}" for k in range(100)])
    lines = Evaluation.of(Predictions(truth, np.eye(100)[predicted], None, names)).lines(with_shares=False)
    first = lines.index("confusions of 100 labels, the 20 most frequent of 31:")
    assert len(lines) == first + 22
    assert [line.split() for line in lines[first + 1 : first + 4]] == [
        ["label", "predicted", "rows"], ["L0", "L7", "3"], ["L1", "L2", "3"]]
    assert max(map(len, lines)) < 80
    weights = np.where(truth < 0, 2.5, 0)
    weights[-4] = 1
    weighted = Evaluation.of(Predictions(truth, np.eye(100)[predicted], weights, names)).lines()
    assert weighted[weighted.index("confusions of 100 labels:") + 2].split() == ["other", "labels", "L99", "5"]
    right = Evaluation.of(Predictions(np.arange(100), np.eye(100), None, names)).lines()
    assert "all rows of 100 labels are predicted right" in right
    assert "label \\ predicted" in "".join(Evaluation.of(Predictions(truth % 20, np.eye(20)[predicted % 20], None,
                                                                    names[:20])).lines())


def test_folds_that_know_different_classes():
    parts = [Predictions(np.array([0, -1]), np.array([[0.7, 0.3], [0.5, 0.5]]), None, np.array(["a", "c"])),
             Predictions(np.array([1]), np.array([[0.1, 0.6, 0.3]]), None, np.array(["a", "b", "c"]))]
    whole = joined(parts)
    assert whole.classes.tolist() == ["a", "b", "c"]
    assert whole.truth.tolist() == [0, -1, 1]
    np.testing.assert_allclose(whole.predicted, [[0.7, 0, 0.3], [0.5, 0, 0.5], [0.1, 0.6, 0.3]])


def test_a_model_that_knows_nothing_is_said_to(rng):
    codes, proba = rng.integers(0, 2, 200), rng.random(200)
    useless = Evaluation.of(Predictions(codes, np.column_stack([1 - proba, proba]), None, np.array(["no", "yes"])))
    assert "these rows do not show that the model is better than a guess" in useless.sentence("200 rows")
    rare = (rng.random(2000) < 0.1).astype(int)
    sure = np.where(rare, 0.3, 0.05) + 0.02 * rng.random(2000)
    better = Evaluation.of(Predictions(rare, np.column_stack([1 - sure, sure]), None, np.array([False, True])))
    assert re.search(r"its probabilities are better than the shares of the labels: log loss 0\.\d+ \+- 0\.\d+ "
                     r"\(class shares: 0\.\d+\)$", better.sentence("2000 rows"))
    targets = rng.standard_normal(100)
    assert "do not show" in Evaluation.of(Predictions(targets, rng.standard_normal(100), None)).sentence("100 rows")
    assert "do not show" not in Evaluation.of(Predictions(targets, 0.9 * targets, None)).sentence("100 rows")


def test_labels_and_digits():
    assert label_codes(np.array(["b", "z", "a"]), np.array(["a", "b"])).tolist() == [1, -1, 0]
    assert label_codes(np.array([3.0, 2.5]), np.array([1, 3])).tolist() == [1, -1]
    assert label_codes(np.array([True, False], dtype=object), np.array([False, True])).tolist() == [1, 0]
    assert label_codes(np.array(["10", "9"]), np.array([9, 10])).tolist() == [1, 0]
    assert [with_error(*pair) for pair in ((0.81413, 0.0104), (156741.2, 2012.0), (3.5, None), (1e-8, 1e-10))] == [
        "0.814 +- 0.010", "156741 +- 2012", "3.5", "1e-08 +- 1e-10"]
    assert [with_error(*pair) for pair in ((34.538776, 2.2e-16), (1.0, 0.0), (0.0, 0.0), (-2e9, 1e-9))] == [
        "34.54 +- 0", "1 +- 0", "0", "-2e+09 +- 0"]
    unknown = Evaluation.of(Predictions(np.repeat([0, -1], [1, 200]), np.full((201, 2), 0.5), np.r_[0.0, np.ones(200)],
                                        np.array(["a", "b"])))
    assert "log loss                 34.54 +- 0     34.54" in unknown.lines()
