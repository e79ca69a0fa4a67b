"""What the classifier and the transformer share: the setting of their landmarks, and what follows from a file."""

import math
from typing import Any

from ..._rows.scaling import Scaling, scaling_in_threads
from ..._rows.threads import check_n_threads
from ..._rows.training_rows import Training
from ..spectral import resolved_gamma
from .landmark_features import KernelSettings


def prepared(model: Any, training: Training) -> tuple[Scaling, KernelSettings]:
    """The scaling of the rows, and what the kernels of a model's landmarks depend on beside them."""
    rows = training.rows
    n_numbers = math.prod(rows.X.shape)
    n_threads = check_n_threads(model.n_jobs, n_numbers * model.n_landmarks * model.n_components)
    standardize = model.standardize and training.column_map is None  # mapped columns have their units
    scaling = scaling_in_threads(rows.X, rows.weights, standardize, check_n_threads(model.n_jobs, n_numbers))
    gamma = resolved_gamma(model.gamma, standardize, scaling)
    return scaling, KernelSettings(model.n_landmarks, model.n_components, gamma, model.beta, model.landmarks,
                                   model.precision, n_threads)


def restored_components(model: Any, expansion: Any) -> dict[str, int]:
    """The number of cosines of a landmark of a model read from a file."""
    if expansion.n_terms != model.n_landmarks * model.n_components:
        raise ValueError("landmarks and terms do not agree in number")
    return {"n_components_": model.n_components}
