"""Models that are compared: each a function of training rows, their labels or targets, and test rows, on one thread.

A function fits and returns another function, which predicts the test rows: probabilities of the classes 0, 1, ..., the
classes themselves where a model has no probabilities, or values.  Libraries are imported where they are needed.
"""

import copy
import functools
import inspect
import itertools
import json
import pickle
import time
import warnings
from importlib import import_module

import numpy as np

from common.data import standardised
from common.pairs import fourier_pairs
from common.tables import for_library

LEAVES, RATES, MOST_ROUNDS, PATIENCE = (4, 8, 16, 31, 63), (0.05, 0.1), 2000, 50
N_SETTINGS, JUDGED_ROWS = 50, 400  # of a search, and by how many rows at least each is judged where there are so many
GAMMA_FACTORS, SVM_C = (0.25, 0.5, 1.0, 2.0, 4.0), (0.1, 1.0, 10.0, 100.0, 1000.0)
RIDGES, GBRFF2_LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0), (0.0, 2.0**-5, 2.0**-4, 2.0**-3, 2.0**-2)
XRFM_GRID = {"bandwidth": (2.0, 5.0, 20.0), "diag": (False, True), "reg": (1e-3, 1e-1, 1.0)}
SEARCH_ROWS = 2000  # parameters are chosen on at most so many
SVR_STEPS = 500_000  # at most: large C would take hours
RIDGE_ROWS = 6000
N_FOLDS, FEWER_FOLDS, MANY_ROWS = 5, 3, 2000

warnings.filterwarnings("ignore", message="X does not have valid feature names")
warnings.filterwarnings("ignore", message="The argument 'eval_set' is deprecated")


def run(model, X, X_test, y, y_test, seed):
    """Score, log loss and CPU seconds of a model: a name of RIVALS, with parameters as JSON after a colon or not.

    Of values also how far predictions leave the range of the training targets, as a share of it, and the score of
    predictions that are held to a tenth of it outside.
    """
    name, _, params = model.partition(":")
    is_class = y.dtype.kind != "f"
    started = time.process_time()
    predict = RIVALS[name](X, y, X_test, is_class, seed, **(json.loads(params) if params else {}))
    fitted = time.process_time()
    predicted = predict()
    seconds = {"fit": round(fitted - started, 3), "predict": round(time.process_time() - fitted, 4)}
    found = seconds | quality(predicted, y_test, is_class)
    if not is_class:
        low, high = y.min(), y.max()
        tenth = (high - low) / 10
        found["outside"] = float(max(0, low - predicted.min(), predicted.max() - high) / (high - low or 1))
        found["held"] = quality(predicted.clip(low - tenth, high + tenth), y_test, is_class)["score"]
    return found, predict


def pickled_bytes(predict):
    """Bytes of the pickled models that a function of predictions refers to, itself or by another such function."""
    kept = inspect.getclosurevars(predict).nonlocals.values()
    return sum(pickled_bytes(part) if inspect.isfunction(part) else len(pickle.dumps(part)) for part in kept
               if hasattr(part, "predict") or isinstance(part, list) or inspect.isfunction(part))


def quality(predicted, y_test, is_class):
    """Accuracy, log loss and area under the ROC curve where there are probabilities, or R^2; per cent, but the loss."""
    if not is_class:
        return {"score": 100 * float(1 - np.mean((predicted - y_test) ** 2) / y_test.var())}
    if predicted.ndim == 1:
        return {"score": 100 * float(np.mean(predicted == y_test))}
    found = {"score": 100 * float(np.mean(predicted.argmax(axis=1) == y_test)), "log_loss": log_loss(predicted, y_test)}
    if predicted.shape[1] == 2 and 0 < y_test.sum() < len(y_test):
        found["auc"] = 100 * area_under_roc(predicted[:, 1], y_test == 1)
    return found


def log_loss(probabilities, y):
    """The mean of -ln p of the classes of rows, with p of 1e-7 at least."""
    return float(-np.log(np.clip(probabilities[np.arange(len(y)), y], 1e-7, 1)).mean())


