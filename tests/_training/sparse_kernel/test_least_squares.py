"""Coefficients of base learners against dense solutions."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import RAW, in_outputs, kernel_rows, make_settings, waves

from rffkern import SparseKernelRegressor
from rffkern._rows.tiles import aligned
from rffkern._training.kernel_ridge.kernel import Kernel
from rffkern._training.sparse_kernel.basis_selection import Selection
from rffkern._training.sparse_kernel.ensemble import Ensemble
from rffkern._training.sparse_kernel.least_squares import LeastSquares, Residuals


def grown(X, target, length_scale, reg_lambda, n_learners, basis_size=20, dtype=np.float64):
    """An ensemble of some learners, and its columns F and inner products Omega by direct evaluation."""
    kernel = Kernel(np.full(X.shape[1], length_scale), 1.0, 0.0)
    settings = make_settings(kernel, reg_lambda, basis_size, n_learners, max_samples=200)
    ensemble = Ensemble(kernel_rows(X, kernel, dtype=dtype), in_outputs(target), (), settings, np.random.default_rng(1))
    while len(ensemble.learners) < n_learners and ensemble.grow():
        pass
    K = reference.gaussian_kernel(X, X, length_scale)
    A = np.zeros((len(X), len(ensemble.learners)))
    for m, learner in enumerate(ensemble.learners):
        A[learner.indices, m] = learner.weights
    return ensemble, K @ A, A.T @ K @ A


def coefficients(ensemble):
    """Those of all base learners, of the one output."""
    return ensemble.least_squares.coef[:, 0]


def dense(F, omega, target, reg_lambda):
    """Solution of (12) by orthogonal factors of [F; sqrt(lambda) R], R'R = Omega, and its condition number."""
    values, vectors = np.linalg.eigh(omega)
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    stacked = np.vstack([F, np.sqrt(reg_lambda) * root])
    right = np.concatenate([target, np.zeros(F.shape[1])])
    return np.linalg.lstsq(stacked, right, rcond=None)[0], np.linalg.cond(stacked)


@pytest.mark.slow
@pytest.mark.parametrize(("length_scale", "reg_lambda", "largest_condition"), [
    (0.3, 1.0, 1e3), (0.5, 0.1, 1e4), (1.0, 1e-2, 1e8), (2.0, 1e-4, 1e14)])
def test_coefficients_equal_a_dense_solution(rng, length_scale, reg_lambda, largest_condition):
    """After 300 steps, to 1e-8, on kernels that are conditioned well and badly.

    The steps alone leave what a solution of normal equations would, and their refinement what orthogonal factors do.
    """
    X, y = waves(rng, 1500)
    ensemble, F, omega = grown(X, y, length_scale, reg_lambda, 300)
    assert len(ensemble.learners) == 300
    expected, condition = dense(F, omega, y, reg_lambda)
    assert largest_condition / 100 < condition**2 < largest_condition
    steps = coefficients(ensemble)
    assert np.linalg.norm(steps - expected) <= max(1e-10, 1e-16 * condition**2) * np.linalg.norm(expected)
    ensemble.least_squares.refine()
    refined = coefficients(ensemble)
    assert np.linalg.norm(refined - expected) <= 1e-8 * np.linalg.norm(expected)
    gradient = F.T @ (y - F @ refined) - reg_lambda * omega @ refined
    assert np.abs(gradient).max() <= 1e-11 * np.linalg.norm(F, axis=0).max() * np.linalg.norm(y)
    if condition**2 < 1e7:
        solved = np.linalg.solve(F.T @ F + reg_lambda * omega, F.T @ y)
        np.testing.assert_allclose(refined, solved, rtol=1e-8, atol=1e-8 * np.abs(solved).max())


def test_ill_conditioned_kernels_end_in_skipped_learners_and_not_in_errors(rng):
    """A kernel so wide that a few learners make up all others."""
    X, y = waves(rng, 600)
    ensemble, F, omega = grown(X, y, 100.0, 1e-8, 60)
    assert ensemble.n_skipped > 0
    ensemble.least_squares.refine()
    coef = coefficients(ensemble)
    assert np.isfinite(coef).all()
    expected, _ = dense(F, omega, y, 1e-8)
    np.testing.assert_allclose(F @ coef, F @ expected, atol=1e-3 * y.std())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 5])
