"""What boosting keeps per row for each loss, and the steps that follow from it.

A loss state answers with sums over strips of tiles, added in order: bits do not depend on the number of threads.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._data.tiles import DOUBLE, aligned, tiled
from .._data.weights import RowWeights
from .._kernels import gbrff_rounds
from .packed_rows import PackedRows
from .workspace import EvaluationWorkspace

Double = NDArray[np.float64]

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
    products: tuple[float, float]  # weighted sums over rows, as the loss defines them


class LossState(Protocol):
    """What training and evaluation rows keep of one output."""

    is_squared: bool  # the loss; exponential otherwise
    r: NDArray[Any]  # (n_tiles, 128) residuals as the search kernels read them
    loss: float  # mean over the rows

    def __init__(self, rows: PackedRows, target: NDArray[Any], intercept: float,
                 workspace: EvaluationWorkspace) -> None: ...

    @property
    def values(self) -> NDArray[Any]:
        """What it goes on from: predictions or residuals in tiles."""

    def resume(self, values: NDArray[Any]) -> None:
        """Take the `values` of another one of the same rows, which stay as they are."""

    @staticmethod
    def intercept(target: NDArray[Any], weights: RowWeights) -> float:
        """The constant of smallest loss."""

    def evaluate(self, learner: CosineSum) -> Evaluation:
        """Evaluate a weak learner at all rows."""

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
        self.y = tiled(sign[rows.order], rows.dtype)
        self.raw_prediction = aligned(self.y.shape, DOUBLE)
        self.r = aligned(self.y.shape, rows.dtype)  # log2(e) y_tilde
        self.resume(intercept)

    @property
    def values(self) -> Double:
        """The predictions."""
        return self.raw_prediction

    def resume(self, values: Double | float) -> None:
        """Take the predictions of another one of the same rows, or a constant."""
        self.raw_prediction[:] = values
        self.update(Evaluation(self.y, (0.0, 0.0)), 0.0)  # a step of 0 along the labels leaves them there

    @staticmethod
    def intercept(sign: NDArray[np.int8], weights: RowWeights) -> float:
        """H^0 = 1/2 ln((1 + mean y) / (1 - mean y))."""
        positive = sign > 0
        return 0.5 * math.log(weights.sum_of(positive) / weights.sum_of(~positive))

    def evaluate(self, learner: CosineSum) -> Evaluation:
        """Evaluate h; the products are the sums of w and of w y h, w = weight exp(-y prediction)."""
        work, total, product = self.workspace, 0.0, 0.0
        bounded = self.largest_residual >= gbrff_rounds.LARGEST_RESIDUAL
        for place, tiles, weight in self.rows.blocks:
            sums = gbrff_rounds.apply_exponential(
                tiles, self.raw_prediction[place], self.y[place], self.r[place], weight, learner.omegas, learner.phases,
                learner.posterior, bounded, work.h[place], work.terms, work.partial, work.n_threads)
            total, product = total + sums[0], product + sums[1]
        return Evaluation(work.h, (total, product))

    def step(self, evaluation: Evaluation) -> float:
        """The closed form, line 8 of Algorithms 2 and 3."""
        return exponential_step(*evaluation.products)

    def update(self, evaluation: Evaluation, step: float) -> None:
        """Add step times a weak learner to the predictions."""
        weights, work = self.rows.weights, self.workspace
        loss, self.largest_residual = gbrff_rounds.boost_rows(
            self.raw_prediction, self.y, weights.tiled, evaluation.h, step, self.r, work.partial, work.n_threads)
        self.loss = loss / weights.total


class ExactStepLossState(ExponentialLossState):
    """The same, with steps that minimise the loss itself; the closed form does only where every |h| is 1."""

    def step(self, evaluation: Evaluation) -> float:
        """The argmin over alpha of sum of w exp(-alpha y h), within the bound of closed steps."""
        weight, work, step = self.rows.weights.tiled, self.workspace, exponential_step(*evaluation.products)
        low, high = -_LARGEST_STEP, _LARGEST_STEP
        for _ in range(_MAX_NEWTON_STEPS):
            _, slope, curvature = gbrff_rounds.loss_along_step(self.raw_prediction, self.y, weight, evaluation.h, step,
                                                               work.partial, work.n_threads)
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
        self.r = aligned(self.residual.shape, rows.dtype)
        self._settle()

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
        along = aligned(self.residual.shape, self.r.dtype)
        along[:] = 0
        self.update(Evaluation(along, (0.0, 0.0)), 0.0)

    @staticmethod
    def intercept(target: NDArray[Any], weights: RowWeights) -> float:
        """H_0 = mean y."""
        return float(weights.mean(target))

    def evaluate(self, learner: CosineSum) -> Evaluation:
        """Evaluate h; the products are the sums of weight r h and of weight h^2."""
        work, product, square = self.workspace, 0.0, 0.0
        for place, tiles, weight in self.rows.blocks:
            sums = gbrff_rounds.apply_squared(tiles, self.r[place], weight, learner.omegas, learner.phases,
                                              learner.posterior, work.h[place], work.terms, work.partial,
                                              work.n_threads)
            product, square = product + sums[0], square + sums[1]
        return Evaluation(work.h, (product, square))

    def step(self, evaluation: Evaluation) -> float:
        """Alpha = sum r h / sum h^2 (2019 paper, eq. 8)."""
        product, square = evaluation.products
        return product / square if square > 0 else 0.0

    def update(self, evaluation: Evaluation, step: float) -> None:
        """Add step times a weak learner to the predictions."""
        weights, work = self.rows.weights, self.workspace
        self.loss = gbrff_rounds.shrink_rows(self.residual, weights.tiled, evaluation.h, step, self.r, work.partial,
                                             work.n_threads) / weights.total
