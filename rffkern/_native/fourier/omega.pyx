"""Descent over omega: line 7 of Algorithm 3 (GBRFF2)."""

from cython.parallel cimport prange, threadid
from libc.math cimport M_LN2, M_PI

from .core.tiles cimport (
    LANES, STRIP_TILES, TILE, accumulate, flush, n_strips, next_tile, project, real, sincospi, strip_start, strip_stop,
    surrogate, weight_tile,
)
from .core.checks cimport agree, holds, is_tiled, weighs_tiles
from .core.signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .solvers cimport LBFGS

use_team(team)


cdef void _strip_objective(
    const real[:, :, ::1] tiles, const real[:, ::1] r2, const real[:, ::1] weight, const real[::1] omega, real shift,
    real *lanes, Py_ssize_t strip, double *sums,
) noexcept nogil:
    """Over the rows of one strip: sums = [sum of weight (exp(-y_tilde cos) - 1), its gradient in omega / ln 2]."""
    cdef real u[TILE]
    cdef real s[TILE]
    cdef real c[TILE]
    cdef real v[TILE]
    cdef Py_ssize_t j, t, n_tiles = tiles.shape[0], n_features = tiles.shape[1]
    for j in range(n_features + 1):
        sums[j] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        project(&tiles[t, 0, 0], next_tile(tiles, t), n_features, &omega[0], shift, u)
        sincospi(u, TILE, s, c)
        sums[0] += surrogate(&r2[t, 0], weight_tile(weight, t, n_tiles), s, c, v)
        accumulate(&tiles[t, 0, 0], next_tile(tiles, t), n_features, v, lanes)
    flush(lanes, n_features, sums + 1)


cdef double _penalised(
    const real[:, :, ::1] tiles, const real[:, ::1] r2, const real[:, ::1] weight, const double[::1] omega,
    double phase, double reg_lambda, double total_weight, double[::1] gradient, real[::1] scaled,
    real[:, ::1] lanes, double[:, ::1] partial, int n_threads, Py_ssize_t *work,
) except? -1 nogil:
    cdef Py_ssize_t b, j, n_features = omega.shape[0], strips = n_strips(tiles.shape[0]), first = 0, last
    cdef Py_ssize_t each = TILE * STRIP_TILES * 2 * (n_features + COSINE)
    cdef real shift = <real>(phase / M_PI)
    cdef double loss = 0
    for j in range(n_features):
        scaled[j] = <real>(omega[j] / M_PI)
        gradient[j] = 0
    if n_threads == 1:   # a parallel region costs a microsecond even where it is one thread: a fifth of a small fit
        for b in range(strips):
            _strip_objective(tiles, r2, weight, scaled, shift, &lanes[0, 0], b, &partial[b, 0])
            look_at_signals(work, each)
    else:
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_objective(tiles, r2, weight, scaled, shift, &lanes[threadid(), 0], b, &partial[b, 0])
            look_at_signals(work, (last - first) * each)
            first = last
    for b in range(strips):
        loss += partial[b, 0]
        for j in range(n_features):
            gradient[j] += partial[b, 1 + j]
    loss /= total_weight
    for j in range(n_features):
        gradient[j] = gradient[j] * (M_LN2 / total_weight) + 2 * reg_lambda * omega[j]
        loss += reg_lambda * omega[j] * omega[j]
    return loss


