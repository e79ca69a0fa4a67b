"""Copies of rows count as one row with their weight in all that chooses by rows it holds out.

Fourier boosting finds them among mapped rows: tests/_training/fourier_boosting/test_training_rows.py.
"""

import numpy as np
import pytest

from rffkern import (
    GBRFF2Classifier,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    RFFNetClassifier,
    RFFNetRegressor,
    RowBlocks,
    SparseKernelClassifier,
    SparseKernelRegressor,
)
from rffkern._column_map.copies import merged_weights

MODELS = [GBRFF2Classifier(20, validation_fraction=0.3),
          KernelRidgeClassifier(), KernelRidgeRegressor(), RFFNetClassifier(30, max_epochs=5),
          RFFNetRegressor(30, max_epochs=5), SparseKernelClassifier(10), SparseKernelRegressor(10)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_copies_are_weights(model, rng):
    X = rng.standard_normal((90, 4))
    y = X[:, 0] + rng.standard_normal(90)
    y = y > 0 if hasattr(model, "predict_proba") else y
    times = rng.integers(1, 4, 90)
    weighted = type(model)(**model.get_params() | {"random_state": 0}).fit(X, y, times)
    repeated = type(model)(**model.get_params() | {"random_state": 0}).fit(X.repeat(times, axis=0), y.repeat(times))
    score = "decision_function" if hasattr(model, "decision_function") else "predict"
    np.testing.assert_allclose(getattr(repeated, score)(X), getattr(weighted, score)(X), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_what_is_merged(rng):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = rng.standard_normal((40, 2)), rng.integers(3, size=40).astype(str)
    rows = np.r_[0:40, 0:40]
    expected = np.repeat([2.0, 0.0], 40)
    np.testing.assert_array_equal(merged_weights(X[rows], y[rows], None), expected)
    np.testing.assert_array_equal(merged_weights(X[rows], y[rows], np.full(80, 0.5)), expected / 2)
    np.testing.assert_array_equal(merged_weights({"a": X[rows, 0], "b": y[rows]}, y[rows], None), expected)
    for given in (np.asmatrix(X[rows]), sparse.csr_array(X[rows])):
        np.testing.assert_array_equal(merged_weights(given, y[rows], None), expected)
    for given in (RowBlocks(X[rows]), X[:, 0], [["a"]], X[rows[:-1]], np.round(X[rows])):
        assert merged_weights(given, y[rows], None) is None
    for wrong in (-np.ones(80), np.ones(79), ["a"] * 80, np.full(80, np.nan)):
        assert merged_weights(X[rows], y[rows], wrong) is wrong
