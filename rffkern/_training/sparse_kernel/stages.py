"""The weak learners of a machine round by round: their coefficients after each, and the scores that these give."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._model.expansion import Expansion
from ..._model.parts import KernelTerms
from ..._native.array_types import NDArray
from ..._rows.row_blocks import take_rows
from ...errors import InvalidInputError
from .kernel import Kernel
from .least_squares import Coefficients
from .weak_learner import WeakLearner

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


def combine(learners: Sequence[WeakLearner], coef: Double) -> tuple[Indices, Double]:
    """Distinct rows of some weak learners, sorted, and the weights (n_rows, n_outputs) of each in their sums."""
    indices = np.concatenate([np.empty(0, np.intp), *(learner.indices for learner in learners)])
    distinct, place = np.unique(indices, return_inverse=True)
    weights = np.zeros((len(distinct), coef.shape[1]))
    for k, of_output in enumerate(coef.T):
        each = np.concatenate([np.empty(0), *(c * learner.weights for c, learner in
                                              zip(of_output, learners, strict=True))])
        weights[:, k] = np.bincount(place, each, len(distinct))
    return distinct, weights


class CoefficientPath(NamedTuple):
    """The weak learners of some outputs, and coefficients when there were no more, group by group."""

    learners: Sequence[WeakLearner]
    groups: Sequence[Coefficients]
    outputs: slice

    def at(self, n_learners: int) -> Double:
        """Coefficients (n_learners, n_outputs) of the first weak learners, as they were when there were no more."""
        found = [self.groups[0].last[:0]]
        for group in self.groups:
            n_here = min(n_learners, len(group.last))
            found.append(group.at(n_here))
            n_learners -= n_here
        return np.concatenate(found)

    def combined(self) -> tuple[Indices, Double]:
        """Distinct rows of all weak learners, sorted, and the weights (n_rows, n_outputs) of each in the model."""
        return combine(self.learners, self.at(len(self.learners)))


class Stages(NamedTuple):
    """The coefficients of a machine after each round."""

    paths: Sequence[CoefficientPath]  # of all outputs, indices being those of rows to learn from
    counts: Sequence[Sequence[int]]  # after each round, the number of weak learners of each path
    rows: Indices  # of the centers of the expansion, sorted
    intercept: Double  # (n_outputs,), before the last round
    last_intercept: Double  # (n_outputs,), after it
    scale: Double  # (n_outputs,)
    kernel: Kernel

    def _weights(self) -> tuple[Double, Double]:
        """Weights (n_terms, n_outputs) and intercept (n_outputs,) of the expansion after the last round."""
        weights, intercept = np.zeros((len(self.rows), len(self.intercept))), self.last_intercept.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            for path in self.paths:
                indices, combined = path.combined()
                scale = self.scale[path.outputs]
                weights[np.searchsorted(self.rows, indices), path.outputs] = scale * (self.kernel.amplitude * combined)
                intercept[path.outputs] += scale * (self.kernel.bias * combined.sum(axis=0))
        return weights, intercept

    def expansion(self, X: Any, inverse_length_scales: Double) -> Expansion:
        """The expansion after the last round, its centers taken from rows X."""
        weights, intercept = self._weights()
        if not (np.isfinite(weights).all() and np.isfinite(intercept).all()):
            raise InvalidInputError("y must be smaller: the weights of its basis vectors overflow, got a spread of "
                                    f"{self.scale.max():.3g}")
        terms = KernelTerms(take_rows(X, self.rows), weights, inverse_length_scales, [self.kernel.number])
        return Expansion(intercept, np.zeros(len(inverse_length_scales)), terms)


class StagedMachine(NamedTuple):
    """A trained machine with its stages: the training state of an estimator."""

    stages: Stages
    expansion: Any
    so_far: Any = None  # what `fit` with `warm_start` goes on from

    def scores(self, X: NDArray[Any], n_threads: int | None) -> Iterator[Double]:
        """Yield the scores after each round kept, shape (n_samples, n_outputs)."""
        paths, _, _, intercept, last_intercept, scale, _ = self.stages
        columns = [np.empty((len(path.learners), len(X))) for path in paths]
        done = [0] * len(columns)
        for n_rounds, counts in enumerate(self.stages.counts, 1):
            scores = np.tile(last_intercept if n_rounds == len(self.stages.counts) else intercept, (len(X), 1))
            for k, count in enumerate(counts):
                for m in range(done[k], count):
                    columns[k][m] = self._values(paths[k].learners[m], X, n_threads)
                done[k] = count
                scores[:, paths[k].outputs] += scale[paths[k].outputs] * (columns[k][:count].T @ paths[k].at(count))
            yield scores

    def _values(self, learner: WeakLearner, X: NDArray[Any], n_threads: int | None) -> Double:
        """Values of a weak learner at rows."""
        kernel = self.stages.kernel
        terms = self.expansion.kernels
        alone = Expansion([kernel.bias * learner.weights.sum()], self.expansion.center, KernelTerms(
            terms.centers[np.searchsorted(self.stages.rows, learner.indices)],
            kernel.amplitude * learner.weights[:, None], terms.inverse_length_scales, [kernel.number]))
        values: Double = alone._scorer.score(X, n_threads)[:, 0]
        return values


def make_stages(paths: Sequence[CoefficientPath], counts: Sequence[Sequence[int]], intercept: Double,
                last_intercept: Double, scale: Double, kernel: Kernel) -> Stages:
    """The stages of a machine whose kernel is normalised."""
    indices = [learner.indices for path in paths for learner in path.learners]
    return Stages(paths, counts, np.unique(np.concatenate([np.empty(0, np.intp), *indices])), intercept,
                  last_intercept, scale, kernel)


def staged_scores(model: Any, X: Any) -> Iterator[Double]:
    """Yield the scores of a snapshot after each round kept, (n_samples, n_outputs)."""
    X = model._check_rows(X)
    machine: StagedMachine = model._require_training_state("for staged predictions")
    yield from machine.scores(X, model.n_jobs)
