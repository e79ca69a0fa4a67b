"""Files that are written while something goes wrong: whole, or as they were before."""

import errno
import os
import resource
import signal
import time

import numpy as np
from helpers.children import in_child

import rffkern
from rffkern import (
    Expansion,
    FourierBoostingClassifier,
    FourierTerms,
    GBRFF1Classifier,
    GBRFF2Classifier,
    SparseKernelClassifier,
)
from rffkern._cli.main import main as command_line
from rffkern._estimator import checkpoints

N_KILLS = 25
N_PREDICTION_KILLS = 25
N_TRAINING_KILLS = 10


def random_model(rng, n_terms=2000):
    terms = FourierTerms(rng.standard_normal((n_terms, 20)), rng.standard_normal(n_terms),
                         rng.standard_normal((n_terms, 1)))
    return Expansion([0.0], np.zeros(20), terms)


def _bytes_of(model, folder):
    rffkern.save(model, folder / "whole")
    return (folder / "whole").read_bytes()


def killed_saves(rng, folder):
    """Send SIGKILL while two models are saved to one name in turn."""
    models = [random_model(rng), random_model(rng)]
    path, expected = folder / "model.npz", [_bytes_of(model, folder) for model in models]
    started = time.monotonic()
    rffkern.save(models[0], path)
    seconds = time.monotonic() - started
    for number in range(N_KILLS):
        child = os.fork()
        if child == 0:
            while True:
                for model in models:
                    rffkern.save(model, path)
        time.sleep(rng.uniform(0.0, 3 * seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if path.read_bytes() not in expected:
            return f"kill {number}: the file is neither the old nor the new one"
    return None


def _predict(arguments):
    """Start the command line in a fork, which spares a start of Python; return its process."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            code = command_line(arguments)
        finally:
            os._exit(code)
    return child


def killed_predictions(rng, folder):
    """Send SIGKILL while the command line writes predictions over an older file."""
    X = rng.standard_normal((20_000, 5))
    rffkern.save(GBRFF2Classifier(3, n_jobs=1).fit(X[:500], X[:500, 0] > 0), folder / "model.npz")
    np.savetxt(folder / "rows.csv", X, delimiter=",", fmt="%.4f")
    arguments = ["predict", str(folder / "model.npz"), str(folder / "rows.csv"), "-o", str(folder / "out.csv")]
    started = time.monotonic()
    if os.waitpid(_predict(arguments), 0)[1]:
        return "the command line failed"
    seconds, whole = time.monotonic() - started, (folder / "out.csv").read_bytes()
    for number in range(N_PREDICTION_KILLS):
        (folder / "out.csv").write_bytes(b"old\n")
        child = _predict(arguments)
        time.sleep(rng.uniform(0.0, 1.2) * seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if (folder / "out.csv").read_bytes() not in (b"old\n", whole):
            return f"kill {number}: predictions are neither the old nor the new ones"
    return None


def killed_trainings(rng, folder):
    """Send SIGKILL while a model is trained with a checkpoint, again and again: it ends with the bits of one fit."""
    family = [FourierBoostingClassifier, GBRFF1Classifier, GBRFF2Classifier, SparseKernelClassifier][rng.integers(4)]
    X = rng.standard_normal((int(rng.integers(150, 600)), 4))
    y = rng.integers(2, 4) * (np.sin(2 * X[:, 0]) + X[:, 1] > 0) + (X[:, 2] > 1)
    params = {"n_estimators": int(rng.integers(5, 60)), "random_state": int(rng.integers(99)), "n_jobs": 1}

    def train(path):
        model = family(warm_start=True, **params)
        with rffkern.checkpoint(model, path):
            return rffkern.dumps(model.fit(X, y))

    started = time.monotonic()
    whole = train(folder / "other")
    seconds = time.monotonic() - started
    for number in range(N_TRAINING_KILLS + 1):
        child = os.fork()
        if child == 0:
            code = 70
            try:
                checkpoints._PAUSE = 0.0  # after every round
                (folder / "model").write_bytes(train(folder / "state"))
                code = 0
            finally:
                os._exit(code)
        if number < N_TRAINING_KILLS:
            time.sleep(rng.uniform(0.0, 1.0) * seconds)
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if status and not os.WIFSIGNALED(status):
            return f"{family.__name__}, {params}: the training failed after kill {number}"
        if status == 0 and (folder / "model").read_bytes() != whole:
            return f"{family.__name__}, {params}: other bits after kill {number}"
    return None


def _quota(rng, folder, n_bytes):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = int(rng.integers(0, n_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def _full_disk(rng, folder, n_bytes):
    def fail(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    os.fsync = fail


def _read_only(rng, folder, n_bytes):
    folder.chmod(0o555)
    if os.getuid() == 0:  # to whom modes do not apply
        os.setuid(65534)


def failing_saves(rng, folder):
    """A quota, a full disk, a read-only folder: OSError, the old file unchanged, and nothing beside it."""
    model = random_model(rng)
    content = _bytes_of(model, folder)
    trouble = [_quota, _full_disk, _read_only][rng.integers(3)]
    inner = folder / "inner"
    inner.mkdir(mode=0o777)
    path = inner / "model.npz"
    path.write_bytes(b"old")

    def work():
        trouble(rng, inner, len(content))
        try:
            rffkern.save(model, path)
        except OSError:
            return None
        return "no OSError"

    ended = in_child(work, seconds=30)
    inner.chmod(0o755)
    if ended != ("done", None):
        return f"{trouble.__name__}: {ended.how} {ended.value}"
    if path.read_bytes() != b"old":
        return f"{trouble.__name__}: the old file has changed"
    left = [name for name in os.listdir(inner) if name != path.name]
    return f"{trouble.__name__}: {left} is left" if left else None
