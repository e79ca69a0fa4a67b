"""Partitions of a table, wherever they are: sums over them are added in their order.

A result therefore depends on how rows are partitioned, and neither on where partitions are nor on when they answer.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .partition import Behind, Command, Request, Summary

Double = NDArray[np.float64]


class Engine(Protocol):
    """Where partitions are."""

    def ask(self, request: Request, which: Sequence[int]) -> list[Any]:
        """What some of the partitions answer, in their order."""

    def keep(self, which: Sequence[int]) -> None:
        """Forget all partitions but some, which are numbered anew."""

    def __len__(self) -> int:
        """Number of partitions."""


class Partitions:
    """All partitions of a table, with the commands that they were given so far."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._commands: list[Command] = []
        self._n_sent = 0

    def tell(self, command: str, *arguments: Any) -> None:
        """Give a command, which travels with the next question."""
        self._commands.append((command, arguments))

    def ask(self, query: str, *arguments: Any) -> list[Any]:
        """What each partition answers, in their order; one that was lost and opened anew catches up first."""
        new = Request(self._n_sent, self._commands[self._n_sent :], query, arguments)
        answers = self._engine.ask(new, range(len(self._engine)))
        behind = [index for index, answer in enumerate(answers) if isinstance(answer, Behind)]
        for index, answer in zip(behind, self._engine.ask(new._replace(since=0, commands=self._commands), behind)
                                 if behind else (), strict=True):
            answers[index] = answer
        self._n_sent = len(self._commands)
        return answers

    def without(self, empty: Sequence[int]) -> None:
        """Leave out partitions that have no rows."""
        if empty:
            self._engine.keep([index for index in range(len(self._engine)) if index not in empty])


class PartitionColumns:
    """The sums over the columns of X, or over "values", the targets."""

    def __init__(self, partitions: Partitions, of: str, total: float) -> None:
        self._partitions, self._of, self.total = partitions, of, total

    def column_range(self) -> tuple[Double, Double]:
        """Smallest and largest value of each column."""
        lows, highs = zip(*self._partitions.ask("column_range", self._of), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def column_sums(self, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""
        total = np.zeros(center.size)
        for found in self._partitions.ask("column_sums", self._of, unit, center, power):
            total += found
        return total


class Table(NamedTuple):
    """Partitions whose rows are checked and weighted."""

    partitions: Partitions
    summaries: list[Summary]  # of each partition
    totals: list[float]  # sums of their weights, of mean 1
    given_total: float

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return math.fsum(self.totals)

    @property
    def n_rows(self) -> list[int]:
        """Rows of each partition."""
        return [summary.n_rows for summary in self.summaries]

    def shares(self, n_most: int | None) -> dict[int, int]:
        """Numbers of rows, in proportion to those of each partition by its number, of at most so many in all."""
        return shares_of(self.summaries, self.n_rows, n_most)


def shares_of(summaries: Sequence[Summary], n_rows: Sequence[int], n_most: int | None) -> dict[int, int]:
    """Numbers of rows, in proportion to n_rows by the number of the partition, of at most so many in all."""
    ends = np.cumsum([0, *n_rows]).tolist()
    n_all = ends[-1]
    n_most = n_all if n_most is None else min(n_most, n_all)
    cuts = [n_most * end // n_all for end in ends]
    return {summary.number: stop - start for summary, start, stop in zip(summaries, cuts, cuts[1:], strict=False)}
