"""Sparse kernel boosting in plain NumPy and SciPy.

The kernels that a learner needs twice are computed once and kept.
"""

import numpy as np


class SparseTwin:
    """Sparse kernel boosting, full update, max-res: kernels by a matrix product, the rest by BLAS on stored columns."""

    BLOCK = 1024  # rows whose kernels with a learner's vectors stay in cache

    def __init__(self, n_estimators, learner_size, subset_size, kernel, reg_lambda, seed=0):
        self.n_estimators, self.learner_size, self.subset_size = n_estimators, learner_size, subset_size
        self.kernel, self.reg_lambda, self.seed = kernel, reg_lambda, seed

    def prepare(self, X):
        """Keep rows in units of the length scales, and half their squared norms."""
        self.X = (X - X.mean(axis=0)) / self.kernel["length_scale"]
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
        """Rows of the subset: each the one of largest residual after least squares on those before it."""
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
