"""What a model makes of columns: partial dependence, interactions, and contributions of columns to the score of a row.

All of it is told in columns of the raw table: the mapped columns of one raw column change together.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.arguments import check_scalar
from ..errors import InvalidInputError
from ..term_expansion import TermExpansion

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows of a table that partial dependence is averaged over at most, evenly spaced.
_MOST_ROWS = 1000


class PartialDependence(NamedTuple):
    """The mean score where a column has one of some values and the others are as they are in given rows."""

    rows: Indices  # (n_points,) the rows of X that the values of the column are taken from, in ascending order
    scores: Double  # (n_points, n_outputs)


class Explanation(NamedTuple):
    """Scores in parts that columns add alone, and a part that several columns make together."""

    columns: Indices  # (n_columns,) those that have a part of their own
    alone: Double  # (n_rows, n_columns, n_outputs)
    together: Double  # (n_rows, n_outputs) of the terms that read several columns
    constant: Double  # (n_outputs,)


class _Table(NamedTuple):
    """Rows as the expansion takes them, and the raw column of each of its columns."""

    expansion: TermExpansion
    rows: NDArray[Any]
    sources: Indices
    n_columns: int


def table_of(model: Any, X: Any) -> _Table:
    """Rows of a raw table for a fitted model."""
    rows = model._check_rows(X)
    column_map = vars(model).get("column_map_")
    sources = np.arange(rows.shape[1]) if column_map is None else column_map.sources_
    return _Table(model.expansion_, rows, sources, model.n_features_in_)


def column_index(model: Any, column: Any) -> int:
    """Index of a column that is named or numbered."""
    names = getattr(model, "feature_names_in_", None)
    if isinstance(column, str):
        if names is None or column not in names:
            raise InvalidInputError(f"column must be a column of the table, got {column!r}")
        return int(np.flatnonzero(names == column)[0])
    found: int = check_scalar("column", column, int, 0, model.n_features_in_ - 1)
    return found


def partial_dependence(table: _Table, column: int, n_points: int, n_threads: int | None) -> PartialDependence:
    """Mean scores where a column has the values that it has in some rows, evenly spaced in the order of its values."""
    own = np.flatnonzero(table.sources == column)
    picked = _spread_rows(table.rows[:, own], n_points)
    others = _some(table.rows)
    scores = [_mean_score(table, others, own, table.rows[row], n_threads) for row in picked]
    return PartialDependence(picked, np.array(scores))


def interaction(table: _Table, first: int, second: int, n_points: int, n_threads: int | None) -> Double:
    """Friedman and Popescu's H^2 of two columns for each output: the share of their joint effect that is not a sum."""
    groups = [np.flatnonzero(table.sources == column) for column in (first, second)]
    picked = np.linspace(0, len(table.rows) - 1, min(n_points, len(table.rows))).astype(np.intp)
    others = _some(table.rows)
    effects = []
    for own in (*groups, np.concatenate(groups)):
        found = np.array([_mean_score(table, others, own, table.rows[row], n_threads) for row in picked])
        effects.append(found - found.mean(axis=0))
    spread = (effects[2] ** 2).sum(axis=0)
    left = ((effects[2] - effects[0] - effects[1]) ** 2).sum(axis=0)
    return np.divide(left, spread, out=np.zeros_like(left), where=spread > 0)


def explain(table: _Table, n_threads: int | None) -> Explanation:
    """Parts of the scores of rows, by the columns that terms read; their sum with the constant is the score."""
    expansion = table.expansion
    owners = _owners(expansion, table.sources)
    columns = np.unique(owners[owners >= 0])
    alone = np.zeros((len(table.rows), len(columns), expansion.n_outputs))
    for k, column in enumerate(columns):
        alone[:, k] = _of_terms(expansion, owners == column).score_checked(table.rows, n_threads)
    together = _of_terms(expansion, owners < 0).score_checked(table.rows, n_threads)
    return Explanation(columns, alone, together, expansion.intercept)


def _owners(expansion: TermExpansion, sources: Indices) -> Indices:
    """For each term, cosines first, the raw column that it alone reads, or -1."""
    cosines = [_only(sources[np.flatnonzero(omega)]) for omega in expansion.omegas]
    read = expansion.thresholds < expansion.largest_threshold
    tables = [_only(sources[columns[used].astype(np.intp)])
              for columns, used in zip(expansion.table_columns, read, strict=True)]
    return np.array([*cosines, *tables], dtype=np.intp)


def _only(columns: Indices) -> int:
    return int(columns[0]) if len(columns) and (columns == columns[0]).all() else -1


def _of_terms(expansion: TermExpansion, chosen: NDArray[np.bool_]) -> TermExpansion:
    """The sum of some of the terms, without the constant."""
    cosines, tables = chosen[: len(expansion.omegas)], chosen[len(expansion.omegas) :]
    return TermExpansion(
        expansion.omegas[cosines], expansion.phases[cosines], expansion.amplitudes[cosines],
        np.zeros(expansion.n_outputs), expansion.center, expansion.table_columns[tables],
        expansion.thresholds[tables], expansion.table_values[tables])


def _spread_rows(values: NDArray[Any], n_points: int) -> Indices:
    """Rows whose values are evenly spaced in their order, without repetition of a value."""
    order = np.lexsort(values.T[::-1]) if values.shape[1] else np.zeros(1, dtype=np.intp)
    new = np.ones(len(order), dtype=bool)
    new[1:] = (values[order[1:]] != values[order[:-1]]).any(axis=1)
    places = np.linspace(0, len(order) - 1, n_points).astype(np.intp)
    starts = np.flatnonzero(new)  # places where the values of equal rows begin
    return order[np.unique(starts[np.searchsorted(starts, places, side="right") - 1])]


def _some(rows: NDArray[Any]) -> NDArray[Any]:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), _MOST_ROWS)).astype(np.intp)]


def _mean_score(table: _Table, others: NDArray[Any], own: Indices, row: NDArray[Any],
                n_threads: int | None) -> Double:
    changed = others.copy()
    changed[:, own] = row[own]
    mean: Double = table.expansion.score_checked(changed, n_threads).mean(axis=0)
    return mean
