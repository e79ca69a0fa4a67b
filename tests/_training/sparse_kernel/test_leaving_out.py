"""What is predicted of rows that are left out, and the scores of classes that are calibrated by it."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import GIVEN, given_kernel, kernel_rows, waves

from rffkern import SparseKernelClassifier
from rffkern._training.sparse_kernel.kernel import RegularisedKernel
from rffkern._training.sparse_kernel.leaving_out import predicted_without


def log_loss(model, X, labels):
    """Mean negative logarithm of the probability of the class of each row."""
    found = model.predict_log_proba(X)
    return -found[np.arange(len(X)), np.searchsorted(model.classes_, labels)].mean()


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-9)])
def test_a_row_is_predicted_by_ridge_regression_without_it(rng, dtype, tolerance):
    """By regressions on the other rows, of which some have no weight or are not among those asked for."""
    X, y = waves(rng, 90)
    weight = rng.uniform(0.5, 2, 90)
    machine = RegularisedKernel(given_kernel().normalised(), 0.02)
    rows = kernel_rows(X, machine.kernel, weight, dtype)
    target, some = np.column_stack([y - y.mean(), X[:, 0]]), np.arange(0, 90, 2)
    found = predicted_without(rows, machine, some, target[some])
    matrix = reference.kernel_of_shape(X, X, *machine.kernel) + np.diag(0.02 / rows.weights.each)
    for place, row in enumerate(some):
        others = some[some != row]
        coef = np.linalg.solve(matrix[np.ix_(others, others)], target[others])
        np.testing.assert_allclose(found[:, place], matrix[row, others] @ coef, atol=tolerance)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shared", [True, False])
def test_scores_are_a_slope_and_shifts_of_those_of_least_squares(rng, n_classes, shared):
    X, y = waves(rng, 500, noise=0.8)
    labels = np.digitize(y, [0.0] if n_classes == 2 else [-1.0, 1.0])
    found = {loss: SparseKernelClassifier(20, learner_size=10, subset_size=100, loss=loss, shared=shared, **GIVEN).fit(
        X[:300], labels[:300]) for loss in ("squared_error", "calibrated")}
    plain, scores = (found[loss].decision_function(X[300:]).reshape(200, -1)
                     for loss in ("squared_error", "calibrated"))
    slope = np.diff(scores[:2], axis=0) / np.diff(plain[:2], axis=0)
    assert slope.min() > 0
    np.testing.assert_allclose(slope, slope[0, 0], rtol=1e-6)
    np.testing.assert_allclose(scores - slope[0, 0] * plain, np.tile(scores[0] - slope[0, 0] * plain[0], (200, 1)),
                               atol=1e-6)
    losses = {loss: log_loss(model, X[300:], labels[300:]) for loss, model in found.items()}
    assert losses["calibrated"] < losses["squared_error"]
    stages = list(found["calibrated"].staged_decision_function(X[300:]))
    np.testing.assert_allclose(stages[-1].reshape(200, -1), scores, atol=1e-6)


@pytest.mark.parametrize("update", ["one", "group"])
def test_other_updates_are_not_calibrated(rng, update):
    X, y = waves(rng, 200)
    params = {"learner_size": 5, "update": update, "group_size": 3, **GIVEN}
    found = [SparseKernelClassifier(8, loss=loss, **params).fit(X, y > 0).predict_proba(X)
             for loss in ("calibrated", "squared_error")]
    np.testing.assert_array_equal(*found)


def test_rows_that_everything_fits_get_finite_scores(rng):
    """Each row is a basis vector; without it, its own label tells nothing."""
    X = rng.standard_normal((40, 2))
    model = SparseKernelClassifier(60, learner_size=5, kernel={"length_scale": 0.01}, reg_lambda=1e-9,
                                   random_state=0).fit(X, rng.uniform(size=40) > 0.5)
    assert np.isfinite(model.decision_function(X)).all()
    alone = SparseKernelClassifier(3, random_state=0, **{k: GIVEN[k] for k in ("kernel", "reg_lambda")})
    assert np.isfinite(alone.fit(np.zeros((4, 3)), [0, 1, 1, 1]).decision_function(np.zeros((1, 3)))).all()
