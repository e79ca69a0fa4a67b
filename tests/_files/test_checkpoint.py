"""Training that ends anywhere goes on from its checkpoint with the bits of one fit; all else is refused."""

import os
import signal
import sys
from typing import NamedTuple

import numpy as np
import pytest
from helpers.command_line import run, write_csv
from helpers.families import RESUMABLE, X, resumable, same_training, target_of
from helpers.processes import PATIENCE, started
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import rffkern
from rffkern import (
    FormatError,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
    InvalidInputError,
    KernelRidgeClassifier,
    RFFNetClassifier,
    SparseKernelClassifier,
    checkpoint,
    load,
    save,
)
from rffkern._estimator import checkpoints
from rffkern._estimator.registry import FAMILIES
from rffkern._files.checkpoint import CheckpointFile, decode, encode


class End(KeyboardInterrupt):
    """What ends a training, as Ctrl-C does."""


@pytest.fixture(autouse=True)
def every_round(monkeypatch):
    """A checkpoint after every round."""
    monkeypatch.setattr(checkpoints, "_PAUSE", 0.0)


def ends_after(n_rounds):
    """A callback that ends the process, as far as training can know, after so many rounds in all."""
    seen = []

    def callback(info):
        seen.append(info)
        if len(seen) == n_rounds:
            raise End

    return callback


def in_pieces(make, path, X, y, n_rounds=4, **fit_params):
    """A model whose training has ended again and again, each time after some rounds, in a new object each time."""
    for _ in range(50):
        model = make()
        try:
            with checkpoint(model, path):
                return model.fit(X, y, callback=ends_after(n_rounds), **fit_params)
        except End:
            pass
    raise AssertionError("the training has not gone on")


CASES = [(name, {}) for name in RESUMABLE] + [
    ("fourier_boosting", {"n_bags": 3, "kernel_ridge": True, "columns": "auto", "n_estimators": 20}),
    ("fourier_boosting_regressor", {"base_learners": ("linear", "tree", "fourier")}),
    ("gbrff1", {"landmarks": "random", "max_samples": 128, "validation_fraction": 0.2}),
    ("gbrff2", {"max_samples": 128, "precision": "double"}),
    ("sparse_kernel", {"update": "active", "n_estimators": 60, "basis_size": 5}),
    ("sparse_kernel_regressor", {"update": "one"}),
    ("sparse_kernel_regressor", {"basis_size": 1, "selection": "ald"})]


@pytest.mark.parametrize(("name", "params"), CASES, ids=str)
def test_pieces_are_one_fit(name, params, tmp_path):
    cls = FAMILIES[name].load()
    y = target_of(cls)
    n_rounds = 25 if params.get("n_estimators") == 60 else 4
    found = in_pieces(lambda: resumable(cls, **params), tmp_path / "state", X, y, n_rounds)
    assert same_training(found, resumable(cls, **params).fit(X, y))


def test_several_classes_weights_and_evaluation_sets(tmp_path):
    y = np.where(X[:, 4] > 1, "far", target_of(FourierBoostingClassifier))
    sets, weight = {"a": (X[:90], y[:90]), "b": (X[90:150], y[90:150])}, np.linspace(0, 2, 400)
    for cls in (FourierBoostingClassifier, GBRFF1Classifier, SparseKernelClassifier):
        def make(cls=cls):
            return resumable(cls, class_weight="balanced")

        path = tmp_path / cls.__name__
        found = in_pieces(make, path, X, y, eval_set=sets, sample_weight=weight)
        whole = make().fit(X, y, eval_set=sets, sample_weight=weight)
        assert same_training(found, whole)
        assert all(np.array_equal(found.eval_losses_[name], whole.eval_losses_[name]) for name in sets)


def test_bags_on_threads(tmp_path, monkeypatch):
    """Whichever bags are trained when the process ends."""
    y, write, n_writes = target_of(FourierBoostingRegressor), CheckpointFile.write, []

    def ending(self, *args):
        n_writes.append(None)
        if len(n_writes) % 11 == 0:
            raise End
        write(self, *args)

    monkeypatch.setattr(CheckpointFile, "write", ending)
    model = None
    while model is None:
        model = resumable(FourierBoostingRegressor, n_bags=4, n_jobs=3)
        try:
            with checkpoint(model, tmp_path / "state"):
                model.fit(X, y)
        except End:
            model = None
    assert len(n_writes) > 22
    assert same_training(model, resumable(FourierBoostingRegressor, n_bags=4).fit(X, y))


def test_more_rounds_and_a_limit_of_time(tmp_path):
    y = target_of(GBRFF2Classifier)
    first = resumable(GBRFF2Classifier, max_seconds=1e-9)
    with checkpoint(first, tmp_path / "state"):
        first.fit(X, y)
    assert first.n_estimators_ == 1
    for n_rounds in (9, 15):
        more = resumable(GBRFF2Classifier, n_estimators=n_rounds, random_state=None)
        with checkpoint(more, tmp_path / "state"):
            more.fit(X, y)
        assert same_training(more, resumable(GBRFF2Classifier, n_estimators=n_rounds).fit(X, y))


