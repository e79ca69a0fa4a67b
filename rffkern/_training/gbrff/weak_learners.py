"""The weak learners of a round, fitted to the residuals of a sample of rows.

GBRFF2 learns omega and the phase b of one cosine (ECML 2020, Algorithm 3); GBRFF1 and GBRFF learn the landmark x_t of K
given omegas and the pseudo-posterior q_t over their cosines (ECML 2020, Algorithm 2; 2019).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._native import gbrff, scoring, solvers
from ..._native.array_types import Double, NDArray
from ..._rows.scaling import Scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import DOUBLE, SINGLE, TILE, aligned
from ..posterior import pseudo_posterior
from ..spectral import feature_units
from .packed_rows import Sample, n_strips

# Where descents end, and the relative rounding error of a loss in each precision.
_LOSS_TOLERANCE, _GRADIENT_TOLERANCE = 2e-9, 1e-5
_NOISE = {SINGLE: 1e-6, DOUBLE: 1e-14}

# Residuals of a smaller mean square are not scaled up any further.
_SMALLEST_LOSS = 1e-30

# Phases from which the descent of a single squared-loss cosine may start: its loss has two valleys at most.
_STARTS = np.linspace(-np.pi, np.pi, 8, endpoint=False)

_ONE = np.ones(1)  # the pseudo-posterior of a single cosine


class WeakLearner(NamedTuple):
    """h(x) = sum over j of q[j] cos(omegas[j] . x - phases[j]) of standardised rows."""

    omegas: Double  # (n_components, n_features)
    phases: Double  # (n_components,) radians
    q: Double  # (n_components,) the pseudo-posterior, sum 1
    landmark: Double | None = None  # (n_features,) standardised, where more than its phases is known


Round = Sequence[tuple[WeakLearner, float]]  # what a round adds to each output: v alpha_t h_t


class CosineSearch:
    """Lines 6 and 7 of Algorithm 3: the phase b of the drawn omega at the global minimum, then a descent over omega."""

    def __init__(self, samples: Any, omegas: Double, gamma: float, reg_lambda: float, max_iter: int,
                 n_jobs: int | None) -> None:
        n_tiles, n_features, dtype = samples.largest_sample, samples.n_features, samples.dtype
        self.n_iterations = 0  # of L-BFGS, in all rounds
        self._omegas, self._reg_lambda, self._max_iter = omegas, reg_lambda, max_iter
        self._n_threads = check_n_threads(n_jobs, n_tiles * TILE * n_features)
        self._first_length = math.sqrt(gamma * n_features)
        self._lbfgs = solvers.LBFGS(n_features, max_iter, _LOSS_TOLERANCE, _GRADIENT_TOLERANCE, _NOISE[dtype])
        # Scratch of the kernels, allocated once.
        self._scaled = np.zeros(n_features, dtype)  # an omega in half turns
        self._circle = np.zeros((2, 32), dtype)  # cosine and sine of the phases that are tried first
        self._cosine, self._sine = aligned((2, n_tiles, TILE), dtype)  # residual times those of a row
        self._partial = np.zeros((n_strips(n_tiles), _padded(max(64, n_features + 1), 8)))
        self._lanes = aligned((self._n_threads, n_features * scoring.LANE_COUNT), dtype)
        self._lanes[:] = 0

    def fit(self, sample: Sample, rows: Any, t: int, output: int) -> WeakLearner:
        """The weak learner of round t, whose descent starts from the omega drawn for it."""
        tiles, weight, total_weight, _ = sample
        omega, r, n_tiles = self._omegas[t, output, 0].copy(), rows.residuals(sample), len(tiles)
        b = gbrff.search_phase(
            tiles, r, weight, omega, total_weight, rows.largest_residual, self._cosine[:n_tiles],
            self._sine[:n_tiles], self._scaled, self._circle, self._partial, self._n_threads)
        if self._max_iter:
            gbrff.descend_omega(
                self._lbfgs, tiles, r, weight, omega, b, self._reg_lambda, total_weight, self._first_length,
                self._scaled, self._lanes, self._partial, self._n_threads)
            self.n_iterations += self._lbfgs.n_iterations
        return WeakLearner(omega[None], np.array([b]), _ONE)


class LandmarkSearch:
    """Lines 6 and 7 of Algorithm 2: the landmark x_t by a descent, or drawn from the rows; then the pseudo-posterior.

    x enters only through its K phases Omega x.  The cosines and sines of all projections are computed once a round, so
    that a trial landmark costs two products of length K a row.  Where K <= n_features the phases reach every landmark,
    and the descent is over them; else it is over the coordinates of x, with Omega as its basis.  Both start from 0, the
    mean of the rows.
    """

    def __init__(self, samples: Any, omegas: Double, gamma: float, temperature: float, max_iter: int,
                 n_jobs: int | None, is_squared: bool, scale_residuals: bool, drawn: Double | None) -> None:
        n_tiles, n_features, dtype = samples.largest_sample, samples.n_features, samples.dtype
        n_components = omegas.shape[2]
        self.n_iterations = 0  # of L-BFGS, in all rounds
        self._omegas, self._temperature, self._drawn = omegas, temperature, drawn
        self._is_squared, self._scale_residuals = is_squared, scale_residuals
        self._n_threads = check_n_threads(n_jobs, n_tiles * TILE * n_features)
        by_phases = n_components <= n_features
        n_variables = n_components if by_phases else n_features
        # A landmark that moves by one length scale of the kernel turns its phases by a radian or so.
        self._first_length = math.sqrt(n_components) if by_phases else 1 / math.sqrt(2 * gamma)
        self._lbfgs = solvers.LBFGS(n_variables, max_iter, _LOSS_TOLERANCE, _GRADIENT_TOLERANCE, _NOISE[dtype])
        # Scratch of the kernels, allocated once: 2 K numbers of the precision for each row of a sample.
        lanes, multiple = scoring.LANE_COUNT, scoring.TERM_MULTIPLES[0]
        self._rff = aligned((n_tiles, 2 * n_components, TILE), dtype)  # cosine and sine of omega . x
        self._padded_omegas = np.zeros((_padded(n_components, multiple), n_features), dtype)
        self._phases, self._losses = np.zeros(_padded(n_components, lanes)), np.zeros(n_components)
        self._basis = np.zeros((0 if by_phases else n_features, len(self._phases)))  # none: the variables are phases
        self._start, self._gradient = np.zeros(n_variables), np.zeros(n_variables)
        self._directions = np.zeros(2 * n_components, dtype)
        self._partial = np.zeros((n_strips(n_tiles), 1 + 2 * n_components))
        self._lanes = aligned((self._n_threads, 2 * n_components * lanes), dtype)
        self._lanes[:] = 0

    def fit(self, sample: Sample, rows: Any, t: int, output: int) -> WeakLearner:
        """The weak learner of round t on the omegas drawn for it."""
        omegas, r = self._omegas[t, output], rows.residuals(sample)
        if self._scale_residuals:
            r = in_root_mean_squares(r, rows.loss)
        rff = self._rff[: len(sample.tiles)]
        gbrff.make_rff(sample.tiles, omegas, rff, self._padded_omegas, self._n_threads)
        if self._drawn is None:
            phases, landmark = self._descend(omegas, rff, r, sample)
        else:
            landmark = self._drawn[t, output]
            phases = np.einsum("kd,d->k", omegas, landmark)  # the BLAS sums in an order that depends on its threads
        if len(phases) == 1:
            return WeakLearner(omegas, phases, _ONE, landmark)
        gbrff.component_losses(self._is_squared, rff, r, sample.weight, phases, sample.total_weight, self._losses,
                               self._directions, self._partial, self._n_threads)
        return WeakLearner(omegas, phases, pseudo_posterior(-self._temperature * self._losses), landmark)

    def _descend(self, omegas: Double, rff: NDArray[Any], r: NDArray[Any],
                 sample: Sample) -> tuple[Double, Double | None]:
        """The phases that L-BFGS ends at, and the landmark where the descent is over its coordinates."""
        x = self._start.copy()
        if len(self._basis):
            self._basis[:, : len(omegas)] = omegas.T
        elif len(omegas) == 1:
            losses = [gbrff.landmark_objective(
                self._is_squared, rff, r, sample.weight, self._basis, np.array([start]), sample.total_weight,
                self._gradient, self._phases, self._directions, self._lanes, self._partial, self._n_threads)
                for start in _STARTS]
            x = _STARTS[[np.argmin(losses)]]
        gbrff.descend_landmark(
            self._lbfgs, self._is_squared, rff, r, sample.weight, self._basis, x, sample.total_weight,
            self._first_length, self._phases, self._directions, self._lanes, self._partial, self._n_threads)
        self.n_iterations += self._lbfgs.n_iterations
        return self._phases[: len(omegas)].copy(), x if len(self._basis) else None


def in_root_mean_squares(r: NDArray[Any], loss: float) -> NDArray[Any]:
    """Residuals of the squared loss in units of their root mean square."""
    return r * r.dtype.type(1 / math.sqrt(max(loss, _SMALLEST_LOSS)))


def _padded(n_numbers: int, multiple: int) -> int:
    return -(-n_numbers // multiple) * multiple


def fitted_landmarks(rounds: Sequence[Round], omegas: Double, scaling: Scaling) -> Double:
    """Landmarks of the rounds kept in feature units, (n_rounds, n_features) or (n_rounds, n_outputs, n_features)."""
    n_rounds, (n_outputs, n_components, n_features) = len(rounds), omegas.shape[1:]
    every = [learner for terms in rounds for learner, _ in terms]
    if all(learner.landmark is not None for learner in every):
        x = np.reshape([learner.landmark for learner in every], (n_rounds, n_outputs, n_features))
    else:
        phases = np.reshape([learner.phases for learner in every], (n_rounds, n_outputs, n_components, 1))
        x = _next_to_mean(omegas[:n_rounds], phases, np.abs(omegas).max())
    landmarks = feature_units(x, scaling)
    return landmarks[:, 0] if n_outputs == 1 else landmarks


def _next_to_mean(omegas: Double, phases: Double, unit: float) -> Double:
    """Of all landmarks with these phases, those closest to the mean of the rows."""
    omegas = omegas / unit
    transposed = omegas.swapaxes(-1, -2)
    return (transposed @ np.linalg.solve(omegas @ transposed, phases))[..., 0] / unit
