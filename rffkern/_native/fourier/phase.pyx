"""Search for the phase of a single Fourier feature: line 6 of Algorithm 3, and of Algorithm 2 where K = 1."""

from cython.parallel cimport prange
from libc.math cimport M_LN2, M_PI, cos, fabs, log1p, sin

from .core.checks cimport agree, holds, is_tiled, weighs_tiles
from .core.signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport (
    STRIP_TILES, TILE, n_strips, next_tile, phase_derivatives, phase_sums, project, real, sincospi, strip_start,
    strip_stop, weight_tile,
)

use_team(team)

cdef enum:
    MAX_SAMPLES = 64
    MAX_NEWTON_STEPS = 20

# A row of residual r makes bumps of width 1 / sqrt(r) in the loss along the phase; the samples must not step over one.
cdef double MAX_RESIDUAL_16 = 8
cdef double MAX_RESIDUAL_32 = 24


cdef void _strip_phase_sums(
    const real[:, :, ::1] tiles, const real[:, ::1] r2, const real[:, ::1] weight, const real[::1] omega,
    const real[:, ::1] circle, Py_ssize_t n_samples, real[:, ::1] a, real[:, ::1] b, Py_ssize_t strip, double *sums,
) noexcept nogil:
    """sums[k] = sum over the strip of weight (exp(-y_tilde cos(omega . x - 2 pi k / n_samples)) - 1)."""
    cdef real u[TILE]
    cdef Py_ssize_t i, k, t, n_tiles = tiles.shape[0]
    for k in range(n_samples):
        sums[k] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        project(&tiles[t, 0, 0], next_tile(tiles, t), tiles.shape[1], &omega[0], 0, u)
        sincospi(u, TILE, &b[t, 0], &a[t, 0])
        for i in range(TILE):
            a[t, i] *= r2[t, i]
            b[t, i] *= r2[t, i]
        phase_sums(&a[t, 0], &b[t, 0], weight_tile(weight, t, n_tiles), n_samples // 2, &circle[0, 0], &circle[1, 0],
                   sums)


cdef void _strip_phase_derivatives(
    const real[:, ::1] a, const real[:, ::1] b, const real[:, ::1] weight, double phase, Py_ssize_t strip, double *sums,
) noexcept nogil:
    cdef Py_ssize_t t, n_tiles = a.shape[0]
    cdef real cosine = <real>cos(phase), sine = <real>sin(phase)
    sums[0] = sums[1] = sums[2] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        phase_derivatives(&a[t, 0], &b[t, 0], weight_tile(weight, t, n_tiles), cosine, sine, sums)


cdef double _polish(
    const real[:, ::1] a, const real[:, ::1] b, const real[:, ::1] weight, double total_weight, double phase,
    double width, double[:, ::1] partial, int n_threads, double *log_loss, Py_ssize_t *work,
) except? -10 nogil:
    """Minimise the log of the loss within `width` of a phase: Newton's rule, bisection where it leaves the bracket.

    The logarithm, because the loss itself may span twenty orders of magnitude, over which Newton's rule crawls.
    """
    cdef Py_ssize_t k, strips = n_strips(a.shape[0]), each = TILE * STRIP_TILES * 2 * COSINE, first, last
    cdef int iteration
    cdef double left = phase - width, right = phase + width, trial, value, derivative, curvature, best = phase
    for iteration in range(MAX_NEWTON_STEPS):
        if n_threads == 1:   # as in `_descent`: no parallel region where it would cost more than the work
            for k in range(strips):
                _strip_phase_derivatives(a, b, weight, phase, k, &partial[k, 0])
                look_at_signals(work, each)
        else:
            first = 0
            while first < strips:
                last = min(strips, first + n_threads * at_once(each))
                for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    _strip_phase_derivatives(a, b, weight, phase, k, &partial[k, 0])
                look_at_signals(work, (last - first) * each)
                first = last
        value = derivative = curvature = 0
        for k in range(strips):
            value += partial[k, 0]
            derivative -= M_LN2 * partial[k, 1]
            curvature += M_LN2 * partial[k, 2]
        derivative /= total_weight + value
        curvature = curvature / (total_weight + value) - derivative * derivative
        value = log1p(value / total_weight)
        if iteration == 0 or value < log_loss[0]:
            log_loss[0] = value
            best = phase
        if derivative > 0:
            right = phase
        else:
            left = phase
        trial = phase - derivative / curvature if curvature > 0 else right
        if not left < trial < right:
            trial = 0.5 * (left + right)
        # The rule squares the error: after a step this small nothing is left to gain.
        if fabs(trial - phase) < 1e-6:
            return trial if best == phase else best
        phase = trial
    return best


