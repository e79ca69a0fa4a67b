"""Fits of every family: over random and adversarial data, in forked processes, and the memory they take."""

import subprocess
import sys
import warnings

import numpy as np
from helpers.children import in_child
from helpers.memory_formulas import SMALL, disagreement, sizes

import rffkern
from rffkern import InvalidInputError
from rffkern._training.fourier_boosting.parameters import BASE_LEARNERS, LOG_LINKS, LOSSES

FIT_SECONDS = 60
CLASSES = ["GBRFF2Classifier", "GBRFF1Classifier", "GBRFFClassifier", "GBRFFRegressor", "PBRFFClassifier",
           "RFFNetClassifier", "RFFNetRegressor", "SparseKernelClassifier", "SparseKernelRegressor",
           "FourierBoostingClassifier", "FourierBoostingRegressor", "KernelRidgeClassifier", "KernelRidgeRegressor"]
FAMILIES = [*CLASSES, "PBRFFTransformer"]
GIVEN = {"kernel": {"length_scale": 1.0}, "reg_lambda": 0.1}


def random_params(name, rng):
    """A small model of a family."""
    if name.startswith("RFFNet"):
        params = {"max_epochs": int(rng.integers(1, 6)), "n_components": int(rng.integers(1, 60))}
    elif name.startswith("PBRFF"):
        params = {"n_landmarks": int(rng.integers(1, 40)), "landmarks": str(rng.choice(["random", "kmeans"]))}
        params |= {} if name == "PBRFFTransformer" else {"C": float(10 ** rng.uniform(-3, 3))}
    elif name.startswith("KernelRidge"):
        params = {"kernel": str(rng.choice(["exponential", "gaussian"])), "n_landmarks": int(rng.integers(1, 60)),
                  "cache_size": int(rng.integers(0, 2)), "tol": float(10 ** rng.uniform(-12, -1))}
        params |= {"length_scale": float(10 ** rng.uniform(-3, 3))} if rng.random() < 0.3 else {}
        params |= {"reg_lambda": float(10 ** rng.uniform(-9, 6))} if rng.random() < 0.3 else {}
    else:
        params = {"n_estimators": int(rng.integers(1, 12))}
    if name.startswith(("GBRFFC", "GBRFFR", "GBRFF1", "PBRFF")):
        params["n_components"] = int(rng.integers(1, 12))
    if name.startswith("Sparse"):
        params |= {"update": str(rng.choice(["full", "one", "group"]))}
        params |= {"basis_size": int(rng.integers(1, 9)), "selection": str(
            rng.choice(["random", "max-res", "mp", "boost", "ald", "ran"]))}
        params |= GIVEN if rng.random() < 0.7 else {}
        if name.endswith("Classifier") and rng.random() < 0.3:
            params |= {"update": "active"}
    if name.startswith("Fourier"):
        learners = rng.permutation([*BASE_LEARNERS])[: rng.integers(1, len(BASE_LEARNERS) + 1)].tolist()
        params |= {"n_bags": int(rng.integers(1, 4)), "base_learners": tuple(learners), "columns": None,
                   "n_estimators": int(rng.integers(1, 60))}
        params |= {"class_weight": "balanced"} if name.endswith("Classifier") and rng.random() < 0.3 else {}
        params |= {"validation": "last"} if rng.random() < 0.3 else {}
        params |= {"loss": str(rng.choice([*LOSSES]))} if name.endswith("Regressor") else {}
        has_kernel = params.get("loss", "squared_error") == "squared_error" and rng.random() < 0.3
        params |= {"kernel_ridge": True if has_kernel else [False, "auto"][rng.integers(2)]}
        return params | {"random_state": int(rng.integers(1 << 30))}
    if rng.random() < 0.3 and not name.startswith("Sparse"):
        params["standardize"] = False
    if name.endswith("Classifier") and rng.random() < 0.2:
        params["class_weight"] = "balanced"
    if name.startswith(("GBRFF", "Sparse")) and rng.random() < 0.2:
        params["validation_fraction"] = float(rng.uniform(0.01, 0.9))
    if name.startswith(("GBRFF", "Sparse")) and rng.random() < 0.2:
        params["warm_start"] = True
    if not name.startswith("Sparse"):
        params["precision"] = str(rng.choice(["single", "double"]))
    return params | {"random_state": int(rng.integers(1 << 30))}


