"""Small machines by which column maps are compared."""

import numpy as np
import pytest

from rffkern import SparseKernelClassifier, SparseKernelRegressor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 6))


def share_left(machine, y, weight=None, standardize=True, rows=X):
    """Loss on the last rows of what is learned from the others, over that of their mean."""
    tried = machine._tried(rows[:400], y[:400], weight, standardize)
    truth = y[400:] if y.ndim == 2 else np.where(y[400:] == 1, 1.0, -1.0)[:, None]
    return tried._losses_of_rows(rows[400:], y[400:]).mean() / truth.var()


def test_one_relevant_column_needs_its_own_length_scale():
    y = np.sin(3 * X[:, :1])
    tried = SparseKernelRegressor()._tried(X[:400], y[:400], None, True)
    lengths = tried._machine.kernel.length_scale
    assert lengths[0] < 1.5
    assert min(lengths[1:]) > 3 * lengths[0]
    assert share_left(SparseKernelRegressor(), y) < 0.01


def test_what_is_given_stays():
    y = X[:, :1]
    given = {"length_scale": 2.0, "shape": "exponential"}
    machine = SparseKernelRegressor(kernel=given, reg_lambda=0.3)._tried(X, y, None, True)._machine
    assert (machine.kernel.length_scale.tolist(), machine.kernel.shape) == ([2.0] * 6, "exponential")
    assert machine.reg_lambda == 0.3
    machine = SparseKernelRegressor(kernel=given)._tried(X, y, None, True)._machine
    assert (machine.kernel.length_scale.tolist(), machine.kernel.shape) == ([2.0] * 6, "exponential")
    assert machine.reg_lambda < 0.3  # there is no noise


@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2, 400)])
@pytest.mark.parametrize("standardize", [True, False])
def test_classes_and_weights(weight, standardize):
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert share_left(SparseKernelClassifier(), y, weight, standardize, 7 * X) < 0.6


def test_several_classes():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    tried = SparseKernelClassifier()._tried(X[:400], y[:400], None, True)
    assert tried._losses_of_rows(X[400:], y[400:]).mean() < 0.3


def test_columns_that_overflow_have_infinite_losses_and_no_nan():
    losses = SparseKernelRegressor()._tried(X, 1e200 * X[:, :1], None, True)._losses_of_rows(X, 1e200 * X[:, :1])
    assert not np.isnan(losses).any()
