"""Kernel ridge regressions of few rows by the inverses of their matrices, and the choice of scale and lambda on some.

With A = K + lambda / weights and a = A^-1 y, rows F that are left out together have the residuals (A^-1)_FF^-1 a_F, so
that one inverse has the errors of all rows and of all folds (leave-one-out: M. Stone, Cross-validatory choice and
assessment of statistical predictions, 1974).
"""

import math
from collections.abc import Sequence

import numpy as np

from ..._model.parts import KernelTerms
from ..._native.array_types import Double, Indices, Mask
from ..._rows.tiles import DOUBLE
from ..._rows.weights import row_products
from ...errors import InvalidInputError
from .kernel_matrix import DenseKernels, DenseSystem, Real, precision_beside
from .length_scales import Choice, ChoiceRows, descend

# Lambda over the weight of a row at most: beside it the row has no effect, and single precision holds its square root.
_LARGEST_NOISE = 1e30

# Share by which a step of a search must lower the error.
_LEAST_FALL = 0.002

# Rows whose standard deviations are computed together, and length scales between which kernels are all 0.
_ROWS_TOGETHER, _FAR = 1024, 1e100


class DenseRegression:
    """A kernel ridge regression of few rows, for one choice of length scales and lambda after the other.

    Parameters
    ----------
    rows : ChoiceRows
        Weights above 0.
    shape : "gaussian" or "exponential"
    """

    coefficients: Double  # a, (n_outputs, n_rows), from `fit` on

    def __init__(self, rows: ChoiceRows, shape: str) -> None:
        self.rows, self._shape = rows, shape
        self._kernels: DenseKernels | None = None
        self._system: DenseSystem | None = None

    def fit(self, choice: Choice) -> bool:
        """Learn from the rows; return whether the matrix was positive definite."""
        X, n_threads = self.rows.X, self.rows.n_threads
        with np.errstate(over="ignore"):
            noise = np.minimum(choice.reg_lambda / self.rows.weights, _LARGEST_NOISE)
        dtype = precision_beside("single", float(noise.min()), 1.0)
        self._lengths = choice.inverse
        if self._kernels is None or self._kernels.dtype != dtype:
            self._kernels, self._system = DenseKernels(X, X, n_threads, dtype), None
        if self._system is None:  # once, for pages of new memory take time
            self._system = DenseSystem(len(X), n_threads, dtype)
        system = self._system
        self._kernels.fill(self._lengths, self._shape, system.matrix, lower=True)
        system.matrix.flat[:: len(X) + 1] += noise.astype(dtype)
        if not system.factorise():
            return False
        self.coefficients = system.solve(self.rows.targets.T).T
        self._inverse: Real | None = None
        self._diagonal: Double | None = None
        return bool(np.isfinite(self.coefficients).all())

    def inverse(self) -> Real:
        """A^-1, which errors of folds that are left out take, and predictions of others do not."""
        if self._inverse is None:
            assert self._system is not None
            self._inverse = np.empty_like(self._system.matrix)
            self._diagonal = self._system.invert(self._inverse)
            self._system = None  # which has taken four times the memory
        return self._inverse

    def inverse_diagonal(self) -> Double:
        """The diagonal of A^-1, (n_rows,), which errors of single rows that are left out take."""
        if self._diagonal is None:
            assert self._system is not None
            self._diagonal = self._system.inverse_diagonal()
        return self._diagonal

    def residuals(self) -> Double:
        """Of each row without it alone, (n_outputs, n_rows)."""
        return self.coefficients / self.inverse_diagonal()

    def signal_variance(self) -> Double:
        """The variance s^2 of a Gaussian process with the covariance s^2 k, (n_outputs,).

        It is the one for which residuals of rows that are left out have, in the mean, the squares that the process
        expects: that of row i has the variance s^2 / (A^-1)_ii (S. Sundararajan and S. Keerthi, 2001, "Predictive
        approaches for choosing hyperparameters in Gaussian processes", equation 10).
        """
        return (self.coefficients**2 / self.inverse_diagonal()).mean(axis=1)

    def residuals_without(self, folds: Indices) -> Double:
        """Of each row without its fold, (n_outputs, n_rows); targets of rows in the fold -1."""
        residuals = self.rows.targets.copy()  # where rounding makes a block indefinite, nothing is predicted
        for fold in np.unique(folds[folds >= 0]):
            rows = np.flatnonzero(folds == fold)
            block = DenseSystem(len(rows), self.rows.n_threads, DOUBLE)
            block.matrix[:] = self.inverse()[np.ix_(rows, rows)]
            if block.factorise():
                residuals[:, rows] = block.solve(self.coefficients[:, rows].T).T
        return residuals

    def predict(self, X: Double) -> Double:
        """Predictions of other rows, (n_outputs, n_rows)."""
        kernels = np.empty((len(self.rows.X), len(X)))
        DenseKernels(X, self.rows.X, self.rows.n_threads).fill(self._lengths, self._shape, kernels)
        return self.coefficients @ kernels


