"""What Fourier boosting is compared with: each a function of training rows and test rows, on one thread.

A function returns predictions for the test rows: probabilities of the classes 0, 1, ..., the classes themselves where a
model has no probabilities, or values.  Libraries are imported where they are needed: xrfm needs PyTorch.
"""

import copy
import functools
import itertools
import time
import warnings

import numpy as np
from common.protocols import standardised

LEAVES, RATES, MOST_ROUNDS, PATIENCE, MANY_ROUNDS = (4, 8, 16, 31, 63), (0.05, 0.1), 2000, 50, 5000
DEPTHS = (2, 3, 4, 6, 8)  # of XGBoost's trees: up to 4, 8, 16, 64, 256 leaves
SVC_C, GAMMA_FACTORS, FEW_ROWS = (0.1, 1.0, 10.0, 100.0, 1000.0), (0.25, 0.5, 1.0, 2.0, 4.0), 2000
SVR_STEPS = 500_000  # at most: large C would take hours
RIDGES, GBRFF2_LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0), (0.0, 2.0**-5, 2.0**-4, 2.0**-3, 2.0**-2)
XRFM_GRID = {"bandwidth": (2.0, 5.0, 20.0), "diag": (False, True), "reg": (1e-3, 1e-1, 1.0)}
RIDGE_ROWS, N_FOLDS, FEWER_FOLDS, MANY_ROWS = 6000, 5, 3, 2000


def quality(predicted, y_test, is_class):
    """Accuracy, and log loss where there are probabilities, or R^2; accuracy and R^2 are per cent."""
    if not is_class:
        return {"score": 100 * float(1 - np.mean((predicted - y_test) ** 2) / y_test.var())}
    if predicted.ndim == 1:
        return {"score": 100 * float(np.mean(predicted == y_test))}
    chosen = np.clip(predicted[np.arange(len(y_test)), y_test], 1e-7, 1)
    return {"score": 100 * float(np.mean(predicted.argmax(axis=1) == y_test)),
            "log_loss": float(-np.log(chosen).mean())}


def silence():
    """Ignore warnings of libraries that say nothing here."""
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    warnings.filterwarnings("ignore", message="The argument 'eval_set' is deprecated")


def folds_of(y, is_class, n_folds=None):
    """Folds to choose parameters by."""
    from sklearn.model_selection import KFold, StratifiedKFold

    n_folds = n_folds or (N_FOLDS if len(y) < MANY_ROWS else FEWER_FOLDS)
    return list((StratifiedKFold if is_class else KFold)(n_folds, shuffle=True, random_state=0).split(
        np.empty((len(y), 1)), y))


def _predicted(model, X_test, is_class):
    return model.predict_proba(X_test) if is_class else model.predict(X_test)


def fourier(X, y, X_test, is_class, seed, **params):
    """Fourier boosting of this package with its defaults, or with some parameters."""
    import rffkern

    name = "FourierBoostingClassifier" if is_class else "FourierBoostingRegressor"
    model = getattr(rffkern, name)(random_state=seed, n_jobs=1, **params).fit(X, y)
    return lambda: _predicted(model, X_test, is_class)


def family(classifier, regressor):
    """Another family of this package, with its defaults or with some parameters."""

    def fitted(X, y, X_test, is_class, seed, **params):
        import rffkern

        model = getattr(rffkern, classifier if is_class else regressor)(random_state=seed, n_jobs=1, **params)
        model.fit(X, y)
        return lambda: _predicted(model, X_test, is_class)

    return fitted


gbrff2 = family("GBRFF2Classifier", "GBRFFRegressor")


def best_of(grid, model, X, y, is_class, seed):
    """Parameters by cross-validation on some of the rows at most: by errors, then squares, of folds held out."""
    few = np.random.default_rng(seed).permutation(len(y))[:FEW_ROWS]
    X, y = X[few], y[few]
    best = None
    for params in grid:
        losses = []
        for train, held_out in folds_of(y, is_class):
            predicted = model(X[train], y[train], X[held_out], is_class, seed, **params)()
            truth = np.eye(predicted.shape[1])[y[held_out]] if is_class else y[held_out]
            errors = np.mean(predicted.argmax(axis=1) != y[held_out]) if is_class else 0.0
            losses.append([errors, np.mean((predicted - truth) ** 2)])
        loss = tuple(np.mean(losses, axis=0).round(12))
        if best is None or loss < best[0]:
            best = loss, params
    return best[1]


