"""The search of GBRFF2: a phase, and a frequency that descends from it."""

import math

import numpy as np

from ..._native import gbrff, solvers
from .loss_states import ALONE, CosineSum, ExponentialState
from .recipe import SearchSetting
from .tolerances import GRADIENT_TOLERANCE, LOSS_TOLERANCE, NOISE
from .workspace import TrainingWorkspace


class CosineSearch:
    """Fits one weak learner cos(omega . x - phase) to residuals: lines 6 and 7 of Algorithm 3."""

    def __init__(self, reg_lambda: float, max_iter: int, setting: SearchSetting[TrainingWorkspace]) -> None:
        n_features, dtype = setting.draws.shape[-1], setting.workspace.h.dtype
        self.n_iterations = 0
        self._reg_lambda, self._setting = reg_lambda, setting
        self._first_length = math.sqrt(setting.gamma * n_features)
        self._search = solvers.LBFGS(n_features, max_iter, LOSS_TOLERANCE, GRADIENT_TOLERANCE, NOISE[dtype])

    def __call__(self, state: ExponentialState, round_index: int, output: int) -> CosineSum:
        """The weak learner whose descent starts from the omega drawn for a round and an output."""
        setting, work = self._setting, self._setting.workspace
        subset = setting.subsets[round_index % len(setting.subsets)]
        omega, r, n_tiles = setting.draws[round_index, output, 0].copy(), subset.residuals_of(state), len(subset.tiles)
        phase = gbrff.search_phase(
            subset.tiles, r, subset.weight, omega, subset.total_weight, state.largest_residual, work.cosine[:n_tiles],
            work.sine[:n_tiles], work.scaled, work.circle, work.partial, work.search_threads)
        gbrff.descend_omega(
            self._search, subset.tiles, r, subset.weight, omega, phase, self._reg_lambda, subset.total_weight,
            self._first_length, work.scaled, work.lanes, work.partial, work.search_threads)
        self.n_iterations += self._search.n_iterations
        return CosineSum(omega[None], np.array([phase]), ALONE)
