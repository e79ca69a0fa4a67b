"""What the papers on GBRFF compare with: LightGBM and XGBoost on the papers' grids, and BMKR."""

import itertools

import numpy as np
from common.data import standardised

GAMMAS = [2.0**k for k in range(-4, 6)]


def judge(scores, positive):
    """Accuracy, and minus the mean squared error of scores clipped to [-1, 1]."""
    return np.mean((scores > 0) == positive), -np.mean((np.clip(scores, -1, 1) - np.where(positive, 1, -1)) ** 2)


class LightGBM:
    """Trees of so many levels, with a ridge on their leaves."""

    def __init__(self, depths, ridges=(0.0,)):
        self.pairs = list(itertools.product(depths, ridges))

    def grid(self, n_features):
        return [{"max_depth": depth, "num_leaves": 2**depth, "reg_lambda": ridge} for depth, ridge in self.pairs]

    def curve(self, params, X, y, X_test, y_test, sizes):
        """What `judge` says of the test rows for each number of trees."""
        from lightgbm import LGBMClassifier

        fixed = {"n_jobs": 1, "verbose": -1, "force_col_wise": True}
        model = LGBMClassifier(n_estimators=sizes[-1], **fixed, **params).fit(X, y)
        return [judge(model.booster_.predict(X_test, num_iteration=size, raw_score=True), y_test == model.classes_[1])
                for size in sizes]


class XGBoost:
    """Trees of so many levels."""

    def __init__(self, depths):
        self.depths = depths

    def grid(self, n_features):
        return [{"max_depth": depth} for depth in self.depths]

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
        kernels = [products, *(np.exp(-gamma * distances) for gamma in GAMMAS)]
        residuals, scores, found = np.where(y == np.unique(y)[1], 1.0, -1.0), np.zeros(len(X_test)), []
        for n_rounds in range(1, sizes[-1] + 1):
            fitted = []
            for K in kernels:
                model = SVR(kernel="precomputed", **params).fit(K[:n_rows], residuals)
                fitted.append(K[:, model.support_] @ model.dual_coef_[0] + model.intercept_)
            best = min(fitted, key=lambda h: np.mean((residuals - h[:n_rows]) ** 2))
            size = best[:n_rows] @ best[:n_rows]
            step = best[:n_rows] @ residuals / size if size else 0.0
            residuals, scores = residuals - step * best[:n_rows], scores + step * best[n_rows:]
            if n_rounds in sizes:
                found.append(judge(scores, positive))
        return found
