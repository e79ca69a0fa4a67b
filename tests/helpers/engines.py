"""Run an exported model in its real engine.

Each engine takes the file, rows of float64 with nan where missing and what the model itself gives, and gives the same.
"""

import contextlib
import csv
import functools
import importlib.util
import io
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np


class Results(NamedTuple):
    """What comes out for rows."""

    scores: Any  # (n_rows, n_outputs); None where only what follows from them comes out
    answers: Any  # (n_rows, n_answers) probabilities, or what `predict` or `transform` gives
    labels: Any = None  # (n_rows,) of a classifier
    classes: Any = None  # their distinct values
    names: Any = None  # of the columns


def of_model(model: Any, X: Any) -> Results:
    """Results of the model itself."""
    names = [*map(str, getattr(model, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])]))]
    if hasattr(model, "predict_proba"):
        return Results(model._raw_scores(X), model.predict_proba(X), model.predict(X), model.classes_, names)
    method = next(getattr(model, name) for name in ("transform", "predict", "score") if hasattr(model, name))
    answers = method(X).reshape(len(X), -1)
    return Results(model._raw_scores(X) if hasattr(model, "predict") else answers, answers, names=names)


def run_numpy(path: pathlib.Path, X: Any, expected: Results) -> Results:
    """Import the file."""
    spec = importlib.util.spec_from_file_location("exported", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    predicted = module.predict(X)
    if expected.classes is None:
        return Results(module.scores(X), predicted.reshape(len(X), -1))
    return Results(module.scores(X), module.probabilities(X), predicted)


_DRIVER = """
#include <stdio.h>
void model_scores(const double *x, double *h);
void {answers}(const double *x, double *y);
int model_class(const double *x);
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


def run_c(path: pathlib.Path, X: Any, expected: Results) -> Results:
    """Compile it with a driver that reads rows and writes numbers; all warnings are errors."""
    labelled = expected.classes is not None
    driver, program = path.with_suffix(".driver.c"), path.with_suffix(".bin")
    driver.write_text(_DRIVER.format(
        d=X.shape[1], k=expected.scores.shape[1], a=expected.answers.shape[1],
        answers="model_probabilities" if labelled else "model_predict", label="model_class(x)" if labelled else "0"))
    subprocess.run(["gcc", "-std=c99", "-O1", "-march=native", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                    path, driver, "-lm", "-o", program], check=True)
    done = subprocess.run([program], input=X.tobytes(), stdout=subprocess.PIPE, check=True)
    return _from_bytes(done.stdout, expected)


_SCRIPT = """
import * as model from "./{name}";
import {{ readFileSync, writeSync }} from "node:fs";
const given = readFileSync(0), x = new Float64Array(given.buffer, given.byteOffset, given.length / 8);
const d = {d}, width = {k} + {a} + 1, out = new Float64Array(x.length / d * width);
for (let i = 0; i < x.length / d; i++) {{
    const row = x.slice(i * d, (i + 1) * d), at = i * width, predicted = model.predict(row);
    out.set(model.scores(row), at);
    out.set(model.classes ? model.probabilities(row) : predicted.length ? predicted : [predicted], at + {k});
    if (model.classes) out[at + width - 1] = model.classes.indexOf(predicted);
}}
const bytes = Buffer.from(out.buffer);
for (let start = 0; start < bytes.length;) start += writeSync(1, bytes, start);
"""


def run_js(path: pathlib.Path, X: Any, expected: Results) -> Results:
    """Import it in node."""
    module, script = path.with_suffix(".mjs"), path.with_suffix(".run.mjs")
    shutil.copy(path, module)
    script.write_text(_SCRIPT.format(name=module.name, d=X.shape[1], k=expected.scores.shape[1],
                                     a=expected.answers.shape[1]))
    done = subprocess.run(["node", script], input=X.tobytes(), stdout=subprocess.PIPE, check=True)
    return _from_bytes(done.stdout, expected)


def _from_bytes(data: bytes, expected: Results) -> Results:
    """Results of a driver: of each row the scores, the answers and the place of the label among all."""
    k, a = expected.scores.shape[1], expected.answers.shape[1]
    out = np.frombuffer(data).reshape(-1, k + a + 1)
    return Results(out[:, :k], out[:, k : k + a],
                   None if expected.classes is None else expected.classes[out[:, -1].astype(int)])


def run_onnx(path: pathlib.Path, X: Any, expected: Results) -> Results:
    """Check it, and run it in onnxruntime, some rows at once."""
    import onnx
    import onnxruntime

    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = X.astype(np.float32) if session.get_inputs()[0].type == "tensor(float)" else X
    names = ["variable"] if expected.classes is None else ["scores", "probabilities", "label"]
    parts = [session.run(names, {"X": given[i : i + 500]}) for i in range(0, len(X), 500)]
    whole = [np.concatenate(each) for each in zip(*parts, strict=True)]
    return Results(None, whole[0]) if expected.classes is None else Results(*whole)


def _columns(names: list[str]) -> str:
    """The columns of a table, whose key is id."""
    quoted = ('"' + name.replace('"', '""') + '" double precision' for name in names)
    return f"id integer, {', '.join(quoted)}"


def _rows(X: Any) -> list[tuple[Any, ...]]:
    return [(i, *(None if value != value else value for value in row)) for i, row in enumerate(X.tolist())]


def _from_rows(rows: Any, expected: Results) -> Results:
    """Results of a SELECT: the key, then a label, probabilities and scores, or predictions."""
    rows = sorted(rows)
    if expected.classes is None:
        found = np.array([row[1:] for row in rows], dtype=np.float64)
        return Results(None, found)
    a, found = expected.answers.shape[1], np.array([row[2:] for row in rows], dtype=np.float64)
    return Results(found[:, a:], found[:, :a], np.array([row[1] for row in rows]))


def run_sqlite(path: pathlib.Path, X: Any, expected: Results) -> Results:
    """Run it in Python's own SQLite."""
    import sqlite3

    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE rows ({_columns(expected.names)})")
        connection.executemany(f"INSERT INTO rows VALUES (?{', ?' * X.shape[1]})", _rows(X))
        return _from_rows(connection.execute(path.read_text()).fetchall(), expected)


def run_duckdb(path: pathlib.Path, X: Any, expected: Results) -> Results:
    """Run it in DuckDB."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE rows ({_columns(expected.names)})")
        given = {"id": np.arange(len(X)), **{f"c{j}": column for j, column in enumerate(X.T)}}
        values = ", ".join(f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END" for name in [*given][1:])
        connection.execute(f"INSERT INTO rows SELECT id, {values} FROM given")
        del given
        return _from_rows(connection.execute(path.read_text()).fetchall(), expected)


@contextlib.contextmanager
def postgresql(folder: pathlib.Path) -> Iterator["Engine"]:
    """A server of its own in a new folder, which is not run as root."""
    folder.mkdir()
    as_user = []
    if os.getuid() == 0:
        shutil.chown(folder, "nobody")
        as_user = ["runuser", "-u", "nobody", "--"]
    data, quiet = folder / "data", {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*as_user, "initdb", "-D", data, "-A", "trust", "-U", "rffkern", "-E", "UTF8", "--no-sync"], **quiet)
    settings = f"-k {folder} -c listen_addresses='' -c fsync=off -c jit=off"
    subprocess.run([*as_user, "pg_ctl", "-D", data, "-o", settings, "-l", folder / "log", "-w", "start"], **quiet)
    try:
        yield functools.partial(_run_postgresql, folder)
    finally:
        subprocess.run([*as_user, "pg_ctl", "-D", data, "-m", "immediate", "stop"], **quiet)


def _run_postgresql(socket: pathlib.Path, path: pathlib.Path, X: Any, expected: Results) -> Results:
    lines = "\n".join("\t".join("\\N" if value is None else repr(value) for value in row) for row in _rows(X))
    script = (f"BEGIN;\nCREATE TABLE rows ({_columns(expected.names)});\nCOPY rows FROM STDIN;\n{lines}\n\\.\n"
              f"{path.read_text()}ROLLBACK;\n")
    done = subprocess.run(["psql", "-h", socket, "-qt", "--csv", "-v", "ON_ERROR_STOP=1", "postgres", "rffkern"],
                          input=script, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = csv.reader(io.StringIO(done.stdout, newline=""))
    return _from_rows([[int(row[0]), *row[1:]] for row in found], expected)


Engine = Callable[[pathlib.Path, Any, Results], Results]

# The target of each engine, how to run it, and the programs and packages that it needs.
ENGINES: dict[str, tuple[str, Engine | None, list[str], list[str]]] = {
    "numpy": ("numpy", run_numpy, [], []),
    "c": ("c", run_c, ["gcc"], []),
    "js": ("js", run_js, ["node"], []),
    "onnx": ("onnx", run_onnx, [], ["onnx", "onnxruntime"]),
    "sqlite": ("sql", run_sqlite, [], ["sqlite3"]),
    "duckdb": ("sql", run_duckdb, [], ["duckdb"]),
    "postgresql": ("sql", None, ["initdb", "pg_ctl", "psql"], []),
}


def lacking(engine: str) -> list[str]:
    """Programs and packages that an engine needs and that are not here."""
    _, _, programs, packages = ENGINES[engine]
    return [*(name for name in programs if shutil.which(name) is None),
            *(name for name in packages if importlib.util.find_spec(name) is None)]


SUFFIXES = {"numpy": ".py", "c": ".c", "js": ".js", "onnx": ".onnx", "sql": ".sql"}


class Errors(NamedTuple):
    """How far results are from those of the model."""

    ulp: float  # of scores, in units in the last place of the larger of |H| and 1
    answers: float  # the largest difference, over the larger of 1 and the answer
    labels: float  # the share of rows with the same label


def _text(label: Any) -> str:
    """A label as text; engines have their own words for truth values."""
    return {"True": "1", "False": "0", "t": "1", "f": "0"}.get(text := str(label), text)


def errors_of(found: Results, expected: Results) -> Errors:
    """Compare results; nan where some are not numbers."""
    for got, given in zip(found[:3], expected[:3], strict=True):
        if got is not None and np.shape(got) != np.shape(given):
            raise AssertionError(f"expected shape {np.shape(given)}, got {np.shape(got)}")
    got, given = (found.answers, expected.answers) if found.scores is None else (found.scores, expected.scores)
    ulp = np.max(np.abs(got - given) / np.spacing(np.maximum(np.abs(given), 1)))
    answers = np.max(np.abs(found.answers - expected.answers) / np.maximum(np.abs(expected.answers), 1))
    same = 1.0
    if expected.labels is not None:
        same = float(np.mean([_text(a) == _text(b) for a, b in zip(found.labels, expected.labels, strict=True)]))
    return Errors(float(ulp), float(answers), same)
