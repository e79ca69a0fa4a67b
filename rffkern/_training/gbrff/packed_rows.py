"""Rows as kernels read them: standardised, packed in tiles, with their weights.

Sums over rows are sums over strips of 16 tiles, added in order.  Bits therefore do not depend on the number of threads,
and tiles may live elsewhere.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._rows.row_blocks import RowBlocks
from ..._rows.scaling import Scaling
from ..._rows.tiles import TILE, StreamedTiles, Tiles, pack, tiled
from ..._rows.weights import RowWeights
from ..spectral import standardised_rows
from .row_values import FleetingResiduals, KeptResiduals, Residuals, Scratch, Signs

Indices = NDArray[np.integer[Any]]
Order = slice | Indices

SOURCE_ORDER = slice(None)

# Tiles that states of streamed rows update at once: a whole number of strips.
_SPAN_TILES = 1024

# Returns the entries of some rows, in tiles, of an array in tiles over all rows.
Take = Callable[[NDArray[Any]], NDArray[Any]]


class RowSource(NamedTuple):
    """Checked rows, and how to make tiles of them."""

    X: Any  # (n_samples, n_features) array or RowBlocks
    weights: RowWeights
    scaling: Scaling
    n_threads: int

    @property
    def given_total(self) -> float:
        """Sum of the weights as they were given."""
        return self.weights.given_total

    def draw(self, rng: "np.random.Generator", n_draws: int) -> NDArray[np.float64]:
        """Standardised rows, drawn with replacement by their weight; uses n_draws uniform numbers."""
        return standardised_rows(self.X, self.weights.draw(rng, n_draws), self.scaling)


class Block(NamedTuple):
    """Consecutive tiles with their weights."""

    place: slice  # of all tiles
    tiles: NDArray[Any]  # (n_tiles, n_features, 128)
    weight: NDArray[Any]  # (n_tiles or 2, 128)


class Span(NamedTuple):
    """Consecutive tiles, by their place, with their weights."""

    place: slice
    weight: NDArray[Any]  # (n_tiles or 2, 128)


class TileWeights:
    """Weights of rows in tiles.  Equal weights take two tiles only: a full one and the last."""

    def __init__(self, weights: RowWeights, dtype: np.dtype[Any], order: Order = SOURCE_ORDER) -> None:
        self.n_samples, self.total = weights.n_samples, weights.total
        self.n_tiles = -(-self.n_samples // TILE)
        self.tiled = (equal_weights(self.n_samples, dtype) if weights.is_uniform
                      else tiled(weights.each[order], dtype))

    def of_tiles(self, place: slice) -> NDArray[Any]:
        """Weights of consecutive tiles, as kernels take them."""
        if len(self.tiled) == self.n_tiles:
            return self.tiled[place]
        return self.tiled if place.stop == self.n_tiles else self.tiled[[0, 0]]

    def of_subset(self, n_rows: int, take: Take) -> tuple[NDArray[Any], float]:
        """Weights of some of the rows, as kernels take them, and their sum."""
        if n_rows == self.n_samples:
            return self.tiled, self.total
        if len(self.tiled) < self.n_tiles:
            return equal_weights(n_rows, self.tiled.dtype), float(n_rows)
        weight = take(self.tiled)
        # In single precision weights may all be too small to be told from 0.
        return weight, float(weight.sum(dtype=np.float64)) or 1.0


def equal_weights(n_rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Weights of equal rows: a full tile, and the last."""
    weight = np.ones((2, TILE), dtype)
    weight[1, (n_rows - 1) % TILE + 1 :] = 0
    return weight if n_rows > TILE else weight[1:]


class PackedRows:
    """Rows in tiles, to be passed over again and again.

    `blocks` are the tiles with their weights, and `spans` the places of all tiles with the weights there.  `order` says
    which row of the source stands where.
    """

    blocks: Iterable[Block]
    spans: Iterable[Span]

    def __init__(self, n_features: int, weights: TileWeights, order: Order) -> None:
        self.n_features, self.weights, self.order = n_features, weights, order
        self.n_tiles, self.dtype = weights.n_tiles, weights.tiled.dtype

    def signs(self, sign: NDArray[np.int8]) -> Any:
        """Signs of the rows, of which places of tiles are asked."""
        return tiled(sign[self.order], self.dtype)

    def residuals(self) -> Residuals:
        """Room for the residuals of an output."""
        return KeptResiduals(self.n_tiles, self.dtype)


class RowsInMemory(PackedRows):
    """All tiles in memory."""

    def __init__(self, tiles: NDArray[Any], weights: RowWeights, order: Order = SOURCE_ORDER) -> None:
        super().__init__(tiles.shape[1], TileWeights(weights, tiles.dtype, order), order)
        self.tiles = tiles
        self.blocks = (Block(slice(0, len(tiles)), tiles, self.weights.tiled),)
        self.spans = (Span(slice(0, len(tiles)), self.weights.tiled),)


class StreamedRows(PackedRows):
    """Tiles that are made anew in every pass, in source order; those of a block hold until the next is asked for."""

    def __init__(self, tiles: Tiles, n_features: int, weights: TileWeights) -> None:
        super().__init__(n_features, weights, SOURCE_ORDER)
        self.blocks = _StreamedBlocks(tiles, weights)
        self.spans = _StreamedSpans(weights)
        self._sign_scratch, self._residuals = Scratch(self.dtype), FleetingResiduals(self.dtype)

    def signs(self, sign: NDArray[np.int8]) -> Signs:
        """Signs of the rows, in a byte each; all outputs have one scratch."""
        return Signs(sign, self._sign_scratch)

    def residuals(self) -> FleetingResiduals:
        """Residuals that are made anew; those of all outputs have one scratch."""
        return self._residuals


class _StreamedBlocks:
    def __init__(self, tiles: Tiles, weights: TileWeights) -> None:
        self._tiles, self._weights = tiles, weights

    def __iter__(self) -> Iterator[Block]:
        for place, tiles in self._tiles.blocks():
            yield Block(place, tiles, self._weights.of_tiles(place))


class _StreamedSpans:
    def __init__(self, weights: TileWeights) -> None:
        self._weights = weights

    def __iter__(self) -> Iterator[Span]:
        n_tiles = self._weights.n_tiles
        for start in range(0, n_tiles, _SPAN_TILES):
            place = slice(start, min(start + _SPAN_TILES, n_tiles))
            yield Span(place, self._weights.of_tiles(place))


def pack_rows(source: RowSource, dtype: np.dtype[Any]) -> PackedRows:
    """Rows to evaluate weak learners on: those of an array in memory, RowBlocks streamed."""
    X, weights, scaling, n_threads = source
    if not isinstance(X, RowBlocks):
        return RowsInMemory(pack(X, scaling, dtype, n_threads)[0], weights)
    streamed = StreamedTiles(X, scaling, dtype, n_threads, weights)
    return StreamedRows(streamed, scaling.center.size, TileWeights(weights, dtype))
