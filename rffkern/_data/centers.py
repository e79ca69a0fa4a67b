"""Centers of kernels and their weights, padded as the kernels read them."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def pad_centers(centers: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Centers, padded with 0 to the multiple that kernels read."""
    from .._kernels import sparse_columns  # here, so that a model of cosines does not load it

    multiple = sparse_columns.CENTER_MULTIPLE
    padded = np.zeros((-(-len(centers) // multiple) * multiple, centers.shape[1]), dtype)
    padded[: len(centers)] = centers
    return padded


def pad_weights(weights: NDArray[np.float64], n_centers: int) -> NDArray[np.float64]:
    """Weights (n_outputs, n_centers), padded with 0 to a number of centers."""
    padded = np.zeros((len(weights), n_centers))
    padded[:, : weights.shape[1]] = weights
    return padded