cdef int _check(
    const real[:, :, ::1] tiles, const real[:, ::1] r2, const real[:, ::1] weight, const double[::1] omega,
    real[::1] scaled, real[:, ::1] lanes, double[:, ::1] partial, int n_threads,
) except -1:
    """Raise ValueError unless the arrays that both functions of Python read agree."""
    cdef Py_ssize_t n_tiles = tiles.shape[0], n_features = tiles.shape[1]
    agree(tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(is_tiled(r2, n_tiles), "r2 must have shape (n_tiles, 128)")
    agree(weighs_tiles(weight, n_tiles), "weight must have shape (n_tiles, 128) or (2, 128)")
    agree(omega.shape[0] == n_features, "omega must have shape (n_features,)")
    agree(scaled.shape[0] >= n_features, "scaled must have n_features entries")
    agree(holds(lanes, n_threads, n_features * LANES), "lanes must have shape (n_threads, n_features * LANE_COUNT)")
    agree(holds(partial, n_strips(n_tiles), 1 + n_features), "partial must have shape (n_strips, 1 + n_features)")
    return agree(n_threads >= 1, "n_threads must be at least 1")


cdef _omega_objective(
    const real[:, :, ::1] tiles, const real[:, ::1] r2, const real[:, ::1] weight, const double[::1] omega,
    double phase, double reg_lambda, double total_weight, double[::1] gradient, real[::1] scaled, real[:, ::1] lanes,
    double[:, ::1] partial, int n_threads,
):
    _check(tiles, r2, weight, omega, scaled, lanes, partial, n_threads)
    agree(gradient.shape[0] == omega.shape[0], "gradient must have shape (n_features,)")
    cdef Py_ssize_t work = 0
    with nogil:
        loss = _penalised(tiles, r2, weight, omega, phase, reg_lambda, total_weight, gradient, scaled, lanes,
                          partial, n_threads, &work)
    return loss


def omega_objective(
    tiles,                 # IN   real (n_tiles, n_features, TILE)
    r2,                    # IN   real (n_tiles, TILE) log2(e) y_tilde, 0 in padding
    weight,                # IN   real (n_tiles or 2, TILE)
    omega,                 # IN   double (n_features,)
    double phase,
    double reg_lambda,
    double total_weight,
    gradient,              # OUT  double (n_features,)
    scaled,                # TEMP real (n_features,)
    lanes,                 # TEMP real (n_threads, n_features * LANES), 0 and left 0
    partial,               # TEMP double (n_strips, >= 1 + n_features)
    int n_threads,
):
    """Weighted mean of exp(-y_tilde cos(omega . x - phase)) - 1, plus reg_lambda |omega|^2, and its gradient."""
    if tiles.itemsize == sizeof(float):
        return _omega_objective[float](tiles, r2, weight, omega, phase, reg_lambda, total_weight, gradient, scaled,
                                       lanes, partial, n_threads)
    return _omega_objective[double](tiles, r2, weight, omega, phase, reg_lambda, total_weight, gradient, scaled, lanes,
                                    partial, n_threads)


cdef _descend_omega(
    LBFGS search, const real[:, :, ::1] tiles, const real[:, ::1] r2, const real[:, ::1] weight, double[::1] omega,
    double phase, double reg_lambda, double total_weight, double first_length, real[::1] scaled, real[:, ::1] lanes,
    double[:, ::1] partial, int n_threads,
):
    agree(search is not None and search.most == omega.shape[0], "search must be an LBFGS of n_features variables")
    _check(tiles, r2, weight, omega, scaled, lanes, partial, n_threads)
    cdef double loss
    cdef Py_ssize_t work = 0
    with nogil:
        search.reset(omega, first_length)
        while True:
            loss = _penalised(tiles, r2, weight, search.x, phase, reg_lambda, total_weight, search.gradient, scaled,
                              lanes, partial, n_threads, &work)
            if not search.advance(loss):
                break
        omega[:] = search.x
    return search.n_evaluations


def descend_omega(
    LBFGS search,          # TEMP for n_features variables
    tiles,                 # IN   real (n_tiles, n_features, TILE)
    r2,                    # IN   real (n_tiles, TILE) log2(e) y_tilde, 0 in padding
    weight,                # IN   real (n_tiles or 2, TILE)
    omega,                 # IN   double (n_features,) where to start; OUT the end of the descent
    double phase,
    double reg_lambda,
    double total_weight,
    double first_length,
    scaled,                # TEMP real (n_features,)
    lanes,                 # TEMP real (n_threads, n_features * LANES), 0 and left 0
    partial,               # TEMP double (n_strips, >= 1 + n_features)
    int n_threads,
):
    """Minimise `omega_objective` over omega, from its first value; return the number of evaluations."""
    if tiles.itemsize == sizeof(float):
        return _descend_omega[float](search, tiles, r2, weight, omega, phase, reg_lambda, total_weight, first_length,
                                     scaled, lanes, partial, n_threads)
    return _descend_omega[double](search, tiles, r2, weight, omega, phase, reg_lambda, total_weight, first_length,
                                  scaled, lanes, partial, n_threads)
