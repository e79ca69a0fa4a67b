"""Standardised rows in tiles, the layout the kernels read: all in memory, or made anew from RowBlocks in every pass."""

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .._native import scoring
from .._native.array_types import Indices, NDArray
from .row_blocks import RowBlocks
from .scaling import Scaling
from .weights import RowWeights

TILE = scoring.TILE_ROWS

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


_NO_ORDER = np.empty(0, np.intp)


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An empty array that begins on a cache line: vector loads then never straddle two."""
    size = math.prod(shape) * dtype.itemsize
    buffer = np.empty(size + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + size].view(dtype).reshape(shape)


def tiled(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Lay a value per row out in tiles, padded with 0."""
    n_tiles = -(-len(values) // TILE)
    flat = aligned((n_tiles * TILE,), dtype)
    flat[: len(values)] = values
    flat[len(values) :] = 0
    return flat.reshape(n_tiles, TILE)


def pack(X: NDArray[Any], scaling: Scaling, dtype: np.dtype[Any], n_threads: int, order: Indices = _NO_ORDER,
         out: NDArray[Any] | None = None) -> tuple[NDArray[Any], float]:
    """Return rows in tiles of shape (n_tiles, n_features, 128), padded with 0, and the largest length of a row."""
    n_tiles = -(-len(X) // TILE)
    tiles = aligned((n_tiles, X.shape[1], TILE), dtype) if out is None or len(out) < n_tiles else out[:n_tiles]
    lengths = np.empty(n_tiles)
    scoring.pack_rows(X, order, scaling.center, scaling.inverse_scale, tiles, lengths, n_threads)
    return tiles, math.sqrt(lengths.max())


class PackedTiles:
    """All rows in memory."""

    def __init__(self, tiles: NDArray[Any]) -> None:
        self.tiles, self.dtype = tiles, tiles.dtype

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield (slice of tiles, tiles) over all rows."""
        yield slice(0, len(self.tiles)), self.tiles


class StreamedTiles:
    """Rows that stay where they are, packed block by block in every pass."""

    def __init__(self, X: RowBlocks, scaling: Scaling, dtype: np.dtype[Any], n_threads: int,
                 weights: RowWeights) -> None:
        self._X, self._scaling, self._n_threads, self._weights = X, scaling, n_threads, weights
        self.dtype = dtype

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield (slice of tiles, tiles) over all rows; the tiles hold until the next are asked for."""
        return ((place, tiles) for place, tiles, _ in self.measured_blocks())

    def measured_blocks(
        self, watch: Callable[[slice, NDArray[Any]], None] | None = None
    ) -> Iterator[tuple[slice, NDArray[Any], float]]:
        """Yield (slice of tiles, tiles, largest length of a row) over all rows; `watch` sees each block unpacked."""
        buffer = None
        for rows, block in self._X._blocks():
            if watch is not None:
                watch(rows, block)
            # Rows without weight must neither overflow nor decide on the precision.
            block = self._weights.hide(rows, block, self._scaling.center)
            tiles, length = pack(block, self._scaling, self.dtype, self._n_threads, out=buffer)
            buffer = tiles if buffer is None else buffer
            start = rows.start // TILE
            yield slice(start, start + len(tiles)), tiles, length


Tiles: TypeAlias = PackedTiles | StreamedTiles  # of all rows, to be passed over again and again


def tile_rows(X: Any, scaling: Scaling, dtype: np.dtype[Any], n_threads: int,
              weights: RowWeights) -> tuple[Tiles, float]:
    """Tiles of an array or of RowBlocks, and the largest length of a row, for which RowBlocks are passed over once."""
    if not isinstance(X, RowBlocks):
        tiles, length = pack(X, scaling, dtype, n_threads)
        return PackedTiles(tiles), length
    streamed = StreamedTiles(X, scaling, dtype, n_threads, weights)
    return streamed, max(length for _, _, length in streamed.measured_blocks())


Packed = TypeVar("Packed")


def in_precision(pack_in: Callable[[np.dtype[Any]], tuple[Packed, float]], precision: str,
                 largest_single: float) -> Packed:
    """What `pack_in` makes of rows in single precision, or in double where that is asked for or needed.

    `pack_in` takes a dtype and returns what it packed and the largest length of a row, which single precision resolves
    up to `largest_single`.
    """
    if precision == "single":
        packed, length = pack_in(SINGLE)
        if not length > largest_single:
            return packed
        del packed  # before its successor takes memory
    return pack_in(DOUBLE)[0]
