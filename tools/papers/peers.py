"""What the papers compare with: LightGBM and XGBoost on their grids, BMKR, MKBOOST, GFC, and SRFF."""

import itertools

import numpy as np
from common.data import standardised

GAMMAS = [2.0**k for k in range(-4, 6)]
MAX_ITER = 100_000  # of a support vector regression: with the kernel of products and a large C some never converge


def judge(scores, positive):
    """Accuracy, and minus the mean squared error of scores clipped to [-1, 1]."""
    return np.mean((scores > 0) == positive), -np.mean((np.clip(scores, -1, 1) - np.where(positive, 1, -1)) ** 2)


class LightGBM:
    """Trees of so many levels, with a ridge on their leaves."""

    def __init__(self, depths, ridges=(0.0,), rates=(0.1,)):
        self.settings = list(itertools.product(depths, ridges, rates))

    def grid(self, n_features):
        return [{"max_depth": depth, "num_leaves": 2**depth, "reg_lambda": ridge, "learning_rate": rate}
                for depth, ridge, rate in self.settings]

    def curve(self, params, X, y, X_test, y_test, sizes):
        """What `judge` says of the test rows for each number of trees."""
        from lightgbm import LGBMClassifier

        fixed = {"n_jobs": 1, "verbose": -1, "force_col_wise": True}
        model = LGBMClassifier(n_estimators=sizes[-1], **fixed, **params).fit(X, y)
        return [judge(model.booster_.predict(X_test, num_iteration=size, raw_score=True), y_test == model.classes_[1])
                for size in sizes]


class XGBoost:
    """Trees of so many levels."""

    def __init__(self, depths, rates):
        self.settings = list(itertools.product(depths, rates))

    def grid(self, n_features):
        return [{"max_depth": depth, "learning_rate": rate} for depth, rate in self.settings]

    def curve(self, params, X, y, X_test, y_test, sizes):
        """What `judge` says of the test rows for each number of trees."""
        from xgboost import XGBClassifier

        classes, codes = np.unique(y, return_inverse=True)
        model = XGBClassifier(n_estimators=sizes[-1], n_jobs=1, **params).fit(X, codes)
        return [judge(model.predict(X_test, output_margin=True, iteration_range=(0, size)), y_test == classes[1])
                for size in sizes]


class BMKR:
    """Boosting of support vector regressions: each round takes the one of eleven kernels that fits residuals best."""

    def __init__(self, exponents):
        self.exponents = exponents

    def grid(self, n_features):
        return [{"C": 10.0**k} for k in self.exponents]

    def curve(self, params, X, y, X_test, y_test, sizes):
        """What `judge` says of the test rows for each number of rounds."""
        from sklearn.svm import SVR

        X, X_test = standardised(X, X_test)
        n_rows, positive = len(X), y_test == np.unique(y)[1]
        products = np.vstack([X, X_test]) @ X.T
        squares = np.concatenate([(X**2).sum(axis=1), (X_test**2).sum(axis=1)])
        distances = np.maximum(squares[:, None] + squares[:n_rows] - 2 * products, 0)
        kernels = [*(np.exp(-gamma * distances) for gamma in GAMMAS), products]
        linear = np.linalg.qr(np.column_stack([X, np.ones(n_rows)]))[0]  # what the kernel of products can fit
        residuals, scores, found = np.where(y == np.unique(y)[1], 1.0, -1.0), np.zeros(len(X_test)), []
        for n_rounds in range(1, sizes[-1] + 1):
            least = np.inf
            rest = residuals - linear @ (linear.T @ residuals)
            for K in kernels:
                if K is products and least < np.mean(rest**2):  # it cannot be best, and takes seconds where C is large
                    break
                model = SVR(kernel="precomputed", max_iter=MAX_ITER, **params).fit(K[:n_rows], residuals)
                fitted = K[:, model.support_] @ model.dual_coef_[0] + model.intercept_
                error = np.mean((residuals - fitted[:n_rows]) ** 2)
                if error < least:
                    best, least = fitted, error
                if not len(model.support_):  # all residuals are small: no kernel has support vectors
                    break
            size = best[:n_rows] @ best[:n_rows]
            step = best[:n_rows] @ residuals / size if size else 0.0
            residuals, scores = residuals - step * best[:n_rows], scores + step * best[n_rows:]
            if n_rounds in sizes:
                found.append(judge(scores, positive))
        return found


