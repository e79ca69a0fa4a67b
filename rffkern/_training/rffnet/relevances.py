"""The relevance of each column, and the score of a model on its most relevant columns alone."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.base import Fitted
from ..._model.expansion import Expansion
from ..._native.array_types import NDArray
from ..._protocol.arguments import check_scalar
from ...errors import InvalidInputError

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


class SelectionPath(NamedTuple):
    """Scores of a model that uses only the columns of largest relevance."""

    sizes: Indices  # (n_sizes,) numbers of columns
    columns: Indices  # (n_features,) indices of all columns, the most relevant first
    scores: Double  # (n_sizes,) of the model on the first `sizes` of them


def relevances_of_columns(model: Any) -> Double:
    """Return relevances of the columns of the table: with a map, the largest of what it makes of a column."""
    column_map = vars(model).get("column_map_")
    if column_map is None:
        return np.asarray(model.relevances_)
    relevances = np.zeros(model.n_features_in_)
    np.maximum.at(relevances, column_map.sources_, model.relevances_)
    return relevances


def columns_by_relevance(model: Any) -> Indices:
    """Return indices of columns, the most relevant first; equal ones in their order."""
    model._check_fitted()
    return np.argsort(-relevances_of_columns(model), kind="stable")


def score_columns(model: Any, X: Any, y: Any, sizes: Iterable[int] | None, sample_weight: Any) -> SelectionPath:
    """Score a model on more and more of its columns, with the others at their means."""
    order = columns_by_relevance(model)
    if sizes is None:
        sizes = range(1, len(order) + 1)
    if not np.iterable(sizes) or isinstance(sizes, str):
        raise InvalidInputError(f"sizes must be an iterable of numbers of columns, got {sizes!r}")
    checked = [check_scalar("sizes", size, int, low=0, high=len(order)) for size in sizes]
    scores = [restricted(model, order[:size]).score(X, y, sample_weight) for size in checked]
    return SelectionPath(np.array(checked, np.intp), order, np.array(scores))


def restricted(model: Any, columns: Indices) -> Any:
    """Return a model of the same class that predicts from some columns only."""
    arrays = model.expansion_.arrays()
    omegas = np.zeros_like(arrays["omegas"])
    column_map = vars(model).get("column_map_")
    used = columns if column_map is None else np.flatnonzero(np.isin(column_map.sources_, columns))
    omegas[:, used] = arrays["omegas"][:, used]
    copied = type(model)(**model.get_params(deep=False))
    copied._keep(Fitted(getattr(model, "feature_names_in_", None), getattr(model, "classes_", None),
                        Expansion._of_arrays(arrays | {"omegas": omegas}), {}, column_map=column_map,
                        reference=vars(model).get("_reference")))
    return copied
