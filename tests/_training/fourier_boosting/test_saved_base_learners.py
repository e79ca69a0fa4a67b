"""Models of one kind of weak learner alone are files like others."""

import numpy as np
import pytest

from rffkern import FourierBoostingClassifier, load, save


@pytest.mark.parametrize("kind", ["fourier", "tree", "linear"])
def test_one_kind_alone(tmp_path, rng, kind):
    X = rng.standard_normal((100, 2))
    model = FourierBoostingClassifier(20, base_learners=(kind,), n_bags=1, kernel_ridge=False, random_state=0)
    model.fit(X, X[:, 0] > 0)
    save(model, tmp_path / "m.npz")
    np.testing.assert_array_equal(load(tmp_path / "m.npz").predict_proba(X), model.predict_proba(X))
