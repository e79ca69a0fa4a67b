"""Parts of a trained function: some of its terms, and the columns that terms and kernels read."""

from typing import Any

import numpy as np

from ..._model.expansion import Expansion
from ..._native.array_types import NDArray


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
    terms, columns = np.nonzero(expansion._only("fourier", "trees")._reads())
    reads = np.zeros((n_boosted_terms(expansion), n_columns), dtype=bool)
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
    return expansion._only("fourier", "trees").n_terms
