"""What the regressor and the classifier share."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._estimator.base import Model
from ..._model.expansion import Expansion
from ..._native.array_types import NDArray
from ..._rows.training_rows import Training
from .parameters import ARGUMENTS
from .problem import rows_held_out
from .relevance import importances, relevances_of_columns, top_k
from .training import CURVES, restored_training
from .training_state import TrainingState, state_to_continue

Double = NDArray[np.float64]


class RFFNet(Model):
    """What the regressor and the classifier share."""

    _fitted_curves = CURVES
    _arguments = ARGUMENTS

    _keeps_map = True

    warm_start: bool
    validation_fraction: float
    relevances_: Double

    @property
    def feature_importances_(self) -> Double:
        """`relevances_` over the largest of them."""
        return importances(relevances_of_columns(self))

    def _state_to_continue(self, training: Training) -> TrainingState | None:
        """The state from which `fit` continues; None to start anew."""
        return state_to_continue(self, training) if self.warm_start else None

    def _held_out(self, y: Any, sample_weight: Any, eval_set: Any, rng: "np.random.Generator") -> Any:
        """Indices of the rows that `fit` will hold out, from which a map must not learn; None without a map."""
        if self.columns is None or eval_set is not None:
            return None
        self._check_params()
        return rows_held_out(y, sample_weight, self.validation_fraction, rng)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        return super()._restored(expansion, arrays, classes) | restored_training(expansion, arrays)

    def select_top_k(self, k: int) -> NDArray[np.intp]:
        """Return the indices of the columns of largest relevance.

        Parameters
        ----------
        k : int in [1, n_features]
            Number of columns.

        Returns
        -------
        array of shape (k,), the most relevant column first
        """
        return top_k(self, k)
