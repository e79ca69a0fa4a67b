"""What is predicted of rows that are left out, and the scores of classes that are calibrated by it."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import GIVEN, RAW, given_kernel, kernel_rows, waves

from rffkern import SparseKernelClassifier
from rffkern._rows.weights import RowWeights
from rffkern._training.kernel_ridge.calibration import calibrated
from rffkern._training.sparse_kernel.leave_one_out import LeaveOneOut, calibrated_scores


def log_loss(model, X, labels):
    """Mean negative logarithm of the probability of the class of each row."""
    found = model.predict_log_proba(X)
    return -found[np.arange(len(X)), np.searchsorted(model.classes_, labels)].mean()


@pytest.mark.parametrize("n_last", [90, 30, 1])
@pytest.mark.parametrize(("precision", "tolerance"), [("single", 1e-4), ("double", 1e-9)])
@pytest.mark.parametrize("shape", ["gaussian", "exponential"])
def test_a_row_is_predicted_by_ridge_regression_without_it(rng, n_last, precision, tolerance, shape):
    """Weights divide lambda, row by row."""
    X, y = waves(rng, 90)
    targets, weights = np.column_stack([y, y**2]), rng.uniform(0.5, 2, 90)
    kernel = given_kernel()._replace(shape=shape, reg_lambda=0.3)
    left_out = LeaveOneOut(X, targets, weights, n_last, 1, precision)
    matrix = reference.kernel_of_shape(X, X, *kernel[:4]) + np.diag(0.3 / weights)
    expected = []
    for row in range(90 - n_last, 90):
        others = np.delete(np.arange(90), row)
        expected.append(targets[row] - matrix[row, others] @ np.linalg.solve(matrix[np.ix_(others, others)],
                                                                             targets[others]))
    np.testing.assert_allclose(left_out.residuals(kernel), expected, atol=tolerance * np.abs(expected).max())
    loss = np.average(np.mean(np.square(expected), axis=1), weights=weights[-n_last:])
    assert left_out.loss(kernel) == pytest.approx(loss, rel=10 * tolerance)
    assert left_out._system.matrix.dtype == (np.float32 if precision == "single" else np.float64)
    assert left_out.loss(kernel._replace(reg_lambda=-5.0)) == np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classes_are_calibrated_by_rows_that_are_left_out(rng, dtype):
    """Of some rows at most, without those of no weight."""
    X, y = waves(rng, 90)
    weight, labels = rng.uniform(0.5, 2, 90) * (np.arange(90) % 3 > 0), np.digitize(y, [-1, 1])
    kernel = given_kernel()._replace(reg_lambda=0.02 * 1.7).normalised(RowWeights(90))
    signs = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    rows = kernel_rows(X, kernel, weight, dtype)
    slope, shifts = calibrated_scores(rows, kernel, signs, np.full(3, 0.1))
    some = np.flatnonzero(weight)
    left = LeaveOneOut(X[some], signs[some] - 0.1, rows.weights.each[some], len(some), 1, "double").residuals(kernel)
    expected_slope, expected_shifts = calibrated((signs[some] - left).T, labels[some], rows.weights.each[some])
    assert slope == pytest.approx(expected_slope, rel=1e-3)
    np.testing.assert_allclose(shifts, expected_shifts, atol=2e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("update", ["full", "one", "group"])
def test_scores_are_a_slope_and_shifts_of_those_of_least_squares(rng, small_groups, n_classes, update):
    X, y = waves(rng, 500, noise=0.8)
    labels = np.digitize(y, [0.0] if n_classes == 2 else [-1.0, 1.0])
    model = SparseKernelClassifier(20, basis_size=10, max_samples=100, update=update, columns=RAW, **GIVEN).fit(
        X[:300], labels[:300])
    stages, classes = model._training_state, np.arange(1, 2) if n_classes == 2 else np.arange(3)
    assert np.ptp(stages.scale) == 0
    assert stages.scale[0] > 0
    signs = np.where(labels[:, None] == classes, 1.0, -1.0)
    mean = signs[:300].mean(axis=0)
    scores = model.decision_function(X[300:]).reshape(200, -1)
    F = mean + (scores - stages.intercept) / stages.scale
    assert ((signs[300:] - F) ** 2).mean() < 0.9 * signs.var()
    if n_classes == 2 and update != "one":  # which is far from the regression after few rounds
        plain = np.clip(0.5 + 0.5 * signs[300:] * F, 1e-3, 1)
        assert log_loss(model, X[300:], labels[300:]) < -np.log(plain).mean()
    np.testing.assert_allclose(list(model.staged_decision_function(X[300:]))[-1].reshape(200, -1), scores, atol=1e-6)


def test_rows_that_everything_fits_get_finite_scores(rng):
    """Each row is a basis vector; without it, its own label tells nothing."""
    X = rng.standard_normal((40, 2))
    model = SparseKernelClassifier(60, basis_size=5, kernel={"length_scale": 0.01}, reg_lambda=1e-9,
                                   random_state=0).fit(X, rng.uniform(size=40) > 0.5)
    assert np.isfinite(model.decision_function(X)).all()
    alone = SparseKernelClassifier(3, random_state=0, **{k: GIVEN[k] for k in ("kernel", "reg_lambda")})
    assert np.isfinite(alone.fit(np.zeros((4, 3)), [0, 1, 1, 1]).decision_function(np.zeros((1, 3)))).all()
