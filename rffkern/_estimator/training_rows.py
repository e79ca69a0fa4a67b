"""Rows that an estimator is trained on: class weights, validation rows, and training that continues."""

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import NDArray
from .._protocol.arguments import check_rng
from .._rows.groups import Division
from .._rows.row_blocks import RowBlocks, blocks, take_rows
from .._rows.training_rows import Training
from .._rows.validation import LARGEST_VALUE, as_numeric, check_labels, to_array
from .._rows.weights import RowWeights, check_weights
from ..errors import InvalidInputError
from .checkpoints import current_store, kept_state


def class_factors(class_weight: Any, classes: Any, totals: NDArray[Any]) -> NDArray[np.float64]:
    """What the weights of the rows of each class are multiplied by, of classes and the sums of their weights."""
    if isinstance(class_weight, str):
        balanced: NDArray[np.float64] = totals.sum() / (len(totals) * np.maximum(totals, 1e-300))
        return balanced
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise InvalidInputError(f"class_weight must have labels of y, got {unknown[0]!r}")
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])


def with_class_weights(training: Training, class_weight: Any) -> Training:
    """The same rows, weighted by their classes; validation rows keep their weights."""
    if class_weight is None:
        return training
    rows = training.rows
    totals = np.bincount(rows.codes, rows.weights.each, minlength=rows.n_classes)
    factors = class_factors(class_weight, training.classes, totals)
    each = rows.weights.each * factors[rows.codes]
    with np.errstate(over="ignore"):
        given_total = min(float(rows.weights.unit * each.sum()), LARGEST_VALUE)
    each = each / each[each > 0].mean()
    return training._replace(rows=rows._replace(weights=RowWeights(len(each), each, given_total)))


Indices = NDArray[np.intp]


def check_training(model: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any,
                   rng: "np.random.Generator") -> Training:
    """Check training rows, and split off validation rows if the model asks for it and there is no eval_set.

    A column map learns nothing of the validation rows.
    """
    if model.validation_fraction is None or eval_set is not None:
        training: Training = model._check_training(X, y, sample_weight, eval_set)
        return training
    model._check_params()
    try:
        validation, positive = validation_rows(y, sample_weight, model.validation_fraction, model._has_labels, rng)
    except InvalidInputError:
        model._check_training(X, y, sample_weight)  # says better what is wrong with y or the weights
        raise
    training = model._check_training(X, y, sample_weight, division=Division(held_out=validation))
    return _split(training, validation, positive)


def validation_rows(y: Any, sample_weight: Any, fraction: float, has_labels: bool,
                    rng: "np.random.Generator") -> tuple[Indices, Indices]:
    """Sorted indices of validation rows among all rows of `fit`, and among those of positive weight.

    They are a share of the latter, stratified by class; one row of each class is always a training row.
    """
    targets = to_array(y, "y")
    n_samples = len(np.atleast_1d(targets))
    counting = np.arange(n_samples)
    if sample_weight is not None:
        counting = np.flatnonzero(np.ravel(as_numeric(sample_weight, "sample_weight"))[:n_samples])
    codes = np.zeros(n_samples, dtype=np.intp)
    if has_labels:
        _, codes = check_labels(targets.ravel() if targets.shape == (n_samples, 1) else targets, n_samples)
    order = rng.permutation(len(counting))
    order = order[np.argsort(codes[counting[order]], kind="stable")]
    _, first = np.unique(codes[counting[order]], return_index=True)
    order = np.delete(order, first)
    reached = np.floor(fraction * np.arange(len(counting) - len(order), len(counting) + 1))
    validation = np.sort(order[np.diff(reached)[: len(order)] > 0])
    if not len(validation):
        raise InvalidInputError(f"validation_fraction must hold out at least one of {len(counting)} rows of "
                                f"positive weight, got {fraction}")
    return counting[validation], validation


def _split(training: Training, validation: Indices, positive: Indices) -> Training:
    """Training rows without the validation rows, which are its eval_set; streamed rows stay, with a weight of 0."""
    rows = training.rows
    if not isinstance(rows.X, RowBlocks):
        kept = np.delete(np.arange(rows.X.shape[0]), positive)
        kept_rows = rows.taken(kept)._replace(weights=_anew(rows.weights, kept))
        return training._replace(rows=kept_rows, eval_sets=(("valid_0", rows.taken(positive)),))
    each = rows.weights.each.copy()
    each[validation] = 0
    weights = check_weights(rows.weights.unit * each, len(each))
    held_out = rows._replace(X=take_rows(rows.X, validation), weights=rows.weights.of(validation))
    name = "codes" if training.classes is not None else "values"
    held_out = held_out._replace(**{name: getattr(rows, name)[validation]})
    return training._replace(rows=rows._replace(weights=weights), eval_sets=(("valid_0", held_out),))


def _anew(weights: RowWeights, rows: Indices) -> RowWeights:
    """The weights of some rows, as if there were no others."""
    if weights.is_uniform:
        return RowWeights(len(rows), None, weights.unit * len(rows))
    return check_weights(weights.unit * weights.each[rows], len(rows))


# Parameters that may change while training goes on.  Those of rows and weights show in these.
_FREE = {"n_estimators", "early_stopping_rounds", "warm_start", "class_weight", "columns", "random_state", "n_jobs",
         "verbose", "max_seconds"}

Arrays = Iterable[NDArray[Any]]


def _remedy() -> str:
    """How to train on what is other than before."""
    store = current_store()
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
        return cls.of(data.X.shape[0], numbers(data), [y], [weights],
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
