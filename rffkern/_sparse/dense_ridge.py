"""Ridge regression with a kernel on some rows by one factor of their kernel matrix, to judge kernels by other rows.

It is what an ensemble of all rows as basis vectors would become, in a fraction of its time while the rows are few.
"""

import math

import numpy as np

from .._kernel_ridge.dense import DenseKernels, DenseSystem, in_panels
from .._kernels.array_types import NDArray
from .kernel import RegularisedKernel

Double = NDArray[np.float64]


class DenseRidge:
    """Losses on held-out rows of ridge regressions on others, as a function of kernel and lambda.

    Parameters
    ----------
    learned, held_out : arrays of shape (n_rows, n_features), in units of the kernels' length scales
    targets, held_out_targets : arrays of shape (n_rows, n_outputs)
    weights : array of shape (n_learned,), in which lambda counts
    n_threads : int or None
    """

    def __init__(self, learned: Double, targets: Double, weights: Double, held_out: Double, held_out_targets: Double,
                 n_threads: int | None) -> None:
        self._targets, self._weights, self._held_out_targets = targets, weights, held_out_targets
        self._among = DenseKernels(learned, learned, n_threads)
        self._between = DenseKernels(learned, held_out, n_threads)
        self._system = DenseSystem(len(learned), n_threads)

    def residuals(self, machine: RegularisedKernel) -> Double | None:
        """What a regression leaves of the held-out targets; None where rounding leaves no factor."""
        kernel, matrix = machine.kernel, self._system.matrix
        inverse_lengths = 1 / kernel.lengthscales
        self._among.fill(inverse_lengths, kernel.shape, matrix)
        matrix *= kernel.amplitude
        matrix += kernel.bias
        matrix.flat[:: len(matrix) + 1] += machine.reg_lambda / self._weights
        if not self._system.factorise():
            return None
        weights = self._system.solve(self._targets)
        kernels = np.empty((len(self._held_out_targets), len(matrix)))
        self._between.fill(inverse_lengths, kernel.shape, kernels)
        kernels *= kernel.amplitude
        kernels += kernel.bias
        return self._held_out_targets - self._system.multiply(kernels, in_panels(weights), weights.shape[1])

    def loss(self, machine: RegularisedKernel, weights: Double) -> float:
        """Mean squared residual over held-out rows of some weights; inf where there is none."""
        with np.errstate(over="ignore", invalid="ignore"):
            residuals = self.residuals(machine)
            if residuals is None:
                return math.inf
            loss = float(weights @ (residuals**2).mean(axis=1) / weights.sum())
        return loss if math.isfinite(loss) else math.inf