def area_under_roc(scores, is_positive):
    """Share of pairs of a positive and another row that scores put in order, ties as half; NumPy alone, for .ci/run."""
    others = np.sort(scores[~is_positive])
    below, up_to = (np.searchsorted(others, scores[is_positive], side) for side in ("left", "right"))
    return float((below + up_to).mean() / (2 * len(others)))


def folds_of(y, is_class, n_folds=None):
    """Folds to choose parameters by."""
    from sklearn.model_selection import KFold, StratifiedKFold

    n_folds = n_folds or (N_FOLDS if len(y) < MANY_ROWS else FEWER_FOLDS)
    return list((StratifiedKFold if is_class else KFold)(n_folds, shuffle=True, random_state=0).split(
        np.empty((len(y), 1)), y))


def best_of(grid, model, X, y, is_class, seed):
    """Parameters by cross-validation: by errors, then squares, of validation folds."""
    few = np.random.default_rng(seed).permutation(len(y))[:SEARCH_ROWS]
    X, y = X[few], y[few]
    best = None
    for params in grid:
        losses = []
        for train, validation in folds_of(y, is_class):
            predicted = model(X[train], y[train], X[validation], is_class, seed, **params)()
            truth = np.eye(predicted.shape[1])[y[validation]] if is_class else y[validation]
            errors = np.mean(predicted.argmax(axis=1) != y[validation]) if is_class else 0.0
            losses.append([errors, np.mean((predicted - truth) ** 2)])
        loss = tuple(np.mean(losses, axis=0).round(12))
        if best is None or loss < best[0]:
            best = loss, params
    return best[1]


def model_of(module, name, regressor=None, **fixed):
    """Models of a library with its defaults, or with some parameters: NAMEClassifier, and NAMERegressor or another."""

    def fitted(X, y, X_test, is_class, seed, **params):
        class_name = f"{name}Classifier" if is_class else regressor or f"{name}Regressor"
        library = import_module(module)
        if not hasattr(library, class_name):
            raise SystemExit(f"{name} is for classes alone")
        X, X_test, own_params = for_library(module, X, X_test)
        model = getattr(library, class_name)(**fixed, random_state=seed, **own_params, **params).fit(X, y)
        return lambda: model.predict_proba(X_test) if is_class else model.predict(X_test)

    return fitted


own = functools.partial(model_of, "rffkern", n_jobs=1)
QUIET = {"n_jobs": 1, "verbose": -1, "force_col_wise": True}
lightgbm = model_of("lightgbm", "LGBM", **QUIET)


def gbrff2_tuned(X, y, X_test, is_class, seed):
    """GBRFF2 by cross-validation over gamma and lambda, the grid of its paper; for classes alone."""
    if not is_class:
        raise SystemExit("gbrff2-tuned is for classes alone")
    grid = [{"gamma": factor / X.shape[1], "reg_lambda": ridge} for factor in GAMMA_FACTORS
            for ridge in GBRFF2_LAMBDAS]
    model = RIVALS["gbrff2"]
    return model(X, y, X_test, is_class, seed, **best_of(grid, model, X, y, is_class, seed))


def lightgbm_tuned(X, y, X_test, is_class, seed):
    """LightGBM by cross-validation: leaves, rate, and the number of rounds by early stopping."""
    import lightgbm as library

    make = library.LGBMClassifier if is_class else library.LGBMRegressor
    best, folds = None, folds_of(y, is_class)
    for leaves, rate in itertools.product(LEAVES, RATES):
        params, found = {"num_leaves": leaves, "learning_rate": rate}, []
        for train, rest in folds:
            model = make(n_estimators=MOST_ROUNDS, random_state=seed, **QUIET, **params)
            model.fit(X[train], y[train], eval_set=[(X[rest], y[rest])],
                      callbacks=[library.early_stopping(PATIENCE, verbose=False)])
            found.append((next(iter(next(iter(model.best_score_.values())).values())), model.best_iteration_))
        loss, rounds = np.mean(found, axis=0)
        if best is None or loss < best[0]:
            best = loss, params | {"n_estimators": int(rounds)}
    return lightgbm(X, y, X_test, is_class, seed, **best[1])


