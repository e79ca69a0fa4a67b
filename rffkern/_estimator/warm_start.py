"""Training that goes on: which state it goes on from, and whether rows and parameters are those it was reached with."""

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._native.array_types import NDArray
from .._rows.row_blocks import blocks
from .._rows.training_rows import Training
from ..errors import InvalidInputError

# Parameters that may change while training goes on.  Those of rows and weights show in these.
_FREE = {"n_estimators", "early_stopping_rounds", "warm_start", "class_weight", "columns", "random_state", "n_jobs",
         "verbose"}
_REMEDY = "with warm_start=False, fit starts anew"

Arrays = Iterable[NDArray[Any]]


class RowPrints(NamedTuple):
    """Marks by which rows are known again: their number, and a hash of each part by its name for users."""

    n_rows: int
    parts: dict[str, bytes]

    @classmethod
    def of(cls, n_rows: int, X: Arrays, y: Arrays, weights: Arrays, eval_set: Arrays,
           has_classes: bool) -> "RowPrints":
        """Those of rows, `eval_set` being rows, labels or targets and weights of others."""
        labels, weight = ("y", y), ("sample_weight or class_weight", weights)
        ordered = (labels, weight) if has_classes else (weight, labels)  # that first on which the other depends
        return cls(n_rows, {name: _hash(arrays) for name, arrays in (*ordered, ("X", X), ("eval_set", eval_set))})

    @classmethod
    def of_training(cls, training: Training) -> "RowPrints":
        """Those of checked rows."""
        def numbers(rows: Any) -> Arrays:
            return () if rows is None else (block.astype(np.float64, copy=False) for _, block in blocks(rows.X))

        def targets(rows: Any) -> list[NDArray[Any]]:
            has_classes = training.classes is not None
            return [] if rows is None else [rows.codes if has_classes else rows.values, rows.weights.each]

        data, held_out = training.rows, [rows for _, rows in training.watched] or [training.evaluation]
        y, weights = targets(data)
        evaluations = (array for rows in held_out for array in itertools.chain(targets(rows), numbers(rows)))
        return cls.of(data.X.shape[0], numbers(data), [y], [weights],
                      itertools.chain([marks_of_sets(training)], evaluations), training.classes is not None)

    def check(self, other: "RowPrints") -> None:
        """InvalidInputError unless other rows are the same."""
        if other.n_rows != self.n_rows:
            raise InvalidInputError(f"X must have the rows of the training that goes on, {self.n_rows} that count, got "
                                    f"{other.n_rows}; {_REMEDY}")
        for name, mark in self.parts.items():
            if other.parts[name] != mark:
                raise InvalidInputError(f"{name} must be as in the training that goes on, got other values; {_REMEDY}")


def marks_of_sets(training: Training) -> NDArray[np.uint8]:
    """Names and lengths of the sets of an eval_set, as numbers."""
    marks = [f"{name}\0{rows.X.shape[0]}\0" for name, rows in training.watched]
    return np.frombuffer("".join(marks).encode(errors="surrogatepass"), dtype=np.uint8)


def _hash(arrays: Arrays) -> bytes:
    """A hash of the numbers of some arrays."""
    import hashlib  # slow to load, and seldom needed

    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.digest()


class RoundsSoFar(Protocol):
    """A state that training goes on from."""

    @property
    def params(self) -> dict[str, Any]:
        """`fixed_params` of the training that led to it."""

    @property
    def n_rounds(self) -> int:
        """Number of rounds that have been."""


def fixed_params(model: Any) -> dict[str, Any]:
    """The parameters that must stay while training goes on, in one form."""
    params = model.get_params(deep=False)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in params.items()
            if name not in _FREE}


def state_to_continue(model: Any) -> Any:
    """The state from which `fit` goes on, one of `RoundsSoFar`; None to start anew.

    TrainingStateError for a model that was not trained with `warm_start` or comes from a file, InvalidInputError for
    parameters that do not agree with the state.
    """
    model._check_params()
    if not model.warm_start or not hasattr(model, "expansion_"):
        return None
    state: RoundsSoFar | None = model._rounds_so_far()
    if state is None:
        raise model._without_training_state(
            "to go on", "was read from a file or trained with warm_start=False", "call fit of a new one")
    for key, value in fixed_params(model).items():
        if value != state.params[key]:
            raise InvalidInputError(f"{key} must be {state.params[key]!r}, as in the training that goes on, got "
                                    f"{value!r}; {_REMEDY}")
    if model.n_estimators < state.n_rounds:
        raise InvalidInputError(f"n_estimators must be at least {state.n_rounds}, the rounds of the training that goes "
                                f"on, got {model.n_estimators}; {_REMEDY}")
    return state
