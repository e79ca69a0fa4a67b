"""The jobs of tools/soak.py find faults that are planted, each in a case that passes without them."""

import contextlib
import mmap
import os
import pathlib
import subprocess
import sys
import time
import zlib
from unittest import mock

import numpy as np
import pytest
import soak
from soaking import calls, files, memory, sanitizers, saving, training

import rffkern
from rffkern.serialize import _describe, encode

TOOLS = str(pathlib.Path(__file__).parent.parent / "tools")

LOAD, SAVE = rffkern.load, rffkern.save


def lenient(path):
    """`load` that looks at no checksum, neither that of the file nor those of its members."""
    pathlib.Path(path).write_bytes(files.sign(pathlib.Path(path).read_bytes()))
    with mock.patch.object(zlib, "crc32", return_value=mock.ANY):
        return LOAD(path)


def crash(path):
    os.abort()


def slow(path):
    while time.process_time() < 1.5:  # of a child, which begins at 0
        pass
    return LOAD(path)


def greedy(path):
    with mmap.mmap(-1, 100_000_000) as fresh:  # an array might reuse memory that a long test session holds already
        for start in range(0, len(fresh), mmap.PAGESIZE):
            fresh[start] = 1
    return LOAD(path)


def stuck(path):
    time.sleep(100)


def other_numbers(path):
    model = LOAD(path)
    if hasattr(model, "expansion_"):
        arrays = model.expansion_.arrays()
        arrays["intercept"] = arrays["intercept"] + 1
        vars(model)["expansion_"] = type(model.expansion_)(**arrays)
    return model


@pytest.mark.parametrize(("fault", "found"), [
    (None, None), (lenient, "wrong checksum"), (crash, "signal 6"), (slow, "took "), (greedy, "MB for"),
    (stuck, "time limit"), (other_numbers, "other numbers in intercept")])
def test_damaged_files(monkeypatch, tmp_path, fault, found):
    monkeypatch.setattr(files, "FILES_PER_CASE", 80)
    monkeypatch.setattr(files, "MUTATIONS", [files.flipped_bits, files.other_members, files.other_numbers])
    if fault is not None:
        monkeypatch.setattr(rffkern, "load", fault)
    if fault is stuck:
        shorter = files.in_child
        monkeypatch.setattr(files, "in_child", lambda work, seconds, n_bytes: shorter(work, 2, n_bytes))
    wrong = files.damaged_files(np.random.default_rng(0), tmp_path)
    assert wrong is None if found is None else found in wrong


def test_every_mutation_makes_files_that_are_judged(tmp_path):
    """Those under a right checksum get past it, and some of other numbers are read."""
    from rffkern import FormatError
    rng, messages = np.random.default_rng(0), {}
    for mutate in files.MUTATIONS:
        for path in files.FIXTURES[-4:]:
            original = path.read_bytes()
            content = mutate(rng, original)
            (tmp_path / "m").write_bytes(content)
            try:
                LOAD(tmp_path / "m")
                message = "read"
            except FormatError as error:
                message = str(error)
            messages.setdefault(mutate, []).append(message)
    for mutate in (files.other_members, files.other_numbers, files.crafted_header, files.many_labels):
        assert not any("checksum" in message for message in messages[mutate])
    assert "read" in messages[files.other_numbers]
    assert any("checksum" in message for message in messages[files.flipped_bits])


def in_place(model, path):
    """Write over the file in pieces."""
    content = encode(*_describe(model))
    with open(path, "wb", buffering=0) as file:
        for start in range(0, len(content), 1 << 12):
            file.write(content[start : start + (1 << 12)])
            time.sleep(1e-4)


def litter(model, path):
    pathlib.Path(f"{path}.tmp").touch()
    SAVE(model, path)


def careless(model, path):
    """No look at what the system says."""
    with contextlib.suppress(OSError):
        SAVE(model, path)


@pytest.mark.parametrize(("fault", "found"), [(None, None), (in_place, "neither the old nor the new one")])
def test_killed_saves(monkeypatch, tmp_path, fault, found):
    if fault is not None:
        monkeypatch.setattr(rffkern, "save", fault)
    wrong = saving.killed_saves(np.random.default_rng(0), tmp_path)
    assert wrong is None if found is None else found in wrong


@pytest.mark.parametrize(("fault", "found"), [
    (None, None), (in_place, "the old file has changed"), (litter, "is left"), (careless, "no OSError")])
def test_failing_saves(monkeypatch, tmp_path, fault, found):
    tmp_path.chmod(0o755)
    if fault is not None:
        monkeypatch.setattr(rffkern, "save", fault)
    wrongs = []
    for seed in range(9):
        folder = tmp_path / str(seed)
        folder.mkdir()
        wrongs.append(saving.failing_saves(np.random.default_rng(seed), folder))
    assert not any(wrongs) if found is None else any(wrong and found in wrong for wrong in wrongs)


def raises(self, *_):
    raise ZeroDivisionError


