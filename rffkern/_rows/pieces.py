"""Large arrays in pieces: NumPy does not look at signals while it works, so that Ctrl-C waits for the end of a call."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from .._native.array_types import NDArray

Double = NDArray[np.float64]

# Numbers in a piece: a few hundredths of a second, also for random numbers.
NUMBERS = 1 << 22


def row_pieces(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of rows, all rows of a small array at once."""
    step = max(1, NUMBERS // max(1, math.prod(shape[1:])))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def drawn(draw: Callable[[tuple[int, ...]], Double], shape: tuple[int, ...]) -> Double:
    """What `draw(shape)` returns, for a source of random numbers that gives them one after the other."""
    size = math.prod(shape)
    if size <= NUMBERS:
        return draw(shape)
    found = np.empty(size)
    for start in range(0, size, NUMBERS):
        found[start : start + NUMBERS] = draw((min(NUMBERS, size - start),))
    return found.reshape(shape)
