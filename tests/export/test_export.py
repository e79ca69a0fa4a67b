"""`rffkern.export`: its arguments, what it refuses, and what stands in the files."""

import ctypes
import sqlite3
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
from helpers.engines import ENGINES, lacking, results_of, rows_of
from helpers.expansions import boosted_expansion, fourier_expansion, kernel_expansion
from helpers.exported import model_of, rows, smooth_kernels

import rffkern
from rffkern import ColumnMap, GBRFF2Classifier, InvalidInputError, NotFittedError
from rffkern._export import TARGETS, Target
from rffkern._export.conditioning import conditioning

GBRFF2, BOOSTED = "two classes, exponential loss", "fourier_boosting"


def exported(model, folder, **options):
    """The text, or bytes, of an exported model."""
    path = folder / "out"
    rffkern.export(model, path, **options)
    return path.read_bytes() if options["to"] == "onnx" else path.read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [
    {"to": "rust"}, {"to": ["c"]}, {"to": None}, {"to": "c", "table": "t"}, {"to": "sql", "name": "n"},
    {"to": "sql", "key": ""}, {"to": "c", "name": "two words"}, {"to": "c", "name": "1st"},
    {"to": "onnx", "precision": "half"}, {"to": "js", "precision": "single"},
    {"to": "sql", "table": 3}, {"to": "sql", "table": "a\nb"}],
    ids=lambda options: " ".join(map(str, options.values())))
def test_bad_options(options, tmp_path):
    with pytest.raises(InvalidInputError, match=next(reversed(options))):
        rffkern.export(model_of(GBRFF2)[0], tmp_path / "out", **options)
    assert not [*tmp_path.iterdir()]


def test_targets_are_named_for_type_checkers_and_in_help():
    assert get_args(Target) == (*TARGETS,)
    text = " ".join(rffkern.export.__doc__.split())
    assert all(f'"{name}", {target.text}' in text for name, target in TARGETS.items())


def test_what_is_no_model(tmp_path):
    for thing in (ColumnMap().fit([[1.0], [2.0]]), "model.npz", GBRFF2Classifier):
        with pytest.raises(InvalidInputError, match="model must be a fitted estimator"):
            rffkern.export(thing, tmp_path / "out", to="c")
    with pytest.raises(NotFittedError, match="GBRFF2Classifier"):
        rffkern.export(GBRFF2Classifier(), tmp_path / "out", to="c")
    with pytest.raises(TypeError, match="path must be the name of a file"):
        rffkern.export(model_of(GBRFF2)[0], 3.5, to="c")


@pytest.mark.parametrize("target", TARGETS)
def test_a_model_is_always_the_same_file(target, tmp_path):
    first = exported(model_of(BOOSTED)[0], tmp_path, to=target)
    assert exported(model_of(BOOSTED)[0], tmp_path, to=target) == first


def test_c_names(tmp_path):
    text = exported(model_of(GBRFF2)[0], tmp_path, to="c", name="ring")
    for name in ("void ring_scores(", "void ring_probabilities(", "int ring_class(", 'ring_labels[2] = {"no", "yes"}'):
        assert name in text


@pytest.mark.skipif(bool(lacking("cc")), reason="gcc not found")
@pytest.mark.parametrize("case", [BOOSTED, "kernels in regions", "a constant",
                                  pytest.param("several targets", marks=pytest.mark.slow)])
