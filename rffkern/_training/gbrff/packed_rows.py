"""Rows in this process as kernels read them: standardised, in tiles of 128, with weights, samples and scratch memory.

Sums over rows are sums over strips of 16 tiles, added in order.  Bits therefore do not depend on the number of threads,
and tiles may be elsewhere.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.checkpoints import RowFingerprints
from ..._native import gbrff, scoring
from ..._native.array_types import Double, NDArray
from ..._rows.row_blocks import RowBlocks
from ..._rows.scaling import Scaling, measure_scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import TILE, StreamedTiles, aligned, in_precision, pack, tiled
from ..._rows.training_rows import Training
from ..._rows.weights import RowWeights

Indices = NDArray[np.integer[Any]]

SOURCE_ORDER = slice(None)

_LARGEST_INT32 = 2**31 - 1

# Tiles of streamed rows whose scores are updated at once: a whole number of strips.
_SPAN_TILES = 1024


class Sample(NamedTuple):
    """Rows that the weak learner of a round is fitted to; those of streamed rows hold until the next are read."""

    tiles: NDArray[Any]  # (n_tiles, n_features, 128)
    weight: NDArray[Any]  # (n_tiles or 2, 128)
    total_weight: float
    rows: Any  # which these are: a slice of tiles, indices of streamed rows, or the number of a sample of partitions


def n_samples_of(max_samples: int | None, n_rows: int) -> int:
    """Number of samples that rows are divided into."""
    if max_samples is None or n_rows <= max_samples:
        return 1
    return -(-n_rows // (max_samples // TILE * TILE))


def sample_edges(n_rows: int, n_samples: int) -> list[int]:
    """Tiles at which each of nearly equal samples begins, and the end of the last."""
    n_tiles = -(-n_rows // TILE)
    return [index * n_tiles // n_samples for index in range(n_samples + 1)]


def n_strips(n_tiles: int) -> int:
    """Number of partial sums over some tiles."""
    return -(-n_tiles * TILE // scoring.STRIP_ROWS)


def equal_weights(n_rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Weights of equal rows: a full tile, and the last."""
    weight = np.ones((2, TILE), dtype)
    weight[1, (n_rows - 1) % TILE + 1 :] = 0
    return weight if n_rows > TILE else weight[1:]


def tile_weights(weights: RowWeights, dtype: np.dtype[Any], order: slice | Indices = SOURCE_ORDER) -> NDArray[Any]:
    """Weights of rows in tiles; equal weights take two tiles only."""
    return equal_weights(weights.n_samples, dtype) if weights.is_uniform else tiled(weights.each[order], dtype)


