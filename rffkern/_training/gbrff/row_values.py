"""What loss states keep of rows, in tiles: all in memory, or made again of less where rows are streamed."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._rows.tiles import TILE, aligned, tiled

Indices = NDArray[np.integer[Any]]


class Scratch:
    """Tiles that hold until the next are asked for."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._tiles = aligned((0, TILE), dtype)

    def __getitem__(self, n_tiles: int) -> NDArray[Any]:
        if len(self._tiles) < n_tiles:
            self._tiles = aligned((n_tiles, TILE), self.dtype)
        return self._tiles[:n_tiles]


class Signs:
    """Signs of rows in a byte each; the tiles of a place hold until others are asked for in the same scratch."""

    def __init__(self, sign: NDArray[np.int8], scratch: Scratch) -> None:
        self._sign, self._scratch = sign, scratch

    def __getitem__(self, place: slice) -> NDArray[Any]:
        sign = self._sign[place.start * TILE : place.stop * TILE]
        found = self._scratch[place.stop - place.start]
        flat = found.reshape(-1)
        flat[: len(sign)], flat[len(sign) :] = sign, 0
        return found

    def of(self, rows: Indices) -> NDArray[Any]:
        """Signs of some rows, in tiles of their own."""
        return tiled(self._sign[rows], self._scratch.dtype)


class Residuals(Protocol):
    """Residuals as search kernels read them."""

    def read(self, place: slice, make: Callable[[slice, NDArray[Any]], None]) -> NDArray[Any]:
        """Those of some tiles; where they are not kept, `make` writes them into an array."""

    def written(self, place: slice) -> NDArray[Any]:
        """Where those of some tiles are to be written."""


class KeptResiduals:
    """Residuals of all rows."""

    def __init__(self, n_tiles: int, dtype: np.dtype[Any]) -> None:
        self._tiles = aligned((n_tiles, TILE), dtype)

    def read(self, place: slice, make: Callable[[slice, NDArray[Any]], None]) -> NDArray[Any]:
        """Those of some tiles."""
        return self._tiles[place]

    def written(self, place: slice) -> NDArray[Any]:
        """Where those of some tiles are to be written."""
        return self._tiles[place]


class FleetingResiduals:
    """Residuals that are made of predictions where they are needed, and hold until the next are asked for."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._scratch = Scratch(dtype)

    def read(self, place: slice, make: Callable[[slice, NDArray[Any]], None]) -> NDArray[Any]:
        """Those of some tiles, which `make` writes into an array."""
        found = self.written(place)
        make(place, found)
        return found

    def written(self, place: slice) -> NDArray[Any]:
        """Where those of some tiles are to be written."""
        return self._scratch[place.stop - place.start]
