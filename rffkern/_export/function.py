"""What a trained model computes, in parts that every target can write; how it was learned is not among them."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.cells import (
    _BOOLEAN_WORDS,
    BOOLEANS,
    EMPTY,
    MISSING,
    NUMERIC,
    Reading,
    is_number,
    level_text,
)
from .._column_map.compiled import Values, mapped_values, outputs_of
from .._column_map.fitted_column import FittedColumn
from .._column_map.fitted_map import FittedMap
from .._column_map.imputation import Imputation
from .._estimator.base import Model, fitted_map_of
from .._estimator.conformal import End, check_coverage, ends_of, record_for
from .._estimator.links import LARGEST_LOG, TAIL, LinearLink, LogisticLink, SoftmaxLink, several_quantiles
from .._model.expansion import Expansion
from .._model.parts import KernelTerms
from .._model.tree_layout import UNREACHED
from .._rows.validation import shown_names
from ..errors import InvalidInputError
from . import TARGETS, listed
from .contributions import ContributionArrays, contributions_of

Array = NDArray[Any]

# From a score h to what is asked for: the probability of the second of two classes, and the logarithm of what the
# probabilities of more classes are proportional to; `_estimator/links.py` has the same for arrays.
_POSITIVE = {LogisticLink: "0.5 * (1 + tanh(0.5 * slope * h))", LinearLink: "max(0, min(1, 0.5 * (1 + h)))"}
_LOG_ODDS = {SoftmaxLink: "h", LogisticLink: "min(0, slope * h) - log(1 + exp(-abs(slope * h)))",
             LinearLink: "log(0.5 * max(tail, 1 + h)) + min(0, (1 + h) / tail - 1)"}
_TARGETS = {"scores": "h", "means": "exp(min(largest, h))"}
# Seconds of some date of each day of the week, from Monday on, and of the year; days that no month has are not read.
_OF_EACH: dict[str, NDArray[np.float64]] = {
    "weekday": np.array([86400.0 * k for k in range(4, 11)]),
    "yearday": np.array([np.datetime64(f"2000-{month:02d}", "s") + np.timedelta64(day, "D")
                         for month in range(1, 13) for day in range(31)]).astype(np.float64)}
_SHORT = 5  # letters of words that are listed in all cases
LEAST = "least"  # of all scores: the target of several quantiles


class Part(NamedTuple):
    """A sum over terms: Fourier, linear, trees or kernels of one shape."""

    kind: str  # that of the part of the expansion
    arrays: Mapping[str, Array]
    shape: str = ""  # of kernels, among `formulas.KERNELS`

    @property
    def n_regions(self) -> int:
        """Of kernels, in how many regions they are."""
        return len(self.arrays.get("region_starts", (0, 0))) - 1

    def of_kind(self, sums: Mapping[str, Any]) -> Any:
        """What a target has for terms of this kind, by the kinds that it knows."""
        if self.kind not in sums:
            raise InvalidInputError(f"terms of kind {self.kind!r} cannot be exported to this target")
        return sums[self.kind]


class Column(NamedTuple):
    """How a raw column becomes a value: a number, the seconds of a date since 1970, or the place of a level."""

    reading: Reading  # of kind EMPTY where the column is not read, and its value is missing
    levels: tuple[str, ...] = ()  # sorted
    other: float = math.nan  # the value of levels that are not among them; nan where these count as missing

    @property
    def kind(self) -> str:
        """What the values are."""
        return self.reading.kind

    def numbers(self) -> dict[float, int]:
        """The places of levels that numbers mean."""
        found = {float(level): k for k, level in enumerate(self.levels)
                 if is_number(level) and level_text(float(level)) == level}
        return {float(value): k for value, k in enumerate(self.truth_values()) if k is not None} | found

    def truth_values(self) -> tuple[int | None, int | None]:
        """The places of the levels "False" and "True", which words of several languages mean."""
        no, yes = (self.levels.index(level) if level in self.levels else None for level in BOOLEANS)
        return no, yes

    def texts(self) -> dict[str, float]:
        """The value of each text with a meaning, as far as they can be listed: for engines that compare whole texts.

        Levels come first, then words for a missing value, whole numbers that are written with a point, and truth
        values.
        """
        found: dict[str, float] = {level: float(k) for k, level in enumerate(self.levels)}
        words: dict[str, float] = {**dict.fromkeys(sorted(MISSING), math.nan), **{
            word: float(k) for pair in _BOOLEAN_WORDS for word, k in zip(pair, self.truth_values(), strict=True)
            if k is not None}}
        numbers = {text: float(k) for value, k in self.numbers().items() if value.is_integer()
                   for text in (repr(value), repr(int(value))) if abs(value) < 2.0**53}
        cases = {case: value for word, value in words.items() for case in sorted(_cases(word))}
        return cases | numbers | found


def _cases(word: str) -> set[str]:
    """A word in lower and upper case, and with a capital: of short ones all letters by themselves."""
    if len(word) <= _SHORT:
        return {"".join(each) for each in itertools.product(*((letter, letter.upper()) for letter in word))}
    return {word, word.upper(), word.capitalize()}


class Output(NamedTuple):
    """A column after mapping: a form of the value x of a raw column, or of its text or date, over a divisor."""

    kind: str  # among `formulas.FORMS` and `formulas.PLACES`
    column: int
    source: int  # its value, or one behind those of columns
    missing: float  # in place of the form, where x is missing
    divisor: float = 1.0
    numbers: Sequence[float] = ()  # a, b, c, d of those that have some
    knots: Array = np.empty(0)  # of a rank
    heights: Array = np.empty(0)  # of a rank, or a table


class RowMap(NamedTuple):
    """From raw rows to those that the parts read."""

    columns: tuple[Column, ...]
    outputs: tuple[Output, ...]
    imputations: tuple[Imputation, ...]  # for outputs whose raw value is missing
    neutral: list[float]  # outputs of a row in which all is missing
    values: Values

    @property
    def reads_cells(self) -> bool:
        """Whether some columns are no plain numbers, so that a row is one of cells."""
        return any(column.kind not in (EMPTY, NUMERIC) or column.reading.format for column in self.columns)


class Answer(NamedTuple):
    """What becomes of the scores of a row."""

    labels: list[Any] | None  # of a classifier: truth values, whole numbers, floats or text
    formula: str  # of a score h: a probability, a logarithm of odds, or a target
    numbers: Mapping[str, float]  # in the formula
    least: bool = False  # whether the least of all is the only target
    dtype: str = ""  # of the labels

    @property
    def are_whole(self) -> bool:
        """Whether the labels are whole numbers."""
        return isinstance((self.labels or [""])[0], int)

    @property
    def fit_int64(self) -> bool:
        """Whether the labels are whole numbers that a signed integer of 64 bits holds."""
        return self.are_whole and all(-(2**63) <= label < 2**63 for label in self.labels or ())


class Intervals(NamedTuple):
    """Intervals around the targets, by what `predict_interval` knows for a coverage."""

    ends: list[tuple[End, End]]  # lower and upper of each target
    of_scores: bool  # around scores, of several quantiles; else around targets
    is_positive: bool  # whether no target is below 0


class Function(NamedTuple):
    """A model as a function of a row."""

    title: str
    names: list[str] | None  # of the raw columns
    n_columns: int
    mapping: RowMap | None
    bounds: Mapping[str, Array] | None  # "lower" and "upper", to which mapped columns are clipped
    intercept: Array
    parts: tuple[Part, ...]
    answer: Answer
    intervals: Intervals | None = None
    contributions: ContributionArrays | None = None

    @property
    def n_features(self) -> int:
        """Columns after mapping."""
        return self.n_columns if self.mapping is None else len(self.mapping.outputs)

    @property
    def n_answers(self) -> int:
        """Probabilities or predictions of a row."""
        return 1 if self.answer.least else len(self.answer.labels or self.intercept)

    @property
    def cells(self) -> RowMap | None:
        """The mapping, where a row is one of cells."""
        return self.mapping if self.mapping is not None and self.mapping.reads_cells else None

    def column_names(self) -> list[str]:
        """Names of the raw columns, x0 and so on where they have none."""
        return shown_names(self.names, self.n_columns)


def function_of(model: Any, interval: float | None = None, explain: bool = False) -> Function:
    """What a model or an expansion computes, with intervals of a coverage and contributions of columns if asked for."""
    if interval is not None and not hasattr(model, "predict_interval"):
        raise InvalidInputError(f"interval must be None for {type(model).__name__}, which has no predict_interval, got "
                                f"{interval!r}")
    if explain and not hasattr(model, "explain"):
        raise InvalidInputError(f"explain must be False for {type(model).__name__}, which has no explain")
    if isinstance(model, Expansion):
        return _function(model, model)
    if not isinstance(model, Model):
        raise InvalidInputError("model must be a fitted estimator of rffkern, other than a ColumnMap, or an expansion, "
                                f"got {type(model).__name__}")
    now: Any = model._snapshot()
    now._check_fitted()
    expansion = now._exported() if hasattr(now, "_exported") else now.expansion_
    function = _function(now, expansion)
    if interval is not None:
        coverage, quantiles = check_coverage(interval), several_quantiles(now)
        ends = ends_of(record_for(now), now.expansion_.n_outputs, coverage, quantiles)
        function = function._replace(intervals=Intervals(ends, bool(quantiles), now._target_rule() == "means"))
    return function._replace(contributions=contributions_of(now)) if explain else function


def _function(model: Any, expansion: Expansion) -> Function:
    fitted = fitted_map_of(model)
    mapping = None if fitted is None else _mapping_of(fitted)
    names = getattr(model, "feature_names_in_", None)
    return Function(type(model).__name__, None if names is None else [str(name) for name in names],
                    getattr(model, "n_features_in_", expansion.n_features), mapping, _bounds_of(expansion),
                    expansion.intercept, _parts(expansion), _answer_of(model))


def check_texts(function: Function, to: str, without: str = "") -> None:
    """InvalidInputError for what a target cannot hold: free text, and labels and levels with some character."""
    if function.mapping is not None and function.mapping.values.texts and not TARGETS[to].reads_text:
        name = function.column_names()[function.mapping.values.texts[0][0]]
        readers = listed([repr(name) for name, target in TARGETS.items() if target.reads_text], "or")
        raise InvalidInputError(f"column {name!r} of the model holds free text, of which files of the target {to!r} "
                                f"count no words and letters; export the model to {readers}, or leave the column out "
                                "before training")
    texts = {"a label": [label for label in function.answer.labels or () if isinstance(label, str)]}
    if function.mapping is not None:
        texts |= {f"a level of column {name!r}": [*column.levels, *column.reading.words]
                  for name, column in zip(function.column_names(), function.mapping.columns, strict=True)}
    for what, each in texts.items():
        for text in each:
            is_lone = not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
            if is_lone or (without and without in text):
                raise InvalidInputError(f"{what}, {text!r}, has a character that no text of the target {to!r} has; "
                                        "export the model to 'numpy'")


def _bounds_of(expansion: Expansion) -> dict[str, Array] | None:
    """The bounds of an expansion that has some."""
    if expansion.lower is None or expansion.upper is None:
        return None
    bounds = {"lower": expansion.lower, "upper": expansion.upper}
    return bounds if any((np.abs(array) < UNREACHED).any() for array in bounds.values()) else None


def _mapping_of(fitted: FittedMap) -> RowMap:
    values = Values.of(fitted.columns)
    columns = tuple(Column(column.reading, column.levels, float(len(column.levels)) if column.has_rare else math.nan)
                    for column in fitted.columns)
    sources = iter(values.sources)
    outputs = tuple(output for j, column in enumerate(fitted.columns) for output in _outputs_of(column, j, sources))
    imputations = tuple(imputation for column in fitted.columns for imputation in column.imputations)
    return RowMap(columns, outputs, imputations, fitted.neutral().tolist(), values)


def _outputs_of(column: FittedColumn, place: int, sources: Iterator[int]) -> Iterator[Output]:
    """Outputs of a column, which take the next sources."""
    for (form, (kind, missing, *numbers), divisor, *tables), name in zip(
            outputs_of(column), (name for _, name in column.outputs), strict=True):
        if kind == "part" and form.name == "hour":
            yield Output(name, place, next(sources), missing)
        elif kind == "part":
            angles = mapped_values([column._replace(forms=(form,))], [_OF_EACH[form.name][None]])
            yield Output(form.name, place, next(sources), missing, heights=angles[form.outputs.index(name)])
        else:
            yield Output(kind, place, next(sources), missing, divisor, numbers, *tables)


def _parts(expansion: Expansion) -> tuple[Part, ...]:
    """The parts of an expansion that add anything."""
    parts = (Part(part.kind, part._exported(expansion.center), part.shape if isinstance(part, KernelTerms) else "")
             for part in expansion.parts)
    return tuple(part for part in parts if part.arrays)


def _answer_of(model: Any) -> Answer:
    if hasattr(model, "classes_"):
        link = model._link()
        formulas = _POSITIVE if len(model.classes_) == 2 else _LOG_ODDS
        formula = next(formulas[cls] for cls in type(link).__mro__ if cls in formulas)
        labels, dtype = model.classes_.tolist(), model.classes_.dtype
        numbers = {"slope": float(getattr(link, "slope", 1.0)), "tail": TAIL}
        return Answer(labels, formula, numbers, dtype=dtype.newbyteorder("=").name if dtype.kind in "biuf" else
                      "object" if dtype.kind == "O" else "str")
    rule = "scores" if isinstance(model, Expansion) else model._target_rule()
    return Answer(None, _TARGETS.get(rule, "h"), {"largest": LARGEST_LOG}, rule == LEAST)
