"""Bins of columns, whose edges are the thresholds that trees choose among, and bundles of indicators."""

import numpy as np

from ..._native import boosting
from ..._native.array_types import Double, Indices, Mask, NDArray, Single

Bins = NDArray[np.uint8]

MAX_BINS = 255

# Largest number of rows that the quantiles of a column are estimated from.
_QUANTILE_ROWS = 1 << 18

# Forms of a column that keep the order of its values: a threshold on one is a threshold on any.
_ORDERED_FORMS = ("raw", "standard", "bounded", "rank")

# Forms of several columns of which a row has one at most that is not 0.
_INDICATOR_FORMS = ("levels", "bins")


def binned_columns(sources: Indices, forms: NDArray[np.str_] | None, fenced: Mask) -> Indices:
    """The columns that have bins: one of the ordered forms of each source, whose thresholds are those of the others."""
    if forms is None:
        return np.arange(len(sources))
    is_ordered = np.isin(forms, _ORDERED_FORMS)
    ordered = np.flatnonzero(is_ordered & ~fenced)  # those with a fence have ranks
    first = ordered[np.unique(sources[ordered], return_index=True)[1]]
    return np.union1d(np.flatnonzero(~is_ordered), first).astype(np.intp)


def bin_columns(values: Single, binned: Indices, weighted: slice | Indices = slice(None), n_threads: int = 1
                ) -> tuple[Bins, tuple[Double, ...]]:
    """Bins and edges of some columns; edges follow from the weighted rows."""
    edges = tuple(bin_edges(values[j, weighted]) for j in binned)
    return find_bins(values, binned, edges, n_threads), edges


def bundle_indicators(bins: Bins, edges: tuple[Double, ...], sources: Indices, forms: NDArray[np.str_] | None
                      ) -> tuple[Bins, Indices]:
    """The bins of columns and, after these, of bundles of indicators, which are searched for splits as one column.

    This is the exclusive feature bundling of LightGBM (Ke et al., 2017), but that the column map says which columns
    exclude each other, and that a split is by one of them.  Indicators with values besides 0 and 1, as imputed ones
    have, are not bundled.

    Parameters
    ----------
    bins : array of shape (n_binned, n_rows)
    edges, sources, forms : of the same columns; no bundles without forms

    Returns
    -------
    bins : array of shape (n_binned + n_bundles, n_rows)
        Of a bundle the place of the indicator that is 1, or their number where all are 0.
    bundles : array of shape (n_bundles, 2)
        The first indicator, and the one after the last.
    """
    bundles, added = [], [bins]
    is_indicator = np.zeros(len(bins), dtype=bool) if forms is None else np.isin(forms, _INDICATOR_FORMS)
    for source in np.unique(sources[is_indicator]):
        columns = np.flatnonzero(is_indicator & (sources == source))  # next to each other
        for start in range(columns[0], columns[-1], boosting.MOST_LEVELS):
            stop = min(start + boosting.MOST_LEVELS, columns[-1] + 1)
            some = bins[start:stop]
            if max(map(len, edges[start:stop])) <= 1 and some.sum(axis=0, dtype=np.uint8).max() <= 1:
                bundles.append((start, stop))
                place = np.where(some.any(axis=0), some.argmax(axis=0), stop - start)
                added.append(place.astype(np.uint8)[None])
    return np.concatenate(added) if bundles else bins, np.array(bundles, dtype=np.intp).reshape(-1, 2)


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
