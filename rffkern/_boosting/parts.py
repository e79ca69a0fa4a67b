"""Parts of a trained function: some of its terms, and the columns that each term reads."""

from typing import Any

import numpy as np

from .._kernels.array_types import NDArray
from ..table_layout import UNREACHED
from ..term_expansion import TermExpansion


def some_terms(expansion: TermExpansion, chosen: NDArray[Any], columns: NDArray[Any] | None = None) -> TermExpansion:
    """The sum of the terms at some indices, cosines before tables, and of the lines over some columns of the expansion.

    Without the constant; None for no line.
    """
    slopes = np.zeros_like(expansion.slopes)
    if columns is not None:
        slopes[columns] = expansion.slopes[columns]
    n_cosines = len(expansion.omegas)
    cosines, tables = chosen[chosen < n_cosines], chosen[chosen >= n_cosines] - n_cosines
    return TermExpansion(
        expansion.omegas[cosines], expansion.phases[cosines], expansion.amplitudes[cosines],
        np.zeros(expansion.n_outputs), expansion.center, slopes, expansion.table_columns[tables],
        expansion.thresholds[tables], expansion.table_values[expansion.cells_of(tables)])


def columns_read(expansion: TermExpansion, sources: NDArray[np.intp], n_columns: int) -> NDArray[np.bool_]:
    """Whether each term, cosines before tables, reads each column of the raw table.

    `sources` says which column of the raw table each column of the expansion is made of.
    """
    n_cosines = len(expansion.omegas)
    reads = np.zeros((expansion.n_terms, n_columns), dtype=bool)
    terms, columns = np.nonzero(expansion.omegas)
    reads[terms, sources[columns]] = True
    tables, depths = np.nonzero(expansion.thresholds < UNREACHED)
    reads[n_cosines + tables, sources[expansion.table_columns[tables, depths].astype(np.intp)]] = True
    return reads
