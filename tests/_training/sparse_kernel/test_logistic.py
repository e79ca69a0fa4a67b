"""Coefficients for the logistic loss against Newton's method in NumPy."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import GIVEN, KERNEL, waves

from rffkern import InvalidInputError, SparseKernelClassifier, load, save

LAMBDA = 0.25 * 0.02 / 1.7  # beside the kernel with k(x, x) = 1


def problem(rng, n_classes, n_rows=250):
    X, y = waves(rng, n_rows)
    return X, np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))


def objective(intercept, coef, F, omega, positive, weight):
    """Of coefficients (n_learners, n_outputs), for labels of outputs (n_rows, n_outputs)."""
    scores = intercept + F @ coef
    if scores.shape[1] == 1:
        losses = np.logaddexp(0, np.where(positive, -scores, scores))[:, 0]
    else:
        losses = np.logaddexp.reduce(scores, axis=1) - (scores * positive).sum(axis=1)
    return weight @ losses + 0.5 * LAMBDA * (coef * (omega @ coef)).sum()


def lowest(F, omega, positive, weight):
    """The lowest objective, by Newton's method on all coefficients and intercepts, the latter held by a small ridge."""
    n_outputs, design = positive.shape[1], np.column_stack([np.ones(len(F)), F])
    ridge = LAMBDA * np.pad(omega, ((1, 0), (1, 0))) + 1e-9 * np.eye(len(omega) + 1)
    point = np.zeros((design.shape[1], n_outputs))
    for _ in range(40):
        scores = design @ point
        if n_outputs == 1:
            found = 1 / (1 + np.exp(-scores))
            spread = (found * (1 - found))[:, :, None]
        else:
            found = np.exp(scores - scores.max(axis=1, keepdims=True))
            found /= found.sum(axis=1, keepdims=True)
            spread = found[:, :, None] * np.eye(n_outputs) - found[:, :, None] * found[:, None]
        gradient = design.T @ (weight[:, None] * (found - positive)) + ridge @ point
        curvature = np.einsum("i,ia,ikl,ib->akbl", weight, design, spread, design, optimize=True)
        curvature += np.einsum("ab,kl->akbl", ridge, np.eye(n_outputs))
        point -= 0.7 * np.linalg.solve(curvature.reshape(point.size, -1), gradient.ravel()).reshape(point.shape)
    return objective(point[0], point[1:], F, omega, positive, weight)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_as_low_as_by_newtons_method(rng, n_classes, weighted, size):
    X, labels = problem(rng, n_classes)
    weight = rng.uniform(0.5, 1.5, len(X)) if weighted else np.ones(len(X))
    weight *= len(X) / weight.sum()
    model = SparseKernelClassifier(12, learner_size=size, subset_size=50, loss="log_loss", **GIVEN)
    model.fit(X, labels, weight)
    (path,) = model._training_state.stages.paths
    K = reference.gaussian_kernel(X, X, np.array(KERNEL["length_scale"]), 1.5, 0.2) / 1.7
    A = np.zeros((len(X), len(path.learners)))
    for m, learner in enumerate(path.learners):
        A[learner.indices, m] = learner.weights
    positive = labels[:, None] == (model.classes_[1:] if n_classes == 2 else model.classes_)
    coef = 2 * path.at(len(path.learners))
    scores = model.decision_function(X).reshape(len(X), -1)
    intercept = (scores - K @ A @ coef)[0]
    np.testing.assert_allclose(intercept + K @ A @ coef, scores, atol=1e-8)
    omega = A.T @ K @ A
    found = objective(intercept, coef, K @ A, omega, positive, weight)
    expected = lowest(K @ A, omega, positive, weight)
    assert expected - 1e-6 * expected <= found <= expected * 1.001


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_are_those_of_the_scores(rng, tmp_path, n_classes):
    X, labels = problem(rng, n_classes)
    model = SparseKernelClassifier(8, loss="log_loss", **GIVEN).fit(X, labels)
    scores = model.decision_function(X)
    odds = np.exp(np.column_stack([0 * scores, scores]) if n_classes == 2 else scores)
    np.testing.assert_allclose(model.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), atol=1e-12)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(last, scores, atol=1e-9)
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict_proba(X), model.predict_proba(X))


def test_it_is_the_likelier_model(rng):
    """On rows that took no part."""
    X, y = waves(rng, 3000, noise=2.0)
    labels = (y > 0).astype(int)
    losses = []
    for loss in ("squared_error", "log_loss"):
        model = SparseKernelClassifier(30, loss=loss, **GIVEN).fit(X[:500], labels[:500])
        found = np.clip(model.predict_proba(X[500:])[:, 1], 1e-6, 1 - 1e-6)
        losses.append(-np.mean(np.log(np.where(labels[500:] == 1, found, 1 - found))))
    assert losses[1] < losses[0]


def test_early_stopping_keeps_the_learners_of_the_best_round(rng):
    X, labels = problem(rng, 2, 400)
    model = SparseKernelClassifier(60, loss="log_loss", early_stopping_rounds=3, **GIVEN)
    model.fit(X[:200], labels[:200], eval_set=(X[200:], labels[200:]))
    assert model.n_estimators_ < 60
    (path,) = model._training_state.stages.paths
    assert len(path.learners) == model.n_estimators_


def test_bits_do_not_depend_on_the_number_of_threads(rng):
    X, labels = problem(rng, 3, 3000)
    found = [SparseKernelClassifier(4, loss="log_loss", n_jobs=n, **GIVEN).fit(X, labels).decision_function(X)
             for n in (1, 3)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(("params", "n_classes", "message"), [
    ({"update": "one"}, 2, "loss must be \"squared_error\" with update='one', got \"log_loss\""),
    ({"shared": False}, 3, 'loss must be "squared_error" where more than two classes are not shared'),
])
def test_what_it_does_not_go_with(rng, params, n_classes, message):
    X, labels = problem(rng, n_classes)
    with pytest.raises(InvalidInputError, match=message):
        SparseKernelClassifier(3, loss="log_loss", **params, **GIVEN).fit(X, labels)


def test_two_classes_have_nothing_to_share(rng):
    X, labels = problem(rng, 2)
    found = [SparseKernelClassifier(3, loss="log_loss", shared=shared, **GIVEN).fit(X, labels).decision_function(X)
             for shared in (True, False)]
    np.testing.assert_array_equal(*found)
