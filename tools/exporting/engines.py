"""Run an exported model in its real engine.

Each function takes the file, rows of float64 with nan where missing and what the model has, and gives `Results`.
"""

import importlib.util
import pathlib
import shutil
import subprocess
from typing import Any, NamedTuple

import numpy as np


class Results(NamedTuple):
    """What comes out for rows."""

    scores: Any  # (n_rows, n_outputs)
    answers: Any  # (n_rows, n_answers) probabilities, or what `predict` or `transform` gives
    labels: Any  # (n_rows,) of a classifier, else None


def of_model(model: Any, X: Any) -> Results:
    """The same from the model itself."""
    if not hasattr(model, "get_params"):
        return Results(model.score(X), model.score(X), None)
    if hasattr(model, "transform"):
        return Results(model.transform(X), model.transform(X), None)
    if hasattr(model, "predict_proba"):
        return Results(model._raw_scores(X), model.predict_proba(X), model.predict(X))
    return Results(model._raw_scores(X), model.predict(X).reshape(len(X), -1), None)


def run_numpy(path: pathlib.Path, X: Any, shapes: Results) -> Results:
    """Import the file."""
    spec = importlib.util.spec_from_file_location("exported", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    predicted = module.predict(X)
    if shapes.labels is None:
        return Results(module.scores(X), predicted.reshape(len(X), -1), None)
    return Results(module.scores(X), module.probabilities(X), predicted)


_DRIVER = """
#include <stdio.h>
void model_scores(const double *x, double *h);
void {answers}(const double *x, double *y);
{declared}
int main(void)
{{
    double x[{d}], out[{k} + {a} + 1];
    while (fread(x, sizeof x, 1, stdin)) {{
        model_scores(x, out);
        {answers}(x, out + {k});
        out[{k} + {a}] = {label};
        fwrite(out, sizeof out, 1, stdout);
    }}
    return 0;
}}
"""


def run_c(path: pathlib.Path, X: Any, shapes: Results) -> Results:
    """Compile it with a driver that reads rows and writes numbers; all warnings are errors."""
    k, a = shapes.scores.shape[1], shapes.answers.shape[1]
    labelled = shapes.labels is not None
    driver = path.with_suffix(".driver.c")
    driver.write_text(_DRIVER.format(
        d=X.shape[1], k=k, a=a, answers="model_probabilities" if labelled else "model_predict",
        declared="int model_class(const double *x);" if labelled else "", label="model_class(x)" if labelled else "0"))
    program = path.with_suffix(".bin")
    subprocess.run(["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-march=native", path, driver, "-lm", "-o",
                    program], check=True)
    return _from_bytes(subprocess.run([program], input=X.tobytes(), capture_output=True, check=True).stdout, shapes)


_SCRIPT = """
import * as model from "{path}";
import {{ readFileSync, writeSync }} from "node:fs";
const given = readFileSync(0), x = new Float64Array(given.buffer, given.byteOffset, given.length / 8);
const d = {d}, width = {k} + {a} + 1, out = new Float64Array(x.length / d * width);
for (let i = 0; i < x.length / d; i++) {{
    const row = x.slice(i * d, (i + 1) * d), at = i * width;
    out.set(model.scores(row), at);
    if (model.classes) {{
        out.set(model.probabilities(row), at + {k});
        out[at + width - 1] = model.classes.indexOf(model.predict(row));
    }} else out.set([].concat(...[model.predict(row)].map((y) => y.length ? Array.from(y) : y)), at + {k});
}}
const bytes = Buffer.from(out.buffer);
for (let start = 0; start < bytes.length;) start += writeSync(1, bytes, start);
"""


def run_js(path: pathlib.Path, X: Any, shapes: Results) -> Results:
    """Import it in node."""
    script, module = path.with_suffix(".run.mjs"), path.with_suffix(".mjs")
    if module != path:
        shutil.copy(path, module)
    script.write_text(_SCRIPT.format(path=f"./{module.name}", d=X.shape[1], k=shapes.scores.shape[1],
                                     a=shapes.answers.shape[1]))
    done = subprocess.run(["node", script], input=X.tobytes(), stdout=subprocess.PIPE, check=True)
    return _from_bytes(done.stdout, shapes)


def _from_bytes(data: bytes, shapes: Results) -> Results:
    k, a = shapes.scores.shape[1], shapes.answers.shape[1]
    out = np.frombuffer(data).reshape(-1, k + a + 1)
    return Results(out[:, :k], out[:, k : k + a], None if shapes.labels is None
                   else np.unique(shapes.labels)[out[:, -1].astype(int)] if False else out[:, -1].astype(int))


def run_onnx(path: pathlib.Path, X: Any, shapes: Results) -> Results:
    """Check it, and run it in onnxruntime."""
    import onnx
    import onnxruntime

    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = X.astype(np.float32) if session.get_inputs()[0].type == "tensor(float)" else X
    parts = [session.run(None, {"X": given[i : i + 500]}) for i in range(0, len(X), 500)]
    whole = [np.concatenate(each) for each in zip(*parts, strict=True)]
    if shapes.labels is None:
        return Results(whole[0], whole[0], None)
    label, probabilities, scores = whole
    return Results(scores, probabilities, label)


def _from_rows(rows: Any, shapes: Results) -> Results:
    """Results of a SELECT: the key, then a label, probabilities and scores, or predictions."""
    rows = sorted(rows)
    if shapes.labels is None:
        found = np.array([row[1:] for row in rows], dtype=np.float64)
        return Results(found, found, None)
    found = np.array([row[2:] for row in rows], dtype=np.float64)
    a = shapes.answers.shape[1]
    return Results(found[:, a:], found[:, :a], np.array([row[1] for row in rows]))


def _table_of(X: Any, names: list[str]) -> tuple[str, list[tuple[Any, ...]]]:
    """The statement that makes a table, and its rows."""
    columns = ", ".join(f'"{name}" double precision' for name in names)
    return (f"CREATE TABLE rows (id integer, {columns})",
            [(i, *(None if value != value else value for value in row)) for i, row in enumerate(X.tolist())])


def run_sqlite(path: pathlib.Path, X: Any, shapes: Results, names: list[str]) -> Results:
    """Run it in Python's own SQLite."""
    import sqlite3

    connection = sqlite3.connect(":memory:")
    statement, rows = _table_of(X, names)
    connection.execute(statement)
    connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return _from_rows(connection.execute(path.read_text()).fetchall(), shapes)


def run_duckdb(path: pathlib.Path, X: Any, shapes: Results, names: list[str]) -> Results:
    """Run it in DuckDB."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(_table_of(X, names)[0])
    columns = {"id": np.arange(len(X)), **{f"c{j}": column for j, column in enumerate(X.T)}}
    connection.execute("INSERT INTO rows SELECT id, "
                       + ", ".join(f"CASE WHEN isnan(c{j}) THEN NULL ELSE c{j} END" for j in range(X.shape[1]))
                       + " FROM columns")
    del columns
    return _from_rows(connection.execute(path.read_text()).fetchall(), shapes)


def run_postgresql(path: pathlib.Path, X: Any, shapes: Results, names: list[str], socket: str) -> Results:
    """Run it in a server that listens to a socket in a folder."""
    statement, rows = _table_of(X, names)
    lines = ["\t".join("\\N" if value is None else repr(value) for value in row) for row in rows]
    script = (f"BEGIN;\n{statement};\nCOPY rows FROM STDIN;\n" + "\n".join(lines) + "\n\\.\n" + path.read_text()
              + ";\nROLLBACK;\n")
    done = subprocess.run(["psql", "-h", socket, "-qAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "postgres", "nobody"],
                          input=script, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = [line.split("\t") for line in done.stdout.splitlines()]
    return _from_rows([[int(row[0]), *row[1:]] for row in found], shapes)


ENGINES = {"onnx": run_onnx, "numpy": run_numpy, "c": run_c, "js": run_js}
