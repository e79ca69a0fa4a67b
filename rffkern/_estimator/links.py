"""From the scores of a classifier to probabilities, one link for each way of learning; quantiles of a regressor."""

import math
from typing import Any, TypeAlias

import numpy as np

from .._native.array_types import Double

# Where the squared loss predicts less than this above the surest "no", its probability falls off exponentially.
TAIL = 1e-3

# Logarithm of the largest mean of counts that is predicted: nothing is infinite.
LARGEST_LOG = 709.0


class LogisticLink:
    """P(y = +1 | x) = 1 / (1 + exp(-slope score)); the exponential loss has slope 2."""

    def __init__(self, slope: float = 2.0) -> None:
        self.slope = slope

    def positive(self, scores: Double) -> Double:
        """P(y = +1 | x) of two classes, from scores of one output."""
        with np.errstate(over="ignore"):  # whose tanh is 1
            return 0.5 * (1 + np.tanh(0.5 * self.slope * scores))

    def log_positive(self, scores: Double) -> Double:
        """Logarithm of what the probabilities of several classes are proportional to."""
        return -np.logaddexp(0, -self.slope * scores)

    def log_both(self, scores: Double) -> tuple[Double, Double]:
        """Logarithms of P(y = -1 | x) and P(y = +1 | x) of two classes."""
        with np.errstate(over="ignore"):  # whose logarithm is -inf
            return -np.logaddexp(0, self.slope * scores), -np.logaddexp(0, -self.slope * scores)

    def score_of(self, probability: float) -> float:
        """The score of this P(y = +1 | x)."""
        return math.log(probability / (1 - probability)) / self.slope

    def least_difference(self, probability: float) -> float:
        """By how much a class of this probability among several leads each other one in score, at least."""
        return 0.0 if probability >= 0.5 else -math.inf


class SoftmaxLink(LogisticLink):
    """P(class | x) in proportion to exp(score), and the logistic link for a single score."""

    def __init__(self) -> None:
        super().__init__(slope=1.0)

    def log_positive(self, scores: Double) -> Double:
        return scores

    def least_difference(self, probability: float) -> float:
        return self.score_of(probability)


class LinearLink:
    """P(y = +1 | x) = (1 + score) / 2, for a score that estimates the mean of y in {-1, +1}."""

    def positive(self, scores: Double) -> Double:
        return np.clip(0.5 * (1 + scores), 0, 1)

    def log_positive(self, scores: Double) -> Double:
        """Not held to 1, and with a tail below 0, so that the order of classes is that of their scores."""
        above = 1 + scores
        return np.log(0.5 * np.maximum(above, TAIL)) + np.minimum(above / TAIL - 1, 0)

    def log_both(self, scores: Double) -> tuple[Double, Double]:
        with np.errstate(divide="ignore"):  # of a probability of 0
            return np.log(self.positive(-scores)), np.log(self.positive(scores))

    def score_of(self, probability: float) -> float:
        return 2 * probability - 1

    def least_difference(self, probability: float) -> float:
        return 0.0 if probability >= 0.5 else -math.inf


def quantiles_of(model: Any) -> tuple[float, ...] | None:
    """The quantiles that the scores of a model estimate, None where they estimate means."""
    if getattr(model, "loss", None) != "quantile":
        return None
    return tuple(model.quantile) if isinstance(model.quantile, (tuple, list)) else (model.quantile,)


def several_quantiles(model: Any) -> tuple[float, ...]:
    """The quantiles of a model where there are several, of which `predict` gives the first; else ()."""
    quantiles = quantiles_of(model) or ()
    return quantiles if len(quantiles) > 1 else ()


Link: TypeAlias = LogisticLink | LinearLink


def probabilities(link: Link, scores: Double) -> Double:
    """Class probabilities (n_samples, n_classes) from scores of one output, or one per class against the rest."""
    if scores.shape[1] == 1:
        positive = link.positive(scores[:, 0])
        both = np.empty((len(scores), 2))  # in less time than `np.column_stack` takes of one row
        both[:, 0], both[:, 1] = 1 - positive, positive
        return both
    # In logarithms, so that a row that every class rejects still gets finite probabilities.
    log_odds = link.log_positive(scores)
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def log_probabilities(link: Link, scores: Double) -> Double:
    """Logarithms of `probabilities`, also of those that are too small for a number."""
    if scores.shape[1] == 1:
        return np.column_stack(link.log_both(scores[:, 0]))
    log_odds = link.log_positive(scores)
    log_odds = log_odds - log_odds.max(axis=1, keepdims=True)
    return log_odds - np.log(np.exp(log_odds).sum(axis=1, keepdims=True))
