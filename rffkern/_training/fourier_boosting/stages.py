"""Scores of a model after each round."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._model.expansion import Expansion
from ..._native.array_types import NDArray
from .parts import some_terms

Double = NDArray[np.float64]


def staged_scores(expansion: Expansion, rounds: Double, n_rounds: int, X: NDArray[Any],
                  n_threads: int | None) -> Iterator[Double]:
    """Yield the scores (n_samples, n_outputs) of mapped and clipped rows after each round, from its terms alone.

    The lines of all rounds, which the expansion holds as one, and the kernels are there from the first on.
    """
    order = np.argsort(rounds, kind="stable")
    ends = np.searchsorted(rounds[order], np.arange(n_rounds + 1), side="right")
    total = expansion.intercept + expansion._only("linear")._scorer.score(X, n_threads)
    if expansion.kernels is not None:
        total += expansion._only("kernels")._scorer.score(X, n_threads)
    for start, stop in itertools.pairwise(ends):
        if stop > start:
            total = total + some_terms(expansion, order[start:stop])._scorer.score(X, n_threads)
        yield total.copy()


def check_rounds(rounds: Double, n_rounds: int, n_terms: int) -> None:
    """ValueError unless each term has a round from 1 to n_rounds."""
    if len(rounds) != n_terms or not ((rounds == np.floor(rounds)) & (rounds >= 1) & (rounds <= n_rounds)).all():
        raise ValueError("rounds and terms do not agree in number")
