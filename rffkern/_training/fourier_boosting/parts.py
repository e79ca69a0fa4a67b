"""Parts of a trained function: some of its terms, its kernels, and the columns that each term reads."""

from typing import Any

import numpy as np

from ..._model.kernel_expansion import KernelExpansion
from ..._model.sum_expansion import SumExpansion
from ..._model.table_layout import UNREACHED
from ..._model.term_expansion import TermExpansion
from ..._native.array_types import NDArray

Boosted = TermExpansion | SumExpansion


def terms_of(expansion: Boosted) -> TermExpansion:
    """The terms of rounds alone, with the intercept."""
    return expansion.terms if isinstance(expansion, SumExpansion) else expansion


def kernels_of(expansion: Boosted) -> KernelExpansion | None:
    """The kernels, without an intercept, if there are any."""
    return expansion.kernels if isinstance(expansion, SumExpansion) else None


def with_kernels(terms: TermExpansion, kernels: KernelExpansion | None) -> Boosted:
    """The sum of terms and of kernels without an intercept."""
    return terms if kernels is None else SumExpansion.of(terms, kernels)


def some_terms(expansion: Boosted, chosen: NDArray[Any], columns: NDArray[Any] | None = None) -> TermExpansion:
    """The sum of the terms at some indices, cosines before tables, and of the lines over some columns of the expansion.

    Without the constant, the kernels and the bounds of columns, to which rows must have been clipped; None for no line.
    """
    expansion = terms_of(expansion)
    slopes = np.zeros_like(expansion.slopes)
    if columns is not None:
        slopes[columns] = expansion.slopes[columns]
    n_cosines = len(expansion.omegas)
    cosines, tables = chosen[chosen < n_cosines], chosen[chosen >= n_cosines] - n_cosines
    return TermExpansion(
        expansion.omegas[cosines], expansion.phases[cosines], expansion.amplitudes[cosines],
        np.zeros(expansion.n_outputs), expansion.center, slopes, expansion.table_columns[tables],
        expansion.thresholds[tables], expansion.table_values[expansion.cells_of(tables)])


def columns_read(expansion: Boosted, sources: NDArray[np.intp], n_columns: int) -> NDArray[np.bool_]:
    """Whether each term, cosines before tables, reads each column of the raw table.

    `sources` says which column of the raw table each column of the expansion is made of.
    """
    expansion = terms_of(expansion)
    n_cosines = len(expansion.omegas)
    reads = np.zeros((expansion.n_terms, n_columns), dtype=bool)
    terms, columns = np.nonzero(expansion.omegas)
    reads[terms, sources[columns]] = True
    tables, depths = np.nonzero(expansion.thresholds < UNREACHED)
    reads[n_cosines + tables, sources[expansion.table_columns[tables, depths].astype(np.intp)]] = True
    return reads


def columns_of_kernels(expansion: Boosted, sources: NDArray[np.intp], n_columns: int) -> NDArray[np.bool_]:
    """Whether the kernels, if there are any, read each column of the raw table."""
    reads = np.zeros(n_columns, dtype=bool)
    kernels = kernels_of(expansion)
    if kernels is not None:
        reads[sources[np.flatnonzero(kernels.inverse_length_scales)]] = True
    return reads
