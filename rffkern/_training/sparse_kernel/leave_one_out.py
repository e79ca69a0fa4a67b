"""Leave-one-out predictions of kernel ridge regression: kernels are chosen by them, and scores of classes calibrated.

With C the kernels of some rows and lambda / weight on the diagonal, the regression on all of them but i misses y_i by
(C^-1 y)_i / (C^-1)_ii.  An ensemble with all of these rows as basis vectors would become the regression on all.
"""

import math
from typing import Any

import numpy as np

from ..._native.array_types import Double
from ..._native.sparse import UNITS
from ..._rows.tiles import SINGLE
from ..kernel_ridge.calibration import calibrated
from ..kernel_ridge.kernel import Kernel
from ..kernel_ridge.kernel_matrix import DenseKernels, DenseSystem, in_panels, precision_beside
from .kernel_rows import KernelRows

# Rows of the regressions, at most.
MOST_ROWS = 1500


class LeaveOneOut:
    """Leave-one-out residuals of the last of some rows, as a function of kernel and lambda.

    X (n_rows, n_features) is in units of the kernels' length scales, and lambda in those of the weights (n_rows,).
    Each of the last `n_last` rows is predicted by all others.  Memory: 4 n_rows^2 bytes and 16 n_last^2 in single
    precision, where lambda is large enough for it, else twice that.
    """

    def __init__(self, X: Double, targets: Double, weights: Double, n_last: int, n_threads: int | None,
                 precision: str = "single") -> None:
        self._X, self._targets, self._weights, self._n_last = X, targets, weights, n_last
        self._n_threads, self._precision = n_threads, precision
        self._system: DenseSystem | None = None

    def residuals(self, kernel: Kernel) -> Double | None:
        """Targets less leave-one-out predictions, (n_last, n_outputs); None where rounding leaves no factor."""
        noise, n_last = kernel.reg_lambda / self._weights, self._n_last
        dtype = precision_beside(self._precision, noise.min(), kernel.at_zero)
        if self._system is None or self._system.matrix.dtype != dtype:
            self._kernels = DenseKernels(self._X, self._X, self._n_threads, dtype)
            self._system = DenseSystem(len(self._X), self._n_threads, dtype)
            is_all = n_last == len(self._X)
            self._last = self._system if is_all else DenseSystem(n_last, self._n_threads, dtype)
            self._inverse = np.empty_like(self._last.matrix)
        system, last = self._system, self._last
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._kernels.fill(1 / kernel.length_scale, kernel.shape, system.matrix)
            system.matrix *= dtype.type(kernel.amplitude)
            system.matrix += dtype.type(kernel.bias)
            system.matrix.flat[:: len(noise) + 1] += noise.astype(dtype)
            if not system.factorise():
                return None
            weights = system.solve(self._targets)[-n_last:]
            if last is not system:  # the last block of C^-1 is that of L L', with L the last block of the factor of C
                factor = np.tril(system.matrix[-n_last:, -n_last:])
                last.matrix[:] = last.multiply(factor, in_panels(factor.T, dtype), n_last)
                if not last.factorise():
                    return None
            last.invert(self._inverse)
            residuals: Double = weights / self._inverse.diagonal()[:, None].astype(np.float64)
        return residuals

    def loss(self, kernel: Kernel) -> float:
        """Mean squared residual; inf where there is none."""
        residuals = self.residuals(kernel)
        if residuals is None:
            return math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            loss = float(np.average((residuals**2).mean(axis=1), weights=self._weights[-self._n_last:]))
        return loss if math.isfinite(loss) else math.inf


def calibrated_scores(rows: KernelRows, kernel: Kernel, signs: Double,
                      intercepts: Double) -> tuple[float, Double]:
    """The slope and the shifts with which scores F of least squares have the largest likelihood of labels (Platt).

    Base learners follow the labels of all rows, so that least squares on them without a row would still know its label.
    Ridge regressions with the same kernel and lambda, of which the ensemble is an approximation, do not.  `signs` are
    -1 and +1, of shape (n_samples, n_outputs), and lambda is that for weights of mean 1.
    """
    some = rows.weights.positive()
    n_some = min(len(some), MOST_ROWS)
    some = some[np.arange(n_some) * len(some) // n_some]
    codes = signs[some].argmax(axis=1) if signs.shape[1] > 1 else (signs[some, 0] > 0).astype(np.intp)
    in_units = kernel._replace(length_scale=np.full(rows.n_features, UNITS[kernel.number]))
    targets: Any = signs[some] - intercepts
    left_out = LeaveOneOut(rows.at(some).astype(np.float64), targets, rows.flat_weight[some], n_some,
                           rows.wanted_threads, "single" if rows.dtype == SINGLE else "double")
    residuals = left_out.residuals(in_units)
    # Where rounding leaves no factor, nothing is known but the mean.
    predicted = np.zeros_like(targets) if residuals is None else targets - residuals
    return calibrated((predicted + intercepts).T, codes, rows.weights.each[some])
