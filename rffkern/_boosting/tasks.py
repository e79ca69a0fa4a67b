"""What the two estimators train by: the loss of their targets, and the pace of their rounds."""

from typing import TYPE_CHECKING, Any

from .._estimator.base import Fitted
from .._estimator.warm_start import state_to_continue
from .._kernels import boosting
from ..errors import InvalidInputError
from .counts import as_counts
from .fit import train
from .losses import ClassLoss, CountLoss, ValueLoss
from .members import Callback, Pace

if TYPE_CHECKING:
    from .estimators import FourierBoostingClassifier, FourierBoostingRegressor


def fit_classes(model: "FourierBoostingClassifier", X: Any, y: Any, sample_weight: Any, eval_set: Any,
                callback: Callback | None) -> Fitted:
    """Train a classifier."""
    before = state_to_continue(model)
    training = model._check_training(X, y, sample_weight, eval_set)
    n_classes = training.rows.n_classes
    pace = Pace(1.0, 1.0, 0.01) if n_classes == 2 else Pace(2.0, 4.0, 0.01)
    handed_over = [training]  # so that training can let go of mapped rows
    del training
    return train(model, handed_over.pop(), ClassLoss(n_classes), pace, callback, before)


def fit_targets(model: "FourierBoostingRegressor", X: Any, y: Any, sample_weight: Any, eval_set: Any,
                callback: Callback | None) -> Fitted:
    """Train a regressor."""
    before = state_to_continue(model)
    training = model._check_training(X, y, sample_weight, eval_set)
    loss: Any = CountLoss()
    if model.loss == "poisson":
        training = as_counts(training)
    else:
        quantiles = model._quantiles()
        kernels = {"squared": (boosting.SQUARED, (0.0,)), "huber": (boosting.HUBER, (model.delta,)),
                   "quantile": (boosting.QUANTILE, quantiles)}
        loss = ValueLoss(*kernels[model.loss])
        if model.loss == "quantile" and len(quantiles) > 1 and training.rows.values.shape[1] > 1:
            raise InvalidInputError(f"y must be one target for several quantiles, got {training.rows.values.shape[1]}")
    pace = Pace(2.0, 4.0, 0.05) if model.loss == "quantile" else Pace(1.0, 2.0, 0.05)
    handed_over = [training]  # so that training can let go of mapped rows
    del training
    return train(model, handed_over.pop(), loss, pace, callback, before)
