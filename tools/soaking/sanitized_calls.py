"""Run under a sanitizer: fits of random families on unpleasant rows, their scores, and damaged model files.

python -P -m soaking.sanitized_calls SEED N_FITS
"""

import contextlib
import pathlib
import sys
import tempfile
import warnings

import numpy as np

import rffkern
from rffkern._data import threads
from soaking import files, training


def score(model, X):
    """Call what a model says of rows, in both precisions and of few rows."""
    for rows in (X, X.astype(np.float32), X[:1], np.asfortranarray(X)[::-1]):
        for name in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(model, name):
                getattr(model, name)(rows)
        for name in ("staged_decision_function", "staged_predict"):
            if hasattr(model, name):
                with contextlib.suppress(rffkern.TrainingStateError):  # sparse machines that were read from a file
                    list(getattr(model, name)(rows[:50]))


def exercise(rng, folder):
    """One fit, its scores, its file, and damaged ones."""
    name = str(rng.choice([*training.CLASSES, "PBRFFTransformer"]))
    params, X = training.random_params(name, rng), training.random_rows(rng)
    y = training.random_target(name, rng, X)
    if name == "PBRFFTransformer":
        params.pop("C")
    if rng.random() < 0.5:
        params["n_jobs"] = 3
    weight = rng.random(len(X)) if rng.random() < 0.3 else None
    try:
        model = getattr(rffkern, name)(**params).fit(X, y, weight)
        if name.startswith("RFFNet"):
            model.partial_fit(X, y)
            model.select_top_k(1)
        with np.errstate(over="ignore"):
            score(model, X)
    except rffkern.InvalidInputError:
        return
    path = folder / "model.npz"
    rffkern.save(model, path)
    content = path.read_bytes()
    score(rffkern.load(path), X)
    for original in (content, files.FIXTURES[rng.integers(len(files.FIXTURES))].read_bytes()):
        path.write_bytes(files.MUTATIONS[rng.integers(len(files.MUTATIONS))](rng, original))
        try:
            loaded = rffkern.load(path)
        except rffkern.FormatError:
            continue
        with np.errstate(all="ignore"):
            expansion = getattr(loaded, "expansion_", loaded)
            expansion.score(np.zeros((3, expansion.n_features)))


def main():
    seed, n_fits = map(int, sys.argv[1:])
    warnings.simplefilter("ignore")
    threads.ELEMENTS_PER_THREAD, threads.machine_cpus = 16, lambda: 4  # teams for small fits too
    for number in range(n_fits):
        print(f"fit {number}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            exercise(np.random.default_rng([seed, number]), pathlib.Path(folder))


if __name__ == "__main__":
    main()
