"""The choice of an instruction-set level: which one a machine can run, and which one is asked for."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from rffkern._native import simd

# Levels of x86-64 as the psABI defines them, each on top of the one before it.
PSABI = {
    2: {"CMPXCHG16B", "LAHF", "POPCNT", "SSE3", "SSE4.1", "SSE4.2", "SSSE3"},
    3: {"AVX", "AVX2", "BMI1", "BMI2", "F16C", "FMA", "LZCNT", "MOVBE", "OSXSAVE"},
    4: {"AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL"},
}
# What the operating system has to save besides.
SAVED_STATE = {3: {"ymm state"}, 4: {"zmm state"}}

# Names of Linux where they are others than ours in lower case, without dots.
LINUX_NAMES = {"sse3": "pni", "cmpxchg16b": "cx16", "lahf": "lahf_lm", "lzcnt": "abm", "sse4.1": "sse4_1",
               "sse4.2": "sse4_2"}


@pytest.fixture(scope="module")
def level_counts():
    """The number of levels for every set of flags that a machine may have."""
    counts = np.zeros(2 ** len(simd.FLAGS), np.uint8)
    simd.fill_level_counts(counts)
    return counts


def test_flags_are_those_of_the_levels():
    assert len(simd.FLAGS) == len({name for name, _ in simd.FLAGS})
    for level, names in PSABI.items():
        assert {name for name, needed_by in simd.FLAGS if needed_by == level} == names | SAVED_STATE.get(level, set())


@pytest.mark.slow
def test_every_set_of_flags(level_counts):
    """A level needs all flags of its own and of the levels below it."""
    flags = np.arange(2 ** len(simd.FLAGS), dtype=np.uint32)
    expected = np.ones(flags.size, np.uint8)
    needed = 0
    for level in sorted(PSABI):
        names = PSABI[level] | SAVED_STATE.get(level, set())
        needed |= sum(1 << bit for bit, (name, _) in enumerate(simd.FLAGS) if name in names)
        expected[flags & needed == needed] = level
    np.testing.assert_array_equal(level_counts, expected)


def test_a_flag_taken_away_never_raises_the_level(level_counts):
    for bit in range(len(simd.FLAGS)):
        pairs = level_counts.reshape(-1, 2, 1 << bit)
        assert (pairs[:, 0] <= pairs[:, 1]).all()


def test_this_machine(level_counts):
    assert 1 <= len(simd.LEVELS) <= level_counts[simd.detect()]
    names = ("baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4")
    assert names[: len(simd.LEVELS)] == simd.LEVELS


def test_detected_flags_are_those_of_the_operating_system():
    info = pathlib.Path("/proc/cpuinfo")
    if len(simd.LEVELS) == 1 or not info.exists():
        pytest.skip("needs Linux, and a build with several levels")
    names = set(next(line for line in info.read_text().splitlines() if line.startswith("flags")).split())
    for bit, (name, _) in enumerate(simd.FLAGS):
        linux = LINUX_NAMES.get(name.lower(), name.lower())
        if name not in ("OSXSAVE", "ymm state", "zmm state"):  # which Linux does not list
            assert bool(simd.detect() >> bit & 1) == (linux in names), name


def test_a_level_that_is_not_there():
    with pytest.raises(ValueError, match=r"level must be one of \('baseline'.* got 'x86-64-v9'"):
        simd.select("x86-64-v9")


def run(program, folder, level):
    return subprocess.run([sys.executable, "-c", program], cwd=folder, env=os.environ | {"RFFKERN_SIMD": level},
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("level", simd.LEVELS)
def test_the_environment_chooses(tmp_path, level):
    done = run("from rffkern._native import simd; print(simd.selected())", tmp_path, level)
    assert done.stdout.split() == [level]


def test_a_level_that_is_not_there_is_refused_at_import(tmp_path):
    done = run("import rffkern._native", tmp_path, "x86-64-v9")
    assert done.returncode == 1
    assert "ImportError: the environment variable RFFKERN_SIMD: level must be one of ('baseline'" in done.stderr
