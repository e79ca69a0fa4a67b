"""Exported models give what the models give, in the programs that run them."""

import pytest
from helpers.engines import ENGINES, TARGETS, errors_of, lacking, results_of, rows_of
from helpers.exported import CASES, model_of, rounding

import rffkern

pytestmark = pytest.mark.slow

# What engines run that start slowly, and of which others run the same file or the same loops.
FEW = ("fourier_boosting", "sparse_kernel", "every form, gaps", "odd column names, gaps", "four classes, odd labels",
       "two classes, squared loss", "counts", "trees alone")


def check(case, engine, run, folder):
    model, X = model_of(case)
    expected = results_of(model, X)
    target = ENGINES[engine][0]
    path = folder / f"model{TARGETS[target].suffixes[0]}"
    rffkern.export(model, path, to=target)
    errors = errors_of(run(path, rows_of(model, X), expected), expected)
    assert errors.ulp <= rounding(case)
    assert errors.answers <= 1e-15 * rounding(case)
    assert errors.labels == 1


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ["numpy", "c", "onnx", "sqlite"])
def test_all(case, engine, tmp_path):
    if lacking(engine):
        pytest.skip(f"{', '.join(lacking(engine))} not found")
    check(case, engine, ENGINES[engine][1], tmp_path)


@pytest.mark.parametrize("case", FEW)
@pytest.mark.parametrize("engine", ["js", "duckdb"])
def test_some(case, engine, tmp_path):
    if lacking(engine):
        pytest.skip(f"{', '.join(lacking(engine))} not found")
    check(case, engine, ENGINES[engine][1], tmp_path)


@pytest.mark.parametrize("case", FEW)
def test_in_postgresql(case, server, tmp_path):
    check(case, "postgresql", server, tmp_path)
