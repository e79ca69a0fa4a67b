"""Shares of columns in the squared distances between basis vectors."""

import numpy as np
import pytest
from helpers.sparse_rows import RAW, waves

from rffkern import ColumnMap, SparseKernelClassifier, SparseKernelRegressor, dumps, loads

GIVEN = {"kernel": {"length_scale": [1.0, 2.0, 4.0]}, "reg_lambda": 0.02, "random_state": 0}


def test_by_hand(rng):
    X, y = waves(rng, 200)
    X = X * [1, 1e5, 1e-3]
    model = SparseKernelRegressor(5, **GIVEN).fit(X, y)
    centers = model.expansion_.kernels.centers / X.std(axis=0) / [1, 2, 4]
    pairs = ((centers[:, None] - centers[None]) ** 2).sum(axis=(0, 1))
    np.testing.assert_allclose(model.feature_importances_, pairs / pairs.sum(), rtol=1e-9)
    np.testing.assert_array_equal(loads(dumps(model)).feature_importances_, model.feature_importances_)


def test_columns_without_influence_have_none(rng):
    X = np.column_stack([rng.standard_normal((600, 3)), np.ones(600)])
    y = np.sin(3 * X[:, 0])
    model = SparseKernelRegressor(40, random_state=0).fit(X, y)
    assert model.feature_importances_[0] > 0.9
    assert model.feature_importances_[3] == 0
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_columns_of_a_map_count_together(rng):
    X, y = waves(rng, 200)
    columns = ColumnMap(("standard", "rank"))
    model = SparseKernelClassifier(5, columns=columns, **GIVEN | {"kernel": {"length_scale": 2.0}}).fit(X, y > 0)
    centers = model.expansion_.kernels.centers
    variances = centers.var(axis=0).reshape(3, 2).sum(axis=1)
    np.testing.assert_allclose(model.feature_importances_, variances / variances.sum(), rtol=1e-9)


def test_columns_of_any_size(rng):
    X, y = waves(rng, 60)
    for scale in (1e-300, 1e150, 1e300):
        model = SparseKernelRegressor(3, columns=RAW, **GIVEN | {"kernel": {"length_scale": 1e-3}})
        shares = model.fit(X * [scale, 1, 1], y).feature_importances_
        assert np.isfinite(shares).all()
        assert shares.sum() == pytest.approx(1)
    none = SparseKernelRegressor(3, **GIVEN).fit(X, np.ones(60))
    assert none.expansion_.n_terms == 0
    np.testing.assert_array_equal(none.feature_importances_, [0, 0, 0])
