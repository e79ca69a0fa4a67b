"""Landmarks with pseudo-Bayesian kernels, learned from labelled rows: the representation of PBRFF."""

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.monitor import Steps
from ..._native import pbrff, scoring
from ..._native.array_types import NDArray
from ..._rows.pieces import NUMBERS, drawn, row_pieces
from ..._rows.scaling import Scaling
from ..._rows.tiles import TILE, Tiles, aligned, in_precision, tile_rows, tiled
from ..._rows.training_rows import LabelledRows
from ...errors import InvalidInputError
from ..spectral import feature_units, needs_double, pseudo_posterior, standardised_rows
from .kmeans import kmeans

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Share of all weight that the rows other than a landmark must have for its losses to mean anything.
_SMALLEST_SHARE = 1e-12

# Multiply-adds over the rows of a tile after which progress is told: about a second.
_TOLD = 1 << 25

# Largest number of rows of a class that k-means uses.
_KMEANS_ROWS = 16384


class KernelSettings(NamedTuple):
    """What the kernels of landmarks depend on beside the rows."""

    n_landmarks: int
    n_components: int
    gamma: float  # in the units learning takes place in
    beta: float
    landmarks: str  # "random" or "kmeans"
    precision: str
    n_threads: int


class Landmarks(NamedTuple):
    """Points, the classes they belong to, and the part of their own weight that a sum over all rows contains."""

    points: Double  # (n_landmarks, n_features), standardised
    codes: Indices  # (n_landmarks,)
    own_weight: Double  # (n_landmarks,)


class LandmarkKernels(NamedTuple):
    """One kernel for each landmark: h_l(x) = sum over j of posterior[l, j] cos(omegas[l, j] . x - phases[l, j])."""

    omegas: Double  # (n_landmarks, n_components, n_features)
    phases: Double  # (n_landmarks, n_components)
    posterior: Double  # (n_landmarks, n_components)

    def features(self, tiles: Tiles, shape: tuple[int, int], n_threads: int) -> NDArray[Any]:
        """An array of a shape (n_samples, >= n_landmarks) with h_l of each row in column l; other columns are empty."""
        omegas, shifts = _half_turns(self.omegas, self.phases, tiles.dtype)
        posterior = self.posterior.astype(tiles.dtype)
        out = aligned(shape, tiles.dtype)
        scratch = aligned((n_threads, len(posterior) * TILE), tiles.dtype)
        for place, block in tiles.blocks():
            rows = out[place.start * TILE : place.stop * TILE]
            short = len(block) * omegas.size <= _TOLD
            for part in [slice(0, len(block))] if short else _told("features", len(block), omegas.size):
                pbrff.landmark_features(block[part], omegas, shifts, posterior,
                                        rows[part.start * TILE : part.stop * TILE], scratch, n_threads)
        return out


class Representation(NamedTuple):
    """Landmarks and their kernels, as learned and as a function of raw rows."""

    kernels: LandmarkKernels  # of standardised rows
    landmarks: Double  # (n_landmarks, n_features), feature units
    omegas: Double  # (n_landmarks n_components, n_features), radians per unit of the feature
    phases: Double  # (n_landmarks n_components,)


