"""What a trained model says of columns and rounds: partial dependence, interactions, staged scores.

All of it is in columns of the raw table: the mapped columns of one raw column change together.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .._model.expansion import Expansion
from .._native.array_types import Double, Indices, Mask, NDArray
from .._rows.row_blocks import evenly_spaced
from .explanations import rows_in_memory, sources_of

# Rows that mean scores are taken over at most, and those at which interactions are computed, evenly spaced.
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


class MappedTable(NamedTuple):
    """Rows as an expansion takes them, and the raw column of each of its columns."""

    expansion: Expansion
    rows: NDArray[Any]  # (n_rows, n_mapped), clipped to the bounds of the expansion
    sources: Indices  # (n_mapped,)
    n_columns: int  # of the raw table
    n_threads: int | None

    @classmethod
    def of(cls, model: Any, X: Any) -> Self:
        """Rows of a raw table for a fitted model."""
        rows = rows_in_memory(model, X, "X")  # or says that there is no expansion
        return cls(model.expansion_, model.expansion_._scorer.clip(rows), sources_of(model), model.n_features_in_,
                   model.n_jobs)

    def reading(self, columns: Sequence[int]) -> "MappedTable":
        """The same for the terms that read any of some columns; all others add a constant where these change."""
        read = all_columns_read(self.expansion, self.sources, self.n_columns)[:, list(columns)]
        reads = np.logical_or.reduce(read, axis=1)
        found = self.expansion._take(np.flatnonzero(reads[:-1]))
        if self.expansion.linear is not None:
            own = self.expansion.linear._of_columns(np.flatnonzero(np.isin(self.sources, columns)))
            found += Expansion(found.intercept, found.center, own)
        return self._replace(expansion=found + self.expansion._only("kernels") if reads[-1] else found)


def partial_dependence(table: MappedTable, column: int, values: Double, n_points: int) -> tuple[Indices, Double]:
    """Rows whose values the column takes, in ascending order of the values, and mean scores (n_points, n_outputs).

    Where there are more distinct values, those are taken that lie evenly in the order of rows by value: its quantiles.
    Missing values are one more value.
    """
    present = np.flatnonzero(~np.isnan(values))
    missing = np.flatnonzero(np.isnan(values))[:1]
    places = np.linspace(0, len(present) - 1, max(n_points - len(missing), 1)).astype(np.intp)
    points = np.concatenate([present[spread(values[present], places)], missing])
    moving = table.reading([column])
    some = table.rows[evenly_spaced(len(table.rows), _MOST_ROWS)]
    whole, part = (each._scorer.score(some, table.n_threads) for each in (table.expansion, moving.expansion))
    return points, _mean_scores(moving, [column], points, some) + (whole - part).mean(axis=0)


def interaction(table: MappedTable, first: int, second: int) -> tuple[Double, Double]:
    """H^2 of two columns, and the root mean square of the part that is not a sum, for each output.

    H^2 is that of Friedman and Popescu (2008), "Predictive learning via rule ensembles", equation 44.
    """
    alone = [_centred(table, [column]) for column in (first, second)]
    both = _centred(table, [first, second])
    rest, whole = _root_mean_square(both - alone[0] - alone[1]), _root_mean_square(both)
    return np.divide(rest, whole, out=np.zeros_like(rest), where=whole > 0) ** 2, rest


def interactions(table: MappedTable, importances: Double) -> list[tuple[int, int, float, float]]:
    """Pairs of columns with H^2, for all outputs together, and size, the largest first.

    They are those pairs of the most important columns that terms read together.  All others have no interaction.
    """
    chosen = np.sort(np.argsort(-importances, kind="stable")[:_MOST_COLUMNS]).tolist()
    reads = all_columns_read(table.expansion, table.sources, table.n_columns)
    alone = {column: _centred(table, [column]) for column in chosen}
    pairs = []
    for first, second in itertools.combinations(chosen, 2):
        if (reads[:, first] & reads[:, second]).any():
            both = _centred(table, [first, second])
            rest, whole = (_root_mean_square(each.reshape(-1)) for each in (both - alone[first] - alone[second], both))
            strength = float((rest / whole) ** 2) if whole > 0 else 0.0
            pairs.append((first, second, strength, float(rest * np.sqrt(both.shape[1]))))
    return sorted(pairs, key=lambda pair: -pair[3])


def spread(values: Double, places: Indices) -> Indices:
    """Places of distinct values in ascending order: all, or of more than `places` those at these among all values."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)  # where equal values begin; nan differs
    if len(starts) > len(places):
        starts = np.unique(starts[np.searchsorted(starts, places, side="right") - 1])
    return order[starts]