def gbrff2_tuned(X, y, X_test, is_class, seed):
    """GBRFF2 by cross-validation over gamma and lambda, the grid of its paper; for classes alone."""
    if not is_class:
        raise SystemExit("gbrff2-tuned is for classes alone")
    grid = [{"gamma": factor / X.shape[1], "reg_lambda": ridge} for factor in GAMMA_FACTORS
            for ridge in GBRFF2_LAMBDAS]
    return gbrff2(X, y, X_test, is_class, seed, **best_of(grid, gbrff2, X, y, is_class, seed))


def _booster(is_class, **params):
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if is_class else LGBMRegressor)(n_jobs=1, verbose=-1, force_col_wise=True, **params)


def lightgbm(X, y, X_test, is_class, seed, **params):
    """LightGBM with its defaults, or with some parameters."""
    model = _booster(is_class, random_state=seed, **params).fit(X, y)
    return lambda: _predicted(model, X_test, is_class)


def best_rounds(grid, fitted, X, y, is_class):
    """Parameters and the number of rounds by the loss of folds held out; `fitted` returns that loss and rounds."""
    folds = folds_of(y, is_class)
    best = None
    for params in grid:
        found = [fitted(params, X[train], y[train], X[held_out], y[held_out]) for train, held_out in folds]
        loss, rounds = np.mean(found, axis=0)
        if best is None or loss < best[0]:
            best = loss, params | {"n_estimators": int(rounds)}
    return best[1]


def lightgbm_tuned(X, y, X_test, is_class, seed):
    """LightGBM by cross-validation: leaves, rate and the number of rounds by the loss on folds held out."""
    import lightgbm as library

    def fitted(params, X, y, X_held_out, y_held_out):
        model = _booster(is_class, n_estimators=MOST_ROUNDS, random_state=seed, **params)
        model.fit(X, y, eval_set=[(X_held_out, y_held_out)],
                  callbacks=[library.early_stopping(PATIENCE, verbose=False)])
        return next(iter(next(iter(model.best_score_.values())).values())), model.best_iteration_

    grid = [{"num_leaves": leaves, "learning_rate": rate} for leaves, rate in itertools.product(LEAVES, RATES)]
    return lightgbm(X, y, X_test, is_class, seed, **best_rounds(grid, fitted, X, y, is_class))


def rounds_to(loss, leaves, X, y, X_test, y_test, limit):
    """The least rounds by which LightGBM's log loss on test rows is no higher, and whether there are any.

    If not, the rounds of its least loss, or those that it had after a limit of CPU seconds.
    """
    import lightgbm as library

    started, losses = time.process_time(), []

    def watch(env):
        losses.append(env.evaluation_result_list[0][2])
        if losses[-1] <= loss or time.process_time() - started > limit:
            raise library.callback.EarlyStopException(env.iteration, env.evaluation_result_list)

    data = library.Dataset(X, y)
    params = {"objective": "binary", "num_leaves": leaves, "num_threads": 1, "verbose": -1, "force_col_wise": True}
    model = library.train(params, data, MANY_ROUNDS, valid_sets=[data.create_valid(X_test, y_test)],
                          callbacks=[watch, library.early_stopping(2 * PATIENCE, verbose=False)])
    return model.best_iteration, min(losses) <= loss


def _extreme(is_class, **params):
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBClassifier if is_class else XGBRegressor)(n_jobs=1, **params)


def xgboost(X, y, X_test, is_class, seed, **params):
    """XGBoost with its defaults, or with some parameters."""
    model = _extreme(is_class, random_state=seed, **params).fit(X, y)
    return lambda: _predicted(model, X_test, is_class)


def xgboost_tuned(X, y, X_test, is_class, seed):
    """XGBoost by cross-validation: depth, rate and the number of rounds, as LightGBM."""
    fixed = {"n_estimators": MOST_ROUNDS, "early_stopping_rounds": PATIENCE, "random_state": seed}

    def fitted(params, X, y, X_held_out, y_held_out):
        model = _extreme(is_class, **fixed, **params)
        model.fit(X, y, eval_set=[(X_held_out, y_held_out)], verbose=False)
        return model.best_score, model.best_iteration + 1

    grid = [{"max_depth": depth, "learning_rate": rate} for depth, rate in itertools.product(DEPTHS, RATES)]
    return xgboost(X, y, X_test, is_class, seed, **best_rounds(grid, fitted, X, y, is_class))


def catboost(X, y, X_test, is_class, seed):
    """CatBoost with its defaults."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    make = CatBoostClassifier if is_class else CatBoostRegressor
    model = make(thread_count=1, random_seed=seed, verbose=False, allow_writing_files=False).fit(X, y)
    return lambda: _predicted(model, X_test, is_class)


def hist_boosting(X, y, X_test, is_class, seed):
    """scikit-learn's gradient boosting with its defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    make = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    model = make(random_state=seed).fit(X, y)
    return lambda: _predicted(model, X_test, is_class)


