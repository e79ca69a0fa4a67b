"""When a fit reaches the log loss of another: that of test rows after each round, and the CPU seconds until then."""

import json
import math
import os
import time

import numpy as np
from common.data import names_of, rows_of
from common.rivals import log_loss, stopped_model

N_TEST = 5000


class Clock:
    """CPU seconds since the fit began, after each round."""

    def __init__(self):
        self.started, self.rounds = time.process_time(), []

    def __call__(self, *ignored):
        self.rounds.append(time.process_time() - self.started)

    def after_iteration(self, info):
        """The same, as CatBoost calls it."""
        self()
        return True


def fourier(X, y, X_test):
    """The terms alone.  Bags are trained one after the other here, and count as if they took turns, round by round."""
    import rffkern

    bags, clock = [], Clock()

    def callback(info):
        clock()
        bags.append(info.bag)

    model = rffkern.FourierBoostingClassifier(random_state=0, n_jobs=1, kernel_ridge=False)
    model.fit(X, y, callback=callback)
    start, spent = clock.rounds[0], np.diff(clock.rounds, prepend=clock.rounds[0])
    rounds = np.concatenate([np.arange(n_rounds) for n_rounds in np.bincount(bags)])
    return start + np.cumsum(np.bincount(rounds, spent)), model.staged_predict_proba(X_test)


def lightgbm(X, y, X_test):
    """63 leaves, and early stopping on a fifth of the rows."""
    clock = Clock()
    model = stopped_model(X, y, True, 0, callbacks=[clock])
    return clock.rounds, probabilities_by_round(model, X_test, len(clock.rounds))


def probabilities_by_round(model, X_test, n_rounds):
    """Those of LightGBM, from the scores that each round adds."""
    scores = np.zeros((len(X_test), 1 if model.n_classes_ == 2 else model.n_classes_))
    for k in range(n_rounds):
        scores += model.predict(X_test, raw_score=True, start_iteration=k, num_iteration=1).reshape(scores.shape)
        both = np.hstack([np.zeros_like(scores), scores]) if model.n_classes_ == 2 else scores
        exponentials = np.exp(both - both.max(axis=1, keepdims=True))
        yield exponentials / exponentials.sum(axis=1, keepdims=True)


def catboost(X, y, X_test):
    """Its defaults, 1,000 rounds."""
    from catboost import CatBoostClassifier

    clock = Clock()
    model = CatBoostClassifier(thread_count=1, verbose=False, random_state=0, allow_writing_files=False)
    model.fit(X, y, callbacks=[clock])
    return clock.rounds, model.staged_predict_proba(X_test)


MODELS = {"fourier": fourier, "lightgbm-stopped": lightgbm, "catboost": catboost}


def reach(arguments):
    """The CPU seconds at which fits first have the lowest log loss that LightGBM ever has on the test rows.

    Fourier boosting without kernel ridge regression, LightGBM with 63 leaves and early stopping on a fifth of the rows,
    and CatBoost, on one thread.  What the log has already is not measured again.
    """
    known = set()
    if arguments.log and os.path.exists(arguments.log):
        with open(arguments.log, encoding="utf-8") as file:
            known = {(record["set"], record["rows"]) for record in map(json.loads, file) if "reach" in record}
    few = np.random.default_rng(0).standard_normal((60, 2))
    for fitted in MODELS.values():
        fitted(few, (few[:, 0] > 0).astype(int), few)  # what is loaded at the first fit is no cost of a fit
    for name in names_of(arguments.sets):
        X, X_test, y, y_test = rows_of(arguments.data, name, 61, arguments.rows)
        if (name, len(y)) in known or y.dtype.kind == "f":
            continue
        X_test, y_test = X_test[:N_TEST], y_test[:N_TEST]
        curves = {}
        for model, fitted in MODELS.items():
            seconds, predicted = fitted(X, y, X_test)
            curves[model] = seconds, [log_loss(each, y_test) for each in predicted]
        loss = min(curves["lightgbm-stopped"][1])
        found = {"reach": float(f"{loss:.5f}"), "set": name, "rows": len(y)}
        for model, (seconds, losses) in curves.items():
            when = next((second for second, each in zip(seconds, losses, strict=False) if each <= loss), None)
            found[model] = {"seconds": when and float(f"{when:.4g}"), "best": float(f"{min(losses):.5f}")}
        print(found, flush=True)
        yield found


def table_of(records):
    """A row for each set, and the geometric means of the ratios to LightGBM where both are there in time."""
    rows = [["set, rows", "log loss", "LightGBM", "Fourier boosting", "CatBoost"]]
    ratios = {"fourier": [], "catboost": []}
    for record in records:
        base, cells = record["lightgbm-stopped"]["seconds"], []
        for model, found in ratios.items():
            seconds = record[model]["seconds"]
            cells.append("never" if seconds is None else f"{seconds:.2g} s")
            if seconds is not None:
                found.append(math.log(seconds / base))
        rows.append([f"{record['set']}, {record['rows']:,}", f"{record['reach']:.4f}", f"{base:.2g} s", *cells])
    means = [f"{math.exp(np.mean(found)):.2f} x, {len(found)} of {len(records)} sets" for found in ratios.values()]
    return [*rows, ["geometric mean", "", "", *means]]
