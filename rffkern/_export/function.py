"""What a trained model computes, in parts that every target can write; how it was learned is not among them."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.cells import EMPTY, NUMERIC
from .._column_map.compiled import entries_of
from .._column_map.imputation import Imputation
from .._column_map.transforms import RankForm
from .._estimator.base import Model
from .._estimator.links import LARGEST_LOG, TAIL, LinearLink, LogisticLink, SoftmaxLink
from .._model.expansion import Expansion
from .._model.parts import FourierTerms, KernelTerms, LinearTerms, TreeTerms
from .._model.tree_layout import UNREACHED
from ..errors import InvalidInputError

Array = NDArray[Any]

# From a score h to what is asked for: the probability of the second of two classes, and the logarithm of what the
# probabilities of more classes are proportional to; `_estimator/links.py` has the same for arrays.
_POSITIVE = {LogisticLink: "0.5 * (1 + tanh(0.5 * slope * h))", LinearLink: "max(0, min(1, 0.5 * (1 + h)))"}
_LOG_ODDS = {SoftmaxLink: "h", LogisticLink: "min(0, slope * h) - log(1 + exp(-abs(slope * h)))",
             LinearLink: "log(0.5 * max(1 + h, tail)) + min(0, (1 + h) / tail - 1)"}
_TARGETS = {"scores": "h", "means": "exp(min(h, largest))"}
LEAST = "least"  # of all scores: the target of several quantiles


class Part(NamedTuple):
    """A sum over terms: Fourier, linear, trees or kernels of one shape."""

    kind: str  # that of the part of the expansion
    arrays: Mapping[str, Array]
    shape: str = ""  # of kernels, among `formulas.KERNELS`


class Output(NamedTuple):
    """A column after mapping: a form of the value x of one raw column, over a divisor."""

    kind: str  # among `formulas.FORMS`
    source: int
    missing: float  # in place of the form, where x is missing
    divisor: float
    numbers: list[float]  # a, b, c, d
    knots: Array  # of a rank
    heights: Array


class RowMap(NamedTuple):
    """From raw rows to those that the parts read."""

    outputs: tuple[Output, ...]
    imputations: tuple[Imputation, ...]  # for outputs whose raw value is missing
    neutral: list[float]  # outputs of a row in which all is missing


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

    @property
    def n_features(self) -> int:
        """Columns after mapping."""
        return self.n_columns if self.mapping is None else len(self.mapping.outputs)

    @property
    def n_answers(self) -> int:
        """Probabilities or predictions of a row."""
        return 1 if self.answer.least else len(self.answer.labels or self.intercept)

    def column_names(self) -> list[str]:
        """Names of the raw columns, x0 and so on where they have none."""
        return self.names or [f"x{j}" for j in range(self.n_columns)]


def function_of(model: Any) -> Function:
    """What a model or an expansion computes; InvalidInputError for what has no such form."""
    if isinstance(model, Expansion):
        return _function(model, model, None)
    if not isinstance(model, Model):
        raise InvalidInputError("model must be a fitted estimator of rffkern, other than a ColumnMap, or an expansion, "
                                f"got {type(model).__name__}")
    now: Any = model._snapshot()
    now._check_fitted()
    expansion = now._exported() if hasattr(now, "_exported") else now.expansion_
    return _function(now, expansion, vars(now).get("column_map_"))


def _function(model: Any, expansion: Expansion, column_map: Any) -> Function:
    mapping = None if column_map is None else _mapping_of(column_map)
    names = getattr(model, "feature_names_in_", None)
    return Function(type(model).__name__, None if names is None else [str(name) for name in names],
                    getattr(model, "n_features_in_", expansion.n_features), mapping, _bounds_of(expansion),
                    expansion.intercept, _parts(expansion), _answer_of(model))


def _bounds_of(expansion: Expansion) -> dict[str, Array] | None:
    """The bounds of an expansion that has some."""
    if expansion.lower is None or expansion.upper is None:
        return None
    bounds = {"lower": expansion.lower, "upper": expansion.upper}
    return bounds if any((np.abs(array) < UNREACHED).any() for array in bounds.values()) else None


def _mapping_of(column_map: Any) -> RowMap:
    """Forms of numeric columns alone; others are refused."""
    frozen = column_map._fitted_map()
    for name, column in zip(frozen.column_names(), frozen.columns, strict=True):
        if column.forms and column.kind not in (NUMERIC, EMPTY):
            raise InvalidInputError(f"only models of numeric columns can be exported: column {name!r} of the model "
                                    f"holds {'categories' if column.kind == 'category' else column.kind + ' values'}; "
                                    "turn it into numbers before training")
    outputs = []
    for source, column in enumerate(frozen.columns):
        if column.kind == EMPTY:  # whatever stands there counts as missing: the outputs are always the same
            outputs += [Output("within", source, value, 1.0, [-math.inf, math.inf, value, value], *[np.empty(0)] * 2)
                        for value in column.apply(np.array([np.nan]))[:, 0].tolist()]
            continue
        for form, (kind, missing, *numbers), divisor in entries_of(column):
            ranks = (form.knots, form.ranks) if isinstance(form, RankForm) else (np.empty(0), np.empty(0))
            outputs.append(Output(kind, source, missing, divisor, numbers, *ranks))
    imputations = tuple(imputation for column in frozen.columns for imputation in column.imputations)
    return RowMap(tuple(outputs), imputations, frozen.neutral().tolist())


def _parts(expansion: Expansion) -> tuple[Part, ...]:
    """The parts of an expansion that add anything."""
    parts, center = [], {"center": expansion.center}
    for part in expansion.parts:
        if isinstance(part, FourierTerms):
            parts.append(Part("fourier", part.arrays() | center))
        elif isinstance(part, LinearTerms):
            parts.append(Part("linear", part.arrays() | center if part.coefficients.any() else {}))
        elif isinstance(part, TreeTerms):
            parts.append(Part("trees", {
                "tree_columns": part.tree_columns.astype(np.int64), "tree_thresholds": part.tree_thresholds,
                "steps": part.layout.steps.astype(np.int64), "starts": part.starts[:-1].astype(np.int64),
                "values": part.tree_values}))
        elif isinstance(part, KernelTerms):
            if part.n_regions > 1:
                raise InvalidInputError(f"kernels in {part.n_regions} regions cannot be exported; train with "
                                        "kernel_ridge=False (Fourier boosting) or region_size=None (kernel ridge "
                                        "regression)")
            arrays = {name: getattr(part, name) for name in ("centers", "weights", "inverse_length_scales")}
            parts.append(Part("kernels", arrays, part.shape))
        else:
            raise InvalidInputError(f"terms of kind {part.kind!r} cannot be exported")
    return tuple(part for part in parts if part.arrays and len(next(iter(part.arrays.values()))))


def _answer_of(model: Any) -> Answer:
    if hasattr(model, "classes_"):
        link = model._link()
        formulas = _POSITIVE if len(model.classes_) == 2 else _LOG_ODDS
        formula = next(formulas[cls] for cls in type(link).__mro__ if cls in formulas)
        labels, dtype = model.classes_.tolist(), model.classes_.dtype
        if len({*map(type, labels)}) > 1 or not isinstance(labels[0], (bool, int, float, str)) or dtype.kind in "Mm":
            raise InvalidInputError("only models whose labels are truth values, numbers or text, and of one kind, can "
                                    f"be exported, got {labels[0]!r} of dtype {dtype}; train the model on labels as "
                                    "text")
        numbers = {"slope": float(getattr(link, "slope", 1.0)), "tail": TAIL}
        return Answer(labels, formula, numbers, dtype=dtype.newbyteorder("=").name if dtype.kind in "biuf" else
                      "object" if dtype.kind == "O" else "str")
    rule = model._target_rule() if hasattr(model, "_target_rule") else "scores"
    return Answer(None, _TARGETS.get(rule, "h"), {"largest": LARGEST_LOG}, rule == LEAST)
