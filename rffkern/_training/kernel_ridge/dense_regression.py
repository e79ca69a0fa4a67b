"""Kernel ridge regressions of few rows by the inverses of their matrices, and the choice of scale and lambda on some.

With A = K + lambda / weights and a = A^-1 y, rows F that are left out together have the residuals (A^-1)_FF^-1 a_F, so
that one inverse has the errors of all rows and of all folds (leave-one-out: M. Stone, Cross-validatory choice and
assessment of statistical predictions, 1974).
"""

import math
from collections.abc import Sequence

import numpy as np

from ..._native.array_types import NDArray
from ..._rows.tiles import DOUBLE
from ..._rows.weights import row_products
from .kernel_matrix import DenseKernels, DenseSystem, precision_beside
from .length_scales import Choice, ChoiceRows, Lengths, lambdas_for

Double = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Lambda over the weight of a row at most: beside it the row has no effect, and single precision holds its square root.
_LARGEST_NOISE = 1e30

# Share by which a step of a search must lower the error, and bounds of the scale of length scales.
_LEAST_FALL = 0.002
_LARGEST_SCALE = 4.0**8


class DenseRegression:
    """A kernel ridge regression of few rows, for one choice of length scales and lambda after the other.

    Parameters
    ----------
    rows : ChoiceRows
        Weights above 0.
    shape : "gaussian" or "exponential"
    """

    def __init__(self, rows: ChoiceRows, shape: str) -> None:
        self.rows, self._shape = rows, shape
        self._inverse, self._coefficients = np.empty((0, 0)), np.empty((0, 0))
        self._lengths = np.empty(0)

    def fit(self, choice: Choice) -> bool:
        """Learn from the rows; return whether the matrix was positive definite."""
        X, targets, weights, n_threads, _ = self.rows
        noise = np.minimum(choice.reg_lambda / weights, _LARGEST_NOISE)
        dtype = precision_beside("single", float(noise.min()), 1.0)
        self._lengths = choice.lengths.inverse
        system = DenseSystem(len(X), n_threads, dtype)
        DenseKernels(X, X, n_threads, dtype).fill(self._lengths, self._shape, system.matrix)
        system.matrix.flat[:: len(X) + 1] += noise.astype(dtype)
        if not system.factorise():
            return False
        self._coefficients = system.solve(targets.T).T
        self._inverse = np.empty_like(system.matrix)
        system.invert(self._inverse)
        return bool(np.isfinite(self._coefficients).all())

    def residuals(self) -> Double:
        """Of each row without it alone, (n_outputs, n_rows)."""
        return self._coefficients / self._inverse.diagonal()

    def residuals_without(self, folds: Indices) -> Double:
        """Of each row without its fold, (n_outputs, n_rows); targets of rows in the fold -1."""
        residuals = self.rows.targets.copy()  # where rounding makes a block indefinite, nothing is predicted
        for fold in np.unique(folds[folds >= 0]):
            rows = np.flatnonzero(folds == fold)
            block = DenseSystem(len(rows), self.rows.n_threads, DOUBLE)
            block.matrix[:] = self._inverse[np.ix_(rows, rows)]
            if block.factorise():
                residuals[:, rows] = block.solve(self._coefficients[:, rows].T).T
        return residuals

    def predict(self, X: Double) -> Double:
        """Predictions of other rows, (n_outputs, n_rows)."""
        kernels = np.empty((len(self.rows.X), len(X)))
        DenseKernels(X, self.rows.X, self.rows.n_threads).fill(self._lengths, self._shape, kernels)
        return self._coefficients @ kernels


def choose_on(regressions: Sequence[DenseRegression], own: Sequence[Mask], start: Choice, step: float,
              are_labels: bool) -> Choice:
    """The scale and lambda of lowest leave-one-out error on the own rows of some regressions.

    Where rows have folds, these are left out instead, if some own rows are in them.  From a start the scale is
    multiplied or divided by a step, and lambda goes to the next on the list, in turns, as long as the error falls.
    """
    lambdas, tried = lambdas_for(are_labels), dict[tuple[float, float], Choice]()
    has_folds = any((_folds(each)[mask] >= 0).any() for each, mask in zip(regressions, own, strict=True))

    def at(lengths: Lengths, reg_lambda: float) -> Choice:
        key = lengths.scale, reg_lambda
        if key not in tried:
            choice, loss, total = Choice(lengths, reg_lambda, 0.0), 0.0, 0.0
            for each, mask in zip(regressions, own, strict=True):
                if not each.fit(choice):
                    loss = math.inf
                    break
                folds = _folds(each)
                residuals = each.residuals_without(folds) if has_folds else each.residuals()
                weights = each.rows.weights * (mask & (folds >= 0) if has_folds else mask)
                loss += float(row_products((residuals**2).mean(axis=0), weights))
                total += float(weights.sum())
            tried[key] = choice._replace(loss=loss / total if loss < math.inf else loss)
        return tried[key]

    best = at(start.lengths, start.reg_lambda)
    while True:
        before = best
        for factor in (step, 1 / step):
            while 1 / _LARGEST_SCALE <= best.lengths.scale * factor <= _LARGEST_SCALE:
                trial = at(best.lengths._replace(scale=best.lengths.scale * factor), best.reg_lambda)
                if not trial.loss < (1 - _LEAST_FALL) * best.loss:
                    break
                best = trial
        for by in (1, -1):
            while 0 <= (k := lambdas.index(best.reg_lambda) + by) < len(lambdas):
                trial = at(best.lengths, lambdas[k])
                if not trial.loss < (1 - _LEAST_FALL) * best.loss:
                    break
                best = trial
        if best is before:
            return best


def _folds(regression: DenseRegression) -> Indices:
    """The folds that are left out, -1 for rows that are in none."""
    folds = regression.rows.folds
    return np.full(len(regression.rows.X), -1) if folds is None else folds
