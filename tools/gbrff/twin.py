"""GBRFF1, GBRFF2 and GBRFF in plain NumPy and SciPy, in the way of the authors' scripts.

Projections, which a round needs twice, are computed once and kept.
"""

import numpy as np


class PhaseTwin:
    """GBRFF2 (Algorithm 3 of the ECML paper): bounded Brent for the phase, fmin_l_bfgs_b for omega."""

    def __init__(self, n_estimators, seed=0):
        self.n_estimators, self.seed = n_estimators, seed

    def fit(self, X, y):
        from scipy.optimize import fmin_l_bfgs_b, fminbound

        rng = np.random.default_rng(self.seed)
        n_samples, n_features = X.shape
        H = np.full(n_samples, 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
        for _ in range(self.n_estimators):
            w = np.exp(-y * H)
            r = y * w
            omega = rng.normal(0, np.sqrt(2 / n_features), n_features)
            angle = X @ omega

            def phase_loss(b, r=r, angle=angle):
                return np.exp(-r * np.cos(angle - b)).mean()

            b = fminbound(phase_loss, -np.pi, np.pi, xtol=2e-2 * np.pi)

            def loss_and_gradient(omega, r=r, b=b):
                shifted = X @ omega - b
                loss = np.exp(-r * np.cos(shifted))
                return loss.mean(), (r * np.sin(shifted) * loss) @ X / n_samples

            omega, _, _ = fmin_l_bfgs_b(loss_and_gradient, omega, maxiter=10)
            h = np.cos(X @ omega - b)
            H += 0.5 * np.log(((1 + y * h) * w).sum() / ((1 - y * h) * w).sum()) * h
        return self


class LandmarkTwin:
    """What Algorithm 2 of the ECML paper and the method of 2019 have in common; a subclass has the loss."""

    def __init__(self, n_estimators, n_components, seed=0):
        self.n_estimators, self.n_components, self.seed = n_estimators, n_components, seed

    def fit(self, X, y):
        from scipy.optimize import fmin_l_bfgs_b

        rng = np.random.default_rng(self.seed)
        n_samples, n_features = X.shape
        K = self.n_components
        H = np.full(n_samples, self.intercept(y))
        for _ in range(self.n_estimators):
            omegas = rng.normal(0, np.sqrt(2 / n_features), (K, n_features))
            projection = X @ omegas.T
            r = self.residual(y, H)

            def loss_and_gradient(x, omegas=omegas, projection=projection, r=r):
                angle = omegas @ x - projection
                loss, slope = self.losses(r, np.cos(angle).mean(axis=1))
                return loss.mean(), (slope @ np.sin(angle)) @ omegas / (n_samples * K)

            x, _, _ = fmin_l_bfgs_b(loss_and_gradient, np.zeros(n_features), maxiter=10)
            cosines = np.cos(omegas @ x - projection)
            log_odds = -self.temperature(n_samples) * self.losses(r[:, None], cosines)[0].mean(axis=0)
            posterior = np.exp(log_odds - log_odds.max())
            h = cosines @ (posterior / posterior.sum())
            H += self.step(y, r, h) * h
        return self


class ExponentialTwin(LandmarkTwin):
    """GBRFF1, with beta = 1."""

    def intercept(self, y):
        return 0.5 * np.log((1 + y.mean()) / (1 - y.mean()))

    def residual(self, y, H):
        return y * np.exp(-y * H)

    def losses(self, r, z):
        """Loss of each row at the outputs z of a weak learner, and minus its derivative there."""
        loss = np.exp(-r * z)
        return loss, r * loss

    def temperature(self, n_samples):
        return np.sqrt(n_samples)

    def step(self, y, r, h):
        w = np.abs(r)
        return 0.5 * np.log(((1 + y * h) * w).sum() / ((1 - y * h) * w).sum())


class SquaredTwin(LandmarkTwin):
    """GBRFF, with beta = 16 and learning rate 0.1."""

    def intercept(self, y):
        return y.mean()

    def residual(self, y, H):
        return y - H

    def losses(self, r, z):
        return (r - z) ** 2, 2 * (r - z)

    def temperature(self, n_samples):
        return 16

    def step(self, y, r, h):
        return 0.1 * (r @ h) / (h @ h)
