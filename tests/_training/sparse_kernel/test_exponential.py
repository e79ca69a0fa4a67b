"""Machines with the exponential kernel."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import RAW, waves

from rffkern import SparseKernelClassifier, SparseKernelRegressor, dumps, loads
from rffkern._native.sparse import RULES

KERNEL = {"length_scale": [1.0, 2.0, 3.0], "amplitude": 1.5, "bias": 0.2, "shape": "exponential"}


@pytest.mark.parametrize("rule", sorted(set(RULES) - {"ran"}))  # which leaves out rows that would lower the loss little
@pytest.mark.parametrize("basis_size", [1, 7])
def test_losses_are_those_of_the_stages_and_a_machine_of_all_rows_is_the_dense_solution(rng, in_double, rule,
                                                                                        basis_size):
    X, y = waves(rng, 70)
    model = SparseKernelRegressor(70, basis_size=basis_size, max_samples=None if basis_size == 1 else 35,
                                  selection=rule, kernel=KERNEL, reg_lambda=0.5, columns=RAW, random_state=0).fit(X, y)
    K = reference.kernel_of_shape(X, X, **KERNEL)
    target = (y - y.mean()) / y.std()
    expected = y.mean() + y.std() * (K @ np.linalg.solve(K + 0.5 * np.eye(70), target))
    if basis_size == 1:
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-8)
    losses = [np.mean((y - staged) ** 2) / y.var() for staged in model.staged_predict(X)]
    np.testing.assert_allclose(model.train_loss_[1:], losses, rtol=1e-8)


def test_files_keep_the_shape(rng):
    X, y = waves(rng, 200)
    model = SparseKernelClassifier(6, kernel=KERNEL, random_state=0).fit(X, y > 0)
    loaded = loads(dumps(model))
    assert loaded.kernel_ == model.kernel_ == KERNEL
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
