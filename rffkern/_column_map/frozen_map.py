"""All columns of a table as training saw them: the function from raw tables to arrays of numbers."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .._native.array_types import NDArray
from .._rows.validation import check_names
from ..errors import InvalidInputError
from .fills import fill_in
from .forms import require
from .frozen import FrozenColumn, fills_of, form_sizes
from .raw import CATEGORY
from .tables import RawTable, column_name, read_table

Double = NDArray[np.float64]
Folds = Sequence[Mapping[int, Double]]

# Rows that are mapped together, so that what lies between raw and mapped values stays in the cache.
_PIECE = 4096


class FrozenMap(NamedTuple):
    """The columns of training, and their names if they had any."""

    names: tuple[str, ...] | None
    columns: tuple[FrozenColumn, ...]

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
        names = self.column_names()
        sources = [name for name, column in zip(names, self.columns, strict=True) for _ in column.outputs]
        rows = []
        for name, column in zip(names, self.columns, strict=True):
            telling = {k for fill in column.fills for k in fill.telling.tolist()}
            told_by = {"told_by": list(dict.fromkeys(sources[k] for k in sorted(telling)))} if telling else {}
            rows += [row | told_by if row["form"] == "missing" else row for row in column.describe(name)]
        return rows

    def read(self, X: Any, owner: str, name: str = "X") -> RawTable:
        """A table with the columns of training: by name where both have names, else by position."""
        categories = {j for j, column in enumerate(self.columns) if column.kind == CATEGORY}
        table = read_table(X, name, wanted=self.names, expected=categories)
        if len(table.columns) != len(self.columns):
            raise InvalidInputError(f"{name} has {len(table.columns)} features, but {owner} is expecting "
                                    f"{len(self.columns)} features as input")
        check_names(table.names, self.names)
        return table

    def apply(self, table: RawTable, folds: Folds | None = None, first_row: int = 0) -> Double:
        """Map the rows of a table that `read` gave, shape (n_rows, n_outputs).

        With `folds` they are the training rows, in their order from `first_row` on.
        """
        values = self.values_of(table)
        neutral = self.neutral() if any(each.fills and np.isnan(held).any() for each, held
                                         in zip(self.columns, values, strict=True)) else None
        outputs = np.empty((table.n_rows, self.n_outputs))
        for start in range(0, table.n_rows, _PIECE):
            held = [each[start : start + _PIECE] for each in values]
            piece = self.outputs_of(held, folds, first_row + start)
            if neutral is not None:
                for_all = {fill.output: np.isnan(given) for each, given in zip(self.columns, held, strict=True)
                           for fill in each.fills}
                fill_in(piece, [fill for each in self.columns for fill in each.fills], for_all, neutral)
            outputs[start : start + _PIECE] = piece.T
        return outputs

    def values_of(self, table: RawTable) -> list[Double]:
        """What the forms of each column take."""
        return [each.values_of(raw, column_name(self.names, j, table.title)) if each.forms else raw.values
                for j, (each, raw) in enumerate(zip(self.columns, table.columns, strict=True))]

    def outputs_of(self, values: Sequence[Double], folds: Folds | None = None, first_row: int = 0) -> Double:
        """Outputs for what the forms take, (n_outputs, n_rows), neutral where it is missing."""
        parts = []
        for j, (each, held) in enumerate(zip(self.columns, values, strict=True)):
            if each.forms:
                trained = _trained(folds[j], held, first_row) if folds and folds[j] else None
                parts.append(each.apply(held, trained))
        return np.concatenate(parts)

    def neutral(self) -> Double:
        """Outputs of a row in which everything is missing."""
        return self.outputs_of([np.array([np.nan])] * len(self.columns))[:, 0]

    def header(self) -> list[dict[str, Any]]:
        """What a file's header holds."""
        return [column.header() for column in self.columns]

    def numbers(self) -> Double:
        """The numbers of all forms, one after the other."""
        return np.concatenate([np.empty(0), *(part for column in self.columns for part in column.numbers())])

    @classmethod
    def from_header(cls, names: tuple[str, ...] | None, entries: Any, numbers: Double) -> Self:
        """Rebuild it from a file; ValueError unless it is what `header` and `numbers` give."""
        require(isinstance(entries, list) and entries, "the columns are malformed")
        require(names is None or len(names) == len(set(names)) == len(entries), "columns and names differ in number")
        sizes = [sum(size for _, size in form_sizes(entry)) + sum(2 + len(telling) for _, telling in fills_of(entry))
                 for entry in entries]
        require(numbers.ndim == 1 and numbers.size == sum(sizes), "the columns and their numbers differ in number")
        starts = itertools.accumulate(sizes, initial=0)
        columns = tuple(FrozenColumn.from_header(entry, numbers[start : start + size])
                        for entry, start, size in zip(entries, starts, sizes, strict=False))
        require(any(column.forms for column in columns), "all columns are dropped")
        found = cls(names, columns)
        sources = [j for j, column in enumerate(columns) for _ in column.outputs]
        for j, column in enumerate(columns):
            outputs = [fill.output for fill in column.fills]
            require(len({*outputs}) == len(outputs) and all(
                output < len(sources) and sources[output] == j for output in outputs),
                "an output of another column is filled in")
            require(all(k < len(sources) and sources[k] != j for fill in column.fills for k in fill.telling.tolist()),
                    "a missing value is told by its own column")
        return found


def _trained(tables: Mapping[int, Double], codes: Double, first_row: int) -> dict[int, Double]:
    """Target statistics of training rows, by form: what the rows of other folds say of their levels."""
    missing = np.isnan(codes)
    rows = first_row + np.arange(len(codes))
    places = np.where(missing, 0, codes).astype(np.intp)
    return {k: np.where(missing, np.nan, table[places, rows % table.shape[1]].T) for k, table in tables.items()}
