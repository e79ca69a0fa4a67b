"""Weights of bags and kernel ridge regression in their sum, by the loss of out-of-fold rows, and what it gains.

Of classes the score is w0 H + w1 F, with H the score of the bags and F = slope f + shifts the kernel ridge regression f
as its own calibration makes it a score.  The weights have the largest likelihood, with a prior: w0 + w1 is near 1, as
if `_PRIOR_ROWS` rows said so, and w1 near 0, as if one row did.  In units of F this prior is as weak for many classes
of which all rows are right as for others: in units of f it held the kernel ridge regression down there.  Of values the
score is H + w (f - H), with w of least squares in [0, 1].
"""

from typing import NamedTuple

import numpy as np

from ..._native import solvers
from ..._native.array_types import Double, Indices
from ..._rows.weights import row_products
from ..kernel_ridge.calibration import calibrated, every_class, log_losses
from .losses import LossData
from .parameters import LEAST_SHARE, STANDARD_ERRORS

_PRIOR_ROWS, _PRIOR_OF_KERNEL = 50.0, 1.0


class Gain(NamedTuple):
    """By how much kernel ridge regression lowers the mean loss of some out-of-fold rows."""

    n_rows: int
    without: float
    stacked: float
    standard_error: float  # of the mean difference

    @property
    def share(self) -> float:
        """The gain as a share of the loss without it."""
        return (self.without - self.stacked) / max(self.without, np.finfo(np.float64).tiny)

    @property
    def is_enough(self) -> bool:
        """Whether this is enough to keep it."""
        gain = self.without - self.stacked
        return gain > 0 and gain >= LEAST_SHARE * self.without and gain >= STANDARD_ERRORS * self.standard_error

    @property
    def is_clear(self) -> bool:
        """Whether it is enough, chance or not."""
        return self.without - self.stacked - STANDARD_ERRORS * self.standard_error >= LEAST_SHARE * self.without


def weigh(data: LossData, rows: Indices, margins: Double, predictions: Double, weights: Double,
          factor: float) -> tuple[Double, Double, Double, Gain]:
    """The score of out-of-fold rows H and f as terms H + kernels f + shifts, each (n_outputs,), and what it gains.

    Parameters
    ----------
    data : LossData
    rows : indices of out-of-fold rows
    margins, predictions : arrays of shape (n_outputs, n_rows)
        Of these, of the bags, and of kernel ridge regression in units of its targets.
    weights : array of shape (n_rows,)
    factor : float
        What scores of the bags are multiplied by without it.
    """
    if data.loss.link == "identity":
        share, loss_without, loss_with = stack_values(margins, predictions - regression_targets(data, rows), weights)
        terms, kernels, shifts = 1 - share, share, np.zeros_like(share)
    else:
        codes = np.maximum(data.targets[rows].astype(np.intp), 0)  # of two classes they are -1 and 1
        slope, own_shifts = calibrated(predictions, codes, weights)
        own_scores = slope * predictions + own_shifts[:, None]
        of_terms, of_kernels = stack_classes(margins, own_scores, codes, weights)
        loss_without, loss_with = (log_losses(every_class(each), codes)[0] for each in (
            factor * margins, of_terms * margins + of_kernels * own_scores))
        one = np.ones(len(margins))
        terms, kernels = of_terms * one, of_kernels * slope * one
        shifts = of_kernels * own_shifts

    improvements, total = loss_without - loss_with, weights.sum()
    without, stacked = (float(row_products(each, weights) / total) for each in (loss_without, loss_with))
    standard_error = float(np.sqrt((weights**2 * (improvements - (without - stacked)) ** 2).sum()) / total)
    return terms, kernels, shifts, Gain(len(rows), without, stacked, standard_error)


def regression_targets(data: LossData, rows: Indices) -> Double:
    """What a regression learns, (n_outputs, n_rows): signs of classes, one against the rest, or values."""
    if data.loss.link == "identity":
        return data.intercept[:, None] - data.initial_scores[:, rows]
    classes = np.arange(1, 2) if len(data.intercept) == 1 else np.arange(len(data.intercept))
    return np.where(data.targets[rows] == classes[:, None], 1.0, -1.0)


def stack_values(residuals: Double, others: Double, weights: Double) -> tuple[Double, Double, Double]:
    """The weight of the regression for each output, and the loss of each row without it and with it.

    `residuals` and `others` are predictions of bags and of the regression less the targets, (n_outputs, n_rows).
    """
    differences = others - residuals
    squares = (weights * differences**2).sum(axis=1)
    products = -(weights * differences * residuals).sum(axis=1)
    share = np.clip(np.divide(products, squares, out=np.zeros_like(squares), where=squares > 0), 0, 1)
    stacked = residuals + share[:, None] * differences
    return share, (residuals**2).mean(axis=0), (stacked**2).mean(axis=0)


def stack_classes(margins: Double, scores: Double, codes: Indices, weights: Double) -> tuple[float, float]:
    """The weights of the scores of bags and of the regression, (n_outputs, n_rows); neither is below 0."""
    def minimise(free: list[int], start: list[float]) -> Double:
        def loss(x: Double) -> tuple[float, Double]:
            both = np.zeros(2)
            both[free] = x
            losses, gradient = log_losses(every_class(both[0] * margins + both[1] * scores), codes)
            away = both.sum() - 1
            value = (weights * losses).sum() + 0.5 * (_PRIOR_ROWS * away**2 + _PRIOR_OF_KERNEL * both[1] ** 2)
            gradient = weights * gradient[-len(scores) :]
            along = [(margins * gradient).sum(), (scores * gradient).sum() + _PRIOR_OF_KERNEL * both[1]]
            return float(value), (np.array(along) + _PRIOR_ROWS * away)[free]

        x, _, _ = solvers.minimize(loss, np.array(start), 100, loss_tolerance=1e-10, gradient_tolerance=1e-6,
                                   noise=1e-12)
        both = np.zeros(2)
        both[free] = x
        return both

    both = minimise([0, 1], [1.0, 0.0])
    if both[1] <= 0:
        return 1.0, 0.0
    if both[0] < 0:
        both = minimise([1], [1.0])
    return float(both[0]), float(both[1])
