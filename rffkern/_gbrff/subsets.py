"""Subsets of the rows that the rounds search in turn, beside tiles of all rows."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.row_blocks import RowBlocks
from .._data.scaling import Scaling
from .._data.tiles import TILE, PackedTiles, StreamedTiles, aligned, pack
from .._data.weights import RowWeights

Indices = NDArray[np.intp]


def _edges(n_rows: int, n_subsets: int) -> list[int]:
    """Tiles at which each of nearly equal subsets begins, and the end of the last."""
    n_tiles = -(-n_rows // TILE)
    return [index * n_tiles // n_subsets for index in range(n_subsets + 1)]


class SubsetsInMemory(PackedTiles):
    """All rows in memory, in an order in which subsets are consecutive tiles."""

    def __init__(self, tiles: NDArray[Any], n_rows: int, n_subsets: int) -> None:
        super().__init__(tiles)
        self._n_rows, self._edges = n_rows, _edges(n_rows, n_subsets)
        self.largest_subset = max(np.diff(self._edges))  # tiles

    def subset(self, index: int) -> tuple[NDArray[Any], slice, int]:
        """Return the tiles of a subset, the slice of all tiles they are, and the number of rows."""
        start, stop = self._edges[index], self._edges[index + 1]
        return self.tiles[start:stop], slice(start, stop), min(stop * TILE, self._n_rows) - start * TILE


class StreamedSubsets:
    """Rows that stay where they are but for those of one subset, which are held in tiles.

    The members of the next subset are collected during the pass before it is asked for.
    """

    def __init__(self, streamed: StreamedTiles, members: list[Indices], scaling: Scaling, dtype: np.dtype[Any],
                 n_threads: int) -> None:
        n_features = scaling.center.size
        self._streamed, self._members = streamed, members
        self._scaling, self._n_threads = scaling, n_threads
        self.largest_subset = max(-(-len(rows) // TILE) for rows in members)  # tiles
        self._collected_rows = np.empty((max(map(len, members)), n_features))
        self._tiles = aligned((self.largest_subset, n_features, TILE), dtype)
        self._kept: int | None = None  # subset whose rows are in `_tiles`
        self._collected: int | None = None  # subset whose rows are in `_collected_rows`
        self._wanted = 0

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield (slice of tiles, tiles) over all rows; the tiles hold until the next are asked for."""
        return ((place, tiles) for place, tiles, _ in self.measured_blocks())

    def measured_blocks(self) -> Iterator[tuple[slice, NDArray[Any], float]]:
        """Yield (slice of tiles, tiles, largest length of a row), collecting the subset that is wanted."""
        collecting = self._wanted not in (self._kept, self._collected)
        yield from self._streamed.measured_blocks(self._collect if collecting else None)
        if collecting:
            self._collected = self._wanted

    def _collect(self, rows: slice, block: NDArray[Any]) -> None:
        members = self._members[self._wanted]
        first, last = np.searchsorted(members, (rows.start, rows.stop))
        self._collected_rows[first:last] = block[members[first:last] - rows.start]

    def subset(self, index: int) -> tuple[NDArray[Any], Indices, int]:
        """Return the tiles of a subset, the indices of its rows, and their number."""
        members = self._members[index]
        if index != self._kept:
            if index != self._collected:
                self._wanted = index
                for _ in self.measured_blocks():
                    pass
            pack(self._collected_rows[: len(members)], self._scaling, self._tiles.dtype, self._n_threads,
                 out=self._tiles)
            self._kept, self._wanted = index, (index + 1) % len(self._members)
        return self._tiles[: -(-len(members) // TILE)], members, len(members)


Subsets = SubsetsInMemory | StreamedSubsets


def divide_rows(X: Any, scaling: Scaling, dtype: np.dtype[Any], n_threads: int, n_subsets: int, order: Indices | None,
                weights: RowWeights) -> tuple[Subsets, float]:
    """Rows of an array or of RowBlocks in subsets, and the largest length of a row.

    `order`, a permutation of the rows of positive weight, says which are together; None keeps them as they stand.
    RowBlocks are passed over once, and those without weight belong to no subset.
    """
    if not isinstance(X, RowBlocks):
        tiles, length = pack(X, scaling, dtype, n_threads) if order is None else pack(X, scaling, dtype, n_threads,
                                                                                      order)
        return SubsetsInMemory(tiles, len(X), n_subsets), length
    members = weights.positive() if order is None else weights.positive()[order]
    edges = _edges(len(members), n_subsets)
    divided = [np.sort(members[start * TILE : stop * TILE]) for start, stop in itertools.pairwise(edges)]
    subsets = StreamedSubsets(StreamedTiles(X, scaling, dtype, n_threads, weights), divided, scaling, dtype, n_threads)
    return subsets, max(length for _, _, length in subsets.measured_blocks())
