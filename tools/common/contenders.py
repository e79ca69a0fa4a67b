"""Other libraries that rffkern is compared with, each on one thread."""

import numpy as np

# The grid of scikit-learn's kernel ridge regression, gammas times 1 / n_features, and the rows it is searched on.
GAMMAS = [0.1, 0.3, 1.0, 3.0, 10.0]
ALPHAS = [0.001, 0.01, 0.1, 1.0]
SEARCH_ROWS = 2000
RIDGE_ROWS = 8000  # that it is trained on


def ridge_parameters(X, y, seed):
    """Gamma and alpha of kernel ridge regression by three-fold cross-validation on some of the rows."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    few = np.random.default_rng(seed).permutation(len(y))[:SEARCH_ROWS]
    grid = {"gamma": [gamma / X.shape[1] for gamma in GAMMAS], "alpha": ALPHAS}
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3, scoring="neg_mean_squared_error", refit=False)
    return search.fit(X[few], y[few]).best_params_


def lightgbm_model(n_estimators):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=n_estimators, max_depth=5, force_col_wise=True, n_jobs=1, verbose=-1)


def xgboost_model(n_estimators):
    from xgboost import XGBClassifier

    class Labelled(XGBClassifier):
        def fit(self, X, y):
            return super().fit(X, y > 0)

    return Labelled(n_estimators=n_estimators, max_depth=5, tree_method="hist", n_jobs=1)


def hist_gradient_boosting(n_estimators):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=n_estimators, max_depth=5, early_stopping=False)


def sampler_and_logistic(n_components, gamma):
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(RBFSampler(gamma=gamma, n_components=n_components, random_state=0),
                         LogisticRegression(max_iter=1000))


def support_vectors(gamma):
    from sklearn.svm import SVC

    return SVC(gamma=gamma)
