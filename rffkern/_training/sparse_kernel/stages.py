"""The base learners of a machine with their coefficients after each round, and the scores that these give."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._model.expansion import Expansion
from ..._model.parts import KernelTerms
from ..._native.array_types import NDArray
from ..._rows.row_blocks import take_rows
from ...errors import InvalidInputError
from .basis_selection import BaseLearner
from .kernel import Kernel
from .least_squares import Coefficients

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


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


class Stages(NamedTuple):
    """The coefficients of a machine after each round: scores are intercept + scale F."""

    learners: Sequence[BaseLearner]  # whose indices are those of training rows
    groups: Sequence[Coefficients]  # of the base learners, one group after the other
    counts: Sequence[int]  # number of base learners after each round
    intercept: Double  # (n_outputs,)
    scale: Double  # (n_outputs,)
    kernel: Kernel  # with k(x, x) = 1

    def coef(self, n_learners: int) -> Double:
        """Coefficients (n_learners, n_outputs) of the first base learners, as they were when there were no more."""
        found = [self.groups[0].last[:0]]
        for group in self.groups:
            n_here = min(n_learners, len(group.last))
            found.append(group.at(n_here))
            n_learners -= n_here
        return np.concatenate(found)

    def expansion(self, X: Any, inverse_length_scales: Double) -> Expansion:
        """The expansion after the last round, its centers taken from rows X."""
        indices, combined = combine(self.learners, self.coef(len(self.learners)))
        with np.errstate(over="ignore", invalid="ignore"):
            weights = self.scale * (self.kernel.amplitude * combined)
            intercept = self.intercept + self.scale * (self.kernel.bias * combined.sum(axis=0))
        if not (np.isfinite(weights).all() and np.isfinite(intercept).all()):
            raise InvalidInputError("y must be smaller: the weights of its basis vectors overflow, got a spread of "
                                    f"{self.scale.max():.3g}")
        terms = KernelTerms(take_rows(X, indices), weights, inverse_length_scales, [self.kernel.number])
        return Expansion(intercept, np.zeros(len(inverse_length_scales)), terms)


class TrainingState(NamedTuple):
    """What an estimator keeps of its training, beside what is in model files."""

    stages: Stages
    expansion: Expansion
    checkpoint: Any = None  # what `fit` with `warm_start` goes on from

    def staged_scores(self, X: NDArray[Any], n_threads: int | None) -> Iterator[Double]:
        """Yield the scores after each round kept, shape (n_samples, n_outputs)."""
        stages, done = self.stages, 0
        columns = np.empty((len(stages.learners), len(X)))
        terms: Any = self.expansion.kernels
        rows = np.unique(np.concatenate([np.empty(0, np.intp), *(learner.indices for learner in stages.learners)]))
        for count in stages.counts:
            for m in range(done, count):
                learner, kernel = stages.learners[m], stages.kernel
                alone = Expansion([kernel.bias * learner.weights.sum()], self.expansion.center, KernelTerms(
                    terms.centers[np.searchsorted(rows, learner.indices)],
                    kernel.amplitude * learner.weights[:, None], terms.inverse_length_scales, [kernel.number]))
                columns[m] = alone._scorer.score(X, n_threads)[:, 0]
            done = count
            yield stages.intercept + stages.scale * (columns[:count].T @ stages.coef(count))
