"""A column as training saw it: what it is, and the forms it takes; kept in files, applied to rows."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .dates import PARTS
from .fills import Fill
from .forms import (
    BinsForm,
    BoundedForm,
    Form,
    MissingForm,
    PartForm,
    RankForm,
    RawForm,
    StandardForm,
    require,
)
from .levels import LevelsForm, TargetForm
from .raw import CATEGORY, DATE, EMPTY, NUMERIC, RawColumn, category_of_numbers

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
    """(Output, those that tell it) of each fill of a column in a file; ValueError if they are malformed."""
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