def lightgbm_setting(draw):
    """Parameters of LightGBM at random."""
    return {"learning_rate": log_uniform(draw, 0.01, 0.1), "num_leaves": int(log_uniform(draw, 2, 200)),
            "min_child_samples": int(log_uniform(draw, 1, 64)), "colsample_bytree": draw.uniform(0.4, 1),
            "subsample": draw.uniform(0.7, 1), "subsample_freq": 1, "extra_trees": bool(draw.integers(2)),
            "reg_alpha": log_uniform(draw, 1e-4, 1), "reg_lambda": log_uniform(draw, 1e-4, 10)}


def catboost_setting(draw):
    """Parameters of CatBoost at random."""
    return {"learning_rate": log_uniform(draw, 0.01, 0.1), "depth": int(draw.integers(4, 9)),
            "l2_leaf_reg": log_uniform(draw, 1e-2, 10), "bootstrap_type": "Bernoulli",
            "subsample": draw.uniform(0.7, 1), "colsample_bylevel": draw.uniform(0.5, 1),
            "leaf_estimation_iterations": int(log_uniform(draw, 1, 20)), "random_strength": draw.uniform(0, 2)}


def log_uniform(draw, low, high):
    """A number whose logarithm is uniform."""
    return float(np.exp(draw.uniform(np.log(low), np.log(high))))