class MKBoost:
    """AdaBoost of support vector machines: each round takes the best of 17 kernels (MKBoost-D1 of Xia and Hoi, 2013).

    In each round a fifth of the rows, drawn by their weights, trains a machine for each kernel; that of the smallest
    weighted error on all rows is taken.
    """

    SHARE = 0.2

    def __init__(self, exponents):
        self.exponents = exponents

    def grid(self, n_features):
        return [{"C": 10.0**k} for k in self.exponents]

    def curve(self, params, X, y, X_test, y_test, sizes):
        """What `judge` says of the test rows for each number of rounds."""
        from sklearn.svm import SVC

        n_rows, rng = len(X), np.random.default_rng(1)
        signs, positive = np.where(y == np.unique(y)[1], 1.0, -1.0), y_test == np.unique(y)[1]
        products = np.vstack([X, X_test]) @ X.T
        squares = np.concatenate([(X**2).sum(axis=1), (X_test**2).sum(axis=1)])
        distances = np.maximum(squares[:, None] + squares[:n_rows] - 2 * products, 0)
        kernels = [*(np.exp(-(2.0**k) * distances) for k in range(-6, 8)), *(products**degree for degree in (1, 2, 3))]
        weights, scores, total, found = np.full(n_rows, 1 / n_rows), np.zeros(len(X_test)), 0.0, []
        for n_rounds in range(1, sizes[-1] + 1):
            rows = rng.choice(n_rows, max(2, int(self.SHARE * n_rows)), p=weights)
            if len(np.unique(signs[rows])) == 2:
                fitted = (machine_labels(SVC(kernel="precomputed", **params), K, rows, signs) for K in kernels)
                error, _, labels = min((weights @ (h[:n_rows] != signs), k, h) for k, h in enumerate(fitted))
                step = 0.5 * np.log((1 - error + 1e-10) / (error + 1e-10)) if error < 0.5 else 0.0
                weights = weights * np.exp(-step * signs * labels[:n_rows])
                weights /= weights.sum()
                scores, total = scores + step * labels[n_rows:], total + step
            if n_rounds in sizes:
                found.append(judge(scores / (total or 1.0), positive))
        return found


def machine_labels(machine, K, rows, signs):
    """Labels of all rows by a support vector machine that is trained on some."""
    from sklearn import config_context

    with config_context(assume_finite=True, skip_parameter_validation=True):  # there are thousands, of few rows
        machine.fit(K[rows][:, rows], signs[rows])
    return np.where(K[:, rows[machine.support_]] @ machine.dual_coef_[0] + machine.intercept_ > 0, 1.0, -1.0)


class GFC:
    """Greedy feature construction (Oglic and Gaertner, 2016), and a linear support vector machine on its features.

    Each feature is a cosine of a projection. Its direction and phase, with the coefficients of feature and of the
    estimate so far, minimise the squared error; the penalty is small, as the ECML paper names none.
    """

    PENALTY = 1e-3

    def __init__(self, exponents):
        self.exponents, self.made = exponents, {}

    def grid(self, n_features):
        return [{"C": 10.0**k} for k in self.exponents]

    def curve(self, params, X, y, X_test, y_test, sizes):
        """What `judge` says of the test rows for each number of features."""
        from sklearn.svm import LinearSVC

        X, X_test = (np.column_stack([rows, np.ones(len(rows))]) for rows in standardised(X, X_test))
        positive, key = y_test == np.unique(y)[1], (X.tobytes(), y.tobytes())
        if key not in self.made:  # C has no part in the features
            self.made[key] = self.directions(X, np.where(y == np.unique(y)[1], 1.0, -1.0), sizes[-1])
        train, test = np.cos(X @ self.made[key]), np.cos(X_test @ self.made[key])
        models = [LinearSVC(dual=False, **params).fit(train[:, :size], y) for size in sizes]
        return [judge(model.decision_function(test[:, :size]), positive)
                for model, size in zip(models, sizes, strict=True)]

    def directions(self, X, y, n_features):
        """One column for each feature."""
        from scipy.optimize import minimize

        def objective(w):
            """The penalised mean squared error at the best two coefficients, and its gradient along w."""
            projected = X @ w
            A = np.column_stack([estimate, np.cos(projected)])
            c = np.linalg.solve(A.T @ A / len(y) + self.PENALTY * np.eye(2), A.T @ y / len(y))
            residuals = A @ c - y
            gradient = -2 * c[1] * X.T @ (residuals * np.sin(projected)) / len(y) + 2 * self.PENALTY * w
            return residuals @ residuals / len(y) + self.PENALTY * (w @ w + c @ c), gradient

        rng, estimate, found = np.random.default_rng(1), np.full(len(y), y.mean()), []
        for _ in range(n_features):
            start = rng.standard_normal(X.shape[1]) / np.sqrt(X.shape[1])
            w = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 20}).x
            A = np.column_stack([estimate, np.cos(X @ w)])
            estimate = A @ np.linalg.lstsq(A, y, rcond=None)[0]
            found.append(w)
        return np.column_stack(found)