@pytest.mark.parametrize(("fault", "found"), [
    (None, None), (lambda self, X: np.full(len(X), np.nan), "not finite"), (raises, "ZeroDivisionError"),
    (lambda self, X: np.random.default_rng().random(len(X)), "other bits"), (lambda self, X: time.sleep(100), "limit")])
def test_random_fits(monkeypatch, tmp_path, fault, found):
    monkeypatch.setattr(training, "CLASSES", ["GBRFF2Classifier"])
    if fault is not None:
        monkeypatch.setattr(training, "FIT_SECONDS", 30 if found != "limit" else 3)
        monkeypatch.setattr(rffkern.GBRFF2Classifier, "decision_function", fault)
    wrongs = [training.random_fits(np.random.default_rng(seed), tmp_path) for seed in (range(1) if fault else range(8))]
    assert not any(wrongs) if found is None else found in wrongs[0]


def test_memory_formulas(monkeypatch, tmp_path):
    assert memory.memory_formulas(np.random.default_rng(0), tmp_path) is None
    monkeypatch.setattr(memory, "expected", lambda model, kind, n, n_outputs: 4 * n * 20)
    assert "the formula says" in memory.memory_formulas(np.random.default_rng(0), tmp_path)


# As a child that waits for threads that were not forked.
CHILDREN_HANG = """
import os, threading
os.register_at_fork(after_in_child=lambda: setattr(GBRFF2Classifier, "fit", lambda *args: threading.Event().wait()))
"""


@pytest.mark.parametrize("prelude", ["", CHILDREN_HANG])
def test_forks(monkeypatch, tmp_path, prelude):
    monkeypatch.setattr(training, "N_FORKS", 1)
    monkeypatch.setattr(training, "FORKS", training.FORKS.replace("alarm(30)", "alarm(5)" if prelude else "alarm(60)"))
    wrong = training.forks(np.random.default_rng(0), tmp_path, prelude)
    assert wrong is None if not prelude else "1 of 1 children failed or hung" in wrong


def test_a_log_is_gone_on_with(monkeypatch, tmp_path, capsys):
    seen = []
    monkeypatch.setattr(soak, "JOBS", {
        "bad": (lambda rng, folder: seen.append(rng.random()) or "broken", 1, "things", 3)})
    log = tmp_path / "log.jsonl"
    first = soak.soak(["bad"], 1e-4, 5, log)
    second = soak.soak(["bad"], 1e-4, 5, log)
    assert [entry["case"] for entry in second] == list(range(len(second)))
    assert second[: len(first)] == first
    assert len(set(seen)) == len(seen) == len(second) > len(first) > 0  # no case twice
    assert soak.run_case("bad", 5, 0)[0] == "broken"
    assert seen[-1] == seen[0]
    assert soak.show(second) == len(second)
    assert soak.soak(["bad"], 1e-4, 6, log)[0]["case"] == 0  # another seed


def test_public_calls(monkeypatch, tmp_path):
    """Of two seeds: `.ci/run` and longer soaks draw others."""
    assert not any(calls.public_calls(np.random.default_rng(seed), tmp_path) for seed in range(2))


@pytest.mark.parametrize(("fault", "found"), [
    (lambda self, X: np.full(len(X), np.nan), "decision_function: not finite"), (raises, "ZeroDivisionError"),
    (lambda self, X: time.sleep(100), "time limit")])
def test_public_calls_with_a_fault(monkeypatch, tmp_path, fault, found):
    monkeypatch.setattr(calls, "FAMILIES", ["GBRFF2Classifier"])
    monkeypatch.setattr(calls, "TABLES", {"constant": calls.TABLES["constant"]})
    monkeypatch.setattr(calls, "LABELS", {"two classes": calls.LABELS["two classes"]})
    monkeypatch.setattr(calls, "CASE_SECONDS", 3 if found == "time limit" else 60)
    monkeypatch.setattr(rffkern.GBRFF2Classifier, "decision_function", fault)
    assert found in calls.public_calls(np.random.default_rng(0), tmp_path)


def test_a_slow_call_is_found(monkeypatch):
    monkeypatch.setattr(calls, "CALL_SECONDS", 0.05)
    started = time.process_time()
    assert "took" in calls.judge("call", lambda: [0 for _ in iter(lambda: time.process_time() - started > 0.1, True)])


def test_every_public_call_is_made():
    """What the package offers without a recipe here would never be called by the soak."""
    unknown = set()
    for name, offered in calls.PUBLIC.items():
        if not isinstance(offered, type) or issubclass(offered, (Exception, str)):
            continue
        recipes = calls.BLOCK_CALLS if name == "RowBlocks" else calls.EXPANSION_CALLS
        recipes = calls.MODEL_CALLS if name in calls.FAMILIES else recipes
        recipes = calls.MAP_CALLS if name == "ColumnMap" else recipes
        unknown |= {f"{name}.{call}" for call in calls.public(offered) if call not in recipes}
    assert not unknown
    assert {name for name, offered in calls.PUBLIC.items() if callable(offered) and name not in calls.FAMILIES and not (
        isinstance(offered, type) and issubclass(offered, Exception))} == {
            "ColumnMap", "FourierExpansion", "KernelExpansion", "RowBlocks", "TermExpansion", "c_functions", "c_model",
            "dumps", "export", "get_include", "load", "loads", "save", "set_num_threads", "show_config"}