def test_many_rows_in_c_have_the_scores_of_each(case, tmp_path):
    """All bits, also of a row that is far out or has a missing number."""
    model, X = model_of(case)
    X = X[:37].copy()
    X[3, 0], X[5, 1], X[36, 0] = 1e300, np.nan, -1e18
    rffkern.export(model, tmp_path / "m.c", to="c")
    subprocess.run(["gcc", "-std=c99", "-O1", "-march=native", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared",
                    "-fPIC", tmp_path / "m.c", "-lm", "-o", tmp_path / "m.so"], check=True)
    library, n_outputs = ctypes.CDLL(str(tmp_path / "m.so")), getattr(model, "expansion_", model).n_outputs
    together, apart = np.full((2, len(X), n_outputs), -7.0)
    library.model_score_rows(*map(ctypes.c_void_p, (X.ctypes.data, len(X), together.ctypes.data)))
    for row, out in zip(X, apart, strict=True):
        library.model_scores(ctypes.c_void_p(row.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    np.testing.assert_array_equal(together.view(np.int64), apart.view(np.int64))


@pytest.mark.skipif(bool(lacking("cc")), reason="gcc not found")
def test_many_rows_of_cells_in_c(tmp_path):
    """Those before a cell that cannot be read have scores; its place counts over all rows."""
    table = {"city": ["Bern", "Basel"] * 20, "mass": np.arange(40.0)}
    model = GBRFF2Classifier(3, columns=ColumnMap(), random_state=0).fit(table, np.arange(40) % 2)
    text = exported(model, tmp_path, to="c")
    (tmp_path / "m.c").write_text(text + """
#include <stdio.h>
int main(void)
{
    static model_cell x[80];
    double h[40] = {0};
    for (int i = 0; i < 40; i++) {
        x[2 * i].text = i % 2 ? "Basel" : "Bern";
        x[2 * i + 1].number = i;
    }
    printf("%zu\\n", model_score_rows(x, 40, h));
    for (int i = 0; i < 40; i++) printf("%.17g\\n", h[i]);
    x[2 * 33 + 1].text = "heavy";
    printf("%zu\\n", model_score_rows(x, 40, h));
    return 0;
}
""")
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "m.c", "-lm", "-o", "m"], cwd=tmp_path,
                   check=True)
    done = subprocess.run([tmp_path / "m"], capture_output=True, text=True, check=True)
    odd, *scores, place = map(float, done.stdout.split())
    assert (odd, place) == (0, 1 + 2 * 33 + 1)
    np.testing.assert_allclose(scores, model.decision_function(table), rtol=1e-14)


def test_the_numpy_file_imports_numpy_alone(tmp_path):
    (tmp_path / "model.py").write_text(exported(model_of(BOOSTED)[0], tmp_path, to="numpy"))
    program = "import sys, model; print({name.partition('.')[0] for name in sys.modules} & {'rffkern', 'model'})"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "{'model'}\n"


# --- SQL

def sqlite(text, statement, *values):
    """The rows that a SELECT gives for a table."""
    connection = sqlite3.connect(":memory:")
    connection.execute(statement)
    connection.executemany(f"INSERT INTO \"my rows\" VALUES ({', '.join('?' * len(values[0]))})", values)
    found = connection.execute(text)
    names = [column[0] for column in found.description]
    found = sorted(found.fetchall())
    connection.close()
    return names, found


def test_sql_names_and_rows_without_numbers(tmp_path):
    model = GBRFF2Classifier(3, random_state=0).fit(rows(2, n_rows=60), rows(2, n_rows=60)[:, 0] > 0)
    text = exported(model, tmp_path, to="sql", table="main.my rows", key='a "key"')
    names, found = sqlite(text, 'CREATE TABLE "my rows" ("a ""key""" text, x1 real, more text, x0 real)',
                          ("first", 0.25, "?", 1.5), ("second", None, "?", 1.5))
    assert names == ['a "key"', "label", "probability_False", "probability_True", "score"]
    assert found[0][4] == pytest.approx(model.decision_function([[1.5, 0.25]])[0])
    assert found[1] == ("second", None, None, None, None)


def test_sql_never_takes_a_column_that_is_not_there_for_text(tmp_path):
    """SQLite takes an unknown name in quotes for text, unless it names the table too."""
    text = exported(model_of(GBRFF2)[0], tmp_path, to="sql", table="my rows")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        sqlite(text, 'CREATE TABLE "my rows" (id integer, x0 real, x1 real)', (1, 2.0, 3.0))


def test_sql_of_too_much(tmp_path):
    wide = fourier_expansion(np.ones((1, 900)), [0.0], [[1.0]], [0.0], np.zeros(900))
    with pytest.raises(InvalidInputError, match="more than 1600 columns"):
        rffkern.export(wide, tmp_path / "out", to="sql")
    large = fourier_expansion(np.ones((1000, 500)), np.zeros(1000), np.ones((1000, 1)), [0.0], np.zeros(500))
    with pytest.raises(InvalidInputError, match="would hold 502500 numbers"):
        rffkern.export(large, tmp_path / "out", to="sql")


