"""The same table makes the same file, whatever holds it."""

import numpy as np
import pytest

import rffkern

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N = 150
LABELS = {"words": ["yes", "no", "perhaps so"], "whole numbers": [0, 1, 7], "large numbers": [2**53 + 1, 2**53, 5]}


def model():
    return rffkern.FourierBoostingClassifier(4, kernel_ridge=False, random_state=0)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_same_bytes(labels, command, folder):
    rng = np.random.default_rng(0)
    x, word = rng.standard_normal(N), rng.choice(["a", "b"], N)
    y = [labels[k] for k in (x > 0).astype(int) + (word == "a")]
    frame = pandas.DataFrame({"x": x, "c": word, "y": y})
    tables = {"pandas": frame, "object": frame.astype({"c": object, "y": object}),
              "category": frame.astype({"y": "category"}), "nullable": frame.convert_dtypes(),
              "polars": polars.DataFrame({"x": x, "c": word.tolist(), "y": y}),
              "arrow": pyarrow.table({"x": x, "c": word.tolist(), "y": y}),
              "dict": {"x": x, "c": word.tolist(), "y": y}}
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    found = {}
    for name in ("t.csv", "t.parquet"):
        assert command("fit", name, "-o", "n.npz", "--model", "fourier_boosting", "--set", "kernel_ridge=false",
                       "--set", "n_estimators=4")[0] == 0
        found[name] = (folder / "n.npz").read_bytes()
    for name, table in tables.items():
        X = table.select(["x", "c"]) if name in ("polars", "arrow") else {"x": table["x"], "c": table["c"]} \
            if name == "dict" else table[["x", "c"]]
        fitted = model().fit(X, table["y"])
        found[name] = rffkern.dumps(fitted)
        assert fitted.score(X, table["y"]) > 0.9
        assert fitted.predict(X).dtype.kind == ("U" if isinstance(labels[0], str) else "i")
    assert [name for name, content in found.items() if content != found["t.csv"]] == []


def test_wide_labels_stay_objects():
    X = np.random.default_rng(0).standard_normal((50, 2))
    y = np.where(X[:, 0] > 0, "a" * 300, "b")
    for given in (y, y.astype(object)):
        fitted = rffkern.GBRFF2Classifier(3, random_state=0).fit(X, given)
        assert fitted.classes_.dtype == object
        assert rffkern.loads(rffkern.dumps(fitted)).predict(X).tolist() == fitted.predict(X).tolist()
