"""Exported models, of numbers and of tables, give what the models give, in the programs that run them."""

import numpy as np
import pytest
from helpers import exported
from helpers.engines import ENGINES, TARGETS, errors_of, lacking, results_of, rows_of
from helpers.exported_tables import CASES, case_of

import rffkern
from rffkern import InvalidInputError
from rffkern._export.engines import Results

QUICK = ("dates and their differences, regression", "hostile names, levels and labels")
SLOW = {"node", "node, script of the page", "duckdb"}
# What engines run that start slowly, and of which others run the same file or the same loops.
FEW = (*CASES, "fourier_boosting", "sparse_kernel", "every form, gaps", "odd column names, gaps",
       "four classes, odd labels", "two classes, squared loss", "counts", "trees alone")
PAIRS = [pytest.param(engine, case, marks=[] if case in QUICK else pytest.mark.slow)
         for case in (*CASES, *exported.CASES)
         for engine in ENGINES if engine != "postgresql" and (case in FEW or engine not in SLOW)]


def check(case, engine, run, folder):
    model, X = case_of(case) if case in CASES else exported.model_of(case)
    X = X(120, 1) if case in CASES else X
    expected = results_of(model, X)
    target = ENGINES[engine][0]
    path = folder / f"model{TARGETS[target].suffixes[0]}"
    if case.startswith("free text") and not TARGETS[target].reads_text:
        with pytest.raises(InvalidInputError, match=r"column 'review' of the model holds free text.* to 'c', 'js', '"):
            rffkern.export(model, path, to=target)
        return
    rffkern.export(model, path, to=target)
    errors = errors_of(run(path, rows_of(model, X), expected), expected)
    assert errors.ulp <= exported.rounding_of(model)
    assert errors.answers <= 1e-15 * exported.rounding_of(model)
    assert errors.labels == 1


@pytest.mark.parametrize(("engine", "case"), PAIRS)
def test_all(engine, case, tmp_path):
    if lacking(engine):
        pytest.skip(f"{', '.join(lacking(engine))} not found")
    check(case, engine, ENGINES[engine][1], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", [*QUICK, *(case for case in FEW if case not in CASES)])
def test_in_postgresql(case, server, tmp_path):
    check(case, "postgresql", server, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("engine", sorted(SLOW - {"duckdb"}))
def test_more_numbers_than_a_function_takes_arguments(engine, tmp_path, rng):
    if lacking(engine):
        pytest.skip(f"{', '.join(lacking(engine))} not found")
    X = rng.standard_normal((1400, 50))
    model = rffkern.KernelRidgeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    target, run = ENGINES[engine][:2]
    path = tmp_path / f"model{TARGETS[target].suffixes[0]}"
    rffkern.export(model, path, to=target)
    expected = results_of(model, X[:20])
    assert errors_of(run(path, rows_of(model, X[:20]), expected), expected).ulp <= exported.rounding_of(model)


@pytest.mark.parametrize("engine", ["sqlite3", "duckdb"])
def test_the_table_may_be_in_a_schema(engine, tmp_path, rng):
    if lacking(engine):
        pytest.skip(f"{', '.join(lacking(engine))} not found")
    X, options = rng.standard_normal((50, 2)), {"table": "some schema.rows", "key": "id"}
    model = rffkern.GBRFF2Classifier(10, random_state=0).fit(X, X[:, 0] > 0)
    rffkern.export(model, tmp_path / "model.sql", to="sql", **options)
    expected = results_of(model, X)
    found = ENGINES[engine][1](tmp_path / "model.sql", rows_of(model, X), expected, options)
    assert errors_of(found, expected).ulp <= exported.rounding_of(model)


@pytest.mark.parametrize("engine", ["sqlite3", "duckdb"])
def test_the_key_may_be_a_column_of_the_model(engine, tmp_path):
    """Databases do not tell Id from id; the key must differ from row to row."""
    if lacking(engine):
        pytest.skip(f"{', '.join(lacking(engine))} not found")
    rng, options = np.random.default_rng(0), {"table": "main.some rows", "key": "Id"}
    table = {"id": rng.permutation(200) + 1.0, "x": rng.standard_normal(200)}
    model = rffkern.GBRFF2Classifier(10, columns=rffkern.ColumnMap(), random_state=0).fit(table, table["id"] > 80)
    rffkern.export(model, tmp_path / "model.sql", to="sql", **options)
    expected = results_of(model, table)
    found = ENGINES[engine][1](tmp_path / "model.sql", rows_of(model, table), expected, options)
    assert errors_of(found, expected).ulp <= exported.rounding_of(model)
    named = rffkern.GBRFF2Classifier(10, columns=rffkern.ColumnMap(), random_state=0).fit(
        {"ID": [f"n{i}" for i in range(200)], "x": table["x"]}, table["id"] > 80)  # which does not use the column
    rffkern.export(named, tmp_path / "named.sql", to="sql", **options)
    X = {"ID": [f"m{i}" for i in range(200)], "x": table["x"]}
    found = ENGINES[engine][1](tmp_path / "named.sql", rows_of(named, X), results_of(named, X), options)
    assert errors_of(found, results_of(named, X)).ulp <= exported.rounding_of(named)
    table["id"][3] = table["id"][5]
    with pytest.raises(ValueError, match=r"column 'Id', which identifies .* several: export with --key"):
        ENGINES[engine][1](tmp_path / "model.sql", rows_of(model, table), expected, options)


@pytest.mark.parametrize("engine", ["sqlite3", "duckdb"])
def test_a_column_without_a_name_that_is_not_read(engine, tmp_path):
    """As of the index that pandas writes; DuckDB has no such names."""
    if lacking(engine):
        pytest.skip(f"{', '.join(lacking(engine))} not found")
    rng, options = np.random.default_rng(0), {"table": "rows", "key": "id"}
    table = {"": [None] * 50, "x": rng.standard_normal(50)}
    model = rffkern.GBRFF2Classifier(10, columns=rffkern.ColumnMap(), random_state=0).fit(table, table["x"] > 0)
    rffkern.export(model, tmp_path / "model.sql", to="sql", **options)
    expected = results_of(model, table)
    found = ENGINES[engine][1](tmp_path / "model.sql", rows_of(model, table), expected, options)
    assert errors_of(found, expected).ulp <= exported.rounding_of(model)


def test_differences_are_measured_by_the_size_of_scores():
    """Rounding of scores of 1e6 is no error of one near 0, and scores below 1 have no smaller unit."""
    given = np.array([[2e6, 0.5], [1e-3, 1e-3]])
    expected = Results(None, given)
    for difference, sizes in (([[0, 0], [1e-8, 0]], 2e6), ([[0, 0], [0, 1e-8]], 1.0)):
        errors = errors_of(Results(None, given + difference), expected)
        assert errors.scores == errors.answers == pytest.approx(1e-8 / sizes, rel=1e-6)
    assert np.isnan(errors_of(Results(None, np.full((2, 2), np.nan)), expected).scores)
