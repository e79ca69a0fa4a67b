"""What a trained model says of columns and rounds: partial dependence, interactions, staged scores.

All of it is in columns of the raw table: the mapped columns of one raw column change together.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._column_map.cells import NUMERIC
from ..._column_map.tables import RawColumn, as_given
from ..._estimator.base import index_of
from ..._estimator.explanations import names_of, rows_in_memory, sources_of
from ..._model.expansion import Expansion
from ..._native.array_types import NDArray
from ..._protocol.arguments import check_scalar
from ..._rows.validation import check_array
from ...errors import InvalidInputError

Double = NDArray[np.float64]
Indices = NDArray[np.intp]
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


class Inspection:
    """Methods that inspect columns and rounds of a fitted model.

    Scores are those of `expansion_`: of counts, logarithms of their means.  All methods but the staged ones take rows
    in memory: an array or a table, no RowBlocks.  Columns are named, or numbered from 0.
    """

    expansion_: Any
    feature_importances_: Double
    term_rounds_: Double
    train_loss_: Double
    n_features_in_: int
    n_jobs: int | None
    _snapshot: Any
    _check_fitted: Any
    _check_rows: Any

    @property
    def interaction_pairs_(self) -> list[tuple[Any, Any]]:
        """The pairs of columns that a term, or the kernels, read together."""
        now = self._snapshot()
        now._check_fitted()
        of_model = now.expansion_, sources_of(now), now.n_features_in_
        reads = np.vstack([columns_read(*of_model), columns_of_kernels(*of_model)]).astype(np.float64)
        names = names_of(now).tolist()
        return [(names[j], names[k]) for j, k in np.argwhere(np.triu(reads.T @ reads, 1)).tolist()]

    def partial_dependence(self, X: Any, column: str | int, n_points: int = 20) -> PartialDependence:
        """Return the mean score of rows of X as a function of one column.

        It is sum_i H(x_i with this column set to v) / n for each value v (Friedman, 2001, "Greedy function
        approximation: a gradient boosting machine", equation 53).  The sum is over at most 500 rows, evenly spaced.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
        column : str or int
        n_points : int in [1, 10000], default 20
            Number of values at most: all that X has, or its quantiles.  Missing values are one more value.

        Returns
        -------
        PartialDependence
            `values` (n_values,) in ascending order, a missing one last: numbers, dates in UTC, or text of categories;
            `scores` (n_values,), or (n_values, n_outputs) for several outputs.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not what `fit` saw, or has no such column.
        """
        now = self._snapshot()
        check_scalar("n_points", n_points, int, 1, 10_000)
        table = _table(now, X)
        index = index_of(now, "column", column)
        raw = _raw_column(now, X, index)
        rows, scores = partial_dependence(table, index, raw.values, n_points)
        return PartialDependence(as_given(raw, rows), _of_outputs(scores))

    def interaction_strength(self, X: Any, first: str | int, second: str | int) -> float | Double:
        """Return H^2, the share of the joint effect of two columns on the score that is not a sum of one of each.

        With F_j, F_k and F_jk the partial dependences, each less its mean, at the rows of X,
        H^2 = sum_i (F_jk(x_i) - F_j(x_i) - F_k(x_i))^2 / sum_i F_jk(x_i)^2 (Friedman and Popescu, 2008, "Predictive
        learning via rule ensembles", equation 44).  Departure: at most 60 rows x_i and means over at most 120, evenly
        spaced in X.  It is 0 where the columns have no effect.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
        first, second : str or int

        Returns
        -------
        float, or array of shape (n_outputs,) for several outputs

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not what `fit` saw, or the columns are not two of it.
        """
        now = self._snapshot()
        table = _table(now, X)
        columns = [index_of(now, *each) for each in (("first", first), ("second", second))]
        if columns[0] == columns[1]:
            raise InvalidInputError(f"first and second must be two columns, got {first!r} twice")
        strength, _ = interaction(table, *columns)
        return float(strength[0]) if len(strength) == 1 else strength

    def interactions(self, X: Any, n_pairs: int = 10) -> list[Interaction]:
        """Return the pairs of columns that interact most.

        These are compared: pairs of the eight most important columns that some term reads together.  They are ranked by
        the numerator of H^2 (see `interaction_strength`), because H^2 is also large for pairs of hardly any effect.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
        n_pairs : int >= 1, default 10
            Number of pairs at most.

        Returns
        -------
        list of Interaction
            Each with `first` and `second`, names of columns, or their indices where `fit` saw no names; `strength`, H^2
            of all outputs together; and `size`, the root mean square of the part of the score that is not a sum.  The
            largest size comes first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not what `fit` saw.
        """
        now = self._snapshot()
        check_scalar("n_pairs", n_pairs, int, 1)
        pairs = interactions(_table(now, X), now.feature_importances_)
        names = names_of(now).tolist()
        return [Interaction(names[first], names[second], *rest) for first, second, *rest in pairs[:n_pairs]]

    def _staged(self, X: Any) -> Iterator[Double]:
        """Scores of a snapshot after each round."""
        self._check_fitted()
        rows = self.expansion_._scorer.clip(self._check_rows(X))
        return staged_scores(self.expansion_, self.term_rounds_, len(self.train_loss_) - 1, rows, self.n_jobs)


def _table(model: Any, X: Any) -> "MappedTable":
    """Rows of a raw table for a fitted model, clipped to its bounds, with the raw column of each of their columns."""
    rows = rows_in_memory(model, X, "X")  # or says that there is no expansion
    rows = model.expansion_._scorer.clip(rows)
    return MappedTable(model.expansion_, rows, sources_of(model), model.n_features_in_, model.n_jobs)


def _raw_column(model: Any, X: Any, column: int) -> RawColumn:
    """A column of the raw table."""
    column_map = vars(model).get("column_map_")
    if column_map is not None:
        raw: RawColumn = column_map._fitted_map().read(X, type(model).__name__).columns[column]
        return raw
    return RawColumn(NUMERIC, check_array(X)[:, column].astype(np.float64))


def _of_outputs(scores: Double) -> Double:
    """Without the last axis where there is one output."""
    return scores[..., 0] if scores.shape[-1] == 1 else scores


# Effects of columns on the scores of a function.


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
    """Pairs of columns with H^2, for all outputs together, and size, the largest first.

    They are those pairs of the most important columns that terms read together.  All others have no interaction.
    """
    points = _evenly(len(table.rows), _MOST_POINTS)
    chosen = np.sort(np.argsort(-importances, kind="stable")[:_MOST_COLUMNS]).tolist()
    reads = columns_read(table.expansion, table.sources, table.n_columns)
    reads = np.vstack([reads, columns_of_kernels(table.expansion, table.sources, table.n_columns)])
    alone = {column: _centred(table, [column], points) for column in chosen}
    pairs = []
    for first, second in itertools.combinations(chosen, 2):
        if (reads[:, first] & reads[:, second]).any():
            both = _centred(table, [first, second], points)
            rest, whole = (_root_mean_square(each.reshape(-1)) for each in (both - alone[first] - alone[second], both))
            strength = float((rest / whole) ** 2) if whole > 0 else 0.0
            pairs.append((first, second, strength, float(rest * np.sqrt(both.shape[1]))))
    return sorted(pairs, key=lambda pair: -pair[3])


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
    root: Double = unit * np.sqrt(((values / unit) ** 2).mean(axis=0))
    return root


# Parts of a function.


def some_terms(expansion: Expansion, chosen: NDArray[Any], columns: NDArray[Any] | None = None) -> Expansion:
    """The sum of the terms at some indices, cosines before trees, and of the linear terms of some columns.

    Without the intercept, the kernels and the bounds of columns, to which rows must have been clipped; None for no
    linear term.
    """
    terms = expansion._take(chosen)
    if columns is None or expansion.linear is None:
        return terms
    return terms + Expansion(terms.intercept, terms.center, expansion.linear._of_columns(columns))


def columns_read(expansion: Expansion, sources: NDArray[np.intp], n_columns: int) -> NDArray[np.bool_]:
    """Whether each term, cosines before trees, reads each column of the raw table.

    `sources` says which column of the raw table each column of the expansion is made of.
    """
    boosted = _boosted(expansion)
    terms, columns = np.nonzero(boosted._reads())
    reads = np.zeros((boosted.n_terms, n_columns), dtype=bool)
    reads[terms, sources[columns]] = True
    return reads


def columns_of_kernels(expansion: Expansion, sources: NDArray[np.intp], n_columns: int) -> NDArray[np.bool_]:
    """Whether the kernels, if there are any, read each column of the raw table."""
    reads = np.zeros(n_columns, dtype=bool)
    if expansion.kernels is not None:
        reads[sources[np.flatnonzero(expansion.kernels.inverse_length_scales)]] = True
    return reads


def n_boosted_terms(expansion: Expansion) -> int:
    """Number of cosines and trees."""
    return _boosted(expansion).n_terms


def _boosted(expansion: Expansion) -> Expansion:
    """The parts that rounds have added: all but the kernels.  Linear ones, which are one sum, count as no term."""
    return expansion._only(*(part.kind for part in expansion.parts if part.kind != "kernels"))


def staged_scores(expansion: Expansion, rounds: Double, n_rounds: int, X: NDArray[Any],
                  n_threads: int | None) -> Iterator[Double]:
    """Yield the scores (n_samples, n_outputs) of mapped and clipped rows after each round, from its terms alone.

    The linear terms of all rounds, which the expansion holds as one, and the kernels are there from the first on.
    """
    order = np.argsort(rounds, kind="stable")
    ends = np.searchsorted(rounds[order], np.arange(n_rounds + 1), side="right")
    total = expansion.intercept + expansion._only("linear")._scorer.score(X, n_threads)
    if expansion.kernels is not None:
        total += expansion._only("kernels")._scorer.score(X, n_threads)
    for start, stop in itertools.pairwise(ends):
        if stop > start:
            total = total + some_terms(expansion, order[start:stop])._scorer.score(X, n_threads)
        yield total.copy()


def check_term_rounds(rounds: Double, n_rounds: int, n_terms: int) -> None:
    """ValueError unless each term has a round from 1 to n_rounds."""
    if len(rounds) != n_terms or not ((rounds == np.floor(rounds)) & (rounds >= 1) & (rounds <= n_rounds)).all():
        raise ValueError("rounds and terms do not agree in number")
