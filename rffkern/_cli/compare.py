"""`rffkern compare`: a constant, linear models, families of this package and other libraries on the same folds."""

import argparse
import contextlib
import json
import pickle
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from .._column_map.cells import CATEGORY
from .._column_map.column_map import ColumnMap
from .._estimator.evaluation import Evaluation, Predictions, aligned, metric_name, with_error
from .._estimator.links import SoftmaxLink, probabilities
from .._estimator.metrics import ASCENDING, class_shares, label_codes
from .._estimator.registry import AUTOMATIC, FAMILIES
from .._files.model_files import dumps
from .._native import solvers
from .._native.array_types import Double, Indices
from .._rows.weights import check_weights
from .._training.kernel_ridge.calibration import log_losses
from ..errors import RFFKernError
from .cross_validation import N_FOLDS, Folds, cross_validated, folds_of, of_unknown_labels
from .fit import open_training, predictions_on, train
from .output import Progress, UsageError, check_outputs, printable, say
from .training_table import TrainingTable, with_categories

Fitted = tuple[Any, Callable[[TrainingTable], Predictions]]  # a model, and its predictions for a table

# Families that are compared, of labels and of numbers.
_OWN = (("gbrff2", "kernel_ridge", AUTOMATIC[0]), ("gbrff_regressor", "kernel_ridge_regressor", AUTOMATIC[1]))

_LIBRARIES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost", "sklearn": "HistGradientBoosting"}

# Ridges of linear regression, in units of the number of rows, from which the leave-one-out error chooses; that of
# logistic regression; and the categories that HistGradientBoosting takes.
_RIDGES, _LOGISTIC_RIDGE, _MOST_CATEGORIES = np.logspace(-6, 2, 17), 1.0, 255

_CLOSE = 2.0  # standard errors, up to which a model is not told from the best


class Result(NamedTuple):
    """A model on all folds."""

    name: str
    evaluation: Evaluation
    fit_seconds: float  # of a fold, mean
    predict_seconds: float  # of a row
    n_bytes: int  # of the model of the last fold


def run(arguments: argparse.Namespace) -> None:
    """Train and judge all models, and print a table of them."""
    check_outputs({"--reject": arguments.reject}, arguments.data)
    table, _, rows = open_training(arguments, None if arguments.task is None else arguments.task == "classification",
                                   arguments.categorical)
    contestants = _contestants(rows, arguments)
    missing = [name for name in arguments.models or () if name not in contestants]
    if missing:
        raise UsageError(f"--models: no model {missing[0]!r} here: expected some of {', '.join(contestants)}")
    folds = folds_of(rows, arguments.cv or N_FOLDS, arguments.seed or 0)
    metric = arguments.metric or ("log_loss" if rows.has_labels else "rmse")
    known = Evaluation.of(cross_validated(rows, folds, lambda some, others: _constant(some)[1](others))).metrics
    if metric not in known:  # before anything is trained
        raise UsageError(f"--metric must be one of {', '.join(known)}, got {metric!r}")
    results: list[Result] = []
    failures: dict[str, str] = {}
    with Progress("comparing", len(contestants)) as bar:
        for n_done, (name, contestant) in enumerate(contestants.items()):
            bar.update(n_done, note=name)
            if arguments.models and name not in arguments.models:
                continue
            try:
                results.append(_judged(name, contestant, rows, folds))
            except Exception as error:  # of other libraries any; of this package those that name what is wrong
                if name not in _LIBRARIES.values() and not isinstance(error, (RFFKernError, MemoryError)):
                    raise
                failures[name] = str(error).strip().split("\n")[0] or type(error).__name__
    for name, reason in failures.items():
        say(f"{name} failed: {reason}")
    for name in _LIBRARIES.values():
        if name not in contestants and rows.y.ndim == 1:
            say(f"{name} is not installed")
    unknown = of_unknown_labels(rows, folds)
    if unknown:
        say(unknown)
    if not results:
        raise UsageError("no model could be trained")
    _report(arguments, metric, results, failures, f"{len(rows.y)} rows of {table.path} in {folds.how}")


def _judged(name: str, contestant: Callable[[TrainingTable], Fitted], rows: TrainingTable, folds: Folds) -> Result:
    """A model on the folds, timed."""
    seconds, n_bytes = np.zeros(2), 0

    def predict(training: TrainingTable, validation: TrainingTable) -> Predictions:
        nonlocal n_bytes
        started = time.perf_counter()
        model, predictions = contestant(training)
        fitted = time.perf_counter()
        found = predictions(validation)
        seconds[:] += fitted - started, time.perf_counter() - fitted
        n_bytes = len(dumps(model) if hasattr(model, "family") else pickle.dumps(model))
        weights = validation.weights
        if weights is not None:
            check_weights(weights, len(weights))
        return found._replace(weights=weights)  # as given: in one unit for the rows of all folds

    evaluation = Evaluation.of(cross_validated(rows, folds, predict))
    n_predicted = len(evaluation.predictions.truth)
    return Result(name, evaluation, seconds[0] / len(folds.pairs), seconds[1] / n_predicted, n_bytes)


