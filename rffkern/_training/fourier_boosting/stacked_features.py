"""Kernel ridge regression on random Fourier features, stacked in place of that with length scales where it is better.

Whether it is worth learning is tried on few rows: a matrix of gradients must have a lower leave-one-out error than
length scales, and a lower error on other rows.  The matrix is then searched on half of the rows at most, and the other
half says what the regression predicts: rows that have a part in the matrix are not left out by leaving out their fold.
"""

import math

import numpy as np

from ..._model.parts import FourierTerms
from ..._native.array_types import Double, Indices, Mask
from ..._rows.scaling import Scaling
from ..._rows.weights import row_products
from ..kernel_ridge.length_scales import Choice, ChoiceRows
from ..kernel_ridge.random_features import Mahalanobis, draw_omegas_by_amplitude, regress, search, with_scale
from ..kernel_ridge.regions import MOST_ROWS
from .kernel_trial import MOST_COLUMNS, OF_REGRESSION, RidgeRows

# Rows that a matrix is tried on, fewer where that would take a larger share of the operations of the bags, and rows
# that it is then searched on; rows for each column, and the fewest of all; regressions that a trial learns, about.
_TRIED, _SHARE_OF_WORK, _SEARCHED, _ROWS_PER_COLUMN, _FEWEST, _N_REGRESSIONS = 600, 0.15, 1000, 2, 40, 14

# Other rows that say what the regression of those that it is searched on gains, about.
_COMPARED = 2000

# Shares by which it must lower the leave-one-out error and that of other rows, and standard errors of the latter.
_LEAST_FALL, _LEAST_GAIN, _STANDARD_ERRORS = 0.1, 0.05, 2.0

# Omegas, and those of more rows than the last number.
_N_OMEGAS, _MANY_OMEGAS, _MANY_ROWS = 1024, 2048, 4000


def search_matrix(ridge_rows: RidgeRows, start: Choice, work: float) -> Mahalanobis | None:
    """The matrix of a Mahalanobis distance, over the columns that have a relevance; None where length scales do.

    Labels of more than two classes have none, whose regressions on features take too long, nor have rows of groups or
    in order of time, of which bags hold out whole groups or the last.

    Parameters
    ----------
    ridge_rows : RidgeRows
    start : Choice
        The length scales and lambda that the search begins with.
    work : float
        Operations that the bags have taken.
    """
    columns = np.flatnonzero(ridge_rows.relevances)
    searched, judging = _halves(ridge_rows)
    n_tried = min(_TRIED, len(searched), _rows_for(_SHARE_OF_WORK * work / _N_REGRESSIONS, len(columns)))
    are_labels, n_outputs = ridge_rows.are_labels, len(ridge_rows.targets)
    if ((are_labels and n_outputs > 1) or ridge_rows.keeps_folds or len(columns) > MOST_COLUMNS
            or len(ridge_rows.rows) > MOST_ROWS or n_tried < max(_FEWEST, _ROWS_PER_COLUMN * len(columns))):
        return None
    few, others = (_some(ridge_rows, places, columns) for places in (searched[:n_tried], judging[:_TRIED]))
    diagonal = with_scale(few, Mahalanobis(np.diag(start.inverse[columns]), start.reg_lambda), are_labels)
    found = search(few, diagonal, are_labels)
    if not found.loss < (1 - _LEAST_FALL) * diagonal.loss:  # nor where both are 0, or inf
        return None
    before, after = (_squares(each, few, others) for each in (diagonal, found))
    gains, weights = before - after, others.weights / others.weights.sum()
    gain = float(row_products(gains, weights))
    error = math.sqrt(float((weights**2 * (gains - gain) ** 2).sum()))
    if not gain >= max(_LEAST_GAIN * float(row_products(before, weights)), _STANDARD_ERRORS * error):
        return None
    more = _some(ridge_rows, searched, columns)
    return search(more, with_scale(more, found, are_labels), are_labels)