cdef double _best_phase(
    const double *samples, Py_ssize_t n_samples, const real[:, ::1] a, const real[:, ::1] b,
    const real[:, ::1] weight, double total_weight, double largest_residual, double[:, ::1] partial, int n_threads,
    Py_ssize_t *work,
) except? -10 nogil:
    """Polish every valley among the sampled log losses that may hold the global minimum; return the best phase.

    The log loss changes by at most `largest_residual` per radian, so a valley whose sample lies more than half a
    sample width times that above the best point found cannot.
    """
    cdef double width = 2 * M_PI / n_samples, best = 0, phase, left, right, bend, lowest, log_loss = 0
    cdef bint done[MAX_SAMPLES]
    cdef Py_ssize_t i, k, first = 0
    for k in range(n_samples):
        done[k] = False
        if samples[k] < samples[first]:
            first = k
    lowest = samples[first]
    best = first * width
    while True:
        k = -1
        for i in range(n_samples):
            if (not done[i] and samples[i] <= samples[(i + 1) % n_samples]
                    and samples[i] < samples[(i + n_samples - 1) % n_samples]
                    and samples[i] - 0.5 * width * largest_residual < lowest
                    and (k < 0 or samples[i] < samples[k])):
                k = i
        if k < 0:
            break
        done[k] = True
        left, right = samples[(k + n_samples - 1) % n_samples] - samples[k], samples[(k + 1) % n_samples] - samples[k]
        bend = left + right
        phase = width * (k + (0.5 * (left - right) / bend if bend > 0 else 0))
        phase = _polish(a, b, weight, total_weight, phase, width, partial, n_threads, &log_loss, work)
        if log_loss < lowest:
            best, lowest = phase, log_loss
    return best if best <= M_PI else best - 2 * M_PI


cdef _search_phase(
    const real[:, :, ::1] tiles, const real[:, ::1] r2, const real[:, ::1] weight, const double[::1] omega,
    double total_weight, double largest_residual, real[:, ::1] a, real[:, ::1] b, real[::1] scaled,
    real[:, ::1] circle, double[:, ::1] partial, int n_threads,
):
    cdef Py_ssize_t n_tiles = tiles.shape[0], n_features = tiles.shape[1]
    agree(tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(is_tiled(r2, n_tiles), "r2 must have shape (n_tiles, 128)")
    agree(weighs_tiles(weight, n_tiles), "weight must have shape (n_tiles, 128) or (2, 128)")
    agree(omega.shape[0] == n_features, "omega must have shape (n_features,)")
    agree(is_tiled(a, n_tiles), "a must have shape (n_tiles, 128)")
    agree(is_tiled(b, n_tiles), "b must have shape (n_tiles, 128)")
    agree(scaled.shape[0] >= n_features, "scaled must have n_features entries")
    agree(holds(circle, 2, MAX_SAMPLES // 2), "circle must have shape (2, 32)")
    agree(holds(partial, n_strips(n_tiles), MAX_SAMPLES), "partial must have shape (n_strips, 64)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t j, k, strip, strips = n_strips(tiles.shape[0]), n_samples = 64, first = 0, last, work = 0
    cdef Py_ssize_t each
    cdef double samples[MAX_SAMPLES]
    if largest_residual <= MAX_RESIDUAL_32:
        n_samples = 16 if largest_residual <= MAX_RESIDUAL_16 else 32
    with nogil:
        for j in range(omega.shape[0]):
            scaled[j] = <real>(omega[j] / M_PI)
        for k in range(n_samples // 2):
            circle[0, k] = <real>cos(2 * M_PI * k / n_samples)
            circle[1, k] = <real>sin(2 * M_PI * k / n_samples)
        each = TILE * STRIP_TILES * (tiles.shape[1] + COSINE * n_samples)
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for strip in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_phase_sums(tiles, r2, weight, scaled, circle, n_samples, a, b, strip, &partial[strip, 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        for k in range(n_samples):
            samples[k] = 0
            for strip in range(strips):
                samples[k] += partial[strip, k]
            samples[k] = log1p(samples[k] / total_weight)
        phase = _best_phase(samples, n_samples, a, b, weight, total_weight, largest_residual, partial, n_threads,
                            &work)
    return phase


def search_phase(
    tiles,                     # IN   real (n_tiles, n_features, TILE)
    r2,                        # IN   real (n_tiles, TILE) log2(e) y_tilde, 0 in padding
    weight,                    # IN   real (n_tiles or 2, TILE)
    omega,                     # IN   double (n_features,)
    double total_weight,
    double largest_residual,   # largest |y_tilde|
    a,                         # TEMP real (n_tiles, TILE)
    b,                         # TEMP real (n_tiles, TILE)
    scaled,                    # TEMP real (n_features,)
    circle,                    # TEMP real (2, 32)
    partial,                   # TEMP double (n_strips, >= 64)
    int n_threads,
):
    """Line 6 of Algorithm 3: the phase in [-pi, pi] with the globally smallest surrogate loss.

    One pass over the rows reads the loss at 16, 32 or 64 phases; the valleys are polished on r cos and r sin alone.
    """
    if tiles.itemsize == sizeof(float):
        return _search_phase[float](tiles, r2, weight, omega, total_weight, largest_residual, a, b, scaled, circle,
                                    partial, n_threads)
    return _search_phase[double](tiles, r2, weight, omega, total_weight, largest_residual, a, b, scaled, circle,
                                 partial, n_threads)
