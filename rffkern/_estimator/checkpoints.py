"""Training that goes on: from the last call of `fit` (warm start), or from the state that a checkpoint keeps.

Below: who keeps states of a training in progress, where another process finds them, and how often.
"""

import contextlib
import hashlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import NDArray
from .._protocol.arguments import check_rng
from .._rows.row_blocks import blocks
from .._rows.training_rows import Training
from ..errors import InvalidInputError

# Parameters that may change while training goes on.  Those of rows and weights show in these.
_FREE = {"n_estimators", "early_stopping_rounds", "warm_start", "class_weight", "columns", "random_state", "n_jobs",
         "verbose", "max_seconds"}

Arrays = Iterable[NDArray[Any]]


def _remedy() -> str:
    """How to train on what is other than before."""
    store = _store.get()
    return "with warm_start=False, fit starts anew" if store is None else (
        f"a new model starts anew where {store.name} is deleted")


class RowFingerprints(NamedTuple):
    """Marks by which rows are known again: their number, and a hash of each part by its name for users."""

    n_rows: int
    parts: dict[str, bytes]

    @classmethod
    def of(cls, n_rows: int, X: Arrays, y: Arrays, weights: Arrays, eval_set: Arrays,
           has_classes: bool, groups: Arrays = ()) -> "RowFingerprints":
        """Those of rows, `eval_set` being rows, labels or targets and weights of others."""
        labels, weight = ("y", y), ("sample_weight or class_weight", weights)
        ordered = (labels, weight) if has_classes else (weight, labels)  # that first on which the other depends
        return cls(n_rows, {name: _hash(arrays) for name, arrays in (*ordered, ("X", X), ("groups", groups),
                                                                        ("eval_set", eval_set))})

    @classmethod
    def of_training(cls, training: Training) -> "RowFingerprints":
        """Those of checked rows."""
        def numbers(rows: Any) -> Arrays:
            return (block.astype(np.float64, copy=False) for _, block in blocks(rows.X))

        def targets(rows: Any) -> list[NDArray[Any]]:
            has_classes = training.classes is not None
            return [rows.codes if has_classes else rows.values, rows.weights.each]

        data = training.rows
        y, weights = targets(data)
        evaluations = (array for _, rows in training.eval_sets
                       for array in itertools.chain(targets(rows), numbers(rows)))
        return cls.of(data.X.shape[0], numbers(data), [y], [weights, np.array(data.weights.given_total)],
                      itertools.chain([marks_of_sets(training)], evaluations), training.classes is not None)

    def check(self, other: "RowFingerprints") -> None:
        """InvalidInputError unless other rows are the same."""
        if other.n_rows != self.n_rows:
            raise InvalidInputError(f"X must have the rows of the training that goes on, {self.n_rows} that count, got "
                                    f"{other.n_rows}; {_remedy()}")
        for name, mark in self.parts.items():
            if other.parts[name] != mark:
                raise InvalidInputError(f"{name} must be as in the training that goes on, got other values; "
                                        f"{_remedy()}")


def sources_of_draws(model: Any, n_sources: int, state: Any) -> tuple[list["np.random.Generator"], Sequence[int]]:
    """Generators for so many purposes, and their seeds, where training may go on: those of the state, if there is one.

    Without `warm_start` they are one generator.
    """
    rng = check_rng(model.random_state)
    if not model.warm_start:
        return [rng] * n_sources, ()
    seeds = rng.integers(1 << 63, size=n_sources).tolist() if state is None else state.seeds
    return [np.random.default_rng(seed) for seed in seeds], seeds


def marks_of_sets(training: Training) -> NDArray[np.uint8]:
    """Names and lengths of the sets of an eval_set, as numbers."""
    marks = [f"{name}\0{rows.X.shape[0]}\0" for name, rows in training.eval_sets]
    return np.frombuffer("".join(marks).encode(errors="surrogatepass"), dtype=np.uint8)


def _hash(arrays: Arrays) -> bytes:
    """A hash of the numbers of some arrays."""
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.digest()


class Checkpoint(NamedTuple):
    """What `fit` with `warm_start` goes on from, after its last round.  Nothing in it is ever changed."""

    params: dict[str, Any]  # `fixed_params` of the training that led to it
    prints: RowFingerprints
    seeds: Sequence[int]  # of the sources of random draws
    losses: tuple[Any, ...]  # as `Monitor.resume` takes them
    state: Any  # of the family

    @property
    def n_rounds(self) -> int:
        """Number of rounds that have been."""
        return len(self.losses[0]) - 1


def fixed_params(model: Any) -> dict[str, Any]:
    """The parameters that must stay while training goes on, in one form."""
    params = model.get_params(deep=False)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in params.items()
            if name not in _FREE}


def state_to_continue(model: Any, types: Sequence[type]) -> Any:
    """The state from which `fit` goes on; None to start anew.

    It is a `Checkpoint`, or has its `params`, `prints` and `n_rounds`, and is that of the model, or of a checkpoint,
    which is made of the given classes.  TrainingStateError for a model that was not trained with `warm_start` or comes
    from a file, InvalidInputError for parameters that do not agree with the state.
    """
    model._check_params()
    if not model.warm_start:
        return None
    is_fitted = hasattr(model, "expansion_")
    kept = kept_state(model, types)
    state = model._rounds_so_far() if is_fitted else kept
    if state is None and not is_fitted:
        return None
    if state is None:
        raise model._without_training_state(
            "to go on", "was read from a file or trained with warm_start=False", "call fit of a new one")
    if kept is not None and (kept.params, kept.prints) != (state.params, state.prints):
        raise InvalidInputError("model must be that of the checkpoint, got one that was trained otherwise; "
                                f"{_remedy()}")
    for key, value in fixed_params(model).items():
        if value != state.params[key]:
            raise InvalidInputError(f"{key} must be {state.params[key]!r}, as in the training that goes on, got "
                                    f"{value!r}; {_remedy()}")
    if model.n_estimators < state.n_rounds:
        raise InvalidInputError(f"n_estimators must be at least {state.n_rounds}, the rounds of the training that goes "
                                f"on, got {model.n_estimators}; {_remedy()}")
    return state


# --- stores of checkpoints

# The next state is written when training has taken so many times as long as writing the last one did.
_PAUSE = 20.0


# What keeps the states of the training of one model: `_files.checkpoint.CheckpointFile`.
_store: ContextVar[Any] = ContextVar("store", default=None)


@contextlib.contextmanager
def keeping(store: Any) -> Iterator[None]:
    """Let the fits of its model in this context be kept in a store."""
    token = _store.set(store)
    try:
        yield
    finally:
        _store.reset(token)


def kept_state(model: Any, types: Sequence[type]) -> Any:
    """The state of the training of a model that a store keeps, or None."""
    store = _store.get()
    return None if store is None or store.model is not model else store.read(types)


class CheckpointWriter:
    """Hands states to the store of the context in which it is made, if that keeps this model; from any thread."""

    def __init__(self, model: Any, types: Sequence[type]) -> None:
        store = _store.get()
        self._store = store if store is not None and store.model is model else None
        self._types, self._due, self._lock = types, 0.0, threading.Lock()

    def offer(self, make_state: Callable[[], Any], is_last: bool = False) -> None:
        """Write the state that a function makes: the first, the last, and others that come when it is time."""
        if self._store is None or not (is_last or time.monotonic() >= self._due):
            return
        with self._lock:
            started = time.monotonic()
            if is_last or started >= self._due:
                self._store.write(make_state(), self._types)
                ended = time.monotonic()
                self._due = ended + _PAUSE * (ended - started)