def predict_others(ridge_rows: RidgeRows, found: Mahalanobis, rows: Indices) -> tuple[Indices, Double]:
    """Places of some of the rows, and predictions of them, (n_outputs, n_places), by those that the matrix is of."""
    columns, (searched, _) = np.flatnonzero(ridge_rows.relevances), _halves(ridge_rows)
    places = np.flatnonzero(~np.isin(rows, ridge_rows.rows[searched]))
    places = places[:: -(-len(places) // _COMPARED)]
    regression = found.regression(_some(ridge_rows, searched, columns))
    regression.fit(found.choice)
    X = ridge_rows.columns.values[np.ix_(columns, rows[places])].T.astype(np.float64, order="C")
    return places, regression.predict(found.rotated(X)) + ridge_rows.intercepts[:, None]


def _halves(ridge_rows: RidgeRows) -> tuple[Indices, Indices]:
    """Places of rows that a matrix is searched on, and of others."""
    places = ridge_rows.searchable()
    n_searched = min(_SEARCHED, len(places) // 2)
    return places[:n_searched], places[n_searched:]


def _rows_for(operations: float, n_columns: int) -> int:
    """Rows of a regression that takes so many operations, about."""
    n_rows = _TRIED
    while n_rows > 1 and n_rows**2 * (2.0 * n_columns + 16 + n_rows) + OF_REGRESSION > operations:
        n_rows = n_rows * 9 // 10
    return n_rows


def _some(ridge_rows: RidgeRows, places: Indices, columns: Indices) -> ChoiceRows:
    some = ridge_rows.some(places)
    return some._replace(X=np.ascontiguousarray(some.X[:, columns]))


def _squares(found: Mahalanobis, rows: ChoiceRows, others: ChoiceRows) -> Double:
    """Squared errors (n_others,) of a regression at rows that it has not learned from."""
    regression = found.regression(rows)
    regression.fit(found.choice)
    squares: Double = ((regression.predict(found.rotated(others.X)) - others.targets) ** 2).mean(axis=0)
    return squares


class StackedFeatures:
    """A ridge regression on random Fourier features, in units of the columns of the bags.

    Parameters
    ----------
    ridge_rows : RidgeRows
    found : Mahalanobis
        Over the columns that have a relevance.
    n_landmarks, tol, max_iter : as of `solve_systems`
    """

    def __init__(self, ridge_rows: RidgeRows, found: Mahalanobis, n_landmarks: int, tol: float, max_iter: int) -> None:
        self._rows, self._columns, n_rows = ridge_rows, np.flatnonzero(ridge_rows.relevances), len(ridge_rows.rows)
        self._searched, _ = _halves(ridge_rows)
        some = _some(ridge_rows, self._searched, self._columns)
        # An order of rows that is drawn anew draws other omegas.
        omegas = draw_omegas_by_amplitude(some, found, _MANY_OMEGAS if n_rows > _MANY_ROWS else _N_OMEGAS,
                             np.random.default_rng(ridge_rows.shuffled[:8]))
        rows = _some(ridge_rows, np.arange(n_rows), self._columns)._replace(folds=ridge_rows.folds)
        self._regression = regress(rows, omegas, found.reg_lambda, ridge_rows.n_folds,
                                   np.sort(ridge_rows.shuffled[:n_landmarks]), tol, max_iter)
        self.choice = Choice(ridge_rows.relevances, 0.0, found.reg_lambda, found.loss)  # no scale of relevances

    def covers(self, rows: Indices) -> Mask:
        """Whether predictions of rows say how well it predicts: not of those that the matrix was searched on."""
        return ~np.isin(rows, self._rows.rows[self._searched])

    def predict(self, rows: Indices) -> Double:
        """Predictions of rows by regressions that have not learned from them, (n_outputs, n_rows)."""
        return self._rows.predictions(rows, self._rows.rows, self._regression.out_of_fold, self.part)

    def part(self, scaling: Scaling, factors: Double) -> FourierTerms:
        """The regression times a factor for each output, as a function of unscaled rows less their center."""
        omegas = np.zeros((len(self._regression.omegas), len(scaling.center)))
        omegas[:, self._columns] = self._regression.omegas
        return self._regression._replace(omegas=omegas).terms(scaling, factors)
