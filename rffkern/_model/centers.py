"""Centers of kernels and their weights, padded as the kernels read them."""

from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import DTypeLike, NDArray

_N_PROBES = 200  # centers at which a sum is judged, about


class PackedCenters(NamedTuple):
    """Centers and weights as kernels read them: in units of 2^-|x - z|^2, padded with zeros to a multiple."""

    middle: NDArray[np.float64]  # (n_features,) from which rows and centers are measured
    scale: NDArray[np.float64]  # (n_features,) factor on a difference of rows
    centers: NDArray[Any]  # (n_padded, n_features)
    weights: NDArray[np.float64]  # (n_outputs, n_padded)


def probes(centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """About 200 of the centers, spread over all, at which a sum of kernels is judged."""
    return np.ascontiguousarray(centers[:: len(centers) // _N_PROBES + 1])


def pad_centers(centers: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Centers, padded with 0 to the multiple that kernels read."""
    from .._native import sparse  # here, so that a model of cosines does not load it

    multiple = sparse.CENTER_MULTIPLE
    padded = np.zeros((-(-len(centers) // multiple) * multiple, centers.shape[1]), dtype)
    padded[: len(centers)] = centers
    return padded


def pad_weights(weights: NDArray[np.float64], n_centers: int) -> NDArray[np.float64]:
    """Weights (n_outputs, n_centers), padded with 0 to a number of centers."""
    padded = np.zeros((len(weights), n_centers))
    padded[:, : weights.shape[1]] = weights
    return padded
