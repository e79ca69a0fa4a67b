"""SIGINT at a random moment of a random call: it ends soon, and the model is as before.

Soon means half a second of processor time, beside the slack that a loaded machine takes, whose caches and memory others
use too.  Kernels use one thread in forked children; `tests/contract/test_interrupts.py` has two.
"""

import numpy as np
from helpers.children import in_child
from helpers.interrupting import seconds_after_interrupt

import rffkern

SECONDS, SLACK = 0.5, 0.5
CALL_SECONDS = 120

# Numbers in the rows: enough for seconds, little enough for memory.
_MOST_NUMBERS = 10**7


def _rows(rng):
    d = int(10 ** rng.uniform(0.3, 4.7))
    n = int(max(64, min(300_000, _MOST_NUMBERS / d)))
    return np.random.default_rng(int(rng.integers(1 << 30))).standard_normal((n, d), np.float32)


def _fitting(rng, X):
    """A model and its fit, which takes long enough for most signals."""
    name = str(rng.choice(["GBRFF2Classifier", "GBRFF1Classifier", "GBRFFClassifier", "GBRFFRegressor",
                           "PBRFFClassifier", "PBRFFTransformer", "RFFNetClassifier", "RFFNetRegressor",
                           "SparseKernelClassifier", "SparseKernelRegressor", "FourierBoostingClassifier",
                           "FourierBoostingRegressor", "KernelRidgeClassifier", "KernelRidgeRegressor"]))
    terms = int(min(10 ** rng.uniform(1, 3.6), 5e7 / X.shape[1])) + 1
    if name.startswith("RFFNet"):
        params = {"n_components": terms, "batch_size": int(10 ** rng.uniform(1, 5))}
    elif name.startswith("PBRFF"):
        params = {"n_landmarks": max(2, terms // 10), "landmarks": str(rng.choice(["random", "kmeans"]))}
    elif name in ("GBRFFClassifier", "GBRFFRegressor"):
        params = {"n_components": max(1, terms // 20), "n_estimators": 20}
    elif name.startswith("FourierBoosting"):
        params = {"columns": None}
    elif name.startswith("KernelRidge"):
        X, params = X[:10_000], {}
    else:
        params = {"n_estimators": 20}
    model = getattr(rffkern, name)(random_state=0, **params)
    y = X[:, 0] * X[:, -1]
    return model, lambda: model.fit(X, y if name.endswith("Regressor") else y > 0)


def _scoring(rng, X):
    """An expansion and the scoring of many rows."""
    terms = int(min(10 ** rng.uniform(1, 4.3), 5e7 / X.shape[1])) + 1
    points = rng.standard_normal((terms, X.shape[1]), np.float32)
    form = rng.integers(3)
    if form == 0:
        terms = min(terms, 5000)
        d = X.shape[1]
        asked = np.argsort(rng.random((terms, d)), axis=1)[:, :8]  # each column once
        tables = asked, rng.standard_normal(asked.shape), np.ones((terms << asked.shape[1], 1))
        parts = [rffkern.LinearTerms(np.ones((d, 1))), rffkern.TreeTerms(*tables)]
    elif form == 1:
        parts = [rffkern.FourierTerms(points, np.zeros(terms), np.ones((terms, 1)))]
    else:
        parts = [rffkern.KernelTerms(points, np.ones((terms, 1)), np.full(X.shape[1], 1 / X.shape[1]))]
    model = rffkern.Expansion([0.0], np.zeros(X.shape[1]), *parts)
    return model, lambda: model.score(X)


def interrupts(rng, folder):
    """A signal ends a fit or the scoring of rows soon, and changes no attribute."""
    X, after = _rows(rng), float(rng.choice([rng.uniform(0, 0.5), rng.uniform(0, 6)]))
    model, call = (_fitting if rng.random() < 0.7 else _scoring)(rng, X)

    def work():
        before = dict(vars(model)) if hasattr(model, "fit") else {}
        seconds = seconds_after_interrupt(call, after)
        if seconds is not None and seconds > SECONDS + SLACK:
            return f"{model!r} on rows {X.shape} took {seconds:.2f} s after a signal at {after:.2f} s"
        if seconds is not None and before and dict(vars(model)).keys() != before.keys():
            return f"{model!r} on rows {X.shape}: an interrupted fit changed the model"
        return None

    ended = in_child(work, CALL_SECONDS)
    return ended.value if ended.how == "done" else f"{model!r} on rows {X.shape}, signal at {after:.2f} s: {ended}"