class SRFF:
    """Sparse random Fourier features (Gregorova et al., 2018): ridge regression on cosines of weighted columns.

    The weights of columns lie on the simplex. Coefficients by least squares and weights by projected gradient steps are
    fitted in turn. The penalty is chosen on held-out rows, on few rows where there are many.
    """

    N_FEATURES, N_TURNS, N_STEPS, SEARCH_ROWS, PENALTIES = 300, 10, 5, 2000, [10.0**k for k in range(-8, 1, 2)]

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def fit(self, X, y):
        self.shift, self.scale = np.array([X.mean(axis=0), X.std(axis=0)])
        self.scale[self.scale == 0] = 1.0
        self.mean, self.deviation = y.mean(), y.std()
        X, y = (X - self.shift) / self.scale, (y - self.mean) / self.deviation
        self.normal = self.rng.standard_normal((X.shape[1], self.N_FEATURES))
        self.phases = self.rng.uniform(0, 2 * np.pi, self.N_FEATURES)
        rows = self.rng.permutation(len(y))[: self.SEARCH_ROWS]
        held_out, few = rows[: len(rows) // 5], rows[len(rows) // 5:]
        errors = []
        for penalty in self.PENALTIES:
            weights, c = self.alternate(X[few], y[few], penalty)
            errors.append(np.mean((self.cosines(X[held_out], weights)[0] @ c - y[held_out]) ** 2))
        self.weights, self.c = self.alternate(X, y, self.PENALTIES[int(np.argmin(errors))])
        return self

    def predict(self, X):
        return self.mean + self.deviation * (self.cosines((X - self.shift) / self.scale, self.weights)[0] @ self.c)

    def cosines(self, X, weights):
        angles = X @ (weights[:, None] * self.normal) + self.phases
        scale = np.sqrt(2 / self.N_FEATURES)
        return scale * np.cos(angles), scale * angles

    def alternate(self, X, y, penalty):
        """Weights of columns, and coefficients."""
        weights, rate = np.full(X.shape[1], 1 / X.shape[1]), 1.0
        for _ in range(self.N_TURNS):
            Z, _ = self.cosines(X, weights)
            c = np.linalg.solve(Z.T @ Z / len(y) + penalty * np.eye(Z.shape[1]), Z.T @ y / len(y))
            for _ in range(self.N_STEPS):
                Z, angles = self.cosines(X, weights)
                residuals = Z @ c - y
                loss, slopes = np.mean(residuals**2), np.sqrt(2 / self.N_FEATURES) * np.sin(
                    angles / np.sqrt(2 / self.N_FEATURES))
                inner = (residuals[:, None] * slopes) * c  # (rows, features)
                gradient = -2 * np.einsum("jk,jk->j", X.T @ inner, self.normal) / len(y)
                while True:  # the step is halved until the loss falls
                    tried = on_simplex(weights - rate * gradient)
                    if np.mean((self.cosines(X, tried)[0] @ c - y) ** 2) <= loss or rate < 1e-9:
                        break
                    rate /= 2
                weights, rate = tried, 2 * rate
        return weights, c


def on_simplex(values):
    """The nearest point whose coordinates are at least 0 and have the sum 1."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    return np.maximum(values - excess[np.flatnonzero(ordered > excess)[-1]], 0)
