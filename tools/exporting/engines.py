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


ENGINES = {"numpy": run_numpy, "c": run_c, "js": run_js}
