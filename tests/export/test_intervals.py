"""Ends of intervals in every target, beside those of `predict_interval`."""

import contextlib
import ctypes
import json
import subprocess

import numpy as np
import pytest
from helpers.engines import TARGETS, lacking

import rffkern
from rffkern import ColumnMap, FourierBoostingRegressor, InvalidInputError, TrainingStateError
from rffkern._export.engines import imported

ROWS = np.random.default_rng(1).standard_normal((60, 2))


def model_of(case):
    """Targets whose spread grows; counts; several targets; several quantiles, which cross."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 2))
    y = 3 * X[:, 0] + np.exp(X[:, 0]) * rng.standard_normal(700)
    params = {"n_bags": 1, "random_state": 0, "kernel_ridge": False, "columns": ColumnMap(("standard",))}
    if case == "counts":
        return FourierBoostingRegressor(10, loss="poisson", **params).fit(X, rng.poisson(np.exp(X[:, 0])))
    if case == "quantiles":
        return FourierBoostingRegressor(10, loss="quantile", quantile=[0.1, 0.5, 0.9], **params).fit(X, y)
    if case == "several":
        return FourierBoostingRegressor(10, **params).fit(X, np.column_stack([y, X[:, 1] - y]))
    return FourierBoostingRegressor(10, **params).fit(X, y).conformalize(X, y)


def in_c(path, n_targets):
    library = path.with_suffix(".so")
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", path, "-lm",
                    "-o", library], check=True)
    out = np.zeros((len(ROWS), 2 * n_targets))
    for row, ends in zip(ROWS, out, strict=True):
        ctypes.CDLL(str(library)).model_interval(ctypes.c_void_p(row.ctypes.data), ctypes.c_void_p(ends.ctypes.data))
    return out


def in_js(path):
    module = path.with_suffix(".mjs")
    path.rename(module)
    script = (f"import {{ predict_interval }} from {json.dumps(str(module))};\n"
              f"console.log(JSON.stringify({json.dumps(ROWS.tolist())}.map((row) => predict_interval(row))));")
    done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    return np.array(json.loads(done.stdout))


def in_onnx(path):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return np.stack(session.run(["lower", "upper"], {"X": ROWS}), axis=2)


def in_sql(path, module):
    import importlib

    database = importlib.import_module(module)
    with contextlib.closing(database.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE rows (id integer, x0 double precision, x1 double precision)")
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", [(k, *row) for k, row in enumerate(ROWS.tolist())])
        found = connection.execute(path.read_text()).fetchall()
    return np.array(sorted(found))


RUN = {"numpy": ("numpy", lambda path: imported(path).predict_interval(ROWS)), "c": ("c", in_c), "js": ("js", in_js),
       "onnx": ("onnx", in_onnx),
       "sqlite": ("sql", lambda path: in_sql(path, "sqlite3")), "duckdb": ("sql", lambda path: in_sql(path, "duckdb"))}


@pytest.mark.parametrize("case", ["spread", *(pytest.param(case, marks=pytest.mark.slow)
                                              for case in ("counts", "quantiles", "several"))])
def test_ends(case, tmp_path):
    model = model_of(case)
    expected = model.predict_interval(ROWS, 0.8)
    record = model._out_of_fold["residuals"]
    assert case != "spread" or len(record[0]["knots"]) > 1
    for engine, (target, run) in RUN.items():
        if lacking(engine):
            continue
        path = tmp_path / f"{engine}{TARGETS[target].suffixes[0]}"
        rffkern.export(model, path, to=target, interval=0.8)
        found = run(path, expected[0].size // 2) if target == "c" else run(path)
        if target == "sql":  # a key and predictions before them
            found = found[:, -expected[0].size :]
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-12, atol=1e-12, err_msg=engine)


def test_refused(tmp_path):
    X = ROWS
    with pytest.raises(InvalidInputError, match="interval must be None for GBRFF2Classifier"):
        rffkern.export(rffkern.GBRFF2Classifier(2, random_state=0).fit(X, X[:, 0] > 0), tmp_path / "m", to="c",
                       interval=0.8)
    model = rffkern.GBRFFRegressor(2, random_state=0).fit(X, X[:, 0])
    with pytest.raises(TrainingStateError, match="conformalize"):
        rffkern.export(model, tmp_path / "m", to="c", interval=0.8)
    with pytest.raises(InvalidInputError, match="coverage"):
        rffkern.export(model.conformalize(X, X[:, 0]), tmp_path / "m", to="c", interval=1.5)