def standard_deviations(kernels: KernelTerms, reg_lambda: float, signal_variance: Double, rows: Double,
                        n_threads: int | None) -> Double:
    """Standard deviations (n_rows, n_outputs) of targets of rows, as kernel ridge regression is a Gaussian process.

    Its covariance is s^2 k, its noise has the variance s^2 lambda, and its mean is the regression (C. Rasmussen and
    C. Williams, 2006, "Gaussian processes for machine learning", equation 2.26, with the noise of the target added):
    s^2 (1 + lambda - k(x)' A^-1 k(x)) at a row x.
    """
    lengths, centers = kernels.inverse_length_scales, kernels.centers
    read = lengths > 0
    center = centers[:, read].mean(axis=0) if len(centers) else np.zeros(int(read.sum()))
    with np.errstate(over="ignore"):  # rows so far out have no kernel
        X, others = (np.ascontiguousarray(((each[:, read] - center) * lengths[read]).clip(-_FAR, _FAR))
                     for each in (centers, rows))
    ones, missing = np.ones(X.shape[1]), np.ones(len(rows))
    if len(X) and X.shape[1]:
        system = DenseSystem(len(X), n_threads)
        DenseKernels(X, X, n_threads).fill(ones, kernels.shape, system.matrix)
        system.matrix.flat[:: len(X) + 1] += reg_lambda
        inverse = np.empty_like(system.matrix)
        if not system.factorise():
            raise InvalidInputError("return_std needs kernels that are positive definite beside lambda: train with a "
                                    "larger reg_lambda")
        system.invert(inverse)
        for start in range(0, len(others), _ROWS_TOGETHER):
            block = slice(start, start + _ROWS_TOGETHER)
            between = np.empty((len(X), len(others[block])))
            DenseKernels(others[block], X, n_threads).fill(ones, kernels.shape, between)
            missing[block] = 1 - (between * (inverse @ between)).sum(axis=0)
    return np.sqrt((np.maximum(missing, 0) + reg_lambda)[:, None] * signal_variance)


def choose_on(regressions: Sequence[DenseRegression], own: Sequence[Mask], start: Choice, step: float) -> Choice:
    """The scale and lambda of lowest leave-one-out error on the own rows of some regressions.

    Where rows have folds, these are left out instead, if some own rows are in them.  From a start the scale is
    multiplied or divided by a step, and lambda goes to the next on the list, in turns, as long as the error falls.
    """
    lambdas, tried = regressions[0].rows.lambdas, dict[tuple[float, float], Choice]()
    folds = [np.full(len(each.rows.X), -1) if each.rows.folds is None else each.rows.folds for each in regressions]
    has_folds = any((of_rows[mask] >= 0).any() for of_rows, mask in zip(folds, own, strict=True))
    weights = [each.rows.weights * (mask & (of_rows >= 0) if has_folds else mask)
               for each, of_rows, mask in zip(regressions, folds, own, strict=True)]
    total = sum(float(of_rows.sum()) for of_rows in weights)

    def loss_of(choice: Choice) -> float:
        loss = 0.0
        for each, of_rows, weight in zip(regressions, folds, weights, strict=True):
            if not each.fit(choice):
                return math.inf
            residuals = each.residuals_without(of_rows) if has_folds else each.residuals()
            loss += float(row_products((residuals**2).mean(axis=0), weight))
        return loss / total

    def at(choice: Choice) -> Choice:
        place = choice.scale, choice.reg_lambda
        if place not in tried:
            tried[place] = choice._replace(loss=loss_of(choice))
        return tried[place]

    best = at(start)
    while True:
        before = best
        best = descend(at, best, step, _LEAST_FALL)
        for by in (1, -1):
            while 0 <= (k := lambdas.index(best.reg_lambda) + by) < len(lambdas):
                trial = at(best._replace(reg_lambda=lambdas[k]))
                if not trial.loss < (1 - _LEAST_FALL) * best.loss:
                    break
                best = trial
        if best is before:
            return best
