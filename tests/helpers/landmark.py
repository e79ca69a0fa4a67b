"""What the landmark kernels need for the landmarks of a problem."""

import numpy as np
import reference

from rffkern._native import gbrff, scoring, solvers

from .packing import padded_size

LOSSES = ("exponential", "squared")


class Landmark:
    """What the kernels need for the landmarks of a problem's omegas."""

    def __init__(self, problem, kind, over_phases=False, n_threads=1):
        rows, n_components = problem.rows, len(problem.omegas)
        self.problem, self.kind, self.is_squared, self.n_threads = problem, kind, kind == "squared", n_threads
        state = problem.margins if kind == "exponential" else problem.residuals
        self.r = state.r
        self.flat_r = problem.y_tilde if kind == "exponential" else problem.flat(state.r)
        self.rff = np.zeros((rows.n_tiles, 2 * n_components, scoring.TILE_ROWS), rows.dtype)
        padded = np.zeros((padded_size(n_components, scoring.TERM_MULTIPLES[0]), rows.n_features), rows.dtype)
        gbrff.make_rff(rows.tiles, problem.omegas, self.rff, padded, n_threads)
        n_padded = padded_size(n_components, scoring.LANE_COUNT)
        self.basis = np.zeros((0 if over_phases else rows.n_features, n_padded))
        if not over_phases:
            self.basis[:, :n_components] = problem.omegas.T
        self.u, self.direction = np.zeros(n_padded), np.zeros(2 * n_components, rows.dtype)
        self.lanes = np.zeros((n_threads, 2 * n_components * scoring.LANE_COUNT), rows.dtype)
        self.partial = np.zeros((len(rows.partial), 1 + 2 * n_components))

    @property
    def scratch(self):
        return self.u, self.direction, self.lanes, self.partial, self.n_threads

    def objective(self, x):
        gradient = np.zeros_like(x)
        rows = self.problem.rows
        value = gbrff.landmark_objective(self.is_squared, self.rff, self.r, rows.weight, self.basis, x,
                                         rows.total_weight, gradient, *self.scratch)
        return value, gradient

    def descend(self, x, max_iter=10):
        x = x.copy()
        search = solvers.LBFGS(x.size, max_iter, 2e-9, 1e-5, 1e-6)
        rows = self.problem.rows
        evaluations = gbrff.descend_landmark(
            search, self.is_squared, self.rff, self.r, rows.weight, self.basis, x, rows.total_weight, 1.0,
            *self.scratch)
        return x, evaluations

    def component_losses(self, phases):
        losses = np.zeros(len(phases))
        u = np.zeros(self.u.size)
        u[: len(phases)] = phases
        rows = self.problem.rows
        gbrff.component_losses(self.is_squared, self.rff, self.r, rows.weight, u, rows.total_weight, losses,
                               self.direction, self.partial, self.n_threads)
        return losses

    def expected(self, x):
        problem = self.problem
        return reference.landmark_objective(self.kind, problem.X, self.flat_r, problem.weight, problem.omegas, x)
