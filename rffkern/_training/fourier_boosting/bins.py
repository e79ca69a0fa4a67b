"""Codes of columns in one byte, for tables: a code for each value, or for each of 255 parts of equally many rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Single = NDArray[np.float32]
Double = NDArray[np.float64]

MAX_BINS = 255

# Largest number of rows that the quantiles of a column are estimated from.
_SAMPLE = 1 << 18

# Forms of a column that keep the order of its values: a threshold on one is a threshold on any.
_ORDERED = ("raw", "standard", "bounded", "rank")


class Bins(NamedTuple):
    """Codes of some columns and what they mean: a code above b says that the value is above edges[b]."""

    columns: NDArray[np.intp]  # (n_coded,) which columns have codes
    codes: NDArray[np.uint8]  # (n_coded, n_rows)
    edges: tuple[Double, ...]

    @property
    def counts(self) -> NDArray[np.intp]:
        """Number of bins of each column."""
        return np.array([len(edges) + 1 for edges in self.edges], dtype=np.intp)


def told_apart(sources: NDArray[np.intp], forms: NDArray[np.str_] | None) -> NDArray[np.intp]:
    """The columns that thresholds can tell something by that others cannot: one of the ordered forms of a source."""
    if forms is None:
        return np.arange(len(sources))
    seen = set()
    kept = []
    for j, (source, form) in enumerate(zip(sources.tolist(), forms.tolist(), strict=True)):
        ordered = form in _ORDERED
        if not (ordered and source in seen):
            kept.append(j)
        if ordered:
            seen.add(source)
    return np.array(kept, dtype=np.intp)


def make_bins(columns: Single, coded: NDArray[np.intp], counting: slice | NDArray[np.intp] = slice(None)) -> Bins:
    """Codes of the columns (n_columns, n_rows) that `coded` names, with bounds that follow from the rows that count."""
    return coded_by(columns, coded, edges_of(columns, coded, counting))


def edges_of(columns: Single, coded: NDArray[np.intp],
             counting: slice | NDArray[np.intp] = slice(None)) -> tuple[Double, ...]:
    """Bounds between the bins of the columns that `coded` names."""
    return tuple(_edges(columns[j, counting]) for j in coded)


def coded_by(columns: Single, coded: NDArray[np.intp], edges: tuple[Double, ...]) -> Bins:
    """Codes of the columns that `coded` names by given bounds."""
    codes = np.empty((len(coded), columns.shape[1]), dtype=np.uint8)
    for row, j, bounds in zip(codes, coded, edges, strict=True):
        row[:] = np.searchsorted(bounds.astype(np.float32), columns[j], side="left")
    return Bins(coded, codes, edges)


def evenly_spaced(values: Single) -> Single:
    """Values of evenly spaced rows that the quantiles of a column are estimated from."""
    return values[:: -(-len(values) // _SAMPLE)]


def _edges(values: Single) -> Double:
    """Bounds between bins: halfway between neighbouring values."""
    distinct, counts = np.unique(evenly_spaced(values), return_counts=True)
    if len(distinct) > MAX_BINS:
        share = np.cumsum(counts)[:-1] / counts.sum()
        cuts = np.unique(np.searchsorted(share, np.arange(1, MAX_BINS) / MAX_BINS))
        cuts = cuts[cuts < len(distinct) - 1]
    else:
        cuts = np.arange(len(distinct) - 1)
    middle = 0.5 * (distinct[cuts].astype(np.float64) + distinct[cuts + 1])
    # A bound in single precision, below the value above it, so that rows and codes agree in either precision.
    single = middle.astype(np.float32)
    return np.where(single < distinct[cuts + 1], single, distinct[cuts]).astype(np.float64)
