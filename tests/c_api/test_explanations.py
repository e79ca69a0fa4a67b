"""Ends of intervals and contributions of columns in C, beside those of Python."""

import json

import numpy as np
import pytest
from helpers import damaged_files
from helpers.c_cells import CELL, COVERAGE, NOT_KEPT, OK, UNSUPPORTED, CellModel
from helpers.c_reader import compiler

import rffkern
from rffkern import (
    ColumnMap,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    GBRFFRegressor,
    KernelRidgeRegressor,
    RFFNetRegressor,
)

pytestmark = [pytest.mark.skipif(compiler() is None, reason="there is no C compiler: set CC"),
              pytest.mark.filterwarnings("ignore::rffkern.errors.ColumnWarning")]

SMALL = {"n_bags": 1, "kernel_ridge": False, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
TABLE = {"city": [["Bern", "Basel", None, "x"][k] for k in RNG.choice(4, 400, p=[0.5, 0.3, 0.19, 0.01])],
         "mass": [f"{x:.1f} kg" for x in 5 + X[:, 0]], "took": [f"{k % 9}h {k % 60}m" for k in range(400)],
         "since": [f"20{k % 20 + 10}-0{k % 9 + 1}-11" for k in range(400)],
         "end": [f"20{k % 20 + 11}-0{k % 7 + 1}-{k % 20 + 10}" for k in range(400)],
         "note": [" ".join(["bright", "gloomy", "day", "Straße"][j] for j in RNG.integers(4, size=6)) + f" {k}"
                  for k in range(400)]}


# --- intervals

def regressor(case):
    """A regressor and its rows: a spread that depends on predictions, counts, targets, crossing quantiles, weights."""
    noise = np.exp(X[:, 0]) * RNG.standard_normal(400)
    if case == "counts":
        return FourierBoostingRegressor(8, loss="poisson", **SMALL).fit(X, RNG.poisson(np.exp(X[:, 0])))
    if case == "quantiles":
        return FourierBoostingRegressor(8, loss="quantile", quantile=[0.1, 0.5, 0.9], **SMALL).fit(X, Y + noise)
    if case == "targets":
        return FourierBoostingRegressor(8, **SMALL).fit(X, np.column_stack([Y, noise]))
    if case == "others":
        return GBRFFRegressor(3, random_state=0).fit(X, Y).conformalize(X[:100], Y[:100])
    return FourierBoostingRegressor(8, **SMALL).fit(X, Y + noise, RNG.uniform(0.5, 2, 400))


@pytest.mark.parametrize("case", ["spread", "counts", "quantiles", "targets", "others"])
def test_intervals(library, case):
    model = regressor(case)
    with CellModel(library, rffkern.dumps(model)) as in_c:
        for coverage in (0.9, 0.5, 0.123):
            expected = model.predict_interval(X, coverage)
            code, found = in_c.of_numbers("predict_interval", X, expected[0].size, coverage)
            assert code == OK
            np.testing.assert_allclose(found, expected.reshape(400, -1), rtol=1e-14, atol=1e-14)
        single = in_c.of_numbers("predict_interval", X.astype(np.float32), expected[0].size, coverage)[1]
        np.testing.assert_allclose(single, model.predict_interval(X.astype(np.float32), coverage).reshape(400, -1),
                                   rtol=1e-14, atol=1e-14)  # ends near 0 are differences of numbers of size 1
        assert in_c.of_numbers("predict_interval", X, expected[0].size, 1 - 1e-7)[0] == COVERAGE
        assert {in_c.of_numbers("predict_interval", X, expected[0].size, bad)[0] for bad in (0.0, 1.0, np.nan)} == {1}


def test_intervals_of_cells(library):
    model = FourierBoostingRegressor(8, **SMALL).fit(TABLE, Y)
    rows = [*zip(*TABLE.values(), strict=True)]
    with CellModel(library, rffkern.dumps(model)) as in_c:
        np.testing.assert_allclose(in_c(rows, 2, "predict_interval", 0.8)[1], model.predict_interval(TABLE, 0.8),
                                   rtol=1e-14)
        assert in_c([("Bern", "heavy", *rows[0][2:])], 2, "predict_interval", 0.8)[0::3] == (CELL, 1)


def test_models_without_residuals(library):
    for model in (GBRFF2Classifier(2, random_state=0).fit(X, Y > 0), GBRFFRegressor(2, random_state=0).fit(X, Y),
                  FourierBoostingClassifier(3, **SMALL).fit(X, Y > 0)):
        with CellModel(library, rffkern.dumps(model)) as in_c:
            assert in_c.of_numbers("predict_interval", X, 2, 0.8)[0] == NOT_KEPT


# --- contributions

def model_of(case):
    """(Model, rows): cosines, lines and trees, of several outputs, with gaps that are imputed, beyond the bounds."""
    small = {**SMALL, "n_estimators": 15}
    if case == "classes":
        return FourierBoostingClassifier(**small).fit(X, np.digitize(Y, [-0.5, 0.5])), X
    if case == "targets":
        return FourierBoostingRegressor(**small, columns=None).fit(X, np.column_stack([Y, X[:, 0]])), 3 * X
    if case == "gaps":
        near = HOLES.copy()
        near[:, 1] = X[:, 0] + 0.1 * near[:, 1]  # which missing values are imputed from
        model = FourierBoostingRegressor(**small, columns=ColumnMap(("standard", "rank", "bins"))).fit(near, Y)
        assert any(column.imputations for column in model.column_map_._fitted.columns)
        return model, near
    if case == "trees":
        return FourierBoostingRegressor(**small, base_learners=["tree"]).fit(X, Y), X
    if case == "constant":
        return FourierBoostingRegressor(**small).fit(X, np.ones(400)), X
    if case == "gbrff2":
        return GBRFF2Classifier(6, random_state=0).fit(X, Y > 0), X
    if case == "wide":
        wide = np.hstack([X, RNG.standard_normal((400, 60))])
        return RFFNetRegressor(max_epochs=1, random_state=0, columns=None).fit(wide, Y), wide
    return RFFNetRegressor(max_epochs=2, random_state=0).fit(X, Y), X


@pytest.mark.parametrize("case", ["classes", "targets", "gaps", "trees", "constant", "gbrff2", "rffnet", "wide"])
def test_contributions(library, case):
    model, rows = model_of(case)
    rows = rows[:60]
    expected = model.explain(rows)
    values = expected.values.reshape(len(rows), -1)
    with CellModel(library, rffkern.dumps(model)) as in_c:
        assert in_c.of_numbers("explain", rows, values.shape[1])[0] == 1
        assert in_c.prepare() == (OK, None) == in_c.prepare()
        code, found = in_c.of_numbers("explain", rows, values.shape[1])
        assert code == OK
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-12 * max(1, np.abs(values).max()))
        n_outputs = model.expansion_.n_outputs
        np.testing.assert_allclose(in_c.base_values(n_outputs), np.ravel(expected.base_values), rtol=0, atol=1e-12)
        scores = in_c.of_numbers("score", rows, n_outputs)[1]
        np.testing.assert_allclose(found.reshape(len(rows), -1, n_outputs).sum(axis=1) + in_c.base_values(n_outputs),
                                   scores, atol=1e-10)
        np.testing.assert_allclose(in_c.of_numbers("explain", rows.astype(np.float32), values.shape[1])[1],
                                   model.explain(rows.astype(np.float32)).values.reshape(len(rows), -1), atol=1e-12)


