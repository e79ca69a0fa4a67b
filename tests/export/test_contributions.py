"""Contributions of columns in C and JavaScript, beside those of `explain`."""

import ctypes
import json
import subprocess

import numpy as np
import pytest
from helpers.engines import lacking
from helpers.exported import rounding_of

import rffkern
from rffkern import (
    ColumnMap,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    InvalidInputError,
    KernelRidgeRegressor,
    RFFNetRegressor,
    SparseKernelClassifier,
)

pytestmark = pytest.mark.slow

SMALL = {"n_estimators": 15, "n_bags": 2, "kernel_ridge": False, "random_state": 0}


def model_of(case):
    """(Model, rows): trees, cosines and linear functions, of one output and of several."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    if case == "classes":
        labels = np.digitize(y, [-0.5, 0.5])
        return FourierBoostingClassifier(**SMALL).fit(X, labels), X[:20]
    if case == "targets":
        return FourierBoostingRegressor(**SMALL, columns=None).fit(X, np.column_stack([y, X[:, 0]])), X[:20] * 3
    if case == "gaps":
        holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        return FourierBoostingRegressor(**SMALL, columns=ColumnMap(("standard", "rank"))).fit(holes, y), holes[:20]
    if case == "trees":
        return FourierBoostingRegressor(**SMALL, base_learners=["tree"]).fit(X, y), X[:20]
    if case == "constant":
        return FourierBoostingRegressor(**SMALL).fit(X, np.ones(300)), X[:20]
    if case == "kernels":
        model = SparseKernelClassifier(3, kernel={"length_scale": 2.0}, reg_lambda=0.1, random_state=0)
        return model.fit(X, y > 0), X[:20]
    if case == "regions":
        model = KernelRidgeRegressor(kernel="gaussian", region_size=100, columns=ColumnMap(), random_state=0).fit(X, y)
        assert model.expansion_.kernels.n_regions > 1
        return model, X[:20]
    if case == "gbrff2":
        return GBRFF2Classifier(6, random_state=0).fit(X, y > 0), X[:20]
    return RFFNetRegressor(max_epochs=2, random_state=0).fit(X, y), X[:20]


CASES = ("classes", "targets", "gaps", "trees", "constant", "gbrff2", "rffnet", "kernels", "regions")


def check(found, base_values, model, X):
    expected = model.explain(X)
    values = expected.values.reshape(len(expected.values), -1)
    rounding = 1e-13 if model.expansion_.kernels is None else 2.0**-52 * rounding_of(model)  # of terms that cancel
    assert np.abs(found - values).max() <= rounding * max(1, np.abs(values).max())
    np.testing.assert_allclose(base_values, np.ravel(expected.base_values), rtol=0, atol=0)


@pytest.mark.parametrize("case", CASES)
def test_in_c(case, tmp_path):
    if lacking("c"):
        pytest.skip("there is no C compiler")
    model, X = model_of(case)
    rffkern.export(model, tmp_path / "m.c", to="c", explain=True)
    subprocess.run(["cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", tmp_path / "m.c", "-lm",
                    "-o", tmp_path / "m.so"], check=True)
    library, n_outputs = ctypes.CDLL(str(tmp_path / "m.so")), model.expansion_.n_outputs
    found = np.full((len(X), X.shape[1] * n_outputs), np.nan)
    for row, out in zip(np.ascontiguousarray(X), found, strict=True):
        library.model_contributions(ctypes.c_void_p(row.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    check(found, list((ctypes.c_double * n_outputs).in_dll(library, "model_base_values")), model, X)


def in_js(path, rows):
    """(Base values, contributions) of rows of JSON."""
    script = (f"import {{ contributions, base_values }} from {json.dumps(str(path))};\n"
              f"const rows = {json.dumps(rows)};\n"
              "const row = (cells) => Array.isArray(cells) ? cells.map((cell) => cell ?? NaN) : cells;\n"
              "console.log(JSON.stringify([base_values, rows.map((cells) => [...contributions(row(cells))])]));")
    done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    base_values, found = json.loads(done.stdout)
    return np.array(found), np.array(base_values)


@pytest.mark.parametrize("case", ["classes", "targets", "gaps", "regions"])
def test_in_javascript(case, tmp_path):
    if lacking("js"):
        pytest.skip("there is no node")
    model, X = model_of(case)
    rffkern.export(model, tmp_path / "m.mjs", to="js", explain=True)
    check(*in_js(tmp_path / "m.mjs", [[None if x != x else x for x in row] for row in X.tolist()]), model, X)


def test_words_dates_and_gaps(tmp_path):
    if lacking("js"):
        pytest.skip("there is no node")
    rng = np.random.default_rng(0)
    table = {"city": [["Bern", "Basel", None][k] for k in rng.integers(0, 3, 300)],
             "mass": [f"{x:.1f} kg" for x in rng.uniform(1, 9, 300)],
             "since": [f"20{k % 20 + 10}-0{k % 9 + 1}-11" for k in range(300)]}
    y = np.array([(c == "Bern") + len(m) for c, m in zip(table["city"], table["mass"], strict=True)]) > 6
    model = FourierBoostingClassifier(**SMALL).fit(table, y)
    rffkern.export(model, tmp_path / "m.mjs", to="js", explain=True)
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)][:30]
    check(*in_js(tmp_path / "m.mjs", rows), model, {name: cells[:30] for name, cells in table.items()})


def test_what_is_refused(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 2))
    model = KernelRidgeRegressor(random_state=0).fit(X, X[:, 0])
    with pytest.raises(InvalidInputError, match="mixture of 43 Gaussian ones, and the file would need 3,440 means"):
        rffkern.export(model, tmp_path / "m.c", to="c", explain=True)
    for arguments, message in (({"to": "sql", "explain": True}, "an option of the targets"),
                               ({"to": "c", "explain": 2}, "explain must be")):
        with pytest.raises(InvalidInputError, match=message):
            rffkern.export(model, tmp_path / "m", **arguments)
    with pytest.raises(InvalidInputError, match="which has no explain"):
        rffkern.export(model.expansion_, tmp_path / "m.c", to="c", explain=True)
    assert not list(tmp_path.iterdir())
