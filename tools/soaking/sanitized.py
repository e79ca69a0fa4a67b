"""What runs under a sanitizer.

python -P -m soaking.sanitized calls SEED N_FITS     fits of random families on unpleasant rows, scores, damaged files
python -P -m soaking.sanitized threads SEED          fits on several threads, and scores by several callers in a refit
"""

import contextlib
import pathlib
import sys
import tempfile
import threading
import warnings

import numpy as np

import rffkern
from rffkern._rows import threads
from soaking import files, training

N_CALLERS = 3


def score_all(model, X):
    """Call what a model says of rows, in both precisions and of few rows."""
    for rows in (X, X.astype(np.float32), X[:1], np.asfortranarray(X)[::-1]):
        for name in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(model, name):
                getattr(model, name)(rows)
        for name in ("staged_decision_function", "staged_predict"):
            if hasattr(model, name):
                with contextlib.suppress(rffkern.TrainingStateError):  # sparse machines that were read from a file
                    list(getattr(model, name)(rows[:50]))


def exercise_calls(rng, folder):
    """One fit, its scores, its file, and damaged ones."""
    name = str(rng.choice(training.FAMILIES))
    params, X = training.random_params(name, rng), training.random_rows(rng)
    y = training.random_target(name, params, rng, X)
    if rng.random() < 0.5:
        params["n_jobs"] = 3
    weight = rng.random(len(X)) if rng.random() < 0.3 else None
    try:
        model = getattr(rffkern, name)(**params).fit(X, y, weight)
        if name.startswith("RFFNet"):
            model.partial_fit(X, y)
            model.select_top_k(1)
        with np.errstate(over="ignore"):
            score_all(model, X)
    except rffkern.InvalidInputError:
        return
    path = folder / "model.npz"
    rffkern.save(model, path)
    content = path.read_bytes()
    score_all(rffkern.load(path), X)
    for original in (content, files.FIXTURES[rng.integers(len(files.FIXTURES))].read_bytes()):
        path.write_bytes(files.MUTATIONS[rng.integers(len(files.MUTATIONS))](rng, original))
        try:
            loaded = rffkern.load(path)
        except rffkern.FormatError:
            continue
        if isinstance(loaded, rffkern.ColumnMap):
            continue
        with np.errstate(all="ignore"):
            expansion = getattr(loaded, "expansion_", loaded)
            expansion.score(np.zeros((3, expansion.n_features)))


def parameters(name, rng):
    """A model that is small, for work that is a hundred times slower here."""
    params = training.random_params(name, rng) | {"n_jobs": int(rng.integers(2, 5))}
    if name.startswith("RFFNet"):
        return params | {"max_epochs": 2, "batch_size": int(rng.choice([32, 600]))}
    if name.startswith("PBRFF"):
        return params | {"n_landmarks": 12, "n_components": 5}
    if name.startswith("KernelRidge"):
        return params | {"n_landmarks": 12, "max_iter": 2, "length_scale": 2.0, "reg_lambda": 0.1}
    return params | {"n_estimators": 3}


def answer(model, X):
    return next(getattr(model, name)(X) for name in ("decision_function", "predict", "transform")
                if hasattr(model, name))


def exercise_threads(rng):
    """Fit, then score in some threads while one fits the same model and one another."""
    name = str(rng.choice(training.FAMILIES))
    params = parameters(name, rng)
    most = 1000 if name.startswith("KernelRidge") else 12_000  # whose work grows with the square of the rows
    X = rng.standard_normal((int(rng.integers(2, most)), int(rng.integers(1, 6))))
    y = X[:, 0] > np.median(X[:, 0]) if not name.endswith("Regressor") else np.sin(X[:, 0])
    print(name, params, X.shape, flush=True)
    model = getattr(rffkern, name)(**params).fit(X, y)
    errors = []

    def guarded(work):
        def target():
            try:
                work()
            except BaseException as error:
                errors.append(error)
        return threading.Thread(target=target)

    workers = [guarded(lambda: [answer(model, X) for _ in range(3)]) for _ in range(N_CALLERS)]
    workers += [guarded(lambda: model.fit(X, y)), guarded(lambda: getattr(rffkern, name)(**params).fit(X, y))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


def main():
    what, seed, *more = sys.argv[1:]
    warnings.simplefilter("ignore")
    threads.ELEMENTS_PER_THREAD, threads.machine_cpus = 16, lambda: 4  # teams for small fits too
    if what == "threads":
        exercise_threads(np.random.default_rng(int(seed)))
        return
    for number in range(int(*more)):
        print(f"fit {number}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            exercise_calls(np.random.default_rng([int(seed), number]), pathlib.Path(folder))


if __name__ == "__main__":
    main()