@pytest.mark.parametrize("kind", ["address", "thread"])
def test_sanitizers_find_planted_faults_and_no_others(monkeypatch, tmp_path, kind):
    monkeypatch.setenv("RFFKERN_SANITIZED", str(tmp_path))
    for cached in (sanitizers.helpers, sanitizers.trusted):
        cached.cache_clear()
    try:
        found = sanitizers.trusted(kind)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("GCC or its sanitizers are not there")
    finally:
        sanitizers.helpers.cache_clear()
        sanitizers.trusted.cache_clear()
    assert found is None


@pytest.mark.parametrize(("answer", "message"), [
    (None, "was not found"), ("exit code 1: no module", "was not found"), ("exit code 66: race", "that is not there")])
@pytest.mark.parametrize("kind", ["address", "thread"])
def test_a_sanitizer_that_is_asleep_is_not_trusted(monkeypatch, tmp_path, kind, answer, message):
    """No case passes then, and nothing is built."""
    monkeypatch.setattr(sanitizers, "helpers", lambda kind: tmp_path)
    monkeypatch.setattr(sanitizers, "run", lambda *_: answer)
    monkeypatch.setattr(sanitizers, "build", None)
    sanitizers.trusted.cache_clear()
    try:
        for name, (job, *_) in sanitizers.JOBS.items():
            if sanitizers.kind_of(name) == kind:
                assert message in job(np.random.default_rng(0), tmp_path)
    finally:
        sanitizers.trusted.cache_clear()


@pytest.mark.parametrize("kind", ["address", "thread"])
def test_the_planted_fault_of_a_kernel_has_a_place(kind):
    old, new = sanitizers.KERNEL_FAULTS[kind]
    source = (sanitizers.SOURCES / "rffkern" / "_kernels" / f"{sanitizers.KERNEL}.pyx").read_text(encoding="utf-8")
    assert old in source
    assert new not in source


@pytest.mark.parametrize(("whole", "faulty", "message"), [
    (None, None, "was not found"), (None, "exit code 1: no module", "was not found"),
    ("exit code 66: race", "exit code 66: race", "without the planted fault"),
    (None, "exit code 66: race", "the case")])
def test_a_kernel_whose_fault_is_not_found_is_not_trusted(monkeypatch, tmp_path, whole, faulty, message):
    answers = {"whole": whole, "faulty": faulty}
    monkeypatch.setattr(sanitizers, "trusted", lambda kind: None)
    monkeypatch.setattr(sanitizers, "build", lambda kind: "whole")
    monkeypatch.setattr(sanitizers, "faulty", lambda kind: "faulty")
    monkeypatch.setattr(sanitizers, "run", lambda kind, arguments, *_, site=None: (
        answers[site] if arguments[0] == "-c" else "the case"))
    sanitizers.finds_kernel_fault.cache_clear()
    try:
        for job, *_ in sanitizers.JOBS.values():
            assert message in job(np.random.default_rng(0), tmp_path)
    finally:
        sanitizers.finds_kernel_fault.cache_clear()


def test_a_test_that_fails_under_a_sanitizer_counts(monkeypatch, tmp_path):
    """No other exit code than 0 passes, however many tests have passed."""
    monkeypatch.setattr(sanitizers, "_gcc", lambda *_: "")
    tests = tmp_path / "test_two.py"
    tests.write_text("def test_good(): pass\ndef test_bad(): assert False\n")
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path, tests]
    assert "1 failed, 1 passed" in sanitizers.run("address", arguments, tmp_path)
    assert sanitizers.run("address", [*arguments, "-k", "good"], tmp_path) is None


def test_sanitized_work_passes_as_it_is(tmp_path):
    """The scripts that run under the sanitizers run without them."""
    for script in (["soaking.sanitized_calls", "0", "3"], ["soaking.sanitized_threads", "0"]):
        subprocess.run([sys.executable, "-P", "-m", *script], check=True, cwd=tmp_path, capture_output=True,
                       env=os.environ | {"PYTHONPATH": TOOLS})


def test_the_table_counts_units(monkeypatch, capsys):
    monkeypatch.setattr(soak, "JOBS", {"bad": (None, 1, "things", 3)})
    assert soak.show([{"job": "bad", "seconds": 1.0, "wrong": wrong} for wrong in (None, "broken")]) == 1
    assert capsys.readouterr().out.splitlines()[1].split() == ["bad", "2", "6", "things", "1", "2.0", "1.0"]
