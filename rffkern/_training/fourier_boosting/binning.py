"""Bins of columns, whose edges are the thresholds that trees choose among."""

import numpy as np

from ..._native import boosting
from ..._native.array_types import Double, Indices, Mask, NDArray, Single

Bins = NDArray[np.uint8]

MAX_BINS = 255

# Largest number of rows that the quantiles of a column are estimated from.
_QUANTILE_ROWS = 1 << 18

# Forms of a column that keep the order of its values: a threshold on one is a threshold on any.
_ORDERED_FORMS = ("raw", "standard", "bounded", "rank")


def binned_columns(sources: Indices, forms: NDArray[np.str_] | None, fenced: Mask) -> Indices:
    """The columns that have bins: one of the ordered forms of each source, whose thresholds are those of the others."""
    if forms is None:
        return np.arange(len(sources))
    is_ordered = np.isin(forms, _ORDERED_FORMS)
    ordered = np.flatnonzero(is_ordered & ~fenced)  # those with a fence have ranks
    first = ordered[np.unique(sources[ordered], return_index=True)[1]]
    return np.union1d(np.flatnonzero(~is_ordered), first).astype(np.intp)


def bin_columns(values: Single, binned: Indices, weighted: slice | Indices = slice(None), n_threads: int = 1
                ) -> tuple[Indices, Bins, tuple[Double, ...]]:
    """`binned`, `bins` and `edges` of `Columns`; edges follow from the weighted rows."""
    edges = tuple(bin_edges(values[j, weighted]) for j in binned)
    return binned, find_bins(values, binned, edges, n_threads), edges


def bin_edges(values: Single) -> Double:
    """Edges halfway between neighbouring values: a bin for each value, or 255 bins of equally many rows."""
    distinct, counts = np.unique(evenly_spaced(values), return_counts=True)
    if len(distinct) > MAX_BINS:
        share = np.cumsum(counts)[:-1] / counts.sum()
        cuts = np.unique(np.searchsorted(share, np.arange(1, MAX_BINS) / MAX_BINS))
        cuts = cuts[cuts < len(distinct) - 1]
    else:
        cuts = np.arange(len(distinct) - 1)
    middle = 0.5 * (distinct[cuts].astype(np.float64) + distinct[cuts + 1])
    # An edge in single precision, below the value above it, so that rows and bins agree in either precision.
    single = middle.astype(np.float32)
    return np.where(single < distinct[cuts + 1], single, distinct[cuts]).astype(np.float64)


def find_bins(values: Single, binned: Indices, edges: tuple[Double, ...], n_threads: int = 1) -> Bins:
    """Bins of some columns by given edges."""
    bins = np.empty((len(binned), values.shape[1]), dtype=np.uint8)
    table = np.empty((len(binned), MAX_BINS), dtype=np.float32)
    n_bins = np.array([len(of_column) + 1 for of_column in edges], dtype=np.intp)
    for row, of_column in zip(table, edges, strict=True):
        row[: len(of_column)] = of_column
    boosting.find_bins(values, binned, n_bins, table, bins, n_threads)
    return bins


def evenly_spaced(values: Single) -> Single:
    """Values of evenly spaced rows that the quantiles of a column are estimated from."""
    return values[:: -(-len(values) // _QUANTILE_ROWS)]
