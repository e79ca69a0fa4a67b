"""Exported models of tables read words, dates, truth values and gaps as the models do, in their programs."""

import pytest
from helpers.engines import ENGINES, TARGETS, errors_of, lacking, results_of, rows_of
from helpers.exported import rounding_of
from helpers.exported_tables import CASES, case_of

import rffkern
from rffkern import InvalidInputError

QUICK = ("dates and their differences, regression", "hostile names, levels and labels")


def check(case, engine, run, folder, n_rows=120):
    model, table = case_of(case)
    X = table(n_rows, 1)
    expected = results_of(model, X)
    target = ENGINES[engine][0]
    if case.startswith("free text") and target in ("onnx", "sql"):
        with pytest.raises(InvalidInputError, match="column 'review' of the model holds free text, of which files of"):
            rffkern.export(model, folder / "model", to=target)
        return
    path = folder / f"model{TARGETS[target].suffixes[0]}"
    rffkern.export(model, path, to=target)
    errors = errors_of(run(path, rows_of(model, X), expected), expected)
    assert errors.ulp <= rounding_of(model)
    assert errors.answers <= 1e-15 * rounding_of(model)
    assert errors.labels == 1


@pytest.mark.parametrize("case", [case if case in QUICK else pytest.param(case, marks=pytest.mark.slow)
                                  for case in CASES])
@pytest.mark.parametrize("engine", ["numpy", "c", "js", "onnx", "sqlite", "duckdb"])
def test_all(case, engine, tmp_path):
    if lacking(engine):
        pytest.skip(f"{', '.join(lacking(engine))} not found")
    check(case, engine, ENGINES[engine][1], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", QUICK)
def test_in_postgresql(case, server, tmp_path):
    check(case, "postgresql", server, tmp_path)
