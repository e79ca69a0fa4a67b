"""The state from which training continues, and the check that new rows and parameters agree with it."""

from typing import Any, NamedTuple

import numpy as np

from ..._native.array_types import NDArray
from ..._rows.scaling import Scaling
from ..._rows.training_rows import Training
from ...errors import InvalidInputError
from .network import Network

Double = NDArray[np.float64]


class TrainingState(NamedTuple):
    """A network, the units it was trained in, and the rows it has seen."""

    names: NDArray[np.object_] | None  # of columns
    network: Network
    scaling: Scaling  # of columns
    center: Double  # (n_outputs,) of targets
    scale: Double  # (n_outputs,)
    n_seen: int  # rows, in all calls
    n_samples: int  # rows of the last `fit`
    held_out: NDArray[np.intp]  # those of them that it was validated on

    def continued(self, training: Training, n_more: int) -> "TrainingState":
        """Return a copy for training on some more rows, which need not repeat the names of columns."""
        return self._replace(names=self.names if training.names is None else training.names,
                             network=self.network.copy(), n_seen=self.n_seen + n_more)


def state_to_continue(model: Any, training: Training) -> TrainingState | None:
    """The state that a model's training ended in; None before any training.

    TrainingStateError for a model read from a file, InvalidInputError if the state does not agree with the rows or the
    parameters.
    """
    if not hasattr(model, "expansion_"):
        return None
    state: TrainingState = model._require_training_state("to continue training")
    model._check_columns(training.names, training.rows.X.shape[1])
    network = state.network
    if model.n_components not in (None, network.n_terms):
        raise InvalidInputError(f"n_components must be {network.n_terms}, as in the training that it continues, or "
                                f"None, got {model.n_components}")
    if training.classes is not None and not np.array_equal(training.classes, model.classes_):
        raise InvalidInputError("y must have the classes of the training that it continues, "
                                f"{model.classes_.tolist()!r}, got {training.classes.tolist()!r}")
    if training.center.size != network.n_outputs:
        raise InvalidInputError(f"y must have {network.n_outputs} target(s), as in the training that it continues, got "
                                f"{training.center.size}")
    precision = "double" if network.dtype == np.float64 else "single"
    if model.precision != precision:
        raise InvalidInputError(f"precision must be {precision!r}, as in the training that it continues, got "
                                f"{model.precision!r}")
    return state
