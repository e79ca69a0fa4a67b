"""The formulas of memory in docstrings, read from there, against the peaks that tracemalloc sees.

The kernels take no memory of their own: every array is one of NumPy's, which tracemalloc counts.
"""

import inspect
import math
import re
import tracemalloc
import warnings

import numpy as np

import rffkern
from helpers.children import in_child

GIVEN = {"kernel": {"length_scale": 1.0}, "reg_lambda": 0.1}
SMALL = {  # parameters of short fits
    "FourierBoostingClassifier": {"n_estimators": 4, "n_bags": 2, "columns": None, "kernel_ridge": False},
    "FourierBoostingRegressor": {"n_estimators": 4, "n_bags": 2, "columns": None, "kernel_ridge": False},
    "GBRFF2Classifier": {"n_estimators": 2}, "GBRFF1Classifier": {"n_estimators": 2, "n_components": 6},
    "GBRFFClassifier": {"n_estimators": 2, "n_components": 6},
    "GBRFFRegressor": {"n_estimators": 2, "n_components": 6},
    "PBRFFClassifier": {"n_landmarks": 31, "n_components": 2},
    "PBRFFTransformer": {"n_landmarks": 31, "n_components": 2},
    "RFFNetClassifier": {"n_components": 50, "max_epochs": 1, "batch_size": 512},
    "RFFNetRegressor": {"n_components": 50, "max_epochs": 1, "batch_size": 512},
    "KernelRidgeClassifier": {"length_scale": 3.0, "reg_lambda": 0.1, "max_iter": 2, "cache_size": 24,
                                 "region_size": None},
    "KernelRidgeRegressor": {"length_scale": 3.0, "reg_lambda": 0.1, "max_iter": 2, "cache_size": 24,
                                 "region_size": None},
    "SparseKernelClassifier": {"n_estimators": 4, **GIVEN}, "SparseKernelRegressor": {"n_estimators": 4, **GIVEN},
}
N_FEATURES = 20
SIZES = 120_000, 180_000, 240_000
FEW = 12_000, 16_000, 20_000  # of families whose time is quadratic
AGREEMENT = 0.1


def sizes(name):
    """Numbers of rows that a class is measured at."""
    return FEW if name.startswith("KernelRidge") else SIZES


def formula(text, kind):
    """The line of a docstring that begins with a kind of X, as a Python expression."""
    (line,) = re.findall(rf"^ +(?:array, )?{kind}(?:, blocks)?: +(.*)$", text, re.MULTILINE)
    tokens = re.findall(r"max|min|[a-zA-Z]|\d+|[-+*/^(),]", line)
    product = [token + (" * " if re.match(r"[a-zA-Z\d)]", token) and token not in ("max", "min")
                        and re.match(r"[a-zA-Z\d(]", following) else " ")
               for token, following in zip(tokens, [*tokens[1:], ","], strict=True)]
    return "".join(product).replace("^", "**")


def sizes_of(model, n, n_outputs):
    """What the letters of the formulas stand for."""
    params, d = model.get_params(), N_FEATURES
    per_round = params.get("n_components") or 1
    m = min(n, params.get("max_samples") or n)
    share = params.get("validation_fraction", 0)
    share = 0 if isinstance(share, str) or share is None else share
    return {"n": n, "d": d, "k": n_outputs, "c": max(2, n_outputs),
            "u": 4 if params.get("precision", "single") == "single" else 8, "m": m,
            "e": d, "M": params.get("n_bags"), "t": params["n_jobs"],
            "s": n if m < n else 0, "T": params.get("n_estimators", 0), "K": per_round, "p": per_round,
            "P": params.get("n_estimators", 0) * (2 if n_outputs > 1 else 1),  # as outputs share them
            "S": params.get("basis_size", 0),
            "W": 16 * math.ceil((params.get("n_landmarks", 0) + 1) / 16),
            "h": int(share * n), "a": params.get("batch_size", 0),
            "b": max(1 << 20, 2048 * d), "max": max, "min": min, "C": params.get("cache_size", 0) << 20,
            "L": min(n, params["n_landmarks"]) if "n_landmarks" in params else min(-(-n // 8), 512),
            "R": n if n <= 11_500 else 8000}


def expected(model, kind, n, n_outputs):
    """Bytes by the formula of a class."""
    text = inspect.getdoc(type(model))
    return eval(formula(text, kind), {"__builtins__": {}}, sizes_of(model, n, n_outputs))


def _targets(name, X, n_outputs):
    products = X[:, :n_outputs] * X[:, 1 : n_outputs + 1]
    if name.endswith("Regressor"):
        return np.ascontiguousarray(products[:, 0] if n_outputs == 1 else products)
    return np.digitize(products[:, 0], [0.0] if n_outputs == 1 else [-0.5, 0.5])


def measured(model, kind, n, n_outputs):
    """The peak of a fit in bytes, beside X and y."""
    X = np.random.default_rng(0).standard_normal((n, N_FEATURES))
    y = _targets(type(model).__name__, X, n_outputs)
    rows = rffkern.RowBlocks([X[start : start + 1000] for start in range(0, n, 1000)]) if kind == "blocks" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:500], y[:500])  # what is imported late
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        model.fit(rows, y)
        return tracemalloc.get_traced_memory()[1] - before


def disagreement(name, precision, kind, n, n_outputs, **params):
    """None where the peak is within a tenth of the formula, else both."""
    family = getattr(rffkern, name)
    given = {"precision": precision} if "precision" in family._param_names() else {}
    model = family(random_state=0, n_jobs=1, **given | SMALL[name] | params)
    asked = expected(model, kind, n, n_outputs)
    ended = in_child(lambda: measured(model, kind, n, n_outputs))
    if ended.how != "done":
        return f"{name} {precision} {kind}, n = {n}: {ended}"
    if abs(ended.value / asked - 1) > AGREEMENT:
        return (f"{name} {precision} {kind}, n = {n}, {n_outputs} outputs: {ended.value / 1e6:.2f} MB, the formula "
                f"says {asked / 1e6:.2f}, the ratio is {ended.value / asked:.3f}")
    return None
