"""Quantiles and moments of a column, and a sample of rows, in one pass, in bounded memory and by a fixed rule.

Values come in blocks of `BLOCK_ROWS` rows, which begin at fixed rows, so that nothing depends on the blocks of the
source.  There is no random choice: the same rows in the same order give the same summary.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._native import scoring
from .._native.array_types import Double, Indices, NDArray
from .._rows.scaling import power_of_two

BLOCK_ROWS = 4096
N_ENTRIES = 2048  # of a summary at most


class Summary(NamedTuple):
    """Distinct values in increasing order, and the weight of each."""

    values: Double
    weights: Double

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def middles(self) -> Double:
        """Rank of the middle of each entry's weight, in [0, 1]."""
        ends = np.cumsum(self.weights)
        return (ends - self.weights / 2) / ends[-1]

    def quantile(self, share: float) -> float:
        """The entry in which a share of the weight is reached."""
        ends = np.cumsum(self.weights)
        return float(self.values[min(np.searchsorted(ends, share * ends[-1]), len(ends) - 1)])


_NONE = np.empty(0)


def joined(values: Double, weights: Double, n_entries: int | None = None) -> Summary:
    """A summary of values in n_entries at most; equal ones become one entry."""
    values = np.add(values, 0.0, dtype=np.float64)  # of 0 and -0, which are equal, one
    if (weights == weights[0]).all():  # sorting is several times faster than finding the order
        values.sort()
    else:
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
    return merged(Summary(values, weights), Summary(_NONE, _NONE), n_entries or len(values))


def compressed(summary: Summary, n_entries: int) -> Summary:
    """At most n_entries of the entries: those in the middle of equal shares of the weight."""
    return merged(summary, Summary(_NONE, _NONE), n_entries)


def merged(a: Summary, b: Summary, n_entries: int) -> Summary:
    """The summary of the values of both, in n_entries at most."""
    values, weights = np.empty((2, len(a.values) + len(b.values)))
    n_found = scoring.merge_summaries(*a, *b, n_entries, values, weights)
    return Summary(values[:n_found].copy(), weights[:n_found].copy())


