"""The transforms of columns as compiled code has them: those of numbers at once for whole arrays, all of them for C."""

import itertools
import math
from typing import Any, NamedTuple, Self

import numpy as np

from .._native import unfused
from .._native.array_types import NDArray
from .._rows.threads import check_n_threads
from .._rows.validation import LARGEST_FLOAT32, LARGEST_VALUE
from .cells import EMPTY, NUMERIC
from .fitted_map import NUMERIC_FORMS, FittedColumn
from .text import TextForm
from .transforms import (
    BinsForm,
    BoundedForm,
    DifferenceForm,
    Form,
    LevelsForm,
    MissingForm,
    PartForm,
    RankForm,
    RawForm,
    StandardForm,
    TargetForm,
)

Real = NDArray[Any]  # float32 or float64
# Kind, what a missing value becomes, and a, b, c, d of forms.h; of a rank and a table c is their largest magnitude.
Entry = tuple[str, float, float, float, float, float]

# Largest magnitudes that are accepted.
_LIMITS = {np.dtype(np.float64): LARGEST_VALUE, np.dtype(np.float32): LARGEST_FLOAT32}

# What a form of a number costs, in multiply-adds.
_WORK = 8


class Values(NamedTuple):
    """The values of a row: those of raw columns, then scores of free text, then differences of dates."""

    sources: list[int]  # of each output the value that it is of
    texts: tuple[tuple[int, TextForm], ...]  # (column, form)
    differences: tuple[tuple[int, int], ...]  # (column, the one that is subtracted)

    @classmethod
    def of(cls, columns: tuple[FittedColumn, ...]) -> Self:
        """Those of fitted columns."""
        texts = tuple((j, column.text) for j, column in enumerate(columns) if column.text is not None)
        differences = tuple((j, form.other) for j, column in enumerate(columns) for form in column.forms
                            if isinstance(form, DifferenceForm))
        scores = itertools.count(len(columns))
        apart = itertools.count(len(columns) + sum(len(form.outputs) for _, form in texts))
        sources = [next(scores) if isinstance(form, TextForm) else next(apart) if isinstance(form, DifferenceForm)
                   else j for j, column in enumerate(columns) for form in column.forms for _ in form.outputs]
        return cls(sources, texts, differences)


class FormArrays(NamedTuple):
    """Forms of columns as compiled code reads them, whose values are numbers, seconds or indices of levels."""

    starts: NDArray[np.intp]  # (n_columns + 1,) the first output of each column
    kinds: NDArray[np.intp]  # (n_outputs,) those of forms.h
    numbers: NDArray[np.float64]  # (n_outputs, 6) what a missing value becomes, divisor, a, b, c, d
    n_knots: NDArray[np.intp]  # (n_outputs,)
    knots: NDArray[np.float64]  # of all ranks and tables, one after the other
    heights: NDArray[np.float64]

    @classmethod
    def of(cls, columns: tuple[FittedColumn, ...]) -> Self:
        """Those of fitted columns."""
        entries = [each for column in columns for each in entries_of(column)]
        numbers = np.array([(entry[1], divisor, *entry[2:]) for _, entry, divisor in entries])
        tables = [table for column in columns for form in column.forms for table in tables_of(form)]
        return cls(
            np.cumsum([0, *(len(column.outputs) for column in columns)]).astype(np.intp),
            np.array([unfused.KINDS[entry[0]] for _, entry, _ in entries], np.intp), numbers.reshape(-1, 6),
            np.array([len(knots) for knots, _ in tables], np.intp),
            np.concatenate([np.empty(0), *(knots for knots, _ in tables)]),
            np.concatenate([np.empty(0), *(heights for _, heights in tables)]))


