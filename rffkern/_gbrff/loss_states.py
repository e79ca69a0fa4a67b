"""What boosting keeps per row for each loss, and the steps that follow from it.

A loss state answers with sums over fixed blocks of rows added in order: bits do not depend on the number of threads.
All have `r`, the residuals in tiles as the kernels read them, `loss`, the mean loss, and `kernel_loss`, its number
there.
"""

import math
from typing import NamedTuple

import numpy as np

from .._data.tiles import aligned
from .._kernels import gbrff_landmark, gbrff_rounds

# A learner that separates all weight would get an infinite step.  In single precision the weight it misses is known to
# about 2^-24 of the total; half of that bounds a step at 9.4.
_STEP_GUARD = 2.0**-26
_LARGEST_STEP = 0.5 * math.log((2 + _STEP_GUARD) / _STEP_GUARD)

# The loss is convex along a step: from the closed form Newton's rule takes about four.
_STEP_TOLERANCE = 1e-6
_MAX_NEWTON_STEPS = 60


class CosineSum(NamedTuple):
    """A weak learner h(x) = sum over j of posterior[j] cos(omegas[j] . x - phases[j]) of standardised rows."""

    omegas: np.ndarray  # (n_components, n_features)
    phases: np.ndarray  # (n_components,) radians
    posterior: np.ndarray  # (n_components,) sums to 1


def exponential_step(total, agreement):
    """Alpha = 1/2 ln(sum (1 + y h) w / sum (1 - y h) w), held finite for a perfect learner.

    An output whose rows are all fitted beyond what residuals are told from 0 by has a total of 0, and no step to take.
    """
    if total == 0:
        return 0.0
    agreement = min(max(agreement, -total), total)  # which a sum of cosines may miss by its rounding
    guard = _STEP_GUARD * total
    return 0.5 * math.log((total + agreement + guard) / (total - agreement + guard))


class Margins:
    """State of the exponential loss on some rows: predictions, and the residuals y_tilde = y exp(-y prediction)."""

    kernel_loss = gbrff_landmark.EXPONENTIAL

    def __init__(self, rows, sign, intercept):
        self.rows = rows
        self.y = rows.tile(sign)
        self.raw_prediction = aligned((rows.n_tiles, rows.tile_size), np.dtype(np.float64))
        self.raw_prediction[:] = intercept
        self.r = aligned((rows.n_tiles, rows.tile_size), rows.dtype)  # log2(e) y_tilde
        self.boost(0.0)

    @staticmethod
    def intercept(sign, weights):
        """H^0 = 1/2 ln((1 + mean y) / (1 - mean y))."""
        positive = sign > 0
        return 0.5 * math.log(weights.sum_of(positive) / weights.sum_of(~positive))

    def agreement(self, learner):
        """Evaluate h; return the sums of w and of w y h, w = weight exp(-y prediction)."""
        rows, total, agreeing = self.rows, 0.0, 0.0
        bounded = self.largest_residual >= gbrff_rounds.LARGEST_RESIDUAL
        for part, tiles, weight in rows.blocks():
            sums = gbrff_rounds.apply_exponential(tiles, self.raw_prediction[part], self.y[part], self.r[part], weight,
                                               *learner, bounded, rows.h[part], rows.terms, rows.partial,
                                               rows.n_threads)
            total, agreeing = total + sums[0], agreeing + sums[1]
        return total, agreeing

    def best_step(self, learner):
        """Evaluate h and return its step, line 8 of Algorithms 2 and 3."""
        return exponential_step(*self.agreement(learner))

    def boost(self, step):
        """Add step times the learner last evaluated."""
        rows = self.rows
        loss, self.largest_residual = gbrff_rounds.boost_rows(self.raw_prediction, self.y, rows.weight, rows.h, step,
                                                           self.r, rows.partial, rows.n_threads)
        self.loss = loss / rows.total_weight


class ExactMargins(Margins):
    """Margins whose steps minimise the loss itself, which the closed form does only where every |h| is 1."""

    def best_step(self, learner):
        """Evaluate h; return the argmin over alpha of sum of w exp(-alpha y h), within the bound of closed steps."""
        rows, step = self.rows, super().best_step(learner)
        low, high = -_LARGEST_STEP, _LARGEST_STEP
        for _ in range(_MAX_NEWTON_STEPS):
            _, slope, curvature = gbrff_rounds.loss_along_step(self.raw_prediction, self.y, rows.weight, rows.h, step,
                                                            rows.partial, rows.n_threads)
            low, high = (low, step) if slope > 0 else (step, high)
            trial = step - slope / curvature if curvature > 0 else step
            trial = trial if low < trial < high else 0.5 * (low + high)
            if abs(trial - step) <= _STEP_TOLERANCE * max(1.0, abs(step)):
                return trial
            step = trial
        return step


class Residuals:
    """State of the squared loss on some rows: the residuals y - prediction."""

    kernel_loss = gbrff_landmark.SQUARED

    def __init__(self, rows, target, intercept):
        self.rows = rows
        self.residual = rows.tile(target, np.dtype(np.float64))
        self.residual -= intercept
        self.r = aligned((rows.n_tiles, rows.tile_size), rows.dtype)
        self.boost(0.0)

    @staticmethod
    def intercept(target, weights):
        """H_0 = mean y."""
        return float(weights.mean(target))

    def agreement(self, learner):
        """Evaluate h; return the sums of weight r h and of weight h^2."""
        rows, product, square = self.rows, 0.0, 0.0
        for part, tiles, weight in rows.blocks():
            sums = gbrff_rounds.apply_squared(tiles, self.r[part], weight, *learner, rows.h[part], rows.terms,
                                           rows.partial, rows.n_threads)
            product, square = product + sums[0], square + sums[1]
        return product, square

    def best_step(self, learner):
        """Evaluate h and return its step alpha = sum r h / sum h^2 (2019 paper, eq. 8)."""
        product, square = self.agreement(learner)
        return product / square if square > 0 else 0.0

    def boost(self, step):
        """Add step times the learner last evaluated."""
        rows = self.rows
        self.loss = gbrff_rounds.shrink_rows(self.residual, rows.weight, rows.h, step, self.r, rows.partial,
                                          rows.n_threads) / rows.total_weight
