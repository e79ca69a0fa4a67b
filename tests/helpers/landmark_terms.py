"""The kernels of PBRFF's landmarks, called on a `Problem`."""

import numpy as np

from rffkern._native import pbrff, scoring

from .packing import padded_size, tiled


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
