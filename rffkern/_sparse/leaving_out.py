"""Scores of classes from least squares on labels: a slope and shifts, by predictions of rows that are left out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._data.threads import check_n_threads
from .._data.tiles import TILE
from .._kernel_ridge.calibration import Calibration, calibrated
from .._kernels import solvers
from .ensemble import Ensemble
from .least_squares import LeastSquares
from .stages import CoefficientPath

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows that the slope and the shifts are found by, at most.
_MOST_ROWS = 4096

# The least share of a row's residual that least squares may have taken away by learning from the row itself: where
# less is left, rounding would decide.
_LEAST_LEFT = 1e-4

_MULTIPLE = 4  # of columns that `factorise` takes with rows below


def calibrated_scores(ensembles: Sequence[Ensemble], paths: Sequence[CoefficientPath], signs: Double,
                      intercepts: Double) -> Calibration:
    """The slope and the shifts with which scores F of least squares have the largest likelihood of labels.

    Parameters
    ----------
    ensembles : sequence of Ensemble, whose coefficients are optimal for all rows
    paths : sequence of CoefficientPath, their first weak learners
    signs : array of shape (n_samples, n_outputs), of -1 and +1
    intercepts : array of shape (n_outputs,)
    """
    weights = ensembles[0].group.least_squares.training.rows.weights
    rows = weights.positive()
    rows = rows[np.arange(min(len(rows), _MOST_ROWS)) * len(rows) // min(len(rows), _MOST_ROWS)]
    predicted = np.vstack([predicted_without(ensemble.group.least_squares, len(path.learners), rows)
                           for ensemble, path in zip(ensembles, paths, strict=True)])
    codes = signs[rows].argmax(axis=1) if signs.shape[1] > 1 else (signs[rows, 0] > 0).astype(np.intp)
    return calibrated(predicted + intercepts[:, None], codes, weights.each[rows])


def predicted_without(fit: LeastSquares, n_learners: int, rows: Indices) -> Double:
    """What the first weak learners predict of rows when least squares leave the row out, (n_outputs, n_rows).

    With A = F'WF + lambda Omega, w_i f_i' A^-1 f_i is the share of a residual that goes where its row is learned from.
    """
    training = fit.training
    places = rows // TILE, rows % TILE
    values = np.array([column[places] for column in training.columns[:n_learners]], np.float64).reshape(-1, len(rows))
    target = fit.target.reshape(len(fit.target), -1)[:, rows]
    taken = training.rows.flat_weight[rows] * _squares_in_system(fit, values)
    residual = target - fit.coefficients.at(n_learners).T @ values
    predicted: Double = target - residual / np.maximum(1 - taken, _LEAST_LEFT)
    return predicted


def _squares_in_system(fit: LeastSquares, values: Double) -> Double:
    """|L^-1 f|^2 of vectors (n_learners, n_vectors), with L L' the matrix of the system."""
    n_learners, size = len(values), -(-len(values) // _MULTIPLE) * _MULTIPLE
    if not n_learners:
        return np.zeros(values.shape[1])
    factor = np.tril(fit.coefficients.factor[:n_learners, :n_learners])
    stacked = np.zeros((size + values.shape[1], size))
    stacked[np.arange(n_learners, size), np.arange(n_learners, size)] = 1
    n_threads = check_n_threads(fit.training.rows.wanted_threads, stacked.size)
    scratch = np.empty((n_threads, solvers.factor_scratch(size)))
    system = np.zeros((n_learners, n_learners))
    solvers.add_products(factor, 0, n_learners, 1.0, system, 0, scratch, n_threads)
    stacked[:n_learners, :n_learners] = system
    stacked[size:, :n_learners] = values.T
    if not solvers.factorise(stacked, scratch, n_threads):
        return np.zeros(values.shape[1])
    squares: Double = (stacked[size:] ** 2).sum(axis=1)
    return squares
