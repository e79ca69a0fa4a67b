"""Kernel ridge regressions by inverses, beside systems that are solved without the rows that are left out."""

import numpy as np
import pytest

from rffkern._rows.tiles import DOUBLE, SINGLE
from rffkern._training.kernel_ridge.dense_regression import DenseRegression, choose_on
from rffkern._training.kernel_ridge.kernel_matrix import DenseKernels, DenseSystem
from rffkern._training.kernel_ridge.length_scales import Choice, ChoiceRows

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (90, 3))
TARGETS = np.stack([np.sin(2 * X[:, 0]) * X[:, 1], np.cos(3 * X[:, 1])])
WEIGHTS = RNG.uniform(0.2, 3, 90)
FOLDS = RNG.integers(-1, 4, 90)
RELEVANCES = np.array([0.6, 0.3, 0.1])


def regression(shape="exponential", folds=None):
    return DenseRegression(ChoiceRows(X, TARGETS, WEIGHTS, 1, folds=folds), shape)


def choice(scale=1.0, reg_lambda=0.1):
    return Choice(RELEVANCES, scale, reg_lambda)


def kernels(rows, centers, chosen, shape):
    squares = (((rows[:, None] - centers) * chosen.inverse) ** 2).sum(axis=2)
    return np.exp(-np.sqrt(squares)) if shape == "exponential" else np.exp(-squares / 2)


def predicted(chosen, shape, learned, rows):
    system = kernels(X[learned], X[learned], chosen, shape) + np.diag(chosen.reg_lambda / WEIGHTS[learned])
    return np.linalg.solve(system, TARGETS[:, learned].T).T @ kernels(X[learned], rows, chosen, shape)


@pytest.mark.parametrize("shape", ["exponential", "gaussian"])
@pytest.mark.parametrize(("reg_lambda", "tolerance"), [(0.1, 2e-3), (1e-4, 1e-6)])  # in single precision, in double
def test_residuals_are_those_of_regressions_without_the_rows(shape, reg_lambda, tolerance):
    chosen, found = choice(2.0, reg_lambda), regression(shape)
    assert found.fit(chosen)
    alone = np.stack([TARGETS[:, i] - predicted(chosen, shape, np.arange(90) != i, X[i : i + 1])[:, 0]
                      for i in range(90)], axis=1)
    np.testing.assert_allclose(found.residuals(), alone, atol=tolerance)
    expected = TARGETS.copy()
    for fold in range(4):
        here = np.isin(FOLDS, fold)
        expected[:, here] -= predicted(chosen, shape, ~here, X[here])
    np.testing.assert_allclose(found.residuals_without(FOLDS), expected, atol=tolerance)
    rows = RNG.uniform(-2, 2, (30, 3))
    np.testing.assert_allclose(found.predict(rows), predicted(chosen, shape, np.ones(90, bool), rows), atol=tolerance)


def test_the_choice_is_the_best_of_its_neighbours():
    every = np.ones(90, bool)

    def loss(chosen, folds):
        each = regression(folds=folds)
        assert each.fit(chosen)
        is_left_out = every if folds is None else folds >= 0
        residuals = each.residuals() if folds is None else each.residuals_without(folds)
        return WEIGHTS[is_left_out] @ (residuals[:, is_left_out] ** 2).mean(axis=0) / WEIGHTS[is_left_out].sum()

    for folds in (None, FOLDS):
        found = choose_on([regression(folds=folds)], [every], choice(), 2.0)
        assert found.loss == pytest.approx(loss(found, folds))
        assert found.loss < 0.9 * loss(choice(), folds)
        lambdas = ChoiceRows(X, TARGETS, WEIGHTS, 1).lambdas
        k = lambdas.index(found.reg_lambda)
        for scale, reg_lambda in [(2, lambdas[k]), (0.5, lambdas[k]), *((1, each) for each in lambdas[k - 1 : k + 2])]:
            assert found.loss <= 1.003 * loss(choice(found.scale * scale, reg_lambda), folds)


def test_folds_that_no_row_is_in_leave_out_one_row_after_the_other():
    every, none = np.ones(90, bool), np.full(90, -1)
    assert choose_on([regression(folds=none)], [every], choice(), 4.0) == choose_on(
        [regression()], [every], choice(), 4.0)


def test_an_inverse_is_computed_once_where_folds_are_left_out(monkeypatch):
    """Single rows take its diagonal, and predictions of other rows, as of those of a fold, none of it."""
    computed, invert = [], DenseSystem.invert
    monkeypatch.setattr(DenseSystem, "invert", lambda system, out: computed.append(len(out)) or invert(system, out))
    found = regression()
    for scale in (1.0, 2.0):
        computed.clear()
        assert found.fit(choice(scale))
        found.predict(X)
        assert not computed
        residuals = found.residuals()
        found.residuals_without(FOLDS)
        np.testing.assert_allclose(residuals, found.coefficients / np.diag(found.inverse()), rtol=1e-5)
        assert computed == [0, 90]
        np.testing.assert_array_equal(residuals, found.residuals())


def test_weights_of_any_size():
    """A row of hardly any weight is hardly there."""
    weights = np.where(np.arange(90) < 10, 1e-200, 1.0)
    found = DenseRegression(ChoiceRows(X, TARGETS, weights, 1), "exponential")
    assert found.fit(choice())
    few = DenseRegression(ChoiceRows(X[10:], np.ascontiguousarray(TARGETS[:, 10:]), weights[10:], 1), "exponential")
    assert few.fit(choice())
    np.testing.assert_allclose(found.predict(X), few.predict(X), atol=1e-3)
    np.testing.assert_allclose(found.residuals()[:, 10:], few.residuals(), atol=1e-3)


# --- kernel matrices that are held whole


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_derivatives_are_kernels_over_distances(dtype):
    matrix, derivatives, alone = (np.empty((40, 40), dtype) for _ in range(3))
    kernels = DenseKernels(X[:40], X[:40], 1, dtype)
    kernels.fill(np.full(3, 0.5), "exponential", matrix, derivatives)
    kernels.fill(np.full(3, 0.5), "exponential", alone)
    np.testing.assert_array_equal(matrix, alone)
    r = 0.5 * np.linalg.norm(X[:40, None] - X[:40], axis=2)
    apart = r > 0
    np.testing.assert_allclose(derivatives[apart], (np.exp(-r[apart]) / r[apart]), rtol=1e-5)


@pytest.mark.parametrize(("dtype", "other"), [(SINGLE, DOUBLE), (DOUBLE, SINGLE)])
def test_derivatives_of_another_dtype_are_refused(dtype, other):
    kernels = DenseKernels(X[:40], X[:40], 1, dtype)
    with pytest.raises(ValueError, match="dtype mismatch"):
        kernels.fill(np.ones(3), "exponential", np.empty((40, 40), dtype), np.empty((40, 40), other))
