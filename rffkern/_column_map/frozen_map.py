"""The trained map: each column as training saw it, its transforms, and the function from raw tables to arrays."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .._native.array_types import NDArray
from .._rows.validation import check_names
from ..errors import InvalidInputError
from .imputation import Fill, fill_in
from .tables import CATEGORY, DATE, EMPTY, NUMERIC, RawColumn, RawTable, category_of_numbers, column_name, read_table
from .transforms import (
    PARTS,
    BinsForm,
    BoundedForm,
    Form,
    LevelsForm,
    MissingForm,
    PartForm,
    RankForm,
    RawForm,
    StandardForm,
    TargetForm,
    require,
)

Double = NDArray[np.float64]

NUMERIC_FORMS: dict[str, Any] = {
    "raw": RawForm, "standard": StandardForm, "bounded": BoundedForm, "rank": RankForm, "bins": BinsForm}
_LEVEL_FORMS: dict[str, Any] = {"levels": LevelsForm, "target": TargetForm}

_TRUTH = ("False", "True")


class FrozenColumn(NamedTuple):
    """One column of the raw table; without forms it is dropped, and `dropped` says why."""

    kind: str
    forms: tuple[Form, ...]
    levels: tuple[str, ...] = ()  # of a category, those kept
    pools: bool = False  # whether levels were rare in training
    dropped: str = ""
    fills: tuple[Fill, ...] = ()  # what stands for missing values, of some outputs

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """(Form, distinction by name) of each output."""
        return [(form.name, output) for form in self.forms for output in form.outputs]

    def values_of(self, column: RawColumn, name: str) -> Double:
        """Values of rows: numbers, seconds, or indices of levels, the rare ones after the last."""
        if EMPTY in (column.kind, self.kind):
            return np.full(len(column.values), np.nan)
        if self.kind == CATEGORY:
            return self._codes_of(column, name)
        if column.kind == CATEGORY and set(column.levels) <= {*_TRUTH} and self.kind == NUMERIC:
            return np.where(np.isnan(column.values), np.nan, _codes(column, {"False": 0.0, "True": 1.0}, np.nan))
        if column.kind != self.kind:
            found = f"text such as {column.levels[0]!r}" if column.kind == CATEGORY else f"{column.kind} values"
            raise InvalidInputError(f"{name} must hold {self.kind} values, as in training, got {found}")
        return column.values

    def _codes_of(self, column: RawColumn, name: str) -> Double:
        if column.kind == DATE:
            raise InvalidInputError(f"{name} must hold categories, as in training, got dates")
        column = category_of_numbers(column)
        if set(self.levels) <= {*_TRUTH} and set(column.levels) <= {"0", "1"}:
            column = column._replace(levels=tuple(_TRUTH[int(level)] for level in column.levels))
        index = {level: float(k) for k, level in enumerate(self.levels)}
        return _codes(column, index, float(len(self.levels)) if self.pools else np.nan)

    def apply(self, values: Double, trained: Mapping[int, Double] | None = None) -> Double:
        """Outputs for what `values_of` gives, shape (n_outputs, n_rows); `trained` has those of forms by index."""
        n_numeric = sum(form.name in NUMERIC_FORMS for form in self.forms)
        parts = []
        missing = bool(np.isnan(values).any())
        for k, form in enumerate(self.forms):
            outputs = trained[k] if trained and k in trained else form(values)
            outputs = np.where(np.isnan(outputs), 0.0, outputs) if missing else outputs
            parts.append(outputs / math.sqrt(n_numeric) if n_numeric > 1 and form.name in NUMERIC_FORMS else outputs)
        return np.concatenate(parts) if parts else np.empty((0, len(values)))

    def describe(self, name: str) -> list[dict[str, object]]:
        """A row for each form, or one that says why the column is dropped."""
        start: dict[str, object] = {"column": name, "kind": self.kind}
        if not self.forms:
            return [start | {"form": "dropped", "reason": self.dropped}]
        if self.kind == EMPTY:  # in place of all columns
            return [start | {"form": "dropped", "reason": "as all columns, which leave one output, always 0"}]
        return [start | {"form": form.name, "outputs": len(form.outputs)} | form.facts() for form in self.forms]

    def header(self) -> dict[str, Any]:
        """What a file's header holds of it; the numbers of the forms are apart."""
        return {"kind": self.kind, "levels": list(self.levels), "pools": self.pools, "dropped": self.dropped,
                "forms": [[form.name, int(form.numbers().size)] for form in self.forms],
                "fills": [[fill.output, fill.telling.tolist()] for fill in self.fills]}

    def numbers(self) -> list[Double]:
        """The numbers of its forms and of what stands for missing values, in the order of the header."""
        return [*(form.numbers() for form in self.forms), *(fill.numbers() for fill in self.fills)]

    @classmethod
    def from_header(cls, entry: Any, numbers: Double) -> Self:
        """Rebuild it from a file, whatever stands there; ValueError unless it is what `header` and `numbers` give."""
        require(isinstance(entry, dict) and {*entry} == {"kind", "levels", "pools", "dropped", "forms", "fills"},
                "a column is malformed")
        kind, levels, pools, dropped = (entry[key] for key in ("kind", "levels", "pools", "dropped"))
        require(kind in (NUMERIC, CATEGORY, DATE, EMPTY) and type(pools) is bool and isinstance(dropped, str),
                "the kind of a column is malformed")
        require(isinstance(levels, list) and all(isinstance(level, str) for level in levels)
                and levels == sorted(set(levels)) and (kind == CATEGORY or not (levels or pools)),
                "the levels of a column must be distinct, sorted text")
        forms = []
        for name, size in form_sizes(entry):
            forms.append(_form(kind, name, numbers[:size], tuple(levels)))
            numbers = numbers[size:]
        fills = []
        for output, telling in fills_of(entry):
            size = 2 + len(telling)
            fills.append(Fill.from_numbers(output, telling, numbers[:size]))
            numbers = numbers[size:]
        names = [form.name for form in forms]
        require(len(set(names)) == len(names) and bool(forms) != bool(dropped), "the forms of a column are malformed")
        require(not fills or "missing" in names, "a column without missing values is filled in")
        found = cls(kind, tuple(forms), tuple(levels), pools, dropped, tuple(fills))
        for form in forms:
            if isinstance(form, LevelsForm):
                n_groups = len(levels) + pools
                require(len(form.outputs) == (1 if n_groups == 2 else n_groups), "levels and shares differ in number")
        return found


