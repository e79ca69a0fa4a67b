"""Run under a sanitizer: fits on several threads, and scores of a model by several callers during a refit.

python -P -m soaking.sanitized_threads SEED
"""

import sys
import threading
import warnings

import numpy as np

import rffkern
from rffkern._data import threads
from soaking import training

N_CALLERS = 3


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


def exercise(rng):
    """Fit, then score in some threads while one fits the same model and one another."""
    name = str(rng.choice([*training.CLASSES, "PBRFFTransformer"]))
    params = parameters(name, rng)
    if name == "PBRFFTransformer":
        params.pop("C")
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
    warnings.simplefilter("ignore")
    threads.ELEMENTS_PER_THREAD, threads.machine_cpus = 16, lambda: 4  # teams for small fits too
    exercise(np.random.default_rng(int(sys.argv[1])))


if __name__ == "__main__":
    main()
