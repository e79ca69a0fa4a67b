"""The kernels of weak learners and of landmarks, called on a `Problem`."""

import numpy as np
import reference

from rffkern._native import gbrff, pbrff, scoring, solvers

from .packing import padded_size, tiled

LOSSES = ("exponential", "squared")


def search_phase(problem):
    rows, margins = problem.rows, problem.margins
    return gbrff.search_phase(rows.tiles, margins.r, rows.weight, problem.omega, rows.total_weight,
                              margins.largest_residual, rows.cosine, rows.sine, rows.scaled, rows.circle,
                              rows.partial, rows.n_threads)


def phase_loss(problem, phase):
    """The logarithm of the loss at a phase, by the twin."""
    phases = np.array([phase])
    return reference.phase_curve(problem.X, problem.y_tilde, problem.weight, problem.omega, phases)[0]


def omega_objective(problem, omega, reg_lambda):
    rows, gradient = problem.rows, np.empty(problem.rows.n_features)
    loss = gbrff.omega_objective(rows.tiles, problem.margins.r, rows.weight, omega, problem.phase, reg_lambda,
                                 rows.total_weight, gradient, rows.scaled, rows.lanes, rows.partial,
                                 rows.n_threads)
    return loss, gradient


def padded(omegas, phases, dtype):
    """Omegas and phases in half turns; kernels read whole groups of terms, from any landmark's first one on."""
    multiple = scoring.TERM_MULTIPLES[0]
    n_padded = padded_size(len(omegas), multiple) + multiple
    half_turns, shifts = np.zeros((n_padded, omegas.shape[1]), dtype), np.zeros(n_padded, dtype)
    half_turns[: len(omegas)], shifts[: len(phases)] = omegas / np.pi, phases / np.pi
    return half_turns, shifts


def cosine_sums(problem, group, n_components, n_threads=1):
    """Sums over rows of target cos(omega . x - phase): targets are y for landmarks of group 0, and -y for group 1."""
    rows = problem.rows
    targets = np.stack([tiled(problem.weight * sign, rows.dtype) for sign in (problem.y, -problem.y)])
    sums = np.zeros(len(problem.omegas))
    pbrff.weighted_cosines(rows.tiles, targets, group, *padded(problem.omegas, problem.phases, rows.dtype),
                           n_components, sums, np.zeros((len(rows.partial), sums.size)), n_threads)
    return sums


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