def support_vectors(X, y, X_test, is_class, seed):
    """SVC or SVR with the Gaussian kernel on standardised columns, C and gamma by cross-validation.

    SVC predicts classes: its probabilities are not comparable.
    """
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    few = np.random.default_rng(seed).permutation(len(y))[:FEW_ROWS]
    name, machine = ("svc", SVC(random_state=seed)) if is_class else ("svr", SVR(max_iter=SVR_STEPS))
    center, spread = (0, 1) if is_class else (y.mean(), y.std())
    target = y if is_class else (y - center) / spread
    grid = {f"{name}__C": SVC_C, f"{name}__gamma": [factor / X.shape[1] for factor in GAMMA_FACTORS]}
    search = GridSearchCV(make_pipeline(StandardScaler(), machine), grid, cv=folds_of(target[few], is_class),
                          refit=False).fit(X[few], target[few])
    model = make_pipeline(StandardScaler(), machine).set_params(**search.best_params_).fit(X, target)
    return lambda: center + spread * model.predict(X_test)


def _ridge(X, y, X_test, is_class, seed, **params):
    from sklearn.kernel_ridge import KernelRidge

    X, X_test = standardised(X, X_test)
    model = KernelRidge(kernel="rbf", **params).fit(X, y - y.mean())
    return lambda: y.mean() + np.concatenate([model.predict(rows) for rows in np.array_split(X_test, 8)])


def kernel_ridge(X, y, X_test, is_class, seed):
    """Ridge with the Gaussian kernel on standardised columns, lambda and gamma by cross-validation; for targets."""
    if is_class or len(y) > RIDGE_ROWS:
        raise SystemExit(f"kernel-ridge is for targets of at most {RIDGE_ROWS} rows")
    grid = [{"gamma": factor / X.shape[1], "alpha": ridge} for factor in GAMMA_FACTORS for ridge in RIDGES]
    return _ridge(X, y, X_test, is_class, seed, **best_of(grid, _ridge, X, y, is_class, seed))


def _recursive(X, y, X_test, is_class, seed, n_members=1, reg=1e-3, **params):
    from xrfm import xRFM

    X, X_test = (rows.astype(np.float32) for rows in standardised(X, X_test))
    center, spread = y.mean(), y.std()  # of targets
    target = y if is_class else ((y - center) / spread).astype(np.float32)[:, None]
    params = {"model": {"kernel": "l2", "exponent": 1.0, "bandwidth_mode": "constant", **params},
              "fit": {"reg": reg, "iters": 5, "verbose": False, "early_stop_rfm": True}}
    members = []
    for train, held_out in folds_of(y, is_class, N_FOLDS)[:n_members]:
        model = xRFM(rfm_params=copy.deepcopy(params), device="cpu", random_state=seed, n_threads=1, verbose=False)
        model.fit(X[train], target[train], X[held_out], target[held_out])
        members.append(model)
    if is_class:
        return lambda: np.mean([member.predict_proba(X_test) for member in members], axis=0)
    return lambda: center + spread * np.mean([member.predict(X_test)[:, 0] for member in members], axis=0)


def xrfm(X, y, X_test, is_class, seed):
    """Recursive feature machines on standardised columns, parameters by folds: the mean of five.

    Each leaves out a fold, by which its number of iterations is chosen.
    """
    grid = [dict(zip(XRFM_GRID, values, strict=True)) for values in itertools.product(*XRFM_GRID.values())]
    best = best_of(grid, _recursive, X, y, is_class, seed)
    return _recursive(X, y, X_test, is_class, seed, N_FOLDS, **best)


# no kernel ridge regression
RIVALS = {"fourier": fourier, "fourier-terms": functools.partial(fourier, kernel_ridge=False),
          "gbrff2": gbrff2, "gbrff2-tuned": gbrff2_tuned,
          "gbrff": family("GBRFFClassifier", "GBRFFRegressor"), "rffnet": family("RFFNetClassifier", "RFFNetRegressor"),
          "sparse": family("SparseKernelClassifier", "SparseKernelRegressor"),
          "rffkern-kernel-ridge": family("KernelRidgeClassifier", "KernelRidgeRegressor"), "lightgbm": lightgbm,
          "lightgbm-tuned": lightgbm_tuned, "xgboost": xgboost, "xgboost-tuned": xgboost_tuned,
          "hist-boosting": hist_boosting, "catboost": catboost, "svm-tuned": support_vectors,
          "kernel-ridge": kernel_ridge, "xrfm": xrfm}
