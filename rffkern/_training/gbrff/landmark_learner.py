"""The weak learner of the landmark families: a landmark and a pseudo-posterior over K cosines (Algorithm 2, 2019)."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._native import gbrff, solvers
from ..spectral import feature_units, pseudo_posterior
from .loss_states import ALONE, CosineSum, ExponentialState, LossState
from .recipe import FittedRounds, LandmarkRows, SearchSetting
from .tolerances import GRADIENT_TOLERANCE, LOSS_TOLERANCE, NOISE
from .workspace import LandmarkWorkspace, TrainingWorkspace

Double = NDArray[np.float64]

# Residuals of a smaller mean square are not scaled up any further.
_SMALLEST_LOSS = 1e-30

# Phases from which the descent of a single squared-loss cosine may start: its loss has two valleys at most.
_STARTS = np.linspace(-np.pi, np.pi, 8, endpoint=False)

# Returns residuals as a search is to fit them, of residuals and their loss.
ResidualScale = Callable[[NDArray[Any], float], NDArray[Any]]


class LandmarkOptions(NamedTuple):
    """The parameters of a model that say how its landmarks are found."""

    landmarks: str  # a name of `_SEARCHES`
    beta: float
    rows_factor: Callable[[float], float]  # of n rows, the inverse temperature for mean losses over beta
    max_iter: int
    scale: ResidualScale


class Waves(NamedTuple):
    """What the kernels of one landmark read: omegas, residuals and weights of a subset."""

    omegas: Double  # (n_components, n_features)
    waves: NDArray[Any]  # (n_tiles, 2 n_components, 128) cosine and sine of omega . x
    r: NDArray[Any]  # (n_tiles, 128)
    weight: NDArray[Any]  # (n_tiles or 2, 128)
    total_weight: float


class Found(NamedTuple):
    """A landmark that was found."""

    phases: Double  # (n_components,) omega . landmark
    landmark: Double | None  # (n_features,), or None where only its phases are known
    n_iterations: int  # of L-BFGS


class LandmarkSearch(Protocol):
    """Finds the landmark of a round."""

    def find(self, waves: Waves, round_index: int, output: int) -> Found:
        """The landmark of an output in a round."""


def as_printed(r: NDArray[Any], loss: float) -> NDArray[Any]:
    """Residuals as they are."""
    return r


def for_any_number(n_rows: float) -> float:
    """The factor where the inverse temperature does not depend on the number of rows."""
    return 1.0


def in_root_mean_squares(r: NDArray[Any], loss: float) -> NDArray[Any]:
    """Residuals of the squared loss in units of their root mean square."""
    scaled: NDArray[Any] = r * r.dtype.type(1 / math.sqrt(max(loss, _SMALLEST_LOSS)))
    return scaled


class DrawnLandmarks:
    """Landmarks that were drawn beforehand."""

    def __init__(self, landmarks: Double) -> None:
        self._landmarks = landmarks  # (n_rounds, n_outputs, n_features) standardised

    def find(self, waves: Waves, round_index: int, output: int) -> Found:
        """The landmark that was drawn for an output in a round."""
        landmark = self._landmarks[round_index, output]
        # Not by the BLAS, whose sums may depend on its number of threads.
        return Found(np.einsum("kd,d->k", waves.omegas, landmark), landmark, 0)


class _Descent:
    """What the searches share: L-BFGS on the loss of a landmark's mean cosine (line 6 of Algorithm 2)."""

    def __init__(self, is_squared: bool, work: LandmarkWorkspace, max_iter: int, n_variables: int,
                 first_length: float) -> None:
        self._is_squared, self._work, self._first_length = is_squared, work, first_length
        self._search = solvers.LBFGS(n_variables, max_iter, LOSS_TOLERANCE, GRADIENT_TOLERANCE, NOISE[work.waves.dtype])

    def _descend(self, waves: Waves, basis: Double, start: Double) -> Found:
        """The landmark that the descent ends at: its coordinates where there is a basis, else its phases alone."""
        work, x = self._work, start.copy()
        gbrff.descend_landmark(
            self._search, self._is_squared, waves.waves, waves.r, waves.weight, basis, x, waves.total_weight,
            self._first_length, work.phases, work.direction, work.wave_lanes, work.wave_partial, work.search_threads)
        return Found(work.phases[: len(waves.omegas)].copy(), x if len(basis) else None, self._search.n_iterations)


