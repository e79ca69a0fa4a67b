"""The weak learners of a machine round by round: their coefficients after each, and the scores that these give."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..expansion import KernelExpansion
from .kernel import GaussianKernel
from .weak_learner import WeakLearner, combine

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


class CoefficientPath:
    """The weak learners of one output, and their coefficients after each was added.

    A step holds the coefficients of the last group alone; those of the groups before it keep what they ended with.
    """

    def __init__(self) -> None:
        self.learners: list[WeakLearner] = []
        self.steps: list[Double] = []
        self._ends: list[int] = []  # numbers of weak learners at which groups end

    def append(self, learner: WeakLearner, coef: Double) -> None:
        """Add a weak learner, and the coefficients of its group with it."""
        self.learners.append(learner)
        self.steps.append(coef)

    def correct(self, coef: Double) -> None:
        """Replace the coefficients of the last group."""
        self.steps[-1] = coef

    def end_group(self) -> None:
        """The weak learners so far keep the coefficients they have."""
        if self._ends[-1:] != [len(self.steps)]:
            self._ends.append(len(self.steps))

    def cut(self, n_learners: int) -> "CoefficientPath":
        """The path of the first weak learners."""
        kept = CoefficientPath()
        kept.learners, kept.steps = self.learners[:n_learners], self.steps[:n_learners]
        kept._ends = [end for end in self._ends if end < n_learners]
        return kept

    def at(self, n_learners: int) -> Double:
        """Coefficients of the first weak learners, as they were when there were no more."""
        ends = [*(end for end in self._ends if end < n_learners), n_learners] if n_learners else []
        return np.concatenate([np.empty(0), *(self.steps[end - 1] for end in ends)])

    def combined(self) -> tuple[Indices, Double]:
        """Distinct rows of all weak learners, sorted, and the weight of each in the model."""
        return combine(self.learners, self.at(len(self.learners)))


class Stages(NamedTuple):
    """What a machine was after each round."""

    paths: list[CoefficientPath]  # of each output, indices being those of rows to learn from
    counts: list[list[int]]  # after each round, the number of weak learners of each output
    rows: Indices  # of the centers of the expansion, sorted
    intercept: Double  # (n_outputs,)
    scale: Double  # (n_outputs,)
    kernel: GaussianKernel

    def weights(self) -> tuple[Double, Double]:
        """Weights (n_terms, n_outputs) and intercept (n_outputs,) of the expansion after the last round."""
        weights, intercept = np.zeros((len(self.rows), len(self.paths))), self.intercept.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            for k, path in enumerate(self.paths):
                indices, combined = path.combined()
                weights[np.searchsorted(self.rows, indices), k] = self.scale[k] * (self.kernel.amplitude * combined)
                intercept[k] += self.scale[k] * (self.kernel.bias * combined.sum())
        return weights, intercept

    def scores(self, expansion: KernelExpansion, X: NDArray[Any], n_threads: int | None) -> Iterator[Double]:
        """Yield the scores after each round kept, shape (n_samples, n_outputs)."""
        columns = [np.empty((len(path.learners), len(X))) for path in self.paths]
        done = [0] * len(columns)
        for counts in self.counts:
            scores = np.tile(self.intercept, (len(X), 1))
            for k, count in enumerate(counts):
                for m in range(done[k], count):
                    columns[k][m] = self._values(self.paths[k].learners[m], expansion, X, n_threads)
                done[k] = count
                scores[:, k] += self.scale[k] * (self.paths[k].at(count) @ columns[k][:count])
            yield scores

    def _values(self, learner: WeakLearner, expansion: KernelExpansion, X: NDArray[Any],
                n_threads: int | None) -> Double:
        """Values of a weak learner at rows."""
        centers = expansion.centers[np.searchsorted(self.rows, learner.indices)]
        alone = KernelExpansion(centers, self.kernel.amplitude * learner.weights[:, None],
                                [self.kernel.bias * learner.weights.sum()], expansion.inverse_lengthscales)
        values: Double = alone.score_checked(X, n_threads)[:, 0]
        return values


def make_stages(paths: list[CoefficientPath], counts: list[list[int]], intercept: Double, scale: Double,
                kernel: GaussianKernel) -> Stages:
    """The stages of a machine whose kernel is normalised."""
    indices = [learner.indices for path in paths for learner in path.learners]
    return Stages(paths, counts, np.unique(np.concatenate([np.empty(0, np.intp), *indices])), intercept, scale, kernel)


def staged_scores(model: Any, X: Any) -> Iterator[Double]:
    """Yield the scores of a fitted model after each round kept: (n_samples,) of one output, else two-dimensional."""
    X = model._check_rows(X)
    stages: Stages = model._require_training_state("for staged answers")
    for scores in stages.scores(model.expansion_, X, model.n_threads):
        yield scores[:, 0] if scores.shape[1] == 1 else scores
