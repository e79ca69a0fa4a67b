"""What docs/reproducibility.md says of instruction-set levels."""

import functools
import json
import os
import pathlib
import subprocess
import sys

import pytest
from helpers.level_bits import score_bits, short_model, training_hashes

from rffkern._estimator.registry import FAMILIES
from rffkern._native import simd

pytestmark = pytest.mark.slow

TESTS = pathlib.Path(__file__).parent.parent
ALIKE = [pytest.param(pair, marks=pytest.mark.skipif(pair[1] not in simd.LEVELS, reason=f"no {pair[1]} here"))
         for pair in (("baseline", "x86-64-v2"), ("x86-64-v3", "x86-64-v4"))]


def at(level, function):
    """What a function returns at a level."""
    before = simd.selected()
    simd.select(level)
    try:
        return function()
    finally:
        simd.select(before)


@functools.cache
def hashes_at(level):
    """Those of this process."""
    return at(level, training_hashes)


def in_process_of_its_own(level, **environment):
    """Hashes of a process that the environment tells the level."""
    done = subprocess.run([sys.executable, "-m", "helpers.level_bits"], cwd=TESTS, capture_output=True, text=True,
                          check=True, env=os.environ | {"RFFKERN_SIMD": level} | environment)
    return json.loads(done.stdout)


@pytest.mark.parametrize("level", sorted({simd.LEVELS[0], simd.LEVELS[-1]}))
def test_the_environment_decides_on_the_bits(level):
    """Neither the level that the machine would choose, nor the threads that it has, nor the process changes them."""
    assert in_process_of_its_own(level, OMP_NUM_THREADS="1") == hashes_at(level)


@pytest.mark.skipif(len(simd.LEVELS) < 3, reason="needs a machine with AVX2 and a build with levels")
def test_levels_train_other_bits():
    """So that the tests here compare what can differ."""
    found = [hashes_at(level) for level in ("baseline", "x86-64-v3")]
    assert all(found[0][name] != found[1][name] for name in FAMILIES if name != "pbrff_transformer")


@pytest.mark.skipif(len(simd.LEVELS) < 2, reason="a build or machine of one level")
def test_baseline_and_v2_train_the_same_bits():
    assert hashes_at(simd.LEVELS[0]) == hashes_at(simd.LEVELS[1])


@pytest.mark.parametrize("levels", ALIKE)
@pytest.mark.parametrize("precision", ["single", "double"])
def test_one_model_scores_the_same_bits(family, precision, levels):
    model = short_model(family, precision)
    one, other = (at(level, lambda: score_bits(model)) for level in levels)
    assert one == other