def test_contributions_of_cells(library):
    """Of words, free text, dates and their differences, units, durations and gaps."""
    model = FourierBoostingClassifier(**{**SMALL, "n_estimators": 20}, columns=ColumnMap(
        date_parts="differences", max_levels=4)).fit(TABLE, [note.count("bright") > 1 for note in TABLE["note"]])
    assert {"text", "difference", "levels"} <= {*model.column_map_.forms_.tolist()}
    rows = [*zip(*TABLE.values(), strict=True)]
    rows[0] = (None,) * len(TABLE)
    rows[1] = ("never seen", *rows[1][1:])
    table = dict(zip(TABLE, zip(*rows, strict=True), strict=True))
    expected = model.explain({name: [*cells] for name, cells in table.items()})
    with CellModel(library, rffkern.dumps(model)) as in_c:
        assert in_c(rows, len(TABLE), "explain")[0] == 1
        assert in_c.prepare() == (OK, None)
        np.testing.assert_allclose(in_c(rows, len(TABLE), "explain")[1], expected.values, rtol=0, atol=1e-12)
        np.testing.assert_allclose(in_c.base_values(1), expected.base_values, atol=1e-12)


def test_models_that_are_not_explained(library):
    kernels = KernelRidgeRegressor(random_state=0, columns=None).fit(X[:50], Y[:50])
    with CellModel(library, rffkern.dumps(kernels)) as in_c:
        assert in_c.prepare() == (UNSUPPORTED, b"contributions in C are those of cosines, linear functions and trees, "
                                               b"not of kernels")
    model = GBRFF2Classifier(2, random_state=0, columns=None).fit(X, Y > 0)
    members = damaged_files.members_of(rffkern.dumps(model))
    header, _ = damaged_files.places_of_header(members)
    for change in (lambda column: column.pop("values"), lambda column: column.update(shares=[1]),
                   lambda column: column.update(values=[1, "x"]), lambda column: column.update(value_shares=[1])):
        damaged = json.loads(json.dumps(header))
        change(damaged["reference"]["columns"][1])
        content = damaged_files.with_header(members, json.dumps(damaged).encode())
        with pytest.raises(rffkern.InvalidInputError):
            rffkern.loads(content).explain(X)
        with CellModel(library, content) as in_c:
            assert in_c.prepare()[0] == NOT_KEPT
    with CellModel(library, rffkern.dumps(model.expansion_)) as in_c:
        assert in_c.prepare()[0] == NOT_KEPT
