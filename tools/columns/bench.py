"""Time of scoring a raw table of numbers, against rows that are mapped already and against a model without a map."""

from functools import partial

import numpy as np
from common.measure import cpu_seconds, result, show

N_SAMPLES, N_FEATURES, N_TRAINING = 20_000, 20, 2000
FORMS = [("standard",), ("bounded",), ("rank",), ("bounded", "rank")]


def make_models():
    from rffkern import GBRFF2Classifier, RFFNetClassifier, SparseKernelClassifier

    common = {"random_state": 0, "n_jobs": 1}
    yield "GBRFF2, 100 rounds", partial(GBRFF2Classifier, 100, **common)
    yield "RFFNet, 300 features", partial(RFFNetClassifier, 300, max_epochs=2, **common)
    yield "sparse machine, 500 centers", partial(SparseKernelClassifier, 10, learner_size=50, **common)


def score(label, make, forms, X, y, repetitions):
    """Many rows and one: a model with a map on raw rows, its expansion on mapped rows, and a model without a map."""
    from rffkern import ColumnMap

    model, plain = (make(columns=columns).fit(X[:N_TRAINING], y[:N_TRAINING]) for columns in (ColumnMap(forms), None))
    results = []
    for rows in (X, X[:1].copy()):
        mapped = model.column_map_.transform(rows).astype(rows.dtype)
        seconds = cpu_seconds({
            "mapped before": partial(model.expansion_.score, mapped, n_jobs=1),
            "with a map": partial(model.decision_function, rows),
            "without a map": partial(plain.decision_function, rows),
            "transform": partial(model.column_map_.transform, rows)}, repetitions)
        results.append(show(result(f"{label}, {' '.join(forms)}, {rows.dtype}", len(rows), seconds)))
    return results


def columns(arguments):
    """Scoring with maps of numeric columns."""
    rng = np.random.default_rng(0)
    results = []
    for n_samples in arguments.sizes or [N_SAMPLES]:
        X = rng.standard_normal((max(n_samples, N_TRAINING), N_FEATURES))
        y = X[:, 0] + X[:, 1] * X[:, 2] > 0
        for label, make in make_models():
            for forms in FORMS:
                for dtype in (np.float64, np.float32):
                    results += score(label, make, forms, X.astype(dtype), y, arguments.repeat)
    return results


COMMANDS = {"columns": columns}