class CompiledMap:
    """A map of numeric columns in compiled code; the result has the same bits as that of the forms.

    Immutable, and made anew when it is unpickled.
    """

    def __init__(self, columns: tuple[FittedColumn, ...]) -> None:
        self._columns = columns
        # The kernel does not impute missing values from other columns.
        self._refused = unfused.UNBOUNDED | (unfused.MISSING if any(each.imputations for each in columns) else 0)
        self._kernel = unfused.ColumnForms(*FormArrays.of(columns))

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
        scratch = np.empty((n_threads, unfused.scratch_size(*X.shape)))
        found = unfused.map_rows(self._kernel, X, _LIMITS[X.dtype], out, scratch, n_threads)
        return not found & self._refused

    def map(self, X: Any, n_threads: int | None = None) -> Real | None:
        """Mapped rows in the precision of X; None for a table that it cannot map."""
        if not self.accepts(X):
            return None
        out = np.empty((len(X), self._kernel.n_outputs), X.dtype)
        return out if self.map_into(X, out.reshape(*out.shape, 1), n_threads) else None


def entries_of(column: FittedColumn) -> list[tuple[Form, Entry, float]]:
    """For each output of a column: its form, the numbers that the kernel needs, and its divisor."""
    n_numeric = sum(form.name in NUMERIC_FORMS for form in column.forms)
    return [(form, _constant(entry) if column.kind == EMPTY else entry,
             math.sqrt(n_numeric) if form.name in NUMERIC_FORMS else 1.0)
            for form in column.forms for entry in _entries(form)]


def _constant(entry: Entry) -> Entry:
    """What a form becomes in a column whose values all count as missing."""
    return "within", entry[1], -math.inf, math.inf, entry[1], entry[1]


def _entries(form: Form) -> list[Entry]:
    """The numbers that the kernel needs for each output of a form."""
    if isinstance(form, RawForm):
        return [("raw", form.mean, 0.0, 0.0, 0.0, 0.0)]
    if isinstance(form, TextForm):
        return [("raw", 0.0, 0.0, 0.0, 0.0, 0.0)] * len(form.outputs)
    if isinstance(form, StandardForm):  # of a difference too
        return [("standard", 0.0, form.mean, form.inverse_deviation, 0.0, 0.0)]
    if isinstance(form, BoundedForm):
        return [("bounded", 0.0, form.median, form.inverse_width, form.mean, form.inverse_deviation)]
    if isinstance(form, RankForm):
        return [("rank", 0.0, 0.0, 0.0, float(np.abs(form.ranks).max()), 0.0)]
    if isinstance(form, MissingForm):
        missing, present = form(np.array([np.nan, 0.0]))[0].tolist()
        return [("within", missing, -math.inf, math.inf, present, present)]
    if isinstance(form, PartForm):
        part = float(unfused.DATE_PARTS[form.name])
        return [("part", 0.0, part, shift, 0.0, 0.0) for shift in (0.5, 0.0)]
    if isinstance(form, TargetForm):
        return [("table", 0.0, 0.0, 0.0, float(np.abs(values).max()), 0.0) for values in form.values.T]
    n_outputs = len(form.outputs)
    if isinstance(form, LevelsForm):
        outputs = form.group(np.arange(n_outputs + 1.0))
        return [("within", 0.0, float(k), k + 1.0, float(outputs[k, k]), float(outputs[k, n_outputs]))
                for k in range(n_outputs)]
    assert isinstance(form, BinsForm)
    ends = [-math.inf, *form.edges.tolist(), math.inf]
    outputs = form.group(np.arange(n_outputs + 1.0))
    return [("within", 0.0, ends[k], ends[k + 1], float(outputs[k, k]), float(outputs[k, n_outputs]))
            for k in range(n_outputs)]


_NONE = np.empty(0)


def tables_of(form: Form) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Knots and heights of each output of a form; tables of levels have as many knots, which nothing reads."""
    if isinstance(form, RankForm):
        return [(form.knots, form.ranks)]
    if isinstance(form, TargetForm):
        return [(np.zeros(len(values)), values) for values in form.values.T]
    return [(_NONE, _NONE)] * len(form.outputs)
