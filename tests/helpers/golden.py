"""Stored draws in place of random ones, for comparisons with golden runs."""

import math

import numpy as np

# So small that no sum over rows changes, and still larger than 0: a row of this weight may be drawn as a landmark.
NO_WEIGHT = 1e-300


class StoredDraws(np.random.Generator):
    """A generator that returns stored numbers, each draw once, in the shape that is asked for."""

    def __init__(self, normal, uniform=()):
        super().__init__(np.random.PCG64(0))
        self._normal, self._uniform = [normal], [uniform]

    def standard_normal(self, size=None, **_):
        """The stored normal numbers."""
        return np.array(self._normal.pop()).reshape(size)

    def random(self, size=None, **_):
        """The stored uniform numbers."""
        return np.array(self._uniform.pop()).reshape(size)


def stored_omegas(omegas, gamma, uniform=()):
    """Draws from which a family makes these omegas, which it scales by sqrt(2 gamma)."""
    return StoredDraws(omegas / math.sqrt(2 * gamma), uniform)


def drawing_rows(indices, n_samples):
    """Uniform numbers with which these rows are drawn, among rows of equal weight."""
    return (np.asarray(indices) + 0.5) / n_samples


def with_points(X, y, points):
    """Rows that stand before X and count for nothing, labels and weights of all, and uniform numbers that draw them.

    A family that takes rows as landmarks then takes these points, and learns from X alone.
    """
    n_points = len(points)
    weight = np.concatenate([np.full(n_points, NO_WEIGHT), np.ones(len(X))])
    labels = np.concatenate([np.resize([-1, 1], n_points), y])
    uniform = (np.arange(n_points) + 0.5) * (NO_WEIGHT / len(X))
    return np.concatenate([points, X]), labels, weight, uniform
