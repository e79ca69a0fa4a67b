"""Fixtures and the Hypothesis profile of all tests."""

import os
import pathlib
import sys

import numpy as np
import pytest
from helpers.wavy_rows import wavy
from hypothesis import settings

from rffkern._data import threads
from rffkern._kernels import simd

settings.register_profile("rffkern", deadline=None, max_examples=int(os.environ.get("RFFKERN_EXAMPLES", "60")),
                          derandomize=True, print_blob=True)
settings.load_profile("rffkern")

DATA_VARIABLE = "RFFKERN_DATA"

# They limit and measure processes as Linux does.
collect_ignore = [] if sys.platform.startswith("linux") else ["test_memory.py", "test_soak.py"]


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def eight_cpus(monkeypatch):
    """Start as many threads as a test asks for, on a machine of any size."""
    monkeypatch.setattr(threads, "machine_cpus", lambda: 8)


@pytest.fixture(params=simd.LEVELS)
def level(request):
    """Run a test once per instruction-set level this machine has."""
    before = simd.selected()
    simd.select(request.param)
    yield request.param
    simd.select(before)


@pytest.fixture(scope="session")
def few_columns():
    """Rows to train on and their targets, and others to test on: two of eight columns matter."""
    X, y = wavy(3000)
    return X[:2000], y[:2000], X[2000:], y[2000:]


@pytest.fixture(scope="session")
def rffnet(few_columns):
    """A model trained on the first of them, for tests that do not change it."""
    from rffkern import RFFNetRegressor  # here, so that tests of kernels load no family

    return RFFNetRegressor(random_state=0).fit(*few_columns[:2])


@pytest.fixture(scope="session")
def real_data():
    """A function that loads a real dataset by name as (X, y)."""
    folder = os.environ.get(DATA_VARIABLE, "")
    if not os.path.isdir(folder):
        pytest.skip(f"{DATA_VARIABLE} names no folder of datasets")

    def read(name):
        with np.load(pathlib.Path(folder, f"{name}.npz"), allow_pickle=False) as archive:
            return archive["X"], archive["y"]

    return read
