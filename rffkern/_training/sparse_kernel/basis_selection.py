"""Base learners: a random sample of the rows, and a forward selection of basis vectors in it.

A selection proposes the base learner (25) of Sun and Yao (2010) on the basis vectors that its rule selects: a set of
them, or, where they are selected one by one, a vector outside of the span of all before it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._native import solvers
from ..._native.array_types import Double, Indices
from ..._native.sparse import Selector
from ..._rows.tiles import TILE
from ..._rows.weights import RowWeights
from ..kernel_ridge.kernel import Kernel
from .kernel_rows import KernelRows, Kernels

# Share of k(x, x) that the squared distance of a basis vector from the span of those before it must exceed: below,
# the vector is a near-duplicate and is skipped.  Weights of a base learner may be as large as the root of its inverse,
# and rounding errors of its values grow with their squares.
_SMALLEST_DISTANCE: dict[np.dtype[Any], float] = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-4}
# The paper's thresholds of approximate linear dependence and of the resource-allocating network, and its number kappa
# of candidates of "mp" and "boost".
_ALD_THRESHOLD = 1e-2
_RAN_THRESHOLD = 1e-4
_N_CANDIDATES = 60
# Share of all gradients that those along a direction must have, to be more than rounding.
_SMALLEST_SHARE = 1e-10


class Settings(NamedTuple):
    """What all base learners of an ensemble share."""

    kernel: Kernel  # with k(x, x) = 1, and lambda for weights of mean 1
    rule: str
    basis_size: int  # S, basis vectors of a base learner
    max_samples: int | None  # T, rows that basis vectors are selected among; None for all
    n_together: int  # base learners of a round, one on each leading direction of the gradients of the outputs
    group_size: int | None  # L, rounds whose coefficients are optimal together; None for all
    capacity: int  # base learners whose coefficients are optimal together

    @property
    def keeps_dictionary(self) -> bool:
        """Whether a basis vector must lie outside of the span of all those before it."""
        return self.basis_size == 1 and self.group_size != 1


class BaseLearner(NamedTuple):
    """f(x) = sum over s of weights[s] k(x, rows[indices[s]]), of length 1 in the space of the kernel.

    Basis vectors that are selected one by one would make columns that are nearly parallel.  There each base learner is
    the part of its vector, the last of its indices, that is orthogonal to the base learners before it: `before` are the
    factors with which their columns are subtracted from that of the vector.  Such base learners are orthonormal.
    """

    indices: Indices  # (n_basis,) of rows
    weights: Double  # (n_basis,)
    before: Double = np.empty(0)  # (n_learners before it,), or empty


def combine(learners: Sequence[BaseLearner], coef: Double) -> tuple[Indices, Double]:
    """Distinct rows of some base learners, sorted, and the weights (n_rows, n_outputs) of each in their sums."""
    indices = np.concatenate([np.empty(0, np.intp), *(learner.indices for learner in learners)])
    distinct, place = np.unique(indices, return_inverse=True)
    weights = np.zeros((len(distinct), coef.shape[1]))
    for k, of_output in enumerate(coef.T):
        each = np.concatenate([np.empty(0), *(c * learner.weights for c, learner in
                                              zip(of_output, learners, strict=True))])
        weights[:, k] = np.bincount(place, each, len(distinct))
    return distinct, weights


def row_draws(weights: RowWeights, size: int, rng: "np.random.Generator") -> Callable[[], Indices]:
    """A function that draws distinct rows of positive weight, all or so many, in random order.

    They are drawn by weight where weights differ: by one `random` and one `permutation`, else by one `choice`.
    """
    n_rows, each = weights.n_positive, weights.values
    if each is not None and size < n_rows and (each[each > 0] != each.max()).any():
        cumulated = np.cumsum(each)

        def by_weight() -> Indices:
            places = rng.random(size) * cumulated[-1]
            return rng.permutation(np.unique(np.searchsorted(cumulated[:-1], places, side="right")))

        return by_weight
    positive = weights.positive() if weights.has_zeros else None

    def at_random() -> Indices:
        drawn = rng.choice(n_rows, min(size, n_rows), replace=False)
        return drawn if positive is None else positive[drawn]

    return at_random


class Selection:
    """Selection of basis vectors for the base learners of each round.

    A set of them does not depend on those before it.  Single ones are chosen once; where coefficients of several are
    optimal together, they are kept in a dictionary, of whose Gram matrix the selector has a Cholesky factor.
    """

    def __init__(self, settings: Settings, rows: KernelRows) -> None:
        self._rows, self._settings = rows, settings
        smallest = _ALD_THRESHOLD if settings.rule == "ald" else _SMALLEST_DISTANCE[rows.dtype]
        self._selector = Selector(
            settings.rule, settings.capacity if settings.keeps_dictionary else settings.basis_size, rows.n_features,
            settings.kernel.amplitude, settings.kernel.bias, settings.kernel.reg_lambda, smallest, _RAN_THRESHOLD,
            min(_N_CANDIDATES, rows.weights.n_positive), settings.kernel.number)
        self._seen = np.zeros(rows.n_samples, dtype=bool)
        self._dictionary: list[int] = []
        self.n_skipped = 0  # near-duplicates met so far

    def propose(self, sample: Indices, target: Double,
                residual: Double) -> tuple[tuple[BaseLearner, ...], Kernels] | None:
        """Base learners on the same rows of a sample, and the kernels of their columns; None if there is none.

        `target` less `residual`, each (n_outputs, n_tiles, 128) over all rows, is the model so far.
        """
        if not self._settings.keeps_dictionary:
            self._selector.reset()
        flat_target, flat_residual = (values.reshape(len(values), -1) for values in (target, residual))
        chosen = self._choose(sample, flat_target, flat_residual)
        if not len(chosen):
            return None
        kernels = Kernels(self._rows, self._rows.centers(chosen))
        if self._settings.keeps_dictionary:
            return (self._orthogonal_to_dictionary(int(chosen[0])),), kernels
        v = self._rows.weight * residual
        model = flat_target[:, chosen] - flat_residual[:, chosen]
        learners = self._along_gradients(chosen, kernels.correlate(v)[:, : len(chosen)], v.sum(axis=(1, 2)), model)
        return (learners, kernels) if learners else None

    def _choose(self, sample: Indices, target: Double, residual: Double) -> Indices:
        """At most S rows of a sample, given values (n_outputs, n_rows) of all rows; single ones are chosen once."""
        is_single = self._settings.basis_size == 1
        if is_single:
            sample = sample[~self._seen[sample]]
        if not len(sample):
            return sample
        tiles = self._rows.tiles_of(sample)
        values = np.zeros((1 + 2 * len(residual), len(tiles) * TILE))
        weight, left, model = values[0], values[1 : 1 + len(residual)], values[1 + len(residual) :]
        weight[: len(sample)], left[:, : len(sample)] = self._rows.flat_weight[sample], residual[:, sample]
        if is_single:  # sets begin with no vector, and a model of 0
            model[:, : len(sample)] = target[:, sample] - residual[:, sample]
        chosen = np.empty(self._settings.basis_size, np.intp)
        chosen = sample[chosen[: self._selector.choose(tiles, len(sample), weight, left, model, chosen)]]
        self.n_skipped = self._selector.n_skipped
        self._seen[chosen] = True
        if self._settings.keeps_dictionary and self._settings.rule != "ran":  # which also skips by what is left
            # Near-duplicates of a dictionary stay that while it grows.
            self._seen[sample[np.asarray(self._selector.taken)[: len(sample)] > 0]] = True
        return chosen

    def _along_gradients(self, chosen: Indices, correlations: Double, sums: Double,
                         model: Double) -> tuple[BaseLearner, ...]:
        """Base learners along the gradient of the objective, (24) and (25), none if it is 0.

        Of several outputs, each has a gradient.  The first base learner is the function on the basis vectors, of length
        1 in the space of the kernel, whose inner products with all of them have the largest sum of squares; the second
        is orthogonal to it.
        """
        kernel, factor = self._settings.kernel, np.asarray(self._selector.factor)
        u = kernel.amplitude * correlations + kernel.bias * sums[:, None]
        u -= kernel.reg_lambda * model
        learners = []
        for direction in _directions(factor, np.ascontiguousarray(u), self._settings.n_together):
            solvers.solve_factorised(factor, direction, forward=False)
            learners.append(BaseLearner(chosen, direction))
        return tuple(learners)

    def _orthogonal_to_dictionary(self, row: int) -> BaseLearner:
        """The base learner of the part of a vector that is orthogonal to the dictionary, which it joins."""
        self._dictionary.append(row)
        last, factor = len(self._dictionary) - 1, np.asarray(self._selector.factor)
        *before, length = factor[last, : last + 1].tolist()
        weights = np.append(np.zeros(last), length)
        solvers.solve_factorised(factor, weights)
        return BaseLearner(np.array(self._dictionary), weights, np.array(before) / length)

    def refuse(self) -> None:
        """Forget the proposal made last: a vector that was chosen alone leaves the dictionary."""
        if self._dictionary:
            self._dictionary.pop()
            self._selector.forget_last()

    def state(self) -> tuple[Indices, Indices]:
        """What later proposals depend on, but for numbers of near-duplicates: rows chosen, and the dictionary."""
        return np.flatnonzero(self._seen), np.array(self._dictionary, np.intp)

    def resume(self, state: tuple[Indices, Indices]) -> None:
        """Propose from now on what another selection in that state would."""
        self._seen[state[0]] = True
        self._dictionary = state[1].tolist()
        tiles = self._rows.tiles_of(state[1])
        for row in range(len(self._dictionary)):
            self._selector.remember(tiles, row)


def _directions(factor: Double, gradients: Double, n_wanted: int) -> list[Double]:
    """Leading directions of gradients (n_outputs, n_basis) in coordinates L^-1, of length 1; fewer if the rest is 0."""
    for gradient in gradients:
        solvers.solve_factorised(factor, gradient, back=False)
    length = np.linalg.norm(gradients)
    if not 0 < length < np.inf:
        return []
    if len(gradients) == 1:
        return [gradients[0] / length]
    _, shares, directions = np.linalg.svd(gradients / length, full_matrices=False)
    return [direction.copy() for direction in directions[:n_wanted][shares[:n_wanted] > _SMALLEST_SHARE]]