# --- what is compared

def _contestants(rows: TrainingTable, arguments: argparse.Namespace) -> dict[str, Callable[[TrainingTable], Fitted]]:
    """Functions that train on a table, by the names of models; libraries that are not installed are missing."""
    seed, threads = arguments.seed or 0, arguments.threads
    found: dict[str, Callable[[TrainingTable], Fitted]] = {
        "constant": _constant, "logistic regression" if rows.has_labels else "ridge regression": _linear}
    for name in _OWN[0] if rows.has_labels else _OWN[1]:
        found[name] = partial(_own, name, seed, threads)
    for module, name in _LIBRARIES.items():
        with contextlib.suppress(ImportError):
            if rows.y.ndim == 1:
                import_module(module)
                found[name] = partial(_library, module, seed, threads)
    return found


def _constant(training: TrainingTable) -> Fitted:
    """Shares of the labels, or the mean."""
    if training.has_labels:
        classes, codes = np.unique(training.y, return_inverse=True)
        shares = class_shares(codes, len(classes), training.weights)
        return shares, lambda rows: Predictions(label_codes(rows.y, classes), np.tile(shares, (len(rows.y), 1)), None,
                                                classes)
    mean = np.average(training.y, axis=0, weights=training.weights)
    return mean, lambda rows: Predictions(rows.y, np.broadcast_to(mean, rows.y.shape), None)


def _own(name: str, seed: int, threads: int | None, training: TrainingTable) -> Fitted:
    """A family of this package with its default parameters."""
    model: Any = FAMILIES[name].load()(random_state=seed, n_jobs=threads)
    model.set_params(columns=with_categories(model, model.columns, training.categorical()))
    train(model, training, label=name)
    return model, partial(predictions_on, model)


def _linear(training: TrainingTable) -> Fitted:
    """Ridge or logistic regression of the columns of ColumnMap, standardised."""
    weights = np.ones(len(training.y)) if training.weights is None else training.weights
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = with_categories(None, ColumnMap(("standard",)), training.categorical())
        columns.fit(training.raw(), training.y)
    X = columns.transform(training.raw()).astype(np.float64)
    if not training.has_labels:
        center, offsets, coefficients = _ridge(X, training.y, weights)
        return (columns, center, offsets, coefficients), lambda rows: Predictions(
            rows.y, offsets + (columns.transform(rows.raw()) - center) @ coefficients, None)
    classes, codes = np.unique(training.y, return_inverse=True)
    model = _logistic(X, codes, len(classes), weights)

    def predict(rows: TrainingTable) -> Predictions:
        proba = probabilities(SoftmaxLink(), columns.transform(rows.raw()) @ model[:-1] + model[-1])
        return Predictions(label_codes(rows.y, classes), proba, None, classes)

    return (columns, model), predict


def _ridge(X: Double, y: Double, weights: Double) -> tuple[Double, Double, Double]:
    """Means of the columns and of the targets, and coefficients, with the ridge of least leave-one-out error."""
    center, offsets = np.average(X, axis=0, weights=weights), np.average(y, axis=0, weights=weights)
    roots = np.sqrt(weights / weights.mean())
    U, spectrum, V = np.linalg.svd(roots[:, None] * (X - center), full_matrices=False)
    targets = (roots * (y - offsets).T).T
    projected = U.T @ targets
    best: tuple[float, Any] = np.inf, 0.0
    for ridge in _RIDGES * len(X):
        shrinkage = spectrum**2 / (spectrum**2 + ridge)
        leverage = ((U**2) @ shrinkage + weights / weights.sum()).clip(max=1 - 1e-9)
        residuals = targets - U @ (shrinkage * projected.T).T
        error = float((((residuals.T / (1 - leverage)) ** 2)).sum())
        best = min(best, (error, ridge))
    coefficients = V.T @ (spectrum / (spectrum**2 + best[1]) * projected.T).T
    return center, offsets, coefficients


def _logistic(X: Double, codes: Indices, n_classes: int, weights: Double) -> Double:
    """Coefficients of the softmax and, in the last row, intercepts: least log loss with a ridge."""
    with_one = np.column_stack([X, np.ones(len(X))])

    def loss(flat: Double) -> tuple[float, Double]:
        coefficients = flat.reshape(-1, n_classes)
        losses, residuals = log_losses((with_one @ coefficients).T, codes)
        ridge = np.vstack([_LOGISTIC_RIDGE * coefficients[:-1], np.zeros((1, n_classes))])
        value = (weights * losses).sum() + 0.5 * (ridge * coefficients).sum()
        return float(value), (with_one.T @ (weights * residuals).T + ridge).ravel()

    found, _, _ = solvers.minimize(loss, np.zeros(with_one.shape[1] * n_classes), 200, loss_tolerance=1e-8)
    return found.reshape(-1, n_classes)


