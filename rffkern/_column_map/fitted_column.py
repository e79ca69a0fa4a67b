"""A fitted column: the type of its values, how they are read, and its forms."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from .._native.array_types import Double
from .._protocol.warning import warn
from ..errors import ColumnWarning, InvalidInputError
from . import transforms
from .cells import BOOLEANS, CATEGORY, DATE, EMPTY, NUMERIC, Reading, is_number, known_level
from .imputation import Imputation
from .tables import RawColumn, category_of_numbers, recoded
from .text import TextForm, text_form
from .transforms import PARTS, Form, largest_slope, require, thinned

NUMERIC_FORMS: dict[str, Callable[..., Form]] = {
    "raw": transforms.raw, "standard": transforms.standard, "bounded": transforms.bounded, "rank": transforms.rank,
    "bins": transforms.bins}
_LEVEL_FORMS: dict[str, Callable[..., Form]] = {
    "levels": transforms.indicators, "target": transforms.target, "frequency": transforms.frequency}
_MISSING: dict[str, Callable[..., Form]] = {"missing": transforms.missing}
# By the kind of a column and the name of a form, what makes it of its numbers, and of the levels where it has some.
_FORMS_OF: dict[str, dict[str, Callable[..., Form]]] = {
    NUMERIC: NUMERIC_FORMS | _MISSING, EMPTY: NUMERIC_FORMS | _MISSING,
    CATEGORY: _LEVEL_FORMS | _MISSING | {"text": text_form},
    DATE: NUMERIC_FORMS | _MISSING | {"difference": transforms.difference} | {
        name: partial(transforms.part, name) for name in PARTS}}

LARGEST_SLOPE = 1e300  # of an output

_FEWEST_TO_COMPARE = 10  # values of which none is a level of training, for a warning
_LARGEST_CHANCE = 1e-3  # that they are all of rare levels of training, from which on there is no warning


class FittedColumn(NamedTuple):
    """One column of the raw table; where it is dropped, `dropped` says why.

    It has no forms then, but where all columns are dropped: the first has an output that is always 0.
    """

    kind: str
    forms: tuple[Form, ...]
    levels: tuple[str, ...] = ()  # of a category, those kept
    has_rare: bool = False  # whether levels were rare in training
    dropped: str = ""
    imputations: tuple[Imputation, ...] = ()  # of some outputs, where the value is missing
    format: str = ""  # of cells of text, as in `Reading`
    words: tuple[str, ...] = ()  # cells of text that count as missing

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """(Form, distinction by name) of each output."""
        return [(form.name, output) for form in self.forms for output in form.outputs]

    @property
    def kept_texts(self) -> list[str]:
        """What a model file keeps as text."""
        return [*self.levels, self.dropped, self.format, *self.words]

    @property
    def text(self) -> TextForm | None:
        """The form of texts, if there is one."""
        return next((form for form in self.forms if isinstance(form, TextForm)), None)

    @property
    def reading(self) -> Reading:
        """How cells of text are read."""
        if not self.forms:
            return Reading(EMPTY)
        return Reading(CATEGORY, "raw") if self.kind == CATEGORY else Reading(self.kind, self.format, self.words)

    def values_of(self, column: RawColumn, name: str, places: Mapping[str, int] | None = None) -> Double:
        """Values of rows, (1, n_rows): numbers, seconds or indices of levels; rare levels share that after the last.

        Where there is a form of texts, its outputs are below them.  Of training rows a last line has the `places` of
        their texts among those that it was learned from; only texts that it was not learned from have outputs.
        """
        if EMPTY in (column.kind, self.kind):
            return self.missing_values(len(column.values))
        if self.kind == CATEGORY:
            codes = self._codes_of(column, name)
            if self.text is None:
                return codes[None]
            column = category_of_numbers(column)
            outputs = self._text_outputs(self.text, column.levels, places)
            taken = outputs[:, np.where(np.isnan(column.values), 0, column.values).astype(np.intp)]
            return np.vstack([codes, np.where(np.isnan(codes), np.nan, taken)])
        if column.kind == CATEGORY and set(column.levels) <= {*BOOLEANS} and self.kind == NUMERIC:
            return np.where(np.isnan(column.values), np.nan, _codes(column, {"False": 0.0, "True": 1.0}, np.nan))[None]
        if column.kind != self.kind:
            got = f"categories such as {column.levels[0]!r}" if column.kind == CATEGORY else f"{column.kind} values"
            remedy = ": make numbers of them, as frame[column].astype(float) does" if self.kind == NUMERIC and all(
                map(is_number, column.levels)) and column.kind == CATEGORY else ""
            raise InvalidInputError(f"{name} must hold {self.kind} values, as in training, got {got}{remedy}")
        return column.values[None]

    @staticmethod
    def _text_outputs(form: TextForm, texts: Sequence[str], places: Mapping[str, int] | None) -> Double:
        if places is None:
            return form.of_texts(texts)
        found = np.array([places.get(text, np.nan) for text in texts])
        new = np.flatnonzero(np.isnan(found))
        outputs = np.zeros((len(form.outputs) + 1, len(texts)))
        outputs[:-1, new], outputs[-1] = form.of_texts([texts[k] for k in new.tolist()]), found
        return outputs

    def missing_values(self, n_rows: int) -> Double:
        """The same of rows without a value."""
        return np.full((1 if self.text is None else 1 + len(self.text.outputs), n_rows), np.nan)

    def _codes_of(self, column: RawColumn, name: str) -> Double:
        if column.kind == DATE:
            raise InvalidInputError(f"{name} must hold categories, as in training, got dates")
        column = category_of_numbers(column)
        if set(self.levels) <= {*BOOLEANS} and set(column.levels) <= {"0", "1"}:
            column = column._replace(levels=tuple(BOOLEANS[int(level)] for level in column.levels))
        index = {level: float(k) for k, level in enumerate(self.levels)}
        other = float(len(self.levels)) if self.has_rare else np.nan
        meant = {level: known_level(level, index) for level in column.levels if level not in index}
        index |= {text: np.nan if level is None else index.get(level, other) for text, level in meant.items()}
        codes = _codes(column, index, other)
        if len(codes) >= _FEWEST_TO_COMPARE and any(form.name == "levels" for form in self.forms) and not (
                codes < len(self.levels)).any():
            is_text = np.array([meant.get(text) is not None for text in column.levels], dtype=bool)  # not missing
            cells = column.values[~np.isnan(column.values)].astype(np.intp)
            new = cells[is_text[cells]]
            if len(new) >= _FEWEST_TO_COMPARE and self._chance_of_rare(len(new)) < _LARGEST_CHANCE:
                warn(f"no value of {name} is a level of training, such as {self.levels[0]!r}, got "
                     f"{column.levels[new[0]]!r}: see whether they are written alike", ColumnWarning)
        return codes

    def _chance_of_rare(self, n_values: int) -> float:
        """How likely so many values of the training all have rare levels, whose names the column does not keep."""
        shares = next(form.numbers for form in self.forms if form.name == "levels")
        return float(1 - shares[: len(self.levels)].sum()) ** n_values if self.has_rare else 0.0

    def slopes(self, low: Double, high: Double) -> Double:
        """The largest derivatives of the outputs between two values of each row, (n_outputs, n_rows).

        They are 0 of columns that are no numbers, of missing values, and of whether a value is missing.
        """
        n_numeric = sum(form.name in NUMERIC_FORMS for form in self.forms)
        found = [np.where(np.isnan(low), 0.0, largest_slope(form, low[0], high[0]) / math.sqrt(n_numeric))
                 if self.kind == NUMERIC and form.name in NUMERIC_FORMS
                 else np.zeros((len(form.outputs), low.shape[1])) for form in self.forms]
        return np.minimum(np.concatenate([np.empty((0, low.shape[1])), *found]), LARGEST_SLOPE)

    def describe(self, name: str) -> list[dict[str, object]]:
        """A row for each form, or one that says why the column is dropped."""
        start: dict[str, object] = {"column": name, "kind": self.kind}
        if self.dropped:
            return [start | {"form": "dropped", "reason": self.dropped}]
        return [start | {"form": form.name, "outputs": len(form.outputs), **form.described} for form in self.forms]

    def smaller(self, tolerance: float) -> "FittedColumn":
        """The same with fewer knots of ranks and numbers of single precision, where these make a column."""
        fewer = self._replace(forms=tuple(
            thinned(form, tolerance) if form.name == "rank" else form for form in self.forms))
        numbers = np.concatenate([np.empty(0), *fewer.numbers()])
        with np.errstate(over="ignore", under="ignore"):
            single = numbers.astype(np.float32).astype(np.float64)
        try:
            return FittedColumn.from_header(fewer.header(), np.where(np.isfinite(single), single, numbers))
        except ValueError:  # such as knots that are one number in single precision
            return self

    def header(self) -> dict[str, Any]:
        """Its entry in the header of a file; the numbers of the forms are stored apart."""
        return {"kind": self.kind, "levels": list(self.levels), "has_rare": self.has_rare, "dropped": self.dropped,
                "format": self.format, "words": list(self.words),
                "forms": [[form.name, form.numbers.size] for form in self.forms],
                "imputations": [[imputation.output, imputation.predictors.tolist()] for imputation in self.imputations]}

    def numbers(self) -> list[Double]:
        """The numbers of its forms, then those of its imputations, in the order of the header."""
        return [*(form.numbers for form in self.forms), *(imputation.numbers() for imputation in self.imputations)]

    @classmethod
    def from_header(cls, entry: Any, numbers: Double) -> Self:
        """Rebuild it from a file; ValueError unless the file has what `header` and `numbers` give."""
        keys = {"kind", "levels", "has_rare", "dropped", "forms", "imputations", "format", "words"}
        require(isinstance(entry, dict) and {*entry} == keys, "a column is malformed")
        kind, levels, has_rare, dropped = (entry[key] for key in ("kind", "levels", "has_rare", "dropped"))
        require(kind in (NUMERIC, CATEGORY, DATE, EMPTY) and type(has_rare) is bool and isinstance(dropped, str),
                "the kind of a column is malformed")
        require(isinstance(levels, list) and all(isinstance(level, str) for level in levels)
                and levels == sorted(set(levels)) and (kind == CATEGORY or not (levels or has_rare)),
                "the levels of a column must be distinct, sorted text")
        format_, words = entry["format"], entry["words"]
        require(isinstance(format_, str) and _is_format(kind, format_) and isinstance(words, list)
                and all(isinstance(word, str) for word in words), "the format of a column is malformed")
        forms = []
        for name, size in form_sizes(entry):
            require(name in _FORMS_OF[kind], "a form is not known")
            forms.append(_FORMS_OF[kind][name](numbers[:size], *[tuple(levels)] * (name in _LEVEL_FORMS)))
            numbers = numbers[size:]
        imputations = []
        for output, predictors in imputations_of(entry):
            size = 2 + len(predictors)
            imputations.append(Imputation.from_numbers(output, predictors, numbers[:size]))
            numbers = numbers[size:]
        names = [form.name for form in forms]
        in_place_of_all = kind == EMPTY and bool(forms)
        require(len(set(names)) == len(names) and (in_place_of_all or bool(forms) != bool(dropped)),
                "the forms of a column are malformed")
        require(not imputations or "missing" in names, "a column without missing values is imputed")
        found = cls(kind, tuple(forms), tuple(levels), has_rare, dropped, tuple(imputations), format_,
                    tuple(words))
        for form in forms:
            if form.name == "levels":
                n_groups = len(levels) + has_rare
                require(len(form.outputs) == (1 if n_groups == 2 else n_groups), "levels and shares differ in number")
        return found


def _is_format(kind: str, text: str) -> bool:
    """Whether a text is the format of a column of some kind."""
    if kind == NUMERIC:
        return text in ("", "time", "duration") or text[0] in ".,"
    return text in ("", "dmy", "mdy") if kind == DATE else text == ""


def form_sizes(entry: Any) -> list[tuple[str, int]]:
    """Names of the forms of a column in a file, and how many numbers each has; ValueError if they are malformed."""
    require(isinstance(entry, dict) and isinstance(entry.get("forms"), list) and all(
        isinstance(form, list) and len(form) == 2 and isinstance(form[0], str) and type(form[1]) is int and form[1] >= 0
        for form in entry["forms"]), "the forms of a column are malformed")
    return [(name, size) for name, size in entry["forms"]]


def imputations_of(entry: Any) -> list[tuple[int, list[int]]]:
    """(Output, its predictors) of each imputation of a column in a file; ValueError if they are malformed."""
    imputations = entry.get("imputations")
    require(isinstance(imputations, list) and all(
        isinstance(imputation, list) and len(imputation) == 2 and isinstance(imputation[1], list)
        and all(type(index) is int and 0 <= index < 2**31 for index in (imputation[0], *imputation[1]))
        for imputation in imputations),
        "an imputation is malformed")
    return [(output, predictors) for output, predictors in imputations]


def _codes(column: RawColumn, index: Mapping[str, float], other: float) -> Double:
    """The code of the level of each row; nan where it is missing."""
    return recoded(column.values, np.array([*(index.get(level, other) for level in column.levels), np.nan]))
