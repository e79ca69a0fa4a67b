"""Which rows become basis vectors: random subsets of the rows, and a forward selection in each.

A selection proposes the weak learner (25) of Sun and Yao (2010) on the basis vectors that its rule selects: a set of
them (`SetSelection`), or one that differs from all before it (`SingleSelection`), and that must lie outside of their
span where the coefficients of all are kept optimal (`DictionarySelection`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._native import solvers
from ..._native.array_types import NDArray
from ..._native.sparse import Selector
from ..._rows.weights import RowWeights
from .packed_rows import KernelRows, Kernels
from .weak_learner import Proposal, Settings, WeakLearner

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Share of k(x, x) that the squared distance of a basis vector from the span of those before it must exceed: below,
# the vector is a near-duplicate and is skipped.  Weights of a weak learner may be as large as the root of its inverse,
# and rounding errors of its values grow with their squares.
_SMALLEST_DISTANCE: dict[np.dtype[Any], float] = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-4}
# Thresholds of the paper's, for approximate linear dependence and for the resource-allocating network.
_ALD_THRESHOLD = 1e-2
_RAN_THRESHOLD = 1e-4
# Share of all slopes that those along a direction must have, to be more than rounding.
_SMALLEST_SHARE = 1e-10


class Subsets:
    """Random subsets of the rows of positive weight, in random order, drawn by weight where weights differ."""

    def __init__(self, weights: RowWeights, size: int | None, rng: "np.random.Generator") -> None:
        self._rng = rng
        self._n_rows = weights.n_positive
        self._size = self._n_rows if size is None else min(size, self._n_rows)
        self.holds_all = self._size == self._n_rows
        self._positive_weight = weights.positive() if weights.has_zeros else None  # or None for all rows
        self._cumulated: Double | None = None  # weights, or None for draws that do not depend on them
        if not self.holds_all and not weights.is_uniform:
            weight = weights.each
            self._cumulated = np.cumsum(weight) if (weight[weight > 0] != weight.max()).any() else None

    @classmethod
    def of_settings(cls, weights: RowWeights, settings: Settings, rng: "np.random.Generator") -> "Subsets":
        """Subsets for the weak learners of an ensemble, of half of the rows at most.

        Among all rows, a rule would select nearly the same vectors in every round.
        """
        half = max(settings.learner_size, weights.n_positive // 2)
        return cls(weights, None if settings.subset_size is None else min(settings.subset_size, half), rng)

    def draw(self) -> Indices:
        """Distinct indices of rows: one `choice`, or, by weight, one `random` and one `permutation`."""
        if self._cumulated is None:
            drawn = self._rng.choice(self._n_rows, self._size, replace=False)
            return drawn if self._positive_weight is None else self._positive_weight[drawn]
        places = self._rng.random(self._size) * self._cumulated[-1]
        return self._rng.permutation(np.unique(np.searchsorted(self._cumulated[:-1], places, side="right")))


def _make_selector(settings: Settings, rows: KernelRows, capacity: int) -> Selector:
    smallest = _ALD_THRESHOLD if settings.rule == "ald" else _SMALLEST_DISTANCE[rows.dtype]
    return Selector(settings.rule, capacity, rows.n_features, settings.kernel.amplitude, settings.kernel.bias,
                    settings.reg_lambda, smallest, _RAN_THRESHOLD, settings.n_candidates, settings.kernel.number)


class Selection:
    """Selection of basis vectors among rows, by one of the rules of Sun and Yao.

    Parameters
    ----------
    settings : Settings
    rows : KernelRows
    n_wanted : int, basis vectors of a weak learner
    capacity : int, of the dictionary whose span they must lie outside of
    """

    def __init__(self, settings: Settings, rows: KernelRows, n_wanted: int, capacity: int) -> None:
        self._rows, self._settings = rows, settings
        self._n_wanted = n_wanted
        self._selector = _make_selector(settings, rows, capacity)
        self.n_skipped = 0  # near-duplicates met so far

    def _choose(self, indices: Indices, residual: Double, model: Double) -> Indices:
        """At most `n_wanted` of the indices, given values (n_outputs, n_indices) at them."""
        if not len(indices):
            return indices
        subset = self._rows.subset(indices, residual, model)
        chosen = np.empty(self._n_wanted, np.intp)
        n_chosen = self._selector.choose(subset.tiles, subset.n_rows, subset.weight, subset.residual, subset.model,
                                         chosen)
        self.n_skipped = self._selector.n_skipped
        return indices[chosen[:n_chosen]]

    def propose(self, subsets: Sequence[Indices], target: Double, residual: Double) -> Proposal | None:
        """Weak learners on basis vectors among some rows, or None if there are none.

        Parameters
        ----------
        subsets : sequence of arrays of shape (n_subset,), the candidates: of a `SetSelection` for each set of basis
            vectors, else one
        target, residual : arrays of shape (n_outputs, n_tiles, 128) over all rows; their difference is the model
        """
        raise NotImplementedError

    def refuse(self) -> None:
        """Forget the proposal made last."""

    def state(self) -> tuple[Indices, ...]:
        """What later proposals depend on, but for numbers of near-duplicates."""
        return ()

    def resume(self, state: tuple[Indices, ...]) -> None:
        """Propose from now on what another selection in that state would."""


class SetSelection(Selection):
    """Selection of a set of basis vectors for the weak learners of each round, independent of those before it."""

    def __init__(self, settings: Settings, rows: KernelRows) -> None:
        super().__init__(settings, rows, settings.learner_size, settings.learner_size)

    def propose(self, subsets: Sequence[Indices], target: Double, residual: Double) -> Proposal | None:
        """Weak learners along the gradient of the objective, (24) and (25).

        Of several outputs, each has a gradient.  The first weak learner is the function on the basis vectors, of length
        1 in the space of the kernel, whose inner products with all of them have the largest sum of squares; the second
        is orthogonal to it.  Each set of basis vectors has weak learners of its own.
        """
        rows, kernel = self._rows, self._settings.kernel
        flat_target, flat_residual = (values.reshape(len(values), -1) for values in (target, residual))
        found = [self._set(indices, flat_residual[:, indices]) for indices in subsets]
        found = [each for each in found if len(each[0])]
        if not found:
            return None
        chosen = np.concatenate([each[0] for each in found])
        kernels, v = Kernels(rows, rows.centers(chosen)), rows.weight * residual
        u = kernel.amplitude * kernels.correlate(v)[:, : len(chosen)] + kernel.bias * v.sum(axis=(1, 2))[:, None]
        u -= self._settings.reg_lambda * (flat_target[:, chosen] - flat_residual[:, chosen])
        learners, starts, start = [], [], 0
        for indices, factor in found:
            slopes = np.ascontiguousarray(u[:, start : start + len(indices)])
            for direction in _directions(factor, slopes, self._settings.n_together):
                solvers.solve_factorised(factor, direction, forward=False)
                learners.append(WeakLearner(indices, direction))
                starts.append(start)
            start += len(indices)
        return Proposal(tuple(learners), kernels, tuple(starts)) if learners else None

    def _set(self, indices: Indices, left: Double) -> tuple[Indices, Double]:
        """Basis vectors among some rows, given the residuals there, and the Cholesky factor of their kernels."""
        self._selector.reset()
        chosen = self._choose(indices, left, np.zeros_like(left))
        factor = np.asarray(self._selector.factor)
        return chosen, factor if self._settings.n_sets == 1 else factor.copy()


def _directions(factor: Double, slopes: Double, n_wanted: int) -> list[Double]:
    """Leading directions of slopes (n_outputs, n_basis) in coordinates L^-1, of length 1; fewer where others are 0."""
    for slope in slopes:
        solvers.solve_factorised(factor, slope, back=False)
    length = np.linalg.norm(slopes)
    if not 0 < length < np.inf:
        return []
    if len(slopes) == 1:
        return [slopes[0] / length]
    _, shares, directions = np.linalg.svd(slopes / length, full_matrices=False)
    return [direction.copy() for direction in directions[:n_wanted][shares[:n_wanted] > _SMALLEST_SHARE]]


class SingleSelection(Selection):
    """Selection of one basis vector for each weak learner, each row once."""

    def __init__(self, settings: Settings, rows: KernelRows) -> None:
        super().__init__(settings, rows, 1, settings.capacity)
        self._seen = np.zeros(rows.n_samples, dtype=bool)
        self._weight = np.array([1 / np.sqrt(settings.kernel.at_zero)])

    def state(self) -> tuple[Indices, ...]:
        """The rows that have been chosen."""
        return (np.flatnonzero(self._seen),)

    def resume(self, state: tuple[Indices, ...]) -> None:
        """Choose none of the rows that have been chosen."""
        self._seen[state[0]] = True

    def _choose_unseen(self, indices: Indices, target: Double, residual: Double) -> Indices:
        indices = indices[~self._seen[indices]]
        left = residual.reshape(len(residual), -1)[:, indices]
        chosen = self._choose(indices, left, target.reshape(len(target), -1)[:, indices] - left)
        self._seen[chosen] = True
        return chosen

    def propose(self, subsets: Sequence[Indices], target: Double, residual: Double) -> Proposal | None:
        """The weak learner of one vector."""
        self._selector.reset()
        chosen = self._choose_unseen(subsets[0], target, residual)
        if not len(chosen):
            return None
        return Proposal((WeakLearner(chosen, self._weight),), Kernels(self._rows, self._rows.centers(chosen)))


class DictionarySelection(SingleSelection):
    """Selection of one basis vector for each weak learner, outside of the span of all before it.

    These are kept in a dictionary, which `factor`, a Cholesky factor of its Gram matrix, describes.
    """

    def __init__(self, settings: Settings, rows: KernelRows) -> None:
        super().__init__(settings, rows)
        self._dictionary: list[int] = []

    def state(self) -> tuple[Indices, ...]:
        """The rows that have been chosen, and those of the dictionary, in its order."""
        return (*super().state(), np.array(self._dictionary, np.intp))

    def resume(self, state: tuple[Indices, ...]) -> None:
        """Choose none of the rows that have been chosen, and none in the span of the dictionary."""
        super().resume(state)
        self._dictionary = state[1].tolist()
        nothing = np.empty((0, len(self._dictionary)))
        tiles = self._rows.subset(state[1], nothing, nothing).tiles
        for row in range(len(self._dictionary)):
            self._selector.remember(tiles, row)

    def propose(self, subsets: Sequence[Indices], target: Double, residual: Double) -> Proposal | None:
        """The weak learner of the part of a vector that is orthogonal to the dictionary."""
        chosen = self._choose_unseen(subsets[0], target, residual)
        if not len(chosen):
            return None
        self._dictionary.append(int(chosen[0]))
        last, factor = len(self._dictionary) - 1, np.asarray(self._selector.factor)
        *before, length = factor[last, : last + 1].tolist()
        weights = np.append(np.zeros(last), length)
        solvers.solve_factorised(factor, weights)
        learner = WeakLearner(np.array(self._dictionary), weights, np.array(before) / length)
        return Proposal((learner,), Kernels(self._rows, self._rows.centers(chosen)))

    def refuse(self) -> None:
        """Take the vector chosen last out of the dictionary."""
        self._dictionary.pop()
        self._selector.forget_last()


def make_selection(settings: Settings, rows: KernelRows) -> Selection:
    """The selection that an ensemble uses."""
    if settings.learner_size > 1:
        return SetSelection(settings, rows)
    return DictionarySelection(settings, rows) if settings.keeps_dictionary else SingleSelection(settings, rows)
