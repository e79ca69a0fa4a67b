"""The weak learners of a machine round by round: their coefficients after each, and the scores that these give."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.row_blocks import take_rows
from ..errors import InvalidInputError
from ..expansion import KernelExpansion
from .kernel import GaussianKernel
from .weak_learner import WeakLearner

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


def combine(learners: Sequence[WeakLearner], coef: Double) -> tuple[Indices, Double]:
    """Distinct rows of some weak learners, sorted, and the weight of each in their sum."""
    indices = np.concatenate([np.empty(0, np.intp), *(learner.indices for learner in learners)])
    weights = np.concatenate([np.empty(0), *(c * learner.weights for c, learner in zip(coef, learners, strict=True))])
    distinct, place = np.unique(indices, return_inverse=True)
    combined = np.bincount(place, weights, len(distinct)).astype(np.float64, copy=False)
    return distinct, combined


class CoefficientPath(NamedTuple):
    """The weak learners of one output, and coefficients after each was added.

    A step holds the coefficients of the last group alone, one more than the step before; a single one begins a group.
    The groups before it keep the coefficients they ended with.
    """

    learners: Sequence[WeakLearner]
    steps: Sequence[Double]

    def at(self, n_learners: int) -> Double:
        """Coefficients of the first weak learners, as they were when there were no more."""
        ends = [m for m in range(1, n_learners) if len(self.steps[m]) == 1]
        ends += [n_learners] if n_learners else []
        return np.concatenate([np.empty(0), *(self.steps[end - 1] for end in ends)])

    def combined(self) -> tuple[Indices, Double]:
        """Distinct rows of all weak learners, sorted, and the weight of each in the model."""
        return combine(self.learners, self.at(len(self.learners)))


class Stages(NamedTuple):
    """The coefficients of a machine after each round."""

    paths: Sequence[CoefficientPath]  # of each output, indices being those of rows to learn from
    counts: Sequence[Sequence[int]]  # after each round, the number of weak learners of each output
    rows: Indices  # of the centers of the expansion, sorted
    intercept: Double  # (n_outputs,)
    scale: Double  # (n_outputs,)
    kernel: GaussianKernel

    def _weights(self) -> tuple[Double, Double]:
        """Weights (n_terms, n_outputs) and intercept (n_outputs,) of the expansion after the last round."""
        weights, intercept = np.zeros((len(self.rows), len(self.paths))), self.intercept.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            for k, path in enumerate(self.paths):
                indices, combined = path.combined()
                weights[np.searchsorted(self.rows, indices), k] = self.scale[k] * (self.kernel.amplitude * combined)
                intercept[k] += self.scale[k] * (self.kernel.bias * combined.sum())
        return weights, intercept

    def expansion(self, X: Any, inverse_lengthscales: Double) -> KernelExpansion:
        """The expansion after the last round, its centers taken from rows X."""
        weights, intercept = self._weights()
        if not (np.isfinite(weights).all() and np.isfinite(intercept).all()):
            raise InvalidInputError("y must be smaller: the weights of its basis vectors overflow, got a spread of "
                                    f"{self.scale.max():.3g}")
        return KernelExpansion(take_rows(X, self.rows), weights, intercept, inverse_lengthscales)


class StagedMachine(NamedTuple):
    """A trained machine with its stages: the training state of an estimator."""

    stages: Stages
    expansion: Any  # KernelExpansion

    def scores(self, X: NDArray[Any], n_threads: int | None) -> Iterator[Double]:
        """Yield the scores after each round kept, shape (n_samples, n_outputs)."""
        paths, _, _, intercept, scale, _ = self.stages
        columns = [np.empty((len(path.learners), len(X))) for path in paths]
        done = [0] * len(columns)
        for counts in self.stages.counts:
            scores = np.tile(intercept, (len(X), 1))
            for k, count in enumerate(counts):
                for m in range(done[k], count):
                    columns[k][m] = self._values(paths[k].learners[m], X, n_threads)
                done[k] = count
                scores[:, k] += scale[k] * (paths[k].at(count) @ columns[k][:count])
            yield scores

    def _values(self, learner: WeakLearner, X: NDArray[Any], n_threads: int | None) -> Double:
        """Values of a weak learner at rows."""
        kernel = self.stages.kernel
        centers = self.expansion.centers[np.searchsorted(self.stages.rows, learner.indices)]
        alone = KernelExpansion(centers, kernel.amplitude * learner.weights[:, None],
                                [kernel.bias * learner.weights.sum()], self.expansion.inverse_lengthscales)
        values: Double = alone.score_checked(X, n_threads)[:, 0]
        return values


def make_stages(paths: Sequence[CoefficientPath], counts: Sequence[Sequence[int]], intercept: Double, scale: Double,
                kernel: GaussianKernel) -> Stages:
    """The stages of a machine whose kernel is normalised."""
    indices = [learner.indices for path in paths for learner in path.learners]
    return Stages(paths, counts, np.unique(np.concatenate([np.empty(0, np.intp), *indices])), intercept, scale, kernel)


def staged_scores(model: Any, X: Any) -> Iterator[Double]:
    """Yield the scores of a snapshot after each round kept, (n_samples, n_outputs)."""
    X = model._check_rows(X)
    machine: StagedMachine = model._require_training_state("for staged predictions")
    yield from machine.scores(X, model.n_threads)
