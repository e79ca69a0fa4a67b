"""Subsets of the rows that the rounds search in turn, beside tiles of all rows to evaluate weak learners on."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter, lt, methodcaller
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._rows.row_blocks import RowBlocks
from ..._rows.tiles import TILE, StreamedTiles, aligned, in_precision, pack, tiled
from ..._rows.weights import RowWeights
from .packed_rows import Indices, PackedRows, RowsInMemory, RowSource, StreamedRows, TileWeights


class Subset(NamedTuple):
    """Rows that the search of one round uses."""

    tiles: NDArray[Any]  # (n_tiles, n_features, 128)
    weight: NDArray[Any]  # (n_tiles or 2, 128)
    total_weight: float
    residuals_of: Callable[[Any], NDArray[Any]]  # those of a loss state, in tiles


class Subsets(Protocol):
    """Subsets by their index; one holds until another is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Subset: ...


class Division(NamedTuple):
    """How rows are divided into subsets.  `order`, a permutation of the rows of positive weight, says which are
    together, and may be sorted within subsets; None keeps them in source order.
    """

    n_subsets: int
    order: Indices | None

    def edges(self, n_rows: int) -> list[int]:
        """Tiles at which each of nearly equal subsets begins, and the end of the last."""
        n_tiles = -(-n_rows // TILE)
        return [index * n_tiles // self.n_subsets for index in range(self.n_subsets + 1)]

    def members(self, weights: RowWeights) -> list[Indices]:
        """Rows of each subset, sorted, of the rows of positive weight: parts of one array, which may be `order`."""
        ordered = self.order
        if ordered is None:
            ordered = weights.positive()
        elif weights.has_zeros:
            ordered = weights.positive().astype(ordered.dtype)[ordered]
        parts = [ordered[start * TILE : stop * TILE] for start, stop in itertools.pairwise(self.edges(len(ordered)))]
        for part in parts:
            part.sort()
        return parts


class DividedRows(NamedTuple):
    """Rows to train on."""

    rows: PackedRows
    subsets: Subsets


def divide_rows(source: RowSource, division: Division, precision: str, single_length: float) -> DividedRows:
    """Pack rows in tiles, divided into subsets.

    "single" precision becomes double where a row is longer than `single_length`.  RowBlocks are passed over once in
    each precision, and those of their rows without weight belong to no subset.
    """
    needs_double = partial(lt, single_length)
    if isinstance(source.X, RowBlocks):
        return in_precision(partial(_streamed_subsets, source, division), precision, needs_double)
    return _subsets_in_memory(source, division, precision, needs_double)


def _subsets_in_memory(source: RowSource, division: Division, precision: str,
                       needs_double: Callable[[float], bool]) -> DividedRows:
    """Subsets that are consecutive tiles: rows are packed in the order of the division."""
    X, weights, scaling, n_threads = source
    edges, pack_in = division.edges(len(X)), partial(pack, X, scaling, n_threads=n_threads)
    if division.order is None:
        rows = RowsInMemory(in_precision(pack_in, precision, needs_double), weights)
    else:
        tiles = in_precision(partial(pack_in, order=division.order), precision, needs_double)
        rows = RowsInMemory(tiles, weights, division.order)
    subsets = []
    for start, stop in itertools.pairwise(edges):
        place, n_rows = slice(start, stop), min(stop * TILE, len(X)) - start * TILE
        weight = rows.weights.of_subset(n_rows, itemgetter(place))
        subsets.append(Subset(rows.tiles[place], *weight, methodcaller("residuals_in", place)))
    return DividedRows(rows, subsets)


def _streamed_subsets(source: RowSource, division: Division, dtype: np.dtype[Any]) -> tuple[DividedRows, float]:
    """Subsets that are collected from the passes over RowBlocks."""
    X, weights, scaling, n_threads = source
    members, n_features = division.members(weights), scaling.center.size
    tiles = CollectingTiles(StreamedTiles(X, scaling, dtype, n_threads, weights), members, n_features)
    tile_weights = TileWeights(weights, dtype)
    length = max(length for _, _, length in tiles.measured_blocks())
    subsets = StreamedSubsets(tiles, source, tile_weights)
    return DividedRows(StreamedRows(tiles, n_features, tile_weights), subsets), length


class CollectingTiles:
    """Streamed tiles of all rows, whose passes collect the rows of one subset on the way.

    The subset after the one that was last asked for is collected during the next pass, so that the rounds need no pass
    of their own for it.
    """

    def __init__(self, streamed: StreamedTiles, members: Sequence[Indices], n_features: int) -> None:
        self.members, self.dtype = members, streamed.dtype
        self._streamed = streamed
        self._rows = np.empty((max(map(len, members)), n_features))
        self._collected: int | None = None  # subset whose rows are in `_rows`
        self._wanted = 0

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield (slice of tiles, tiles) over all rows; the tiles hold until the next are asked for."""
        return ((place, tiles) for place, tiles, _ in self.measured_blocks())

    def measured_blocks(self) -> Iterator[tuple[slice, NDArray[Any], float]]:
        """Yield (slice of tiles, tiles, largest length of a row) over all rows."""
        collecting = self._wanted != self._collected
        yield from self._streamed.measured_blocks(self._collect if collecting else None)
        if collecting:
            self._collected = self._wanted

    def _collect(self, rows: slice, block: NDArray[Any]) -> None:
        members = self.members[self._wanted]
        first, last = np.searchsorted(members, (rows.start, rows.stop))
        self._rows[first:last] = block[members[first:last] - rows.start]

    def rows_of(self, index: int) -> NDArray[np.float64]:
        """Rows of a subset as they are in the source; they hold until the next pass."""
        if index != self._collected:
            self._wanted = index
            for _ in self.measured_blocks():
                pass
        self._wanted = (index + 1) % len(self.members)
        return self._rows[: len(self.members[index])]


class StreamedSubsets:
    """Subsets of which the one last asked for is held in tiles."""

    def __init__(self, tiles: CollectingTiles, source: RowSource, weights: TileWeights) -> None:
        largest = -(-max(map(len, tiles.members)) // TILE)
        self._collecting, self._source, self._weights = tiles, source, weights
        self._tiles = aligned((largest, source.scaling.center.size, TILE), weights.tiled.dtype)
        self._packed: int | None = None  # subset whose rows are in `_tiles`

    def __len__(self) -> int:
        return len(self._collecting.members)

    def __getitem__(self, index: int) -> Subset:
        members = self._collecting.members[index]
        if index != self._packed:
            pack(self._collecting.rows_of(index), self._source.scaling, self._tiles.dtype, self._source.n_threads,
                 out=self._tiles)
            self._packed = index
        weight = self._weights.of_subset(len(members), partial(_taken, members))
        return Subset(self._tiles[: -(-len(members) // TILE)], *weight, methodcaller("residuals_of", members))


def _taken(members: Indices, values: NDArray[Any]) -> NDArray[Any]:
    """Entries of some rows of an array in tiles over all rows, in tiles."""
    return tiled(values.reshape(-1)[members], values.dtype)