class QuantileSketch:
    """A bounded summary of the values of a column.

    Each block is sorted and equal values are joined.  Summaries of equally many blocks are merged in pairs, as a binary
    counter carries, and a merged one of more than k = `n_entries` entries is compressed to k.  It is exact while no
    more than k distinct values occur.  Otherwise each compression moves the rank of a value by at most 1 / (2 k) of
    the weight that it compresses, and a value takes part in one for its block and in one for each doubling after it:
    for n rows

        |estimated rank - rank| <= (2 + log2(max(1, n / BLOCK_ROWS))) / (2 k)

    of the total weight, which is 0.0033 for 10 million rows.
    """

    def __init__(self, n_entries: int = N_ENTRIES) -> None:
        self._n_entries = n_entries
        self._summaries: list[Summary | None] = []  # a summary of 2^height blocks, or None
        self.low, self.high = math.inf, -math.inf

    def add(self, values: Double, weights: Double) -> None:
        """Add a block of values, none of them nan, with positive weights."""
        if not len(values):
            return
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        self._carry(joined(values, weights, self._n_entries), 0)

    def merge(self, other: "QuantileSketch") -> None:
        """Add the values of another sketch; its last block counts as a whole one in the bound above."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        for height, summary in enumerate(other._summaries):
            if summary is not None:
                self._carry(summary, height)

    def _carry(self, summary: Summary, height: int) -> None:
        """Put a summary of 2^height blocks in its place, merged with those that are there."""
        self._summaries += [None] * (height + 1 - len(self._summaries))
        while (there := self._summaries[height]) is not None:
            summary, self._summaries[height] = merged(there, summary, self._n_entries), None
            height += 1
            if height == len(self._summaries):
                self._summaries.append(None)
        self._summaries[height] = summary

    def summary(self) -> Summary:
        """All values so far, with the smallest and the largest, whose entries may have weight 0."""
        summaries = [summary for summary in self._summaries if summary is not None]
        if not summaries:
            return Summary(np.empty(0), np.empty(0))
        return joined(np.concatenate([[self.low, self.high], *(summary.values for summary in summaries)]),
                       np.concatenate([[0.0, 0.0], *(summary.weights for summary in summaries)]))


class LevelStatistics(NamedTuple):
    """The levels of a category, sorted, with their weights and target sums by fold."""

    names: tuple[str, ...]
    weights: Double  # (n_levels, N_FOLDS)
    targets: Double  # (n_levels, N_FOLDS, n_outputs) weighted sums; no outputs without targets

    @property
    def has_targets(self) -> bool:
        """Whether the rows have targets."""
        return self.targets.shape[2] > 0

    @property
    def totals(self) -> Double:
        """Weights of the levels in all folds."""
        return self.weights.sum(axis=1)


def level_digests(levels: Sequence[str]) -> NDArray[np.uint64]:
    """A hash of each level that is the same in all blocks of rows."""
    import hashlib  # not needed where rows are mapped, and slow to load

    digests = [hashlib.blake2b(level.encode("utf-8", "surrogatepass"), digest_size=8).digest() for level in levels]
    return np.frombuffer(b"".join(digests), np.uint64)


class Moments(NamedTuple):
    """Weight, mean and standard deviation of some values; the deviation is never squared, which could overflow."""

    weight: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0

    @classmethod
    def of(cls, values: Double, weights: Double) -> "Moments":
        """Those of a block of values."""
        if not len(values):
            return cls()
        total, first = float(weights.sum()), float(values[0])
        unit = power_of_two(total)  # nothing is divided by tiny weights, which would overflow
        mean = first + float((weights / unit * ((values - first) / (total / unit))).sum())
        centred = values - mean
        unit = float(np.abs(centred).max())
        if unit == 0 or (values == first).all():
            return cls(total, first, 0.0)
        return cls(total, mean, unit * math.sqrt(float((weights / total * (centred / unit) ** 2).sum())))

    def __add__(self, other: object) -> "Moments":
        """Those of both sets of values."""
        if not isinstance(other, Moments):
            return NotImplemented
        if not self.weight or not other.weight:
            return self if self.weight else other
        total = self.weight + other.weight
        mine, theirs = self.weight / total, other.weight / total
        apart = other.mean - self.mean
        unit = max(self.deviation, other.deviation, abs(apart))
        if unit == 0:
            return Moments(total, self.mean, 0.0)
        spread = (mine * (self.deviation / unit) ** 2 + theirs * (other.deviation / unit) ** 2
                  + mine * theirs * (apart / unit) ** 2)
        return Moments(total, self.mean + theirs * apart, unit * math.sqrt(spread))


Priorities = NDArray[np.uint64]

# Limits on the number of rows in the sample, and on the numbers in them.
_MOST_ROWS = 2048
_MOST_NUMBERS = 1 << 21


def priorities_of(rows: Indices) -> Priorities:
    """Numbers of 64 bits as if drawn at random, distinct for distinct rows (SplitMix64)."""
    z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Reservoir:
    """A sample of rows: values, (n_columns, n_sampled), and weights, in the order of the rows."""

    def __init__(self, n_columns: int) -> None:
        self._most = max(64, min(_MOST_ROWS, _MOST_NUMBERS // n_columns))
        self._priorities: Priorities = np.empty(0, np.uint64)
        self.values, self.weights = np.empty((n_columns, 0)), np.empty(0)

    def add(self, rows: Indices, values: Double, places: Indices, weights: Double) -> None:
        """Add rows by their index; their values are those at some places of an array, column by column."""
        self._add(priorities_of(rows), values, places, weights)

    def merge(self, other: "Reservoir", values: Double) -> None:
        """Add the rows of another sample; `values` are theirs, as those here are stored."""
        self._add(other._priorities, values, np.arange(len(other.weights)), other.weights)

    def _add(self, priorities: Priorities, values: Double, places: Indices, weights: Double) -> None:
        if len(self._priorities) == self._most:
            below = np.flatnonzero(priorities < self._priorities.max())
            priorities, places, weights = priorities[below], places[below], weights[below]
        if not len(priorities):
            return
        priorities = np.concatenate([self._priorities, priorities])
        kept = np.arange(len(priorities))
        if len(priorities) > self._most:
            kept = np.sort(np.argpartition(priorities, self._most - 1)[: self._most])
        old, new = kept[kept < len(self._priorities)], kept[kept >= len(self._priorities)] - len(self._priorities)
        self.values = np.concatenate([self.values[:, old], values[:, places[new]]], axis=1)
        self.weights = np.concatenate([self.weights[old], weights[new]])
        self._priorities = priorities[kept]
