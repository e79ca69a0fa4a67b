"""Ridge regression with a kernel on some rows by one factor of their kernel matrix, to judge kernels by other rows.

It is what an ensemble of all rows as basis vectors would become, in a fraction of its time while the rows are few.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from ..._native.array_types import NDArray
from ..kernel_ridge.dense import DenseKernels, DenseSystem, in_panels, precision_beside
from .kernel import Kernel, RegularisedKernel

Double = NDArray[np.float64]


def fill_covariance(kernels: DenseKernels, kernel: Kernel, inverse_lengths: Double, matrix: NDArray[Any],
                    noise: Double | None = None) -> None:
    """Fill a matrix with values of a kernel, of these lengths, and add noise (n_rows,) on the diagonal."""
    kernels.fill(inverse_lengths, kernel.shape, matrix)
    matrix *= matrix.dtype.type(kernel.amplitude)
    matrix += matrix.dtype.type(kernel.bias)
    if noise is not None:
        matrix.flat[:: len(matrix) + 1] += noise.astype(matrix.dtype)


class DenseRidge:
    """Losses on held-out rows of ridge regressions on others, as a function of kernel and lambda.

    Parameters
    ----------
    learned, held_out : arrays of shape (n_rows, n_features), in units of the kernels' length scales
    targets, held_out_targets : arrays of shape (n_rows, n_outputs)
    weights : array of shape (n_learned,), in which lambda counts
    n_threads : int or None
    precision : "double" or "single", which becomes "double" where lambda is too small for it
    """

    def __init__(self, learned: Double, targets: Double, weights: Double, held_out: Double, held_out_targets: Double,
                 n_threads: int | None, precision: str = "double") -> None:
        self._precision = precision
        self._targets, self._weights, self._held_out_targets = targets, weights, held_out_targets
        self._made = partial(_Workspace, learned, held_out, n_threads)
        self._workspace: _Workspace | None = None

    def _workspace_beside(self, noise: float, at_zero: float) -> "_Workspace":
        dtype = precision_beside(self._precision, noise, at_zero)
        if self._workspace is None or self._workspace.system.matrix.dtype != dtype:
            self._workspace = self._made(dtype)
        return self._workspace

    def residuals(self, machine: RegularisedKernel) -> Double | None:
        """What a regression leaves of the held-out targets; None where rounding leaves no factor."""
        kernel = machine.kernel
        work = self._workspace_beside(machine.reg_lambda / self._weights.max(), kernel.at_zero)
        matrix, inverse_lengths = work.system.matrix, 1 / kernel.length_scale
        fill_covariance(work.among, kernel, inverse_lengths, matrix, machine.reg_lambda / self._weights)
        if not work.system.factorise():
            return None
        weights = work.system.solve(self._targets)
        unit = np.abs(weights).max() or 1.0  # of numbers that single precision may not hold
        fill_covariance(work.between, kernel, inverse_lengths, work.kernels)
        return self._held_out_targets - unit * work.system.multiply(
            work.kernels, in_panels(weights / unit, matrix.dtype), weights.shape[1])

    def loss(self, machine: RegularisedKernel, weights: Double) -> float:
        """Mean squared residual over held-out rows of some weights; inf where there is none."""
        with np.errstate(over="ignore", invalid="ignore"):
            residuals = self.residuals(machine)
            if residuals is None:
                return math.inf
            loss = float(weights @ (residuals**2).mean(axis=1) / weights.sum())
        return loss if math.isfinite(loss) else math.inf


class _Workspace:
    """Kernels among and between rows, and the system, in one precision."""

    def __init__(self, learned: Double, held_out: Double, n_threads: int | None, dtype: "np.dtype[Any]") -> None:
        self.among = DenseKernels(learned, learned, n_threads, dtype)
        self.between = DenseKernels(learned, held_out, n_threads, dtype)
        self.kernels = np.empty((len(held_out), len(learned)), dtype)
        self.system = DenseSystem(len(learned), n_threads, dtype)
