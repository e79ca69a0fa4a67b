"""Landmark descent and pseudo-posterior of a boosted learner: lines 6 and 7 of Algorithm 2, eqs. 5 to 7 of 2019.

A landmark x acts only through the phases u = omegas x.  With the random Fourier features cos(omega_j . x_i) and
sin(omega_j . x_i) of all rows, `rff`, computed once a round, cos(omega_j . (x - x_i)) is
cos(u_j) cos(omega_j . x_i) + sin(u_j) sin(omega_j . x_i): a trial costs two dot products of 2 K numbers a row, whatever
the number of features.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport M_LN2

from .core.checks cimport agree
from .fourier.landmark_checks cimport check_landmark, check_losses, check_rff
from .core.signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .fourier.cosines cimport landmark_gradient, landmark_phases, scale_omegas, set_direction, tile_rff, phase_gradient
from .solvers cimport LBFGS
from .core.tiles cimport (
    STRIP_TILES, TERMS, TILE, accumulate, flush, n_strips, next_tile, project, real, squared, strip_start,
    strip_stop, surrogate, weight_tile,
)

use_team(team)


cdef inline double _tile_loss(bint is_squared, const real *r, const real *weight, const real *ones, const real *z,
                              real *v) noexcept nogil:
    """Sum over a tile of weight (loss at z - loss at 0); v = -weight derivative in z, over `_derivative_factor`.

    The loss of a weak learner's value z at a row of residual r is (r - z)^2, or exp(-r z), for which r holds log2(e)
    times the residual.
    """
    return squared(r, weight, z, v) if is_squared else surrogate(r, weight, ones, z, v)


cdef inline double _derivative_factor(bint is_squared) noexcept nogil:
    return 2.0 if is_squared else M_LN2


cdef _make_rff(
    const real[:, :, ::1] tiles, const double[:, ::1] omegas, real[:, :, ::1] rff, real[:, ::1] scaled, int n_threads,
):
    cdef real shifts[TERMS]
    cdef Py_ssize_t b, t, n_tiles = tiles.shape[0], n_components = omegas.shape[0], strips = n_strips(n_tiles)
    cdef Py_ssize_t each = TILE * STRIP_TILES * TERMS * (tiles.shape[1] + COSINE)   # of TERMS omegas
    cdef Py_ssize_t first, last, stop, start = 0, work = 0
    cdef Py_ssize_t some = n_threads * at_once(each * ((n_components + TERMS - 1) // TERMS))
    check_rff(tiles, omegas, rff, scaled, n_threads)
    with nogil:
        scale_omegas(omegas, scaled, shifts)
        while start < n_components:
            stop = min(n_components, start + TERMS * at_once(each))
            first = 0
            while first < strips:
                last = min(strips, first + some)
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    for t in range(strip_start(b), strip_stop(b, n_tiles)):
                        tile_rff(&tiles[t, 0, 0], tiles.shape[1], scaled, shifts, start, stop, &rff[t, 0, 0])
                look_at_signals(&work, (last - first) * each * ((stop - start + TERMS - 1) // TERMS))
                first = last
            start = stop


def make_rff(
    tiles,          # IN   real (n_tiles, n_features, TILE)
    omegas,         # IN   double (n_components, n_features)
    rff,          # OUT  real (n_tiles, 2 n_components, TILE) cosine and sine of each omega . x
    scaled,         # TEMP real (n_components padded to a multiple of TERMS, n_features)
    int n_threads,
):
    """The only pass over the features in a round."""
    if tiles.itemsize == sizeof(float):
        return _make_rff[float](tiles, omegas, rff, scaled, n_threads)
    return _make_rff[double](tiles, omegas, rff, scaled, n_threads)


cdef void _strip_landmark(
    bint is_squared, const real[:, :, ::1] rff, const real[:, ::1] r, const real[:, ::1] weight,
    const real[::1] direction, real *lanes, Py_ssize_t strip, double *sums,
) noexcept nogil:
    """Over the rows of one strip: sums = [sum of losses, minus its gradient in `direction` over the factor]."""
    cdef real ones[TILE]
    cdef real z[TILE]
    cdef real v[TILE]
    cdef Py_ssize_t i, t, n_tiles = rff.shape[0], n_rff = rff.shape[1]
    for i in range(TILE):
        ones[i] = 1
    for i in range(n_rff + 1):
        sums[i] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        project(&rff[t, 0, 0], next_tile(rff, t), n_rff, &direction[0], 0, z)
        sums[0] += _tile_loss(is_squared, &r[t, 0], weight_tile(weight, t, n_tiles), ones, z, v)
        accumulate(&rff[t, 0, 0], next_tile(rff, t), n_rff, v, lanes)
    flush(lanes, n_rff, sums + 1)


cdef double _objective(
    bint is_squared, const real[:, :, ::1] rff, const real[:, ::1] r, const real[:, ::1] weight,
    const double[:, ::1] basis, const double[::1] x, double total_weight, double[::1] gradient, double[::1] u,
    real[::1] direction, real[:, ::1] lanes, double[:, ::1] partial, int n_threads, Py_ssize_t *work,
) except? -1 nogil:
    cdef Py_ssize_t b, n_components = rff.shape[1] // 2, strips = n_strips(rff.shape[0])
    cdef Py_ssize_t each = TILE * STRIP_TILES * 2 * (rff.shape[1] + COSINE), first = 0, last
    cdef double value = 0, factor = -_derivative_factor(is_squared) / total_weight
    landmark_phases(basis, x, u)
    set_direction(u, n_components, 1.0 / n_components, direction)
    if n_threads == 1:   # as in `_descent`: no parallel region where it would cost more than the work
        for b in range(strips):
            _strip_landmark(is_squared, rff, r, weight, direction, &lanes[0, 0], b, &partial[b, 0])
            look_at_signals(work, each)
    else:
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_landmark(is_squared, rff, r, weight, direction, &lanes[threadid(), 0], b, &partial[b, 0])
            look_at_signals(work, (last - first) * each)
            first = last
    for b in range(strips):
        value += partial[b, 0]
    phase_gradient(partial, strips, factor, direction, n_components, u)
    landmark_gradient(basis, u, gradient)
    return value / total_weight


cdef _landmark_objective(
    bint is_squared, const real[:, :, ::1] rff, const real[:, ::1] r, const real[:, ::1] weight,
    const double[:, ::1] basis, const double[::1] x, double total_weight, double[::1] gradient, double[::1] u,
    real[::1] direction, real[:, ::1] lanes, double[:, ::1] partial, int n_threads,
):
    check_losses(rff, r, weight, direction, partial, 1 + rff.shape[1], n_threads)
    check_landmark(rff, basis, x, u, lanes, n_threads)
    agree(gradient.shape[0] == x.shape[0], "gradient must have the shape of x")
    cdef Py_ssize_t work = 0
    with nogil:
        value = _objective(is_squared, rff, r, weight, basis, x, total_weight, gradient, u, direction, lanes, partial,
                           n_threads, &work)
    return value


def landmark_objective(
    bint is_squared,      # the loss (r - z)^2, or exp(-r z)
    rff,                # IN   real (n_tiles, 2 n_components, TILE)
    r,                    # IN   real (n_tiles, TILE) residuals, times log2(e) for the exponential loss
    weight,               # IN   real (n_tiles or 2, TILE)
    basis,                # IN   double (n_features, padded) omegas transposed, or (0, padded): search by phases
    x,                    # IN   double (n_features,) landmark, or (n_components,) phases where basis is empty
    double total_weight,
    gradient,             # OUT  double like x
    u,                    # TEMP double (padded,) n_components padded with 0 to a multiple of LANES
    direction,            # TEMP real (2 n_components,)
    lanes,                # TEMP real (n_threads, 2 n_components * LANES), 0 and left 0
    partial,              # TEMP double (n_strips, >= 1 + 2 n_components)
    int n_threads,
):
    """Weighted mean of loss(r, mean over j of cos(omega_j . (x - x_i))) - loss(r, 0), and its gradient in x."""
    if rff.itemsize == sizeof(float):
        return _landmark_objective[float](is_squared, rff, r, weight, basis, x, total_weight, gradient, u, direction,
                                          lanes, partial, n_threads)
    return _landmark_objective[double](is_squared, rff, r, weight, basis, x, total_weight, gradient, u, direction,
                                       lanes, partial, n_threads)


cdef _descend_landmark(
    LBFGS search, bint is_squared, const real[:, :, ::1] rff, const real[:, ::1] r, const real[:, ::1] weight,
    const double[:, ::1] basis, double[::1] x, double total_weight, double first_length, double[::1] u,
    real[::1] direction, real[:, ::1] lanes, double[:, ::1] partial, int n_threads,
):
    check_losses(rff, r, weight, direction, partial, 1 + rff.shape[1], n_threads)
    check_landmark(rff, basis, x, u, lanes, n_threads)
    agree(search is not None and search.most == x.shape[0], "search must be an LBFGS of as many variables as x has")
    cdef double value
    cdef Py_ssize_t work = 0
    with nogil:
        search.reset(x, first_length)
        while True:
            value = _objective(is_squared, rff, r, weight, basis, search.x, total_weight, search.gradient, u,
                               direction, lanes, partial, n_threads, &work)
            look_at_signals(&work, 2 * basis.shape[0] * u.shape[0])
            if not search.advance(value):
                break
        x[:] = search.x
        landmark_phases(basis, x, u)
    return search.n_evaluations


def descend_landmark(
    LBFGS search,         # TEMP for as many variables as x has
    bint is_squared,      # the loss (r - z)^2, or exp(-r z)
    rff,                # IN   real (n_tiles, 2 n_components, TILE)
    r,                    # IN   real (n_tiles, TILE) residuals, times log2(e) for the exponential loss
    weight,               # IN   real (n_tiles or 2, TILE)
    basis,                # IN   double (n_features, padded) omegas transposed, or (0, padded): search by phases
    x,                    # IN   double where to start; OUT the end of the descent
    double total_weight,
    double first_length,
    u,                    # OUT  double (padded,) phases of the landmark
    direction,            # TEMP real (2 n_components,)
    lanes,                # TEMP real (n_threads, 2 n_components * LANES), 0 and left 0
    partial,              # TEMP double (n_strips, >= 1 + 2 n_components)
    int n_threads,
):
    """Minimise `landmark_objective` over x, from its first value; return the number of evaluations."""
    if rff.itemsize == sizeof(float):
        return _descend_landmark[float](search, is_squared, rff, r, weight, basis, x, total_weight, first_length, u,
                                        direction, lanes, partial, n_threads)
    return _descend_landmark[double](search, is_squared, rff, r, weight, basis, x, total_weight, first_length, u,
                                     direction, lanes, partial, n_threads)


cdef void _strip_component_losses(
    bint is_squared, const real[:, :, ::1] rff, const real[:, ::1] r, const real[:, ::1] weight,
    const real[::1] direction, Py_ssize_t strip, double *sums,
) noexcept nogil:
    cdef real ones[TILE]
    cdef real z[TILE]
    cdef real v[TILE]
    cdef Py_ssize_t j, t, n_tiles = rff.shape[0], n_components = rff.shape[1] // 2
    for j in range(TILE):
        ones[j] = 1
    for j in range(n_components):
        sums[j] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        for j in range(n_components):
            project(&rff[t, 2 * j, 0], &rff[t, 2 * j, 0], 2, &direction[2 * j], 0, z)
            sums[j] += _tile_loss(is_squared, &r[t, 0], weight_tile(weight, t, n_tiles), ones, z, v)


cdef _component_losses(
    bint is_squared, const real[:, :, ::1] rff, const real[:, ::1] r, const real[:, ::1] weight, const double[::1] u,
    double total_weight, double[::1] losses, real[::1] direction, double[:, ::1] partial, int n_threads,
):
    check_losses(rff, r, weight, direction, partial, rff.shape[1] // 2, n_threads)
    agree(u.shape[0] >= rff.shape[1] // 2, "u must have n_components entries")
    agree(losses.shape[0] == rff.shape[1] // 2, "losses must have shape (n_components,)")
    cdef Py_ssize_t b, j, strips = n_strips(rff.shape[0]), first = 0, last, work = 0
    cdef Py_ssize_t each = TILE * STRIP_TILES * losses.shape[0] * COSINE
    with nogil:
        set_direction(u, losses.shape[0], 1.0, direction)
        losses[...] = 0
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_component_losses(is_squared, rff, r, weight, direction, b, &partial[b, 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        for j in range(losses.shape[0]):
            for b in range(strips):
                losses[j] += partial[b, j]
            losses[j] /= total_weight


def component_losses(
    bint is_squared,      # the loss (r - z)^2, or exp(-r z)
    rff,                # IN   real (n_tiles, 2 n_components, TILE)
    r,                    # IN   real (n_tiles, TILE) residuals, times log2(e) for the exponential loss
    weight,               # IN   real (n_tiles or 2, TILE)
    u,                    # IN   double (>= n_components,) phases of the landmark
    double total_weight,
    losses,               # OUT  double (n_components,)
    direction,            # TEMP real (2 n_components,)
    partial,              # TEMP double (n_strips, >= n_components)
    int n_threads,
):
    """Weighted mean of loss(r, cos(omega_j . (x - x_i))) - loss(r, 0) for each component j of a landmark x.

    The differences from loss(r, 0) shift all components alike, so that they make the same pseudo-posterior.
    """
    if rff.itemsize == sizeof(float):
        return _component_losses[float](is_squared, rff, r, weight, u, total_weight, losses, direction, partial,
                                        n_threads)
    return _component_losses[double](is_squared, rff, r, weight, u, total_weight, losses, direction, partial,
                                     n_threads)
