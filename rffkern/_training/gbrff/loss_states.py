"""What boosting keeps per row for each loss, and the steps that follow from it.

A loss state answers with sums over strips of tiles, added in order: bits do not depend on the number of threads.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._native import gbrff
from ..._rows.tiles import DOUBLE, TILE, aligned, tiled
from ..._rows.weights import RowWeights
from .packed_rows import Indices, PackedRows, equal_weights
from .workspace import EvaluationWorkspace

Double = NDArray[np.float64]

Products = tuple[float, float]

# Returns, of a step along a weak learner, slope and curvature of the sum of losses.
Along = Callable[[float], tuple[float, float]]

# A weak learner that separates all weight would get an infinite step.  In single precision the weight it misses is
# known to about 2^-24 of the total; half of that bounds a step at 9.4.
_STEP_GUARD = 2.0**-26
_LARGEST_STEP = 0.5 * math.log((2 + _STEP_GUARD) / _STEP_GUARD)

# The loss is convex along a step: from the closed form Newton's rule takes about four.
_STEP_TOLERANCE = 1e-6
_MAX_NEWTON_STEPS = 60


class CosineSum(NamedTuple):
    """A weak learner h(x) = sum over j of posterior[j] cos(omegas[j] . x - phases[j]) of standardised rows."""

    omegas: Double  # (n_components, n_features)
    phases: Double  # (n_components,) radians
    posterior: Double  # (n_components,) sums to 1
    landmark: Double | None = None  # (n_features,) standardised, where more than its phases is known


ALONE = np.ones(1)  # the posterior of a single cosine


class Evaluation(NamedTuple):
    """A weak learner at all rows."""

    h: NDArray[Any]  # (n_tiles, 128) its values, which hold until the next evaluation in the same workspace
    products: Products  # weighted sums over rows, as the loss defines them


class LossState(Protocol):
    """What training and evaluation rows keep of one output."""

    is_squared: bool  # the loss; exponential otherwise
    loss: float  # mean over the rows

    def __init__(self, rows: PackedRows, target: NDArray[Any], intercept: float,
                 workspace: EvaluationWorkspace) -> None: ...

    @property
    def values(self) -> NDArray[Any]:
        """What it goes on from: predictions or residuals in tiles."""

    def resume(self, values: NDArray[Any]) -> None:
        """Take the `values` of another one of the same rows, which stay as they are."""

    def residuals_in(self, place: slice) -> NDArray[Any]:
        """Residuals of some tiles, for search kernels; those of streamed rows hold until others are asked for."""

    def residuals_of(self, rows: Indices) -> NDArray[Any]:
        """Residuals of some rows, in tiles of their own."""

    @staticmethod
    def target_sums(target: NDArray[Any], weights: RowWeights) -> Products:
        """Sums over rows that the intercept follows from."""

    @staticmethod
    def intercept(sums: Products) -> float:
        """The constant of smallest loss."""

    @staticmethod
    def step_from(products: Products, along: Along) -> float:
        """The step that follows from the products of an evaluation, and from slopes along it."""

    def evaluate(self, learner: CosineSum) -> Evaluation:
        """Evaluate a weak learner at all rows."""

    def along(self, evaluation: Evaluation, step: float) -> tuple[float, float]:
        """Slope and curvature of the sum of losses after a step along a weak learner."""

    def step(self, evaluation: Evaluation) -> float:
        """The factor to add a weak learner with."""

    def update(self, evaluation: Evaluation, step: float) -> None:
        """Add step times a weak learner to the predictions."""


class ExponentialState(LossState, Protocol):
    """The same, of the exponential loss."""

    largest_residual: float  # largest |y_tilde|


def exponential_step(total: float, product: float) -> float:
    """Alpha = 1/2 ln(sum (1 + y h) w / sum (1 - y h) w), held finite for a perfect weak learner.

    `total` is the sum of w and `product` that of w y h.  Where all residuals are too small to be told from 0, the
    total is 0 and so is the step.
    """
    if total == 0:
        return 0.0
    product = min(max(product, -total), total)  # a sum of cosines may exceed the total by its rounding
    guard = _STEP_GUARD * total
    return 0.5 * math.log((total + product + guard) / (total - product + guard))


class ExponentialLossState:
    """Predictions on some rows, and the residuals y_tilde = y exp(-y prediction) of the exponential loss."""

    is_squared = False

    def __init__(self, rows: PackedRows, sign: NDArray[np.int8], intercept: float,
                 workspace: EvaluationWorkspace) -> None:
        self.rows, self.workspace = rows, workspace
        self.y = rows.signs(sign)
        self.raw_prediction = aligned((rows.n_tiles, TILE), DOUBLE)
        self._residuals = rows.residuals()  # log2(e) y_tilde
        self.resume(intercept)

    def residuals_in(self, place: slice) -> NDArray[Any]:
        """log2(e) y_tilde of some tiles."""
        return self._residuals.read(place, self._make_residuals)

    def residuals_of(self, rows: Indices) -> NDArray[Any]:
        """log2(e) y_tilde of some streamed rows, in tiles of their own."""
        y, raw_prediction = self.y.of(rows), tiled(self.raw_prediction.reshape(-1)[rows], DOUBLE)
        weight, found = equal_weights(len(rows), y.dtype), np.empty_like(y)
        gbrff.boost_rows(raw_prediction, y, weight, y, 0.0, found, self.workspace.partial, 1)
        return found

    def _make_residuals(self, place: slice, out: NDArray[Any]) -> None:
        """Write log2(e) y_tilde of some tiles: a step of 0 leaves the predictions as they are."""
        y, work = self.y[place], self.workspace
        gbrff.boost_rows(self.raw_prediction[place], y, self.rows.weights.of_tiles(place), y, 0.0, out,
                         work.partial, work.n_threads)

    @property
    def values(self) -> Double:
        """The predictions."""
        return self.raw_prediction

    def resume(self, values: Double | float) -> None:
        """Take the predictions of another one of the same rows, or a constant."""
        self.raw_prediction[:] = values
        self._add(self.y, 0.0)  # a step of 0 along the labels leaves them there

    @staticmethod
    def target_sums(sign: NDArray[np.int8], weights: RowWeights) -> Products:
        """Weights of the positive and of the negative rows."""
        positive = sign > 0
        return weights.sum_of(positive), weights.sum_of(~positive)

    @staticmethod
    def intercept(sums: Products) -> float:
        """H^0 = 1/2 ln((1 + mean y) / (1 - mean y))."""
        positive, negative = sums
        return 0.5 * math.log(positive / negative)

    @staticmethod
    def step_from(products: Products, along: Along) -> float:
        """The closed form, line 8 of Algorithms 2 and 3."""
        return exponential_step(*products)

    def evaluate(self, learner: CosineSum) -> Evaluation:
        """Evaluate h; the products are the sums of w and of w y h, w = weight exp(-y prediction)."""
        work, total, product = self.workspace, 0.0, 0.0
        bounded = self.largest_residual >= gbrff.LARGEST_RESIDUAL
        for place, tiles, weight in self.rows.blocks:
            sums = gbrff.apply_exponential(
                tiles, self.raw_prediction[place], self.y[place], self.residuals_in(place), weight, learner.omegas,
                learner.phases, learner.posterior, bounded, work.h[place], work.terms, work.partial, work.n_threads)
            total, product = total + sums[0], product + sums[1]
        return Evaluation(work.h, (total, product))

    def along(self, evaluation: Evaluation, step: float) -> tuple[float, float]:
        """Slope and curvature of the sum of exp(-y (prediction + step h))."""
        work, slope, curvature = self.workspace, 0.0, 0.0
        for place, weight in self.rows.spans:
            sums = gbrff.loss_along_step(self.raw_prediction[place], self.y[place], weight, evaluation.h[place],
                                         step, work.partial, work.n_threads)
            slope, curvature = slope + sums[1], curvature + sums[2]
        return slope, curvature

    def step(self, evaluation: Evaluation) -> float:
        """The factor to add a weak learner with."""
        return self.step_from(evaluation.products, partial(self.along, evaluation))

    def update(self, evaluation: Evaluation, step: float) -> None:
        """Add step times a weak learner to the predictions."""
        self._add(evaluation.h, step)

    def _add(self, h: Any, step: float) -> None:
        """Add step times some values; loss and residuals become those there."""
        work, loss, largest = self.workspace, 0.0, 0.0
        for place, weight in self.rows.spans:
            sums = gbrff.boost_rows(self.raw_prediction[place], self.y[place], weight, h[place], step,
                                    self._residuals.written(place), work.partial, work.n_threads)
            loss, largest = loss + sums[0], max(largest, sums[1])
        self.loss, self.largest_residual = loss / self.rows.weights.total, largest


class ExactStepLossState(ExponentialLossState):
    """The same, with steps that minimise the loss itself; the closed form does only where every |h| is 1."""

    @staticmethod
    def step_from(products: Products, along: Along) -> float:
        """The argmin over alpha of sum of w exp(-alpha y h), within the bound of closed steps."""
        step = exponential_step(*products)
        low, high = -_LARGEST_STEP, _LARGEST_STEP
        for _ in range(_MAX_NEWTON_STEPS):
            slope, curvature = along(step)
            low, high = (low, step) if slope > 0 else (step, high)
            trial = step - slope / curvature if curvature > 0 else step
            trial = trial if low < trial < high else 0.5 * (low + high)
            if abs(trial - step) <= _STEP_TOLERANCE * max(1.0, abs(step)):
                return trial
            step = trial
        return step


class SquaredLossState:
    """The residuals y - prediction of the squared loss on some rows."""

    is_squared = True

    def __init__(self, rows: PackedRows, target: NDArray[Any], intercept: float,
                 workspace: EvaluationWorkspace) -> None:
        self.rows, self.workspace = rows, workspace
        self.residual = tiled(target[rows.order], DOUBLE)
        self.residual -= intercept
        self._residuals = rows.residuals()
        self._settle()

    def residuals_in(self, place: slice) -> NDArray[Any]:
        """Residuals of some tiles in the precision of the rows."""
        return self._residuals.read(place, self._make_residuals)

    def residuals_of(self, rows: Indices) -> NDArray[Any]:
        """Residuals of some streamed rows, in tiles of their own."""
        return tiled(self.residual.reshape(-1)[rows], self.rows.dtype)

    def _make_residuals(self, place: slice, out: NDArray[Any]) -> None:
        out[:] = self.residual[place]

    @property
    def values(self) -> Double:
        """The residuals."""
        return self.residual

    def resume(self, values: Double) -> None:
        """Take the residuals of another one of the same rows."""
        self.residual[:] = values
        self._settle()

    def _settle(self) -> None:
        """Make what follows from the residuals: a step of 0 leaves them as they are."""
        self.workspace.h[:] = 0
        self.update(Evaluation(self.workspace.h, (0.0, 0.0)), 0.0)

    @staticmethod
    def target_sums(target: NDArray[Any], weights: RowWeights) -> Products:
        """Sum of the targets and of their weights."""
        return weights.sum_with(target), weights.total

    @staticmethod
    def intercept(sums: Products) -> float:
        """H_0 = mean y."""
        product, total = sums
        return product / total

    @staticmethod
    def step_from(products: Products, along: Along) -> float:
        """Alpha = sum r h / sum h^2 (2019 paper, eq. 8)."""
        product, square = products
        return product / square if square > 0 else 0.0

    def evaluate(self, learner: CosineSum) -> Evaluation:
        """Evaluate h; the products are the sums of weight r h and of weight h^2."""
        work, product, square = self.workspace, 0.0, 0.0
        for place, tiles, weight in self.rows.blocks:
            sums = gbrff.apply_squared(tiles, self.residuals_in(place), weight, learner.omegas, learner.phases,
                                       learner.posterior, work.h[place], work.terms, work.partial,
                                       work.n_threads)
            product, square = product + sums[0], square + sums[1]
        return Evaluation(work.h, (product, square))

    def along(self, evaluation: Evaluation, step: float) -> tuple[float, float]:
        """Half of slope and curvature of the sum of (r - step h)^2."""
        product, square = evaluation.products
        return step * square - product, square

    def step(self, evaluation: Evaluation) -> float:
        """The factor to add a weak learner with."""
        return self.step_from(evaluation.products, partial(self.along, evaluation))

    def update(self, evaluation: Evaluation, step: float) -> None:
        """Add step times a weak learner to the predictions."""
        work, loss = self.workspace, 0.0
        for place, weight in self.rows.spans:
            loss += gbrff.shrink_rows(self.residual[place], weight, evaluation.h[place], step,
                                      self._residuals.written(place), work.partial, work.n_threads)
        self.loss = loss / self.rows.weights.total
