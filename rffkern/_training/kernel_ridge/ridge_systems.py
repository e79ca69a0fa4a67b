"""Ridge regressions with one kernel by preconditioned conjugate gradients, many of them in the same passes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._estimator.monitor import Steps
from ..._native import solvers
from ..._native.array_types import Double, Indices
from .kernel_matrix import Landmarks, Matrix

# A multiple of lambda and of the number of landmarks that keeps the kernels between landmarks positive definite, whose
# entries are rounded to single precision.
_JITTER = 1e-6

ALL_ROWS = -1  # in place of a fold that is left out; rows that are in no fold have it, too
System = tuple[int, float]  # a ridge regression: the fold that it leaves out, and its lambda


class Solutions(NamedTuple):
    """Coefficients of ridge regressions, and what they predict."""

    coefficients: Double  # (n_systems, n_outputs, n_samples)
    predictions: Double  # (n_systems, n_outputs, n_samples)
    n_iter: int
    residual: float  # the largest |b - A x| / |b|

    def out_of_fold(self, folds: Indices) -> Double:
        """The prediction of each row by the system that leaves its fold out, (n_outputs, n_samples).

        The systems are `systems_of_folds`, of which that of all rows predicts the rows that are in no fold.
        """
        out_of_fold = self.predictions[-1].copy()
        for fold, predictions in enumerate(self.predictions[:-1]):
            out_of_fold[:, folds == fold] = predictions[:, folds == fold]
        return out_of_fold


def systems_of_folds(folds: Indices, reg_lambda: float) -> list[System]:
    """The systems that leave out the folds 0, 1, ..., and then that of all rows."""
    return [(fold, reg_lambda) for fold in (*range(int(folds.max()) + 1), ALL_ROWS)]


def solve_systems(matrix: Matrix, systems: Sequence[System], targets: Double, weights: Double, folds: Indices,
                  landmarks: Indices, tolerance: float, max_iter: int, work: str = "kernel ridge") -> Solutions:
    """Minimise sum over rows of w (y - f)^2 + lambda |f|^2 for some folds that are left out, lambdas and outputs.

    With s^2 the weights of rows, 0 of those left out, and f = K a, a = s b solves (s K s + lambda) b = s y: a symmetric
    system, for which a row of weight 0 does not exist.  All systems share the passes over the matrix, until
    |b - A x| <= tolerance |b| for each.

    Parameters
    ----------
    systems : sequence of (fold, lambda)
    targets : array of shape (n_outputs, n_samples)
    weights, folds : arrays of shape (n_samples,)
    landmarks : array of row indices, for the preconditioner
    work : str
        What listeners hear.
    """
    n_outputs, n_padded, n_samples = len(targets), matrix.n_padded, matrix.n_samples
    padded = np.zeros((n_outputs, n_padded))
    padded[:, :n_samples] = targets
    nystroem = Landmarks(matrix, landmarks)
    all_roots = np.zeros(n_padded)
    all_roots[:n_samples] = np.sqrt(weights)
    roots = {ALL_ROWS: all_roots}  # of the weights without a fold
    rest, grams = all_roots.copy(), {}  # Z' S^2 Z, of the rows of each fold, and then of those without it
    for fold, _ in systems:
        if fold not in roots:
            of_fold = np.zeros(n_padded)
            of_fold[:n_samples] = np.where(folds == fold, all_roots[:n_samples], 0)
            roots[fold], grams[fold] = all_roots - of_fold, nystroem.gram(of_fold)
            rest -= of_fold
    whole = nystroem.gram(rest) + sum(grams.values())
    for gram in grams.values():
        np.subtract(whole, gram, out=gram)
    grams[ALL_ROWS] = whole
    scales = [roots[fold] for fold, _ in systems]
    factors = [_factor(grams[fold], nystroem.between, reg_lambda) for fold, reg_lambda in systems]

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
        correlations = nystroem.correlate(scaled(residuals[of], of))
        for k, row in zip(of, correlations, strict=True):
            solvers.solve_factorised(factors[k // n_outputs], row)
        preconditioned = residuals[of] - scaled(nystroem.combine(correlations), of)
        before, products[of] = products[of], (residuals[of] * preconditioned).sum(axis=1)
        factor = products[of] / before if n_iter else np.zeros(len(of))
        directions[of] = along = preconditioned + factor[:, None] * directions[of]
        images = scaled(matrix.multiply(scaled(along, of)), of)
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
    shape = len(systems), n_outputs, n_padded
    return Solutions(coefficients.reshape(shape)[:, :, :n_samples],
                     matrix.multiply(coefficients).reshape(shape)[:, :, :n_samples], n_iter,
                     float(relative.max(initial=0.0)))


def _factor(gram: Double, between: Double, reg_lambda: float) -> Double:
    """The Cholesky factor of lambda K_mm + Z' S^2 Z, with as much jitter as it needs."""
    size, jitter = len(between), _JITTER
    gram = gram + reg_lambda * between
    scratch = np.empty((1, solvers.factor_scratch(size)))
    while True:
        factor = gram.copy()
        factor.flat[:: size + 1] += jitter * size * reg_lambda
        if solvers.factorise(factor, scratch, 1):
            return factor
        jitter *= 100  # ends: a matrix of large diagonal is positive definite


def _norms(vectors: Double) -> Double:
    return np.sqrt((vectors * vectors).sum(axis=1))
