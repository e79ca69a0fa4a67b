"""What the two estimators train by: the loss of their targets, and the pace of their rounds."""

from typing import TYPE_CHECKING, Any

from ..._estimator.base import Fitted
from ..._estimator.warm_start import state_to_continue
from ..._native import boosting
from ...errors import InvalidInputError
from .counts import as_counts
from .fit import train
from .losses import ClassLoss, CountLoss, Loss, ValueLoss
from .members import Callback
from .rules import Pace

if TYPE_CHECKING:
    from .estimators import FourierBoostingClassifier, FourierBoostingRegressor

_TWO_CLASSES = Pace((1.0, 1.0), (1.0, 1.0), 0.01)
_CLASSES = Pace((2.0, 4.0), (0.6, 1.2), 0.01)
_VALUES = Pace((1.0, 2.0), (0.8, 1.5), 0.05)
_QUANTILES = Pace((2.0, 4.0), (1.0, 2.0), 0.05)


def fit_classes(model: "FourierBoostingClassifier", X: Any, y: Any, sample_weight: Any, eval_set: Any,
                callback: Callback | None) -> Fitted:
    """Train a classifier."""
    before = state_to_continue(model)
    training = model._check_training(X, y, sample_weight, eval_set)
    n_classes = training.rows.n_classes
    handed_over = [training]  # so that training can let go of mapped rows
    del training
    return train(model, handed_over.pop(), *loss_of_classes(n_classes), callback, before)


def fit_targets(model: "FourierBoostingRegressor", X: Any, y: Any, sample_weight: Any, eval_set: Any,
                callback: Callback | None) -> Fitted:
    """Train a regressor."""
    before = state_to_continue(model)
    training = model._check_training(X, y, sample_weight, eval_set)
    loss, pace = loss_of_targets(model, training.rows.values.shape[1])
    if model.loss == "poisson":
        training = as_counts(training)
    handed_over = [training]  # so that training can let go of mapped rows
    del training
    return train(model, handed_over.pop(), loss, pace, callback, before)


def loss_of_classes(n_classes: int) -> tuple[Loss, Pace]:
    """The loss of a classifier, and the pace of its rounds."""
    return ClassLoss(n_classes), _TWO_CLASSES if n_classes == 2 else _CLASSES


def loss_of_targets(model: "FourierBoostingRegressor", n_targets: int) -> tuple[Loss, Pace]:
    """The loss of a regressor, and the pace of its rounds."""
    if model.loss == "poisson":
        return CountLoss(), _VALUES
    quantiles = model._quantiles()
    if model.loss == "quantile" and len(quantiles) > 1 and n_targets > 1:
        raise InvalidInputError(f"y must be one target for several quantiles, got {n_targets}")
    kernels = {"squared_error": (boosting.SQUARED, (0.0,)), "huber": (boosting.HUBER, (model.delta,)),
               "quantile": (boosting.QUANTILE, quantiles)}
    return ValueLoss(*kernels[model.loss]), _QUANTILES if model.loss == "quantile" else _VALUES
