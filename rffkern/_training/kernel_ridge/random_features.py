"""Kernel ridge regression on random Fourier features, with a Mahalanobis distance that is learned.

    k(x, z) = exp(-1/2 (x - z)' M (x - z))

M is in proportion to the mean outer product of the gradients of a regression before, but for a small share of the
identity; length scales have a diagonal alone (A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for
feature learning in neural networks and backpropagation-free machine learning models, Science, 2024).  Where a function
depends on sums of columns, as the place of a hand on sums of the angles of joints, M says so and length scales cannot.

Such a kernel is no product of functions of one column each, which explanations need.  Its random Fourier features are:
k is the mean of cos(omega . (x - z)) over omega from the normal distribution of covariance M (A. Rahimi and B. Recht,
Random features for large-scale kernel machines, 2007).
"""

import math
from typing import NamedTuple

import numpy as np

from ..._estimator.monitor import Steps
from ..._model.parts import FourierTerms
from ..._native import gbrff
from ..._native.array_types import Double, Indices, NDArray
from ..._native.scoring import LARGEST_SINGLE_ANGLE, TERM_MULTIPLES
from ..._rows.scaling import Scaling, no_scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import TILE, aligned, in_precision, pack
from .dense_regression import DenseRegression, choose_on
from .kernel_matrix import DenseSystem, TiledColumns
from .length_scales import Choice, ChoiceRows, gradients, rows_of_gradients
from .ridge_systems import ALL_ROWS, solve_systems

# Rounds of a search at most, by how much one must lower the loss, and the share of M that all columns have alike.
_N_ROUNDS, _LEAST_GAIN, _EQUAL_SHARE = 2, 0.005, 0.02

# By what the scale of M is multiplied or divided in a search.
_STEP = 2.0

# Omegas that others are drawn from, those whose amplitudes are computed together, and those whose features are.
_N_CANDIDATES, _IN_BLOCK, _TOGETHER = 8192, 512, 64

# Rows whose columns of a matrix are computed together.
_COLUMNS_TOGETHER = 64


class Mahalanobis(NamedTuple):
    """The root L of M = L L', and lambda, with the loss that they have."""

    root: Double  # (n_features, n_features)
    reg_lambda: float
    loss: float = math.inf

    @property
    def matrix(self) -> Double:
        """M."""
        found: Double = np.einsum("ij,kj->ik", self.root, self.root)
        return found

    def rotated(self, X: Double) -> Double:
        """Rows x' L, whose squared distances are those of M."""
        found: Double = np.einsum("ij,jk->ik", X, self.root)
        return found

    def regression(self, rows: ChoiceRows) -> DenseRegression:
        """The regression with this kernel, on rows x' L, of which it has not learned yet."""
        return DenseRegression(rows._replace(X=self.rotated(rows.X)), "gaussian")

    @property
    def choice(self) -> Choice:
        """The length scales of rows x' L, which are 1, and lambda."""
        return Choice(np.ones(len(self.root)), 1.0, self.reg_lambda, self.loss)


def with_scale(rows: ChoiceRows, start: Mahalanobis, are_labels: bool) -> Mahalanobis:
    """The multiple of M, and lambda, of the lowest leave-one-out error."""
    everywhere = np.ones(len(rows.X), dtype=bool)
    best = choose_on([start.regression(rows)], [everywhere], start.choice, _STEP, are_labels)
    return Mahalanobis(math.sqrt(best.scale) * start.root, best.reg_lambda, best.loss)


def search(rows: ChoiceRows, start: Mahalanobis, are_labels: bool) -> Mahalanobis:
    """M of the gradients of the regression with the M before, in some rounds, as long as the leave-one-out error falls.

    Parameters
    ----------
    rows : ChoiceRows
    start : Mahalanobis
        With the multiple of M and lambda that are best for it.
    are_labels : bool
        Whether small lambdas are not tried.
    """
    best, rows, steps = start, rows_of_gradients(rows), Steps("kernel ridge along directions", _N_ROUNDS)
    steps.step(f"loss {start.loss:.6g} along columns")
    for _ in range(_N_ROUNDS):
        root = _by_gradients(rows, best)
        trial = best if root is None else with_scale(rows, best._replace(root=root), are_labels)
        steps.step(f"loss {trial.loss:.6g}")
        if not trial.loss < (1 - _LEAST_GAIN) * best.loss:
            break
        best = trial
    return best


