"""Ridge regressions with one kernel by preconditioned conjugate gradients, many of them in the same passes."""

from collections.abc import Callable, Sequence
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
        gradients = _ConjugateGradients(
            np.concatenate([self._scale(fold) * padded for fold, _ in systems]),
            np.repeat([reg_lambda for _, reg_lambda in systems], n_outputs))
        factors = [self._factor(system) for system in systems]
        scales = [self._scale(fold) for fold, _ in systems]

        def scaled(vectors: Double, of: Indices) -> Double:
            return np.stack([scales[k // n_outputs] * vector for k, vector in zip(of, vectors, strict=True)])

        def precondition(residuals: Double, of: Indices) -> Double:
            correlations = self._landmarks.correlate(scaled(residuals, of))
            for k, row in zip(of, correlations, strict=True):
                solvers.solve_factorised(factors[k // n_outputs], row)
            return residuals - scaled(self._landmarks.combine(correlations), of)

        steps = Steps(work, max_iter)
        while len(of := gradients.unsolved(tolerance)) and gradients.n_iter < max_iter:
            directions = gradients.directions(of, precondition)
            gradients.step(of, directions, scaled(self._matrix.multiply(scaled(directions, of)), of))
            steps.step(f"residual {gradients.largest_residual():.1e}")
        everyone = np.arange(len(systems) * n_outputs)
        coefficients = scaled(gradients.solutions, everyone)
        shape = len(systems), n_outputs, n_padded
        n_samples = self._matrix.n_samples
        return Solutions(coefficients.reshape(shape)[:, :, :n_samples],
                         self._matrix.multiply(coefficients).reshape(shape)[:, :, :n_samples], gradients.n_iter,
                         gradients.largest_residual())


class _ConjugateGradients:
    """Solutions of symmetric systems, one for each right-hand side; each has its own step lengths."""

    def __init__(self, right: Double, reg_lambda: Double) -> None:
        self._reg_lambda = reg_lambda
        self._norms = _norms(right)
        self._residuals = right
        self.solutions = np.zeros_like(right)
        self._directions = np.zeros_like(right)
        self._products = np.ones(len(right))  # of residuals and preconditioned residuals
        self._has_failed = np.zeros(len(right), bool)
        self.n_iter = 0

    def _relative(self) -> Double:
        norms: Double = _norms(self._residuals) / np.where(self._norms > 0, self._norms, 1.0)
        return norms

    def largest_residual(self) -> float:
        """The largest |b - A x| / |b|."""
        return float(self._relative().max(initial=0.0))

    def unsolved(self, tolerance: float) -> Indices:
        """Right-hand sides whose residual is too large, and for which rounding leaves room."""
        return np.flatnonzero((self._relative() > tolerance) & ~self._has_failed)

    def directions(self, of: Indices, precondition: Callable[[Double, Indices], Double]) -> Double:
        """Where to go next for some right-hand sides."""
        residuals = self._residuals[of]
        preconditioned = precondition(residuals, of)
        products = (residuals * preconditioned).sum(axis=1)
        factor = products / self._products[of] if self.n_iter else np.zeros(len(of))
        self._directions[of] = preconditioned + factor[:, None] * self._directions[of]
        self._products[of] = products
        return self._directions[of]

    def step(self, of: Indices, directions: Double, images: Double) -> None:
        """Go along directions, given their images under the matrices without lambda."""
        with np.errstate(over="ignore", invalid="ignore"):
            images += self._reg_lambda[of, None] * directions
            curvatures = (directions * images).sum(axis=1)
            lengths = self._products[of] / np.where(curvatures > 0, curvatures, np.inf)
        good = (lengths > 0) & np.isfinite(lengths)
        self._has_failed[of[~good]] = True  # rounding has made its matrix indefinite, or its numbers too large
        self.solutions[of[good]] += lengths[good, None] * directions[good]
        self._residuals[of[good]] -= lengths[good, None] * images[good]
        self.n_iter += 1


def _norms(vectors: Double) -> Double:
    norms: Double = np.sqrt((vectors * vectors).sum(axis=1))
    return norms
