"""Steps and updates of boosting: a weak learner on all rows, its step, the row weights or residuals after it.

For the exponential loss lines 8, 9, 3 and 4 of Algorithms 2 and 3; for the squared loss lines 3 to 5 of Algorithm 1 of
the 2019 paper.  A weak learner is h(x) = sum over j of posterior_j cos(omega_j . x - phase_j).
"""

from cython.parallel cimport prange
from libc.math cimport M_LN2

from .core.checks cimport agree, holds, is_tiled, weighs_tiles
from .fourier.strips cimport strip_boost, strip_exponential, strip_shrink, strip_squared, strip_step_derivatives
from .fourier.terms cimport pack_terms, size_of_terms
from .core.signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport STRIP_TILES, TERMS, TILE, n_strips, real

use_team(team)

cdef extern from "vecmath.h" nogil:
    double VM_MAX_RESIDUAL
# |y_tilde| is held to this inside the surrogate loss.
LARGEST_RESIDUAL = VM_MAX_RESIDUAL


def terms_size(Py_ssize_t n_components, Py_ssize_t n_features):
    """Numbers in the TEMP array `terms` of a weak learner: its omegas, phases and posterior as kernels read them."""
    agree(n_components >= 1, "n_components must be at least 1")
    agree(n_features >= 1, "n_features must be at least 1")
    return size_of_terms(n_components, n_features)


cdef int _check_learner(
    const real[:, :, ::1] tiles, const double[:, ::1] omegas, const double[::1] phases, const double[::1] posterior,
    real[:, ::1] h, real[::1] terms,
) except -1:
    """Raise ValueError unless the arrays that a weak learner is evaluated with agree."""
    cdef Py_ssize_t n_components = omegas.shape[0]
    agree(tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(n_components >= 1 and omegas.shape[1] == tiles.shape[1], "omegas must have shape (n_components, n_features)")
    agree(phases.shape[0] == n_components, "phases must have shape (n_components,)")
    agree(posterior.shape[0] == n_components, "posterior must have shape (n_components,)")
    agree(is_tiled(h, tiles.shape[0]), "h must have shape (n_tiles, 128)")
    return agree(terms.shape[0] >= size_of_terms(n_components, tiles.shape[1]), "terms must have terms_size entries")


cdef int _check_sums(const real[:, ::1] weight, double[:, ::1] partial, Py_ssize_t n_tiles, Py_ssize_t n_sums,
                     int n_threads) except -1:
    """Raise ValueError unless weights fit the tiles and the scratch holds the sums of each strip."""
    agree(weighs_tiles(weight, n_tiles), "weight must have shape (n_tiles, 128) or (2, 128)")
    agree(holds(partial, n_strips(n_tiles), n_sums), "partial must have a row per strip, with an entry per sum")
    return agree(n_threads >= 1, "n_threads must be at least 1")


cdef _apply_exponential(
    const real[:, :, ::1] tiles, const double[:, ::1] raw_prediction, const real[:, ::1] y, const real[:, ::1] r2,
    const real[:, ::1] weight, const double[:, ::1] omegas, const double[::1] phases, const double[::1] posterior,
    bint bounded, real[:, ::1] h, real[::1] terms, double[:, ::1] partial, int n_threads,
):
    cdef Py_ssize_t n_tiles = tiles.shape[0]
    _check_learner(tiles, omegas, phases, posterior, h, terms)
    agree(is_tiled(raw_prediction, n_tiles), "raw_prediction must have shape (n_tiles, 128)")
    agree(is_tiled(y, n_tiles), "y must have shape (n_tiles, 128)")
    agree(is_tiled(r2, n_tiles), "r2 must have shape (n_tiles, 128)")
    _check_sums(weight, partial, n_tiles, 2, n_threads)
    cdef Py_ssize_t b, strips = n_strips(tiles.shape[0]), n_components = omegas.shape[0], first, last, stop
    cdef Py_ssize_t each = TILE * STRIP_TILES * (tiles.shape[1] + COSINE), start = 0, work = 0   # of a component
    cdef double total = 0, product = 0
    with nogil:
        pack_terms(omegas, phases, posterior, &terms[0])
        while start < n_components:
            stop = min(n_components, start + TERMS * at_once(TERMS * each))
            first = 0
            while first < strips:
                last = min(strips, first + n_threads * at_once((stop - start) * each))
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    strip_exponential(tiles, raw_prediction, y, r2, weight, &terms[0], n_components, bounded, h, b,
                                      start, stop, &partial[b, 0])
                look_at_signals(&work, (last - first) * (stop - start) * each)
                first = last
            start = stop
        for b in range(strips):
            total += partial[b, 0]
            product += partial[b, 1]
    factor = 1.0 if bounded else M_LN2
    return factor * total, factor * product


def apply_exponential(
    tiles,           # IN   real (n_tiles, n_features, TILE)
    raw_prediction,  # IN   double (n_tiles, TILE)
    y,               # IN   real (n_tiles, TILE) -1 or +1, 0 in padding
    r2,              # IN   real (n_tiles, TILE) log2(e) y_tilde, 0 in padding
    weight,          # IN   real (n_tiles or 2, TILE)
    omegas,          # IN   double (n_components, n_features)
    phases,          # IN   double (n_components,)
    posterior,       # IN   double (n_components,)
    bint bounded,    # whether some |y_tilde| was held to its bound
    h,               # OUT  real (n_tiles, TILE) the weak learner
    terms,           # TEMP real (terms_size,)
    partial,         # TEMP double (n_strips, >= 2)
    int n_threads,
):
    """Evaluate a weak learner; return the sums over rows of w and of w y h, with w = weight exp(-y raw_prediction).

    Where no residual was held to its bound, w is read from r2 and costs no exponential.
    """
    if tiles.itemsize == sizeof(float):
        return _apply_exponential[float](tiles, raw_prediction, y, r2, weight, omegas, phases, posterior, bounded, h,
                                         terms, partial, n_threads)
    return _apply_exponential[double](tiles, raw_prediction, y, r2, weight, omegas, phases, posterior, bounded, h,
                                      terms, partial, n_threads)


cdef _loss_along_step(
    const double[:, ::1] raw_prediction, const real[:, ::1] y, const real[:, ::1] weight, const real[:, ::1] h,
    double step, double[:, ::1] partial, int n_threads,
):
    cdef Py_ssize_t n_tiles = y.shape[0]
    agree(is_tiled(raw_prediction, n_tiles), "raw_prediction must have shape (n_tiles, 128)")
    agree(is_tiled(y, n_tiles), "y must have shape (n_tiles, 128)")
    agree(is_tiled(h, n_tiles), "h must have shape (n_tiles, 128)")
    _check_sums(weight, partial, n_tiles, 3, n_threads)
    cdef Py_ssize_t b, strips = n_strips(y.shape[0]), first = 0, last, work = 0
    cdef double value = 0, derivative = 0, curvature = 0
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(TILE * STRIP_TILES * COSINE))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                strip_step_derivatives(raw_prediction, y, weight, h, step, b, &partial[b, 0])
            look_at_signals(&work, (last - first) * TILE * STRIP_TILES * COSINE)
            first = last
        for b in range(strips):
            value += partial[b, 0]
            derivative -= partial[b, 1]
            curvature += partial[b, 2]
    return value, derivative, curvature