def _by_gradients(rows: ChoiceRows, before: Mahalanobis) -> Double | None:
    """The root of M by the gradients of the regression with another, or None where these say nothing.

    The mean squared distance of two rows stays, so that scale and lambda of the one before are where the next choice
    begins.  With z = L' x a gradient along x is L times that along z.
    """
    size, weights = len(before.root), rows.weights
    outer = np.zeros((size, size))
    for gradient in gradients(before.regression(rows).rows, "gaussian", before.choice):
        along = np.einsum("ik,jk->ij", gradient, before.root)
        outer += np.einsum("i,ij,ik->jk", weights, along, along)
    away = rows.X - np.average(rows.X, axis=0, weights=weights)
    covariance = np.einsum("i,ij,ik->jk", weights, away, away)  # but for a factor
    spread, spread_before = (float((each * covariance).sum()) for each in (outer, before.matrix))
    if not (math.isfinite(spread) and spread > 0):
        return None
    equal = np.eye(size) / np.trace(covariance)
    system = DenseSystem(size, 1)
    system.matrix[:] = spread_before * ((1 - _EQUAL_SHARE) / spread * outer + _EQUAL_SHARE * equal)
    return np.tril(system.matrix) if system.factorise() else None


def draw_omegas_by_amplitude(rows: ChoiceRows, found: Mahalanobis, n_omegas: int, rng: "np.random.Generator") -> Double:
    """Omegas (n_omegas, n_features) of the normal distribution of covariance M, more of those that matter.

    Of `_N_CANDIDATES` that are drawn from it as many are taken, without repetition, each with a chance in proportion to
    |sum_i a_i exp(i omega . x_i)|, its amplitude in the regression on the rows with the kernel itself.  So the features
    are not of this kernel: their spectral density is its density times the amplitude, nearly.  Half as many omegas
    then predict as well.
    """
    normal = rng.standard_normal((_N_CANDIDATES, len(found.root)))
    omegas: Double = np.einsum("mk,jk->mj", normal, found.root)
    regression = found.regression(rows)
    if not regression.fit(found.choice):
        return omegas[:n_omegas]
    squares = np.empty(len(omegas))
    for start in range(0, len(omegas), _IN_BLOCK):  # features of all at once would take far more memory than the rest
        features = FeatureMatrix(rows.X, omegas[start : start + _IN_BLOCK], rows.n_threads)
        cosines_and_sines = features.correlate(features.padded(regression.coefficients)).reshape(-1, _IN_BLOCK, 2)
        squares[start : start + _IN_BLOCK] = (cosines_and_sines**2).sum(axis=(0, 2))
    amplitudes = np.sqrt(squares) + np.finfo(np.float64).tiny
    return omegas[rng.choice(len(omegas), n_omegas, replace=False, p=amplitudes / amplitudes.sum())]


