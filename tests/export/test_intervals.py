"""Ends of intervals in every target, beside those of `predict_interval`."""

import numpy as np
import pytest
from helpers.engines import ENGINES, TARGETS, errors_of, lacking, results_of, rows_of

import rffkern
from rffkern import ColumnMap, FourierBoostingRegressor, InvalidInputError, TrainingStateError

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


@pytest.mark.parametrize("case", ["spread", *(pytest.param(case, marks=pytest.mark.slow)
                                              for case in ("counts", "quantiles", "several"))])
def test_ends(case, tmp_path):
    model = model_of(case)
    expected = results_of(model, ROWS, interval=0.8)
    record = model._out_of_fold["residuals"]
    assert case != "spread" or len(record[0]["knots"]) > 1
    for engine, (target, run, *_) in ENGINES.items():
        if lacking(engine) or run is None:
            continue
        path = tmp_path / f"m{TARGETS[target].suffixes[0]}"
        rffkern.export(model, path, to=target, interval=0.8)
        assert errors_of(run(path, rows_of(model, ROWS), expected), expected).ends <= 1e-12, engine


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
