"""Frozen sums of cosines and of symmetric tables."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._data.threads import check_n_threads
from ._kernels import packing, term_scoring
from .errors import InvalidInputError
from .expansion import Expansion, FourierExpansion

Double = NDArray[np.float64]
Real = NDArray[Any]  # float32 or float64

_MAX_DEPTH = 12


class _PackedTables(NamedTuple):
    """Tables as kernels read them."""

    columns: NDArray[np.int32]  # (n_tables, depth)
    thresholds: Real  # (n_tables, depth)
    values: Real  # (n_tables, 2^depth, n_outputs)


class TermExpansion(Expansion):
    """H(x) = intercept + slopes' (x - center) + sum of cosines + sum over tables t of table_values[t, cell of x in t].

    The cosines are those of a `FourierExpansion`.  A table compares x with a threshold at each depth l: bit l of the
    cell is 1 where x[table_columns[t, l]] > thresholds[t, l].  The arrays are kept as read-only float64 copies.  An
    expansion is immutable, and many threads may score it at once.

    Parameters
    ----------
    omegas : array of shape (n_cosines, n_features), radians per unit of the feature
    phases : array of shape (n_cosines,), radians
    amplitudes : array of shape (n_cosines, n_outputs)
    intercept : array of shape (n_outputs,)
    center : array of shape (n_features,), feature units
    slopes : array of shape (n_features, n_outputs), per unit of the feature
    table_columns : array of shape (n_tables, depth), whole numbers
    thresholds : array of shape (n_tables, depth), feature units
    table_values : array of shape (n_tables, 2^depth * n_outputs): those of a cell stand together

    Attributes
    ----------
    n_terms, n_features, n_outputs : int
        Numbers of cosines and tables together, of columns of a row, and of scores of a row.

    Raises
    ------
    InvalidInputError
        If an array is not finite, the shapes do not agree, or a table reads a column that is not there.

    Examples
    --------
    >>> from rffkern import TermExpansion
    >>> step = TermExpansion([[1.0]], [0.0], [[0.0]], [1.0], [0.0], [[0.0]], [[0]], [[0.5]], [[2.0, 3.0]])
    >>> step.score([[0.0], [1.0]])
    array([[3.],
           [4.]])
    """

    kind = "term_expansion"
    array_names = ("omegas", "phases", "amplitudes", "intercept", "center", "slopes", "table_columns", "thresholds",
                   "table_values")
    _dimensions = (2, 1, 2, 1, 1, 2, 2, 2, 2)

    omegas: Double
    phases: Double
    amplitudes: Double
    center: Double
    slopes: Double
    table_columns: Double
    thresholds: Double
    table_values: Double
    _cosines: FourierExpansion
    _has_slopes: bool

    def __init__(self, omegas: ArrayLike, phases: ArrayLike, amplitudes: ArrayLike, intercept: ArrayLike,
                 center: ArrayLike, slopes: ArrayLike, table_columns: ArrayLike, thresholds: ArrayLike,
                 table_values: ArrayLike) -> None:
        super().__init__(omegas, phases, amplitudes, intercept, center, slopes, table_columns, thresholds,
                         table_values)
        n_tables, depth = self.table_columns.shape
        columns = self.table_columns
        if depth > _MAX_DEPTH:
            raise InvalidInputError(f"table_columns must have at most {_MAX_DEPTH} columns, got {depth}")
        if columns.size and not ((columns == np.floor(columns)) & (columns >= 0) & (columns < self.n_features)).all():
            raise InvalidInputError(f"table_columns must hold indices of {self.n_features} features")
        cosines = FourierExpansion(self.omegas, self.phases, self.amplitudes, self.intercept, self.center)
        vars(self).update(n_terms=len(self.omegas) + n_tables, _cosines=cosines, _has_slopes=bool(self.slopes.any()))

    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        n_cosines, n_outputs, (n_tables, depth) = len(self.omegas), self.n_outputs, self.table_columns.shape
        return ((n_cosines, self.n_features), (n_cosines,), (n_cosines, n_outputs), (n_outputs,), (self.n_features,),
                (self.n_features, n_outputs), (n_tables, depth), (n_tables, depth), (n_tables, n_outputs << min(depth, _MAX_DEPTH)))

    def bound(self) -> Double:
        """What no score exceeds in magnitude, shape (n_outputs,)."""
        n_tables, size = self.table_values.shape  # where there is none, its cells must be counted here
        cells = np.abs(self.table_values).reshape(n_tables, size // self.n_outputs, self.n_outputs)
        return super().bound() + cells.max(axis=1, initial=0.0).sum(axis=0)

    def score_checked(self, X: Real, n_threads: int | None = None) -> Double:
        """`score` for rows that `check_array` has passed and whose number of columns is right."""
        return self._with_tables(self._cosines.score_checked(X, n_threads), X.reshape(*X.shape, 1), n_threads)

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None = None) -> Double:
        """`score_checked` for rows in tiles."""
        return self._with_tables(self._cosines.score_tiles(tiles, n_samples, n_threads), tiles, n_threads)

    def _with_tables(self, scores: Double, rows: Real, n_threads: int | None) -> Double:
        """The scores of the cosines with those of the tables added; rows one by one or in tiles."""
        if self._has_slopes:
            term_scoring.score_lines(rows, self.center, self.slopes, scores)
        if len(self.table_columns):
            tables = self._packed.get(rows.dtype) or self._pack(rows.dtype)
            n_threads = check_n_threads(n_threads, len(scores) * tables.columns.size)
            size = term_scoring.scratch_size(self.n_features, self.n_outputs, rows.itemsize)
            scratch = np.empty((n_threads, size), rows.dtype)
            term_scoring.score_tables(rows, tables.columns, tables.thresholds, tables.values, scores, scratch, n_threads)
        return scores

    def _can_be_single(self) -> bool:
        """Whether single precision can hold all numbers."""
        values = self.table_values.reshape(-1)
        return self._cosines.fits_single() and packing.find_unbounded(values, np.finfo(np.float32).max) < 0

    def _pack(self, dtype: np.dtype[Any]) -> _PackedTables:
        """Make and keep the tables as kernels read them; thresholds round down, so that the same rows are above."""
        with np.errstate(over="ignore"):
            thresholds = self.thresholds.astype(dtype)
        above = thresholds > self.thresholds
        thresholds[above] = np.nextafter(thresholds[above], np.array(-np.inf, dtype=dtype))
        shape = len(self.table_columns), 1 << self.table_columns.shape[1], self.n_outputs
        packed = self._packed[dtype] = _PackedTables(
            self.table_columns.astype(np.int32), thresholds, self.table_values.reshape(shape).astype(dtype))
        return packed
