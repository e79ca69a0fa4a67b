"""What the updates of boosting do with the rows of one strip: sums, in an order that no number of threads changes."""

from ..fourier.terms cimport evaluate_terms
from ..core.tiles cimport (
    boost, correlate, correlate_unbounded, real, regress, shrink, step_derivatives, strip_start, strip_stop,
    weight_tile,
)


cdef inline void strip_exponential(
    const real[:, :, ::1] tiles, const double[:, ::1] raw_prediction, const real[:, ::1] y, const real[:, ::1] r2,
    const real[:, ::1] weight, const real *terms, Py_ssize_t n_components, bint bounded, real[:, ::1] h,
    Py_ssize_t strip, Py_ssize_t start, Py_ssize_t stop, double *sums,
) noexcept nogil:
    """Add the components from `start` to `stop` of a weak learner, and after the last take the sums."""
    cdef Py_ssize_t t, n_tiles = tiles.shape[0]
    sums[0] = sums[1] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        evaluate_terms(tiles, t, terms, n_components, start, stop, &h[t, 0])
        if stop == n_components and bounded:
            correlate_unbounded(&raw_prediction[t, 0], &y[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], sums)
        elif stop == n_components:
            correlate(&r2[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], sums)


cdef inline void strip_step_derivatives(
    const double[:, ::1] raw_prediction, const real[:, ::1] y, const real[:, ::1] weight, const real[:, ::1] h,
    double step, Py_ssize_t strip, double *sums,
) noexcept nogil:
    cdef Py_ssize_t t, n_tiles = y.shape[0]
    sums[0] = sums[1] = sums[2] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        step_derivatives(&raw_prediction[t, 0], &y[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], step, sums)


cdef inline void strip_boost(
    double[:, ::1] raw_prediction, const real[:, ::1] y, const real[:, ::1] weight, const real[:, ::1] h, double step,
    real[:, ::1] r2, Py_ssize_t strip, double *sums,
) noexcept nogil:
    cdef Py_ssize_t t, n_tiles = y.shape[0]
    sums[0] = sums[1] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        boost(&raw_prediction[t, 0], &y[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], step, &r2[t, 0], sums)


cdef inline void strip_squared(
    const real[:, :, ::1] tiles, const real[:, ::1] r, const real[:, ::1] weight, const real *terms,
    Py_ssize_t n_components, real[:, ::1] h, Py_ssize_t strip, Py_ssize_t start, Py_ssize_t stop, double *sums,
) noexcept nogil:
    """Add the components from `start` to `stop` of a weak learner, and after the last take the sums."""
    cdef Py_ssize_t t, n_tiles = tiles.shape[0]
    sums[0] = sums[1] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        evaluate_terms(tiles, t, terms, n_components, start, stop, &h[t, 0])
        if stop == n_components:
            regress(&r[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], sums)


cdef inline void strip_shrink(
    double[:, ::1] residual, const real[:, ::1] weight, const real[:, ::1] h, double step, real[:, ::1] r,
    Py_ssize_t strip, double *sums,
) noexcept nogil:
    cdef Py_ssize_t t, n_tiles = h.shape[0]
    sums[0] = 0
    for t in range(strip_start(strip), strip_stop(strip, n_tiles)):
        shrink(&residual[t, 0], weight_tile(weight, t, n_tiles), &h[t, 0], step, &r[t, 0], sums)