def _told(work: str, size: int, each: int) -> Iterator[slice]:
    """Yield parts of long work of some size, and tell of each that is done; `each` of its parts is so much work."""
    step = min(size, max(1, _TOLD // each))
    if step == size:
        yield slice(0, size)
        return
    steps = Steps(work, -(-size // step))
    for start in range(0, size, step):
        yield slice(start, min(size, start + step))
        steps.step()


def _half_turns(omegas: Double, phases: Double, dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Omegas and phases of all terms as kernels read them: in half turns, padded to a multiple of terms."""
    n_terms, multiple = phases.size, scoring.TERM_MULTIPLES[0]
    # The terms of the last landmark may begin between two multiples, and are read in whole ones.
    n_padded = -(-n_terms // multiple) * multiple + multiple
    padded, shifts = np.zeros((n_padded, omegas.shape[2]), dtype), np.zeros(n_padded, dtype)
    terms = omegas.reshape(n_terms, -1)
    for rows in [slice(n_terms)] if terms.size <= NUMBERS else row_pieces(terms.shape):
        padded[:n_terms][rows] = terms[rows] / np.pi
    shifts[:n_terms] = phases.reshape(n_terms) / np.pi
    return padded, shifts


def _random_landmarks(rows: LabelledRows, scaling: Scaling, n_landmarks: int, rng: "np.random.Generator") -> Landmarks:
    """Rows drawn with replacement."""
    indices = rows.weights.draw(rng, n_landmarks)
    # A row of integer weight equals so many copies, of which the landmark is one.
    own_weight = np.minimum(rows.weights.each[indices], 1 / rows.weights.unit)
    return Landmarks(standardised_rows(rows.X, indices, scaling), rows.codes[indices], own_weight)


def _kmeans_landmarks(rows: LabelledRows, scaling: Scaling, n_landmarks: int, rng: "np.random.Generator") -> Landmarks:
    """Centers, equally many for each class; the first classes take what is left over."""
    n_classes = rows.n_classes
    if n_landmarks < n_classes:
        raise InvalidInputError(f"n_landmarks must be at least the number of classes, {n_classes}, where "
                                f"landmarks are by k-means, got {n_landmarks}")
    n_centers = [n_landmarks // n_classes + (code < n_landmarks % n_classes) for code in range(n_classes)]
    weight = rows.weights.each
    points = [_class_centers(rows, scaling, np.flatnonzero((rows.codes == code) & (weight > 0)), n_centers[code], rng)
              for code in range(n_classes)]
    return Landmarks(np.concatenate(points), np.repeat(np.arange(n_classes), n_centers), np.zeros(n_landmarks))


def _class_centers(rows: LabelledRows, scaling: Scaling, members: Indices, n_centers: int,
                   rng: "np.random.Generator") -> Double:
    """Centers of the rows of one class, by k-means."""
    weights = rows.weights.of(members)
    weight = weights.each
    if len(members) > _KMEANS_ROWS:
        members, weight = members[weights.draw(rng, _KMEANS_ROWS)], np.ones(_KMEANS_ROWS)
    return kmeans(standardised_rows(rows.X, members, scaling), weight, n_centers, rng)


_CHOOSE = {"random": _random_landmarks, "kmeans": _kmeans_landmarks}


def learn_representation(rows: LabelledRows, scaling: Scaling, settings: KernelSettings,
                         rng: "np.random.Generator") -> tuple[Representation, Tiles]:
    """Choose landmarks and learn their kernels; return them and the packed rows."""
    landmarks = _CHOOSE[settings.landmarks](rows, scaling, settings.n_landmarks, rng)
    shape = (settings.n_landmarks, settings.n_components, rows.X.shape[1])
    omegas = rng.standard_normal(shape) if math.prod(shape) <= NUMBERS else drawn(rng.standard_normal, shape)
    omegas *= math.sqrt(2 * settings.gamma)
    phases = np.einsum("lkd,ld->lk", omegas, landmarks.points)
    pack_in = partial(tile_rows, rows.X, scaling, n_threads=settings.n_threads, weights=rows.weights)
    tiles = in_precision(pack_in, settings.precision, partial(needs_double, settings.gamma))
    cosines = _mean_cosines(tiles, rows, landmarks, omegas, phases, settings.n_threads)
    # The losses of the terms are 1/2 - cosines / 2.
    posterior = pseudo_posterior(0.5 * settings.beta * math.sqrt(rows.weights.given_total) * cosines)
    found = Representation(LandmarkKernels(omegas, phases, posterior), feature_units(landmarks.points, scaling),
                           (omegas * scaling.inverse_scale).reshape(phases.size, -1), phases.reshape(-1))
    return found, tiles


def _mean_cosines(tiles: Tiles, rows: LabelledRows, landmarks: Landmarks, omegas: Double, phases: Double,
                  n_threads: int) -> Double:
    """Mean over the other rows of y_l y_i cos(omega . (x_l - x_i)), y_l y_i = 1 in one class and -1 in two."""
    padded, shifts = _half_turns(omegas, phases, tiles.dtype)
    sums, weight = np.zeros(phases.size), rows.weights.each
    targets = np.stack([tiled(np.where(rows.codes == code, weight, -weight), tiles.dtype)
                        for code in range(rows.n_classes)])
    n_components = phases.shape[1]
    for place, block in tiles.blocks():
        block_targets = np.ascontiguousarray(targets[:, place])
        partial_sums = np.empty((-(-len(block) * TILE // scoring.STRIP_ROWS), sums.size))
        each = n_components * block.size // TILE
        parts: Iterable[slice] = [slice(0, len(landmarks.codes))]
        if len(landmarks.codes) * each > _TOLD:
            parts = _told("posterior", len(landmarks.codes), each)
        for part in parts:
            terms = slice(part.start * n_components, part.stop * n_components)
            read = slice(terms.start, terms.stop + scoring.TERM_MULTIPLES[0])  # in whole multiples
            pbrff.weighted_cosines(block, block_targets, landmarks.codes[part], padded[read], shifts[read],
                                   n_components, sums[terms], partial_sums, n_threads)
    total, own = rows.weights.total, landmarks.own_weight[:, None]
    smallest = _SMALLEST_SHARE * total
    others = np.maximum(total - own, smallest)
    return np.where(total - own > smallest, sums.reshape(phases.shape) - own, 0.0) / others


def machine_features(kernels: LandmarkKernels, tiles: Tiles, n_samples: int, n_threads: int) -> NDArray[Any]:
    """Features of the packed rows, then a column of ones, then zeros up to a whole number of vectors."""
    n_landmarks = len(kernels.posterior)
    width = -(-(n_landmarks + 1) // scoring.LANE_COUNT) * scoring.LANE_COUNT
    features = kernels.features(tiles, (n_samples, width), n_threads)
    features[:, n_landmarks] = 1
    features[:, n_landmarks + 1 :] = 0
    return features
