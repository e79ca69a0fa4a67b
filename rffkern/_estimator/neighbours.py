"""Rows near a row, in units of raw columns: gradients along these, rows that differ in some, and what none reaches."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._column_map.cells import CATEGORY, NUMERIC
from .._column_map.compiled import mapped_values
from .._column_map.fitted_column import LARGEST_SLOPE
from .._column_map.fitted_map import FittedMap
from .._column_map.tables import RawColumn, RawTable, as_given, category_of_numbers
from .._model.expansion import Expansion
from .._model.gradients import Neighbourhood, gradient_of_row
from .._model.parts import KernelTerms, LinearTerms
from .._native.array_types import Double, Mask
from ..errors import InvalidInputError
from .base import fitted_map_of
from .explanations import of_outputs, reference_of_columns, rows_in_memory, sources_of

IsExcluded = Callable[[Double, Double, bool], bool]  # of a row, moves of its numbers, and whether they move together

_N_HALVINGS = 50  # of intervals that have a threshold
_N_RADII = 12  # that a certificate tries, each time halving the interval
_MOST_DIVIDED, _MOST_BOXES = 3, 300  # numbers whose neighbourhood is divided into boxes, and these
SLACK = 1e-9  # of what is missing to a target, by which it is exceeded so that rounding does not decide


def gradient(model: Any, X: Any) -> Double:
    """As `Predictor.gradient` of a snapshot."""
    rows = rows_in_memory(model, X, "X").astype(np.float64)  # or says that there is no expansion
    expansion, fitted, sources = model.expansion_, fitted_map_of(model), sources_of(model)
    values = [] if fitted is None else fitted.values_of(fitted.read(X, type(model).__name__))
    mapped = np.stack([gradient_of_row(expansion, row) for row in rows])
    if fitted is None:
        return of_outputs(mapped)
    slopes, imputed = _slopes(fitted, values, values)
    found = np.zeros((len(rows), len(fitted.columns), expansion.n_outputs))
    with np.errstate(over="ignore"):
        for output, source in enumerate(sources.tolist()):
            found[:, source] += mapped[:, output] * slopes[:, output, None]
        for output, predictor, factor, is_imputed in imputed:
            found[:, sources[predictor]] += np.where(
                is_imputed[:, None], mapped[:, output] * (factor * slopes[:, predictor])[:, None], 0.0)
    largest = np.finfo(np.float64).max
    return of_outputs(found.clip(-largest, largest))


def _slopes(fitted: FittedMap, low: Sequence[Double],
            high: Sequence[Double]) -> tuple[Double, list[tuple[int, int, float, Mask]]]:
    """Largest slopes (n_rows, n_outputs) of outputs along their columns, and (output, predictor, factor, rows) of
    outputs that are imputed.
    """
    own = [column.slopes(below, above) for column, below, above in zip(fitted.columns, low, high, strict=True)]
    imputed = [(imputation.output, int(k), float(factor), np.isnan(values[0]))
               for column, values in zip(fitted.columns, low, strict=True) if column.imputations
               if np.isnan(values[0]).any() for imputation in column.imputations
               for k, factor in zip(imputation.predictors, imputation.factors, strict=True)]
    return np.concatenate(own).T, imputed


class AllowedChanges(NamedTuple):
    """What may change of a row, by the indices of columns."""

    columns: Sequence[int]
    limits: Mapping[int, tuple[float | None, float | None]]  # of numbers; None for an open end
    steps: Mapping[int, float]  # of which multiples are added to numbers


def _one_row(model: Any, row: Any) -> Any:
    """A row as a table, or as an array of numbers where the model has no column map."""
    if hasattr(row, "to_dict") and np.ndim(row) == 1:  # a row of a data frame
        row = row.to_dict()
    if isinstance(row, Mapping) and all(np.ndim(cell) == 0 for cell in row.values()):
        row = {name: [cell] for name, cell in row.items()}
    elif not isinstance(row, (Mapping, RawTable)) and np.ndim(row) == 1:
        cells = row.tolist() if isinstance(row, np.ndarray) else list(row)
        is_mixed = any(not isinstance(cell, (int, float, np.number)) for cell in cells)
        row = np.array([cells], dtype=object if is_mixed else np.float64)
    fitted = fitted_map_of(model)
    rows: Any = model._check_rows(row).astype(np.float64) if fitted is None else \
        fitted.read(row, type(model).__name__, "row")
    n_rows = len(rows) if fitted is None else rows.n_rows
    if n_rows != 1:
        raise InvalidInputError(f"row must be one row, got {n_rows}")
    return rows


class Neighbours:
    """Rows that differ from one in some columns, as numbers: values, or indices of levels.

    Attributes
    ----------
    own : array of shape (n_columns,)
        The row itself.
    units : array of shape (n_columns,)
        Standard deviations of numbers, infinite of columns that stay as they are, 1 of categories.
    values : dict
        For each column that may change, the values that a search tries, in ascending order.
    numbers : list of int
        Those of these columns that are numbers.
    """

    def __init__(self, model: Any, row: Any, allowed: AllowedChanges) -> None:
        self._model, self._sources, self._steps = model, sources_of(model), allowed.steps
        self.fitted, references = fitted_map_of(model), reference_of_columns(model).columns
        given, n_columns = _one_row(model, row), len(references)
        self._table: RawTable | None = None if self.fitted is None else given
        self.is_category = np.zeros(n_columns, dtype=bool)
        self._levels: list[tuple[str, ...]] = [()] * n_columns
        self.own: Double = given[0] if self.fitted is None else np.empty(n_columns)
        columns = [] if self.fitted is None else zip(given.columns, self.fitted.columns, strict=True)
        for j, (raw, fitted) in enumerate(columns):
            if fitted.kind == CATEGORY and fitted.forms and raw.kind in (CATEGORY, NUMERIC):
                raw, self.is_category[j] = category_of_numbers(raw), True
                known = getattr(references[j], "levels", None) or fitted.levels
                self._levels[j] = (*raw.levels, *(level for level in known if level not in raw.levels))
            self.own[j] = raw.values[0]
        self.units, self.low, self.high = np.full(n_columns, np.inf), self.own.copy(), self.own.copy()
        for j in allowed.columns:
            reference = references[j]
            if self.is_category[j] and not np.isnan(self.own[j]):
                self.units[j] = 1.0
            elif reference is not None and reference.values and np.isfinite(self.own[j]) and self._is_number(j):
                values, shares = np.array(reference.values), reference.shares_of_values()
                scale = float(np.abs(values).max()) or 1.0
                values = values / scale
                deviation = scale * float(np.sqrt(shares @ (values - shares @ values) ** 2))
                low, high = allowed.limits.get(j, (None, None))
                self.low[j] = min(self.own[j], reference.low) if low is None else low
                self.high[j] = max(self.own[j], reference.high) if high is None else high
                if deviation > 0 and self.low[j] <= self.own[j] <= self.high[j]:
                    self.units[j] = deviation
        self.values = {j: self._values_of(j, references[j]) for j in np.flatnonzero(np.isfinite(self.units)).tolist()}
        self.numbers = [j for j in self.values if not self.is_category[j]]
        self._moving = self._moving_terms()

    def _is_number(self, j: int) -> bool:
        return self.fitted is None or (self.fitted.columns[j].kind == NUMERIC and bool(self.fitted.columns[j].forms))

    def _values_of(self, j: int, reference: Any) -> Double:
        """The values that a column may take, in ascending order."""
        if self.is_category[j]:
            return np.arange(float(len(self._levels[j])))
        values = np.clip(np.array([*reference.values, self.own[j], self.low[j], self.high[j]]), self.low[j],
                         self.high[j])
        values = np.unique(np.concatenate([values, self._sides_of_thresholds(j, np.unique(values))]))
        if j in self._steps:
            n_steps = (values - self.own[j]) / self._steps[j]
            values = self.own[j] + self._steps[j] * np.unique(np.concatenate([np.floor(n_steps), np.ceil(n_steps)]))
        return values[(values >= self.low[j]) & (values <= self.high[j])]

    def _sides_of_thresholds(self, j: int, values: Double) -> Double:
        """Values on both sides of each threshold of trees and regions along a numeric column."""
        found, splits = [np.empty(0)], [part._splits() for part in self._model.expansion_.parts]
        own = np.flatnonzero(self._sources == j)
        for place, output in enumerate(own.tolist()):
            thresholds = np.unique(np.concatenate([of[columns == output] for columns, of in splits] or [np.empty(0)]))

            def mapped(some: Double, place: int = place) -> Double:
                return some if self.fitted is None else mapped_values([self.fitted.columns[j]], [some[None]])[place]

            after = np.searchsorted(mapped(values), thresholds, side="right")
            inside = (after > 0) & (after < len(values))
            thresholds, low, high = thresholds[inside], values[after[inside] - 1], values[after[inside]]
            for _ in range(_N_HALVINGS):
                middle = low / 2 + high / 2
                is_above = mapped(middle) > thresholds
                low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
            found += [low, high]
        return np.concatenate(found)

    def is_continuous(self, column: int) -> bool:
        """Whether a column takes any number between its limits."""
        return not self.is_category[column] and column not in self._steps

    def distances(self, rows: Double) -> Double:
        """Distances from the row itself."""
        moved = rows - self.own
        moved[np.isnan(moved)] = 0.0
        return np.where(self.is_category, moved != 0, np.abs(moved) / self.units).sum(axis=1)

    def table_of(self, rows: Double) -> Any:
        """Rows as the model takes them."""
        if self._table is None:
            return rows
        columns = [RawColumn(CATEGORY, rows[:, j], self._levels[j]) if self.is_category[j] else
                   raw._replace(values=rows[:, j]) for j, raw in enumerate(self._table.columns)]
        return self._table._replace(columns=columns, n_rows=len(rows))

    def scores(self, rows: Double) -> Double:
        """Scores of rows."""
        return self._model._raw_scores(self.table_of(rows))

    def cells(self, row: Double) -> list[Any]:
        """The cells of a row."""
        if self._table is None:
            return [float(value) for value in row]
        one = np.zeros(1, dtype=np.intp)
        cells = [as_given(column, one)[0] for column in self.table_of(row[None]).columns]
        return [cell.item() if isinstance(cell, np.floating) else cell for cell in cells]

    def neighbourhood(self, row: Double, moves: Double, together: bool = False) -> Neighbourhood:
        """All rows in which numbers differ from those of a row by at most `moves` (n_numbers,): one of them by all of
        that, or several by shares that sum to 1; or, together, each by all of that.
        """
        reaches = np.zeros((self._model.expansion_.n_features, len(self.numbers)))
        if self.fitted is None:
            mapped, reaches[self.numbers, range(len(self.numbers))] = row, moves
        else:
            table = self.table_of(row[None])
            mapped, low, high = self.fitted.apply(table)[0], self.fitted.values_of(table), self.fitted.values_of(table)
            for j, move in zip(self.numbers, moves.tolist(), strict=True):
                low[j] = np.maximum(low[j] - move, self.low[j])
                high[j] = np.minimum(high[j] + move, self.high[j])
            slopes, imputed = _slopes(self.fitted, low, high)
            with np.errstate(over="ignore"):
                for k, j in enumerate(self.numbers):
                    own = np.where(self._sources == j, slopes[0] * moves[k], 0.0)
                    reaches[:, k] += own
                    for output, predictor, factor, _ in imputed:
                        reaches[output, k] += abs(factor) * own[predictor]
        if together:
            reaches = reaches.sum(axis=1, keepdims=True)
        return Neighbourhood(self._moving, mapped, np.minimum(reaches, LARGEST_SLOPE))

    def _moving_terms(self) -> Expansion:
        """The function without the terms that no number moves."""
        expansion: Expansion = self._model.expansion_
        moves = np.isin(self._sources, self.numbers)
        if self.fitted is not None:
            for column in self.fitted.columns:
                moves[[imputation.output for imputation in column.imputations]] = True
        parts = [part if isinstance(part, (LinearTerms, KernelTerms)) else part._take(np.flatnonzero(
            (part._reads(expansion.n_features) & moves).any(axis=1))) for part in expansion.parts]
        return Expansion(expansion.intercept, expansion.center, *parts, lower=expansion.lower, upper=expansion.upper)


# --- the certificate

def lower_bound(neighbours: Neighbours, outputs: Double, least: Double, distance: float) -> float:
    """A distance up to which no row has outputs (n_conditions, n_outputs) of its scores of `least` (n_conditions,).

    At most it is `distance`, that of one which has.
    Numbers move around the row, and around each row that one level differs of, as far as the distance that is left
    allows.  Where two categories may change, the bound is at most 2.
    """
    def is_excluded(row: Double, moves: Double, together: bool) -> bool:
        """Whether a bound excludes that rows near a row have them."""
        needed = least - outputs @ neighbours.scores(row[None])[0]
        near = neighbours.neighbourhood(row, moves, together) if (needed > 0).any() else None
        return near is not None and any(need > 0 and near.rise(each) < (1 - SLACK) * need
                                        for each, need in zip(outputs, needed, strict=True))

    of_numbers = _by_boxes if len(neighbours.numbers) <= _MOST_DIVIDED else _by_radius
    found = of_numbers(neighbours, is_excluded, neighbours.own, distance)
    categories = [j for j in neighbours.values if neighbours.is_category[j]]
    if len(categories) > 1:
        found = min(found, 2.0)
    for column in categories if found > 1 else ():
        for level in neighbours.values[column]:
            row = neighbours.own.copy()
            row[column] = level
            if found > 1 and level != neighbours.own[column]:
                found = 1 + of_numbers(neighbours, is_excluded, row, found - 1)
    return found


def _by_radius(neighbours: Neighbours, is_excluded: IsExcluded, row: Double, most: float) -> float:
    """The largest radius, up to `most`, of a ball of rows around one that is excluded as a whole."""
    units, low, high = neighbours.units[neighbours.numbers], 0.0, most
    if is_excluded(row, most * units, False):
        return most
    for _ in range(_N_RADII):
        middle = (low + high) / 2
        low, high = (middle, high) if is_excluded(row, middle * units, False) else (low, middle)
    return low


def _by_boxes(neighbours: Neighbours, is_excluded: IsExcluded, row: Double, most: float) -> float:
    """The same of few numbers, by boxes: the nearest one that is not excluded is halved, again and again."""
    numbers = neighbours.numbers
    own, units = row[numbers], neighbours.units[numbers]
    boxes = [(0.0, 0, np.maximum(own - most * units, neighbours.low[numbers]),
              np.minimum(own + most * units, neighbours.high[numbers]))]
    for count in range(_MOST_BOXES):
        if not boxes:
            return most
        _, _, low, high = heapq.heappop(boxes)
        middle, center = low / 2 + high / 2, row.copy()
        center[numbers] = middle
        if is_excluded(center, np.maximum(high - middle, middle - low), True):
            continue
        widest = int(((high - low) / units).argmax()) if numbers else 0
        for side in (0, 1) if numbers else ():
            ends = [low.copy(), high.copy()]
            ends[1 - side][widest] = middle[widest]
            distance = float((np.maximum(np.maximum(ends[0] - own, own - ends[1]), 0) / units).sum())
            if distance < most:
                heapq.heappush(boxes, (distance, 2 * count + 1 + side, ends[0], ends[1]))
    return boxes[0][0] if boxes else most
