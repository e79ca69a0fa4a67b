"""Answers after each round, of the families that learn in rounds."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._native.array_types import NDArray
from .links import probabilities
from .tasks import Classifier, Regressor

Double = NDArray[np.float64]


class StagedClassifier(Classifier):
    """A classifier that learns in rounds."""

    def _staged(self, X: Any) -> Iterator[Double]:
        """Scores of a snapshot after each round kept, (n_samples, n_outputs)."""
        raise NotImplementedError

    def staged_decision_function(self, X: Any) -> Iterator[Double]:
        """Yield `decision_function(X)` after each round kept; the last equals it up to rounding.

        Sparse machines that were read from a file raise TrainingStateError: it does not tell their rounds.
        """
        stages = self._snapshot()._staged(X)
        return (scores[:, 0] if scores.shape[1] == 1 else scores for scores in stages)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield `predict(X)` after each round kept; the last equals it but for ties that rounding decides."""
        now = self._snapshot()
        return map(now._labels_of, now._staged(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Double]:
        """Yield `predict_proba(X)` after each round kept; the last equals it up to rounding."""
        now = self._snapshot()
        return (probabilities(now._link(), scores) for scores in now._staged(X))


class StagedRegressor(Regressor):
    """A regressor that learns in rounds."""

    def _staged(self, X: Any) -> Iterator[Double]:
        """Scores of a snapshot after each round kept, (n_samples, n_outputs)."""
        raise NotImplementedError

    def staged_predict(self, X: Any) -> Iterator[Double]:
        """Yield `predict(X)` after each round kept; the last equals it up to rounding.

        Sparse machines that were read from a file raise TrainingStateError: it does not tell their rounds.
        """
        now = self._snapshot()
        predicted = map(now._targets_of, now._staged(X))
        return (targets[:, 0] if targets.shape[1] == 1 else targets for targets in predicted)