class CoordinateSearch(_Descent):
    """Learns landmarks by descents over their coordinates, from 0 on."""

    def __init__(self, is_squared: bool, work: LandmarkWorkspace, max_iter: int, n_features: int,
                 first_length: float) -> None:
        super().__init__(is_squared, work, max_iter, n_features, first_length)
        self._basis = np.zeros((n_features, work.phases.size))
        self._start = np.zeros(n_features)

    def find(self, waves: Waves, round_index: int, output: int) -> Found:
        """The landmark that the descent ends at."""
        self._basis[:, : len(waves.omegas)] = waves.omegas.T
        return self._descend(waves, self._basis, self._start)


class PhasesSearch(_Descent):
    """Learns landmarks by descents over their K phases, which reach every landmark where K <= n_features."""

    def __init__(self, is_squared: bool, work: LandmarkWorkspace, max_iter: int, n_components: int) -> None:
        # A landmark that moves by one length scale of the kernel turns its phases by a radian or so.
        super().__init__(is_squared, work, max_iter, n_components, math.sqrt(n_components))
        self._basis = np.zeros((0, work.phases.size))  # none: the variables are the phases
        self._start = np.zeros(n_components)

    def find(self, waves: Waves, round_index: int, output: int) -> Found:
        """The phases that the descent ends at."""
        return self._descend(waves, self._basis, self._start)


class OnePhaseSearch(PhasesSearch):
    """Learns the phase of a single cosine, by a descent from the best of a few."""

    def __init__(self, is_squared: bool, work: LandmarkWorkspace, max_iter: int) -> None:
        super().__init__(is_squared, work, max_iter, 1)
        self._gradient = np.zeros(1)

    def find(self, waves: Waves, round_index: int, output: int) -> Found:
        """The phase that the descent ends at."""
        work = self._work
        losses = [gbrff.landmark_objective(
            self._is_squared, waves.waves, waves.r, waves.weight, self._basis, np.array([start]), waves.total_weight,
            self._gradient, work.phases, work.direction, work.wave_lanes, work.wave_partial, work.search_threads)
            for start in _STARTS]
        return self._descend(waves, self._basis, _STARTS[[np.argmin(losses)]])


class LandmarkLearner:
    """Fits the landmark of K given omegas to residuals, and the pseudo-posterior of its cosines."""

    def __init__(self, is_squared: bool, setting: SearchSetting[LandmarkWorkspace], search: LandmarkSearch,
                 temperature: float, scale: ResidualScale) -> None:
        self.n_iterations = 0
        self._is_squared, self._setting, self._search = is_squared, setting, search
        self._temperature, self._scale = temperature, scale

    def __call__(self, state: LossState, round_index: int, output: int) -> CosineSum:
        """The weak learner for the residuals of a loss state."""
        setting, work = self._setting, self._setting.workspace
        subset, omegas = setting.subsets[round_index % len(setting.subsets)], setting.draws[round_index, output]
        r = self._scale(subset.residuals_of(state), state.loss)
        tiles = work.waves[: len(subset.tiles)]
        gbrff.make_waves(subset.tiles, omegas, tiles, work.padded_omegas, work.search_threads)
        waves = Waves(omegas, tiles, r, subset.weight, subset.total_weight)
        phases, landmark, n_iterations = self._search.find(waves, round_index, output)
        self.n_iterations += n_iterations
        if len(phases) == 1:
            return CosineSum(omegas, phases, ALONE, landmark)
        gbrff.component_losses(self._is_squared, tiles, r, subset.weight, phases, subset.total_weight,
                               work.losses, work.direction, work.wave_partial, work.search_threads)
        return CosineSum(omegas, phases, pseudo_posterior(-self._temperature * work.losses), landmark)


