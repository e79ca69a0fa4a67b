"""Explanations of a trained model in columns of the raw table: Shapley values of its scores."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._native.array_types import Double, Indices, Mask, NDArray
from .._protocol.arguments import check_choice
from .._rows.row_blocks import RowBlocks
from .._rows.threads import check_n_threads
from ..errors import InvalidInputError
from .base import fitted_map_of

if TYPE_CHECKING:  # a model that scores loads neither what explains it nor a map that it has not
    from .._column_map.drift import Reference
    from .._column_map.fitted_map import FittedMap
    from .._model.shapley import Background, Explainer


class Explanation(NamedTuple):
    """Shapley values of the scores of rows: for each row, base value and values add up to the score.

    The axis of outputs is there for several outputs only.
    """

    values: Double  # (n_samples, n_columns), or (n_samples, n_columns, n_outputs), in units of the score
    base_values: Double  # (), or (n_outputs,): the mean score of the background
    data: NDArray[Any]  # (n_samples, n_columns) the rows as they were given
    feature_names: NDArray[Any]  # (n_columns,) names of the columns, or their indices where `fit` saw no names
    clipped: Mask  # (n_samples, n_columns): whether a column lies outside the bounds of the model
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


def explain(model: Any, X: Any, background: Any, interactions: bool) -> Explanation:
    """As `Predictor.explain` of a snapshot."""
    check_choice("interactions", interactions, (True, False))
    rows = rows_in_memory(model, X, "X")
    explainer = _explainer(model, background)
    clipped = model.expansion_._scorer.clip(rows)
    is_clipped = np.zeros((len(rows), model.n_features_in_), dtype=bool)
    for source, column in zip(sources_of(model), (rows != clipped).T, strict=True):
        is_clipped[:, source] |= column
    n_threads = check_n_threads(model.n_jobs, explainer.row_size * len(rows))
    rows = np.ascontiguousarray(clipped, dtype=np.float64)
    values = explainer.values(rows, n_threads)
    pairs = of_outputs(explainer.interactions(rows, values, n_threads)) if interactions else None
    return Explanation(of_outputs(values), of_outputs(explainer.base_values), _data(model, X), names_of(model),
                       is_clipped, pairs)


def rows_in_memory(model: Any, X: Any, name: str) -> NDArray[Any]:
    """Rows of a raw table as the expansion of a fitted model takes them, in double precision."""
    model._check_fitted()
    if isinstance(X, RowBlocks):
        raise InvalidInputError(f"{name} must be rows in memory, an array or a table, got RowBlocks")
    if isinstance(X, np.ndarray) and X.dtype == np.float32:
        X = X.astype(np.float64)  # before it is mapped
    try:
        rows: NDArray[Any] = model._check_rows(X)
    except InvalidInputError as error:
        if name == "X":  # which it names
            raise
        raise InvalidInputError(f"{name}: {error}") from error
    return rows


def sources_of(model: Any) -> Indices:
    """The raw column of each column of the expansion of a model."""
    column_map = vars(model).get("column_map_")
    return np.arange(model.n_features_in_) if column_map is None else column_map.sources_


def names_of(model: Any) -> NDArray[Any]:
    """Names of the raw columns, or their indices where `fit` saw none."""
    return getattr(model, "feature_names_in_", np.arange(model.n_features_in_))


def of_outputs(values: Double) -> Double:
    """Without the last axis where there is one output."""
    return values[..., 0] if values.shape[-1] == 1 else values


def _data(model: Any, X: Any) -> NDArray[Any]:
    """The cells of a raw table: float64 where all columns are numbers, else numbers, texts, dates and None."""
    from .._column_map.tables import as_given
    from .._rows.validation import check_array

    fitted = fitted_map_of(model)
    if fitted is None:
        return np.asarray(check_array(X), dtype=np.float64)
    table = fitted.read(X, type(model).__name__)
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
    if isinstance(background, str) or background is None:
        if background != "marginals":
            raise InvalidInputError(f'background must be "marginals", or rows, got {background!r}')
        kept = expansion._explainers
        if not kept:
            kept.append(Explainer(expansion, sources, model.n_features_in_, _marginals(model, sources)))
        return kept[0]
    rows = expansion._scorer.clip(rows_in_memory(model, background, "background")).astype(np.float64)
    return Explainer(expansion, sources, model.n_features_in_, Background.of_rows(rows, model.n_features_in_))


_NO_REFERENCE = ("this {} keeps no distributions of its columns, as models trained on partitions or of more than "
                 "16,384 columns do not")


def reference_of_columns(model: Any, refused: str = "") -> "Reference":
    """What a model keeps of the distributions of its raw columns; InvalidInputError, in these words, for nothing."""
    from .._column_map.drift import read_reference

    column_map = vars(model).get("column_map_")
    kept = vars(model).get("_reference") if column_map is None else column_map._reference
    if kept is None:
        raise InvalidInputError(refused or _NO_REFERENCE.format(type(model).__name__))
    return read_reference(kept, model.n_features_in_, type(model).__name__, "it has no distributions of its columns")


def _marginals(model: Any, sources: Indices) -> "Background":
    """The product of the distributions of the columns of training rows that a model keeps."""
    from .._model.shapley import Background

    fitted = fitted_map_of(model)
    refused = f"{_NO_REFERENCE.format(type(model).__name__)}: pass some hundred training rows as background"
    reference = reference_of_columns(model, refused)
    if fitted is None:
        columns = [column for column in reference.columns if column is not None and column.values]
        if len(columns) < len(reference.columns):
            raise InvalidInputError(refused)
        points = [np.array(column.values)[:, None] for column in columns]
        shares = [column.shares_of_values() for column in columns]
    else:
        points, shares = _mapped_marginals(fitted, reference, refused)
    found = Background.of_marginals(points, shares, sources, model.expansion_.center)
    return found._replace(rows=model.expansion_._scorer.clip(found.rows))


def _mapped_marginals(fitted_map: "FittedMap", reference: "Reference", refused: str
                      ) -> tuple[list[Double], list[Double]]:
    """Points and shares of the distributions of the columns of a map, as its outputs.

    A missing value is one more point.  One that is imputed counts as it is imputed where all other columns are at
    their means.
    """
    from .._column_map.compiled import mapped_values
    from .._column_map.drift import values_of_training

    points, shares, missing = [], [], []
    for column, kept in zip(fitted_map.columns, reference.columns, strict=True):
        values, of_values = column.missing_values(1), np.ones(1)
        if column.forms and kept is not None:
            if kept.values is None and not kept.levels:
                raise InvalidInputError(refused)
            values, of_values = values_of_training(column, kept)
        points.append(mapped_values([column], [values]).T)
        shares.append(of_values)
        missing.append(np.isnan(values[0]))
    means = np.concatenate([each @ of_points for of_points, each in zip(points, shares, strict=True)])
    neutral = fitted_map.neutral()
    starts = np.cumsum([0, *(of_points.shape[1] for of_points in points)])
    for start, column, of_points, are_missing in zip(starts, fitted_map.columns, points, missing, strict=False):
        for imputation in column.imputations:
            imputed = imputation.values(means[:, None], np.zeros(1, dtype=np.intp), neutral)
            of_points[are_missing, imputation.output - start] = imputed
    return points, shares
