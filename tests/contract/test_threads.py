"""Threads change no bit, and many of them may share a model."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers.families import TARGET, X, answers, fit, same_state

import rffkern
from rffkern._estimator.tasks import Regressor
from rffkern._native import simd


@pytest.mark.skipif(not simd.HAS_OPENMP, reason="a build without threads")
def test_same_bits_for_any_number_of_threads(family, eight_cpus):
    rng = np.random.default_rng(1)
    n_rows = 3_000 if "cache_size" in family._param_names() else 70_000  # work that grows with the square of the rows
    rows = rng.standard_normal((n_rows, 12))
    target = rows[:, 0] * rows[:, 1]
    target = target if issubclass(family, Regressor) else target > 0
    small = {"n_estimators": 15, "n_landmarks": 15, "n_components": 9}
    if "max_epochs" in family._param_names():
        small |= {"n_components": 99, "max_epochs": 2, "batch_size": 600}
    small = {name: value for name, value in small.items() if name in family._param_names()}
    models = [fit(family, rows, target, n_jobs=n, **small) for n in (1, 2, 3)]
    assert same_state(models[0], models[1])
    assert same_state(models[0], models[2])
    found = [answers(model, rows) for model in models]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="run times of threads are read as Linux shows them")
def test_one_thread_is_all_that_runs():
    """Not even BLAS, which has threads of its own, takes more than `n_jobs` of them."""
    folder = Path(__file__).parents[1]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "3", "PYTHONPATH": str(folder)}
    woken = subprocess.run([sys.executable, folder / "helpers" / "run_times.py"], env=environment, check=True,
                           capture_output=True, text=True).stdout.split()
    if "control" in woken:
        pytest.skip("the BLAS of this NumPy has no threads, or takes them for twenty unknowns")
    assert not woken


@pytest.mark.slow
def test_many_threads_share_one_model(fitted):
    expected = answers(fitted, X)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: answers(fitted, X[i % 50 : i % 50 + 50]), range(400)))
    assert all(np.array_equal(answer, expected[i % 50 : i % 50 + 50]) for i, answer in enumerate(found))


@pytest.mark.slow
def test_a_call_scores_with_one_model(predictor):
    """A model that is fitted again while its rows are read gives the answers of the model that was asked."""
    model = fit(predictor)
    expected = model.predict(X)
    other = -TARGET if issubclass(predictor, Regressor) else np.where(TARGET > 0.5, "other", "labels")

    def read():
        yield X[:250]
        model.fit(X, other)
        yield X[250:]

    np.testing.assert_array_equal(model.predict(rffkern.RowBlocks(read)), expected)
    assert not np.array_equal(model.predict(X), expected)


@pytest.mark.slow
def test_scoring_holds_no_references(fitted):
    """No leak: reference counts of what goes in are what they were."""
    rows = X[:10].copy()
    answers(fitted, rows)
    before = sys.getrefcount(rows), sys.getrefcount(fitted.expansion_.intercept)
    for _ in range(100):
        answers(fitted, rows)
    assert (sys.getrefcount(rows), sys.getrefcount(fitted.expansion_.intercept)) == before