class PackedRows:
    """Rows in tiles, to be passed over again and again, and the scratch memory of kernels on them.

    All tiles are in memory; samples are consecutive tiles, so that rows are packed in a shuffled order: `order` says
    which row of the source is where.  Nothing in the scratch memory is kept from one call to another, but for `h`, the
    values of the direction.
    """

    keeps_residuals = True  # of each output; else they are made when they are read

    def __init__(self, tiles: NDArray[Any], weights: RowWeights, n_components: int, n_threads: int,
                 order: Indices | None = None, n_samples: int = 1) -> None:
        self.tiles, self.n_features, self.dtype, self.n_threads = tiles, tiles.shape[1], tiles.dtype, n_threads
        self.order = SOURCE_ORDER if order is None else order
        self.n_rows, self.total_weight = weights.n_samples, weights.total
        self.n_tiles = -(-self.n_rows // TILE)
        self.weight = tile_weights(weights, self.dtype, self.order)
        self.h = aligned((self.n_tiles, TILE), self.dtype)
        self.terms = np.zeros(gbrff.terms_size(n_components, self.n_features), self.dtype)
        self.partial = np.zeros((n_strips(self.n_tiles), 8))
        self._edges = sample_edges(self.n_rows, n_samples)
        self.largest_sample = max(stop - start for start, stop in itertools.pairwise(self._edges))

    def weight_in(self, place: slice) -> NDArray[Any]:
        """Weights of consecutive tiles, as kernels take them."""
        if len(self.weight) == self.n_tiles:
            return self.weight[place]
        return self.weight if place.stop == self.n_tiles else self.weight[[0, 0]]

    def sample(self, t: int) -> Sample:
        """The sample of round t."""
        index = t % (len(self._edges) - 1)
        start, stop = self._edges[index : index + 2]
        return self._sample(self.tiles[start:stop], min(stop * TILE, self.n_rows) - start * TILE, slice(start, stop))

    def _sample(self, tiles: NDArray[Any], n_rows: int, rows: slice | Indices) -> Sample:
        """Some of the rows, with their weights as kernels take them."""
        if n_rows == self.n_rows:
            return Sample(tiles, self.weight, self.total_weight, rows)
        if len(self.weight) < self.n_tiles:
            return Sample(tiles, equal_weights(n_rows, self.dtype), float(n_rows), rows)
        weight = self.weight[rows] if isinstance(rows, slice) else tiled(self.weight.reshape(-1)[rows], self.dtype)
        # In single precision weights may all be too small to be distinguished from 0.
        return Sample(tiles, weight, float(weight.sum(dtype=np.float64)) or 1.0, rows)

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any]]]:
        """Yield (slice of tiles, tiles, weights) over all rows; the tiles hold until the next are asked for."""
        yield slice(0, self.n_tiles), self.tiles, self.weight

    def spans(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield (slice of tiles, weights) over all rows."""
        yield slice(0, self.n_tiles), self.weight

    def kept_signs(self, sign: NDArray[np.int8]) -> NDArray[Any]:
        """Signs of rows in the form in which they are kept."""
        return tiled(sign[self.order], self.dtype)

    def signs_in(self, kept: NDArray[Any], place: slice) -> NDArray[Any]:
        """Of kept signs those of some tiles, which hold until others are asked for."""
        return kept[place]

    def residual_room(self, place: slice) -> NDArray[Any]:
        """Memory for the residuals of some tiles."""
        return aligned((place.stop - place.start, TILE), self.dtype)


class StreamedRows(PackedRows):
    """Rows whose tiles are made anew of RowBlocks in every pass, in source order; samples are collected on the way.

    `sample_rows` are the rows of each sample, sorted.  The sample after the one that was last asked for is collected
    during the next pass, so that the rounds need no pass of their own for it.  Signs take a byte a row, and residuals
    none: they are made of the scores where they are read, in a buffer that all outputs share.
    """

    keeps_residuals = False

    def __init__(self, X: RowBlocks, weights: RowWeights, scaling: Scaling, dtype: np.dtype[Any], n_components: int,
                 n_threads: int, sample_rows: Sequence[Indices] = ()) -> None:
        n_features = scaling.center.size
        super().__init__(np.empty((0, n_features, TILE), dtype), weights, n_components, n_threads)
        self._streamed = StreamedTiles(X, scaling, dtype, n_threads, weights)
        self._scaling, self._sample_rows = scaling, sample_rows
        self._signs, self._residuals = np.empty((2, 0, TILE), dtype)  # buffers, as large as was needed so far
        largest = max(map(len, sample_rows), default=0)
        self.largest_sample = -(-largest // TILE)
        self._rows, self._collected, self._wanted = np.empty((largest, n_features)), -1, 0  # samples by their index
        self._sample_tiles, self._packed = aligned((self.largest_sample, n_features, TILE), dtype), -1

    def measured_blocks(self) -> Iterator[tuple[slice, NDArray[Any], float]]:
        """Yield (slice of tiles, tiles, largest length of a row) over all rows, and collect a sample."""
        collects = len(self._sample_rows) > 0 and self._wanted != self._collected
        yield from self._streamed.measured_blocks(self._collect if collects else None)
        if collects:
            self._collected = self._wanted

    def _collect(self, rows: slice, block: NDArray[Any]) -> None:
        sample_rows = self._sample_rows[self._wanted]
        first, last = np.searchsorted(sample_rows, (rows.start, rows.stop))
        self._rows[first:last] = block[sample_rows[first:last] - rows.start]

    def sample(self, t: int) -> Sample:
        """The sample of round t, which takes a pass unless the last one has collected it."""
        index = t % len(self._sample_rows)
        sample_rows = self._sample_rows[index]
        if index != self._packed:
            if index != self._collected:
                self._wanted = index
                for _ in self.measured_blocks():
                    pass
            self._wanted = (index + 1) % len(self._sample_rows)
            pack(self._rows[: len(sample_rows)], self._scaling, self.dtype, self.n_threads, out=self._sample_tiles)
            self._packed = index
        return self._sample(self._sample_tiles[: -(-len(sample_rows) // TILE)], len(sample_rows), sample_rows)

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any]]]:
        """Yield tiles block by block."""
        for place, tiles, _ in self.measured_blocks():
            yield place, tiles, self.weight_in(place)

    def spans(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield places of some strips."""
        for start in range(0, self.n_tiles, _SPAN_TILES):
            place = slice(start, min(start + _SPAN_TILES, self.n_tiles))
            yield place, self.weight_in(place)

    def kept_signs(self, sign: NDArray[np.int8]) -> NDArray[Any]:
        """Signs in a byte each."""
        return sign

    def signs_in(self, kept: NDArray[Any], place: slice) -> NDArray[Any]:
        """Those of some tiles, in a buffer."""
        n_tiles = place.stop - place.start
        if len(self._signs) < n_tiles:
            self._signs = aligned((n_tiles, TILE), self.dtype)
        found = self._signs[:n_tiles]
        sign, flat = kept[place.start * TILE : place.stop * TILE], found.reshape(-1)
        flat[: len(sign)], flat[len(sign) :] = sign, 0
        return found

    def residual_room(self, place: slice) -> NDArray[Any]:
        """A buffer of all outputs."""
        n_tiles = place.stop - place.start
        if len(self._residuals) < n_tiles:
            self._residuals = aligned((n_tiles, TILE), self.dtype)
        return self._residuals[:n_tiles]


def pack_samples(X: Any, weights: RowWeights, scaling: Scaling, precision: str, single_length: float,
                 n_components: int, n_threads: int, n_samples: int,
                 order: Indices | None) -> PackedRows:
    """Pack rows in tiles, divided into samples.

    `order`, a permutation of the rows of positive weight, says which rows are in one sample, and may be sorted within
    samples; None keeps them in source order.  "single" precision becomes double where a row is longer than
    `single_length`.  RowBlocks are passed over once in each precision, and those of their rows without weight belong to
    no sample.
    """
    if not isinstance(X, RowBlocks):
        pack_in = partial(pack, X, scaling, n_threads=n_threads)
        pack_in = pack_in if order is None else partial(pack_in, order=order)
        tiles = in_precision(pack_in, precision, single_length)
        return PackedRows(tiles, weights, n_components, n_threads, order, n_samples)
    if order is None:
        order = weights.positive()
    elif weights.has_zeros:
        order = weights.positive().astype(order.dtype)[order]
    edges = sample_edges(len(order), n_samples)
    sample_rows = [order[start * TILE : stop * TILE] for start, stop in itertools.pairwise(edges)]
    for each in sample_rows:
        each.sort()

    def stream_in(dtype: np.dtype[Any]) -> tuple[StreamedRows, float]:
        rows = StreamedRows(X, weights, scaling, dtype, n_components, n_threads, sample_rows)
        return rows, max(length for _, _, length in rows.measured_blocks())

    return in_precision(stream_in, precision, single_length)


def pack_rows(X: Any, weights: RowWeights, scaling: Scaling, dtype: np.dtype[Any], n_components: int,
              n_threads: int) -> PackedRows:
    """Rows of an evaluation set: those of an array in memory, RowBlocks streamed."""
    if isinstance(X, RowBlocks):
        return StreamedRows(X, weights, scaling, dtype, n_components, n_threads)
    return PackedRows(pack(X, scaling, dtype, n_threads)[0], weights, n_components, n_threads)


class LocalData:
    """Checked training rows and evaluation sets in this process."""

    def __init__(self, training: Training, model: Any) -> None:
        rows = training.rows
        self.names, self.classes, self.column_map = training.names, training.classes, training.column_map
        self.reference = training.reference
        self.center, self.scale = training.center, training.scale  # of the targets, held in units of `scale`
        self.prints = RowFingerprints.of_training(training) if model.warm_start else None
        self._X, self._weights, self._targets = rows.X, rows.weights, rows.targets()  # without the class indices
        self._sets = dict(training.eval_sets)
        self._n_jobs, self._n_threads = model.n_jobs, check_n_threads(model.n_jobs, math.prod(self._X.shape))
        self.n_features, self.n_outputs = self._X.shape[1], len(self._targets)
        self.given_weight = self._weights.given_total  # the sum of the weights as they were given

    def scaling(self, standardize: bool) -> Scaling:
        """Mean and spread of the columns."""
        return measure_scaling(self._X, self._weights, standardize, self._n_jobs)

    def pack(self, loss: type[Any], n_components: int, scaling: Scaling, max_samples: int | None, precision: str,
             single_length: float, rng: "np.random.Generator") -> Any:
        """Rows of each output, of each evaluation set, their intercepts H_0, and the samples; called once.

        Rows longer than `single_length` need double precision.
        """
        n_rows, weights = self._weights.n_positive, self._weights
        n_samples, order = n_samples_of(max_samples, n_rows), None
        if n_samples > 1:  # the same permutation in 4 bytes a row, or as kernels take it
            compact = isinstance(self._X, RowBlocks) and n_rows <= _LARGEST_INT32
            order = np.arange(n_rows, dtype=np.int32 if compact else np.intp)
            rng.shuffle(order)
        packed = pack_samples(self._X, weights, scaling, precision, single_length, n_components, self._n_threads,
                              n_samples, order)
        intercepts = np.array([loss.intercept(loss.target_sums(target, weights)) for target in self._targets])
        outputs = [loss(packed, target, intercept)
                   for target, intercept in zip(self._targets, intercepts, strict=True)]
        self._targets = []  # before evaluation sets take memory
        evaluation = {}
        for name, rows in self._sets.items():
            n_threads = check_n_threads(self._n_jobs, math.prod(rows.X.shape))
            aside = pack_rows(rows.X, rows.weights, scaling, packed.dtype, n_components, n_threads)
            evaluation[name] = [loss(aside, target, intercept)
                                for target, intercept in zip(rows.targets(), intercepts, strict=True)]
        return outputs, evaluation, intercepts, packed

    def draw(self, rng: "np.random.Generator", n_draws: int, scaling: Scaling) -> Double:
        """Standardised rows, drawn with replacement by their weight; uses n_draws uniform numbers."""
        return scaling.take(self._X, self._weights.draw(rng, n_draws))
