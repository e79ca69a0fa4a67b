"""Frozen sums of cosines and of symmetric tables."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._native import boosting
from .._native.array_types import ArrayLike, NDArray
from .._rows.threads import check_n_threads
from ..errors import InvalidInputError
from .expansion import Expansion, FourierExpansion
from .table_layout import UNREACHED, TableLayout, pack_tables

Double = NDArray[np.float64]
Real = NDArray[Any]  # float32 or float64

_MAX_DEPTH = boosting.MAX_SCORED_DEPTH

_CLIPPED_ROWS = 1024  # that are clipped together

# Tables of which the largest value lies between these powers of two are kept in single precision as they are.
_LEAST_EXPONENT, _LARGEST_EXPONENT = -60, 100


class _PackedTables(NamedTuple):
    """Tables as kernels read them, and the unit of their values."""

    tables: boosting.Tables
    unit: float


class TermExpansion(Expansion):
    """H(x) = intercept + slopes' (x - center) + sum of cosines + sum over tables of the value of the cell of x.

    Each column of x is first clipped to [lower, upper], the range of the training rows and what it is extrapolated by,
    so that no row, however far out, is scored outside of what was learned.  Bounds are rounded to the precision of the
    rows.  The cosines are those of a `FourierExpansion`.  A table compares x with a threshold at each depth l: whether
    x[table_columns[t, l]] > thresholds[t, l].  Where it asks of a column k times, x is above 0 to k of the thresholds:
    that is a digit of its cell, 0 to k.  The digits of the columns, in the order in which the table first asks of them,
    the first one counting least, are the number of the cell.  A threshold of 1.7976931348623157e308, the largest float,
    asks nothing.

    The arrays are kept as read-only float64 copies, values of tables rounded to single precision, once, and in the
    units of the largest of them where they are beyond 1e30 or all below 1e-18.  An expansion is immutable, and many
    threads may score it at once.

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
    table_values : array of shape (n_cells, n_outputs): those of the cells of the first table, then of the second, ...
    lower, upper : arrays of shape (n_features,) or None, feature units
        None, the default, for no bounds: the largest floats.

    Attributes
    ----------
    n_terms, n_features, n_outputs : int
        Numbers of cosines and tables together, of columns of a row, and of scores of a row.
    table_starts : array of shape (n_tables + 1,)
        The cells of table t are those from table_starts[t] to table_starts[t + 1], exclusive.

    Raises
    ------
    InvalidInputError
        If an array is not finite, the shapes do not agree, a table reads a column that is not there, or a lower bound
        is above the upper one.

    Examples
    --------
    >>> from rffkern import TermExpansion
    >>> step = TermExpansion([[1.0]], [0.0], [[0.0]], [1.0], [0.0], [[0.0]], [[0]], [[0.5]], [[2.0], [3.0]])
    >>> step.score([[0.0], [1.0]])
    array([[3.],
           [4.]])
    """

    kind = "term_expansion"
    array_names = ("omegas", "phases", "amplitudes", "intercept", "center", "slopes", "table_columns", "thresholds",
                   "table_values", "lower", "upper")
    _dimensions = (2, 1, 2, 1, 1, 2, 2, 2, 2, 1, 1)

    omegas: Double
    phases: Double
    amplitudes: Double
    center: Double
    slopes: Double
    table_columns: Double
    thresholds: Double
    table_values: Real
    lower: Double
    upper: Double
    table_starts: NDArray[np.intp]
    _cosines: FourierExpansion
    _layout: TableLayout
    _has_slopes: bool

    def __init__(self, omegas: ArrayLike, phases: ArrayLike, amplitudes: ArrayLike, intercept: ArrayLike,
                 center: ArrayLike, slopes: ArrayLike, table_columns: ArrayLike, thresholds: ArrayLike,
                 table_values: ArrayLike, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> None:
        lower, upper = (np.full(np.shape(center), bound) if given is None else given
                        for given, bound in ((lower, -UNREACHED), (upper, UNREACHED)))
        super().__init__(omegas, phases, amplitudes, intercept, center, slopes, table_columns, thresholds,
                         table_values, lower, upper)
        if not (self.lower <= self.upper).all():
            raise InvalidInputError("lower must not be above upper, got "
                                    f"{int((self.lower > self.upper).sum())} columns where it is")
        cosines = FourierExpansion(self.omegas, self.phases, self.amplitudes, self.intercept, self.center)
        vars(self).update(
            n_terms=len(self.omegas) + len(self.table_columns), _cosines=cosines, _has_slopes=bool(self.slopes.any()),
            table_values=_rounded(self.table_values))

    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        n_cosines, n_outputs, (n_tables, depth) = len(self.omegas), self.n_outputs, self.table_columns.shape
        columns = self.table_columns
        if depth > _MAX_DEPTH or (n_tables and not depth):
            raise InvalidInputError(f"table_columns must have 1 to {_MAX_DEPTH} columns, got {depth}")
        if columns.size and not ((columns == np.floor(columns)) & (columns >= 0) & (columns < self.n_features)).all():
            raise InvalidInputError(f"table_columns must hold indices of {self.n_features} features")
        n_cells = -1
        if self.thresholds.shape == columns.shape:
            layout = TableLayout.of(columns, self.thresholds)
            vars(self).update(_layout=layout, table_starts=layout.starts)
            n_cells = int(layout.starts[-1])
        return ((n_cosines, self.n_features), (n_cosines,), (n_cosines, n_outputs), (n_outputs,), (self.n_features,),
                (self.n_features, n_outputs), (n_tables, depth), (n_tables, depth), (n_cells, n_outputs),
                (self.n_features,), (self.n_features,))

    def bound(self) -> Double:
        """What no score exceeds in magnitude, shape (n_outputs,)."""
        lines = boosting.LARGEST_SLOPE_PART * (self.slopes != 0).sum(axis=0)
        largest = np.maximum.reduceat(np.abs(self.table_values), self.table_starts[:-1], axis=0)
        return super().bound() + lines + largest.sum(axis=0, dtype=np.float64)

    def cells_of(self, tables: NDArray[np.intp]) -> NDArray[np.intp]:
        """The cells of some tables, one after the other."""
        return self._layout.of_tables(tables)

    def _clip(self, rows: Real, n_threads: int | None = None) -> Real:
        """Rows (n_samples, n_features), or tiles of rows, with each column clipped to its bounds.

        The same array where all are within them.
        """
        if self._are_within(rows, n_threads):
            return rows
        with np.errstate(over="ignore"):  # no bound is infinite in single precision
            lower, upper = (bound.astype(rows.dtype) for bound in (self.lower, self.upper))
        return rows.clip(lower, upper) if rows.ndim == 2 else rows.clip(lower[:, None], upper[:, None])

    def score_checked(self, X: Real, n_threads: int | None = None) -> Double:
        """`score` for rows that `check_array` has passed and whose number of columns is right."""
        return self._score_clipped(X, self._score_within, n_threads)

    def _score_clipped(self, X: Real, score: Callable[[Real, int | None], Double], n_threads: int | None) -> Double:
        """What a function makes of clipped rows: of all at once if they are within the bounds, else piece by piece, so
        that no large array is copied.
        """
        if self._are_within(X, n_threads):
            return score(X, n_threads)
        out = np.empty((len(X), self.n_outputs))
        for start in range(0, len(X), _CLIPPED_ROWS):
            rows = slice(start, start + _CLIPPED_ROWS)
            out[rows] = score(self._clip(X[rows], n_threads), n_threads)
        return out

    def _score_within(self, X: Real, n_threads: int | None = None) -> Double:
        """Scores of rows that are within the bounds."""
        return self._with_tables(self._cosines.score_checked(X, n_threads), X.reshape(*X.shape, 1), n_threads)

    def _are_within(self, rows: Real, n_threads: int | None) -> bool:
        laid_out = rows.reshape(*rows.shape, 1) if rows.ndim == 2 else rows
        n_threads = check_n_threads(n_threads, rows.size)
        return not rows.size or boosting.is_within(laid_out, self.lower, self.upper, n_threads)

    def score_plain(self, X: Any, n_threads: int | None = None) -> Double | None:
        """`score` for an array of few rows, once such have been scored, where all are within the bounds."""
        scores = self._cosines.score_plain(X)
        if scores is None or not self._are_within(X, 1):
            return None
        return self._with_tables(scores, X.reshape(*X.shape, 1), n_threads)

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None = None, largest: float = np.inf) -> Double:
        """`score_checked` for rows in tiles, all numbers up to `largest`."""
        tiles = self._clip(tiles, n_threads)
        return self._with_tables(self._cosines.score_tiles(tiles, n_samples, n_threads, largest), tiles, n_threads)

    def _with_tables(self, scores: Double, rows: Real, n_threads: int | None) -> Double:
        """The scores of the cosines with those of the tables added; rows one by one or in tiles."""
        if self._has_slopes:
            boosting.score_lines(rows, self.center, self.slopes, scores)
        if len(self.table_columns):
            packed, unit = self._packed.get(rows.dtype) or self._pack()
            n_threads = check_n_threads(n_threads, len(scores) * self.table_columns.size)
            sums = scores if unit == 1 else np.zeros_like(scores)
            scratch = np.empty((n_threads, packed.scratch_size(len(scores))), np.int8)
            boosting.score_tables(rows, packed, sums, scratch, n_threads)
            if unit != 1:
                scores += unit * sums
        return scores

    def _can_be_single(self) -> bool:
        """Whether single precision can hold all numbers; tables compare rows of any precision exactly."""
        return self._cosines.fits_single()

    def _pack(self) -> _PackedTables:
        """Make and keep the tables as kernels read them."""
        values, unit = self._values_in_units()
        packed = _PackedTables(pack_tables(self.table_columns, self.thresholds, self._layout, values), unit)
        for dtype in (np.float32, np.float64):
            self._packed[np.dtype(dtype)] = packed
        return packed

    def _values_in_units(self) -> tuple[Real, float]:
        """Values of tables in single precision, and their unit."""
        unit = _unit_of(self.table_values)
        return (self.table_values if unit == 1 else self.table_values / unit).astype(np.float32, copy=False), unit


def _unit_of(values: Real) -> float:
    """1, or a power of two near the largest value where single precision would not hold the values."""
    exponent = int(np.frexp(np.abs(values).max(initial=0))[1])
    return 1.0 if _LEAST_EXPONENT <= exponent <= _LARGEST_EXPONENT else 2.0 ** (exponent - 1)


def _rounded(values: Double) -> Real:
    """Values of single precision, times a power of two in double precision where they are very large or small."""
    unit = _unit_of(values)
    rounded: Real = (values / unit).astype(np.float32)
    rounded = rounded if unit == 1 else unit * rounded.astype(np.float64)
    rounded.flags.writeable = False
    return rounded
