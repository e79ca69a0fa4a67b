"""Kernel ridge regression on random Fourier features, stacked in place of that with length scales where it is better.

    k(x, z) = exp(-1/2 (x - z)' M (x - z))

M is in proportion to the mean outer product of the gradients of a regression before, but for a small share of the
identity; length scales have a diagonal alone (A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for
feature learning in neural networks and backpropagation-free machine learning models, Science, 2024).  Where a function
depends on sums of columns, as the place of a hand on sums of the angles of joints, M says so and length scales cannot.

Such a kernel is no product of functions of one column each, which explanations need.  Its random Fourier features are:
k is the mean of cos(omega . (x - z)) over omega from the normal distribution of covariance M (A. Rahimi and B. Recht,
Random features for large-scale kernel machines, 2007).

Whether M is worth learning is tried on few rows: it must have a lower leave-one-out error than length scales, and a
lower error on other rows.  It is then searched on half of the rows at most, and the other half says what the regression
predicts: rows that have a part in M are not left out by leaving out their fold.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._estimator.monitor import Steps
from ..._model.parts import FourierTerms
from ..._native import gbrff, sparse
from ..._native.array_types import Double, Indices, Mask, NDArray
from ..._native.scoring import LARGEST_SINGLE_ANGLE, TERM_MULTIPLES
from ..._rows.scaling import Scaling, no_scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import TILE, aligned, in_precision, pack
from ..._rows.weights import row_products
from ..kernel_ridge.dense_regression import DenseRegression, choose_on
from ..kernel_ridge.kernel_matrix import DenseSystem, TiledColumns, in_panels
from ..kernel_ridge.length_scales import Choice, ChoiceRows, gradients, rows_of_gradients
from ..kernel_ridge.regions import MOST_ROWS
from ..kernel_ridge.ridge_systems import solve_systems, systems_of_folds
from .kernel_trial import MOST_COLUMNS, OF_REGRESSION, RidgeRows
from .terms import fourier_terms

# Rows that a matrix is tried on, fewer where that would take a larger share of the operations of the bags, and rows
# that it is then searched on; rows for each column, and the fewest of all; regressions that a trial learns, about.
_TRIED, _SHARE_OF_WORK, _SEARCHED, _ROWS_PER_COLUMN, _FEWEST, _N_REGRESSIONS = 600, 0.15, 1000, 2, 40, 14

# Other rows that say what the regression of those that it is searched on gains, about.
_COMPARED = 2000

# Shares by which it must lower the leave-one-out error and that of other rows, and standard errors of the latter.
_LEAST_FALL, _LEAST_GAIN, _STANDARD_ERRORS = 0.1, 0.05, 2.0

# Rounds of gradients at most, the share by which one must lower the leave-one-out error, and the share of M that all
# columns have alike.
_N_ROUNDS, _LEAST_FALL_OF_ROUND, _EQUAL_SHARE = 2, 0.005, 0.02

# What the scale of M is multiplied or divided by, step after step, while the leave-one-out error falls.
_SCALE_STEP = 2.0

# Omegas, and those of more rows than the last number.
_N_OMEGAS, _MANY_OMEGAS, _MANY_ROWS = 1024, 2048, 4000

# Omegas that others are drawn from, those whose amplitudes are computed together, and those whose features are.
_N_CANDIDATES, _IN_BLOCK, _TOGETHER = 8192, 512, 64

# Rows and columns of the parts of matrices that are multiplied, which stay in the cache.
_SIDE = 256


class Mahalanobis(NamedTuple):
    """A Mahalanobis distance: the root L of M = L L'; and lambda, with the leave-one-out error of both."""

    root: Double  # (n_features, n_features)
    reg_lambda: float
    loss: float = math.inf

    @property
    def matrix(self) -> Double:
        """M."""
        return np.einsum("ij,kj->ik", self.root, self.root)

    def rotated(self, X: Double) -> Double:
        """Rows x' L, whose squared distances are those of M."""
        return np.einsum("ij,jk->ik", X, self.root)

    def regression(self, rows: ChoiceRows) -> DenseRegression:
        """The regression with this kernel, on rows x' L, of which it has not learned yet."""
        return DenseRegression(rows._replace(X=self.rotated(rows.X)), "gaussian")

    @property
    def choice(self) -> Choice:
        """The length scales of rows x' L, which are 1, and lambda."""
        return Choice(np.ones(len(self.root)), 1.0, self.reg_lambda, self.loss)


