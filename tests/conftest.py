"""Fixtures of all tests, which tests run by default, and with how many Hypothesis examples.

By default the tests run that tell whether this build works on this machine, in three minutes on two cores.  Those
with the marker `slow` run with `--all`, or where their file is named on the command line.
"""

import os
import pathlib
import re
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read by numpy: its threads burn time while they wait

import numpy as np
import pytest
from hypothesis import settings

import rffkern
from rffkern._native import simd
from rffkern._rows import threads

DATA_VARIABLE = "RFFKERN_DATA"

# Compilers look there too: an editable installation has some of the sources in C beside the kernels.
_NATIVE = pathlib.Path(rffkern.__file__).parent / "_native"
os.environ["CPATH"] = os.pathsep.join(str(_NATIVE / folder) for folder in ("boost", "columns", "core", "models"))

SLOW_FILE = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)

# They limit and measure processes as Linux does.
collect_ignore = [] if sys.platform.startswith("linux") else ["test_memory.py"]


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also run the tests with the marker `slow`")


def pytest_report_header(config):
    return None if config.getoption("--all") else "slow tests are left out; --all runs them too"


def pytest_configure(config):
    n_examples = os.environ.get("RFFKERN_EXAMPLES", "60" if config.getoption("--all") else "10")
    settings.register_profile("rffkern", deadline=None, max_examples=int(n_examples), derandomize=True, print_blob=True)
    settings.load_profile("rffkern")


def is_left_out(path, config):
    """Whether the slow tests of a file are left out."""
    named = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return not config.getoption("--all") and path not in named


def pytest_ignore_collect(collection_path, config):
    """A file whose tests are all slow is not even imported, so that collection is short."""
    if collection_path.suffix == ".py" and is_left_out(collection_path, config):
        return bool(SLOW_FILE.search(collection_path.read_text(encoding="utf-8"))) or None
    return None


def pytest_collection_modifyitems(config, items):
    left_out = {item for item in items if item.get_closest_marker("slow") and is_left_out(item.path, config)}
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


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
def real_data():
    """A function that loads a real dataset by name as (X, y)."""
    folder = os.environ.get(DATA_VARIABLE, "")
    if not os.path.isdir(folder):
        pytest.skip(f"{DATA_VARIABLE} names no folder of datasets")

    def read(name):
        with np.load(pathlib.Path(folder, f"{name}.npz"), allow_pickle=False) as archive:
            return archive["X"], archive["y"]

    return read
