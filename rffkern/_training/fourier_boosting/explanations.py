"""What a model makes of columns: partial dependence, interactions, and contributions of columns to the score of a row.

All of it is told in columns of the raw table: the mapped columns of one raw column change together.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._column_map.tables import CATEGORY, DATE, RawColumn
from ..._model.expansion import Expansion
from ..._native.array_types import NDArray
from .parts import columns_of_kernels, columns_read, some_terms

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows of a table that mean scores are taken over at most, and those at which interactions are told, evenly spaced.
_MOST_ROWS, _MOST_POINTS = 500, 60

# Columns of most importance of which all pairs are compared.
_MOST_COLUMNS = 8

# Numbers of rows that are made for a call of the scoring kernels.
_BLOCK = 1 << 20


class PartialDependence(NamedTuple):
    """Values of a column, and the mean score where all rows have that value in it."""

    values: NDArray[Any]  # (n_values,)
    scores: Double  # (n_values,), or (n_values, n_outputs)


class Interaction(NamedTuple):
    """How much of the joint effect of two columns is not a sum of an effect of each."""

    first: Any  # name of the column, or its index where the table has no names
    second: Any
    strength: float  # H^2
    size: float  # root mean square of that part, in units of the score


class Explanation(NamedTuple):
    """Scores in parts: constant + contributions of all columns + joint is the score, up to rounding."""

    columns: NDArray[Any]  # (n_features,) names of the columns, or their indices where the table has no names
    contributions: Double  # (n_samples, n_features), or (n_samples, n_features, n_outputs): of terms of one column
    joint: Double  # (n_samples,), or (n_samples, n_outputs): of terms that read several columns
    constant: Double  # (), or (n_outputs,)
    clipped: NDArray[np.bool_]  # (n_samples, n_features): whether a column lies outside the bounds of the model


class MappedTable(NamedTuple):
    """Rows as an expansion takes them, and the raw column of each of its columns."""

    expansion: Expansion
    rows: NDArray[Any]  # (n_rows, n_mapped), clipped to the bounds of the expansion
    sources: Indices  # (n_mapped,)
    n_columns: int  # of the raw table
    n_threads: int | None

    def mapped(self, column: int) -> Indices:
        """The columns of the expansion that are made of one of the table."""
        return np.flatnonzero(self.sources == column)

    def reading(self, columns: Sequence[int]) -> "MappedTable":
        """The same for the terms that read any of some columns; all others add a constant where these change."""
        reads = columns_read(self.expansion, self.sources, self.n_columns)[:, list(columns)].any(axis=1)
        own = np.flatnonzero(np.isin(self.sources, columns))
        terms = some_terms(self.expansion, np.flatnonzero(reads), own)
        in_kernels = columns_of_kernels(self.expansion, self.sources, self.n_columns)[list(columns)].any()
        return self._replace(expansion=terms + self.expansion._only("kernels") if in_kernels else terms)


def partial_dependence(table: MappedTable, column: int, values: Double, n_points: int) -> tuple[Indices, Double]:
    """Rows whose values the column takes, in ascending order of the values, and mean scores (n_points, n_outputs).

    Where there are more distinct values, those are taken that lie evenly in the order of rows by value: its quantiles.
    Missing values are one more value.
    """
    present = np.flatnonzero(~np.isnan(values))
    missing = np.flatnonzero(np.isnan(values))[:1]
    points = np.concatenate([present[_spread(values[present], n_points - len(missing))], missing])
    moving = table.reading([column])
    some = _some(table.rows, _MOST_ROWS)
    whole, part = (each._scorer.score(some, table.n_threads) for each in (table.expansion, moving.expansion))
    return points, _mean_scores(moving, table.mapped(column), points, _MOST_ROWS) + (whole - part).mean(axis=0)


def interaction(table: MappedTable, first: int, second: int) -> tuple[Double, Double]:
    """H^2 of two columns, and the root mean square of the part that is not a sum, for each output."""
    points = _evenly(len(table.rows), _MOST_POINTS)
    parts = [_centred(table, [column], points) for column in (first, second)]
    return _joint(_centred(table, [first, second], points), *parts)


def interactions(table: MappedTable, importances: Double) -> list[tuple[int, int, float, float]]:
    """Pairs of columns with H^2, told for all outputs together, and size, the largest first.

    They are those pairs of the most important columns that terms read together.  All others have no interaction.
    """
    points = _evenly(len(table.rows), _MOST_POINTS)
    chosen = np.sort(np.argsort(-importances, kind="stable")[:_MOST_COLUMNS]).tolist()
    reads = columns_read(table.expansion, table.sources, table.n_columns)
    reads = np.vstack([reads, columns_of_kernels(table.expansion, table.sources, table.n_columns)])
    alone = {column: _centred(table, [column], points) for column in chosen}
    found = []
    for first, second in itertools.combinations(chosen, 2):
        if (reads[:, first] & reads[:, second]).any():
            both = _centred(table, [first, second], points)
            rest, whole = (_root_mean_square(each.reshape(-1)) for each in (both - alone[first] - alone[second], both))
            strength = float((rest / whole) ** 2) if whole > 0 else 0.0
            found.append((first, second, strength, float(rest * np.sqrt(both.shape[1]))))
    return sorted(found, key=lambda pair: -pair[3])


def explain(table: MappedTable) -> tuple[Double, Double]:
    """What lines and terms that read one column add to the scores (n_rows, n_columns, n_outputs), and what others do.

    The latter are of shape (n_rows, n_outputs).  Terms that read no column are constant and count with the others.
    All kernels read the same columns.
    """
    reads = columns_read(table.expansion, table.sources, table.n_columns)
    single = reads.sum(axis=1) == 1
    alone = np.zeros((len(table.rows), table.n_columns, table.expansion.n_outputs))
    in_lines = np.zeros(table.n_columns, dtype=bool)
    if table.expansion.linear is not None:
        in_lines[table.sources[table.expansion.linear.coefficients.any(axis=1)]] = True
    for column in np.flatnonzero(reads[single].any(axis=0) | in_lines).tolist():
        terms = some_terms(table.expansion, np.flatnonzero(single & reads[:, column]), table.mapped(column))
        alone[:, column] = terms._scorer.score(table.rows, table.n_threads)
    joint = some_terms(table.expansion, np.flatnonzero(~single))._scorer.score(table.rows, table.n_threads)
    if table.expansion.kernels is not None:
        kernels = table.expansion._only("kernels")
        own = np.flatnonzero(columns_of_kernels(table.expansion, table.sources, table.n_columns))
        (alone[:, own[0]] if len(own) == 1 else joint)[:] += kernels._scorer.score(table.rows, table.n_threads)
    return alone, joint


def as_given(column: RawColumn, rows: Indices) -> NDArray[Any]:
    """Values of a raw column at some rows: text of categories, None where it is missing, dates in UTC, or numbers."""
    values = column.values[rows]
    if column.kind == CATEGORY:
        return np.array([None if np.isnan(code) else column.levels[int(code)] for code in values], dtype=object)
    if column.kind == DATE:
        return (values * 1000).round().astype("datetime64[ms]")
    return values


def _spread(values: Double, n_points: int) -> Indices:
    """Places of distinct values in ascending order: all, or so many of them, evenly spaced in the order of values."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)  # where equal values begin; nan differs
    if len(starts) > n_points:
        places = np.linspace(0, len(order) - 1, max(n_points, 1)).astype(np.intp)
        starts = np.unique(starts[np.searchsorted(starts, places, side="right") - 1])
    return order[starts]


