"""Scores of the C interface, compiled from the installed package, against those of Python: the same bits."""

import subprocess
import sys

import numpy as np
import pytest
from helpers import c_models
from helpers.c_scores import FROZEN, LARGEST_BETWEEN, Case, compare
from helpers.c_targets import TARGETS

from rffkern import GBRFF2Classifier, save
from rffkern._native import simd

pytestmark = pytest.mark.slow

# A compiler that most machines have, at each class; `tools/bits.py --c` has more.
NAMES = ["x86-64 baseline gcc", "x86-64-v3 gcc"]
LEVELS = {False: "baseline"} | ({True: "x86-64-v3"} if "x86-64-v3" in simd.LEVELS else {})


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Models of every kind, and frozen files, with rows of both precisions."""
    folder, before = tmp_path_factory.mktemp("models"), simd.selected()
    paths = c_models.frozen_files(FROZEN) | c_models.made(folder)
    found = [Case(name, path, dtype, 60, folder, LEVELS) for name, path in paths.items()
             for dtype in (np.float64, np.float32)]
    simd.select(before)
    return found


@pytest.mark.parametrize("target", [target for target in TARGETS if target.name in NAMES], ids=lambda each: each.name)
def test_scores_have_the_bits_of_python(target, cases, tmp_path):
    """In a call for all rows and in one for each, labels and predictions too."""
    if target.missing() or target.fuses not in LEVELS:
        pytest.skip(target.missing() or "a build without levels")
    program = target.build(tmp_path)
    worst = {}
    for case in cases:
        compare(case.run(target, program, tmp_path), case.expected[target.fuses], case, worst)
    assert worst["float64"] == worst["float32"] == worst["labels"] == 0
    assert worst["probabilities"] <= 4  # NumPy and the C library have functions of their own


@pytest.mark.skipif(len(LEVELS) < 2, reason="a machine or build of one class")
def test_classes_differ_by_rounding(cases):
    worst = {}
    for case in cases:
        compare(case.expected[False], case.expected[True], case, worst)
    assert 0 < worst["of terms"] <= LARGEST_BETWEEN


CALLS = r"""
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "rffkern.h"
int main(int argc, char **argv)
{
    rff_model *m;
    double row[6] = {0, 0, 0, 0, 0, 0}, out[3] = {7, 7, 7};
    size_t size;
    char *scratch;
    assert(argc == 2 && rff_load(argv[1], 0, &m, NULL) == RFF_OK);
    size = rff_scratch_size(m, 2);
    assert(size >= rff_scratch_size(m, 1) && rff_scratch_size(m, SIZE_MAX) < 10000000 && !rff_scratch_size(NULL, 1));
    scratch = malloc(size);
    assert(rff_score(NULL, RFF_FLOAT64, row, 1, out, scratch, size) == RFF_E_ARGUMENT);
    assert(rff_score(m, (rff_type)5, row, 1, out, scratch, size) == RFF_E_ARGUMENT);
    assert(rff_score(m, RFF_FLOAT64, NULL, 1, out, scratch, size) == RFF_E_ARGUMENT);
    assert(rff_score(m, RFF_FLOAT64, row, 1, NULL, scratch, size) == RFF_E_ARGUMENT);
    assert(rff_score(m, RFF_FLOAT64, row, 1, out, NULL, size) == RFF_E_ARGUMENT);
    assert(rff_score(m, RFF_FLOAT64, row, SIZE_MAX / 8, out, scratch, size) == RFF_E_ARGUMENT);
    assert(rff_score(m, RFF_FLOAT64, row, 1, out, scratch, rff_scratch_size(m, 1) - 1) == RFF_E_SCRATCH);
    assert(rff_score(m, RFF_FLOAT64, NULL, 0, NULL, NULL, 0) == RFF_OK);
    row[5] = NAN;
    assert(rff_score(m, RFF_FLOAT64, row, 2, out, scratch, size) == RFF_E_ROWS);
    row[5] = ldexp(1, 1023);
    assert(rff_score(m, RFF_FLOAT64, row, 2, out, scratch, size) == RFF_E_ROWS);
    row[5] = ldexp(1, 1022);
    assert(out[0] == 7 && rff_score(m, RFF_FLOAT64, row, 2, out, scratch, size) == RFF_OK);
    assert(out[0] != 7 && out[1] != 7 && out[2] == 7);
    ((float *)row)[0] = HUGE_VALF;
    assert(rff_score(m, RFF_FLOAT32, row, 2, out, scratch, size) == RFF_E_ROWS);
    ((float *)row)[0] = FLT_MAX;
    assert(rff_score(m, RFF_FLOAT32, row, 2, out, scratch, size) == RFF_OK);
    rff_free(m);
    free(scratch);
    return 0;
}
"""


@pytest.fixture
def binary_model(tmp_path, rng):
    X = rng.standard_normal((100, 3))
    save(GBRFF2Classifier(5, random_state=0).fit(X, X[:, 0] > 0), tmp_path / "model.npz")
    return tmp_path / "model.npz"


def test_arguments_are_checked(binary_model, tmp_path):
    """A call that fails writes no score, and rows are refused that Python refuses."""
    target = TARGETS[0]
    if target.missing():
        pytest.skip(target.missing())
    (tmp_path / "calls.c").write_text(CALLS)
    program = target.build(tmp_path, tmp_path / "calls.c",
                           ["-O0", "-DRFF_MOST_LEVEL=1", "-fsanitize=address,undefined"])
    done = subprocess.run([program, binary_model], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_fast_math_is_refused(tmp_path):
    if TARGETS[0].missing():
        pytest.skip(TARGETS[0].missing())
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    with pytest.raises(subprocess.CalledProcessError):
        TARGETS[0].build(tmp_path, tmp_path / "empty.c", ["-ffast-math"])


def test_the_tool_prints_a_table():
    """Of one target, which is compiled fast where this machine has it, and few rows."""
    only = "gcc -O0" if True in LEVELS else "baseline gcc"
    done = subprocess.run([sys.executable, FROZEN.parents[1] / "tools" / "bits.py", "--c", "--rows", "20", "--models",
                           "cosines", "--only", only], capture_output=True, text=True, check=False)
    assert "Python baseline" in done.stdout
    assert done.returncode == 0, done.stderr + done.stdout
