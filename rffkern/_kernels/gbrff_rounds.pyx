"""Steps and updates of boosting: a weak learner on all rows, its step, the row weights or residuals after it.

For the exponential loss lines 8, 9, 3 and 4 of Algorithms 2 and 3; for the squared loss lines 3 to 5 of Algorithm 1 of
the 2019 paper.  A weak learner is h(x) = sum over j of posterior_j cos(omega_j . x - phase_j).
"""

from cython.parallel cimport prange
from libc.math cimport M_LN2, M_PI

from .checks cimport agree, holds, is_tiled, weighs_tiles
from .signals cimport COSINE, at_once, look_at_signals
from .tiles cimport (
    STRIP_TILES, TERMS, TILE, boost, correlate, correlate_unbounded, evaluate, n_strips, next_tile, real,
    regress, shrink, step_slopes, strip_start, strip_stop, weight_tile,
)

cdef extern from "vecmath.h" nogil:
    double VM_MAX_RESIDUAL
# |y_tilde| is held to this inside the surrogate loss.
LARGEST_RESIDUAL = VM_MAX_RESIDUAL


cdef Py_ssize_t _terms_size(Py_ssize_t n_components, Py_ssize_t n_features) noexcept nogil:
    return (n_features + 2) * ((n_components + TERMS - 1) // TERMS * TERMS)


def terms_size(Py_ssize_t n_components, Py_ssize_t n_features):
    """Numbers in the TEMP array `terms` of a weak learner: its omegas, phases and posterior as kernels read them."""
    agree(n_components >= 1, "n_components must be at least 1")
    agree(n_features >= 1, "n_features must be at least 1")
    return _terms_size(n_components, n_features)


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
    return agree(terms.shape[0] >= _terms_size(n_components, tiles.shape[1]), "terms must have terms_size entries")


cdef int _check_sums(const real[:, ::1] weight, double[:, ::1] partial, Py_ssize_t n_tiles, Py_ssize_t n_sums,
                     int n_threads) except -1:
    """Raise ValueError unless weights fit the tiles and the scratch holds the sums of each strip."""
    agree(weighs_tiles(weight, n_tiles), "weight must have shape (n_tiles, 128) or (2, 128)")
    agree(holds(partial, n_strips(n_tiles), n_sums), "partial must have a row per strip, with an entry per sum")
    return agree(n_threads >= 1, "n_threads must be at least 1")


cdef void _pack_terms(const double[:, ::1] omegas, const double[::1] phases, const double[::1] posterior,
                      real *terms) noexcept nogil:
    """Omegas and phases in half turns, padded with 0 to a multiple of TERMS, then the posterior."""
    cdef Py_ssize_t j, k, n_features = omegas.shape[1], n_padded = (omegas.shape[0] + TERMS - 1) // TERMS * TERMS
    cdef real *shifts = terms + n_padded * n_features
    for j in range(n_padded * (n_features + 2)):
        terms[j] = 0
    for j in range(omegas.shape[0]):
        for k in range(n_features):
            terms[j * n_features + k] = <real>(omegas[j, k] / M_PI)
        shifts[j] = <real>(phases[j] / M_PI)
        shifts[n_padded + j] = <real>posterior[j]


cdef inline void _evaluate_terms(const real[:, :, ::1] tiles, Py_ssize_t t, const real *terms, Py_ssize_t n_components,
                                 Py_ssize_t start, Py_ssize_t stop, real *h) noexcept nogil:
    cdef Py_ssize_t n_features = tiles.shape[1], n_padded = (n_components + TERMS - 1) // TERMS * TERMS
    cdef const real *shifts = terms + n_padded * n_features
    evaluate(&tiles[t, 0, 0], next_tile(tiles, t), n_features, terms, shifts, shifts + n_padded, n_components,
             start, stop, h)


cdef void _strip_exponential(
    const real[:, :, ::1] tiles, const double[:, ::1] raw_prediction, const real[:, ::1] y, const real[:, ::1] r2,
    const real[:, ::1] weight, const real *terms, Py_ssize_t n_components, bint bounded, real[:, ::1] h,
    Py_ssize_t strip, Py_ssize_t start, Py_ssize_t stop, double *sums,
) noexcept nogil:
    """Add the components from `start` to `stop` of a weak learner, and after the last take the sums."""
    cdef Py_ssize_t t, n_tiles = tiles.shape[0]
    sums[0] = sums[1] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        _evaluate_terms(tiles, t, terms, n_components, start, stop, &h[t, 0])
        if stop == n_components and bounded:
            correlate_unbounded(&raw_prediction[t, 0], &y[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], sums)
        elif stop == n_components:
            correlate(&r2[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], sums)


def apply_exponential(
    const real[:, :, ::1] tiles,             # IN   (n_tiles, n_features, TILE)
    const double[:, ::1] raw_prediction,     # IN   (n_tiles, TILE)
    const real[:, ::1] y,                    # IN   (n_tiles, TILE) -1 or +1, 0 in padding
    const real[:, ::1] r2,                   # IN   (n_tiles, TILE) log2(e) y_tilde, 0 in padding
    const real[:, ::1] weight,               # IN   (n_tiles or 2, TILE)
    const double[:, ::1] omegas,             # IN   (n_components, n_features)
    const double[::1] phases,                # IN   (n_components,)
    const double[::1] posterior,             # IN   (n_components,)
    bint bounded,                            # whether some |y_tilde| was held to its bound
    real[:, ::1] h,                          # OUT  (n_tiles, TILE) the weak learner
    real[::1] terms,                         # TEMP (terms_size,)
    double[:, ::1] partial,                  # TEMP (n_strips, >= 2)
    int n_threads,
):
    """Evaluate a weak learner; return the sums over rows of w and of w y h, with w = weight exp(-y raw_prediction).

    Where no residual was held to its bound, w is read from r2 and costs no exponential.
    """
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
        _pack_terms(omegas, phases, posterior, &terms[0])
        while start < n_components:
            stop = min(n_components, start + TERMS * at_once(TERMS * each))
            first = 0
            while first < strips:
                last = min(strips, first + n_threads * at_once((stop - start) * each))
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    _strip_exponential(tiles, raw_prediction, y, r2, weight, &terms[0], n_components, bounded, h, b,
                                       start, stop, &partial[b, 0])
                look_at_signals(&work, (last - first) * (stop - start) * each)
                first = last
            start = stop
        for b in range(strips):
            total += partial[b, 0]
            product += partial[b, 1]
    factor = 1.0 if bounded else M_LN2
    return factor * total, factor * product


cdef void _strip_step_slopes(
    const double[:, ::1] raw_prediction, const real[:, ::1] y, const real[:, ::1] weight, const real[:, ::1] h,
    double step, Py_ssize_t strip, double *sums,
) noexcept nogil:
    cdef Py_ssize_t t, n_tiles = y.shape[0]
    sums[0] = sums[1] = sums[2] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        step_slopes(&raw_prediction[t, 0], &y[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], step, sums)


def loss_along_step(
    const double[:, ::1] raw_prediction,   # IN   (n_tiles, TILE)
    const real[:, ::1] y,                  # IN   (n_tiles, TILE) -1 or +1, 0 in padding
    const real[:, ::1] weight,             # IN   (n_tiles or 2, TILE)
    const real[:, ::1] h,                  # IN   (n_tiles, TILE) the weak learner
    double step,
    double[:, ::1] partial,                # TEMP (n_strips, >= 3)
    int n_threads,
):
    """Sum of weight exp(-y (raw_prediction + step h)) over the rows, and its first two derivatives in the step."""
    cdef Py_ssize_t n_tiles = y.shape[0]
    agree(is_tiled(raw_prediction, n_tiles), "raw_prediction must have shape (n_tiles, 128)")
    agree(is_tiled(y, n_tiles), "y must have shape (n_tiles, 128)")
    agree(is_tiled(h, n_tiles), "h must have shape (n_tiles, 128)")
    _check_sums(weight, partial, n_tiles, 3, n_threads)
    cdef Py_ssize_t b, strips = n_strips(y.shape[0])
    cdef double value = 0, slope = 0, curvature = 0
    with nogil:
        for b in prange(strips, schedule='dynamic', num_threads=n_threads):
            _strip_step_slopes(raw_prediction, y, weight, h, step, b, &partial[b, 0])
        for b in range(strips):
            value += partial[b, 0]
            slope -= partial[b, 1]
            curvature += partial[b, 2]
    return value, slope, curvature


cdef void _strip_boost(
    double[:, ::1] raw_prediction, const real[:, ::1] y, const real[:, ::1] weight, const real[:, ::1] h, double step,
    real[:, ::1] r2, Py_ssize_t strip, double *sums,
) noexcept nogil:
    cdef Py_ssize_t t, n_tiles = y.shape[0]
    sums[0] = sums[1] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        boost(&raw_prediction[t, 0], &y[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], step, &r2[t, 0], sums)


def boost_rows(
    double[:, ::1] raw_prediction,   # IN   (n_tiles, TILE); OUT increased by step h
    const real[:, ::1] y,            # IN   (n_tiles, TILE) -1 or +1, 0 in padding
    const real[:, ::1] weight,       # IN   (n_tiles or 2, TILE)
    const real[:, ::1] h,            # IN   (n_tiles, TILE)
    double step,
    real[:, ::1] r2,                 # OUT  (n_tiles, TILE) log2(e) y_tilde, |y_tilde| held to 64
    double[:, ::1] partial,          # TEMP (n_strips, >= 2)
    int n_threads,
):
    """Lines 9, 3 and 4 of Algorithm 3; return the sum of weight exp(-y raw_prediction) and the largest |y_tilde|."""
    cdef Py_ssize_t n_tiles = y.shape[0]
    agree(is_tiled(raw_prediction, n_tiles), "raw_prediction must have shape (n_tiles, 128)")
    agree(is_tiled(y, n_tiles), "y must have shape (n_tiles, 128)")
    agree(is_tiled(h, n_tiles), "h must have shape (n_tiles, 128)")
    agree(is_tiled(r2, n_tiles), "r2 must have shape (n_tiles, 128)")
    _check_sums(weight, partial, n_tiles, 2, n_threads)
    cdef Py_ssize_t b, strips = n_strips(y.shape[0])
    cdef double loss = 0, largest = 0
    with nogil:
        for b in prange(strips, schedule='dynamic', num_threads=n_threads):
            _strip_boost(raw_prediction, y, weight, h, step, r2, b, &partial[b, 0])
        for b in range(strips):
            loss += partial[b, 0]
            largest = max(largest, partial[b, 1])
    return loss, largest


cdef void _strip_squared(
    const real[:, :, ::1] tiles, const real[:, ::1] r, const real[:, ::1] weight, const real *terms,
    Py_ssize_t n_components, real[:, ::1] h, Py_ssize_t strip, Py_ssize_t start, Py_ssize_t stop, double *sums,
) noexcept nogil:
    """Add the components from `start` to `stop` of a weak learner, and after the last take the sums."""
    cdef Py_ssize_t t, n_tiles = tiles.shape[0]
    sums[0] = sums[1] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        _evaluate_terms(tiles, t, terms, n_components, start, stop, &h[t, 0])
        if stop == n_components:
            regress(&r[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], sums)


def apply_squared(
    const real[:, :, ::1] tiles,      # IN   (n_tiles, n_features, TILE)
    const real[:, ::1] r,             # IN   (n_tiles, TILE) y - raw_prediction
    const real[:, ::1] weight,        # IN   (n_tiles or 2, TILE)
    const double[:, ::1] omegas,      # IN   (n_components, n_features)
    const double[::1] phases,         # IN   (n_components,)
    const double[::1] posterior,      # IN   (n_components,)
    real[:, ::1] h,                   # OUT  (n_tiles, TILE) the weak learner
    real[::1] terms,                  # TEMP (terms_size,)
    double[:, ::1] partial,           # TEMP (n_strips, >= 2)
    int n_threads,
):
    """Evaluate a weak learner; return the sums over rows of weight r h and of weight h^2 (2019 paper, eq. 8)."""
    _check_learner(tiles, omegas, phases, posterior, h, terms)
    agree(is_tiled(r, tiles.shape[0]), "r must have shape (n_tiles, 128)")
    _check_sums(weight, partial, tiles.shape[0], 2, n_threads)
    cdef Py_ssize_t b, strips = n_strips(tiles.shape[0]), n_components = omegas.shape[0], first, last, stop
    cdef Py_ssize_t each = TILE * STRIP_TILES * (tiles.shape[1] + COSINE), start = 0, work = 0   # of a component
    cdef double product = 0, square = 0
    with nogil:
        _pack_terms(omegas, phases, posterior, &terms[0])
        while start < n_components:
            stop = min(n_components, start + TERMS * at_once(TERMS * each))
            first = 0
            while first < strips:
                last = min(strips, first + n_threads * at_once((stop - start) * each))
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    _strip_squared(tiles, r, weight, &terms[0], n_components, h, b, start, stop, &partial[b, 0])
                look_at_signals(&work, (last - first) * (stop - start) * each)
                first = last
            start = stop
        for b in range(strips):
            product += partial[b, 0]
            square += partial[b, 1]
    return product, square


cdef void _strip_shrink(
    double[:, ::1] residual, const real[:, ::1] weight, const real[:, ::1] h, double step, real[:, ::1] r,
    Py_ssize_t strip, double *sums,
) noexcept nogil:
    cdef Py_ssize_t t, n_tiles = h.shape[0]
    sums[0] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        shrink(&residual[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], step, &r[t, 0], sums)


def shrink_rows(
    double[:, ::1] residual,      # IN   (n_tiles, TILE); OUT decreased by step h
    const real[:, ::1] weight,    # IN   (n_tiles or 2, TILE)
    const real[:, ::1] h,         # IN   (n_tiles, TILE)
    double step,
    real[:, ::1] r,               # OUT  (n_tiles, TILE) the residual
    double[:, ::1] partial,       # TEMP (n_strips, >= 1)
    int n_threads,
):
    """Lines 5 and 3 of the 2019 paper's Algorithm 1; return the sum of weight residual^2."""
    cdef Py_ssize_t n_tiles = h.shape[0]
    agree(is_tiled(h, n_tiles), "h must have shape (n_tiles, 128)")
    agree(is_tiled(residual, n_tiles), "residual must have shape (n_tiles, 128)")
    agree(is_tiled(r, n_tiles), "r must have shape (n_tiles, 128)")
    _check_sums(weight, partial, n_tiles, 1, n_threads)
    cdef Py_ssize_t b, strips = n_strips(h.shape[0])
    cdef double loss = 0
    with nogil:
        for b in prange(strips, schedule='dynamic', num_threads=n_threads):
            _strip_shrink(residual, weight, h, step, r, b, &partial[b, 0])
        for b in range(strips):
            loss += partial[b, 0]
    return loss
