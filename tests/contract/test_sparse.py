"""Sparse rows in place of dense ones: the same models and answers, to the last bit."""

import inspect

import numpy as np
import pytest
from helpers.compressed import Compressed, some_sparse
from helpers.families import fit, quick, same_state

from rffkern._estimator.registry import FAMILIES
from rffkern._estimator.tasks import Regressor

X = some_sparse(160, 6, 0.4)
SCORES = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "predict_quantiles")
STAGED = ("staged_predict", "staged_predict_proba", "staged_decision_function")


def target(family):
    sums = X[:, 0] - X[:, 1] + np.abs(X[:, 2])
    return sums if issubclass(family, Regressor) else np.where(sums > 0.1, "up", "down")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [None, "auto"])
def test_sparse_rows_are_trained_on_and_scored_as_dense_ones(family, columns):
    y, sparse = target(family), Compressed.of(X)
    params = {"loss": "quantile"} if hasattr(family, "predict_quantiles") else {}
    dense = fit(family, X, y, columns=columns, **params)
    model = fit(family, sparse, y, columns=columns, **params)
    assert same_state(model, dense)
    for name in SCORES:
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(model, name)(sparse), getattr(dense, name)(X))
    if getattr(model, "column_map_", None) is not None:
        assert model.drift(sparse) == model.drift(X)
    for name in STAGED:
        if hasattr(model, name):
            for ours, theirs in zip(getattr(model, name)(sparse), getattr(dense, name)(X), strict=True):
                np.testing.assert_array_equal(ours, theirs)
    if hasattr(model, "score"):
        assert model.score(sparse, y) == dense.score(X, y)
    if hasattr(model, "explain"):
        for ours, theirs in zip(model.explain(sparse), dense.explain(X), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    if hasattr(model, "partial_dependence"):
        np.testing.assert_array_equal(model.partial_dependence(sparse, 0).scores, dense.partial_dependence(X, 0).scores)
        assert model.interactions(sparse) == dense.interactions(X)


@pytest.mark.parametrize("name", [name for name, entry in sorted(FAMILIES.items())
                                  if "eval_set" in inspect.signature(entry.load().fit).parameters])
def test_evaluation_rows_may_be_sparse(name):
    family = FAMILIES[name].load()
    y, sparse = target(family), Compressed.of(X)
    dense, *others = (family(random_state=0, **quick(family)).fit(rows, y, eval_set=(held_out, y))
                      for rows, held_out in ((X, X), (sparse, sparse), (X, sparse), (sparse, X)))
    assert all(same_state(other, dense) for other in others)
