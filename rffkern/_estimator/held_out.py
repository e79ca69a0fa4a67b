"""Rows that are held out of training where no `eval_set` is given: `validation_fraction`."""

from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import NDArray
from .._rows.row_blocks import RowBlocks, take_rows
from .._rows.training_rows import Training
from .._rows.validation import as_numeric, check_labels, to_array
from .._rows.weights import RowWeights, check_weights
from ..errors import InvalidInputError

Indices = NDArray[np.intp]


def check_training(model: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any,
                   rng: "np.random.Generator") -> Training:
    """Check training rows, and hold some of them out where the model says so and there is no eval_set.

    A column map learns nothing of the rows held out.
    """
    if model.validation_fraction is None or eval_set is not None:
        training: Training = model._check_training(X, y, sample_weight, eval_set)
        return training
    model._check_params()
    try:
        held_out = HeldOut.of(y, sample_weight, model.validation_fraction, model._has_labels, rng)
    except InvalidInputError:
        model._check_training(X, y, sample_weight)  # says better what is wrong with y or the weights
        raise
    return held_out.split(model._check_training(X, y, sample_weight, unmapped=held_out.given))


class HeldOut(NamedTuple):
    """Rows held out, sorted, by their index among the rows that are given and among those of positive weight."""

    given: Indices
    positive: Indices

    @classmethod
    def of(cls, y: Any, sample_weight: Any, fraction: float, has_labels: bool,
           rng: "np.random.Generator") -> "HeldOut":
        """Draw them: a share of all rows, of each class alike; one row of each class is always learned from."""
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
        held_out = np.sort(order[np.diff(reached)[: len(order)] > 0])
        if not len(held_out):
            raise InvalidInputError(f"validation_fraction must hold out at least one of {len(counting)} rows of "
                                    f"positive weight, got {fraction}")
        return cls(counting[held_out], held_out)

    def split(self, training: Training) -> Training:
        """The rows to learn from, and those held out as its evaluation.

        Streamed rows stay, those held out with a weight of 0.
        """
        rows = training.rows
        if not isinstance(rows.X, RowBlocks):
            kept = np.delete(np.arange(rows.X.shape[0]), self.positive)
            learned = rows.taken(kept)
            weights = _anew(rows.weights, kept)
            return training._replace(rows=learned._replace(weights=weights), evaluation=rows.taken(self.positive))
        each = rows.weights.each.copy()
        each[self.given] = 0
        weights = check_weights(rows.weights.unit * each, len(each))
        evaluation = rows._replace(X=take_rows(rows.X, self.given), weights=rows.weights.of(self.given))
        name = "codes" if training.classes is not None else "values"
        evaluation = evaluation._replace(**{name: getattr(rows, name)[self.given]})
        return training._replace(rows=rows._replace(weights=weights), evaluation=evaluation)


def _anew(weights: RowWeights, rows: Indices) -> RowWeights:
    """The weights of some rows, as if these were all that were given."""
    if weights.is_uniform:
        return RowWeights(len(rows), None, weights.unit * len(rows))
    return check_weights(weights.unit * weights.each[rows], len(rows))
