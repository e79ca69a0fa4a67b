"""Ridge regressions with one kernel by preconditioned conjugate gradients, many of them in the same passes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._estimator.monitor import Steps
from ..._native import solvers
from ..._native.array_types import NDArray
from .kernel_matrix import KernelMatrix, Landmarks

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# A multiple of lambda and of the number of landmarks that keeps the kernels between landmarks positive definite, whose
# entries are rounded to single precision.
_JITTER = 1e-6

ALL_ROWS = -1  # the fold of no row: what is learned without it is learned from all rows
System = tuple[int, float]  # a ridge regression: the fold that it leaves out, and its lambda


class Solutions(NamedTuple):
    """Coefficients of ridge regressions, and what they predict."""

    coefficients: Double  # (n_systems, n_outputs, n_samples)
    predictions: Double  # (n_systems, n_outputs, n_samples)
    n_iter: int
    residual: float  # the largest |b - A x| / |b|

    def out_of_fold(self, folds: Indices) -> Double:
        """The prediction of each row by the system that leaves its fold out, (n_outputs, n_samples).

        The systems are those that leave out the folds 0, 1, ... and then that of all rows, which predicts the others.
        """
        out_of_fold = self.predictions[-1].copy()
        for fold, predictions in enumerate(self.predictions[:-1]):
            out_of_fold[:, folds == fold] = predictions[:, folds == fold]
        return out_of_fold


class RidgeSystems:
    """Minimise sum over rows of w (y - f)^2 + lambda |f|^2 for some folds that are left out, lambdas and outputs.

    With s^2 the weights of rows, 0 of those left out, and f = K a, a = s b solves (s K s + lambda) b = s y: a symmetric
    system, for which a row of weight 0 does not exist.  All systems share the passes over the matrix.

    Parameters
    ----------
    matrix : KernelMatrix
    folds : array of shape (n_samples,)
    weights : array of shape (n_samples,)
    landmarks : array of row indices, for the preconditioner
    n_threads : int or None
    """

    def __init__(self, matrix: KernelMatrix, folds: Indices, weights: Double, landmarks: Indices,
                 n_threads: int | None) -> None:
        self._matrix, self._folds = matrix, folds
        self._roots = np.zeros(matrix.n_padded)
        self._roots[: matrix.n_samples] = np.sqrt(weights)
        self._landmarks = Landmarks(matrix, landmarks, n_threads)
        self._n_threads = n_threads
        self._grams: dict[int, Double] = {}

    def _scale(self, fold: int) -> Double:
        """Roots of the weights without a fold."""
        scale = self._roots.copy()
        if fold != ALL_ROWS:
            scale[: len(self._folds)][self._folds == fold] = 0
        return scale

    def _gram(self, fold: int) -> Double:
        """Z' S^2 Z of the rows that a system learns from."""
        if ALL_ROWS not in self._grams:
            self._grams[ALL_ROWS] = self._landmarks.gram(self._roots)
        if fold not in self._grams:
            self._grams[fold] = self._grams[ALL_ROWS] - self._landmarks.gram(self._roots - self._scale(fold))
        return self._grams[fold]

    def _factor(self, system: System) -> Double:
        """The Cholesky factor of lambda K_mm + Z' S^2 Z."""
        (fold, reg_lambda), size, jitter = system, len(self._landmarks.between), _JITTER
        gram = self._gram(fold) + reg_lambda * self._landmarks.between
        scratch = np.empty((1, solvers.factor_scratch(size)))
        while True:
            factor = gram.copy()
            factor.flat[:: size + 1] += jitter * size * reg_lambda
            if solvers.factorise(factor, scratch, 1):
                return factor
            jitter *= 100  # ends: a matrix of large diagonal is positive definite

    def solve(self, systems: Sequence[System], targets: Double, tolerance: float, max_iter: int,
              work: str = "kernel ridge") -> Solutions:
        """Solve systems for targets (n_outputs, n_samples) until |b - A x| <= tolerance |b| for each."""
        n_outputs, n_padded = len(targets), self._matrix.n_padded
        padded = np.zeros((n_outputs, n_padded))
        padded[:, : targets.shape[1]] = targets
        scales = [self._scale(fold) for fold, _ in systems]
        factors = [self._factor(system) for system in systems]

        def scaled(vectors: Double, of: Indices) -> Double:
            return np.stack([scales[k // n_outputs] * vector for k, vector in zip(of, vectors, strict=True)])

        # Conjugate gradients with step lengths of its own for each right-hand side, of which `of` are unsolved.
        residuals = np.concatenate([scale * padded for scale in scales])
        reg_lambda = np.repeat([reg_lambda for _, reg_lambda in systems], n_outputs)
        norms, products = _norms(residuals), np.ones(len(residuals))  # of residuals and preconditioned residuals
        norms[norms == 0] = 1.0
        solutions, directions = np.zeros_like(residuals), np.zeros_like(residuals)
        has_failed, n_iter, steps = np.zeros(len(residuals), bool), 0, Steps(work, max_iter)
        relative = _norms(residuals) / norms
        while len(of := np.flatnonzero((relative > tolerance) & ~has_failed)) and n_iter < max_iter:
            correlations = self._landmarks.correlate(scaled(residuals[of], of))
            for k, row in zip(of, correlations, strict=True):
                solvers.solve_factorised(factors[k // n_outputs], row)
            preconditioned = residuals[of] - scaled(self._landmarks.combine(correlations), of)
            before, products[of] = products[of], (residuals[of] * preconditioned).sum(axis=1)
            factor = products[of] / before if n_iter else np.zeros(len(of))
            directions[of] = along = preconditioned + factor[:, None] * directions[of]
            images = scaled(self._matrix.multiply(scaled(along, of)), of)
            with np.errstate(over="ignore", invalid="ignore"):
                images += reg_lambda[of, None] * along
                curvatures = (along * images).sum(axis=1)
                lengths = products[of] / np.where(curvatures > 0, curvatures, np.inf)
            good = (lengths > 0) & np.isfinite(lengths)
            has_failed[of[~good]] = True  # rounding has made its matrix indefinite, or its numbers too large
            solutions[of[good]] += lengths[good, None] * along[good]
            residuals[of[good]] -= lengths[good, None] * images[good]
            n_iter += 1
            relative = _norms(residuals) / norms
            steps.step(f"residual {relative.max():.1e}")

        coefficients = scaled(solutions, np.arange(len(solutions)))
        shape, n_samples = (len(systems), n_outputs, n_padded), self._matrix.n_samples
        return Solutions(coefficients.reshape(shape)[:, :, :n_samples],
                         self._matrix.multiply(coefficients).reshape(shape)[:, :, :n_samples], n_iter,
                         float(relative.max(initial=0.0)))


def _norms(vectors: Double) -> Double:
    norms: Double = np.sqrt((vectors * vectors).sum(axis=1))
    return norms
