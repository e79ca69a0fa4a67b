"""Plain NumPy twins of the kernels, written for reading: rows are rows, nothing is packed, everything is float64."""

import numpy as np

MAX_RESIDUAL = 64.0


def residuals(raw_prediction, y):
    """y_tilde = y exp(-y H), held to the bound the kernels use."""
    return y * np.minimum(np.exp(-y * raw_prediction), MAX_RESIDUAL)


def surrogate(X, y_tilde, weight, omega, phase):
    """Weighted mean of exp(-y_tilde cos(omega . x - phase)) - 1, line 6 of Algorithm 3."""
    return np.average(np.expm1(-y_tilde * np.cos(X @ omega - phase)), weights=weight)


def omega_objective(X, y_tilde, weight, omega, phase, reg_lambda):
    """Line 7 of Algorithm 3, and its gradient."""
    angle = X @ omega - phase
    v = weight * y_tilde * np.sin(angle) * np.exp(-y_tilde * np.cos(angle)) / weight.sum()
    return (surrogate(X, y_tilde, weight, omega, phase) + reg_lambda * omega @ omega,
            X.T @ v + 2 * reg_lambda * omega)


def phase_curve(X, y_tilde, weight, omega, phases):
    """Logarithm of the surrogate loss at each of some phases."""
    angle = (X @ omega)[:, None]
    terms = weight[:, None] * np.expm1(-y_tilde[:, None] * np.cos(angle - phases))
    return np.log1p(terms.sum(axis=0) / weight.sum())


def best_phase(X, y_tilde, weight, omega, n_grid=4096):
    """Global argmin over the phase: a dense grid, then bisection on the derivative around its best point."""
    grid = np.linspace(-np.pi, np.pi, n_grid, endpoint=False)
    phase = grid[phase_curve(X, y_tilde, weight, omega, grid).argmin()]
    left, right = phase - (grid[1] - grid[0]), phase + (grid[1] - grid[0])
    for _ in range(60):
        phase = 0.5 * (left + right)
        angle = X @ omega - phase
        slope = -(weight * y_tilde * np.sin(angle) * np.exp(-y_tilde * np.cos(angle))).sum()
        left, right = (left, phase) if slope > 0 else (phase, right)
    return phase


def agreement(X, y, weight, raw_prediction, omega, phase):
    """Sums of w and of w y h for the step size, line 8 of Algorithm 3."""
    w = weight * np.exp(-y * raw_prediction)
    return w.sum(), (w * y * np.cos(X @ omega - phase)).sum()


def score(X, center, omegas, phases, amplitudes, intercept):
    """H(x) = intercept + sum of amplitudes cos(omegas . (x - center) - phases)."""
    return intercept + np.cos((X - center) @ omegas.T - phases) @ amplitudes


def replay_gbrff2(X, y, draws, reg_lambda, minimize, learners):
    """Algorithm 3 round by round for standardised X and y in {-1, +1}, each round continuing from given learners.

    Yields per round what the algorithm makes of the residuals: the phase for the drawn omega, the omega `minimize`
    descends to from there, the step for the given learner, and the loss of both omegas.
    """
    weight = np.ones(len(y))
    raw_prediction = np.full(len(y), 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
    for drawn, (given_omega, given_phase, given_step) in zip(draws, learners, strict=True):
        y_tilde = residuals(raw_prediction, y)
        phase = best_phase(X, y_tilde, weight, drawn)

        def loss(omega, y_tilde=y_tilde, phase=phase):
            return omega_objective(X, y_tilde, weight, omega, phase, reg_lambda)

        omega = minimize(loss, drawn)
        total, agreeing = agreement(X, y, weight, raw_prediction, given_omega, given_phase)
        step = 0.5 * np.log((total + agreeing) / (total - agreeing))
        raw_prediction = raw_prediction + given_step * np.cos(X @ given_omega - given_phase)
        yield phase, omega, step, loss(omega)[0], loss(given_omega)[0], np.exp(-y * raw_prediction).mean()