def test_learners_that_rounding_decides_on_do_not_spoil_the_model(level, seed):
    """In single precision, at each level: the loss ends where it was lowest, and near that of kernel ridge regression.

    Inner products of smooth learners are wrong in the third digit there.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(200)
    model = SparseKernelRegressor(200, basis_size=50, max_samples=100, kernel={"length_scale": 1.0}, reg_lambda=1e-4,
                                  columns=RAW, random_state=seed, n_jobs=1).fit(X, y)
    assert model.train_loss_[-1] < 1.05 * model.train_loss_.min()
    K = reference.gaussian_kernel(X, X, 1.0)
    target = (y - y.mean()) / y.std()
    left = target - K @ np.linalg.solve(K + 1e-4 * np.eye(200), target)
    assert model.train_loss_[-1] < 1.5 * (left**2).mean()


def test_smooth_targets_are_learned_in_double_precision(real_data):
    """Coefficients of 1e7 left a part of the variance of 0.0124, and kernel ridge regression leaves 0.0024."""
    X, y = real_data("energy")
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[: len(X) // 2], rows[len(X) // 2 :]
    model = SparseKernelRegressor(kernel="likelihood", random_state=0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.997
    assert model.train_loss_[-1] < 1.01 * model.train_loss_.min()


@pytest.mark.parametrize("basis_size", [1, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_held_out_rows_follow(rng, basis_size, dtype):
    """Residual and loss there are those of the model, step by step."""
    X, y = waves(rng, 400)
    kernel = Kernel(np.full(3, 1.5), 1.0, 0.0)
    settings = make_settings(kernel, 0.1, basis_size, 6)
    rows = [kernel_rows(part, kernel, dtype=dtype) for part in (X[:300], X[300:])]
    parts = [Residuals(some, in_outputs(values), aligned((6, some.n_tiles, 128), some.dtype))
             for some, values in zip(rows, (y[:300], y[300:]), strict=True)]
    fit, selection = LeastSquares(parts[0], (parts[1],), settings), Selection(settings, rows[0])
    for _ in range(6):
        assert fit.add(*selection.propose(np.arange(300), fit.target, parts[0].residual))
        model = sum(c * reference.gaussian_kernel(X, X[f.indices], 1.5) @ f.weights
                    for c, f in zip(fit.coef[:, 0], fit.learners, strict=True))
        for place, part in ((slice(300), parts[0]), (slice(300, 400), parts[1])):
            left = y[place] - model[place]
            np.testing.assert_allclose(part.residual.reshape(-1)[: len(left)], left,
                                       atol=1e-10 if dtype is np.float64 else 1e-3)
            assert part.loss == pytest.approx(left @ left, rel=1e-9 if dtype is np.float64 else 1e-2)


def test_the_newest_alone_gets_its_own_best_coefficient(rng):
    """With room for one, each base learner gets its own best coefficient, (31), and the model stays."""
    X, y = waves(rng, 200)
    kernel = Kernel(np.full(3, 1.5), 1.0, 0.0)
    settings = make_settings(kernel, 0.1, 4, 1)
    rows = kernel_rows(X, kernel)
    residuals = Residuals(rows, in_outputs(y), aligned((1, 2, 128), rows.dtype))
    fit, selection = LeastSquares(residuals, (), settings), Selection(settings, rows)
    for _ in range(3):
        before = residuals.residual.reshape(-1)[:200].copy()
        fit.begin()
        assert fit.add(*selection.propose(np.arange(200), fit.target, residuals.residual))
        (f,) = fit.learners
        column = reference.gaussian_kernel(X, X[f.indices], 1.5) @ f.weights
        slope = column @ before - 0.1 * f.weights @ (y - before)[f.indices]
        np.testing.assert_allclose(fit.coef[0], slope / (column @ column + 0.1), rtol=1e-9)
        np.testing.assert_allclose(residuals.residual.reshape(-1)[:200], before - fit.coef[0] * column, atol=1e-12)


@pytest.mark.parametrize("basis_size", [1, 4])
def test_what_others_span_is_not_added(rng, basis_size):
    X, y = waves(rng, 200)
    kernel = Kernel(np.full(3, 1.5), 1.0, 0.0)
    settings = make_settings(kernel, 1e-9, basis_size, 5)
    rows = kernel_rows(X, kernel)
    residuals = Residuals(rows, in_outputs(y), aligned((5, 2, 128), rows.dtype))
    fit = LeastSquares(residuals, (), settings)
    proposal = Selection(settings, rows).propose(np.arange(200), fit.target, residuals.residual)
    assert fit.add(*proposal)
    before = residuals.residual.copy()
    if basis_size > 1:
        assert not fit.add(*proposal)
        assert len(fit.learners) == len(fit.coef) == 1
    np.testing.assert_array_equal(residuals.residual, before)