def _evenly(n_rows: int, n_points: int) -> Indices:
    """Indices of so many rows at most, evenly spaced."""
    return np.linspace(0, n_rows - 1, min(n_rows, n_points)).astype(np.intp)


def _some(rows: NDArray[Any], n_points: int) -> NDArray[Any]:
    return rows[_evenly(len(rows), n_points)]


def _mean_scores(table: MappedTable, own: Indices, points: Indices, n_others: int) -> Double:
    """For each point, the mean score of rows that have its values in some mapped columns (n_points, n_outputs).

    This is the partial dependence of Friedman (2001), "Greedy function approximation: a gradient boosting machine",
    equation 53, with the mean over at most so many rows.
    """
    others = _some(table.rows, n_others)
    means = np.empty((len(points), table.expansion.n_outputs))
    n_together = max(1, _BLOCK // others.size)
    for start in range(0, len(points), n_together):
        some = points[start : start + n_together]
        changed = np.tile(others, (len(some), 1, 1))
        changed[:, :, own] = table.rows[some][:, None, own]
        scores = table.expansion._scorer.score(changed.reshape(-1, others.shape[1]), table.n_threads)
        means[start : start + n_together] = scores.reshape(len(some), len(others), -1).mean(axis=1)
    return means


def _centred(table: MappedTable, columns: Sequence[int], points: Indices) -> Double:
    """Partial dependence on columns at the points, of mean 0."""
    own = np.concatenate([table.mapped(column) for column in columns])
    means = _mean_scores(table.reading(columns), own, points, 2 * _MOST_POINTS)
    centred: Double = means - means.mean(axis=0)
    return centred


def _joint(both: Double, first: Double, second: Double) -> tuple[Double, Double]:
    """H^2 of Friedman and Popescu (2008), "Predictive learning via rule ensembles", equation 44.

    Also the root of its numerator's mean over points.
    """
    rest, whole = _root_mean_square(both - first - second), _root_mean_square(both)
    return np.divide(rest, whole, out=np.zeros_like(rest), where=whole > 0) ** 2, rest


def _root_mean_square(values: Double) -> Double:
    """Over the first axis, in a unit whose squares are finite."""
    unit = np.abs(values).max(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    found: Double = unit * np.sqrt(((values / unit) ** 2).mean(axis=0))
    return found
