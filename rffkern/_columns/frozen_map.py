"""All columns of a table as training saw them: the function from raw tables to arrays of numbers."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._data.validation import LARGEST_VALUE
from .._kernels.packing import find_unbounded
from ..errors import InvalidInputError
from .forms import StandardForm, require, standardised
from .frozen import BuiltColumn, FrozenColumn, MapSettings, build_column, form_sizes
from .raw import CATEGORY, EMPTY, NUMERIC
from .survey import N_FOLDS, ColumnFacts
from .tables import RawTable, column_name, read_table

Double = NDArray[np.float64]
Folds = Sequence[Mapping[int, Double]]

# Rows that are mapped together, so that what lies between raw and mapped values stays in the cache.
_PIECE = 4096

# Magnitudes up to which an array is plain.
_LIMITS = {np.dtype(np.float64): LARGEST_VALUE, np.dtype(np.float32): float(np.finfo(np.float32).max)}


class FrozenMap(NamedTuple):
    """The columns of training, and their names if they had any."""

    names: tuple[str, ...] | None
    columns: tuple[FrozenColumn, ...]

    @classmethod
    def of(cls, names: tuple[str, ...] | None, facts: Sequence[ColumnFacts], total: float,
           settings: MapSettings) -> tuple[Self, Folds]:
        """Build it from the facts of a pass, with what the training rows get instead of target statistics."""
        built = [build_column(each, total, settings) for each in facts]
        first: dict[bytes, int] = {}
        for j, (each, (column, _)) in enumerate(zip(facts, built, strict=True)):
            earlier = first.setdefault(each.digest, j)
            if column.forms and earlier < j:
                other = repr(names[earlier]) if names else f"column {earlier}"
                built[j] = BuiltColumn(FrozenColumn(column.kind, (), dropped=f"equal to {other}"), {})
        if not any(column.forms for column, _ in built):  # one output, always 0: a table of no columns helps nobody
            built[0] = BuiltColumn(FrozenColumn(EMPTY, (StandardForm(0.0, 1.0),)), {})
        return cls(names, tuple(column for column, _ in built)), [folds for _, folds in built]

    @property
    def n_outputs(self) -> int:
        """Number of columns after mapping."""
        return sum(len(column.outputs) for column in self.columns)

    def column_names(self) -> list[str]:
        """Names of the raw columns, x0 and so on if they have none."""
        return list(self.names) if self.names is not None else [f"x{j}" for j in range(len(self.columns))]

    def output_names(self) -> list[str]:
        """Names of the mapped columns."""
        names = []
        for name, column in zip(self.column_names(), self.columns, strict=True):
            for form, output in column.outputs:
                names.append(f"{name}={output}" if form == "levels" else f"{name}_{output or form}")
        return names

    def describe(self) -> list[dict[str, object]]:
        """A row for each form of each column, and for each column that is dropped."""
        return [row for name, column in zip(self.column_names(), self.columns, strict=True)
                for row in column.describe(name)]

    def read(self, X: Any, owner: str, name: str = "X") -> RawTable:
        """A table with the columns of training: by name where both have names, else by position."""
        categories = {j for j, column in enumerate(self.columns) if column.kind == CATEGORY}
        table = read_table(X, name, wanted=self.names, expected=categories)
        if len(table.columns) != len(self.columns):
            raise InvalidInputError(f"{name} has {len(table.columns)} features, but {owner} is expecting "
                                    f"{len(self.columns)} features as input")
        return table

    def apply(self, table: RawTable, folds: Folds | None = None, first_row: int = 0) -> Double:
        """Map the rows of a table that `read` gave, shape (n_rows, n_outputs).

        With `folds` they are the training rows, in their order from `first_row` on.
        """
        values = [each.values_of(raw, column_name(self.names, j, table.title)) if each.forms else raw.values
                  for j, (each, raw) in enumerate(zip(self.columns, table.columns, strict=True))]
        outputs = np.empty((table.n_rows, self.n_outputs))
        for start in range(0, table.n_rows, _PIECE):
            piece = slice(start, start + _PIECE)
            parts = []
            for j, (each, held) in enumerate(zip(self.columns, values, strict=True)):
                if each.forms:
                    trained = _trained(folds[j], held[piece], first_row + start) if folds and folds[j] else None
                    parts.append(each.apply(held[piece], trained))
            outputs[piece] = np.concatenate(parts).T
        return outputs

    def apply_plain(self, X: NDArray[Any]) -> Double | None:
        """The same as `read` and `apply` for a finite array, faster; None for any other table."""
        if (type(X) is not np.ndarray or X.dtype not in _LIMITS or X.ndim != 2 or not X.flags.c_contiguous
                or X.shape[1] != len(self.columns) or not len(X)
                or any(each.forms and each.kind != NUMERIC for each in self.columns)
                or find_unbounded(X.reshape(-1), _LIMITS[X.dtype]) >= 0):
            return None
        standard = [form for each in self.columns for form in each.forms if isinstance(form, StandardForm)]
        if len(standard) == len(self.columns) == self.n_outputs:
            return standardised(X, standard)
        outputs = np.empty((len(X), self.n_outputs))
        for start in range(0, len(X), _PIECE):
            piece = slice(start, start + _PIECE)
            columns = np.ascontiguousarray(X[piece].T, dtype=np.float64)
            outputs[piece] = np.concatenate([each.apply(values) for each, values
                                             in zip(self.columns, columns, strict=True) if each.forms]).T
        return outputs

    def header(self) -> list[dict[str, Any]]:
        """What a file's header holds."""
        return [column.header() for column in self.columns]

    def numbers(self) -> Double:
        """The numbers of all forms, one after the other."""
        return np.concatenate([np.empty(0), *(form.numbers() for column in self.columns for form in column.forms)])

    @classmethod
    def from_header(cls, names: tuple[str, ...] | None, entries: Any, numbers: Double) -> Self:
        """Rebuild it from a file; ValueError unless it is what `header` and `numbers` give."""
        require(isinstance(entries, list) and entries, "the columns are malformed")
        require(names is None or len(names) == len(set(names)) == len(entries), "columns and names differ in number")
        sizes = [sum(size for _, size in form_sizes(entry)) for entry in entries]
        require(numbers.ndim == 1 and numbers.size == sum(sizes), "the columns and their numbers differ in number")
        starts = itertools.accumulate(sizes, initial=0)
        columns = tuple(FrozenColumn.from_header(entry, numbers[start : start + size])
                        for entry, start, size in zip(entries, starts, sizes, strict=False))
        require(any(column.forms for column in columns), "all columns are dropped")
        return cls(names, columns)


def _trained(tables: Mapping[int, Double], codes: Double, first_row: int) -> dict[int, Double]:
    """Target statistics of training rows, by form: what the rows of other folds say of their levels."""
    missing = np.isnan(codes)
    folds = (first_row + np.arange(len(codes))) % N_FOLDS
    places = np.where(missing, 0, codes).astype(np.intp)
    return {k: np.where(missing, np.nan, table[places, folds].T) for k, table in tables.items()}
