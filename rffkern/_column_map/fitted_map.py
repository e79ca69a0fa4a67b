"""The fitted map: its columns, and the function from raw tables to arrays."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .._native.array_types import Double, Indices, NDArray
from .._rows.validation import check_names, shown_names
from ..errors import InvalidInputError
from .cells import DATE
from .compiled import compiled_function, mapped_values
from .fitted_column import FittedColumn, form_sizes, imputations_of
from .imputation import impute
from .sketch import priorities_of
from .tables import RawTable, column_name, read_table
from .transforms import DifferenceForm, require


class RowFolds(NamedTuple):
    """In which folds the training rows are."""

    of_rows: Indices | None = None  # (n_rows,) None where it follows from the index of the row
    is_scattered: bool = False  # by the index as if at random; otherwise by the index modulo the number of folds

    def take(self, rows: Indices, n_folds: int) -> Indices:
        """The folds of some rows."""
        if self.of_rows is not None:
            return self.of_rows[rows]
        numbers = priorities_of(rows) if self.is_scattered else rows
        return (numbers % n_folds).astype(np.intp, copy=False)


BY_INDEX, SCATTERED = RowFolds(), RowFolds(is_scattered=True)


class OutOfFold(NamedTuple):
    """What training rows get in place of forms that have learned from their targets: what other folds say of them."""

    tables: Sequence[Mapping[int, Double]]  # for each column, by form: its outputs by level and fold
    row_folds: RowFolds
    places: Mapping[int, Mapping[str, int]]  # of a column of texts, by its index: where each text is in the table


    def of_column(self, j: int, values: Double, first_row: int) -> dict[int, Double]:
        """Outputs of the forms of a column for the values of some training rows."""
        rows, codes = first_row + np.arange(values.shape[1]), values[0]
        found = {}
        for k, table in self.tables[j].items():
            is_text = j in self.places and k == max(self.tables[j])  # the form of texts comes last
            places = values[-1] if is_text else codes
            known = ~np.isnan(places)
            folds = self.row_folds.take(rows, table.shape[1])
            outputs = table[np.where(known, places, 0).astype(np.intp), folds].T
            found[k] = np.where(known, outputs, values[1:-1] if is_text else np.nan)
            found[k][:, np.isnan(codes)] = np.nan
        return found


_NO_PLACES: Mapping[int, Mapping[str, int]] = {}

# Rows that are mapped together, so that intermediate results stay in the cache.
_BLOCK_ROWS = 4096


class FittedMap(NamedTuple):
    """The columns of training, and their names if they had any."""

    names: tuple[str, ...] | None
    columns: tuple[FittedColumn, ...]

    @property
    def n_outputs(self) -> int:
        """Number of columns after mapping."""
        return sum(len(column.outputs) for column in self.columns)

    def column_names(self) -> list[str]:
        """Names of the raw columns, x0 and so on if they have none."""
        return shown_names(self.names, len(self.columns))

    def kinds(self) -> NDArray[np.str_]:
        """The kind of each raw column."""
        return np.array([column.kind for column in self.columns])

    def output_names(self) -> list[str]:
        """Names of the mapped columns."""
        return [f"{name}={output}" if form == "levels" else f"{name}_{output or form}"
                for name, column in zip(self.column_names(), self.columns, strict=True)
                for form, output in column.outputs]

    def describe(self) -> list[dict[str, object]]:
        """A row for each form of each column, and for each column that is dropped."""
        names = self.column_names()
        sources = [name for name, column in zip(names, self.columns, strict=True) for _ in column.outputs]
        rows = []
        for name, column in zip(names, self.columns, strict=True):
            predictors = {k for imputation in column.imputations for k in imputation.predictors.tolist()}
            names_of = list(dict.fromkeys(sources[k] for k in sorted(predictors)))
            imputed = {"imputed_from": names_of} if predictors else {}
            rows += [row | imputed if row["form"] == "missing" else row for row in column.describe(name)]
        return rows

    def read(self, X: Any, owner: str, name: str = "X") -> RawTable:
        """A table with the columns of training: by name where both have names, else by position."""
        readings = {j: column.reading for j, column in enumerate(self.columns)}
        table = read_table(X, name, wanted=self.names, readings=readings)
        if len(table.columns) != len(self.columns):
            raise InvalidInputError(f"{name} has {len(table.columns)} features, but {owner} is expecting "
                                    f"{len(self.columns)} features as input")
        check_names(table.names, self.names)
        return table

    def apply(self, table: RawTable, folds: OutOfFold | None = None, first_row: int = 0) -> Double:
        """Map the rows of a table that `read` gave, shape (n_rows, n_outputs).

        With `folds` they are the training rows, in their order from `first_row` on.
        """
        values, mapped = self.values_of(table, {} if folds is None else folds.places), compiled_function(self.columns)
        imputations = [imputation for column in self.columns for imputation in column.imputations]
        neutral = mapped(self._all_missing())[:, 0] if any(
            column.imputations and np.isnan(each).any() for column, each in zip(self.columns, values, strict=True)
        ) else None
        outputs = np.empty((table.n_rows, self.n_outputs))
        for start in range(0, table.n_rows, _BLOCK_ROWS):
            of_block = [each[:, start : start + _BLOCK_ROWS] for each in values]
            block = mapped(of_block)
            if folds is not None:
                self._put_out_of_fold(block, of_block, folds, first_row + start)
            if neutral is not None:
                missing = {imputation.output: np.isnan(each[0])
                           for column, each in zip(self.columns, of_block, strict=True)
                           for imputation in column.imputations}
                impute(block, imputations, missing, neutral)
            outputs[start : start + _BLOCK_ROWS] = block.T
        return outputs

    def values_of(self, table: RawTable, places: Mapping[int, Mapping[str, int]] = _NO_PLACES) -> list[Double]:
        """The values of each column, as its forms take them; of training rows those of texts by their places."""
        return [each.values_of(raw, column_name(self.names, j, table.title), places.get(j)) if each.forms
                else raw.values[None] for j, (each, raw) in enumerate(zip(self.columns, table.columns, strict=True))]

    def _put_out_of_fold(self, outputs: Double, values: Sequence[Double], folds: OutOfFold, first_row: int) -> None:
        """Replace outputs, (n_outputs, n_rows), of forms that have learned from targets, of training rows."""
        start = 0
        for j, column in enumerate(self.columns):
            known = folds.of_column(j, values[j], first_row) if folds.tables[j] else {}
            for k, form in enumerate(column.forms):
                if k in known:
                    outputs[start : start + len(form.outputs)] = np.where(np.isnan(known[k]), 0.0, known[k])
                start += len(form.outputs)

    def _all_missing(self) -> list[Double]:
        """The values of a row without any."""
        return [column.missing_values(1) for column in self.columns]

    def neutral(self) -> Double:
        """Outputs of a row in which everything is missing."""
        return mapped_values(self.columns, self._all_missing())[:, 0]

    def smaller(self, table: RawTable, outputs: Double, tolerance: float) -> tuple[Self, Double]:
        """A map that takes less of a file, by fewer knots and numbers of single precision, and what it makes of rows.

        `outputs` is what this map makes of them.  A column that would be farther off than a tolerance stays as it is.
        """
        columns = tuple(column.smaller(tolerance) for column in self.columns)
        off = np.abs(self._replace(columns=columns).apply(table) - outputs).max(axis=0)
        ends = np.cumsum([len(column.outputs) for column in self.columns])
        found = self._replace(columns=tuple(
            new if off[end - len(new.outputs) : end].max(initial=0) <= 2 * tolerance else old
            for old, new, end in zip(self.columns, columns, ends.tolist(), strict=True)))
        return found, found.apply(table)

    def header(self) -> list[dict[str, Any]]:
        """The entries of all columns in the header of a file."""
        return [column.header() for column in self.columns]

    def numbers(self) -> Double:
        """The numbers of all columns, concatenated."""
        return np.concatenate([np.empty(0), *(part for column in self.columns for part in column.numbers())])

    @classmethod
    def from_header(cls, names: tuple[str, ...] | None, entries: Any, numbers: Double) -> Self:
        """Rebuild it from a file; ValueError unless it is what `header` and `numbers` give."""
        require(isinstance(entries, list) and entries, "the columns are malformed")
        require(names is None or len(names) == len(set(names)) == len(entries), "columns and names differ in number")
        sizes = [sum(size for _, size in form_sizes(entry))
                 + sum(2 + len(predictors) for _, predictors in imputations_of(entry)) for entry in entries]
        require(numbers.ndim == 1 and numbers.size == sum(sizes), "the columns and their numbers differ in number")
        starts = itertools.accumulate(sizes, initial=0)
        columns = tuple(FittedColumn.from_header(entry, numbers[start : start + size])
                        for entry, start, size in zip(entries, starts, sizes, strict=False))
        require(any(column.forms for column in columns), "all columns are dropped")
        require(all(form.other < len(columns) and form.other != j and columns[form.other].kind == DATE
                    and columns[form.other].forms for j, column in enumerate(columns) for form in column.forms
                    if isinstance(form, DifferenceForm)), "the other column of a difference has no dates")
        found = cls(names, columns)
        sources = [j for j, column in enumerate(columns) for _ in column.outputs]
        for j, column in enumerate(columns):
            outputs = [imputation.output for imputation in column.imputations]
            require(len({*outputs}) == len(outputs) and all(
                output < len(sources) and sources[output] == j for output in outputs),
                "an output of another column is imputed")
            require(all(k < len(sources) and sources[k] != j for imputation in column.imputations
                        for k in imputation.predictors.tolist()),
                    "a missing value is imputed from its own column")
        return found
