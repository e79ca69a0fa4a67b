"""The transforms of columns as compiled code has them: those of numbers at once for whole arrays, all of them for C."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .._native import scoring
from .._native.array_types import Double, Indices, NDArray, Real
from .._rows.threads import check_n_threads
from .._rows.validation import LARGEST_FLOAT32, LARGEST_VALUE
from .cells import EMPTY, NUMERIC
from .fitted_column import NUMERIC_FORMS, FittedColumn
from .text import TextForm
from .transforms import DifferenceForm, Entry, Form

_NONE = np.empty(0)

# Largest magnitudes that are accepted.
_LIMITS = {np.dtype(np.float64): LARGEST_VALUE, np.dtype(np.float32): LARGEST_FLOAT32}

# What a form of a number costs, in multiply-adds.
_WORK = 8


class Values(NamedTuple):
    """Where the values of a row are: those of raw columns, then scores of free text, then differences of dates."""

    sources: list[int]  # of each output the value that it is of
    n_values: int
    texts: Sequence[tuple[int, TextForm, int]] = ()  # (column, form, the value that is its first score)
    differences: Sequence[tuple[int, int, int]] = ()  # (value, column, the one that is subtracted)

    @classmethod
    def of(cls, columns: Sequence[FittedColumn]) -> Self:
        """Those of fitted columns."""
        texts, n_values = [], len(columns)
        for j, column in enumerate(columns):
            if column.text is not None:
                texts.append((j, column.text, n_values))
                n_values += len(column.text.outputs)
        differences = [(value, j, other) for value, (j, other) in enumerate(
            ((j, form.other) for j, column in enumerate(columns) for form in column.forms
             if isinstance(form, DifferenceForm)), n_values)]
        scores, apart = itertools.count(len(columns)), itertools.count(n_values)
        sources = [next(scores) if isinstance(form, TextForm) else next(apart) if isinstance(form, DifferenceForm)
                   else j for j, column in enumerate(columns) for form in column.forms for _ in form.outputs]
        return cls(sources, n_values + len(differences), texts, differences)


class FormArrays(NamedTuple):
    """Forms of columns as compiled code reads them, whose values are numbers, seconds or indices of levels."""

    starts: Indices  # (n_columns + 1,) the first output of each column, or value
    kinds: Indices  # (n_outputs,) those of forms.h
    numbers: NDArray[np.float64]  # (n_outputs, 6) what a missing value becomes, divisor, a, b, c, d
    n_knots: Indices  # (n_outputs,)
    knots: NDArray[np.float64]  # of all ranks and tables, one after the other
    heights: NDArray[np.float64]

    @classmethod
    def of(cls, columns: Sequence[FittedColumn], values: Values | None = None) -> Self:
        """Those of fitted columns, in the order of their outputs, or of the values that these are of."""
        outputs = [each for column in columns for each in outputs_of(column)]
        starts = np.cumsum([0, *(len(column.outputs) for column in columns)])
        if values is not None:
            starts = np.searchsorted(np.sort(values.sources), np.arange(values.n_values + 1))
            outputs = [outputs[k] for k in np.argsort(values.sources, kind="stable").tolist()]
        numbers = np.array([(each.entry[1], each.divisor, *each.entry[2:]) for each in outputs])
        return cls(
            starts.astype(np.intp), np.array([scoring.KINDS[each.entry[0]] for each in outputs], np.intp),
            numbers.reshape(-1, 6), np.array([len(each.knots) for each in outputs], np.intp),
            np.concatenate([_NONE, *(each.knots for each in outputs)]),
            np.concatenate([_NONE, *(each.heights for each in outputs)]))


class CompiledMap:
    """A map of numeric columns in compiled code; the result has the same bits as that of the forms.

    Immutable, and made anew when it is unpickled.
    """

    def __init__(self, columns: tuple[FittedColumn, ...]) -> None:
        self._columns = columns
        # The kernel does not impute missing values from other columns.
        self._refused = scoring.UNBOUNDED | (scoring.MISSING if any(each.imputations for each in columns) else 0)
        self._kernel = scoring.ColumnForms(*FormArrays.of(columns))

    @classmethod
    def of(cls, columns: tuple[FittedColumn, ...]) -> Self | None:
        """The map of fitted columns; None if some take no numbers."""
        return None if any(each.forms and each.kind != NUMERIC for each in columns) else cls(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._columns,)

    def accepts(self, X: Any) -> bool:
        """Whether X is an array that it can map; infinite values are found by `map_into`."""
        return (type(X) is np.ndarray and X.dtype in _LIMITS and X.ndim == 2 and X.shape[1] == self._kernel.n_columns
                and len(X) > 0)

    def map_into(self, X: Real, out: Real, n_threads: int | None = None) -> bool:
        """Map rows into an array of their precision, as `map_rows` describes.

        False if values are infinite, too large, or missing and imputed from other columns.
        """
        n_outputs = self._kernel.n_outputs
        n_threads = check_n_threads(n_threads, len(X) * (X.shape[1] + n_outputs) * _WORK)
        scratch = np.empty((n_threads, scoring.scratch_size(*X.shape)))
        found = scoring.map_rows(self._kernel, X, _LIMITS[X.dtype], out, scratch, n_threads)
        return not found & self._refused

    def map(self, X: Any, n_threads: int | None = None) -> Real | None:
        """Mapped rows in the precision of X; None for a table that it cannot map."""
        if not self.accepts(X):
            return None
        out = np.empty((len(X), self._kernel.n_outputs), X.dtype)
        return out if self.map_into(X, out.reshape(*out.shape, 1), n_threads) else None


class FormOutput(NamedTuple):
    """One output of a form, as compiled code has it."""

    form: Form
    entry: Entry
    divisor: float
    knots: NDArray[np.float64]
    heights: NDArray[np.float64]


def outputs_of(column: FittedColumn) -> list[FormOutput]:
    """The outputs of a column; where all values count as missing, they are constants."""
    n_numeric = sum(form.name in NUMERIC_FORMS for form in column.forms)
    found = [FormOutput(form, entry, math.sqrt(n_numeric) if form.name in NUMERIC_FORMS else 1.0, knots, heights)
             for form in column.forms for entry, (knots, heights) in zip(
                 form.entries, form.tables or [(_NONE, _NONE)] * len(form.entries), strict=True)]
    if column.kind != EMPTY:
        return found
    return [each._replace(entry=("within", each.entry[1], -math.inf, math.inf, each.entry[1], each.entry[1]))
            for each in found]


def mapped_values(columns: Sequence[FittedColumn], values: Sequence[Double]) -> Double:
    """Outputs, (n_outputs, n_rows), for what `FittedColumn.values_of` gives of each column; neutral where missing.

    The difference of two dates is neutral where only one column is given.
    """
    return np.ascontiguousarray(compiled_function(columns)(values))  # whose sums have an order


def compiled_function(columns: Sequence[FittedColumn]) -> Callable[[Sequence[Double]], Double]:
    """The same as a function of values, which several blocks of rows share."""
    layout = Values.of(columns)
    kernel = scoring.ColumnForms(*FormArrays.of(columns, layout))
    places = np.argsort(np.argsort(layout.sources, kind="stable"))  # where the kernel has each output
    in_order = bool((np.diff(layout.sources) >= 0).all())

    def mapped(values: Sequence[Double]) -> Double:
        rows = np.empty((values[0].shape[1], layout.n_values))
        for j, each in enumerate(values):
            rows[:, j] = each[0]
        for j, form, first in layout.texts:
            rows[:, first : first + len(form.outputs)] = values[j][1 : 1 + len(form.outputs)].T
        for value, j, other in layout.differences:
            rows[:, value] = rows[:, j] - rows[:, other] if len(columns) > 1 else np.nan
        out = np.empty((len(rows), len(places), 1))
        scoring.map_rows(kernel, rows, np.inf, out, np.empty((1, scoring.scratch_size(*rows.shape))), 1)
        return out[:, :, 0].T if in_order else out[:, places, 0].T

    return mapped
