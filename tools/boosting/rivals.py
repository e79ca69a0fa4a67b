"""What Fourier boosting is compared with: each a function of training rows and test rows, on one thread.

A function returns predictions for the test rows: probabilities of the classes 0, 1, ... or values.
"""

import itertools

import numpy as np

LEAVES, RATES, MOST_ROUNDS, PATIENCE = (4, 8, 16, 31, 63), (0.05, 0.1), 2000, 50
SVC_C, SVC_GAMMA, SVC_ROWS = (0.1, 1.0, 10.0, 100.0, 1000.0), (0.25, 0.5, 1.0, 2.0, 4.0), 2000
N_FOLDS, FEWER_FOLDS, MANY_ROWS = 5, 3, 2000


def folds_of(y, is_class):
    """Folds to choose parameters by."""
    from sklearn.model_selection import KFold, StratifiedKFold

    n_folds = N_FOLDS if len(y) < MANY_ROWS else FEWER_FOLDS
    return list((StratifiedKFold if is_class else KFold)(n_folds, shuffle=True, random_state=0).split(
        np.empty((len(y), 1)), y))


def fourier(X, y, X_test, is_class, seed, **params):
    """Fourier boosting of this package with its defaults, or with some parameters."""
    import rffkern

    name = "FourierBoostingClassifier" if is_class else "FourierBoostingRegressor"
    model = getattr(rffkern, name)(random_state=seed, n_threads=1, **params).fit(X, y)
    return lambda: model.predict_proba(X_test) if is_class else model.predict(X_test)


def gbrff2(X, y, X_test, is_class, seed):
    """GBRFF2 of this package with its defaults; GBRFFRegressor for targets."""
    import rffkern

    make = rffkern.GBRFF2Classifier if is_class else rffkern.GBRFFRegressor
    model = make(random_state=seed, n_threads=1).fit(X, y)
    return lambda: model.predict_proba(X_test) if is_class else model.predict(X_test)


def _booster(is_class, **params):
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if is_class else LGBMRegressor)(n_jobs=1, verbose=-1, force_col_wise=True, **params)


def lightgbm(X, y, X_test, is_class, seed, **params):
    """LightGBM with its defaults, or with some parameters."""
    model = _booster(is_class, random_state=seed, **params).fit(X, y)
    return lambda: _predicted(model, X_test, is_class)


def lightgbm_tuned(X, y, X_test, is_class, seed):
    """LightGBM by cross-validation: leaves, rate and the number of rounds by the loss on folds held out."""
    import lightgbm as library

    folds = folds_of(y, is_class)
    best = None
    for leaves, rate in itertools.product(LEAVES, RATES):
        curves, rounds = [], []
        for train, held_out in folds:
            model = _booster(is_class, n_estimators=MOST_ROUNDS, num_leaves=leaves, learning_rate=rate,
                             random_state=seed)
            model.fit(X[train], y[train], eval_set=[(X[held_out], y[held_out])],
                      callbacks=[library.early_stopping(PATIENCE, verbose=False)])
            curves.append(next(iter(next(iter(model.best_score_.values())).values())))
            rounds.append(model.best_iteration_)
        if best is None or np.mean(curves) < best[0]:
            best = np.mean(curves), {"num_leaves": leaves, "learning_rate": rate, "n_estimators": int(np.mean(rounds))}
    return lightgbm(X, y, X_test, is_class, seed, **best[1])


def xgboost(X, y, X_test, is_class, seed):
    """XGBoost with its defaults."""
    from xgboost import XGBClassifier, XGBRegressor

    model = (XGBClassifier if is_class else XGBRegressor)(n_jobs=1, random_state=seed).fit(X, y)
    return lambda: _predicted(model, X_test, is_class)


def hist_boosting(X, y, X_test, is_class, seed):
    """scikit-learn's gradient boosting with its defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    make = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    model = make(random_state=seed).fit(X, y)
    return lambda: _predicted(model, X_test, is_class)


def support_vectors(X, y, X_test, is_class, seed):
    """SVC or SVR with the Gaussian kernel on standardised columns, C and gamma by cross-validation."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    name, machine = ("svc", SVC(random_state=seed)) if is_class else ("svr", SVR())
    center, spread = (0.0, 1.0) if is_class else (y.mean(), y.std())
    target = (y - center) / spread if not is_class else y
    few = np.random.default_rng(seed).permutation(len(y))[:SVC_ROWS]
    grid = {f"{name}__C": SVC_C, f"{name}__gamma": [gamma / X.shape[1] for gamma in SVC_GAMMA]}
    search = GridSearchCV(make_pipeline(StandardScaler(), machine), grid, cv=folds_of(target[few], is_class),
                          refit=False).fit(X[few], target[few])
    model = make_pipeline(StandardScaler(), machine).set_params(**search.best_params_).fit(X, target)
    if is_class:
        return lambda: (model.predict(X_test)[:, None] == np.arange(int(y.max()) + 1)).astype(float)
    return lambda: center + spread * model.predict(X_test)


def _predicted(model, X_test, is_class):
    return model.predict_proba(X_test) if is_class else model.predict(X_test)


RIVALS = {"fourier": fourier, "gbrff2": gbrff2, "lightgbm": lightgbm, "lightgbm-tuned": lightgbm_tuned,
          "xgboost": xgboost, "hist-boosting": hist_boosting, "svm-tuned": support_vectors}