def _mean_scores(table: MappedTable, columns: Sequence[int], points: Indices, others: NDArray[Any]) -> Double:
    """For each point, the mean score of other rows that have its values in some columns (n_points, n_outputs).

    This is the partial dependence of Friedman (2001), "Greedy function approximation: a gradient boosting machine",
    equation 53.
    """
    own = np.concatenate([np.flatnonzero(table.sources == column) for column in columns])
    means = np.empty((len(points), table.expansion.n_outputs))
    n_together = max(1, _BLOCK // others.size)
    for start in range(0, len(points), n_together):
        some = points[start : start + n_together]
        changed = np.tile(others, (len(some), 1, 1))
        changed[:, :, own] = table.rows[some][:, None, own]
        scores = table.expansion._scorer.score(changed.reshape(-1, others.shape[1]), table.n_threads)
        means[start : start + n_together] = scores.reshape(len(some), len(others), -1).mean(axis=1)
    return means


def _centred(table: MappedTable, columns: Sequence[int]) -> Double:
    """Partial dependence on columns at some rows, of mean 0."""
    n_rows = len(table.rows)
    means = _mean_scores(table.reading(columns), columns, evenly_spaced(n_rows, _MOST_POINTS),
                         table.rows[evenly_spaced(n_rows, 2 * _MOST_POINTS)])
    return means - means.mean(axis=0)


def _root_mean_square(values: Double) -> Double:
    """Over the first axis, in a unit whose squares are finite."""
    unit = np.abs(values).max(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    return unit * np.sqrt(((values / unit) ** 2).mean(axis=0))


def all_columns_read(expansion: Expansion, sources: Indices, n_columns: int) -> Mask:
    """Whether each term, cosines before trees, and last the kernels together, read each column of the raw table.

    `sources` says which column of the raw table each column of the expansion is made of.
    """
    n, kernels = expansion.n_features, expansion.kernels
    read = [part._reads(n) for part in expansion.parts if part is not kernels]
    read.append(np.zeros((1, n), dtype=bool) if kernels is None else kernels._columns_read(n)[None])
    rows, columns = np.nonzero(np.concatenate(read))
    reads = np.zeros((sum(map(len, read)), n_columns), dtype=bool)
    reads[rows, sources[columns]] = True
    return reads


def staged_scores(expansion: Expansion, rounds: Double, n_rounds: int, X: NDArray[Any],
                  n_threads: int | None) -> Iterator[Double]:
    """Yield the scores (n_samples, n_outputs) of mapped and clipped rows after each round, from its terms alone.

    The linear terms of all rounds, which the expansion holds as one, terms of round 0 and the kernels are there from
    the first on.
    """
    order = np.argsort(rounds, kind="stable")
    ends = np.searchsorted(rounds[order], np.arange(n_rounds + 1), side="right")
    total = expansion.intercept + expansion._only("linear")._scorer.score(X, n_threads)
    if expansion.kernels is not None:
        total += expansion._only("kernels")._scorer.score(X, n_threads)
    if ends[0]:
        total += expansion._take(order[: ends[0]])._scorer.score(X, n_threads)
    for start, stop in itertools.pairwise(ends):
        if stop > start:
            total = total + expansion._take(order[start:stop])._scorer.score(X, n_threads)
        yield total.copy()


def check_term_rounds(rounds: Double, n_rounds: int, n_terms: int) -> None:
    """ValueError unless each term has a round from 0 to n_rounds."""
    if len(rounds) != n_terms or not ((rounds == np.floor(rounds)) & (rounds >= 0) & (rounds <= n_rounds)).all():
        raise ValueError("rounds and terms do not agree in number")
