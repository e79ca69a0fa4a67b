"""Small machines by which column maps are compared."""

import numpy as np
import pytest

from rffkern import SparseKernelClassifier, SparseKernelRegressor
from rffkern._sparse.trials import _with_kernel, tried

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 6))


def test_the_better_of_two_kernels_is_taken():
    """One relevant column needs its own length scale; few rows do not determine those of many columns."""
    machine = SparseKernelRegressor(20, random_state=0)
    lengths = tried(machine, X, np.sin(3 * X[:, 0]), None, True).kernel_["lengthscales"]
    assert lengths[0] < 1.5
    assert min(lengths[1:]) > 5 * lengths[0]
    for rows, y in ((X, np.sin(3 * X[:, 0])), (X[:150], np.sin(X[:150].sum(axis=1))), (X, RNG.standard_normal(500))):
        weight, judged = np.ones(len(rows)), np.arange(len(rows)) % 3 == 0
        width = {"lengthscales": 0.7 * np.sqrt(6)}
        copies = [_with_kernel(machine, kernel, rows, y, weight, True) for kernel in (width, "likelihood")]
        best = max(copies, key=lambda copied, rows=rows, y=y, judged=judged: copied.fit(
            rows[~judged], y[~judged]).score(rows[judged], y[judged]))
        assert tried(machine, rows, y, None, True).kernel == best.kernel


def test_what_is_given_stays():
    given = {"lengthscales": 2.0}
    found = tried(SparseKernelRegressor(8, kernel=given, reg_lambda=0.3), X, X[:, 0], None, True)
    assert (found.kernel, found.reg_lambda) == (given, 0.3)
    found = tried(SparseKernelRegressor(8, kernel=given), X, X[:, 0], None, True)
    assert found.kernel_["lengthscales"] == [2.0] * 6
    assert found.reg_lambda_ < 0.3  # there is no noise


@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2, 500)])
def test_classes_and_weights(weight):
    machine = SparseKernelClassifier(1000, random_state=np.random.default_rng(3), verbose=1)
    found = tried(machine, 7 * X, (X[:, 0] * X[:, 1] > 0).astype(int), weight, False)
    assert found.score(7 * X, X[:, 0] * X[:, 1] > 0) > 0.8
    assert (found.n_estimators, found.verbose, found.columns) == (50, 0, None)