def search_features(ridge_rows: RidgeRows, start: Choice, work: float) -> "StackedFeatures | None":
    """Features of a Mahalanobis distance over the columns that have a relevance; None where length scales do.

    It is not searched for labels of more than two classes, whose regressions on features take too long, nor for rows of
    groups or in order of time, of which bags hold out whole groups or the last.

    Parameters
    ----------
    start : Choice
        The length scales and lambda that the search begins with.
    work : float
        Operations that the bags have taken.
    """
    columns, places = np.flatnonzero(ridge_rows.relevances), ridge_rows.searchable()
    n_searched = min(_SEARCHED, len(places) // 2)
    searched, unseen = places[:n_searched], places[n_searched:]
    n_tried = min(_TRIED, len(searched), _rows_for(_SHARE_OF_WORK * work / _N_REGRESSIONS, len(columns)))
    if ((ridge_rows.are_labels and len(ridge_rows.targets) > 1) or ridge_rows.keeps_folds or len(columns) > MOST_COLUMNS
            or len(ridge_rows.rows) > MOST_ROWS or n_tried < max(_FEWEST, _ROWS_PER_COLUMN * len(columns))):
        return None
    # From the length scales on, on few rows: worth it by these, and by rows that had no part in it.
    few, others = (ridge_rows.some(places, columns) for places in (searched[:n_tried], unseen[:_TRIED]))
    diagonal = with_scale(few, Mahalanobis(np.diag(start.inverse[columns]), start.reg_lambda))
    learned = learn_by_gradients(few, diagonal)
    if not learned.loss < (1 - _LEAST_FALL) * diagonal.loss:  # nor where both are 0, or inf
        return None
    before, after = (_squares(each, few, others) for each in (diagonal, learned))
    gains, weights = before - after, others.weights / others.weights.sum()
    gain = float(row_products(gains, weights))
    error = math.sqrt(float((weights**2 * (gains - gain) ** 2).sum()))
    if not gain >= max(_LEAST_GAIN * float(row_products(before, weights)), _STANDARD_ERRORS * error):
        return None
    # From there on, on more rows.
    more = ridge_rows.some(searched, columns)
    return StackedFeatures(ridge_rows, searched, learn_by_gradients(more, with_scale(more, learned)))


def with_scale(rows: ChoiceRows, start: Mahalanobis) -> Mahalanobis:
    """The multiple of M, and lambda, of the lowest leave-one-out error."""
    everywhere = np.ones(len(rows.X), dtype=bool)
    best = choose_on([start.regression(rows)], [everywhere], start.choice, _SCALE_STEP)
    return Mahalanobis(math.sqrt(best.scale) * start.root, best.reg_lambda, best.loss)


def learn_by_gradients(rows: ChoiceRows, start: Mahalanobis) -> Mahalanobis:
    """M of the gradients of the regression with the M before, in some rounds, as long as the leave-one-out error falls.

    `start` has the multiple of M and lambda that are best for it.
    """
    best, rows, steps = start, rows_of_gradients(rows), Steps("kernel ridge along directions", _N_ROUNDS)
    steps.step(f"loss {start.loss:.6g} along columns")
    for _ in range(_N_ROUNDS):
        root = _by_gradients(rows, best)
        trial = best if root is None else with_scale(rows, best._replace(root=root))
        steps.step(f"loss {trial.loss:.6g}")
        if not trial.loss < (1 - _LEAST_FALL_OF_ROUND) * best.loss:
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
    for gradient in gradients(rows._replace(X=before.rotated(rows.X)), "gaussian", before.choice):
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


def _rows_for(operations: float, n_columns: int) -> int:
    """Rows of a regression that takes so many operations, about."""
    n_rows = _TRIED
    while n_rows > 1 and n_rows**2 * (2.0 * n_columns + 16 + n_rows) + OF_REGRESSION > operations:
        n_rows = n_rows * 9 // 10
    return n_rows


def _squares(distance: Mahalanobis, rows: ChoiceRows, others: ChoiceRows) -> Double:
    """Squared errors (n_others,) of a regression at rows that it has not learned from."""
    regression = distance.regression(rows)
    regression.fit(distance.choice)
    return ((regression.predict(distance.rotated(others.X)) - others.targets) ** 2).mean(axis=0)


class StackedFeatures:
    """A ridge regression on random Fourier features, in units of the columns of the bags.

    Parameters
    ----------
    searched : places of the training rows that the distance was searched on
    distance : Mahalanobis
        Over the columns that have a relevance.
    """

    def __init__(self, ridge_rows: RidgeRows, searched: Indices, distance: Mahalanobis) -> None:
        self.ridge_rows, self._distance, self._columns = ridge_rows, distance, np.flatnonzero(ridge_rows.relevances)
        self._searched, self._searched_rows = searched, ridge_rows.some(searched, self._columns)
        self._of_searched = distance.regression(self._searched_rows)  # with the kernel itself
        self._of_searched.fit(distance.choice)
        self.choice = Choice(ridge_rows.relevances, 0.0, distance.reg_lambda, distance.loss)  # no scale of relevances

    def predict_others(self, rows: Indices) -> tuple[Indices, Double]:
        """Places of rows that M was not searched on, and predictions of them, (n_outputs, n_places), by those it was.

        They tell what the regression on the features gains before it is learned.
        """
        places = np.flatnonzero(self.covers(rows))
        places = places[:: -(-len(places) // _COMPARED)]
        X = self.ridge_rows.X(rows[places], self._columns)
        return places, self._of_searched.predict(self._distance.rotated(X)) + self.ridge_rows.intercepts[:, None]

    def learn(self, n_landmarks: int, tol: float, max_iter: int) -> None:
        """Learn from all rows; landmarks, tol and max_iter are those of `solve_systems`."""
        n_rows, shuffled = len(self.ridge_rows.rows), self.ridge_rows.shuffled
        n_omegas = _MANY_OMEGAS if n_rows > _MANY_ROWS else _N_OMEGAS
        rng = np.random.default_rng(shuffled[:8])  # an order of rows that is drawn anew draws other omegas
        omegas = draw_omegas_by_amplitude(self._searched_rows.X, self._of_searched, self._distance, n_omegas, rng)
        rows = self.ridge_rows.some(np.arange(n_rows), self._columns)._replace(folds=self.ridge_rows.folds)
        self._learned = regress(rows, omegas, self._distance.reg_lambda, np.sort(shuffled[:n_landmarks]), tol, max_iter)

    def covers(self, rows: Indices) -> Mask:
        """Whether predictions of rows say how well it predicts: not of those that the matrix was searched on."""
        return ~np.isin(rows, self.ridge_rows.rows[self._searched])

    def predict(self, rows: Indices) -> Double:
        """Predictions of rows by regressions that have not learned from them, (n_outputs, n_rows)."""
        return self.ridge_rows.predictions(rows, self.ridge_rows.rows, self._learned.out_of_fold, self.part)

    def part(self, scaling: Scaling, factors: Double) -> FourierTerms:
        """The regression times a factor for each output, as a function of unscaled rows less their center."""
        omegas = np.zeros((len(self._learned.omegas), len(scaling.center)))
        omegas[:, self._columns] = self._learned.omegas
        return fourier_terms(omegas * scaling.inverse_scale, self._learned.amplitudes, factors)


def draw_omegas_by_amplitude(X: Double, regression: DenseRegression, distance: Mahalanobis, n_omegas: int,
                             rng: "np.random.Generator") -> Double:
    """Omegas (n_omegas, n_features) of the normal distribution of covariance M, more of those that matter.

    Of `_N_CANDIDATES` that are drawn from it as many are taken, without repetition, each with a chance in proportion to
    |sum_i a_i exp(i omega . x_i)|, its amplitude in a regression on rows X with the kernel itself.  So the features
    are not of this kernel: their spectral density is its density times the amplitude, nearly.  Half as many omegas
    then predict as well.
    """
    normal = rng.standard_normal((_N_CANDIDATES, len(distance.root)))
    omegas: Double = np.einsum("mk,jk->mj", normal, distance.root)
    squares = np.empty(len(omegas))
    for start in range(0, len(omegas), _IN_BLOCK):  # features of all at once would take far more memory than the rest
        features = FeatureMatrix(X, omegas[start : start + _IN_BLOCK], regression.rows.n_threads)
        cosines_and_sines = features.correlate(features.padded(regression.coefficients)).reshape(-1, _IN_BLOCK, 2)
        squares[start : start + _IN_BLOCK] = (cosines_and_sines**2).sum(axis=(0, 2))
    amplitudes = np.sqrt(squares) + np.finfo(np.float64).tiny
    return omegas[rng.choice(len(omegas), n_omegas, replace=False, p=amplitudes / amplitudes.sum())]


class FeatureRegression(NamedTuple):
    """A ridge regression on random Fourier features."""

    omegas: Double  # (n_omegas, n_features)
    amplitudes: Double  # (n_omegas, 2, n_outputs) of cosine and sine
    out_of_fold: Double  # (n_outputs, n_samples) predictions of rows by regressions without their folds


def regress(rows: ChoiceRows, omegas: Double, reg_lambda: float, landmarks: Indices, tol: float,
            max_iter: int) -> FeatureRegression:
    """The ridge regression of all rows, and those without each fold, by conjugate gradients.

    Parameters
    ----------
    rows : ChoiceRows
        With the fold of each.
    omegas : array of shape (n_omegas, n_features)
    landmarks : array of row indices, for the preconditioner
    tol, max_iter : float and int
        As of `solve_systems`.
    """
    assert rows.folds is not None
    matrix = FeatureMatrix(rows.X, omegas, rows.n_threads)
    solutions = solve_systems(matrix, systems_of_folds(rows.folds, reg_lambda), rows.targets, rows.weights, rows.folds,
                              landmarks, tol, max_iter, "random Fourier features")
    sums = matrix.correlate(matrix.padded(solutions.coefficients[-1]))  # (n_outputs, 2 n_omegas)
    amplitudes = (sums / math.sqrt(len(omegas))).reshape(len(sums), -1, 2).transpose(1, 2, 0)
    return FeatureRegression(omegas, amplitudes, solutions.out_of_fold(rows.folds))


class FeatureMatrix(TiledColumns):
    """The kernels of rows with each other, as means over some omegas of cos(omega . (x - z)).

    Its columns are the random Fourier features: cosine and sine of one omega . x after the other, divided by the root
    of the number of omegas.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    omegas : array of shape (n_omegas, n_features)
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
        features, dtype = self._columns.reshape(len(self._columns), -1), self._columns.dtype
        found = aligned((len(indices), features.shape[1]), dtype)
        found[:] = 0
        scratch = np.empty((self._n_threads, sparse.system_scratch(_SIDE)), dtype)
        for first in range(0, len(features), _SIDE):
            some = features[first : first + _SIDE]
            left = np.ascontiguousarray(some[:, indices].T)
            for start in range(0, features.shape[1], _SIDE):
                right = some[:, start : start + _SIDE]
                product = np.empty((len(left), right.shape[1]), dtype)
                sparse.multiply(left, in_panels(right, dtype), product, scratch, self._n_threads)
                found[:, start : start + _SIDE] += product
        return found.reshape(len(left), *self._columns.shape[1:])