class PhaseLearner:
    """Fits the phase of a single given cosine to residuals of the exponential loss, at the global minimum."""

    n_iterations = 0

    def __init__(self, setting: SearchSetting[TrainingWorkspace], *_: Any) -> None:
        self._setting = setting

    def __call__(self, state: ExponentialState, round_index: int, output: int) -> CosineSum:
        """The weak learner for the residuals of a loss state."""
        setting, work = self._setting, self._setting.workspace
        subset, omegas = setting.subsets[round_index % len(setting.subsets)], setting.draws[round_index, output]
        n_tiles = len(subset.tiles)
        phase = gbrff.search_phase(
            subset.tiles, subset.residuals_of(state), subset.weight, omegas[0], subset.total_weight,
            state.largest_residual, work.cosine[:n_tiles], work.sine[:n_tiles], work.scaled, work.circle, work.partial,
            work.search_threads)
        return CosineSum(omegas, np.array([phase]), ALONE)


def _drawn_landmarks(is_squared: bool, max_iter: int, setting: SearchSetting[LandmarkWorkspace],
                     source: LandmarkRows, rng: "np.random.Generator") -> LandmarkSearch:
    """Landmarks that are rows, drawn by their weight."""
    n_rounds, n_outputs = setting.draws.shape[:2]
    rows = source.draw(rng, n_rounds * n_outputs)
    return DrawnLandmarks(rows.reshape(n_rounds, n_outputs, -1))


def _learned_landmarks(is_squared: bool, max_iter: int, setting: SearchSetting[LandmarkWorkspace],
                       source: LandmarkRows, rng: "np.random.Generator") -> LandmarkSearch:
    """Descents over the phases of a landmark where these are no more than its coordinates."""
    n_components, n_features = setting.draws.shape[2:]
    if n_components == 1:
        return OnePhaseSearch(is_squared, setting.workspace, max_iter)
    if n_components <= n_features:
        return PhasesSearch(is_squared, setting.workspace, max_iter, n_components)
    return CoordinateSearch(is_squared, setting.workspace, max_iter, n_features, 1 / math.sqrt(2 * setting.gamma))


_SEARCHES = {"learn": _learned_landmarks, "random": _drawn_landmarks}


def landmark_learner(is_squared: bool, options: LandmarkOptions, setting: SearchSetting[LandmarkWorkspace],
                     source: LandmarkRows, rng: "np.random.Generator") -> LandmarkLearner:
    """What fits the weak learners of a landmark family."""
    search = _SEARCHES[options.landmarks](is_squared, options.max_iter, setting, source, rng)
    temperature = options.beta * options.rows_factor(source.given_total)
    return LandmarkLearner(is_squared, setting, search, temperature, options.scale)


def landmarks_attribute(kept: FittedRounds) -> dict[str, Any]:
    """The landmarks of the rounds kept, as a fitted attribute."""
    return {"landmarks_": _landmarks_of(kept)}


def _landmarks_of(kept: FittedRounds) -> Double:
    """Landmarks in feature units, (n_rounds, n_features) or (n_rounds, n_outputs, n_features)."""
    n_rounds, (n_outputs, n_components, n_features) = len(kept.rounds), kept.draws.shape[1:]
    learners = [addition.learner for additions in kept.rounds for addition in additions]
    if all(learner.landmark is not None for learner in learners):
        x = np.reshape([learner.landmark for learner in learners], (n_rounds, n_outputs, n_features))
    else:
        phases = np.reshape([learner.phases for learner in learners], (n_rounds, n_outputs, n_components, 1))
        x = _next_to_mean(kept.draws[:n_rounds], phases, np.abs(kept.draws).max())
    landmarks = feature_units(x, kept.scaling)
    return landmarks[:, 0] if n_outputs == 1 else landmarks


def _next_to_mean(omegas: Double, phases: Double, unit: float) -> Double:
    """Of all landmarks with the phases that were found, those closest to the mean of the rows."""
    omegas = omegas / unit
    transposed = omegas.swapaxes(-1, -2)
    x: Double = (transposed @ np.linalg.solve(omegas @ transposed, phases))[..., 0] / unit
    return x