def form_sizes(entry: Any) -> list[tuple[str, int]]:
    """Names of the forms of a column in a file, and how many numbers each has; ValueError if they are malformed."""
    require(isinstance(entry, dict) and isinstance(entry.get("forms"), list) and all(
        isinstance(form, list) and len(form) == 2 and isinstance(form[0], str) and type(form[1]) is int and form[1] >= 0
        for form in entry["forms"]), "the forms of a column are malformed")
    return [(name, size) for name, size in entry["forms"]]


def fills_of(entry: Any) -> list[tuple[int, list[int]]]:
    """(Output, those that it is imputed from) of each fill of a column in a file; ValueError if they are malformed."""
    fills = entry.get("fills")
    require(isinstance(fills, list) and all(
        isinstance(fill, list) and len(fill) == 2 and isinstance(fill[1], list)
        and all(type(index) is int and 0 <= index < 2**31 for index in (fill[0], *fill[1])) for fill in fills),
        "what stands for missing values is malformed")
    return [(output, telling) for output, telling in fills]


def _form(kind: str, name: str, numbers: Double, levels: tuple[str, ...]) -> Form:
    """A form from a file."""
    found: Form
    if name in PARTS and kind == DATE:
        require(numbers.size == 0, "a part of a date has no numbers")
        return PartForm(name)
    if name in _LEVEL_FORMS and kind == CATEGORY:
        found = _LEVEL_FORMS[name].from_numbers(numbers, levels)
    elif name == "missing":
        found = MissingForm.from_numbers(numbers)
    else:
        require(name in NUMERIC_FORMS and kind in (NUMERIC, DATE, EMPTY), "a form is not known")
        found = NUMERIC_FORMS[name].from_numbers(numbers)
    return found


def _codes(column: RawColumn, index: Mapping[str, float], other: float) -> Double:
    """Numbers that stand for the levels of a column; nan where it is missing."""
    table = np.array([*(index.get(level, other) for level in column.levels), np.nan])
    return table[np.where(np.isnan(column.values), -1, column.values).astype(np.intp)]


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
            imputed_from = {"imputed_from": list(dict.fromkeys(sources[k] for k in sorted(telling)))} if telling else {}
            rows += [row | imputed_from if row["form"] == "missing" else row for row in column.describe(name)]
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
                    "a missing value is imputed from its own column")
        return found


def _trained(tables: Mapping[int, Double], codes: Double, first_row: int) -> dict[int, Double]:
    """Target statistics of training rows, by form: what the rows of other folds say of their levels."""
    missing = np.isnan(codes)
    rows = first_row + np.arange(len(codes))
    places = np.where(missing, 0, codes).astype(np.intp)
    return {k: np.where(missing, np.nan, table[places, rows % table.shape[1]].T) for k, table in tables.items()}
