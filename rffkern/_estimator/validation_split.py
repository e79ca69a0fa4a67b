"""Validation rows that an estimator splits off its training rows, by the parameter `validation_fraction`."""

from typing import Any

import numpy as np

from .._column_map.copies import merged_weights
from .._native.array_types import Indices
from .._rows.groups import Division
from .._rows.row_blocks import RowBlocks, take_rows
from .._rows.training_rows import Training
from .._rows.validation import as_numeric, check_labels, to_array
from .._rows.weights import RowWeights, check_weights
from ..errors import InvalidInputError


def check_training(model: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any,
                   rng: "np.random.Generator") -> Training:
    """Check training rows, and split off validation rows if the model asks for it and there is no eval_set.

    A column map learns nothing of the validation rows, which copy no row that is learned from.
    """
    if model.validation_fraction is None or eval_set is not None:
        return model._check_training(X, y, sample_weight, eval_set)
    model._check_params()
    sample_weight = merged_weights(X, y, sample_weight)
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