def test_sql_finds_cells_by_an_index(tmp_path):
    """SQLite makes none for tables of some 30,000 rows, and read all of them for each table and row."""
    columns = np.tile(np.arange(10), (32, 1))
    deep = boosted_expansion(np.empty((0, 10)), [], np.empty((0, 1)), [0.0], np.zeros(10), np.zeros((10, 1)),
                                 columns, np.zeros((32, 10)), np.ones((32 * 1024, 1)))
    text = exported(deep, tmp_path, to="sql", table="my rows")
    columns = ", ".join(f"x{j} real" for j in range(10))
    _, plan = sqlite("EXPLAIN QUERY PLAN " + text, f'CREATE TABLE "my rows" (id integer, {columns})', range(11))
    steps = [row[3] for row in plan if "rff_leaves" in row[3]]
    assert sum("AUTOMATIC" in step for step in steps) == 2
    assert not [step for step in steps if step.startswith("SCAN") and not step.endswith("_text")]


# --- ONNX

@pytest.mark.skipif(bool(lacking("onnxruntime")), reason="needs onnx and onnxruntime")
@pytest.mark.parametrize(("case", "outputs"), [
    (GBRFF2, {"label": "tensor(string)", "probabilities": "tensor(double)", "scores": "tensor(double)"}),
    ("two classes, whole numbers", {"label": "tensor(int64)", "probabilities": "tensor(double)",
                                    "scores": "tensor(double)"}),
    ("several quantiles", {"variable": "tensor(double)"})])
def test_onnx_names_are_those_of_converters(case, outputs, tmp_path):
    import onnxruntime

    session = onnxruntime.InferenceSession(exported(model_of(case)[0], tmp_path, to="onnx"))
    assert {output.name: output.type for output in session.get_outputs()} == outputs
    (given,) = session.get_inputs()
    assert (given.name, given.type, given.shape[0]) == ("X", "tensor(double)", "rows")


@pytest.mark.skipif(bool(lacking("onnxruntime")), reason="needs onnx and onnxruntime")
@pytest.mark.parametrize("case", [GBRFF2, BOOSTED, "sparse_kernel", "every form, gaps", "trees alone"])
def test_onnx_in_single_precision(case, tmp_path):
    model, X = model_of(case)
    X = X.astype(np.float32)
    expected = results_of(model, X.astype(np.float64))
    rffkern.export(model, tmp_path / "model.onnx", to="onnx", precision="single")
    found = ENGINES["onnxruntime"][1](tmp_path / "model.onnx", rows_of(model, X), expected)
    assert found.answers.dtype == np.float32
    assert np.abs(found.answers - expected.answers).max() <= 1e-4 * np.abs(expected.answers).max()


# --- sums that cancel

def test_single_precision_is_refused_where_terms_cancel(tmp_path):
    model = smooth_kernels()
    assert conditioning(model.kernels) > 1e4
    with pytest.raises(InvalidInputError, match="the weights of the terms cancel: without their signs"):
        rffkern.export(model, tmp_path / "out", to="onnx", precision="single")
    rffkern.export(model, tmp_path / "out", to="onnx")
    far = fourier_expansion([[1.0]], [1e9], [[1.0]], [0.0], [0.0])
    with pytest.raises(InvalidInputError, match="needs double precision, as its numbers are too large, or its phases"):
        rffkern.export(far, tmp_path / "out", to="onnx", precision="single")


def test_conditioning_by_hand():
    kernels = kernel_expansion([[0.0], [0.0]], [[3.0, 1.0], [-1.0, 1.0]], [5.0, 5.0], [1.0])
    assert conditioning(kernels.kernels) == 2.0  # (3 + 1) / (3 - 1), and 1
    assert conditioning(kernel_expansion(np.empty((0, 1)), np.empty((0, 1)), [0.0], [1.0]).kernels) == 1.0
    assert conditioning(kernel_expansion([[0.0], [0.0]], [[1.0], [-1.0]], [5.0], [1.0]).kernels) > 1e299
    assert conditioning(kernel_expansion([[0.0]], [[0.0]], [5.0], [1.0]).kernels) == 1.0