def loss_along_step(
    raw_prediction,  # IN   double (n_tiles, TILE)
    y,               # IN   real (n_tiles, TILE) -1 or +1, 0 in padding
    weight,          # IN   real (n_tiles or 2, TILE)
    h,               # IN   real (n_tiles, TILE) the weak learner
    double step,
    partial,         # TEMP double (n_strips, >= 3)
    int n_threads,
):
    """Sum of weight exp(-y (raw_prediction + step h)) over the rows, and its first two derivatives in the step."""
    if y.itemsize == sizeof(float):
        return _loss_along_step[float](raw_prediction, y, weight, h, step, partial, n_threads)
    return _loss_along_step[double](raw_prediction, y, weight, h, step, partial, n_threads)


cdef _boost_rows(
    double[:, ::1] raw_prediction, const real[:, ::1] y, const real[:, ::1] weight, const real[:, ::1] h, double step,
    real[:, ::1] r2, double[:, ::1] partial, int n_threads,
):
    cdef Py_ssize_t n_tiles = y.shape[0]
    agree(is_tiled(raw_prediction, n_tiles), "raw_prediction must have shape (n_tiles, 128)")
    agree(is_tiled(y, n_tiles), "y must have shape (n_tiles, 128)")
    agree(is_tiled(h, n_tiles), "h must have shape (n_tiles, 128)")
    agree(is_tiled(r2, n_tiles), "r2 must have shape (n_tiles, 128)")
    _check_sums(weight, partial, n_tiles, 2, n_threads)
    cdef Py_ssize_t b, strips = n_strips(y.shape[0]), first = 0, last, work = 0
    cdef double loss = 0, largest = 0
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(TILE * STRIP_TILES * COSINE))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                strip_boost(raw_prediction, y, weight, h, step, r2, b, &partial[b, 0])
            look_at_signals(&work, (last - first) * TILE * STRIP_TILES * COSINE)
            first = last
        for b in range(strips):
            loss += partial[b, 0]
            largest = max(largest, partial[b, 1])
    return loss, largest


