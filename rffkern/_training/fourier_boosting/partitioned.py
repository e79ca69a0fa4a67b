"""Where a member stands whose rows are in partitions: samples of them are here, and sums over all."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._rows.tiles import TILE
from ..distributed.partitions import PartitionedTable as Rows
from ..distributed.partitions import proportional_shares
from .losses import Problem
from .partition_rows import Looked, Part, Size, settled_values
from .state import Losses, MemberRows, Slopes, State, mean_losses, picked
from .terms import Table, Term

# A table is grown on so many times the rows of a sample: its cells are thousands, and a row takes a few bytes.
_TABLE_FACTOR = 8

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


class _Side:
    """Rows in partitions that follow the rounds of a member."""

    def __init__(self, rows: Rows, part: Part) -> None:
        self.rows, self.ask = rows, rows.partitions.query
        self.tell = rows.partitions.command
        self.tell("begin", part)
        self.sizes: list[Size] = self.ask("size")
        self.totals = _summed([size.totals for size in self.sizes])

    def look(self, n_rounds: int | None = None) -> tuple[list[float], list[MemberRows]]:
        """Sums of losses, and the samples of the next round where its number is given."""
        found: list[Looked] = self.ask("look", n_rounds)
        return _summed([each.sums for each in found]), [each.sample for each in found if each.sample is not None]


def _summed(pairs: Sequence[Sequence[float]]) -> list[float]:
    """Sums of both numbers of some pairs."""
    return [math.fsum(each) for each in zip(*pairs, strict=True)]


class WatchedRows:
    """Rows in partitions that decide nothing."""

    scores = None  # stay where they are

    def __init__(self, rows: Rows, part: Part) -> None:
        self._side = _Side(rows, part)
        self._term: Term | None = None
        self.losses = self.move(0.0)

    def point(self, term: Term) -> None:
        """Let the next move go along a term."""
        self._term = term

    def move(self, step: float) -> Losses:
        """Add a multiple of the term to the scores."""
        if step:
            self._side.tell("advance", self._term, step)
        self.losses = mean_losses(self._side.look()[0], self._side.totals)
        return self.losses


class Sampling(NamedTuple):
    """How the rows of a round are drawn."""

    problem: Problem  # of no rows
    max_samples: int | None
    seed: int


class PartitionedMember:
    """Rows in partitions that a member learns from and holds out, or that are held out beside them; a `Stand`.

    What the rounds fit terms to is a sample of the rows learned from, equal shares of all partitions.
    """

    scores = None  # stay where they are

    def __init__(self, rows: Rows, held_out: Rows | None, part: Part, sampling: Sampling) -> None:
        self._learned = _Side(rows, part)
        self._sides = [self._learned]
        if held_out is not None:
            self._sides.append(_Side(held_out, part._replace(is_held_out=True)))
        self._problem, self.searches_steps = sampling.problem, sampling.problem.searches_steps
        n_learned, n_most = [size.n_learned for size in self._learned.sizes], sampling.max_samples
        shares = proportional_shares(rows.summaries, n_learned, n_most)
        self._learned.tell("sample_from", shares, proportional_shares(
            rows.summaries, n_learned, None if n_most is None else _TABLE_FACTOR * n_most))
        order = np.random.default_rng(sampling.seed).permutation(sum(shares.values()))
        self._order = np.concatenate([order, np.zeros(-len(order) % TILE, dtype=np.intp)])
        self._n_sampled = len(order)
        self._term: Term | None = None
        self._n_moves = 0
        self.losses = self._look()

    @property
    def here(self) -> State:
        """The sample."""
        return self._here

    def point(self, term: Term) -> None:
        """Let the next move go along a term."""
        self._term = term
        if not isinstance(term, Table):  # whose step is not searched
            self._here.point(term)

    def best_step(self) -> float:
        """The multiple of lowest loss on the sample."""
        return self._here.best_step()

    def move(self, step: float) -> Losses:
        """Add a multiple of the term to the scores; the sample becomes the next."""
        if step:
            for side in self._sides:
                side.tell("advance", self._term, step)
        self._n_moves += 1
        self.losses = self._look()
        return self.losses

    def trial(self) -> Losses:
        """The losses after a move by 1, which is taken back."""
        return self._mean([_summed(side.ask("trial", self._term)) for side in self._sides])

    def slopes(self, candidates: Indices) -> Slopes:
        """Rows to grow a table on: more than the sample has, for one of many cells."""
        found: list[Slopes] = self._learned.ask("slopes", candidates, self._n_moves)
        n_rows = sum(each.n_train for each in found)
        padding = ((0, 0), (0, -n_rows % TILE))
        codes, gradient, hessian = (np.pad(np.concatenate(each, axis=1), padding) for each in zip(
            *((each.codes, each.gradient, each.hessian) for each in found), strict=True))
        return Slopes(candidates, codes, gradient, hessian, codes.shape[1])

    def with_values(self, table: Table, ridge: float) -> Table:
        """A table with the values of its cells that all rows learned from say."""
        sums = self._learned.ask("cell_sums", table.columns, table.cuts)
        return settled_values(table, np.sum(sums, axis=0), ridge)

    def moments(self, chosen: Indices) -> tuple[float, Double, Double]:
        """Sum of the weights of rows learned from, and weighted means and products of some columns."""
        found = np.sum(self._learned.ask("moments", chosen), axis=0)
        total = float(found[-1, -1])
        return total, found[-1, :-1] / total, found[:-1, :-1]

    def products(self, chosen: Indices) -> tuple[Double, Double]:
        """Products of some columns with the slopes of the loss, (n_chosen, n_outputs), and sums of these slopes."""
        found = np.sum(self._learned.ask("products", chosen), axis=0)
        return found[:-1], found[-1]

    def held_scores(self) -> None:
        """Let the scores of the rows held out be kept where they are."""
        for side in self._sides:
            side.tell("keep_held")

    def resume(self, scores: Any) -> Losses:
        """Members go on from no earlier fit."""
        raise NotImplementedError

    def _look(self) -> Losses:
        """Ask where all rows stand, and for the next sample."""
        sums, samples = self._learned.look(self._n_moves)
        rest = [side.look()[0] for side in self._sides[1:]]
        columns, codes, weights, scores, targets, *_ = zip(*samples, strict=True)
        order = self._order
        weight = np.concatenate(weights)[order]
        weight[self._n_sampled :] = 0
        rows = MemberRows(picked(np.concatenate(columns, axis=1), order), picked(np.concatenate(codes, axis=1), order),
                          weight, picked(np.concatenate(scores, axis=1), order), np.concatenate(targets)[order],
                          len(order))
        self._here = State(rows, self._problem)
        return self._mean([sums, *rest])

    def _mean(self, sums: Sequence[Sequence[float]]) -> Losses:
        """Mean losses of the sums of all sides."""
        return mean_losses(_summed(sums), _summed([side.totals for side in self._sides]))
