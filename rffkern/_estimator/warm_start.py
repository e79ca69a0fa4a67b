"""The state from which boosting goes on, and the check that rows and parameters are those it was reached with."""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError, TrainingStateError
from .member import Standing
from .rows import Columns, Layout

# Parameters that may change while training goes on.  Those of rows and weights show in these.
_FREE = {"n_estimators", "early_stopping_rounds", "warm_start", "class_weight", "columns", "random_state", "n_threads",
         "verbose"}


class RowPrints(NamedTuple):
    """Marks by which rows are known again: their number, and a hash of each part by its name for users."""

    n_rows: int
    parts: dict[str, bytes]

    @classmethod
    def of(cls, columns: Columns, targets: NDArray[Any], weights: NDArray[np.float64], n_rows: int,
           has_classes: bool) -> "RowPrints":
        """Those of rows, the first `n_rows` of which are not of an `eval_set`."""
        learned, given = slice(n_rows), slice(n_rows, None)
        labels, weight = ("y", _hash(targets[:, learned])), ("sample_weight or class_weight", _hash([weights[learned]]))
        parts = dict((labels, weight) if has_classes else (weight, labels))  # that first on which the other depends
        parts["X"] = _hash([columns.sources, columns.bins.columns, *columns.values[:, learned]])
        parts["eval_set"] = _hash([weights[given], *targets[:, given], *columns.values[:, given]])
        return cls(n_rows, parts)

    def check(self, other: "RowPrints") -> None:
        """InvalidInputError unless other rows are the same."""
        if other.n_rows != self.n_rows:
            raise InvalidInputError(f"X must have the rows of the training that goes on, {self.n_rows} that count, got "
                                    f"{other.n_rows}; {_REMEDY}")
        for name, mark in self.parts.items():
            if other.parts[name] != mark:
                raise InvalidInputError(f"{name} must be as in the training that goes on, got other values; {_REMEDY}")


_REMEDY = "with warm_start=False, fit starts anew"


def _hash(arrays: Any) -> bytes:
    """A hash of the numbers of some arrays."""
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.digest()


class TrainingState(NamedTuple):
    """Where the members of a model stand.  Nothing in it is ever changed."""

    params: dict[str, Any]
    prints: RowPrints
    layouts: Sequence[Layout]
    standings: Sequence[Standing]


def fixed_params(model: Any) -> dict[str, Any]:
    """The parameters that must stay while training goes on, in one form."""
    params = model.get_params(deep=False)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in params.items()
            if name not in _FREE}


def state_to_continue(model: Any) -> TrainingState | None:
    """The state from which `fit` goes on; None to start anew.

    TrainingStateError for a model that was not trained with `warm_start` or comes from a file, InvalidInputError for
    parameters that do not agree with the state.
    """
    model._check_params()
    if not model.warm_start or not hasattr(model, "expansion_"):
        return None
    name = type(model).__name__
    state: TrainingState | None = vars(model).get("_training_state")
    if state is None:
        raise TrainingStateError(f"this {name} was read from a file or trained with warm_start=False, which keeps the "
                                 "trained function but not what is needed to go on: call fit of a new one")
    for key, value in fixed_params(model).items():
        if value != state.params[key]:
            raise InvalidInputError(f"{key} must be {state.params[key]!r}, as in the training that goes on, got "
                                    f"{value!r}; {_REMEDY}")
    n_rounds = max(len(standing.taken) for standing in state.standings)
    if model.n_estimators < n_rounds:
        raise InvalidInputError(f"n_estimators must be at least {n_rounds}, the rounds of the training that goes on, "
                                f"got {model.n_estimators}; {_REMEDY}")
    return state
