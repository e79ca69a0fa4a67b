"""The landmark methods and sparse kernel boosting in plain NumPy and SciPy, for `bench.py`.

What a round needs twice, projections and kernels, is computed once and kept.
"""

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


class SparseTwin:
    """Sparse kernel boosting, full update, max-res: kernels by a matrix product, the rest by BLAS on stored columns."""

    BLOCK = 1024  # rows whose kernels with a learner's vectors stay in cache

    def __init__(self, n_estimators, learner_size, subset_size, kernel, reg_lambda, seed=0):
        self.n_estimators, self.learner_size, self.subset_size = n_estimators, learner_size, subset_size
        self.kernel, self.reg_lambda, self.seed = kernel, reg_lambda, seed

    def prepare(self, X):
        """Rows in lengths, and half their squares, which leave the exponent to one matrix product."""
        self.X = (X - X.mean(axis=0)) / self.kernel["lengthscales"]
        self.half = 0.5 * (self.X**2).sum(axis=1)
        self.K = np.empty((len(X), self.learner_size))
        return self

    def fill_kernels(self, rows, chosen, out):
        """exp(x.c - x.x / 2 - c.c / 2), by amplitude, and bias."""
        np.matmul(self.X[rows], self.X[chosen].T, out=out)
        out -= self.half[rows, None]
        out -= self.half[chosen]
        np.exp(out, out=out)
        out *= self.kernel["amplitude"]
        out += self.kernel["bias"]

    def kernels(self, chosen):
        """Kernels (n_rows, n_chosen) of all rows."""
        for start in range(0, len(self.X), self.BLOCK):
            rows = slice(start, start + self.BLOCK)
            self.fill_kernels(rows, chosen, self.K[rows, : len(chosen)])
        return self.K[:, : len(chosen)]

    def choose(self, subset, target):
        """Rows of the subset: each the largest residual of the least squares on those before it."""
        from scipy.linalg import solve_triangular

        size, lam = self.learner_size, self.reg_lambda
        columns, lower, z = np.empty((len(subset), size), order="F"), np.zeros((size, size)), np.empty(size)
        gram, places, left = np.empty(size), np.empty(size, int), target
        for k in range(size):
            places[k] = place = np.abs(left).argmax()
            if k + 1 == size:
                break
            self.fill_kernels(subset, subset[place : place + 1], columns[:, k : k + 1])
            column = columns[:, k]
            gram[: k + 1] = column @ columns[:, : k + 1] + lam * column[places[: k + 1]]
            row = lower[k, :k] = solve_triangular(lower[:k, :k], gram[:k], lower=True, check_finite=False)
            lower[k, k] = np.sqrt(gram[k] - row @ row)
            z[k] = (column @ target - row @ z[:k]) / lower[k, k]
            coef = solve_triangular(lower[: k + 1, : k + 1], z[: k + 1], lower=True, trans=1, check_finite=False)
            left = target - columns[:, : k + 1] @ coef
            left[places[: k + 1]] = 0  # not again
        return subset[places]

    def fit(self, X, y):
        from scipy.linalg import cho_factor, cho_solve, solve_triangular

        self.prepare(X)
        rng = np.random.default_rng(self.seed)
        target, M, S = (y - y.mean()) / y.std(), self.n_estimators, self.learner_size
        F, lower = np.empty((len(y), M), order="F"), np.zeros((M, M))
        indices, weights, slopes, r = np.empty((M, S), int), np.empty((M, S)), np.empty(M), target
        for m in range(M):
            subset = rng.choice(len(y), self.subset_size, replace=False)
            chosen = indices[m] = self.choose(subset, r[subset])
            K = self.kernels(chosen)
            u = r @ K - self.reg_lambda * (target - r)[chosen]
            a = cho_solve(cho_factor(K[chosen], check_finite=False), u, check_finite=False)
            weights[m] = a / np.sqrt(u @ a)
            f = F[:, m] = K @ weights[m]
            inner_products = (weights[: m + 1] * f[indices[: m + 1]]).sum(axis=1)
            gram = f @ F[:, : m + 1] + self.reg_lambda * inner_products
            row = lower[m, :m] = solve_triangular(lower[:m, :m], gram[:m], lower=True, check_finite=False)
            lower[m, m] = np.sqrt(gram[m] - row @ row)
            slopes[m] = (f @ target - row @ slopes[:m]) / lower[m, m]
            coef = solve_triangular(lower[: m + 1, : m + 1], slopes[: m + 1], lower=True, trans=1, check_finite=False)
            r = target - F[:, : m + 1] @ coef
        self.train_loss = np.mean(r**2)
        return self
