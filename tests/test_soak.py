"""The jobs of tools/soak.py find faults that are planted, each in a case that passes without them."""

import json
import pathlib
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="limits processes as Linux does")]

TOOLS = pathlib.Path(__file__).parent.parent / "tools"
PROGRAM = """
import os, pathlib, runpy, sys, time
sys.path.insert(0, {tools!r})
import numpy as np
import rffkern
load, save = rffkern.load, rffkern.save
{fault}
runpy.run_path({soak!r}, run_name="__main__")
"""


def soak(*arguments, fault="", code=0):
    """What the tool prints, with a fault in the package that it tries."""
    program = PROGRAM.format(tools=str(TOOLS), soak=str(TOOLS / "soak.py"), fault=fault)
    done = subprocess.run([sys.executable, "-P", "-c", program, *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout


JOBS = ("damaged_files", "killed_saves", "killed_predictions", "killed_trainings", "failing_saves",
        "random_fits", "public_calls", "forks", "memory_formulas")
# The bound of interrupts is on processor time, which a busy machine makes longer.


@pytest.mark.parametrize("job", JOBS)
def test_a_sound_package_passes(job):
    assert "nothing wrong" in soak("--job", job, "--case", 0)


def test_all_that_estimators_offer_is_called():
    """A new method has its call, whichever case first meets its class."""
    program = """
import rffkern
from soaking.calls import EXPANSION_CALLS, MAP_CALLS, MODEL_CALLS, public
estimators = [each for each in vars(rffkern).values() if hasattr(each, "family")]
assert len(estimators) > 10
for kinds, calls in ((estimators, MODEL_CALLS), ([rffkern.Expansion], EXPANSION_CALLS),
                     ([rffkern.ColumnMap], MAP_CALLS)):
    print(*(f"{kind.__name__}.{name}" for kind in kinds for name in public(kind) if name not in calls))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=TOOLS)
    assert done.stdout.split() == []


# `load` that looks at no checksum, neither that of the file nor those of its members.
LENIENT = """
import hashlib, zlib
from unittest import mock
def lenient(path):
    content = pathlib.Path(path).read_bytes()[:-64]
    pathlib.Path(path).write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    with mock.patch.object(zlib, "crc32", return_value=mock.ANY):
        return load(path)
rffkern.load = lenient
"""
CRASHING = "rffkern.load = lambda path: os.abort()"
SLOW = """
def slow(path):
    while time.process_time() < 1.5:  # of a child, which begins at 0
        pass
    return load(path)
rffkern.load = slow
"""
GREEDY = """
import mmap
def greedy(path):
    with mmap.mmap(-1, 100_000_000) as fresh:
        for start in range(0, len(fresh), mmap.PAGESIZE):
            fresh[start] = 1
    return load(path)
rffkern.load = greedy
"""
OTHER_NUMBERS = """
def other_numbers(path):
    model = load(path)
    if hasattr(model, "expansion_"):
        function = model.expansion_
        vars(model)["expansion_"] = rffkern.Expansion(function.intercept + 1, function.center, *function.parts)
    return model
rffkern.load = other_numbers
"""
IN_PLACE = """
def in_place(model, path):
    content = rffkern.dumps(model)
    with open(path, "wb", buffering=0) as file:
        for start in range(0, len(content), 1 << 12):
            file.write(content[start : start + (1 << 12)])
            time.sleep(1e-4)
rffkern.save = in_place
"""
TORN = """
from rffkern._files import checkpoint as module
def torn(self, state, types):
    with open(self.name, "wb", buffering=0) as file:
        for part in module.encode(state, type(self.model).__name__, types):
            file.write(part)
            time.sleep(1e-3)
module.CheckpointFile.write = torn
"""
LITTERING = """
def littering(model, path):
    pathlib.Path(f"{path}.tmp").touch()
    save(model, path)
rffkern.save = littering
"""
CARELESS = """
def careless(model, path):
    try:
        save(model, path)
    except OSError:
        pass
rffkern.save = careless
"""
SCORES = """
for name in rffkern.__all__:
    cls = getattr(rffkern, name)
    for method in ("decision_function", "predict"):
        if hasattr(cls, method):
            setattr(cls, method, lambda self, X: {scores})
"""
UNSTABLE = SCORES.format(scores="np.random.default_rng().random(len(X))")
NAN = SCORES.format(scores="np.full(len(X), np.nan)")
WASTEFUL = """
def wasteful(check):
    def both(self, X, *others, **named):
        self.kept = np.zeros(10_000_000)
        return check(self, X, *others, **named)
    return both
for cls in [getattr(rffkern, name) for name in rffkern.__all__]:
    if hasattr(cls, "_check_training"):
        cls._check_training = wasteful(cls._check_training)
"""


@pytest.mark.parametrize(("job", "case", "fault", "found"), [
    ("damaged_files", 0, LENIENT, "wrong checksum"), ("damaged_files", 0, CRASHING, "signal 6"),
    ("damaged_files", 0, SLOW, "took "), ("damaged_files", 0, GREEDY, "MB for"),
    ("damaged_files", 0, OTHER_NUMBERS, "other numbers in intercept"),
    ("killed_saves", 0, IN_PLACE, "neither the old nor the new one"),
    ("killed_trainings", 0, TORN, "the training failed"),
    ("failing_saves", 0, IN_PLACE, "the old file has changed"), ("failing_saves", 0, LITTERING, "is left"),
    ("failing_saves", 0, CARELESS, "no OSError"), ("random_fits", 0, UNSTABLE, "other bits"),
    ("random_fits", 0, NAN, "not finite"), ("public_calls", 0, NAN, "not finite"),
    ("memory_formulas", 0, WASTEFUL, "the formula says")])
def test_a_planted_fault_is_found(job, case, fault, found):
    assert found in soak("--job", job, "--case", case, fault=fault, code=1)


def test_a_log_is_gone_on_with(tmp_path):
    log, short = tmp_path / "log.jsonl", ("--job", "failing_saves", "--minutes", "1e-4", "--seed", 5)
    counts = []
    for _ in range(2):
        soak(*short, "--log", log)
        cases = [json.loads(line)["case"] for line in log.read_text().splitlines()]
        assert cases == list(range(len(cases)))
        counts.append(len(cases))
    assert 0 < counts[0] < counts[1]
    assert soak("--summary", log, "--seed", 5).splitlines()[1].split()[:3] == ["failing_saves", *[str(counts[1])] * 2]
