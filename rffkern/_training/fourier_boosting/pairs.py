"""Pairs of columns that may interact, chosen by what an additive model leaves of the gradient of the loss."""

import itertools
import math
from typing import Any

import numpy as np

from ..._estimator.monitor import TimeLimit
from ..._native.array_types import Double, Indices, NDArray
from .base_learners import LEAF_RIDGE, learners_of
from .boosting import BagState, boost_bag
from .parameters import Hyperparameters
from .training_rows import BaggedRows, Columns

# Rounds of the additive model at most, and rows, bins of a column, and tables of two columns and an output.
_MOST_ROUNDS, _MOST_ROWS, _MOST_BINS, _MOST_TABLES = 300, 1 << 15, 32, 10_000

# Passes that make the sums over rows and columns of a table 0.
_N_PASSES = 5

# The best of m pairs of noise gains some 2 (log m + this) degrees of freedom.  More leaves out pairs that help: of ten
# pairs 4 in place of 1 left four of them in a table of 690 rows, and .910 of the variance in place of .923.
_LOG_CUTS = 1.0


def strongest_pairs(model: Any, columns: Columns, sizes: Hyperparameters, rows: BaggedRows,
                    limit: TimeLimit) -> Indices:
    """As many pairs of sources as constraints ask for, those that gain most, if more than noise would, (n_chosen, 2).

    An additive model is boosted on the rows of a bag, with the constraints of `columns`.  What a pair gains is then how
    much two thresholds, one on each column, lower the loss by values for the four quadrants (Y. Lou, R. Caruana,
    J. Gehrke and G. Hooker, 2013, "Accurate intelligible models with pairwise interactions", section 3.1).  Departure:
    what a sum of two functions of one column each would gain does not count.
    """
    learners = learners_of(model, columns, sizes, rows)
    boost_bag(rows, (), learners, min(model.n_estimators, _MOST_ROUNDS), sizes.patience,
              BagState(np.random.default_rng(0)), lambda *_: not limit.is_over())

    # Columns in fewer bins; of a wide table those of largest relevance.
    relevances = sum((learner.relevance_shares for learner in learners), np.zeros(columns.n_sources))
    sample, sources = rows.sample, columns.sources[columns.binned]
    usable = np.flatnonzero(columns.usable[columns.binned])
    ranked = usable[np.argsort(-relevances[sources[usable]], kind="stable")]
    candidates = np.sort(ranked[: max(2, math.isqrt(2 * _MOST_TABLES // len(sample.scores)))])
    some = slice(min(sample.n_train, _MOST_ROWS))
    gradient, hessian = (each[:, some].astype(np.float64) for each in (sample.gradient, sample.hessian))
    codes = [_coarse(sample.bins[candidate, some]) for candidate in candidates]

    gains = np.zeros((columns.n_sources, columns.n_sources))
    for first, second in itertools.combinations(range(len(codes)), 2):
        low, high = sorted((sources[candidates[first]], sources[candidates[second]]))
        if low != high:
            gains[low, high] = max(gains[low, high], pair_gain(codes[first], codes[second], gradient, hessian))
    unit = float(((gradient**2).sum(axis=1) / np.maximum(hessian.sum(axis=1), 1e-30)).sum())
    least = 2 * (math.log(max(math.comb(len(codes), 2), 1)) + _LOG_CUTS) * unit
    assert columns.constraints is not None
    best = np.argsort(-gains, axis=None, kind="stable")[: columns.constraints.n_pairs]
    return np.stack(np.unravel_index(best[gains.flat[best] > least], gains.shape), axis=1)


def _coarse(bins: NDArray[np.uint8]) -> Indices:
    """Bins joined to at most 32 of about equally many rows, numbered from 0."""
    counts = np.bincount(bins)
    middle = np.cumsum(counts) - counts / 2
    is_few = np.count_nonzero(counts) <= _MOST_BINS
    joined = np.arange(len(counts)) if is_few else np.floor(_MOST_BINS * middle / len(bins))
    return np.unique(joined[bins], return_inverse=True)[1]


def pair_gain(first: Indices, second: Indices, gradient: Double, hessian: Double) -> float:
    """The largest gain of two thresholds on two binned columns, (n_rows,), over that of a sum of functions of one each.

    With sums G and H of gradient and Hessian in each cell of a table of the two, a and b of lowest
    sum (G - H (a_i + b_j))^2 / H are taken away from G.  What is left has opposite sums S in neighbouring quadrants,
    and these gain sum S^2 / (H + ridge), over outputs.
    """
    shape = int(first.max()) + 1, int(second.max()) + 1
    cells, n_cells = first * shape[1] + second, shape[0] * shape[1]
    gain = np.zeros((shape[0] - 1, shape[1] - 1))
    for of_rows, hessian_of_rows in zip(gradient, hessian, strict=True):
        left, weight = (np.bincount(cells, each, n_cells).reshape(shape) for each in (of_rows, hessian_of_rows))
        for _ in range(_N_PASSES):
            for axis in (0, 1):
                left -= weight * (left.sum(axis, keepdims=True) / np.maximum(weight.sum(axis, keepdims=True), 1e-30))
        low = weight.cumsum(0).cumsum(1)
        corner, below, beside, total = low[:-1, :-1], low[:-1, -1:], low[-1:, :-1], low[-1, -1]
        quadrants = corner, below - corner, beside - corner, total - below - beside + corner
        gain += left.cumsum(0).cumsum(1)[:-1, :-1] ** 2 * sum(1 / (each + LEAF_RIDGE) for each in quadrants)
    return float(gain.max()) if gain.size else 0.0
