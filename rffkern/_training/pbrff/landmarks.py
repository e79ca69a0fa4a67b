"""Landmarks of PBRFF: rows drawn with replacement, or k-means centers of each class."""

import numpy as np

from ..._native.array_types import Double, Indices
from ..._rows.scaling import Scaling
from ..._rows.training_rows import LabelledRows
from ...errors import InvalidInputError

Landmarks = tuple[Double, Indices, Double]  # standardised points, their classes, own weights

# Largest number of rows of a class that k-means uses.
_KMEANS_ROWS = 16384

_MAX_ITERATIONS = 100

# Rows whose distances to all centers are computed together, and multiply-adds that they may take: NumPy does not look
# at signals before it is done.
_BLOCK_ROWS = 1024
_BLOCK_MULTIPLY_ADDS = 1 << 27


def random_landmarks(rows: LabelledRows, scaling: Scaling, n_landmarks: int, rng: "np.random.Generator") -> Landmarks:
    """Return rows drawn with replacement, their classes, and the part of a sum over all rows that is their own."""
    indices = rows.weights.draw(rng, n_landmarks)
    # A row of integer weight equals so many copies, of which the landmark is one.
    own_weight = np.minimum(rows.weights.each[indices], 1 / rows.weights.unit)
    return scaling.take(rows.X, indices), rows.codes[indices], own_weight


def kmeans_landmarks(rows: LabelledRows, scaling: Scaling, n_landmarks: int, rng: "np.random.Generator") -> Landmarks:
    """Return centers, equally many for each class; the first classes take the remainder."""
    n_classes = rows.n_classes
    if n_landmarks < n_classes:
        raise InvalidInputError(f"n_landmarks must be at least the number of classes, {n_classes}, where "
                                f"landmarks are by k-means, got {n_landmarks}")
    n_centers = [n_landmarks // n_classes + (code < n_landmarks % n_classes) for code in range(n_classes)]
    points = []
    for code in range(n_classes):
        class_rows = np.flatnonzero((rows.codes == code) & (rows.weights.each > 0))
        weights = rows.weights.of(class_rows)
        weight = weights.each
        if len(class_rows) > _KMEANS_ROWS:
            class_rows, weight = class_rows[weights.draw(rng, _KMEANS_ROWS)], np.ones(_KMEANS_ROWS)
        points.append(kmeans(scaling.take(rows.X, class_rows), weight, n_centers[code], rng))
    return np.concatenate(points), np.repeat(np.arange(n_classes), n_centers), np.zeros(n_landmarks)


def kmeans(X: Double, weight: Double, n_centers: int, rng: "np.random.Generator") -> Double:
    """Cluster centers (n_centers, n_features) by Lloyd's iterations until no row changes its cluster, 100 at most.

    Weights are positive; where distinct rows are fewer than centers, rows repeat.  Uses n_centers uniform numbers.
    """
    centers = _seed_centers(X, weight, n_centers, rng)
    clusters = np.full(len(X), -1)
    for _ in range(_MAX_ITERATIONS):
        nearest, _ = _nearest(X, centers)
        if np.array_equal(nearest, clusters):
            break
        clusters = nearest
        mass = np.bincount(clusters, weight, n_centers)
        sums = np.column_stack([np.bincount(clusters, weight * column, n_centers) for column in X.T])
        filled = mass > 0  # a center that has lost all rows stays where it is
        centers[filled] = sums[filled] / mass[filled, None]
    return centers


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


def _nearest(X: Double, centers: Double) -> tuple[Indices, Double]:
    """Index of the nearest center of each row, and its squared distance.

    Not by the BLAS, whose sums may depend on its number of threads.
    """
    index, distance = np.empty(len(X), np.intp), np.empty(len(X))
    lengths = np.einsum("kj,kj->k", centers, centers)
    step = max(1, min(_BLOCK_ROWS, _BLOCK_MULTIPLY_ADDS // centers.size))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        squares = lengths - 2 * np.einsum("ij,kj->ik", X[rows], centers)
        index[rows] = squares.argmin(axis=1)
        distance[rows] = squares.min(axis=1) + np.einsum("ij,ij->i", X[rows], X[rows])
    return index, np.maximum(distance, 0.0)