def random_rows(rng):
    """Rows of one of several unpleasant kinds."""
    n, d = int(rng.integers(2, 300)), int(rng.integers(1, 20))
    X = rng.standard_normal((n, d))
    kind = rng.integers(9)
    if kind == 1:
        X[:] = X[0]
    elif kind == 2:
        X = X[rng.integers(0, max(1, n // 10), n)]
    elif kind == 3:
        X *= 10.0 ** rng.uniform(-300, 300, d)
    elif kind == 4:
        X = rng.integers(0, 2, (n, d)).astype(float)
    elif kind == 5:
        X = rng.standard_t(0.3, (n, d))
    elif kind == 6:
        X += 10.0 ** rng.uniform(0, 15, d)
    elif kind == 7:
        X[rng.integers(n)] = 1e300
    elif kind == 8:
        return X.astype(np.float32)
    return np.nan_to_num(X, posinf=1e300, neginf=-1e300)


def random_target(name, params, rng, X):
    if name.endswith("Classifier"):
        y = rng.integers(0, rng.integers(2, 5), len(X))
        y[:2] = 0, 1
        return y
    y = rng.standard_normal(len(X)) * 10.0 ** rng.uniform(-20, 20)
    y = np.abs(y) if params.get("loss") in LOG_LINKS else y
    return np.full(len(X), 3.0) if rng.random() < 0.1 else y


def random_fits(rng, folder):
    """A fit ends in time, in finite numbers, twice with the same bits, and its file gives the same bits again."""
    name = str(rng.choice(CLASSES))
    params, X = random_params(name, rng), random_rows(rng)
    y = random_target(name, params, rng, X)

    def work():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                models = [getattr(rffkern, name)(**params).fit(X, y) for _ in range(2)]
            except InvalidInputError:
                return None
            first, second = (np.asarray(getattr(model, "decision_function", model.predict)(X)) for model in models)
            if not np.isfinite(first).all():
                return "scores are not finite"
            if first.tobytes() != second.tobytes():
                return "the same seed gave other bits"
            rffkern.save(models[0], folder / "model.npz")
            loaded = rffkern.load(folder / "model.npz")
            again = np.asarray(getattr(loaded, "decision_function", loaded.predict)(X))
            return None if again.tobytes() == first.tobytes() else "the file gave other bits"

    ended = in_child(work, FIT_SECONDS, 4 << 30)
    if ended == ("done", None):
        return None
    return f"{name}({params}) on {X.shape} {X.dtype}: {ended.value if ended.how == 'done' else ended}"


# Forks in a process of its own, whose kernels run in parallel; a child must answer with the same bits.  Rows are as few
# as two threads take.
FORKS = """
import os, signal, sys, threading
import numpy as np
from rffkern import GBRFF2Classifier
seed, n_forks = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
X = rng.standard_normal((70_000, 8)); y = X[:, 0] * X[:, 1] > 0
def answer():
    model = GBRFF2Classifier(1, max_iter=2, random_state=0, n_jobs=4).fit(X, y)
    return model.decision_function(X).tobytes()
expected = answer()
going = True
def busy():
    while going:
        answer()
worker = threading.Thread(target=busy); worker.start()
wrong = 0
for _ in range(n_forks):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(answer() != expected)
    wrong += os.waitpid(child, 0)[1] != 0
going = False; worker.join()
sys.exit(min(wrong, 100))
"""
N_FORKS = 25
FORK_SECONDS = 240


def forks(rng, folder, prelude=""):
    """Forks while another thread trains in parallel."""
    script = folder / "forks.py"
    script.write_text(prelude + FORKS)
    try:
        done = subprocess.run([sys.executable, "-P", str(script), str(rng.integers(1 << 30)), str(N_FORKS)],
                              timeout=FORK_SECONDS, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        return f"no end after {FORK_SECONDS} s"
    if done.returncode:
        return f"{done.returncode} of {N_FORKS} children failed or hung {done.stderr[-300:]}"
    return None


def memory_formulas(rng, folder):
    """The peak of a fit is within a tenth of the formula of the docstring."""
    name, kind = str(rng.choice(list(SMALL))), str(rng.choice(["array", "blocks"]))
    params = {"max_samples": None} if kind == "array" and name.startswith("GBRFF") and rng.random() < 0.5 else {}
    return disagreement(name, str(rng.choice(["single", "double"])), kind, int(rng.choice(sizes(name))),
                        int(rng.choice([1, 3])), **params)
