"""Early stopping by a metric of the user, computed from the predictions of bags for their validation rows."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._estimator.links import SoftmaxLink, probabilities
from ...errors import InvalidInputError
from .losses import LossData
from .training_rows import RowOrder

Double = NDArray[np.float64]


def check_eval_metric(eval_metric: Any) -> None:
    """InvalidInputError unless it is callable or None."""
    if eval_metric is not None and not callable(eval_metric):
        raise InvalidInputError("eval_metric must be a callable of (y_true, y_pred) or None, got "
                                f"{type(eval_metric).__name__}: metrics of scikit-learn are such callables")


class ValidationMetric(NamedTuple):
    """The metric of a user on the validation rows of a bag."""

    function: Callable[..., Any]
    y_true: NDArray[Any]  # labels, or targets (n_samples,) or (n_samples, n_targets)
    weights: Double  # (n_samples,) in proportion to those given
    predictions: Callable[[Any], Double]  # from the scores of the validation rows

    def __call__(self, scores: Any) -> tuple[str, float, float]:
        """Name, value, and the value with the sign with which less is better."""
        try:
            takes_weights = "sample_weight" in inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # of compiled code
            takes_weights = False
        found = self.function(self.y_true, self.predictions(scores),
                              **{"sample_weight": self.weights} if takes_weights else {})
        name, value, is_higher_better = found if isinstance(found, tuple) and len(found) == 3 else (
            getattr(self.function, "__name__", "eval_metric"), found, False)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise InvalidInputError("eval_metric must return a finite number, or (name, number, is_higher_better), got "
                                    f"{found!r}")
        return str(name), number, -number if is_higher_better else number


def validation_metrics(eval_metric: Callable[..., Any], orders: Sequence[RowOrder], data: LossData, targets: Double,
                       weights: Double, center: Double, scale: Double, classes: NDArray[Any] | None
                       ) -> list[ValidationMetric | None]:
    """The metric of each bag, None of one without validation rows.

    Parameters
    ----------
    eval_metric : callable
    orders : one for each bag
    data : LossData
    targets : array of shape (n_targets, n_rows)
        Class indices, or targets in units of `scale`, which is exp(`center`) for losses of means.
    weights : array of shape (n_rows,)
    center, scale : arrays of shape (n_targets,)
    classes : array or None
    """
    found: list[ValidationMetric | None] = []
    for order in orders:
        rows = order.validation_rows()
        if not len(rows):
            found.append(None)
            continue
        # What scores are less: the targets of values.
        offsets = (data.intercept[:, None] - data.initial_scores[:, rows]).astype(np.float64)

        def predictions(scores: Any, order: RowOrder = order, offsets: Double = offsets) -> Double:
            own = order.validation_scores(scores).astype(np.float64)
            if data.loss.link == "softmax":
                proba = probabilities(SoftmaxLink(), own.T)
                return proba[:, 1] if len(own) == 1 else proba
            if data.loss.link == "log":
                own = np.exp(center[:, None] + own)
            else:
                own = center[:, None] + scale[:, None] * (offsets + own)
            return own[0] if len(own) == 1 else own.T

        truth: Any
        if classes is not None:
            truth = classes[targets[0, rows].astype(np.intp)]
        else:
            values = targets[:, rows] * np.exp(center)[:, None] if data.loss.link == "log" else \
                center[:, None] + scale[:, None] * targets[:, rows]
            truth = values[0] if len(values) == 1 else values.T
        found.append(ValidationMetric(eval_metric, truth, weights[rows], predictions))
    return found
