"""K-means clustering, for landmarks that represent many rows."""

import numpy as np

from ..._native.array_types import NDArray

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

_MAX_ITERATIONS = 100

# Number of rows whose distances to all centers are held at a time, and of multiply-adds that they may take: NumPy does
# not look at signals before it is done.
_ROWS_AT_A_TIME = 1024
_MULTIPLY_ADDS = 1 << 27


def _nearest(X: Double, centers: Double) -> tuple[Indices, Double]:
    """Index of the nearest center of each row, and its squared distance.

    Not by the BLAS, whose sums may depend on its number of threads.
    """
    index, distance = np.empty(len(X), np.intp), np.empty(len(X))
    lengths = np.einsum("kj,kj->k", centers, centers)
    step = max(1, min(_ROWS_AT_A_TIME, _MULTIPLY_ADDS // centers.size))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        squares = lengths - 2 * np.einsum("ij,kj->ik", X[rows], centers)
        index[rows] = squares.argmin(axis=1)
        distance[rows] = squares.min(axis=1) + np.einsum("ij,ij->i", X[rows], X[rows])
    return index, np.maximum(distance, 0.0)


def _seed_centers(X: Double, weight: Double, n_centers: int, rng: "np.random.Generator") -> Double:
    """K-means++: rows drawn with a probability proportional to weight times squared distance to the centers before."""
    centers = np.empty((n_centers, X.shape[1]))
    odds = weight
    nearest = np.full(len(X), np.inf)
    for k in range(n_centers):
        cumulative = np.cumsum(odds)
        index = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        centers[k] = X[min(index, len(X) - 1)]
        nearest = np.minimum(nearest, _nearest(X, centers[k : k + 1])[1])
        odds = weight * nearest
        if not odds.any():  # every row is a center already
            odds = weight
    return centers


def kmeans(X: Double, weight: Double, n_centers: int, rng: "np.random.Generator") -> Double:
    """Return cluster centers by Lloyd's iterations until no row changes its cluster, 100 at most.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
    weight : float64 array of shape (n_samples,), positive
    n_centers : int >= 1; with fewer distinct rows than that, rows repeat
    rng : numpy.random.Generator, of which n_centers uniform numbers are used

    Returns
    -------
    float64 array of shape (n_centers, n_features)
    """
    centers = _seed_centers(X, weight, n_centers, rng)
    members = np.full(len(X), -1)
    for _ in range(_MAX_ITERATIONS):
        nearest, _ = _nearest(X, centers)
        if np.array_equal(nearest, members):
            break
        members = nearest
        mass = np.bincount(members, weight, n_centers)
        sums = np.column_stack([np.bincount(members, weight * column, n_centers) for column in X.T])
        filled = mass > 0  # a center that has lost all rows stays where it is
        centers[filled] = sums[filled] / mass[filled, None]
    return centers
