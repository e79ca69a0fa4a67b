"""Columns are screened where they are many for few rows: one of hundreds is found, and noise is left alone."""

import numpy as np
import pytest

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor


@pytest.mark.parametrize("target", ["threshold", "line", "classes"])
def test_one_column_of_many_is_found(target):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 200))
    y = {"threshold": (X[:, 7] > 0.7) + 0.1 * rng.standard_normal(1200),
         "line": X[:, 7] + 0.4 * rng.standard_normal(1200),
         "classes": (X[:, 7] > 0.3).astype(int)}[target]
    make = FourierBoostingClassifier if target == "classes" else FourierBoostingRegressor
    model = make(100, n_bags=2, kernel_ridge=False, random_state=0).fit(X[:200], y[:200])
    # 0.88, 0.85 and 0.996; without screening 0.38, 0.59 and 0.974.
    assert model.score(X[200:], y[200:]) > {"threshold": 0.75, "line": 0.75, "classes": 0.98}[target]
    assert model.feature_importances_.argmax() == 7


@pytest.mark.parametrize("weighted", [False, True])
def test_noise_alone_stays_noise(weighted):
    """No column passes: chances are equal, and nothing is learned that is not there."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((80, 40)), rng.standard_normal(80)
    weights = rng.integers(1, 4, 80).astype(float) if weighted else None
    model = FourierBoostingRegressor(50, n_bags=2, random_state=0).fit(X, y, weights)
    assert np.std(model.predict(rng.standard_normal((500, 40)))) < 0.5


@pytest.mark.parametrize("y", [np.zeros(30), np.r_[np.zeros(29), 1.0], np.arange(30.0)])
def test_targets_and_columns_of_all_kinds_are_screened(y):
    """Constant targets and columns, columns that are the same, and one that is the target."""
    X = np.column_stack([np.zeros(30), *[np.arange(30.0)] * 9, np.random.default_rng(0).standard_normal((30, 10))])
    model = FourierBoostingRegressor(20, n_bags=2, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
