"""Early stopping by a metric of the user, computed from the predictions of bags for their validation rows."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..._estimator.links import SoftmaxLink, probabilities
from ..._native.array_types import Double, NDArray
from ...errors import InvalidInputError
from .training_rows import RowOrder, Table

# From the scores of the rows of a bag: name, value, and the value with the sign with which less is better.
ValidationMetric: TypeAlias = Callable[[Any], tuple[str, float, float]]


def check_eval_metric(eval_metric: Any) -> None:
    """InvalidInputError unless it is callable or None."""
    if eval_metric is not None and not callable(eval_metric):
        raise InvalidInputError("eval_metric must be a callable of (y_true, y_pred) or None, got "
                                f"{type(eval_metric).__name__}: metrics of scikit-learn are such callables")


def validation_metrics(eval_metric: Callable[..., Any], orders: Sequence[RowOrder], table: Table, center: Double,
                       scale: Double, classes: NDArray[Any] | None) -> list[ValidationMetric | None]:
    """The metric of each bag, None of one without validation rows.

    Parameters
    ----------
    orders : one for each bag
    table : Table
        With targets in units of `scale`, which is exp(`center`) for losses of means.
    center, scale : arrays of shape (n_targets,)
    classes : array or None
    """
    try:
        takes_weights = "sample_weight" in inspect.signature(eval_metric).parameters
    except (TypeError, ValueError):  # of compiled code
        takes_weights = False
    data, link = table.data, table.data.loss.link

    def in_units(values: Double) -> Any:
        """Targets as they were given."""
        values = values * np.exp(center)[:, None] if link == "log" else center[:, None] + scale[:, None] * values
        return values[0] if len(values) == 1 else values.T

    def of_bag(order: RowOrder) -> ValidationMetric | None:
        rows = order.validation_rows()
        if not len(rows):
            return None
        codes_or_values = table.targets[:, rows]
        truth = in_units(codes_or_values) if classes is None else classes[codes_or_values[0].astype(np.intp)]
        values = data.values(rows)  # which scores are less, if they are of values

        def predictions(scores: Any) -> Double:
            own = order.validation_scores(scores).astype(np.float64)
            if link == "softmax":
                proba = probabilities(SoftmaxLink(), own.T)
                return proba[:, 1] if len(own) == 1 else proba
            if link == "identity":
                return in_units(values + own)
            return np.exp(center[:, None] + own)[0]

        def metric(scores: Any) -> tuple[str, float, float]:
            found = eval_metric(truth, predictions(scores),
                                **{"sample_weight": table.weights[rows]} if takes_weights else {})
            name, value, is_higher_better = found if isinstance(found, tuple) and len(found) == 3 else (
                getattr(eval_metric, "__name__", "eval_metric"), found, False)
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = np.nan
            if not np.isfinite(number):
                raise InvalidInputError("eval_metric must return a finite number, or (name, number, is_higher_better), "
                                        f"got {found!r}")
            return str(name), number, -number if is_higher_better else number

        return metric

    return [of_bag(order) for order in orders]
