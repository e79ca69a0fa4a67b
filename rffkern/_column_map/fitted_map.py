"""The fitted map: the type and the transforms of each column, and the function from raw tables to arrays."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .._native.array_types import NDArray
from .._rows.validation import check_names
from ..errors import InvalidInputError
from .cells import BOOLEANS, CATEGORY, DATE, EMPTY, NUMERIC, Reading, known_level
from .imputation import Imputation, impute
from .tables import RawColumn, RawTable, category_of_numbers, column_name, read_table
from .text import TextForm
from .transforms import (
    PARTS,
    BinsForm,
    BoundedForm,
    DifferenceForm,
    Form,
    FrequencyForm,
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
_LEVEL_FORMS: dict[str, Any] = {
    "levels": LevelsForm, "target": TargetForm, "frequency": FrequencyForm}


AS_ALL = "as all columns"  # a reason


class FittedColumn(NamedTuple):
    """One column of the raw table; without forms it is dropped, and `dropped` says why."""

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
        """Values of rows: numbers, seconds, or indices of levels; rare levels share the index after the last.

        Where there is a form of texts, they are the first row of an array, which has its outputs in the others.  Of
        training rows a last one has the `places` of their texts among those that it was learned from; only texts that
        it was not learned from have outputs.
        """
        if EMPTY in (column.kind, self.kind):
            return self.missing_values(len(column.values))
        if self.kind == CATEGORY:
            codes = self._codes_of(column, name)
            if self.text is None:
                return codes
            column = category_of_numbers(column)
            outputs = self._text_outputs(self.text, column.levels, places)
            taken = outputs[:, np.where(np.isnan(column.values), 0, column.values).astype(np.intp)]
            return np.vstack([codes, np.where(np.isnan(codes), np.nan, taken)])
        if column.kind == CATEGORY and set(column.levels) <= {*BOOLEANS} and self.kind == NUMERIC:
            return np.where(np.isnan(column.values), np.nan, _codes(column, {"False": 0.0, "True": 1.0}, np.nan))
        if column.kind != self.kind:
            got = f"text such as {column.levels[0]!r}" if column.kind == CATEGORY else f"{column.kind} values"
            raise InvalidInputError(f"{name} must hold {self.kind} values, as in training, got {got}")
        return column.values

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
        return np.full(n_rows if self.text is None else (1 + len(self.text.outputs), n_rows), np.nan)

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
        return _codes(column, index, other)

    def apply(self, values: Double, out_of_fold: Mapping[int, Double] | None = None,
              all_values: Sequence[Double] | None = None) -> Double:
        """Outputs for what `values_of` gives, shape (n_outputs, n_rows), some of the rows or all.

        `out_of_fold` has the outputs of target statistics on training rows, by the index of their form.  `all_values`
        are those of all columns; without them a difference is neutral.
        """
        n_numeric = sum(form.name in NUMERIC_FORMS for form in self.forms)
        parts = []
        missing = bool(np.isnan(values).any())
        for k, form in enumerate(self.forms):
            own = values if values.ndim == 1 else values[1:] if isinstance(form, TextForm) else values[0]
            if isinstance(form, DifferenceForm):
                own = np.full(len(values), np.nan) if all_values is None else values - all_values[form.other]
            outputs = out_of_fold[k] if out_of_fold and k in out_of_fold else form(own)
            if missing or form.name == "difference":
                outputs = np.where(np.isnan(outputs), 0.0, outputs)
            parts.append(outputs / math.sqrt(n_numeric) if n_numeric > 1 and form.name in NUMERIC_FORMS else outputs)
        return np.concatenate(parts) if parts else np.empty((0, values.shape[-1]))

    def slopes(self, low: Double, high: Double) -> Double:
        """The largest derivatives of the outputs between two values of each row, (n_outputs, n_rows).

        They are 0 of columns that are no numbers, of missing values, and of whether a value is missing.
        """
        n_numeric = sum(form.name in NUMERIC_FORMS for form in self.forms)
        found = [np.zeros((len(form.outputs), low.shape[-1])) for form in self.forms]
        for k, form in enumerate(self.forms):
            if self.kind == NUMERIC and form.name in NUMERIC_FORMS:
                slope: Any = form  # which has one
                found[k] = np.where(np.isnan(low), 0.0, slope.slope(low, high) / math.sqrt(n_numeric))
        return np.minimum(np.concatenate([np.empty((0, low.shape[-1])), *found]), LARGEST_SLOPE)

    def describe(self, name: str) -> list[dict[str, object]]:
        """A row for each form, or one that says why the column is dropped."""
        start: dict[str, object] = {"column": name, "kind": self.kind}
        if not self.forms:
            return [start | {"form": "dropped", "reason": self.dropped}]
        if self.kind == EMPTY:  # in place of all columns
            return [start | {"form": "dropped", "reason": AS_ALL + ", which leave one output, always 0"}]
        return [start | {"form": form.name, "outputs": len(form.outputs)} | form.describe() for form in self.forms]

    def smaller(self, tolerance: float) -> "FittedColumn":
        """The same with fewer knots of ranks and numbers of single precision, where these make a column."""
        thinned = self._replace(forms=tuple(
            form.thinned(tolerance) if isinstance(form, RankForm) else form for form in self.forms))
        numbers = np.concatenate([np.empty(0), *thinned.numbers()])
        with np.errstate(over="ignore"):
            single = numbers.astype(np.float32).astype(np.float64)
        try:
            return FittedColumn.from_header(thinned.header(), np.where(np.isfinite(single), single, numbers))
        except ValueError:  # such as knots that are one number in single precision
            return self

    def header(self) -> dict[str, Any]:
        """Its entry in the header of a file; the numbers of the forms are stored apart."""
        return {"kind": self.kind, "levels": list(self.levels), "has_rare": self.has_rare, "dropped": self.dropped,
                "format": self.format, "words": list(self.words),
                "forms": [[form.name, int(form.numbers().size)] for form in self.forms],
                "imputations": [[imputation.output, imputation.predictors.tolist()] for imputation in self.imputations]}

    def numbers(self) -> list[Double]:
        """The numbers of its forms, then those of its imputations, in the order of the header."""
        return [*(form.numbers() for form in self.forms), *(imputation.numbers() for imputation in self.imputations)]

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
            forms.append(_form(kind, name, numbers[:size], tuple(levels)))
            numbers = numbers[size:]
        imputations = []
        for output, predictors in imputations_of(entry):
            size = 2 + len(predictors)
            imputations.append(Imputation.from_numbers(output, predictors, numbers[:size]))
            numbers = numbers[size:]
        names = [form.name for form in forms]
        require(len(set(names)) == len(names) and bool(forms) != bool(dropped), "the forms of a column are malformed")
        require(not imputations or "missing" in names, "a column without missing values is imputed")
        found = cls(kind, tuple(forms), tuple(levels), has_rare, dropped, tuple(imputations), format_,
                    tuple(words))
        for form in forms:
            if isinstance(form, LevelsForm):
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


def _form(kind: str, name: str, numbers: Double, levels: tuple[str, ...]) -> Form:
    """A form from a file."""
    found: Form
    if name in PARTS and kind == DATE:
        require(numbers.size == 0, "a part of a date has no numbers")
        return PartForm(name)
    if name == "difference" and kind == DATE:
        found = DifferenceForm.from_numbers(numbers)
    elif name == "text" and kind == CATEGORY:
        found = TextForm.from_numbers(numbers)
    elif name in _LEVEL_FORMS and kind == CATEGORY:
        found = _LEVEL_FORMS[name].from_numbers(numbers, levels)
    elif name == "missing":
        found = MissingForm.from_numbers(numbers)
    else:
        require(name in NUMERIC_FORMS and kind in (NUMERIC, DATE, EMPTY), "a form is not known")
        found = NUMERIC_FORMS[name].from_numbers(numbers)
    return found


def _codes(column: RawColumn, index: Mapping[str, float], other: float) -> Double:
    """The code of the level of each row; nan where it is missing."""
    table = np.array([*(index.get(level, other) for level in column.levels), np.nan])
    return table[np.where(np.isnan(column.values), -1, column.values).astype(np.intp)]


class OutOfFold(NamedTuple):
    """What training rows get in place of forms that have learned from their targets: what other folds say of them."""

    tables: Sequence[Mapping[int, Double]]  # for each column, by form: its outputs by level and fold
    row_folds: NDArray[np.intp] | None  # (n_rows,) None for the index of the row modulo the number of folds
    places: Mapping[int, Mapping[str, int]]  # of a column of texts, by its index: where each text is in the table

    def of_column(self, j: int, values: Double, first_row: int) -> dict[int, Double]:
        """Outputs of the forms of a column for the values of some training rows."""
        rows = first_row + np.arange(values.shape[-1])
        codes = values if values.ndim == 1 else values[0]
        found = {}
        for k, table in self.tables[j].items():
            is_text = j in self.places and k == max(self.tables[j])  # the form of texts comes last
            places = values[-1] if is_text else codes
            known = ~np.isnan(places)
            folds = (rows if self.row_folds is None else self.row_folds[rows]) % table.shape[1]
            outputs = table[np.where(known, places, 0).astype(np.intp), folds].T
            found[k] = np.where(known, outputs, values[1:-1] if is_text else np.nan)
            found[k][:, np.isnan(codes)] = np.nan
        return found


def is_missing(values: Double) -> NDArray[np.bool_]:
    """Which rows have no value, of what `values_of` gives."""
    return np.isnan(values if values.ndim == 1 else values[0])


_NO_PLACES: Mapping[int, Mapping[str, int]] = {}

# Rows that are mapped together, so that intermediate results stay in the cache.
_BLOCK_ROWS = 4096

LARGEST_SLOPE = 1e300  # of an output


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
        return list(self.names) if self.names is not None else [f"x{j}" for j in range(len(self.columns))]

    def kinds(self) -> NDArray[np.str_]:
        """The kind of each raw column."""
        return np.array([column.kind for column in self.columns])

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
        values = self.values_of(table, {} if folds is None else folds.places)
        imputations = [imputation for column in self.columns for imputation in column.imputations]
        neutral = self.neutral() if any(column.imputations and np.isnan(each).any() for column, each
                                        in zip(self.columns, values, strict=True)) else None
        outputs = np.empty((table.n_rows, self.n_outputs))
        for start in range(0, table.n_rows, _BLOCK_ROWS):
            of_block = [each[..., start : start + _BLOCK_ROWS] for each in values]
            block = self.outputs_of(of_block, folds, first_row + start)
            if neutral is not None:
                missing = {imputation.output: is_missing(each)
                           for column, each in zip(self.columns, of_block, strict=True)
                           for imputation in column.imputations}
                impute(block, imputations, missing, neutral)
            outputs[start : start + _BLOCK_ROWS] = block.T
        return outputs

    def values_of(self, table: RawTable, places: Mapping[int, Mapping[str, int]] = _NO_PLACES) -> list[Double]:
        """The values of each column, as its forms take them; of training rows those of texts by their places."""
        return [each.values_of(raw, column_name(self.names, j, table.title), places.get(j)) if each.forms
                else raw.values for j, (each, raw) in enumerate(zip(self.columns, table.columns, strict=True))]

    def outputs_of(self, values: Sequence[Double], folds: OutOfFold | None = None, first_row: int = 0) -> Double:
        """Outputs for such values, (n_outputs, n_rows), neutral where they are missing."""
        parts = []
        for j, (each, column_values) in enumerate(zip(self.columns, values, strict=True)):
            if each.forms:
                statistics = folds.of_column(j, column_values, first_row) if folds and folds.tables[j] else None
                parts.append(each.apply(column_values, statistics, values))
        return np.concatenate(parts)

    def neutral(self) -> Double:
        """Outputs of a row in which everything is missing."""
        return self.outputs_of([column.missing_values(1) for column in self.columns])[:, 0]

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
