"""What a model file says of its training, and `rffkern info` with it."""

import json

import numpy as np
import pytest

import rffkern
from rffkern import InvalidInputError, dumps, load, loads, save

FAST = ("--set", "n_estimators=20")


def test_the_file_of_a_fit_says_what_was_done(command, folder, table):
    X, y = table
    code, _, errors = command("fit", "train.csv", "-o", "n.npz", "--holdout", "0.25", "--eval", "test.csv", "--note",
                              "of the first run", "--date", "2024-03-01", *FAST)
    assert code == 0
    model = load(folder / "n.npz")
    facts = json.loads(command("info", "n.npz", "--json")[1])
    metadata = facts["metadata"]
    assert metadata == model.metadata_
    assert {key: metadata[key] for key in ("target", "rows", "note", "date", "held_out_by")} == {
        "target": "answer", "rows": 150, "note": "of the first run", "date": "2024-03-01", "held_out_by": "random"}
    assert metadata["held_out"]["rows"] == 50
    assert f"of 50 held-out rows; the model on {100 * metadata['held_out']['accuracy']:.1f} % +- " in errors
    assert metadata["eval"]["rows"] == 100
    assert metadata["eval"]["accuracy"] == model.score(X[200:], y[200:])
    proba = model.predict_proba(X[200:])[np.arange(100), (y[200:] == "yes").astype(int)]
    assert metadata["eval"]["log_loss"] == pytest.approx(-np.log(proba).mean())
    assert facts["versions"] == {"rffkern": rffkern.__version__, "format": 1}
    assert facts["train loss"]["rounds"] == 20
    assert facts["train loss"]["before training"] > facts["train loss"]["at the end"] == facts["train loss"]["lowest"]
    text = command("info", "n.npz")[1]
    assert "note='of the first run'" in text
    assert "before training, " in text


def test_figures_of_a_regression(command, folder, table):
    X, _ = table
    y = np.sin(X[:, 0]) + X[:, 1]
    np.savez(folder / "t.npz", X=X, y=y)
    assert command("fit", "t.npz", "-o", "n.npz", "--holdout", "0.2", "--model", "gbrff_regressor", *FAST)[0] == 0
    model = load(folder / "n.npz")
    assert model.metadata_["target"] is None
    held_out = np.random.default_rng(0).permutation(300)[:60]
    errors = model.predict(X[held_out]) - y[held_out]
    figures = model.metadata_["held_out"]
    assert {name: figures[name] for name in ("rows", "r2", "rmse", "mae")} == {
        "rows": 60, "r2": pytest.approx(model.score(X[held_out], y[held_out])),
        "rmse": pytest.approx(np.sqrt(np.mean(errors**2))), "mae": pytest.approx(np.abs(errors).mean())}
    assert figures["constant"]["rmse"] == pytest.approx(y[held_out].std())
    assert figures["standard_errors"]["mae"] == pytest.approx(np.abs(errors).std(ddof=1) / np.sqrt(60))


def test_nothing_depends_on_the_clock(command, folder):
    for name in "ab":
        assert command("fit", "train.csv", "-o", f"{name}.npz", "--note", "", *FAST)[0] == 0
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()
    assert load(folder / "a.npz").metadata_ == {"target": "answer", "rows": 200, "note": ""}
    assert command("fit", "train.csv", "-o", "c.npz", *FAST)[0] == 0
    assert (folder / "c.npz").read_bytes() == dumps(load(folder / "a.npz"), metadata={"target": "answer", "rows": 200})


def test_a_wrong_date(command, folder):
    code, _, errors = command("fit", "train.csv", "-o", "n.npz", "--date", "1.3.2024")
    assert (code, "expected a date such as 2024-03-01, got '1.3.2024'" in errors) == (2, True)


def test_info_of_the_forms_of_columns_and_kernel_ridge(command, folder):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    model = rffkern.FourierBoostingRegressor(5, n_bags=1, kernel_ridge=False, random_state=0)
    model.fit({"a": X[:, 0], "b": X[:, 1]}, X[:, 0])
    save(model, folder / "n.npz")
    facts = json.loads(command("info", "n.npz", "--json")[1])
    assert facts["columns"] == json.loads(json.dumps(model.column_map_.describe()))
    assert facts["kernel ridge"]["kept"] is False
    assert "kernel ridge   not used: " in command("info", "n.npz")[1]


X = np.arange(40.0).reshape(20, 2)
MODEL = rffkern.GBRFF2Classifier(3, random_state=0).fit(X, X[:, 0] > 19)


def test_metadata_stay_until_the_next_fit():
    facts = {"who": "ann", "parts": [1, 2.5, None, True], "deep": {"a": {"b": []}}, "größe": "ü"}
    content = dumps(MODEL, metadata=facts)
    model = loads(content)
    assert model.metadata_ == facts
    assert dumps(model) == content
    assert dumps(model, metadata={}) == dumps(MODEL)
    assert not hasattr(loads(dumps(MODEL)), "metadata_")
    np.testing.assert_array_equal(model.predict(X), MODEL.predict(X))
    assert not hasattr(model.fit(X, X[:, 0] > 19), "metadata_")
    model.metadata_ = {"set": "by hand"}
    assert loads(dumps(model)).metadata_ == {"set": "by hand"}
    numbers = {"a": np.float32(0.5), "b": np.arange(2), "c": (1, 2)}
    assert loads(dumps(MODEL, metadata=numbers)).metadata_ == {"a": 0.5, "b": [0, 1], "c": [1, 2]}


@pytest.mark.parametrize(("metadata", "message"), [
    ("text", "metadata must be a dict for an estimator, or None, got str for a GBRFF2Classifier"),
    ({1: 2}, "metadata must have keys of text, got 1"), ({"a": {2: 3}}, "keys of text, got 2"),
    ({"a": float("nan")}, "metadata must be finite numbers, text"), ({"a": float("inf")}, "got inf"),
    ({"a": object}, "got <class 'object'>"), ({"a": ["\x00"]}, "no control characters"),
    ({"\ud800": 1}, "storable as UTF-8")])
def test_wrong_metadata(metadata, message):
    with pytest.raises(InvalidInputError, match=message):
        dumps(MODEL, metadata=metadata)


def test_functions_have_no_metadata():
    with pytest.raises(InvalidInputError, match="metadata must be a dict for an estimator, or None, got dict for"):
        dumps(MODEL.expansion_, metadata={"a": 1})
