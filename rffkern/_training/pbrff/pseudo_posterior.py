"""Kernels of the landmarks of PBRFF, each with a pseudo-posterior over its cosines, and their values as features."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.monitor import Steps
from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._native import pbrff, scoring
from ..._native.array_types import Double, NDArray
from ..._rows.row_blocks import row_slices
from ..._rows.scaling import Scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import TILE, Tiles, aligned, in_precision, tile_rows, tiled
from ..._rows.training_rows import LabelledRows, Training
from ..posterior import pseudo_posterior
from ..spectral import draw_omegas, feature_units, largest_single_length, resolved_gamma
from .landmarks import Landmarks, kmeans_landmarks, random_landmarks

# Share of all weight that the rows other than a landmark must have for its losses to mean anything.
_SMALLEST_SHARE = 1e-12

# Multiply-adds over the rows of a tile after which progress is reported: about a second.
_REPORTED_WORK = 1 << 25


class LandmarkKernels(NamedTuple):
    """One kernel for each landmark: h_l(x) = sum over j of q[l, j] cos(omegas[l, j] . x - phases[l, j])."""

    omegas: Double  # (n_landmarks, n_components, n_features)
    phases: Double  # (n_landmarks, n_components)
    posterior: Double  # (n_landmarks, n_components), q

    def features(self, tiles: Tiles, n_samples: int, width: int, n_jobs: int | None) -> NDArray[Any]:
        """Return an array (n_samples, width) with h_l of each row in column l; columns beyond are left empty."""
        n_threads = check_n_threads(n_jobs, n_samples * self.omegas.size)
        omegas, shifts = _half_turns(self.omegas, self.phases, tiles.dtype)
        posterior = self.posterior.astype(tiles.dtype)
        out = aligned((n_samples, width), tiles.dtype)
        scratch = aligned((n_threads, len(posterior) * TILE), tiles.dtype)
        for place, block in tiles.blocks():
            rows = out[place.start * TILE : place.stop * TILE]
            for part in _reported("features", len(block), omegas.size):
                pbrff.landmark_features(block[part], omegas, shifts, posterior,
                                        rows[part.start * TILE : part.stop * TILE], scratch, n_threads)
        return out

    def expansion(self, scaling: Scaling, weights: Double, intercept: Double) -> Expansion:
        """Return the sums of kernels of standardised rows with weights (n_landmarks, n_outputs), for raw rows."""
        n_terms = self.phases.size
        amplitudes = self.posterior[:, :, None] * weights[:, None, :]
        terms = FourierTerms((self.omegas * scaling.inverse_scale).reshape(n_terms, -1), self.phases.reshape(-1),
                             amplitudes.reshape(n_terms, -1))
        return Expansion(intercept, scaling.center, terms)


def learn_kernels(model: Any, training: Training,
                  rng: "np.random.Generator") -> tuple[LandmarkKernels, dict[str, Any], Scaling, Tiles]:
    """Choose the landmarks of a classifier or transformer and learn their kernels.

    Return kernels of standardised rows, the fitted attributes that tell of them, and the scaling and tiles of the rows.
    """
    rows = training.rows
    standardize, scaling = training.scaling(model)
    gamma = resolved_gamma(model.gamma, model.kernel, standardize, scaling)
    choose = random_landmarks if model.landmarks == "random" else kmeans_landmarks
    landmarks = choose(rows, scaling, model.n_landmarks, rng)
    omegas = draw_omegas(model.kernel, gamma, rng, (model.n_landmarks, model.n_components, rows.X.shape[1]))
    phases = np.einsum("lkd,ld->lk", omegas, landmarks[0])
    n_threads = check_n_threads(model.n_jobs, rows.X.shape[0] * omegas.size)
    pack_in = partial(tile_rows, rows.X, scaling, n_threads=n_threads, weights=rows.weights)
    tiles = in_precision(pack_in, model.precision, largest_single_length(gamma, model.kernel))
    cosines = _mean_cosines(tiles, rows, landmarks, omegas, phases, n_threads)
    # The losses are 1/2 - cosines / 2.
    posterior = pseudo_posterior(0.5 * model.beta * math.sqrt(rows.weights.given_total) * cosines)
    each = rows.weights.each
    attributes = {
        "n_components_": model.n_components, "landmarks_": feature_units(landmarks[0], scaling),
        "landmark_loss_": (posterior * (0.5 - 0.5 * cosines)).sum(axis=1),
        "n_effective_": rows.weights.total**2 / float(np.einsum("i,i->", each, each))}
    return LandmarkKernels(omegas, phases, posterior), attributes, scaling, tiles


def _mean_cosines(tiles: Tiles, rows: LabelledRows, landmarks: Landmarks, omegas: Double, phases: Double,
                  n_threads: int) -> Double:
    """Mean over the other rows of y_l y_i cos(omega . (x_l - x_i)), y_l y_i = 1 in one class and -1 in two."""
    _, codes, own_weight = landmarks
    padded, shifts = _half_turns(omegas, phases, tiles.dtype)
    sums, weight = np.zeros(phases.size), rows.weights.each
    targets = np.stack([tiled(np.where(rows.codes == code, weight, -weight), tiles.dtype)
                        for code in range(rows.n_classes)])
    n_components = phases.shape[1]
    for place, block in tiles.blocks():
        block_targets = np.ascontiguousarray(targets[:, place])
        partial_sums = np.empty((-(-len(block) * TILE // scoring.STRIP_ROWS), sums.size))
        each = n_components * block.size // TILE
        for part in _reported("posterior", len(codes), each):
            terms = slice(part.start * n_components, part.stop * n_components)
            read = slice(terms.start, terms.stop + scoring.TERM_MULTIPLES[0])  # in whole multiples
            pbrff.weighted_cosines(block, block_targets, codes[part], padded[read], shifts[read], n_components,
                                   sums[terms], partial_sums, n_threads)
    total, own = rows.weights.total, own_weight[:, None]
    smallest = _SMALLEST_SHARE * total
    others = np.maximum(total - own, smallest)
    return np.where(total - own > smallest, sums.reshape(phases.shape) - own, 0.0) / others


def _half_turns(omegas: Double, phases: Double, dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Omegas and phases of all terms as kernels read them: in half turns, padded to a multiple of terms."""
    n_terms, multiple = phases.size, scoring.TERM_MULTIPLES[0]
    # The terms of the last landmark may begin between two multiples, and are read in whole ones.
    n_padded = -(-n_terms // multiple) * multiple + multiple
    padded, shifts = np.zeros((n_padded, omegas.shape[2]), dtype), np.zeros(n_padded, dtype)
    terms = omegas.reshape(n_terms, -1)
    for rows in row_slices(terms.shape):
        padded[:n_terms][rows] = terms[rows] / np.pi
    shifts[:n_terms] = phases.reshape(n_terms) / np.pi
    return padded, shifts


def _reported(work: str, size: int, each: int) -> Iterator[slice]:
    """Yield parts of long work of some size, each of which is `each`, and report progress after each."""
    step = min(size, max(1, _REPORTED_WORK // each))
    if step == size:
        yield slice(0, size)
        return
    steps = Steps(work, -(-size // step))
    for start in range(0, size, step):
        yield slice(start, min(size, start + step))
        steps.step()


def svm_features(kernels: LandmarkKernels, tiles: Tiles, n_samples: int, n_jobs: int | None) -> NDArray[Any]:
    """Return features of the packed rows, then a column of ones, then zeros up to a whole number of vectors."""
    n_landmarks = len(kernels.posterior)
    width = -(-(n_landmarks + 1) // scoring.LANE_COUNT) * scoring.LANE_COUNT
    features = kernels.features(tiles, n_samples, width, n_jobs)
    features[:, n_landmarks] = 1
    features[:, n_landmarks + 1 :] = 0
    return features
