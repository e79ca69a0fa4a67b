"""Scores of classes from least squares on labels: a slope and shifts, by predictions of rows that are left out.

Weak learners follow the labels of all rows, so that least squares on them without a row would still know its label.
Ridge regressions with the same kernel and lambda, of which the ensemble is an approximation, do not.
"""

import numpy as np

from ..._native.array_types import NDArray
from ..._native.sparse import UNITS
from ..._rows.tiles import SINGLE
from ..kernel_ridge.calibration import Calibration, calibrated
from ..kernel_ridge.dense import DenseKernels, DenseSystem, precision_beside
from .dense_ridge import fill_covariance
from .kernel import RegularisedKernel
from .packed_rows import KernelRows

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows of the ridge regressions, at most.
_MOST_ROWS = 1500


def calibrated_scores(rows: KernelRows, machine: RegularisedKernel, signs: Double, intercepts: Double) -> Calibration:
    """The slope and the shifts with which scores F of least squares have the largest likelihood of labels.

    Parameters
    ----------
    rows : KernelRows
    machine : RegularisedKernel, for weights of mean 1
    signs : array of shape (n_samples, n_outputs), of -1 and +1
    intercepts : array of shape (n_outputs,)
    """
    some = rows.weights.positive()
    n_some = min(len(some), _MOST_ROWS)
    some = some[np.arange(n_some) * len(some) // n_some]
    codes = signs[some].argmax(axis=1) if signs.shape[1] > 1 else (signs[some, 0] > 0).astype(np.intp)
    predicted = predicted_without(rows, machine, some, signs[some] - intercepts)
    return calibrated(predicted + intercepts[:, None], codes, rows.weights.each[some])


def predicted_without(rows: KernelRows, machine: RegularisedKernel, some: Indices, targets: Double) -> Double:
    """What ridge regressions on all of some rows but one predict of that one, (n_outputs, n_some).

    With C the kernels of these rows and lambda / weight on the diagonal, y_i is missed by (C^-1 y)_i / (C^-1)_ii.
    """
    kernel, noise = machine.kernel, machine.reg_lambda / rows.flat_weight[some]
    dtype = precision_beside("single" if rows.dtype == SINGLE else "double", noise.min(), kernel.at_zero)
    X, system = rows.at(some).astype(np.float64), DenseSystem(len(some), rows.wanted_threads, dtype)
    unit = np.full(rows.n_features, 1 / UNITS[kernel.number])  # rows are in units of the kernel
    fill_covariance(DenseKernels(X, X, rows.wanted_threads, dtype), kernel, unit, system.matrix, noise)
    if not system.factorise():  # where rounding leaves no factor, nothing is known but the mean
        return np.zeros(targets.T.shape)
    weights, inverse = system.solve(targets).T, np.empty_like(system.matrix)
    system.invert(inverse)
    predicted: Double = targets.T - weights / inverse.diagonal()
    return predicted