def test_a_fitted_model_goes_on_into_the_file_of_its_training_alone(tmp_path):
    y, path = target_of(GBRFF2Classifier), tmp_path / "state"
    model = resumable(GBRFF2Classifier).fit(X, y)
    with checkpoint(model, path):
        model.fit(X, y)  # no more rounds, but a file
        model.set_params(n_estimators=12).fit(X, y)
    again = resumable(GBRFF2Classifier, n_estimators=15)
    with checkpoint(again, path):
        again.fit(X, y)
    assert same_training(again, resumable(GBRFF2Classifier, n_estimators=15).fit(X, y))
    before = path.read_bytes()
    for params, rows in (({"gamma": 0.25}, X), ({}, X[:, :5])):
        other = resumable(GBRFF2Classifier, **params).fit(rows, y)
        with checkpoint(other, path), pytest.raises(InvalidInputError, match="model must be that of the checkpoint"):
            other.fit(rows, y)
    assert path.read_bytes() == before


def test_fits_of_others_in_the_context_are_as_always(tmp_path):
    y = target_of(GBRFF2Classifier)
    model, other = resumable(GBRFF2Classifier, columns="search"), resumable(GBRFF2Classifier)
    with checkpoint(model, tmp_path / "state"):
        other.fit(X, y)
        assert not (tmp_path / "state").exists()
        model.fit(X, y)  # with trials of column maps
    assert same_training(model, resumable(GBRFF2Classifier, columns="search").fit(X, y))


def test_other_rows_parameters_and_classes_are_refused_by_name(tmp_path):
    y, path = target_of(GBRFF2Classifier), tmp_path / "state"
    first = resumable(GBRFF2Classifier)
    with checkpoint(first, path):
        first.fit(X, y)
    before = path.read_bytes()
    changed = X.copy()
    changed[7, 3] += 1e-3
    for make, rows, message in (
            (resumable(GBRFF2Classifier), changed, "X must be as in the training that goes on"),
            (resumable(GBRFF2Classifier), X[:300], "X must have the rows of the training that goes on, 400"),
            (resumable(GBRFF2Classifier, gamma=0.25), X,
             "gamma must be 'scale', as in the training that goes on, got 0.25"),
            (resumable(GBRFF2Classifier, n_estimators=3), X, "n_estimators must be at least 9"),
            (resumable(GBRFF1Classifier), X, "model must be a 'GBRFF2Classifier', as in the training that goes on")):
        with checkpoint(make, path), pytest.raises(InvalidInputError, match=message) as error:
            make.fit(rows, y[: len(rows)])
        assert str(path) in str(error.value)
        assert "delete" in str(error.value)
    assert path.read_bytes() == before


def test_other_versions_are_refused_by_name(tmp_path, monkeypatch):
    y, path, model = target_of(GBRFF2Classifier), tmp_path / "state", resumable(GBRFF2Classifier)
    with monkeypatch.context() as other:
        other.setattr("rffkern._files.checkpoint.__version__", "0.0.7")
        with checkpoint(model, path):
            model.fit(X, y)
    again = resumable(GBRFF2Classifier)
    with checkpoint(again, path), pytest.raises(FormatError, match=r"written by rffkern '0\.0\.7', while this is"):
        again.fit(X, y)


def test_what_cannot_go_on_is_refused_at_once(tmp_path):
    for model in (KernelRidgeClassifier(), RFFNetClassifier(warm_start=True), "text", GBRFF2Classifier):
        with pytest.raises(InvalidInputError, match="model must be a FourierBoosting, GBRFF or sparse kernel"), \
                checkpoint(model, tmp_path / "state"):
            pass
    with pytest.raises(InvalidInputError, match="model must have warm_start=True"), \
            checkpoint(GBRFF2Classifier(), tmp_path / "state"):
        pass
    with pytest.raises(OSError, match="the folder of the output does not exist"), \
            checkpoint(resumable(GBRFF2Classifier), tmp_path / "nowhere" / "state"):
        pass


class Pair(NamedTuple):
    first: object
    second: object


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-2**140, 2**140) | st.floats() | st.text() | st.binary()
    | arrays.arrays(st.sampled_from(["<f4", "<f8", "<i8", "|u1", "|b1", "<i4"]),
                    arrays.array_shapes(min_dims=0, min_side=0)),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(st.text(), inner, max_size=3) | st.builds(Pair, inner, inner), max_leaves=8)