class FeatureMatrix(TiledColumns):
    """The kernels of rows with each other, as means over some omegas of cos(omega . (x - z)).

    Its columns are the random Fourier features: cosine and sine of one omega . x after the other, divided by the root
    of the number of omegas.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    omegas : array of shape (n_omegas, n_features)
    n_threads : int or None
    """

    def __init__(self, X: Double, omegas: Double, n_threads: int | None) -> None:
        (n_rows, n_features), n_omegas = X.shape, len(omegas)
        threads = check_n_threads(n_threads, X.size)
        length = math.sqrt(float((omegas**2).sum(axis=1).max()))
        tiles = in_precision(lambda dtype: pack(X, no_scaling(n_features), dtype, threads), "single",
                             LARGEST_SINGLE_ANGLE / length if length else math.inf)
        columns = aligned((2 * n_omegas, len(tiles), TILE), tiles.dtype)
        for start in range(0, n_omegas, _TOGETHER):
            some = omegas[start : start + _TOGETHER]
            features = np.empty((len(tiles), 2 * len(some), TILE), tiles.dtype)
            n_padded = -(-len(some) // TERM_MULTIPLES[0]) * TERM_MULTIPLES[0]
            gbrff.make_rff(tiles, some, features, np.zeros((n_padded, n_features), tiles.dtype), threads)
            columns[2 * start : 2 * start + 2 * len(some)] = features.transpose(1, 0, 2)
        columns /= tiles.dtype.type(math.sqrt(n_omegas))
        columns.reshape(2 * n_omegas, -1)[:, n_rows:] = 0  # cosines of rows that pad tiles were 1
        super().__init__(columns, n_threads)
        self.n_samples, self.n_padded, self.n_threads = n_rows, len(tiles) * TILE, n_threads

    def padded(self, vectors: Double) -> Double:
        """Vectors (n_vectors, n_samples) with zeros for the rows that pad tiles."""
        return np.pad(vectors, ((0, 0), (0, self.n_padded - self.n_samples)))

    def multiply(self, vectors: Double) -> Double:
        """The matrix times vectors (n_vectors, n_padded)."""
        return self.combine(self.correlate(vectors))

    def columns(self, indices: Indices) -> NDArray[np.floating]:
        """The columns of some rows, shape (n_indices, n_tiles, 128)."""
        features = self._columns.reshape(len(self._columns), -1)
        found = aligned((len(indices), *self._columns.shape[1:]), self._columns.dtype)
        for start in range(0, len(indices), _COLUMNS_TOGETHER):  # which are in double precision before
            some = np.ascontiguousarray(features[:, indices[start : start + _COLUMNS_TOGETHER]].T, np.float64)
            found[start : start + _COLUMNS_TOGETHER] = self.combine(some).reshape(len(some), -1, TILE)
        return found


class FeatureRegression(NamedTuple):
    """A ridge regression on random Fourier features."""

    omegas: Double  # (n_omegas, n_features)
    amplitudes: Double  # (n_outputs, n_omegas, 2) of cosine and sine
    out_of_fold: Double  # (n_outputs, n_samples) predictions of rows by regressions without their folds

    def terms(self, scaling: Scaling, factors: Double) -> FourierTerms:
        """The regression times a factor for each output as a function of unscaled rows less their center."""
        omegas = self.omegas * scaling.inverse_scale
        if len(factors) == 1:
            cosine, sine = self.amplitudes[0].T
            return FourierTerms(omegas, np.arctan2(sine, cosine), factors * np.hypot(cosine, sine)[:, None])
        return FourierTerms(np.repeat(omegas, 2, axis=0), np.tile([0.0, math.pi / 2], len(omegas)),
                            (factors[:, None] * self.amplitudes.reshape(len(factors), -1)).T)


def regress(rows: ChoiceRows, omegas: Double, reg_lambda: float, n_folds: int, landmarks: Indices, tol: float,
            max_iter: int) -> FeatureRegression:
    """The ridge regression of all rows, and those without each of the first folds, by conjugate gradients.

    Parameters
    ----------
    rows : ChoiceRows
        With the fold of each.
    omegas : array of shape (n_omegas, n_features)
    reg_lambda : float
    n_folds : int
    landmarks : array of row indices, for the preconditioner
    tol, max_iter : float and int
        As of `solve_systems`.
    """
    assert rows.folds is not None
    matrix = FeatureMatrix(rows.X, omegas, rows.n_threads)
    solutions = solve_systems(matrix, [(fold, reg_lambda) for fold in (*range(n_folds), ALL_ROWS)], rows.targets,
                              rows.weights, rows.folds, landmarks, tol, max_iter, "random Fourier features")
    sums = matrix.correlate(matrix.padded(solutions.coefficients[-1]))
    amplitudes = (sums / math.sqrt(len(omegas))).reshape(len(sums), -1, 2)
    return FeatureRegression(omegas, amplitudes, solutions.out_of_fold(rows.folds))
