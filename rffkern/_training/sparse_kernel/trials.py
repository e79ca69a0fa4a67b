"""Small machines by which column maps are compared."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._native.array_types import NDArray
from ..._rows.scaling import measure_scaling
from ..._rows.weights import RowWeights
from .dense_ridge import DenseRidge
from .kernel import given_kernel
from .kernel_choice import RowsOfChoice, quick_kernel
from .likelihood import Given, LengthScales

Double = NDArray[np.float64]

# Rows that a trial learns from at most, and the share of them that is held out where kernels are compared.
_MOST_ROWS = 1200
_ROWS_PER_HELD_OUT = 3


class Tried:
    """Ridge regressions on some rows with a kernel that takes little time to learn.

    Parameters
    ----------
    machine : an estimator of this family, whose kernel and lambda count where they are given
    length_scales : sequence of `one_per_column` and `one_for_all`
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,) of class indices, all of which occur, or of shape (n_samples, n_outputs) of targets
    sample_weight : array of shape (n_samples,), or None
    standardize : bool
    """

    def __init__(self, machine: Any, length_scales: Sequence[LengthScales], X: Any, y: NDArray[Any],
                 sample_weight: Any, standardize: bool) -> None:
        order = np.random.default_rng(0).permutation(len(X))[:_MOST_ROWS]
        given_weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        weights = RowWeights(len(order), given_weight[order] / given_weight[order].mean())
        X, targets = np.asarray(X, dtype=np.float64), _targets_of(y)
        self._scaling = measure_scaling(X[order], weights, standardize, machine.n_jobs)
        self._intercepts = weights.mean(targets[order])
        self._rows = RowsOfChoice(self._scaled(X[order]), targets[order] - self._intercepts, given_weight[order],
                                  machine.n_jobs, machine.precision)
        given = Given(None if isinstance(machine.kernel, str) else given_kernel(machine.kernel, X.shape[1]),
                      None if isinstance(machine.reg_lambda, str) else float(machine.reg_lambda))
        self._machine = quick_kernel(self._rows, given, length_scales, len(order) // _ROWS_PER_HELD_OUT)

    def _scaled(self, X: Double) -> Double:
        scaled: Double = (X - self._scaling.center) * self._scaling.inverse_scale
        return scaled

    def _losses_of_rows(self, X: Any, y: NDArray[Any]) -> Double:
        """Mean squared residual of each row over outputs; inf where there is no regression."""
        rows = self._rows
        ridge = DenseRidge(rows.X, rows.targets, rows.weights, self._scaled(np.asarray(X, dtype=np.float64)),
                           _targets_of(y) - self._intercepts, rows.n_threads, rows.precision)
        with np.errstate(over="ignore", invalid="ignore"):
            residuals = ridge.residuals(self._machine)
            return np.full(len(X), np.inf) if residuals is None else (residuals**2).mean(axis=1)


def _targets_of(y: NDArray[Any]) -> Double:
    """Targets, or the signs of classes: of the second of two, or of each against the rest."""
    if y.ndim == 2:
        return y
    codes = np.arange(1, 2) if y.max() < 2 else np.arange(y.max() + 1)
    return np.where(y[:, None] == codes, 1.0, -1.0)
