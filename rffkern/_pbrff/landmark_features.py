"""Landmarks with pseudo-Bayesian kernels, learned from labelled rows: the representation of PBRFF."""

import math
from typing import NamedTuple

import numpy as np

from .._data import validation as check
from .._data.row_blocks import take_rows
from .._data.scaling import measure_scaling
from .._data.threads import check_n_threads
from .._data.tiles import TILE, aligned, make_tiles, tiled
from .._gbrff.fit import kernel_width, needs_double
from .._gbrff.landmark_learner import draw_rows, feature_units, pseudo_posterior
from .._kernels import packing, pbrff_features
from ..errors import InvalidInputError
from ..expansion import FourierExpansion
from .kmeans import kmeans

# Of the weight, that rows besides a landmark must have to say anything of its cosines.
_LEAST_SHARE = 1e-12

# Rows of a class that k-means looks at.
_KMEANS_ROWS = 16384


class Landmarks(NamedTuple):
    """Points, the classes they stand for, and the part of their own weight that a sum over all rows holds."""

    points: np.ndarray  # (n_landmarks, n_features), standardised
    codes: np.ndarray  # (n_landmarks,)
    own_weight: np.ndarray  # (n_landmarks,)


class LandmarkKernels(NamedTuple):
    """One kernel for each landmark: h_l(x) = sum over j of posterior[l, j] cos(omegas[l, j] . x - phases[l, j])."""

    omegas: np.ndarray  # (n_landmarks, n_components, n_features)
    phases: np.ndarray  # (n_landmarks, n_components)
    posterior: np.ndarray  # (n_landmarks, n_components)

    def packed(self, dtype):
        """Omegas and phases as the kernels read them: in half turns, padded to a multiple of terms."""
        n_terms, multiple = self.phases.size, packing.TERM_MULTIPLES[0]
        # The last landmark's terms may begin between two multiples, and are read in whole ones.
        n_padded = -(-n_terms // multiple) * multiple + multiple
        omegas, shifts = np.zeros((n_padded, self.omegas.shape[2]), dtype), np.zeros(n_padded, dtype)
        omegas[:n_terms] = self.omegas.reshape(n_terms, -1) / np.pi
        shifts[:n_terms] = self.phases.reshape(n_terms) / np.pi
        return omegas, shifts

    def features(self, tiles, out, n_threads):
        """Write h_l of each row to out[:, l]."""
        scratch = aligned((n_threads, len(self.posterior) * TILE), out.dtype)
        pbrff_features.landmark_features(tiles, *self.packed(out.dtype), self.posterior.astype(out.dtype), out, scratch,
                                     n_threads)


def _random_landmarks(data, scaling, unit, n_landmarks, rng):
    """Rows drawn with replacement.  `unit` is the weight of one row in the units of the given weights."""
    indices = draw_rows(rng, n_landmarks, data.X.shape[0], data.weight)
    points = (take_rows(data.X, indices) - scaling.center) * scaling.inverse_scale
    weight = np.ones(n_landmarks) if data.weight is None else data.weight[indices]
    # A row of integer weight stands for so many copies, of which the landmark is one.
    return Landmarks(points, data.codes[indices], np.minimum(weight, 1 / unit))


def _kmeans_landmarks(data, scaling, n_landmarks, rng):
    """Equally many centers for each class, the first classes taking what is left over."""
    if n_landmarks < data.n_classes:
        raise InvalidInputError(f"n_landmarks must be at least the number of classes, {data.n_classes}, where "
                                f"landmarks are by k-means, got {n_landmarks}")
    points, codes = [], []
    for code in range(data.n_classes):
        weight = np.ones(len(data.codes)) if data.weight is None else data.weight
        members = np.flatnonzero((data.codes == code) & (weight > 0))
        weight = weight[members]
        if len(members) > _KMEANS_ROWS:
            members, weight = members[draw_rows(rng, _KMEANS_ROWS, len(members), weight)], np.ones(_KMEANS_ROWS)
        rows = (take_rows(data.X, members) - scaling.center) * scaling.inverse_scale
        n_centers = n_landmarks // data.n_classes + (code < n_landmarks % data.n_classes)
        points.append(kmeans(rows, weight, n_centers, rng))
        codes.append(np.full(n_centers, code))
    return Landmarks(np.concatenate(points), np.concatenate(codes), np.zeros(n_landmarks))


class Representation:
    """Landmarks, their kernels, and the packed rows they were learned from."""

    def __init__(self, model, data, sample_weight, rng):
        self.n_samples = n_samples = data.X.shape[0]
        self.scaling = measure_scaling(data.X, data.weight, model.standardize, model.n_threads)
        gamma = kernel_width(model, self.scaling)
        n = check.total_weight(sample_weight, n_samples)
        total = float(n_samples) if data.weight is None else data.weight.sum()
        self.unit = n / total  # of the weights in `data`, whose mean is 1
        if model.landmarks == "random":
            landmarks = _random_landmarks(data, self.scaling, self.unit, model.n_landmarks, rng)
        else:
            landmarks = _kmeans_landmarks(data, self.scaling, model.n_landmarks, rng)
        omegas = rng.standard_normal((model.n_landmarks, model.n_components, data.X.shape[1]))
        omegas *= math.sqrt(2 * gamma)
        self.points = landmarks.points
        self.n_threads = check_n_threads(model.n_threads, n_samples * omegas.size)
        self._pack(model, data, gamma)
        phases = np.einsum("lkd,ld->lk", omegas, landmarks.points)
        kernels = LandmarkKernels(omegas, phases, np.empty(phases.shape))
        agreement = self._agreements(kernels, landmarks, data)
        own, least = landmarks.own_weight[:, None], _LEAST_SHARE * total
        agreement = np.where(total - own > least, agreement - own, 0.0) / np.maximum(total - own, least)
        # The pseudo-posterior of losses 1/2 - agreement / 2.
        self.kernels = kernels._replace(posterior=pseudo_posterior(0.5 * model.beta * math.sqrt(n) * agreement))

    def _pack(self, model, data, gamma):
        def tiles():
            return make_tiles(data.X, self.scaling, np.dtype(self.dtype), self.n_threads, 0, None, data.weight)

        self.dtype = np.float64 if model.precision == "double" else np.float32
        self.store = tiles()
        if self.dtype == np.float32 and needs_double(gamma, self.store.largest_length):
            self.dtype = np.float64
            self.store = tiles()

    def _agreements(self, kernels, landmarks, data):
        """Sums over rows of weight y_l y_i cos(omega . (x_l - x_i)), with y_l y_i = 1 in one class and -1 in two."""
        weight = np.ones(self.n_samples) if data.weight is None else data.weight
        targets = np.stack([tiled(np.where(data.codes == code, weight, -weight), np.dtype(self.dtype))
                            for code in range(data.n_classes)])
        sums = np.zeros(kernels.phases.size)
        for place, tiles in self.store.blocks():
            n_blocks = -(-len(tiles) * TILE // packing.ROW_BLOCK)
            pbrff_features.agreements(tiles, np.ascontiguousarray(targets[:, place]), landmarks.codes.astype(np.intp),
                                  *kernels.packed(self.dtype), kernels.phases.shape[1], sums,
                                  np.empty((n_blocks, sums.size)), self.n_threads)
        return sums.reshape(kernels.phases.shape)

    def features(self):
        """Rows of landmark features, then a 1, padded with 0 to a whole number of vectors; to be called once."""
        n_landmarks = len(self.points)
        width = -(-(n_landmarks + 1) // packing.LANE_COUNT) * packing.LANE_COUNT
        out = aligned((self.n_samples, width), np.dtype(self.dtype))
        out[:, n_landmarks:] = 0
        out[:, n_landmarks] = 1
        for place, tiles in self.store.blocks():
            self.kernels.features(tiles, out[place.start * TILE : place.stop * TILE], self.n_threads)
        self.store = None  # the rows give way to what is learned on their features
        return out

    def landmarks(self):
        """In feature units."""
        return feature_units(self.points, self.scaling)

    def expansion(self, coef, intercept):
        """Sum over landmarks l of coef[l, k] h_l, for outputs k."""
        omegas, phases, posterior = self.kernels
        amplitudes = posterior[:, :, None] * coef[:, None, :]
        return FourierExpansion((omegas * self.scaling.inverse_scale).reshape(phases.size, -1), phases.reshape(-1),
                                amplitudes.reshape(phases.size, -1), intercept, self.scaling.center)
