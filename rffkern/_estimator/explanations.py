"""Explanations of a trained model in columns of the raw table: Shapley values of its scores."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._native.array_types import NDArray
from .._protocol.arguments import check_choice
from .._rows.row_blocks import RowBlocks
from .._rows.threads import check_n_threads
from ..errors import InvalidInputError
from .base import Model

if TYPE_CHECKING:  # a model that scores loads neither what explains it nor a map that it has not
    from .._column_map.drift import Reference
    from .._column_map.fitted_map import FittedMap
    from .._model.shapley import Background, Explainer

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


class Explanation(NamedTuple):
    """Shapley values of the scores of rows: for each row, base value and values add up to the score.

    The axis of outputs is there for several outputs only.
    """

    values: Double  # (n_samples, n_columns), or (n_samples, n_columns, n_outputs), in units of the score
    base_values: Double  # (), or (n_outputs,): the mean score of the background
    data: NDArray[Any]  # (n_samples, n_columns) the rows as they were given
    feature_names: NDArray[Any]  # (n_columns,) names of the columns, or their indices where `fit` saw no names
    clipped: NDArray[np.bool_]  # (n_samples, n_columns): whether a column lies outside the bounds of the model
    interactions: Double | None = None  # (n_samples, n_columns, n_columns), or also n_outputs: of pairs, if asked for

    def to_shap(self) -> Any:
        """Return them as `shap.Explanation`, which the plots of the package shap take.

        Raises
        ------
        ImportError
            If shap is not installed.
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError("to_shap needs the package shap: install it with pip install shap") from error
        base_values = np.broadcast_to(self.base_values, (len(self.values), *self.base_values.shape)).copy()
        return shap.Explanation(self.values, base_values, self.data, feature_names=[*map(str, self.feature_names)])


class Explained(Model):
    """Base of estimators that score rows, and explain the scores."""

    def explain(self, X: Any, background: Any = "marginals", *, interactions: bool = False) -> Explanation:
        """Return Shapley values of the scores of rows, by column of the raw table.

        The value of a column is its mean contribution over all orders in which columns can be revealed (Shapley, 1953,
        "A value for n-person games"), where the columns that are not revealed yet are drawn from a background
        ("interventional" Shapley values).  They are computed exactly, without sampling: `docs/explanations.md` says
        how to read them, and `docs/algorithms/explanations.md` how they are computed.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_columns)
        background : "marginals", or array or table of shape (n_rows, n_columns), default "marginals"
            "marginals" draws each column by itself from its distribution in the training rows, of which the model keeps
            up to 128 values.  Rows are drawn as they are, so that columns keep their dependence; the time is
            proportional to their number, and some hundred are enough.
        interactions : bool, default False
            Whether to divide the values further, among pairs of columns.

        Returns
        -------
        Explanation
            `values` (n_samples, n_columns) in units of the score: log odds, or the target, or the logarithm of its
            mean for counts; `base_values`, the mean score of the background.  Base value and values of a row add up to
            its score.  For several outputs both have one more axis.  `data` are the rows, `feature_names` the columns.
            `clipped` says which columns of a row lie outside the bounds of the model, and count as the bound.
            `interactions` (n_samples, n_columns, n_columns) has, at both places of a pair of columns, half of their
            Shapley interaction (Grabisch and Roubens, 1999), and what is left on the diagonal: the sum of each line is
            the value of its column.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X or the background is not what `fit` saw, or the model keeps no distributions of its columns.

        Notes
        -----
        All mapped columns of one raw column belong to it.  A missing value that a column map imputes from other columns
        counts for its own column, as does one that is clipped.  Scores of float32 rows are those in double precision.
        """
        check_choice("interactions", interactions, (True, False))
        now = self._snapshot()
        rows = rows_in_memory(now, X, "X")
        explainer = _explainer(now, background)
        clipped = now.expansion_._scorer.clip(rows)
        is_clipped = np.zeros((len(rows), now.n_features_in_), dtype=bool)
        for source, column in zip(sources_of(now), (rows != clipped).T, strict=True):
            is_clipped[:, source] |= column
        n_threads = check_n_threads(now.n_jobs, explainer.row_size * len(rows))
        rows = np.ascontiguousarray(clipped, dtype=np.float64)
        values = explainer.values(rows, n_threads)
        pairs = _of_outputs(explainer.interactions(rows, values, n_threads)) if interactions else None
        return Explanation(_of_outputs(values), _of_outputs(explainer.base_values), _data(now, X), names_of(now),
                           is_clipped, pairs)


def rows_in_memory(model: Any, X: Any, name: str) -> NDArray[Any]:
    """Rows of a raw table as the expansion of a fitted model takes them."""
    model._check_fitted()
    if isinstance(X, RowBlocks):
        raise InvalidInputError(f"{name} must be rows in memory, an array or a table, got RowBlocks")
    rows: NDArray[Any] = model._check_rows(X)
    return rows


