"""The threads of parallel loops: team.c by itself, in the loops of tests/helpers/regions.c, and in the package."""

import os
import pkgutil
import re
import shutil
import subprocess
import sys

import pytest
from helpers import regions as loops
from helpers.processes import PATIENCE

from rffkern import _native
from rffkern._native.simd import OWN_THREADS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(
    not OWN_THREADS or not shutil.which("gcc"),
    reason="the kernels take the threads of the compiler's OpenMP, or GCC is not there")]
MODULES = [module.name for module in pkgutil.iter_modules(_native.__path__) if module.name != "array_types"]
WAITS = "while (atomic_load(&one->n_beyond) < one->n_members)"


@pytest.fixture(scope="module")
def regions(tmp_path_factory):
    return loops.compile_regions(tmp_path_factory.mktemp("regions"), "regions", "-O2", "-DRFF_OWN_TEAM")


def run(program, *arguments, **options):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, **options)


def test_many_callers_regions_in_regions_and_forks(regions):
    assert run(regions, "stress", 500, 20).returncode == 0


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_as_many_members_as_are_asked_for(regions, n_threads):
    counts = []
    while n_threads not in counts and len(counts) < 1000:  # those who come too late, on a busy machine, are missing
        counts.append(int(run(regions, "threads", n_threads).stdout))
    assert max(counts) == n_threads


def test_absurd_numbers_of_threads(regions):
    done = run(regions, "threads", 1_000_000)
    assert done.returncode == 0
    assert 1 <= int(done.stdout) <= 1024


@pytest.mark.parametrize("has_fault", [False, True])
def test_thread_sanitizer(tmp_path, has_fault):
    """Without the wait at the barrier, late members read what the last chunk's member writes."""
    team = tmp_path / "team.c"
    content = (loops.KERNELS / "team.c").read_text(encoding="ascii")
    assert WAITS in content
    team.write_text(content.replace(WAITS, "while (0)") if has_fault else content, encoding="ascii")
    try:
        program = loops.compile_regions(tmp_path, "sanitized", "-O1", "-g", "-DRFF_OWN_TEAM", "-fsanitize=thread",
                                          team=team)
    except subprocess.CalledProcessError:
        pytest.skip("GCC has no ThreadSanitizer here")
    done = run(program, "stress", 300, env=os.environ | {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66"})
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer does not work on this kernel")
    assert done.returncode == (66 if has_fault else 0), done.stderr


def test_no_openmp_beside_it(tmp_path):
    """No module needs or shows what another OpenMP has: neither takes the calls of the other."""
    program = """
import ctypes, importlib, sys
for name in sys.argv[1:]:
    module = importlib.import_module(f"rffkern._native.{name}")
    assert not hasattr(ctypes.CDLL(module.__file__), "GOMP_parallel"), name
assert "gomp" not in open("/proc/self/maps").read()
"""
    done = run(sys.executable, "-c", program, *MODULES, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


REFUSED = f"""
import os
before = len(os.listdir("/proc/self/task"))
{loops.REFUSED}
print(len(os.listdir("/proc/self/task")) - before)
"""


def test_threads_that_cannot_be_started(tmp_path):
    """As under `ulimit -u`: GNU OpenMP would end the process."""
    done = run(sys.executable, "-c", REFUSED, cwd=tmp_path, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["same bits", "0"]


def test_every_module_with_a_loop_shares_the_threads():
    texts = {path: path.read_text(encoding="utf-8") for path in loops.KERNELS.parent.rglob("*.pyx")}
    parts = {path: [path.parent / name for name in re.findall(r'^include "(.+)"$', text, re.MULTILINE)]
             for path, text in texts.items()}
    for path in texts.keys() - {part for each in parts.values() for part in each}:
        text = "".join(texts[each] for each in (path, *parts[path]))
        assert ("prange(" in text) == ("use_team(team)" in text), path.name
        assert "schedule='static'" not in text, path.name
