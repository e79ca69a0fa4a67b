"""The kernels of GBRFF2's weak learner, called on a `Problem`."""

import numpy as np
import reference

from rffkern._native import gbrff


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