def equal(one, other):
    """The same types and bits."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return np.array_equal(one, other, equal_nan=True) and np.signbit(one) == np.signbit(other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(equal, one.values(), other.values()))
    return one == other


@given(TREES)
def test_values_come_back(value):
    def bits(number):
        return abs(number) if isinstance(number, float) and np.isnan(number) else number  # nan has no sign in JSON

    found = decode(b"".join(encode(value, "Some", [Pair])), "Some", [Pair])
    assert equal(bits(found), bits(value)) or "nan" in repr(value)


def test_what_is_no_state_cannot_be_written():
    for value in (np.array(["text"], dtype=object), np.array(["text"]), object(), Pair(1, 2), [{1, 2}]):
        with pytest.raises(TypeError, match=r"a checkpoint cannot hold a (ndarray|object|Pair|set)"):
            encode(value, "Some", [])


def test_generators_come_back():
    rng = np.random.default_rng(3)
    rng.random(5, dtype=np.float32)  # leaves half of a number
    found = decode(b"".join(encode(rng, "Some", [])), "Some", [])
    np.testing.assert_array_equal(found.random(9, dtype=np.float32), rng.random(9, dtype=np.float32))


def test_damaged_files_are_refused(tmp_path):
    """Each byte is one of those that the digest covers, or of the digest."""
    y, path, model = target_of(GBRFF2Classifier), tmp_path / "state", resumable(GBRFF2Classifier)
    with checkpoint(model, path):
        model.fit(X, y)
    content = path.read_bytes()
    places = np.random.default_rng(0).integers(len(content), size=40).tolist()
    damaged = [content[:k] + bytes([content[k] ^ 1]) + content[k + 1 :] for k in places]
    damaged += [content[:k] for k in (0, 5, 30, 33, 60, *places)] + [content + b"x", b"x" * 100]
    for each in damaged:
        path.write_bytes(each)
        again = resumable(GBRFF2Classifier)
        with checkpoint(again, path), pytest.raises(FormatError, match=r"state: .*; delete it to start anew"):
            again.fit(X, y)
        assert not hasattr(again, "expansion_")
        assert path.read_bytes() == each
    path.write_bytes(content)
    with pytest.raises(FormatError, match="state: a checkpoint of a training, not a model"):
        load(path)
    save(model, path)
    again = resumable(GBRFF2Classifier)
    with checkpoint(again, path), pytest.raises(FormatError, match="not a checkpoint of this package"):
        again.fit(X, y)


# A process that is killed within its third checkpoint, when the new file is written and has not yet its name.
KILLED = """
import os, signal, sys
from rffkern._cli.main import main
from rffkern._estimator import checkpoints
from rffkern._files import atomic_file
checkpoints._PAUSE, replace, n_files = 0.0, os.replace, []
def killing(source, target):
    n_files.append(target)
    if len(n_files) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
atomic_file.os.replace = killing
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
@pytest.mark.parametrize("family", ["fourier_boosting", "gbrff2"])
def test_the_command_line_goes_on_after_a_kill(tmp_path, family):
    y = target_of(GBRFF2Classifier)
    write_csv(tmp_path / "t.csv", X, y, header=[f"f{j}" for j in range(6)])
    command = ["fit", "t.csv", "--model", family, "--set", "n_estimators=12"]
    run(*command, "-o", "whole.npz", "--set", "warm_start=true", cwd=tmp_path)
    command += ["--checkpoint", "state", "-o", "m.npz"]
    for _ in range(2):
        with started([sys.executable, "-c", KILLED, *command], cwd=tmp_path) as process:
            assert process.wait(PATIENCE) == -signal.SIGKILL
        assert (tmp_path / "state").exists()
        assert not (tmp_path / "m.npz").exists()
    done = run(*command, cwd=tmp_path)
    assert "training goes on from state" in done.stderr
    assert "state keeps the state of training; delete it to train anew" in done.stderr
    assert (tmp_path / "m.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    changed = X.copy()
    changed[7, 3] += 0.5
    write_csv(tmp_path / "t.csv", changed, y, header=[f"f{j}" for j in range(6)])
    done = run(*command, cwd=tmp_path, expect=65)
    assert "X must be as in the training that goes on" in done.stderr
    assert "a new model starts anew where state is deleted" in done.stderr


def test_what_the_command_line_refuses(tmp_path):
    write_csv(tmp_path / "t.csv", X, target_of(GBRFF2Classifier), header=[f"f{j}" for j in range(6)])
    done = run("fit", "t.csv", "-o", "m.npz", "--checkpoint", "state", "--model", "rffnet", cwd=tmp_path, expect=2)
    assert "--checkpoint needs a model whose training goes on with the same bits, which rffnet is not" in done.stderr
    done = run("fit", "t.csv", "-o", "m.npz", "--checkpoint", "m.npz", cwd=tmp_path, expect=2)
    assert "MODEL and --checkpoint must be two files" in done.stderr
    done = run("fit", "t.csv", "-o", "m.npz", "--checkpoint", "t.csv", cwd=tmp_path, expect=2)
    assert "the output must not be an input" in done.stderr


def test_it_is_public():
    assert rffkern.checkpoint is checkpoint
