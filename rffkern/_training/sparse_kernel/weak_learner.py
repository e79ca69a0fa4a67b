"""Weak learners, which are sums of kernels over basis vectors, and the settings that those of an ensemble share."""

from typing import NamedTuple

import numpy as np

from ..._native.array_types import NDArray
from .kernel import Kernel
from .packed_rows import Kernels

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


class Settings(NamedTuple):
    """What all weak learners of an ensemble share."""

    kernel: Kernel  # with k(x, x) = 1
    reg_lambda: float  # beside that kernel and weights of mean 1
    learner_size: int  # basis vectors of a weak learner
    n_together: int  # weak learners that are added at once on the same basis vectors
    n_sets: int  # sets of basis vectors that are selected by the same residuals
    capacity: int  # weak learners of a group, whose coefficients are optimal together
    rule: str
    n_candidates: int
    subset_size: int | None  # rows that basis vectors are selected from; None for all
    keeps_dictionary: bool  # whether a basis vector must lie outside of the span of all those before it


class WeakLearner(NamedTuple):
    """f(x) = sum over s of weights[s] k(x, rows[indices[s]]), of length 1 in the space of the kernel.

    Basis vectors that are selected one by one would make columns that are nearly parallel.  There each weak learner is
    the part of its vector, the last of its indices, that is orthogonal to the weak learners before it: `before` are the
    factors with which their columns are subtracted from that of the vector.  Such weak learners are orthonormal.
    """

    indices: Indices  # (n_basis,) of rows
    weights: Double  # (n_basis,)
    before: Double = np.empty(0)  # (n_learners before it,), or empty


class Proposal(NamedTuple):
    """Weak learners that a selection proposes, and the kernels their columns are made of."""

    learners: tuple[WeakLearner, ...]
    kernels: Kernels  # with their basis vectors, or with the last where others are `before` it
    starts: tuple[int, ...] = (0,)  # of the basis vectors of each among those of the kernels

    def weights(self) -> Double:
        """Weights (n_learners, n_centers) of the kernels in each weak learner."""
        if self.learners[0].before.size:
            return np.array([learner.weights[-1:] for learner in self.learners])
        ends = [start + len(learner.weights) for start, learner in zip(self.starts, self.learners, strict=True)]
        weights = np.zeros((len(self.learners), max(ends)))
        for row, start, end, learner in zip(weights, self.starts, ends, self.learners, strict=True):
            row[start:end] = learner.weights
        return weights

    def first(self, n_learners: int) -> "Proposal":
        """With some of the weak learners alone."""
        return Proposal(self.learners[:n_learners], self.kernels, self.starts[:n_learners])
