"""How many threads are used, forks, and many callers at once."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.processes import PATIENCE

from rffkern import GBRFF2Classifier, InvalidInputError, set_num_threads
from rffkern._native import simd
from rffkern._rows import threads as _threads
from rffkern._rows.threads import available_cpus, check_n_threads

LARGE = 1 << 30


def test_small_work_stays_on_the_calling_thread(sixteen_cpus):
    assert check_n_threads(8, 1000) == 1
    assert check_n_threads(8, LARGE) == 8
    assert check_n_threads(8, 3 << 18) == 3


@pytest.mark.parametrize(("own", "expected"), [(False, 1), (True, 8)])
def test_a_child_of_a_fork_uses_one_thread_of_a_library(sixteen_cpus, monkeypatch, own, expected):
    monkeypatch.setattr(_threads, "_import_pid", os.getpid() + 1)
    monkeypatch.setattr(_threads, "OWN_THREADS", own)
    assert check_n_threads(8, LARGE) == expected
    with pytest.raises(InvalidInputError, match="n_jobs must be an integer >= 1"):
        check_n_threads(0, LARGE)


def test_no_more_threads_than_cpus(sixteen_cpus, monkeypatch):
    assert check_n_threads(1024, LARGE) == 16
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    for value in (None, -1, np.int64(-1)):
        assert check_n_threads(value, LARGE) == 2
    assert check_n_threads(5, LARGE) == 5  # asked for


def test_a_number_that_is_set(sixteen_cpus, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with set_num_threads(5):
        assert check_n_threads(None, LARGE) == 5
        assert check_n_threads(7, LARGE) == 7  # asked for
        with set_num_threads(np.int64(40)):
            assert check_n_threads(None, LARGE) == 16
        with set_num_threads(None):
            assert check_n_threads(None, LARGE) == 2
        assert check_n_threads(None, LARGE) == 5
        set_num_threads(3)
        assert available_cpus() == 3
    assert check_n_threads(None, LARGE) == 2
    for value in (0, -2, 1025, 1.5, True):
        with pytest.raises(InvalidInputError, match="n_jobs must be an integer"):
            set_num_threads(value)


def test_bad_counts():
    for value in (0, -2, 1.5, True, "2"):
        with pytest.raises(InvalidInputError, match="n_jobs must be an integer >= 1"):
            check_n_threads(value, LARGE)


@pytest.fixture
def sixteen_cpus(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(_threads, "_CGROUP_V2", "/nonexistent")
    monkeypatch.setattr(_threads, "_CGROUP_V1", ())


@pytest.mark.parametrize(("quota", "expected"), [
    ("200000 100000", 2), ("150000 100000", 2), ("10000 100000", 1), ("max 100000", 16), ("9900000 100000", 16),
    ("nonsense", 16), ("", 16), ("0 0", 16),
])
def test_container_quota(sixteen_cpus, monkeypatch, tmp_path, quota, expected):
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(_threads, "_CGROUP_V2", str(tmp_path / "cpu.max"))
    assert available_cpus() == expected
    assert check_n_threads(None, LARGE) == expected


@pytest.mark.parametrize(("quota", "expected"), [("300000", 3), ("-1", 16)])
def test_container_quota_of_version_1(sixteen_cpus, monkeypatch, tmp_path, quota, expected):
    (tmp_path / "quota").write_text(quota)
    (tmp_path / "period").write_text("100000")
    monkeypatch.setattr(_threads, "_CGROUP_V1", (str(tmp_path / "quota"), str(tmp_path / "period")))
    assert available_cpus() == expected


@pytest.mark.parametrize(("value", "expected"), [("4", 4), ("2,8", 2), ("99", 16), ("0", 16), ("many", 16), ("", 16)])
def test_omp_num_threads(sixteen_cpus, monkeypatch, value, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert available_cpus() == expected


def test_affinity(sixteen_cpus, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7})
    assert available_cpus() == 3


FORK = """
import os, signal, sys
import numpy as np
from rffkern import GBRFF2Classifier
from rffkern._rows import threads
from rffkern._native.simd import OWN_THREADS
threads.machine_cpus = lambda: 2
rng = np.random.default_rng(0)
X = rng.standard_normal((70_000, 12))
y = X[:, 0] > 0
model = GBRFF2Classifier(3, random_state=0, n_jobs=2).fit(X, y)
expected = model.decision_function(X)
child = os.fork()
if child == 0:
    signal.alarm(3600)
    again = GBRFF2Classifier(3, random_state=0, n_jobs=2).fit(X, y)
    wrong = not np.array_equal(again.decision_function(X), expected)
    os._exit(wrong or (OWN_THREADS and len(os.listdir("/proc/self/task")) != 2))
sys.exit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_fits_and_scores(tmp_path):
    """With threads of its own; GNU OpenMP would wait for ever for those of its parent, unless it uses one."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], cwd=tmp_path, timeout=PATIENCE, check=False)
    assert done.returncode == 0


def test_many_fits_at_once():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5))
    y = X[:, 0] * X[:, 1] > 0
    expected = [GBRFF2Classifier(5, random_state=seed).fit(X, y).decision_function(X) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seed: GBRFF2Classifier(5, random_state=seed).fit(X, y).decision_function(X),
                              range(8)))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_fits_at_once_with_teams_of_threads(eight_cpus):
    """Each caller starts a team of its own, for there are more than 2^19 numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150_000, 4), dtype=np.float32)
    y = X[:, 0] * X[:, 1] > 0
    assert check_n_threads(2, X.size) == 2

    def fit(seed):
        return GBRFF2Classifier(2, random_state=seed, n_jobs=2).fit(X, y).expansion_.fourier.amplitudes.tobytes()

    expected = [fit(seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(fit, range(3))) == expected


def test_levels():
    assert simd.LEVELS[0] == "baseline"
    assert simd.selected() == simd.LEVELS[-1]
    with pytest.raises(ValueError, match="level must be one of"):
        simd.select("x86-64-v9")


def test_fits_agree_between_levels(level, rng):
    X = rng.standard_normal((500, 6))
    y = X[:, 0] * X[:, 1] > 0
    model = GBRFF2Classifier(3, precision="double", random_state=0).fit(X, y)
    simd.select("baseline")
    baseline = GBRFF2Classifier(3, precision="double", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), baseline.decision_function(X), atol=1e-6)


def test_estimators_and_functions_take_minus_one_as_none(rng):
    X = rng.standard_normal((50, 2))
    one, other = (GBRFF2Classifier(2, random_state=0, n_jobs=value).fit(X, X[:, 0] > 0) for value in (-1, None))
    np.testing.assert_array_equal(one.decision_function(X), other.expansion_.score(X, n_jobs=-1)[:, 0])
    with pytest.raises(InvalidInputError, match="n_jobs must be an integer >= 1 and <= 1024, or -1 or None"):
        GBRFF2Classifier(n_jobs=0).fit(X, X[:, 0] > 0)
