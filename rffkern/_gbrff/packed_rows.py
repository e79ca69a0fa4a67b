"""Training rows as kernels read them: standardised, packed in tiles, and answering with sums over rows.

Everything a boosted family learns from data it learns through `Rows` and the states of `_losses`, whose answers are
sums over fixed blocks of rows added in order.  Bits therefore do not depend on the number of threads, and blocks may
live elsewhere.
"""


import numpy as np

from .._data.row_blocks import RowBlocks
from .._data.threads import check_n_threads
from .._data.tiles import TILE, aligned, tile_rows, tiled
from .._kernels import gbrff_rounds, packing
from .subsets import divide_rows


class Sample:
    """The rows that one round descends on."""

    def __init__(self, tiles, weight, total_weight, place):
        self.tiles = tiles  # (n_tiles, n_features, 128)
        self.weight = weight  # (n_tiles or 2, 128)
        self.total_weight = total_weight
        self.place = place  # slice of all tiles, or indices of rows

    def of(self, values):
        """Entries of the sample in a tiled array over all rows."""
        if isinstance(self.place, slice):
            return values[self.place]
        return tiled(values.reshape(-1)[self.place], values.dtype)


class Rows:
    """Rows packed in tiles of shape (n_tiles, n_features, 128), with their weights and the scratch of the kernels.

    Rounds descend in turn on each of `n_parts` parts of the rows (0 where there is nothing to descend on).  With more
    than one, `order`, a permutation of the rows of positive weight, says what is together: parts are random samples.

    Memory: for an array, 4 bytes per number in single precision, 8 in double; for RowBlocks about 12 or 16 MB of
    buffers and for each row of a part its numbers twice, once in double; 1 number of scratch a row, 2 a row of a part.
    """

    tile_size = TILE

    def __init__(self, X, scaling, weights, dtype, n_threads, n_parts=1, order=None, n_components=1):
        self.n_samples, self.n_features = X.shape
        self.n_parts = n_parts
        self.dtype = np.dtype(dtype)
        self.n_tiles = -(-self.n_samples // TILE)
        self.n_threads = check_n_threads(n_threads, self.n_samples * self.n_features)
        self.total_weight = weights.total
        self.weights = weights
        if n_parts:
            self.store, self.largest_length = divide_rows(X, scaling, self.dtype, self.n_threads, n_parts, order, weights)
        else:
            self.store, self.largest_length = tile_rows(X, scaling, self.dtype, self.n_threads, weights)
        self.order = None if isinstance(X, RowBlocks) else order
        self.largest_subset = self.store.largest_subset if n_parts else 0
        self.weight = self._uniform_weight(self.n_samples) if weights.is_uniform else self.tile(weights.array())
        n_blocks = -(-self.n_samples // packing.ROW_BLOCK)
        self.partial = np.zeros((n_blocks, -(-max(64, self.n_features + 1) // 8) * 8))
        self.scaled = np.zeros(self.n_features, self.dtype)
        self.terms = np.zeros(gbrff_rounds.terms_size(n_components, self.n_features), self.dtype)
        self.lanes = aligned((self.n_threads, self.n_features * packing.LANE_COUNT), self.dtype)
        self.lanes[:] = 0
        self.circle = np.zeros((2, 32), self.dtype)
        self.h = aligned((self.n_tiles, TILE), self.dtype)
        self.h[:] = 0
        part_size = self.largest_subset * TILE * self.n_features
        self.part_threads = min(self.n_threads, check_n_threads(n_threads, part_size))
        self.cosine, self.sine = aligned((2, self.largest_subset, TILE), self.dtype)

    def _uniform_weight(self, n_samples):
        """Weights of a full tile and of the last one, which is all that equal weights need."""
        weight = np.ones((2, TILE), self.dtype)
        weight[1, (n_samples - 1) % TILE + 1 :] = 0
        return weight if n_samples > TILE else weight[1:]

    def tile(self, values, dtype=None):
        """Lay a value per row of X out in tiles, padded with 0."""
        return tiled(values if self.order is None else values[self.order], self.dtype if dtype is None else dtype)

    def blocks(self):
        """Yield (slice of tiles, tiles, their weights) over all rows."""
        for place, tiles in self.store.blocks():
            if len(self.weight) == self.n_tiles:
                yield place, tiles, self.weight[place]
            else:
                yield place, tiles, self.weight if place.stop == self.n_tiles else self.weight[[0, 0]]

    def sample(self, round_index):
        """The part of the rows to descend on in a round."""
        tiles, place, n_samples = self.store.subset(round_index % self.n_parts)
        if n_samples == self.n_samples:
            return Sample(tiles, self.weight, self.total_weight, place)
        if len(self.weight) < self.n_tiles:
            return Sample(tiles, self._uniform_weight(n_samples), float(n_samples), place)
        weight = Sample(tiles, self.weight, 0.0, place).of(self.weight)
        # In single precision weights may all be too small to be told from 0.
        return Sample(tiles, weight, float(weight.sum(dtype=np.float64)) or 1.0, place)
