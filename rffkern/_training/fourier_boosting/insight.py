"""What both classes tell of a trained model beside predictions."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._column_map.tables import NUMERIC, RawColumn
from ..._native.array_types import NDArray
from ..._protocol.arguments import check_scalar
from ..._rows.row_blocks import RowBlocks
from ..._rows.validation import check_array
from ...errors import InvalidInputError
from .explanations import (
    Explanation,
    Interaction,
    MappedTable,
    PartialDependence,
    as_given,
    explain,
    interaction,
    interactions,
    partial_dependence,
)
from .stages import staged_scores

Double = NDArray[np.float64]


class Insight:
    """Columns and rounds of a fitted model.  Scores are those of `expansion_`: of counts, logarithms of their means.

    All methods but the staged ones take rows in memory: an array or a table, no RowBlocks.  Columns are named, or
    numbered from 0.
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
        index = _index(now, "column", column)
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
        columns = [_index(now, *each) for each in (("first", first), ("second", second))]
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
        found = interactions(_table(now, X), now.feature_importances_)
        names = _names(now).tolist()
        return [Interaction(names[first], names[second], *rest) for first, second, *rest in found[:n_pairs]]

    def explain(self, X: Any) -> Explanation:
        """Return the scores of rows in parts: what columns add alone, and what several columns make together.

        Terms that read one column alone are a function of this column, so that its contribution is exact.  The terms
        that read several columns are not divided among them; they are `joint`.  A missing value that a column map tells
        from other columns counts for its own column.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)

        Returns
        -------
        Explanation
            `columns` (n_features,), names or indices; `contributions` (n_samples, n_features); `joint` (n_samples,);
            `constant`.  For several outputs, these have one more axis.  Constant, contributions and joint part add up
            to the score, but for rounding.  `clipped` (n_samples, n_features) says which columns of a row lie outside
            the bounds of the model, and count as the bound.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not what `fit` saw.
        """
        now = self._snapshot()
        rows = _rows(now, X)
        table = _clipped(now, rows)
        alone, joint = explain(table)
        is_clipped = np.zeros((len(rows), now.n_features_in_), dtype=bool)
        for source, column in zip(table.sources, (rows != table.rows).T, strict=True):
            is_clipped[:, source] |= column
        constant = now.expansion_.intercept
        return Explanation(_names(now), _of_outputs(alone), _of_outputs(joint), _of_outputs(constant), is_clipped)

    def _staged(self, X: Any) -> Iterator[Double]:
        """Scores of a snapshot after each round."""
        self._check_fitted()
        rows = self.expansion_._scorer.clip(self._check_rows(X))
        return staged_scores(self.expansion_, self.term_rounds_, len(self.train_loss_) - 1, rows, self.n_jobs)


def _rows(model: Any, X: Any) -> NDArray[Any]:
    """Rows of a raw table as the expansion of a fitted model takes them."""
    model._check_fitted()
    if isinstance(X, RowBlocks):
        raise InvalidInputError("X must be rows in memory, an array or a table, got RowBlocks")
    rows: NDArray[Any] = model._check_rows(X)
    return rows


def _table(model: Any, X: Any) -> MappedTable:
    """Rows of a raw table for a fitted model, clipped to its bounds."""
    return _clipped(model, _rows(model, X))


def _clipped(model: Any, rows: NDArray[Any]) -> MappedTable:
    """Rows as the expansion takes them, clipped to its bounds, with the raw column of each of their columns."""
    column_map = vars(model).get("column_map_")
    sources = np.arange(rows.shape[1]) if column_map is None else column_map.sources_
    rows = model.expansion_._scorer.clip(rows)
    return MappedTable(model.expansion_, rows, sources, model.n_features_in_, model.n_jobs)


def _raw_column(model: Any, X: Any, column: int) -> RawColumn:
    """A column of the raw table."""
    column_map = vars(model).get("column_map_")
    if column_map is not None:
        found: RawColumn = column_map._fitted_map().read(X, type(model).__name__).columns[column]
        return found
    return RawColumn(NUMERIC, check_array(X)[:, column].astype(np.float64))


def _names(model: Any) -> NDArray[Any]:
    """Names of the columns, or their indices where `fit` saw none."""
    names: NDArray[Any] = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
    return names


def _index(model: Any, name: str, column: Any) -> int:
    """Index of a column that is named or numbered."""
    names = getattr(model, "feature_names_in_", None)
    if isinstance(column, str) and names is not None and column in names:
        return int(np.flatnonzero(names == column)[0])
    is_index = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    if is_index and 0 <= column < model.n_features_in_:
        return int(column)
    named = "the name of one column or " if names is not None else "the index of one column, as fit saw no names, "
    raise InvalidInputError(f"{name} must be {named}an integer from 0 to {model.n_features_in_ - 1}, got {column!r}")


def _of_outputs(scores: Double) -> Double:
    """Without the last axis where there is one output."""
    return scores[..., 0] if scores.shape[-1] == 1 else scores