def boost_rows(
    raw_prediction,  # IN   double (n_tiles, TILE); OUT increased by step h
    y,               # IN   real (n_tiles, TILE) -1 or +1, 0 in padding
    weight,          # IN   real (n_tiles or 2, TILE)
    h,               # IN   real (n_tiles, TILE)
    double step,
    r2,              # OUT  real (n_tiles, TILE) log2(e) y_tilde, |y_tilde| held to 64
    partial,         # TEMP double (n_strips, >= 2)
    int n_threads,
):
    """Lines 9, 3 and 4 of Algorithm 3; return the sum of weight exp(-y raw_prediction) and the largest |y_tilde|."""
    if y.itemsize == sizeof(float):
        return _boost_rows[float](raw_prediction, y, weight, h, step, r2, partial, n_threads)
    return _boost_rows[double](raw_prediction, y, weight, h, step, r2, partial, n_threads)


cdef _apply_squared(
    const real[:, :, ::1] tiles, const real[:, ::1] r, const real[:, ::1] weight, const double[:, ::1] omegas,
    const double[::1] phases, const double[::1] posterior, real[:, ::1] h, real[::1] terms, double[:, ::1] partial,
    int n_threads,
):
    _check_learner(tiles, omegas, phases, posterior, h, terms)
    agree(is_tiled(r, tiles.shape[0]), "r must have shape (n_tiles, 128)")
    _check_sums(weight, partial, tiles.shape[0], 2, n_threads)
    cdef Py_ssize_t b, strips = n_strips(tiles.shape[0]), n_components = omegas.shape[0], first, last, stop
    cdef Py_ssize_t each = TILE * STRIP_TILES * (tiles.shape[1] + COSINE), start = 0, work = 0   # of a component
    cdef double product = 0, square = 0
    with nogil:
        pack_terms(omegas, phases, posterior, &terms[0])
        while start < n_components:
            stop = min(n_components, start + TERMS * at_once(TERMS * each))
            first = 0
            while first < strips:
                last = min(strips, first + n_threads * at_once((stop - start) * each))
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    strip_squared(tiles, r, weight, &terms[0], n_components, h, b, start, stop, &partial[b, 0])
                look_at_signals(&work, (last - first) * (stop - start) * each)
                first = last
            start = stop
        for b in range(strips):
            product += partial[b, 0]
            square += partial[b, 1]
    return product, square


def apply_squared(
    tiles,          # IN   real (n_tiles, n_features, TILE)
    r,              # IN   real (n_tiles, TILE) y - raw_prediction
    weight,         # IN   real (n_tiles or 2, TILE)
    omegas,         # IN   double (n_components, n_features)
    phases,         # IN   double (n_components,)
    posterior,      # IN   double (n_components,)
    h,              # OUT  real (n_tiles, TILE) the weak learner
    terms,          # TEMP real (terms_size,)
    partial,        # TEMP double (n_strips, >= 2)
    int n_threads,
):
    """Evaluate a weak learner; return the sums over rows of weight r h and of weight h^2 (2019 paper, eq. 8)."""
    if tiles.itemsize == sizeof(float):
        return _apply_squared[float](tiles, r, weight, omegas, phases, posterior, h, terms, partial, n_threads)
    return _apply_squared[double](tiles, r, weight, omegas, phases, posterior, h, terms, partial, n_threads)


cdef _shrink_rows(
    double[:, ::1] residual, const real[:, ::1] weight, const real[:, ::1] h, double step, real[:, ::1] r,
    double[:, ::1] partial, int n_threads,
):
    cdef Py_ssize_t n_tiles = h.shape[0]
    agree(is_tiled(h, n_tiles), "h must have shape (n_tiles, 128)")
    agree(is_tiled(residual, n_tiles), "residual must have shape (n_tiles, 128)")
    agree(is_tiled(r, n_tiles), "r must have shape (n_tiles, 128)")
    _check_sums(weight, partial, n_tiles, 1, n_threads)
    cdef Py_ssize_t b, strips = n_strips(h.shape[0]), first = 0, last, work = 0
    cdef double loss = 0
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(TILE * STRIP_TILES * COSINE))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                strip_shrink(residual, weight, h, step, r, b, &partial[b, 0])
            look_at_signals(&work, (last - first) * TILE * STRIP_TILES * COSINE)
            first = last
        for b in range(strips):
            loss += partial[b, 0]
    return loss


def shrink_rows(
    residual,       # IN   double (n_tiles, TILE); OUT decreased by step h
    weight,         # IN   real (n_tiles or 2, TILE)
    h,              # IN   real (n_tiles, TILE)
    double step,
    r,              # OUT  real (n_tiles, TILE) the residual
    partial,        # TEMP double (n_strips, >= 1)
    int n_threads,
):
    """Lines 5 and 3 of the 2019 paper's Algorithm 1; return the sum of weight residual^2."""
    if weight.itemsize == sizeof(float):
        return _shrink_rows[float](residual, weight, h, step, r, partial, n_threads)
    return _shrink_rows[double](residual, weight, h, step, r, partial, n_threads)
