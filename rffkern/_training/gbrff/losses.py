"""Rows in this process with the scores of one output, under the exponential and the squared loss.

Sums over rows are sums over strips of tiles, added in order: bits do not depend on the number of threads.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._native import gbrff
from ..._native.array_types import Double, NDArray
from ..._rows.tiles import DOUBLE, TILE, aligned, tiled
from ..._rows.weights import RowWeights
from .packed_rows import Indices, PackedRows, Sample, equal_weights
from .weak_learners import WeakLearner

Sums = tuple[float, float]

# Returns first and second derivative of the sum of losses after a step along the direction.
Derivatives = Callable[[float], Sums]

# A weak learner that separates all weight would get an infinite step.  In single precision the weight it misses is
# known to about 2^-24 of the total; half of that bounds a step at 9.4.
_STEP_GUARD = 2.0**-26
_LARGEST_STEP = 0.5 * math.log((2 + _STEP_GUARD) / _STEP_GUARD)

# The loss is convex along a step: from the closed form Newton's rule takes about four.
_STEP_TOLERANCE = 1e-6
_MAX_NEWTON_STEPS = 60


class LocalRows:
    """Packed rows with the scores of one output.

    Boosting needs nothing of rows but the residuals of a sample and the steps `set_direction`, `best_step` and
    `add_step`; `PartitionedRows` takes them on rows elsewhere.  Outputs share the scratch memory of their packed rows:
    the direction of one holds until that of another is set.
    """

    loss: float  # mean over the rows
    largest_residual = 0.0  # of the exponential loss
    scores: Double  # (n_tiles, 128)

    # Of each loss, and of its constant H_0 and step alpha by sums that may be those of several partitions.
    target_sums: Callable[[NDArray[Any], RowWeights], Sums]  # sums over rows that the intercept follows from
    intercept: Callable[[Sums], float]
    step_from: Callable[[Sums, Derivatives], float]  # by the sums of a direction, or by derivatives along it
    derivatives: Callable[[float], Sums]  # of the sum of losses after a step along the direction, first and second
    add_step: Callable[[float], None]  # adds step h to H; loss and residuals become those there
    _evaluate: Callable[[WeakLearner, slice, NDArray[Any], NDArray[Any]], Sums]  # writes h of some tiles, and sums
    _write_residuals: Callable[[slice, NDArray[Any]], None]  # of some tiles
    _residuals_of: Callable[[Indices], NDArray[Any]]  # of some streamed rows, in tiles of their own

    def __init__(self, rows: PackedRows) -> None:
        self.rows = rows
        self._residuals = rows.residual_room(slice(0, rows.n_tiles)) if rows.keeps_residuals else None
        self.direction_sums: Sums = (0.0, 0.0)  # that the step along the direction follows from

    def set_direction(self, learner: WeakLearner) -> None:
        """Evaluate a weak learner h at all rows, and sum what its step follows from."""
        first = second = 0.0
        for place, tiles, weight in self.rows.blocks():
            sums = self._evaluate(learner, place, tiles, weight)
            first, second = first + sums[0], second + sums[1]
        self.direction_sums = first, second

    def best_step(self) -> float:
        """Alpha of the direction."""
        return self.step_from(self.direction_sums, self.derivatives)

    def residuals(self, sample: Sample) -> NDArray[Any]:
        """Residuals of a sample as kernels take them; where rows are streamed they hold until others are read."""
        return self.residuals_in(sample.rows) if isinstance(sample.rows, slice) else self._residuals_of(sample.rows)

    def residuals_in(self, place: slice) -> NDArray[Any]:
        """Residuals of some tiles."""
        found = self._residuals_at(place)
        if self._residuals is None:
            self._write_residuals(place, found)
        return found

    def _residuals_at(self, place: slice) -> NDArray[Any]:
        """Where the residuals of some tiles are written."""
        return self.rows.residual_room(place) if self._residuals is None else self._residuals[place]

    def restore(self, scores: Double | float) -> None:
        """Take scores of the same rows, or a constant; loss and residuals are those after a step of 0."""
        self.scores[:] = scores
        self.rows.h[:] = 0
        self.add_step(0.0)


def exponential_step(total: float, product: float) -> float:
    """Alpha = 1/2 ln(sum (1 + y h) w / sum (1 - y h) w), held finite for a perfect weak learner.

    `total` is the sum of w and `product` that of w y h.  Where all residuals are too small to be distinguished from
    0, the total is 0 and so is the step.
    """
    if total == 0:
        return 0.0
    product = min(max(product, -total), total)  # a sum of cosines may exceed the total by its rounding
    guard = _STEP_GUARD * total
    return 0.5 * math.log((total + product + guard) / (total - product + guard))


class ExponentialRows(LocalRows):
    """Scores H of labels y = -1 or +1, and their residuals y exp(-y H), under the exponential loss exp(-y H).

    Kernels take residuals times log2(e), because they raise 2 to a power.
    """

    def __init__(self, rows: PackedRows, sign: NDArray[np.int8], intercept: float) -> None:
        super().__init__(rows)
        self._y = rows.kept_signs(sign)
        self.scores = aligned((rows.n_tiles, TILE), DOUBLE)
        self.restore(intercept)

    @staticmethod
    def target_sums(target: NDArray[Any], weights: RowWeights) -> Sums:
        """Weights of the positive and of the negative rows."""
        positive = target > 0
        return weights.sum_of(positive), weights.sum_of(~positive)

    @staticmethod
    def intercept(sums: Sums) -> float:
        """H_0 = 1/2 ln((1 + mean y) / (1 - mean y))."""
        positive, negative = sums
        return 0.5 * math.log(positive / negative)

    @staticmethod
    def step_from(sums: Sums, derivatives: Derivatives) -> float:
        """The closed form, line 8 of Algorithms 2 and 3."""
        return exponential_step(*sums)

    def _evaluate(self, learner: WeakLearner, place: slice, tiles: NDArray[Any], weight: NDArray[Any]) -> Sums:
        """The sums of w and of w y h, with w = weight exp(-y H)."""
        rows, bounded = self.rows, self.largest_residual >= gbrff.LARGEST_RESIDUAL
        return gbrff.apply_exponential(
            tiles, self.scores[place], rows.signs_in(self._y, place), self.residuals_in(place), weight, learner.omegas,
            learner.phases, learner.q, bounded, rows.h[place], rows.terms, rows.partial, rows.n_threads)

    def derivatives(self, step: float) -> Sums:
        """Those of the sum of exp(-y (H + step h))."""
        rows, first, second = self.rows, 0.0, 0.0
        for place, weight in rows.spans():
            sums = gbrff.loss_along_step(self.scores[place], rows.signs_in(self._y, place), weight, rows.h[place], step,
                                         rows.partial, rows.n_threads)
            first, second = first + sums[1], second + sums[2]
        return first, second

    def add_step(self, step: float) -> None:
        """Add step h to H; loss and residuals become those there."""
        rows, loss, largest = self.rows, 0.0, 0.0
        for place, weight in rows.spans():
            sums = gbrff.boost_rows(self.scores[place], rows.signs_in(self._y, place), weight, rows.h[place], step,
                                    self._residuals_at(place), rows.partial, rows.n_threads)
            loss, largest = loss + sums[0], max(largest, sums[1])
        self.loss, self.largest_residual = loss / rows.total_weight, largest

    def _write_residuals(self, place: slice, out: NDArray[Any]) -> None:
        """A step of 0 leaves the scores as they are."""
        rows = self.rows
        y = rows.signs_in(self._y, place)
        gbrff.boost_rows(self.scores[place], y, rows.weight_in(place), y, 0.0, out, rows.partial, rows.n_threads)

    def _residuals_of(self, rows: Indices) -> NDArray[Any]:
        y, scores = tiled(self._y[rows], self.rows.dtype), tiled(self.scores.reshape(-1)[rows], DOUBLE)
        found = np.empty_like(y)
        gbrff.boost_rows(scores, y, equal_weights(len(rows), y.dtype), y, 0.0, found, self.rows.partial, 1)
        return found


class ExactStepRows(ExponentialRows):
    """The same, with steps that minimise the loss itself; the closed form does only where every |h| is 1."""

    @staticmethod
    def step_from(sums: Sums, derivatives: Derivatives) -> float:
        """The argmin over alpha of sum w exp(-alpha y h), within the bound of closed steps: Newton with bisection."""
        step = exponential_step(*sums)
        low, high = -_LARGEST_STEP, _LARGEST_STEP
        for _ in range(_MAX_NEWTON_STEPS):
            first, second = derivatives(step)
            low, high = (low, step) if first > 0 else (step, high)
            trial = step - first / second if second > 0 else step
            trial = trial if low < trial < high else 0.5 * (low + high)
            if abs(trial - step) <= _STEP_TOLERANCE * max(1.0, abs(step)):
                return trial
            step = trial
        return step


class SquaredRows(LocalRows):
    """The residuals r = y - H of the squared loss; they stand for the scores."""

    def __init__(self, rows: PackedRows, target: NDArray[Any], intercept: float) -> None:
        super().__init__(rows)
        self.scores = tiled(target[rows.order], DOUBLE)
        self.scores -= intercept
        self.restore(self.scores)

    @staticmethod
    def target_sums(target: NDArray[Any], weights: RowWeights) -> Sums:
        """Sum of the targets and of their weights."""
        return weights.sum_with(target), weights.total

    @staticmethod
    def intercept(sums: Sums) -> float:
        """H_0 = mean y."""
        product, total = sums
        return product / total

    @staticmethod
    def step_from(sums: Sums, derivatives: Derivatives) -> float:
        """Alpha = sum r h / sum h^2 (2019 paper, eq. 8)."""
        product, square = sums
        return product / square if square > 0 else 0.0

    def _evaluate(self, learner: WeakLearner, place: slice, tiles: NDArray[Any], weight: NDArray[Any]) -> Sums:
        """The sums of weight r h and of weight h^2."""
        rows = self.rows
        return gbrff.apply_squared(tiles, self.residuals_in(place), weight, learner.omegas, learner.phases, learner.q,
                                   rows.h[place], rows.terms, rows.partial, rows.n_threads)

    def derivatives(self, step: float) -> Sums:
        """Half of those of the sum of (r - step h)^2."""
        product, square = self.direction_sums
        return step * square - product, square

    def add_step(self, step: float) -> None:
        """Take step h off the residuals; the loss becomes that there."""
        rows, loss = self.rows, 0.0
        for place, weight in rows.spans():
            loss += gbrff.shrink_rows(self.scores[place], weight, rows.h[place], step, self._residuals_at(place),
                                      rows.partial, rows.n_threads)
        self.loss = loss / rows.total_weight

    def _write_residuals(self, place: slice, out: NDArray[Any]) -> None:
        out[:] = self.scores[place]

    def _residuals_of(self, rows: Indices) -> NDArray[Any]:
        return tiled(self.scores.reshape(-1)[rows], self.rows.dtype)
