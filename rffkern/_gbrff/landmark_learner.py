"""The weak learner of the landmark families: a landmark and a pseudo-posterior over K cosines (Algorithm 2, 2019)."""

import math

import numpy as np

from .._data.tiles import aligned
from .._fourier.landmarks import feature_units, pseudo_posterior, standardised_rows
from .._kernels import gbrff_landmark, gbrff_phase, lbfgs, packing
from .loss_states import CosineSum
from .tolerances import GRADIENT_TOLERANCE, LOSS_TOLERANCE, NOISE

# Residuals of a smaller mean square are not scaled up any further.
_SMALLEST_LOSS = 1e-30

# Phases from which the descent of a single squared-loss cosine may start: its loss has two valleys at most.
_STARTS = np.linspace(-np.pi, np.pi, 8, endpoint=False)


def _drawn_landmarks(data, scaling, n_rounds, n_outputs, rng):
    """Standardised rows to serve as landmarks, (n_rounds, n_outputs, n_features)."""
    indices = data.weights.draw(rng, n_rounds * n_outputs)
    return standardised_rows(data.X, indices, scaling).reshape(n_rounds, n_outputs, -1)


class LandmarkLearner:
    """Fits the landmark of K given omegas to residuals, and the pseudo-posterior of its cosines.

    The posterior is proportional to exp(-temperature loss_j).  Landmarks that are not given are learned from 0 on: over
    their K phases where K is at most the number of features, else over their coordinates.  With `scale_residuals` the
    residuals count in units of their root mean square.

    Memory: 2 K numbers of the precision for each row of a part.
    """

    def __init__(self, rows, draws, temperature, max_iter, first_length, landmarks=None, scale_residuals=False):
        self.rows, self.draws, self.temperature, self.landmarks = rows, draws, temperature, landmarks
        self.scale_residuals = scale_residuals
        self.n_components = n_components = draws.shape[2]
        self.n_iterations = 0
        self.found = []  # landmarks in the order they were used, unless only their phases are known
        self.over_phases = n_components <= rows.n_features
        # A landmark that moves by one width of the kernel turns its phases by a radian or so.
        self.first_length = math.sqrt(n_components) if self.over_phases else first_length
        n_variables = n_components if self.over_phases else rows.n_features
        self.search = lbfgs.LBFGS(n_variables, max_iter, LOSS_TOLERANCE, GRADIENT_TOLERANCE, NOISE[rows.dtype])
        self.x, self.gradient = np.zeros((2, n_variables))
        self.phases = np.zeros(-(-n_components // packing.LANE_COUNT) * packing.LANE_COUNT)
        self.basis = np.zeros((0 if self.over_phases else rows.n_features, self.phases.size))
        self.losses = np.zeros(n_components)
        self.direction = np.zeros(2 * n_components, rows.dtype)
        self.padded = np.zeros((-(-n_components // packing.TERM_MULTIPLES[0]) * packing.TERM_MULTIPLES[0],
                                rows.n_features), rows.dtype)
        self.waves = aligned((rows.largest_subset, 2 * n_components, rows.tile_size), rows.dtype)
        self.lanes = aligned((rows.part_threads, 2 * n_components * packing.LANE_COUNT), rows.dtype)
        self.lanes[:] = 0
        n_blocks = -(-rows.largest_subset * rows.tile_size // packing.ROW_BLOCK)
        self.partial = np.zeros((n_blocks, 1 + 2 * n_components))

    def __call__(self, state, round_index, output):
        """Return the learner, a CosineSum, for the residuals of a loss state."""
        sample = self.rows.sample(round_index)
        r, omegas = sample.of(state.r), self.draws[round_index, output]
        if self.scale_residuals:
            r = r * r.dtype.type(1 / math.sqrt(max(state.loss, _SMALLEST_LOSS)))
        n_components = self.n_components
        if n_components == 1 and self.landmarks is None and state.kernel_loss == gbrff_landmark.EXPONENTIAL:
            return CosineSum(omegas, self._search_phase(state, sample, r, omegas[0]), np.ones(1))
        waves = self.waves[: len(sample.tiles)]
        gbrff_landmark.make_waves(sample.tiles, omegas, waves, self.padded, self.rows.part_threads)
        common = state.kernel_loss, waves, r, sample.weight
        if self.landmarks is None:
            self._descend(common, omegas, sample.total_weight)
        else:
            self.found.append(self.landmarks[round_index, output])
            # Not by the BLAS, whose sums may depend on its number of threads.
            self.phases[:n_components] = np.einsum("kd,d->k", omegas, self.found[-1])
        phases = self.phases[:n_components].copy()
        if n_components == 1:
            return CosineSum(omegas, phases, np.ones(1))
        gbrff_landmark.component_losses(*common, self.phases, sample.total_weight, self.losses, self.direction,
                                    self.partial, self.rows.part_threads)
        return CosineSum(omegas, phases, pseudo_posterior(-self.temperature * self.losses))

    def _search_phase(self, state, sample, r, omega):
        rows, n_tiles = self.rows, len(sample.tiles)
        return np.array([gbrff_phase.search_phase(
            sample.tiles, r, sample.weight, omega, sample.total_weight, state.largest_residual, rows.cosine[:n_tiles],
            rows.sine[:n_tiles], rows.scaled, rows.circle, rows.partial, rows.part_threads)])

    def _descend(self, common, omegas, total_weight):
        """Line 6 of Algorithm 2: set `phases` to those of the landmark the descent ends at."""
        if not self.over_phases:
            self.basis[:, : self.n_components] = omegas.T
        scratch = self.direction, self.lanes, self.partial, self.rows.part_threads
        self.x[:] = 0
        if self.n_components == 1:
            values = [gbrff_landmark.landmark_objective(*common, self.basis, np.array([start]), total_weight, self.gradient,
                                                    self.phases, *scratch) for start in _STARTS]
            self.x[0] = _STARTS[np.argmin(values)]
        gbrff_landmark.descend_landmark(self.search, *common, self.basis, self.x, total_weight, self.first_length,
                                    self.phases, *scratch)
        self.n_iterations += self.search.n_iterations
        if not self.over_phases:
            self.found.append(self.x.copy())


def learner_maker(model, temperature, scale_residuals=False):
    """The function that makes a model's LandmarkLearner, as `train` wants it; temperature is one of the rows."""
    def make_learner(rows, draws, gamma, scaling, data, rng):
        landmarks = None if model.landmarks == "learn" else _drawn_landmarks(data, scaling, *draws.shape[:2], rng)
        return LandmarkLearner(rows, draws, temperature(rows), model.max_iter, 1 / math.sqrt(2 * gamma), landmarks,
                               scale_residuals)

    return make_learner


def landmarks_of(learner, rounds, scaling):
    """Landmarks in feature units, (n_rounds, n_features) or (n_rounds, n_outputs, n_features)."""
    n_outputs, n_features = learner.draws.shape[1], scaling.center.size
    if learner.found:
        x = np.reshape(learner.found[: len(rounds) * n_outputs], (len(rounds), n_outputs, n_features))
    else:  # of all with the phases that were found, the landmark next to the mean of the rows
        unit = np.abs(learner.draws).max()
        omegas = learner.draws[: len(rounds)] / unit
        phases = np.reshape([[cosines.phases for cosines, _ in this_round] for this_round in rounds],
                            (len(rounds), n_outputs, learner.n_components, 1))
        transposed = omegas.swapaxes(-1, -2)
        x = (transposed @ np.linalg.solve(omegas @ transposed, phases))[..., 0] / unit
    landmarks = feature_units(x, scaling)
    return landmarks[:, 0] if n_outputs == 1 else landmarks
