"""The landmark methods in plain NumPy and SciPy, for `bench.py`: each projection is computed once a round, no more."""

import numpy as np


class BoostedTwin:
    """Algorithm 2 of the ECML paper; with squared=True the least-squares method of 2019."""

    def __init__(self, n_estimators, n_components, squared=False, seed=0):
        self.n_estimators, self.n_components, self.squared, self.seed = n_estimators, n_components, squared, seed

    def fit(self, X, y):
        from scipy.optimize import fmin_l_bfgs_b

        rng = np.random.default_rng(self.seed)
        n_samples, n_features = X.shape
        K = self.n_components
        H = np.full(n_samples, y.mean() if self.squared else 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
        for _ in range(self.n_estimators):
            omegas = rng.normal(0, np.sqrt(2 / n_features), (K, n_features))
            projection = X @ omegas.T
            w = np.exp(-y * H)
            r = y - H if self.squared else y * w

            def loss_and_gradient(x, omegas=omegas, projection=projection, r=r):
                angle = omegas @ x - projection
                z, waves = np.cos(angle).mean(axis=1), np.sin(angle)
                if self.squared:
                    loss, slope = (r - z) ** 2, 2 * (r - z)
                else:
                    loss = np.exp(-r * z)
                    slope = r * loss
                return loss.mean(), (slope @ waves) @ omegas / (n_samples * K)

            x, _, _ = fmin_l_bfgs_b(loss_and_gradient, np.zeros(n_features), maxiter=10)
            cosines = np.cos(omegas @ x - projection)
            if self.squared:
                log_odds = -16 * ((r[:, None] - cosines) ** 2).mean(axis=0)
            else:
                log_odds = -np.exp(-r[:, None] * cosines).mean(axis=0) * np.sqrt(n_samples)
            posterior = np.exp(log_odds - log_odds.max())
            h = cosines @ (posterior / posterior.sum())
            if self.squared:
                H += 0.1 * (r @ h) / (h @ h) * h
            else:
                H += 0.5 * np.log(((1 + y * h) * w).sum() / ((1 - y * h) * w).sum()) * h
        return self


class LandmarkTwin:
    """PBRFF: random landmarks, leave-one-out pseudo-posterior, features, then scikit-learn's linear machine."""

    def __init__(self, n_landmarks=100, n_components=10, seed=0):
        self.n_landmarks, self.n_components, self.seed = n_landmarks, n_components, seed

    def features(self, X, y):
        rng = np.random.default_rng(self.seed)
        n_samples, n_features = X.shape
        columns = []
        for index in rng.integers(n_samples, size=self.n_landmarks):
            omegas = rng.normal(0, np.sqrt(2 / n_features), (self.n_components, n_features))
            cosines = np.cos((X[index] - X) @ omegas.T)
            loss = 0.5 - 0.5 * (y[index] * y @ cosines - 1) / (n_samples - 1)
            odds = np.exp(-np.sqrt(n_samples) * (loss - loss.min()))
            columns.append(cosines @ (odds / odds.sum()))
        return np.column_stack(columns)

    def fit(self, X, y):
        from sklearn.svm import LinearSVC

        LinearSVC().fit(self.features(X, y), y)
        return self
