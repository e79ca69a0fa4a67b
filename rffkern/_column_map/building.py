"""What training makes of the facts of a pass over a table: the forms of each column, and the map of all."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._native.array_types import NDArray
from .._rows.scaling import FEW, SPOILT
from ..errors import DataConversionWarning
from .fills import Sample, learn_fills
from .forms import BinsForm, BoundedForm, Form, MissingForm, PartForm, RankForm, RawForm, StandardForm
from .frozen import FrozenColumn
from .frozen_map import Folds, FrozenMap
from .levels import Levels, LevelsForm, TargetForm
from .raw import CATEGORY, DATE, EMPTY, LARGEST_INTEGER
from .survey import ColumnFacts, Survey
from .tables import RawTable

Double = NDArray[np.float64]

# A column whose spread is below one part in this counts as constant.
_LARGEST_INVERSE = 1e305


class MapSettings(NamedTuple):
    """The parameters of a `ColumnMap` that say which forms a column takes."""

    numeric: tuple[str, ...]
    n_knots: int
    n_bins: int
    max_levels: int
    min_level_rows: float  # in units of weight
    date_parts: bool
    unit: float  # weight of one row
    has_targets: bool


class BuiltColumn(NamedTuple):
    """A frozen column, and what its training rows get instead, by form: values for each level and fold."""

    column: FrozenColumn
    folds: dict[int, Double]


def build_column(facts: ColumnFacts, total: float, settings: MapSettings) -> BuiltColumn:
    """The forms that a column takes, from the facts of a pass over rows of some total weight."""
    folds: dict[int, Double] = {}
    forms: list[Form] = []
    levels: tuple[str, ...] = ()
    pools, reason = False, "constant"
    if facts.kind == EMPTY:
        return BuiltColumn(FrozenColumn(EMPTY, (), dropped="all values are missing"), {})
    if facts.kind == CATEGORY:
        if facts.levels is None:
            return BuiltColumn(FrozenColumn(CATEGORY, (), dropped="too many levels"), {})
        found, form, table = _of_levels(facts, settings)
        levels, pools = found.kept, bool(found.weights[-1].sum() > 0)
        if not levels and np.count_nonzero(facts.levels.weights.any(axis=1)) > 1:
            reason = "all levels are rare"
        if form is not None:
            forms.append(form)
        if table is not None:
            folds[0] = table
    elif facts.moments.deviation * _LARGEST_INVERSE <= 1:
        if abs(facts.moments.mean) >= LARGEST_INTEGER:
            reason = "constant in float64, which rounds integers of 2^53 or more"
    else:
        _warn_of_few_rows(facts, settings)
        forms += [_numeric_form(name, facts, settings) for name in settings.numeric]
    if facts.kind == DATE and settings.date_parts:
        forms += [PartForm(part) for part in facts.varying_parts]
    if facts.missing > 0:
        forms.append(MissingForm(facts.missing / total))
    return BuiltColumn(FrozenColumn(facts.kind, tuple(forms), levels, pools, "" if forms else reason), folds)


def _warn_of_few_rows(facts: ColumnFacts, settings: MapSettings) -> None:
    """Warn of a column whose deviation comes from a few rows far out, where no form tells the others apart."""
    if {*settings.numeric} <= {"raw", "standard"}:
        low, high = facts.summary.quantile(FEW / 2), facts.summary.quantile(1 - FEW / 2)
        if 0 < (high - low) * SPOILT < facts.moments.deviation:
            values = facts.summary.values
            warnings.warn(
                f"{facts.name} has a few rows so far out, between {values[0]:.3g} and {values[-1]:.3g}, that its "
                f"standard deviation says nothing of all others, which lie between {low:.3g} and {high:.3g}.  If these "
                'rows are errors, leave them out; else add a form that tells others apart, as '
                'ColumnMap(("standard", "rank"))',
                DataConversionWarning, stacklevel=2)


def _numeric_form(name: str, facts: ColumnFacts, settings: MapSettings) -> Form:
    _, mean, deviation = facts.moments
    if name == "raw":
        return RawForm(mean)
    if name == "standard":
        return StandardForm(mean, 1 / deviation)
    if name == "bounded":
        return BoundedForm.of(facts.summary)
    if name == "rank":
        return RankForm.of(facts.summary, settings.n_knots)
    return BinsForm.of(facts.summary, settings.n_bins)


def _of_levels(facts: ColumnFacts, settings: MapSettings) -> tuple[Levels, Form | None, Double | None]:
    """The levels kept, and the form of them: none where only one group occurs."""
    assert facts.levels is not None
    found = Levels.of(facts.levels, settings.min_level_rows, None)
    if len(found.kept) > settings.max_levels and settings.has_targets:
        target, folds = TargetForm.of(found, settings.unit)
        return found, target, folds
    found = Levels.of(facts.levels, settings.min_level_rows, settings.max_levels)
    return found, LevelsForm.of(found) if len(found.shares()) > 1 else None, None


def build_map(names: tuple[str, ...] | None, facts: Sequence[ColumnFacts], survey: Survey,
              settings: MapSettings) -> tuple[FrozenMap, Folds]:
    """The map of a pass and its facts, and what the training rows get instead of target statistics."""
    built = [build_column(each, survey.weight, settings) for each in facts]
    first: dict[bytes, int] = {}
    for j, (each, (column, _)) in enumerate(zip(facts, built, strict=True)):
        earlier = first.setdefault(each.digest, j)
        if column.forms and earlier < j:
            other = repr(names[earlier]) if names else f"column {earlier}"
            built[j] = BuiltColumn(FrozenColumn(column.kind, (), dropped=f"equal to {other}"), {})
    if not any(column.forms for column, _ in built):  # one output, always 0: a table of no columns helps nobody
        built[0] = BuiltColumn(FrozenColumn(EMPTY, (StandardForm(0.0, 1.0),)), {})
    found = FrozenMap(names, tuple(column for column, _ in built))
    if any(facts.missing > 0 and column.forms for facts, (column, _) in zip(facts, built, strict=True)):
        table, weights = survey.sample()
        found = _filling(found, table, weights / settings.unit)
    return found, [folds for _, folds in built]


def _filling(frozen: FrozenMap, table: RawTable, weights: Double) -> FrozenMap:
    """The same map with what stands for missing values, told from a sample of the training rows."""
    columns, values = frozen.columns, frozen.values_of(table)
    of_values = np.array([form != "missing" for column in columns for form, _ in column.outputs])
    sources = np.repeat(np.arange(len(columns)), [len(column.outputs) for column in columns])
    missing = {j: np.isnan(held) for j, (column, held) in enumerate(zip(columns, values, strict=True))
               if any(form.name == "missing" for form in column.forms)}
    fills = learn_fills(Sample(frozen.outputs_of(values), weights, sources, frozen.neutral()), missing, of_values)
    return frozen._replace(columns=tuple(
        column._replace(fills=tuple(fill for fill in fills if sources[fill.output] == j))
        for j, column in enumerate(columns)))