def _library(module: str, seed: int, threads: int | None, training: TrainingTable) -> Fitted:
    """A model of another library with its default parameters; it gets missing values and categories as they are."""
    raw = training.raw()
    places = [k for k, column in enumerate(raw.columns) if column.kind == CATEGORY]
    X, y, classes = _numbers_of(raw), training.y, None
    if training.has_labels:
        classes, y = np.unique(training.y, return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, options = _unfitted(module, X, places, classes is not None, seed, threads)
        model.fit(_prepared(module, X, places), y, sample_weight=training.weights, **options)

    def predict(rows: TrainingTable) -> Predictions:
        rows_of_model = _prepared(module, _numbers_of(rows.raw()), places)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if classes is None:
                return Predictions(rows.y, np.asarray(model.predict(rows_of_model), dtype=np.float64), None)
            proba = np.asarray(model.predict_proba(rows_of_model), dtype=np.float64)
        return Predictions(label_codes(rows.y, classes), proba, None, classes)

    return model, predict


def _numbers_of(raw: Any) -> Double:
    """Columns as numbers: dates as seconds, categories as indices of their levels, nan where missing."""
    return np.column_stack([column.values for column in raw.columns]).astype(np.float64)


def _prepared(module: str, X: Double, places: Sequence[int]) -> Any:
    """Rows as a library takes them: CatBoost has categories as text, and a missing one is a category of its own."""
    if module != "catboost" or not places:
        return X
    cells = X.astype(object)
    for k in places:
        cells[:, k] = [str(value) for value in X[:, k].tolist()]
    return cells


def _unfitted(module: str, X: Double, places: Sequence[int], is_class: bool, seed: int, threads: int | None
              ) -> tuple[Any, dict[str, Any]]:
    """A model of a library, which is told the places of categories in its own way, and options of its fit."""
    kind = "Classifier" if is_class else "Regressor"
    if module == "lightgbm":
        import lightgbm

        model = getattr(lightgbm, f"LGBM{kind}")(random_state=seed, n_jobs=threads, verbose=-1)
        return model, {"categorical_feature": list(places)} if places else {}
    if module == "xgboost":
        import xgboost

        types = ["c" if k in places else "q" for k in range(X.shape[1])]
        return getattr(xgboost, f"XGB{kind}")(random_state=seed, n_jobs=threads, enable_categorical=True,
                                              feature_types=types), {}
    if module == "catboost":
        import catboost

        model = getattr(catboost, f"CatBoost{kind}")(
            random_seed=seed, thread_count=-1 if threads is None else threads, verbose=0, allow_writing_files=False)
        return model, {"cat_features": list(places)} if places else {}
    from sklearn import ensemble

    few = [k for k in places if not np.nanmax(X[:, k], initial=0) >= _MOST_CATEGORIES]  # others as ordered numbers
    cls = getattr(ensemble, f"HistGradientBoosting{kind}")
    return cls(random_state=seed, categorical_features=few or None), {}


# --- what is printed

def _report(arguments: argparse.Namespace, metric: str, results: list[Result], failures: dict[str, str],
            where: str) -> None:
    """Print the models, the best first."""
    is_class = results[0].evaluation.predictions.classes is not None
    sign = -1 if metric in ASCENDING else 1
    results = sorted(results, key=lambda result: sign * result.evaluation.metrics[metric].value)
    best = results[0].evaluation.metrics[metric]
    differences = [result.evaluation.metrics[metric].less(best) for result in results]
    rows = [{"model": result.name, **result.evaluation.figures(), "difference": sign * difference.value,
             "difference_error": difference.standard_error, "fit_seconds": result.fit_seconds,
             "predict_seconds_of_a_row": result.predict_seconds, "bytes": result.n_bytes}
            for result, difference in zip(results, differences, strict=True)]
    close = [row["model"] for row in rows[1:]  # where no error is known, nothing is told apart
             if row["difference_error"] is None or row["difference"] <= _CLOSE * row["difference_error"]]
    summary = (f"{rows[0]['model']} has the best {metric_name(metric)} on {where}" + (
        f"; not told from it by {_CLOSE:g} standard errors: {', '.join(close)}" if close else
        f", by more than {_CLOSE:g} standard errors of each difference" if rows[1:] else ""))
    if arguments.json:
        print(json.dumps({"data": arguments.data, "metric": metric, "summary": summary, "models": rows,
                          "failed": failures}))
        return
    others = [name for name in (("accuracy", "roc_auc") if is_class else ("r2", "mae"))
              if name != metric and all(name in row for row in rows)]
    print(printable(f"{summary}."))
    print()
    print("\n".join(aligned([
        ["", metric_name(metric), "behind", *map(metric_name, others), "fit", "a row", "bytes"],
        *([row["model"], _pair(row, metric), with_error(row["difference"], row["difference_error"]) if k else "",
           *(_pair(row, name) for name in others), f"{row['fit_seconds']:.2f} s",
           f"{1e6 * row['predict_seconds_of_a_row']:.1f} us", str(row["bytes"])] for k, row in enumerate(rows))])))
    print()
    print("+- one standard error; behind: the difference from the best on the same rows; fit: seconds of a fold; all "
          "with default\nparameters; other libraries get missing values and categories as they are, and handle them "
          "themselves")


def _pair(row: dict[str, Any], name: str) -> str:
    return with_error(row[name], row["standard_errors"].get(name))
