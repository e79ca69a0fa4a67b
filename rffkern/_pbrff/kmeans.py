"""K-means clustering, for landmarks that stand for many rows."""

import numpy as np

_MAX_ITERATIONS = 100

# Rows whose distances to all centers are held at a time.
_CHUNK = 1024


def _nearest(X, centers):
    """Per row the nearest center and its squared distance; not by the BLAS, whose sums may depend on its threads."""
    index, distance = np.empty(len(X), np.intp), np.empty(len(X))
    lengths = np.einsum("kj,kj->k", centers, centers)
    for start in range(0, len(X), _CHUNK):
        part = slice(start, start + _CHUNK)
        squares = lengths - 2 * np.einsum("ij,kj->ik", X[part], centers)
        index[part] = squares.argmin(axis=1)
        distance[part] = squares.min(axis=1) + np.einsum("ij,ij->i", X[part], X[part])
    return index, np.maximum(distance, 0.0)


def _seed_centers(X, weight, n_centers, rng):
    """K-means++: each center is a row drawn with odds weight times its squared distance to the centers before."""
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


def kmeans(X, weight, n_centers, rng):
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
    members = None
    for _ in range(_MAX_ITERATIONS):
        nearest, _ = _nearest(X, centers)
        if members is not None and np.array_equal(nearest, members):
            break
        members = nearest
        mass = np.bincount(members, weight, n_centers)
        sums = np.column_stack([np.bincount(members, weight * column, n_centers) for column in X.T])
        filled = mass > 0  # a center that has lost all rows stays where it is
        centers[filled] = sums[filled] / mass[filled, None]
    return centers
