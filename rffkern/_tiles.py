"""Standardised rows in tiles, the layout the kernels read: all in memory, or made anew from RowBlocks in every pass."""

import itertools
import math

import numpy as np

from ._kernels import _features
from ._row_blocks import RowBlocks

TILE = _features.TILE_ROWS

_NO_ORDER = np.empty(0, np.intp)


def aligned(shape, dtype):
    """An empty array that begins on a cache line: vector loads then never straddle two."""
    size = math.prod(shape) * dtype.itemsize
    buffer = np.empty(size + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + size].view(dtype).reshape(shape)


def tiled(values, dtype):
    """Lay a value per row out in tiles, padded with 0."""
    n_tiles = -(-len(values) // TILE)
    flat = aligned((n_tiles * TILE,), dtype)
    flat[: len(values)] = values
    flat[len(values) :] = 0
    return flat.reshape(n_tiles, TILE)


def pack(X, scaling, dtype, n_threads, order=_NO_ORDER, out=None):
    """Return rows in tiles of shape (n_tiles, n_features, 128), padded with 0, and the largest length of a row."""
    n_tiles = -(-len(X) // TILE)
    tiles = aligned((n_tiles, X.shape[1], TILE), dtype) if out is None or len(out) < n_tiles else out[:n_tiles]
    lengths = np.empty(n_tiles)
    _features.pack_rows(X, order, scaling.center, scaling.inverse_scale, tiles, lengths, n_threads)
    return tiles, math.sqrt(lengths.max())


def _edges(n_rows, n_parts):
    """Tiles at which each of n_parts nearly equal parts begins, and the end of the last."""
    n_tiles = -(-n_rows // TILE)
    return [part * n_tiles // n_parts for part in range(n_parts + 1)] if n_parts else [0]


class PackedTiles:
    """All rows in memory, in the given order; parts of them are consecutive tiles."""

    def __init__(self, X, scaling, dtype, n_threads, n_parts, order):
        self.n_rows = len(X)
        self.order = order
        self.edges = _edges(self.n_rows, n_parts)
        self.tiles, self.largest_length = pack(X, scaling, dtype, n_threads, _NO_ORDER if order is None else order)
        self.largest_part = max(np.diff(self.edges), default=0)

    def blocks(self):
        """Yield (slice of tiles, tiles) over all rows."""
        yield slice(0, len(self.tiles)), self.tiles

    def part(self, index):
        """Return the tiles of a part, the slice of all tiles they are, and the number of rows."""
        start, stop = self.edges[index], self.edges[index + 1]
        return self.tiles[start:stop], slice(start, stop), min(stop * TILE, self.n_rows) - start * TILE


class StreamedTiles:
    """Rows that stay where they are, packed chunk by chunk in every pass, but for those of one part.

    The members of the next part are collected during the pass before it is asked for.
    """

    order = None  # they come as they come

    def __init__(self, X, scaling, dtype, n_threads, n_parts, order, weight):
        self._X, self._scaling, self._dtype, self._n_threads = X, scaling, dtype, n_threads
        self._weightless = None if weight is None or weight.all() else weight == 0
        members = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
        members = members if order is None else members[order]
        edges = _edges(len(members), n_parts)
        self._members = [np.sort(members[start * TILE : stop * TILE]) for start, stop in itertools.pairwise(edges)]
        self.largest_part = max(np.diff(edges), default=0)
        self._spare = np.empty((max(map(len, self._members), default=0), X.shape[1]))
        self._tiles = aligned((self.largest_part, X.shape[1], TILE), dtype)
        self._kept = self._collected = None  # parts whose rows are in `_tiles` and in `_spare`
        self._wanted = 0 if self._members else None
        self.largest_length = max(length for _, _, length in self._pass())

    def blocks(self):
        """Yield (slice of tiles, tiles) over all rows; the tiles hold until the next are asked for."""
        return ((place, tiles) for place, tiles, _ in self._pass())

    def part(self, index):
        """Return the tiles of a part, the indices of its rows, and their number."""
        members = self._members[index]
        if index != self._kept:
            if index != self._collected:
                self._wanted = index
                for _ in self._pass():
                    pass
            pack(self._spare[: len(members)], self._scaling, self._dtype, self._n_threads, out=self._tiles)
            self._kept, self._wanted = index, (index + 1) % len(self._members)
        return self._tiles[: -(-len(members) // TILE)], members, len(members)

    def _pass(self):
        """Yield (slice of tiles, tiles, largest length of a row) for all rows, collecting the part that is wanted."""
        collecting = self._wanted not in (self._kept, self._collected)
        members = self._members[self._wanted] if collecting else _NO_ORDER
        buffer = None
        for rows, chunk in self._X.chunks():
            first, last = np.searchsorted(members, (rows.start, rows.stop))
            self._spare[first:last] = chunk[members[first:last] - rows.start]
            if self._weightless is not None and self._weightless[rows].any():
                # Whatever stands there must neither overflow nor decide on the precision.
                chunk = np.where(self._weightless[rows, None], self._scaling.center, chunk)
            tiles, length = pack(chunk, self._scaling, self._dtype, self._n_threads, out=buffer)
            buffer = tiles if buffer is None else buffer
            start = rows.start // TILE
            yield slice(start, start + len(tiles)), tiles, length
        if collecting:
            self._collected = self._wanted


def make_tiles(X, scaling, dtype, n_threads, n_parts, order, weight):
    """Tiles of an array, or of RowBlocks, of whose rows those without weight belong to no part."""
    if not isinstance(X, RowBlocks):
        return PackedTiles(X, scaling, dtype, n_threads, n_parts, order)
    return StreamedTiles(X, scaling, dtype, n_threads, n_parts, order, weight)
