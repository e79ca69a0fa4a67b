"""Calibration of scores on out-of-fold rows: temperature scaling for classes, and shifts of quantiles."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..._native import boosting
from ..._rows.tiles import TILE
from ..._rows.weights import weighted_quantile
from .boosting import Bag
from .losses import LossData
from .training_rows import RowOrder

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# The factor lies between this and its inverse, and is found by so many halvings of the logarithm.
_LEAST_FACTOR, _N_HALVINGS = 0.5, 16

# Rows whose gradient holds the factor at 1: a few out-of-fold rows say little of it.
_PRIOR_ROWS = 50.0


def out_of_fold_scores(bags: Sequence[Bag], orders: Sequence[RowOrder], weights: Double) -> tuple[Indices, Single]:
    """The rows of weight > 0 that are validation rows of some bag, and their mean scores over these bags.

    Scores are padded to whole tiles.
    """
    validation = ((order.validation_rows(), order.validation_scores(bag.validation_scores))
                  for bag, order in zip(bags, orders, strict=True))
    rows, means = mean_scores(validation, len(bags[0].validation_scores), len(weights))
    has_weight = weights[rows] > 0
    return rows[has_weight], pad_to_tiles(means[:, has_weight])


def mean_scores(validation: Iterable[tuple[Indices, Single]], n_outputs: int, n_rows: int) -> tuple[Indices, Double]:
    """The rows that occur in some bag's validation rows and scores (n_outputs, n_validation), and their mean scores."""
    sums, counts = np.zeros((n_outputs, n_rows)), np.zeros(n_rows)
    for rows, scores in validation:
        sums[:, rows] += scores
        counts[rows] += 1
    rows = np.flatnonzero(counts)
    return rows, sums[:, rows] / counts[rows]


def pad_to_tiles(scores: Double) -> Single:
    """Scores in single precision, padded to whole tiles."""
    n_rows = scores.shape[1]
    padded = np.zeros((len(scores), -(-n_rows // TILE) * TILE), dtype=np.float32)
    padded[:, :n_rows] = scores
    return padded


def inverse_temperature(data: LossData, scores: Single, targets: Single, weights: Double) -> float:
    """The factor of largest likelihood on the scores of classes; 1 for other losses.

    This is temperature scaling (Guo, Pleiss, Sun and Weinberger, 2017, "On calibration of modern neural networks",
    section 4.2) with one factor for all bags.  `scores` are those of out-of-fold rows, padded to whole tiles.
    """
    n_rows = len(weights)
    if data.kernel not in (boosting.LOGISTIC, boosting.SOFTMAX) or not n_rows:
        return 1.0
    padded_targets, weight = np.zeros((2, scores.shape[1]), dtype=np.float32)
    padded_targets[:n_rows], weight[:n_rows] = targets, weights
    prior = _PRIOR_ROWS * float(weight[weight > 0].mean())
    zeros = np.zeros_like(scores)
    low, high = np.log(_LEAST_FACTOR), -np.log(_LEAST_FACTOR)
    for _ in range(_N_HALVINGS):
        factor = float(np.exp((low + high) / 2))
        derivative, _ = boosting.step_derivatives(data.kernel, data.parameters, zeros, scores, factor, padded_targets,
                                                  weight, scores.shape[1], 1)
        if derivative - prior * (factor - 1) > 0:
            low = np.log(factor)
        else:
            high = np.log(factor)
    return float(np.exp((low + high) / 2))


def quantile_shifts(data: LossData, scores: Single, weights: Double) -> Double:
    """What is added to each score of a quantile so that this share of out-of-fold rows lies below; 0 for other losses.

    Training rows are closer to the scores than others (Romano, Patterson and Candes, 2019, "Conformalized quantile
    regression").  Departure: validation rows of one bag stand for rows that none has seen.
    """
    shifts = np.zeros(len(data.intercept))
    n_rows = len(weights)
    if data.kernel == boosting.QUANTILE and n_rows:
        shifts[:] = [weighted_quantile(-each.astype(np.float64), weights, float(quantile))
                     for each, quantile in zip(scores[:, :n_rows], data.parameters, strict=True)]
    return shifts
