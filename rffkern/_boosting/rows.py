"""Training rows as members learn from them: columns in single precision, codes for tables, and what is held out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.row_blocks import blocks
from .._data.scaling import Scaling
from .._data.tiles import TILE
from .bins import Bins, make_bins, told_apart

Single = NDArray[np.float32]
Indices = NDArray[np.intp]


class Columns(NamedTuple):
    """Rows column by column, in units of `scaling`."""

    values: Single  # (n_columns, n_rows)
    sources: Indices  # (n_columns,) which column of the raw table each is made of
    bins: Bins

    @classmethod
    def of(cls, parts: Sequence[Any], scaling: Scaling, sources: Indices,
           forms: NDArray[np.str_] | None) -> "Columns":
        """Read them from arrays or RowBlocks, one after the other."""
        values = np.empty((parts[0].shape[1], sum(part.shape[0] for part in parts)), dtype=np.float32)
        start = 0
        for part in parts:
            for rows, block in blocks(part):
                values[:, start + rows.start : start + rows.stop] = (
                    (block - scaling.center) * scaling.inverse_scale).T
            start += part.shape[0]
        _, numbered = np.unique(sources, return_inverse=True)
        return cls(values, numbered, make_bins(values, told_apart(sources, forms)))

    @property
    def n_sources(self) -> int:
        """Number of columns of the raw table that are used."""
        return int(self.sources.max()) + 1


class Layout(NamedTuple):
    """The order of the rows of a member: those to learn from, then those held out, each padded to whole tiles."""

    rows: Indices  # index of the row, any where `used` is False
    used: NDArray[np.bool_]
    n_train: int  # padded

    @classmethod
    def of(cls, learned: Indices, held_out: Indices, rng: "np.random.Generator") -> "Layout":
        """Lay rows out, those to learn from in random order."""
        parts = []
        for part in (rng.permutation(learned), held_out):
            padded = np.full(-(-len(part) // TILE) * TILE, -1, dtype=np.intp)
            padded[: len(part)] = part
            parts.append(padded)
        rows = np.concatenate(parts)
        return cls(np.maximum(rows, 0), rows >= 0, len(parts[0]))


def partition(strata: NDArray[Any], n_folds: int, rng: "np.random.Generator") -> Indices:
    """The fold of each row: rows of a stratum are spread evenly over the folds."""
    order = np.lexsort((rng.random(len(strata)), strata))
    folds = np.empty(len(strata), dtype=np.intp)
    folds[order] = (np.arange(len(strata)) + rng.integers(n_folds)) % n_folds
    return folds
