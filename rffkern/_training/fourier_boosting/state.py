"""Where the boosting of a member stands: scores of its rows, and the slopes of the loss there."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._native import boosting
from .losses import Problem
from .rows import Columns, Indices, Layout
from .terms import Table, Term

Single = NDArray[np.float32]
Double = NDArray[np.float64]

# Moves of Newton's method along a direction, the largest, and the least that is worth another.
_MOST_MOVES, _LARGEST_MOVE, _SMALLEST_MOVE = 6, 5.0, 1e-3


class Losses(NamedTuple):
    """Mean losses of a member's rows."""

    learned: float
    held_out: float
    watched: tuple[float, ...] = ()  # of rows that decide nothing, set by set


def mean_losses(sums: Sequence[float], totals: Sequence[float]) -> Losses:
    """Losses of both parts of the rows from their sums and total weights."""
    learned, held_out = (loss / total if total else 0.0 for loss, total in zip(sums, totals, strict=True))
    return Losses(learned, held_out)


class MemberRows(NamedTuple):
    """Rows of a member: those that it learns from, then others."""

    columns: Single  # (n_columns, n_rows)
    codes: NDArray[np.uint8]  # (n_coded, n_rows)
    weight: Single  # (n_rows,) 0 for rows that pad
    scores: Single  # (n_outputs, n_rows)
    targets: Single  # (n_rows,) as the kernels take them
    n_train: int
    least: tuple[float, float] = (0.0, 0.0)  # sums of the least losses of both parts

    @classmethod
    def of(cls, columns: Columns, problem: Problem, weights: Double, layout: Layout) -> "MemberRows":
        """Rows in the order of a layout, before any round."""
        rows, used = layout.rows, layout.used
        weight = np.where(used, weights[rows], 0.0).astype(np.float32)
        scores = np.ascontiguousarray(np.where(used, problem.start[:, rows], np.float32(0)))
        least = np.where(used, weights[rows] * problem.least[rows], 0.0)
        learned, held_out = (float(part.sum()) for part in np.split(least, [layout.n_train]))
        return cls(picked(columns.values, rows), picked(columns.bins.codes, rows), weight, scores,
                   problem.targets[rows], layout.n_train, (learned, held_out))


def picked(columns: NDArray[Any], rows: Indices) -> NDArray[Any]:
    """Some rows of columns, one column after the other, so that a signal need not wait for all."""
    out = np.empty((len(columns), len(rows)), dtype=columns.dtype)
    for column, place in zip(columns, out, strict=True):
        column.take(rows, out=place, mode="clip")
    return out


class Slopes(NamedTuple):
    """Slopes of the loss at rows that a table is grown on."""

    coded: Indices  # (n_coded,) which of the columns with codes these are
    codes: NDArray[np.uint8]  # (n_coded, n_rows)
    gradient: Single  # (n_outputs, n_rows)
    hessian: Single
    n_train: int  # the first rows


class Stand(Protocol):
    """Where the boosting of a member stands, wherever its rows are."""

    losses: Losses
    searches_steps: bool

    @property
    def here(self) -> "State":
        """The rows that terms are fitted to."""

    @property
    def scores(self) -> Any:
        """The scores of all rows."""

    def point(self, term: Term) -> None:
        """Let the next moves go along a term."""

    def move(self, step: float) -> Losses:
        """Add a multiple of what the state points along to the scores."""

    def trial(self) -> Losses:
        """The losses after a move by 1, which is taken back."""

    def best_step(self) -> float:
        """The multiple of lowest loss on the rows learned from."""

    def slopes(self, candidates: Indices) -> Slopes:
        """Rows to grow a table on, with the codes of these columns at least."""

    def with_values(self, table: Table, ridge: float) -> Table:
        """A table with the values of its cells that all rows learned from say: G / (H + ridge)."""

    def moments(self, chosen: Indices) -> tuple[float, Double, Double]:
        """Sum of the weights of rows learned from, and weighted means and products of some columns."""

    def products(self, chosen: Indices) -> tuple[Double, Double]:
        """Products of some columns with the slopes of the loss, (n_chosen, n_outputs), and sums of these slopes."""

    def held_scores(self) -> Any:
        """A copy of the scores of the rows held out, or what stands for it."""

    def resume(self, scores: Any) -> Losses:
        """Go on from these scores, which stay as they are."""