def sources_of(model: Any) -> Indices:
    """The raw column of each column of the expansion of a model."""
    column_map = vars(model).get("column_map_")
    return np.arange(model.n_features_in_) if column_map is None else column_map.sources_


def names_of(model: Any) -> NDArray[Any]:
    """Names of the raw columns, or their indices where `fit` saw none."""
    names: NDArray[Any] = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
    return names


def _of_outputs(values: Double) -> Double:
    """Without the last axis where there is one output."""
    return values[..., 0] if values.shape[-1] == 1 else values


def _data(model: Any, X: Any) -> NDArray[Any]:
    """The cells of a raw table: float64 where all columns are numbers, else numbers, texts, dates and None."""
    from .._column_map.tables import as_given
    from .._rows.validation import check_array

    column_map = vars(model).get("column_map_")
    if column_map is None:
        return np.asarray(check_array(X), dtype=np.float64)
    table = column_map._fitted_map().read(X, type(model).__name__)
    columns = [as_given(column, np.arange(table.n_rows)) for column in table.columns]
    dtype = np.float64 if all(column.dtype == np.float64 for column in columns) else object
    data = np.empty((table.n_rows, len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        data[:, j] = column
    return data


def check_marginals(model: Any) -> None:
    """InvalidInputError unless a model keeps the distributions of its columns."""
    _explainer(model, "marginals")


def _explainer(model: Any, background: Any) -> "Explainer":
    """What explains the function of a model; that of its own marginals is kept."""
    from .._model.shapley import Background, Explainer

    expansion, sources = model.expansion_, sources_of(model)
    if isinstance(background, str):
        if background != "marginals":
            raise InvalidInputError(f'background must be "marginals", or rows, got {background!r}')
        kept = expansion._explainers
        if not kept:
            kept.append(Explainer(expansion, sources, model.n_features_in_, _marginals(model, sources)))
        return kept[0]
    rows = expansion._scorer.clip(rows_in_memory(model, background, "background")).astype(np.float64)
    return Explainer(expansion, sources, model.n_features_in_, Background.of_rows(rows, model.n_features_in_))


def _marginals(model: Any, sources: Indices) -> "Background":
    """The product of the distributions of the columns of training rows that a model keeps."""
    from .._column_map.drift import Reference
    from .._model.shapley import Background, Marginals

    column_map = vars(model).get("column_map_")
    kept = vars(model).get("_reference") if column_map is None else column_map._reference
    refused = (f"this {type(model).__name__} keeps no distributions of its columns, as models trained on partitions or "
               "of more than 16,384 columns do not: pass some hundred training rows as background")
    if kept is None:
        raise InvalidInputError(refused)
    try:
        reference = Reference.from_json(kept, model.n_features_in_)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise InvalidInputError(f"the reference of this {type(model).__name__} is malformed, so that it has no "
                                f"distributions of its columns: {error}") from error
    if column_map is None:
        columns = [column for column in reference.columns if column is not None and column.values]
        if len(columns) < len(reference.columns):
            raise InvalidInputError(refused)
        marginals = Marginals([np.array(column.values)[:, None] for column in columns],
                              [column.shares_of_values() for column in columns])
    else:
        marginals = _mapped_marginals(column_map._fitted_map(), reference, refused)
    found = Background.of_marginals(marginals, sources, model.expansion_.center)
    return found._replace(rows=model.expansion_._scorer.clip(found.rows))


def _mapped_marginals(fitted_map: "FittedMap", reference: "Reference", refused: str) -> Any:
    """Distributions of the columns of a map, as its outputs.

    A missing value is one more point.  One that is imputed counts as it is imputed where all other columns are at
    their means.
    """
    from .._column_map.drift import values_of_training
    from .._column_map.fitted_map import is_missing
    from .._model.shapley import Marginals

    points, shares, missing = [], [], []
    for column, kept in zip(fitted_map.columns, reference.columns, strict=True):
        values, of_values = column.missing_values(1), np.ones(1)
        if column.forms and kept is not None:
            if kept.values is None and not kept.levels:
                raise InvalidInputError(refused)
            values, of_values = values_of_training(column, kept)
        points.append(column.apply(values).T)
        shares.append(of_values)
        missing.append(is_missing(values))
    means = np.concatenate([each @ of_points for of_points, each in zip(points, shares, strict=True)])
    neutral = fitted_map.neutral()
    starts = np.cumsum([0, *(of_points.shape[1] for of_points in points)])
    for start, column, of_points, are_missing in zip(starts, fitted_map.columns, points, missing, strict=False):
        for imputation in column.imputations:
            imputed = imputation.values(means[:, None], np.zeros(1, dtype=np.intp), neutral)
            of_points[are_missing, imputation.output - start] = imputed
    return Marginals(points, shares)