def searched(library_name, name, setting, fixed, fit_options):
    """The defaults and 49 settings at random, each with early stopping on folds of five: the mean of the best's models.

    Each setting is judged on as many of the folds as hold JUDGED_ROWS rows, the best is trained on the rows of all.
    """
    def fitted(X, y, X_test, is_class, seed):
        library, draw = import_module(library_name), np.random.default_rng(seed)
        make = getattr(library, f"{name}Classifier" if is_class else f"{name}Regressor")
        folds = folds_of(y, is_class, N_FOLDS)

        def model_of_fold(params, train, rest):
            model = make(n_estimators=MOST_ROUNDS, random_state=seed, **fixed, **params)
            return model.fit(X[train], y[train], eval_set=[(X[rest], y[rest])], **fit_options(library))

        def loss_of(params):
            judged = folds[: max(1, min(N_FOLDS, -(-JUDGED_ROWS * N_FOLDS // len(y))))]
            return np.mean([loss_on(model_of_fold(params, *fold), *fold) for fold in judged])

        def loss_on(model, _, rest):
            return log_loss(model.predict_proba(X[rest]), y[rest]) if is_class else np.mean(
                (model.predict(X[rest]) - y[rest]) ** 2)

        best = min([{}, *(setting(draw) for _ in range(N_SETTINGS - 1))], key=loss_of)
        members = [model_of_fold(best, *fold) for fold in folds]
        return lambda: np.mean([member.predict_proba(X_test) if is_class else member.predict(X_test)
                                for member in members], axis=0)

    return fitted


def stopped_model(X, y, is_class, seed, n_jobs=1, callbacks=()):
    """LightGBM with 63 leaves and early stopping on a fifth of the rows, fitted."""
    import lightgbm as library

    order, n_held = np.random.default_rng(seed).permutation(len(y)), max(1, len(y) // 5)
    held, rest = order[:n_held], order[n_held:]
    make = library.LGBMClassifier if is_class else library.LGBMRegressor
    model = make(n_estimators=MOST_ROUNDS, num_leaves=63, random_state=seed, **QUIET | {"n_jobs": n_jobs})
    return model.fit(X[rest], y[rest], eval_set=[(X[held], y[held])],
                     callbacks=[*callbacks, library.early_stopping(PATIENCE, verbose=False)])


def lightgbm_stopped(X, y, X_test, is_class, seed, n_jobs=1):
    """The same, and its predictions."""
    model = stopped_model(X, y, is_class, seed, n_jobs)
    return lambda: model.predict_proba(X_test) if is_class else model.predict(X_test)


def svm(X, y, X_test, is_class, seed, probability=True, **params):
    """SVC, or SVR on targets of mean 0 and variance 1, with the Gaussian kernel on standardised columns."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC, SVR

    X, X_test = standardised(X, X_test)
    if not is_class:
        center, spread = y.mean(), y.std()
        model = SVR(max_iter=SVR_STEPS, **params).fit(X, (y - center) / spread)
        return lambda: center + spread * model.predict(X_test)
    if probability:
        model = CalibratedClassifierCV(SVC(**params), ensemble=False).fit(X, y)
        return lambda: model.predict_proba(X_test)
    model = SVC(**params).fit(X, y)
    return lambda: (model.predict(X_test)[:, None] == model.classes_) * 1.0


def svm_tuned(X, y, X_test, is_class, seed, factors=GAMMA_FACTORS, penalties=SVM_C):
    """The same, gamma and C by cross-validation over 25 pairs, or others."""
    grid = [{"gamma": factor / X.shape[1], "C": C, "probability": False} for factor in factors for C in penalties]
    best = best_of(grid, svm, X, y, is_class, seed)
    return svm(X, y, X_test, is_class, seed, **best | {"probability": True})


def _ridge(X, y, X_test, is_class, seed, **params):
    from sklearn.kernel_ridge import KernelRidge

    X, X_test = standardised(X, X_test)
    targets = np.eye(y.max() + 1)[y] if is_class else y - y.mean()
    model = KernelRidge(kernel="rbf", **params).fit(X, targets)
    center = 0 if is_class else y.mean()
    return lambda: center + np.concatenate([model.predict(rows) for rows in np.array_split(X_test, 8)])


def kernel_ridge(X, y, X_test, is_class, seed):
    """scikit-learn's ridge with the Gaussian kernel on standardised columns, lambda and gamma by cross-validation.

    Classes are those of the largest output, without probabilities.
    """
    if len(y) > RIDGE_ROWS:
        raise SystemExit(f"kernel-ridge-sklearn is for at most {RIDGE_ROWS} rows")
    grid = [{"gamma": factor / X.shape[1], "alpha": ridge} for factor in GAMMA_FACTORS for ridge in RIDGES]
    predict = _ridge(X, y, X_test, is_class, seed, **best_of(grid, _ridge, X, y, is_class, seed))
    return (lambda: predict().argmax(axis=1)) if is_class else predict


def _xrfm(X, y, X_test, is_class, seed, n_members=1, reg=1e-3, **params):
    from xrfm import xRFM

    X, X_test = (rows.astype(np.float32) for rows in standardised(X, X_test))
    center, spread = y.mean(), y.std()  # of targets
    target = y if is_class else ((y - center) / spread).astype(np.float32)[:, None]
    params = {"model": {"kernel": "l2", "exponent": 1.0, "bandwidth_mode": "constant", **params},
              "fit": {"reg": reg, "iters": 5, "verbose": False, "early_stop_rfm": True}}
    members = []
    for train, validation in folds_of(y, is_class, N_FOLDS)[:n_members]:
        model = xRFM(rfm_params=copy.deepcopy(params), device="cpu", random_state=seed, n_threads=1, verbose=False)
        model.fit(X[train], target[train], X[validation], target[validation])
        members.append(model)
    if is_class:
        return lambda: np.mean([member.predict_proba(X_test) for member in members], axis=0)
    return lambda: center + spread * np.mean([member.predict(X_test)[:, 0] for member in members], axis=0)


def xrfm(X, y, X_test, is_class, seed):
    """Recursive feature machines on standardised columns, parameters by folds: the mean of five.

    Each leaves out a fold, by which its number of iterations is chosen.
    """
    grid = [dict(zip(XRFM_GRID, values, strict=True)) for values in itertools.product(*XRFM_GRID.values())]
    best = best_of(grid, _xrfm, X, y, is_class, seed)
    return _xrfm(X, y, X_test, is_class, seed, N_FOLDS, **best)


def linear(X, y, X_test, is_class, seed):
    """Ridge regression, or logistic regression, by cross-validation on standardised columns and levels of words."""
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV

    if hasattr(X, "columns"):
        import pandas as pd

        both = pd.get_dummies(pd.concat([X, X_test]), dtype=float).to_numpy()
        X, X_test = both[: len(X)], both[len(X) :]
    middle = np.nanmedian(X, axis=0)
    X, X_test = standardised(*(np.where(np.isnan(rows), middle, rows) for rows in (X, X_test)))
    by_folds = LogisticRegressionCV(Cs=6, cv=3, scoring="neg_log_loss") if is_class else RidgeCV(
        np.geomspace(0.1, 1e5, 13))
    model = by_folds.fit(X, y)
    return lambda: model.predict_proba(X_test) if is_class else model.predict(X_test)


def tfidf_linear(X, y, X_test, is_class, seed):
    """Logistic regression, or ridge regression by cross-validation, on tf-idf of the words of a column of text."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression, RidgeCV

    if getattr(X, "shape", (0, 0))[1] != 1 or not hasattr(X, "columns"):
        raise SystemExit("tfidf-linear is for one column of text")
    words = TfidfVectorizer()
    rows, test_rows = words.fit_transform(X.iloc[:, 0]), words.transform(X_test.iloc[:, 0])
    model = LogisticRegression(max_iter=1000) if is_class else RidgeCV(np.geomspace(0.1, 30, 8))
    model.fit(rows, y)
    return lambda: model.predict_proba(test_rows) if is_class else model.predict(test_rows)


RIVALS = {
    "linear": linear, "tfidf-linear": tfidf_linear,
    "fourier-last": functools.partial(own("FourierBoosting"), validation="last"),
    "fourier": own("FourierBoosting"),
    "fourier-pairs": fourier_pairs,
    "fourier-terms": functools.partial(own("FourierBoosting"), kernel_ridge=False),  # without kernel ridge regression
    "kernel-ridge": own("KernelRidge"), "sparse": own("SparseKernel"), "rffnet": own("RFFNet"),
    "gbrff2": own("GBRFF2", "GBRFFRegressor"), "gbrff2-tuned": gbrff2_tuned,
    "gbrff1": own("GBRFF1"), "gbrff": own("GBRFF"), "pbrff": own("PBRFF"),
    "lightgbm": lightgbm, "lightgbm-tuned": lightgbm_tuned, "lightgbm-stopped": lightgbm_stopped,
    "lightgbm-searched": searched("lightgbm", "LGBM", lightgbm_setting, QUIET, lambda library: {
        "callbacks": [library.early_stopping(PATIENCE, verbose=False)]}),
    "catboost-searched": searched("catboost", "CatBoost", catboost_setting, {
        "thread_count": 1, "verbose": False, "allow_writing_files": False}, lambda library: {
        "early_stopping_rounds": PATIENCE}),
    "xgboost": model_of("xgboost", "XGB", n_jobs=1),
    "catboost": model_of("catboost", "CatBoost", thread_count=1, verbose=False, allow_writing_files=False),
    "ebm": model_of("interpret.glassbox", "ExplainableBoosting", n_jobs=1),
    "hist-boosting": model_of("sklearn.ensemble", "HistGradientBoosting"),
    "random-forest": model_of("sklearn.ensemble", "RandomForest", n_jobs=1), "svm": functools.partial(svm, C=1.0),
    "svm-tuned": svm_tuned,
    "svm-nine": functools.partial(svm_tuned, factors=GAMMA_FACTORS[::2], penalties=(1.0, 10.0, 100.0)),
    "kernel-ridge-sklearn": kernel_ridge, "xrfm": xrfm,
    "realmlp": model_of("pytabkit", "RealMLP_TD_", n_threads=1), "tabm": model_of("pytabkit", "TabM_D_", n_threads=1),
}
