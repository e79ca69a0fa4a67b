"""Which columns matter, by the relevances of an ARD kernel."""

import copy
from typing import NamedTuple

import numpy as np

from .._data import validation as check
from ..errors import InvalidInputError
from ..expansion import FourierExpansion


class SelectionPath(NamedTuple):
    """How well the columns of largest relevance predict alone."""

    sizes: np.ndarray  # (n_sizes,) numbers of columns
    columns: np.ndarray  # (n_features,) indices of all columns, the most relevant first
    scores: np.ndarray  # (n_sizes,) of the model on the first so many of them


def importances(relevances):
    """Relevances over the largest of them."""
    largest = relevances.max()
    return relevances / largest if largest > 0 else relevances.copy()


def by_relevance(model):
    """Indices of columns, the most relevant first, and equal ones in their order."""
    model._check_fitted()
    return np.argsort(-model.relevances_, kind="stable")


def top_k(model, k):
    """The first k of `by_relevance`."""
    order = by_relevance(model)
    return order[: check.check_scalar("k", k, int, low=1, high=len(order))]


def selection_path(model, X, y, sizes, sample_weight):
    """Score the model with ever more of its columns, the others held at their means."""
    order = by_relevance(model)
    if sizes is None:
        sizes = range(1, len(order) + 1)
    if not np.iterable(sizes) or isinstance(sizes, str):
        raise InvalidInputError(f"sizes must be an iterable of numbers of columns, got {sizes!r}")
    sizes = [check.check_scalar("sizes", size, int, low=0, high=len(order)) for size in sizes]
    scores = [_restricted(model, order[:size]).score(X, y, sample_weight) for size in sizes]
    return SelectionPath(np.array(sizes, np.intp), order, np.array(scores))


def _restricted(model, columns):
    """The model that looks at some columns only."""
    arrays = model.expansion_.arrays()
    omegas = np.zeros_like(arrays["omegas"])
    omegas[:, columns] = arrays["omegas"][:, columns]
    restricted = copy.copy(model)
    restricted.expansion_ = FourierExpansion(**arrays | {"omegas": omegas})
    return restricted