class State:
    """Rows of a member that are here, with their scores; a `Stand`."""

    def __init__(self, rows: MemberRows, problem: Problem) -> None:
        self.columns, self.codes, self.weight, self.scores, self._targets, self.n_train, self._least = rows
        self.directions, self.gradient, self.hessian = np.zeros((3, *self.scores.shape), dtype=np.float32)
        self._kernel, self._parameters = problem.kernel, problem.parameters
        self.searches_steps, self._weighs_curvature = problem.searches_steps, problem.weighs_curvature
        self.totals = [float(np.sum(part, dtype=np.float64)) for part in np.split(self.weight, [self.n_train])]
        self._chosen: tuple[Indices, Single] | None = None
        self.losses = self.move(0.0)

    @property
    def here(self) -> "State":
        """The rows that terms are fitted to: all."""
        return self

    def chosen(self, columns: Indices) -> Single:
        """Some of the columns; those last asked for are kept."""
        if len(columns) == len(self.columns):
            return self.columns
        if self._chosen is None or not np.array_equal(self._chosen[0], columns):
            self._chosen = columns, self.columns[columns]
        return self._chosen[1]

    def point(self, term: Term) -> None:
        """Let the next moves go along a term."""
        term.write(self, self.directions)

    def move(self, step: float) -> Losses:
        """Add a multiple of the directions to the scores; gradients and losses become those there."""
        sums = boosting.update(
            self._kernel, self._parameters, self.scores, self.directions, step, self._targets, self.weight,
            self.n_train, self.gradient, self.hessian)
        learned, held_out = (loss - least for loss, least in zip(sums, self._least, strict=True))
        self.sums = learned, held_out
        self.losses = mean_losses(self.sums, self.totals)
        return self.losses

    def trial(self) -> Losses:
        """The losses after a move by 1, which is taken back."""
        found = self.move(1.0)
        self.move(-1.0)
        return found

    def slopes(self, candidates: Indices) -> Slopes:
        """All rows."""
        return Slopes(np.arange(len(self.codes)), self.codes, self.gradient, self.hessian, self.n_train)

    def with_values(self, table: Table, ridge: float) -> Table:
        """A table that was grown on all rows, as it is."""
        return table

    def moments(self, chosen: Indices) -> tuple[float, Double, Double]:
        """Sum of the weights of rows learned from, and weighted means and products of some columns."""
        rows, weight = self.chosen(chosen)[:, : self.n_train], self.weight[: self.n_train]
        total = float(weight.sum(dtype=np.float64))
        weighted = rows * np.sqrt(weight)
        return total, (rows @ weight).astype(np.float64) / total, (weighted @ weighted.T).astype(np.float64)

    def products(self, chosen: Indices) -> tuple[Double, Double]:
        """Products of some columns with the slopes of the loss, (n_chosen, n_outputs), and sums of these slopes."""
        gradient = self.gradient[:, : self.n_train]
        products = (self.chosen(chosen)[:, : self.n_train] @ gradient.T).astype(np.float64)
        return products, gradient.sum(axis=1, dtype=np.float64)

    def resume(self, scores: Single) -> Losses:
        """Go on from these scores, which stay as they are."""
        self.scores[:], self.directions[:] = scores, 0
        return self.move(0.0)

    def held_scores(self) -> Single:
        """A copy of the scores of the rows held out."""
        return self.scores[:, self.n_train :].copy()

    @property
    def wave_weight(self) -> Single:
        """Weights of the rows in the least squares of waves."""
        if not self._weighs_curvature:
            return self.weight
        found: Single = self.hessian[0] if len(self.hessian) == 1 else self.hessian.mean(axis=0)
        return found

    def block(self, rows: slice) -> MemberRows:
        """A copy of some of the rows, all to learn from, with their scores and without codes."""
        return MemberRows(self.columns[:, rows].copy(), self.codes[:0, rows].copy(), self.weight[rows].copy(),
                          self.scores[:, rows].copy(), self._targets[rows].copy(), rows.stop - rows.start)

    def best_step(self) -> float:
        """The multiple of the directions of lowest loss on the rows learned from, by Newton's method from 1."""
        step: float = boosting.best_step(
            self._kernel, self._parameters, self.scores, self.directions, 1.0, self._targets, self.weight, self.n_train,
            _MOST_MOVES, _LARGEST_MOVE, _SMALLEST_MOVE)
        return step
