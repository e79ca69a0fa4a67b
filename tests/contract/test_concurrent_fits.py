"""Fits and scores from several threads at once, at sizes for which kernels start teams of OpenMP threads."""

import gc
import os
import subprocess
import sys
import sysconfig
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from helpers.processes import PATIENCE

import rffkern
from rffkern import GBRFF2Classifier
from rffkern._rows.threads import check_n_threads

pytestmark = pytest.mark.slow

N_CALLERS = 4

KERNEL = {"kernel": {"length_scale": 2.0}, "reg_lambda": 1e-3}
TERMS = {"n_estimators": 3, "n_bags": 3, "columns": None, "kernel_ridge": False}
LENGTHS = {"length_scale": 2.0, "reg_lambda": 0.1}

# Rows to train on; arguments that keep a fit short and its kernels large; numbers that the largest of them reads.
FITS = {
    "GBRFF2Classifier": (70_000, {"n_estimators": 2, "max_samples": None}, 70_000 * 12),
    "GBRFF1Classifier": (70_000, {"n_estimators": 2, "max_samples": None}, 70_000 * 12),
    "GBRFFClassifier": (70_000, {"n_estimators": 2, "n_components": 10, "max_samples": None}, 70_000 * 12),
    "GBRFFRegressor": (70_000, {"n_estimators": 2, "n_components": 10, "max_samples": None}, 70_000 * 12),
    "PBRFFClassifier": (10_000, {"n_landmarks": 10}, 10_000 * 10 * 10 * 12),
    "PBRFFTransformer": (10_000, {"n_landmarks": 10}, 10_000 * 10 * 10 * 12),
    "RFFNetClassifier": (10_000, {"n_components": 200, "batch_size": 1024, "max_epochs": 1}, 1024 * 200 * 12),
    "RFFNetRegressor": (10_000, {"n_components": 200, "batch_size": 1024, "max_epochs": 1}, 1024 * 200 * 12),
    "FourierBoostingClassifier": (70_000, {**TERMS}, 70_000 * 12),
    "FourierBoostingRegressor": (70_000, {**TERMS}, 70_000 * 12),
    "KernelRidgeClassifier": (2_000, {**LENGTHS}, 2_000 * 512),
    "KernelRidgeRegressor": (2_000, {**LENGTHS}, 2_000 * 512),
    "SparseKernelClassifier": (50_000, {"n_estimators": 2, **KERNEL}, 50_000 * 12),
    "SparseKernelRegressor": (50_000, {"n_estimators": 2, **KERNEL}, 50_000 * 12),
}


def table(n_samples):
    """Rows of twelve columns and labels, which serve as targets too."""
    X = np.random.default_rng(0).standard_normal((n_samples, 12))
    return X, X[:, 0] * X[:, 1] > 0


def scores(model, X):
    """What a fitted model says of rows, whatever its task."""
    for name in ("decision_function", "transform", "predict"):
        if hasattr(model, name):
            return getattr(model, name)(X)
    raise AssertionError(f"{type(model).__name__} says nothing of rows")


@pytest.mark.parametrize("name", FITS)
def test_fits_at_once_keep_the_bits_of_fits_alone(name, eight_cpus):
    n_samples, arguments, _ = FITS[name]
    X, y = table(n_samples)
    y = y.astype(np.float64) if name.endswith("Regressor") else y
    start = Barrier(N_CALLERS)

    def fit(n_threads, seed, wait=True):
        if wait:
            start.wait(PATIENCE)
        model = getattr(rffkern, name)(random_state=seed, n_jobs=n_threads, **arguments).fit(X, y)
        return scores(model, X[:2000])

    expected = [fit(1, seed, wait=False) for seed in (0, 1)]
    with ThreadPoolExecutor(N_CALLERS) as pool:
        found = list(pool.map(fit, [2] * N_CALLERS, [0, 1] * (N_CALLERS // 2)))
    for seed, one in zip([0, 1] * (N_CALLERS // 2), found, strict=True):
        np.testing.assert_array_equal(one, expected[seed])


@pytest.mark.parametrize("name", FITS)
def test_these_sizes_start_teams(name, eight_cpus):
    assert check_n_threads(2, FITS[name][2]) == 2


def test_fits_at_once_free_their_memory():
    """Of four fits whose rows take 3 MB each in single precision, next to nothing stays."""
    X, y = table(70_000)

    def fit(seed):
        return GBRFF2Classifier(1, random_state=seed, n_jobs=2).fit(X, y).n_estimators_

    with ThreadPoolExecutor(N_CALLERS) as pool:
        list(pool.map(fit, range(N_CALLERS)))  # what is loaded and kept once
        gc.collect()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            list(pool.map(fit, range(N_CALLERS)))
            gc.collect()
            after, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak - before > 3_000_000
    assert after - before < 100_000


# Children of a process whose teams were started from several threads, one forked while such a thread still lives.
FORKS = """
import os, signal, sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from rffkern import GBRFF2Classifier
X = np.random.default_rng(0).standard_normal((70_000, 12))
y = X[:, 0] > 0
def fit(_=None):
    return GBRFF2Classifier(2, random_state=0, n_jobs=2).fit(X, y).decision_function(X)
def same_in_a_child():
    child = os.fork()
    if child == 0:
        signal.alarm(3600)
        os._exit(0 if np.array_equal(fit(), expected) else 1)
    return os.waitpid(child, 0)[1] == 0
expected = fit()
with ThreadPoolExecutor(2) as pool:
    ok = all(np.array_equal(found, expected) for found in pool.map(fit, range(2))) and same_in_a_child()
    ok = ok and np.array_equal(pool.submit(fit).result(), expected)
sys.exit(not (ok and same_in_a_child() and np.array_equal(fit(), expected)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_children_and_parent_of_a_process_with_teams_fit(tmp_path):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], cwd=tmp_path, timeout=PATIENCE, check=False)
    assert done.returncode == 0


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has the global lock")
def test_no_module_turns_the_global_lock_on(tmp_path):
    program = ("import sys, rffkern\nfor name in rffkern.__all__: getattr(rffkern, name)\n"
               "sys.exit(sys._is_gil_enabled())")
    assert subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=tmp_path, check=False).returncode == 0
