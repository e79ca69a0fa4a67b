"""Weights of classes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._native.array_types import NDArray
from .._protocol.arguments import Number
from .._rows.validation import LARGEST_VALUE
from ..errors import InvalidInputError

if TYPE_CHECKING:  # a model that scores loads no training
    from .._rows.training_rows import Training

_BALANCED = "balanced"
_FACTOR = Number(float, 0, 1e100, open_low=True)


class ClassWeights:
    """Accept None, "balanced", or a dict of labels and factors."""

    domain = 'dict of labels and numbers > 0, "balanced" or None'

    def __call__(self, name: str, value: Any) -> None:
        """Raise InvalidInputError unless the value is accepted."""
        if value is None or (isinstance(value, str) and value == _BALANCED):
            return
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{name} must be a dict of labels and numbers > 0, {_BALANCED!r} or None, got "
                                    f"{value!r}")
        for label, factor in value.items():
            _FACTOR(f"{name} of {label!r}", factor)


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


def with_class_weights(training: "Training", class_weight: Any) -> "Training":
    """The same rows, weighted by their classes; held-out rows of an `eval_set` count as they are given."""
    from .._rows.weights import RowWeights  # which scoring does not need

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
