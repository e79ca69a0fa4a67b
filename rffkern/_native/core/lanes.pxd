"""Loops over numbers whose count is a multiple of LANES, of that length and through local arrays: compilers then need
no check of overlaps or lengths to use vectors.
"""

from ..core.tiles cimport LANES, real


cdef inline void multiply_lanes(const double *a, const double *b, double *products, Py_ssize_t size) noexcept nogil:
    cdef double lanes[LANES]
    cdef Py_ssize_t i, start = 0
    while start < size:
        for i in range(LANES):
            lanes[i] = a[start + i] * b[start + i]
        for i in range(LANES):
            products[start + i] = lanes[i]
        start += LANES


cdef inline void scale_lanes(double *a, double factor, double shift, Py_ssize_t size) noexcept nogil:
    """a = factor a + shift"""
    cdef Py_ssize_t i, start = 0
    while start < size:
        for i in range(LANES):
            a[start + i] = factor * a[start + i] + shift
        start += LANES


cdef inline void square_lanes(const double *a, double *squares, Py_ssize_t n_rows, Py_ssize_t size) noexcept nogil:
    """squares = sums over rows of squares of a (n_rows, size)."""
    cdef double lanes[LANES]
    cdef Py_ssize_t i, k, start = 0
    while start < size:
        for i in range(LANES):
            lanes[i] = a[start + i] * a[start + i]
        for k in range(1, n_rows):
            for i in range(LANES):
                lanes[i] += a[k * size + start + i] * a[k * size + start + i]
        for i in range(LANES):
            squares[start + i] = lanes[i]
        start += LANES


cdef inline double weighted_square(const double *weight, const double *a, Py_ssize_t size) noexcept nogil:
    """Sum of weight a^2."""
    cdef double lanes[LANES]
    cdef Py_ssize_t i, start = 0
    for i in range(LANES):
        lanes[i] = 0
    while start < size:
        for i in range(LANES):
            lanes[i] += weight[start + i] * a[start + i] * a[start + i]
        start += LANES
    for i in range(1, LANES):
        lanes[0] += lanes[i]
    return lanes[0]


cdef inline void likelihood_lanes(real *inverse, double n_outputs, const real *weights, Py_ssize_t stride,
                                  Py_ssize_t own, const real *matrix, const real *derivatives,
                                  double *sums) noexcept nogil:
    """Of LANES entries of a row of `likelihood_gradient`: the gradient W and three sums of it, lane by lane.

    `weights` stand at the same entries; `own` is how far from there that of the row itself stands.
    """
    cdef real gradient[LANES]
    cdef real products[LANES]
    cdef real weight
    cdef Py_ssize_t i, k
    for i in range(LANES):
        gradient[i] = <real>n_outputs * inverse[i]
    for k in range(<Py_ssize_t>n_outputs):
        weight = weights[k * stride + own]
        for i in range(LANES):
            gradient[i] -= weight * weights[k * stride + i]
    for i in range(LANES):
        products[i] = gradient[i] * matrix[i]
    for i in range(LANES):
        sums[i] += gradient[i]
        sums[LANES + i] += products[i]
    for i in range(LANES):
        gradient[i] *= derivatives[i]
    for i in range(LANES):
        inverse[i] = gradient[i]
    for i in range(LANES):
        sums[2 * LANES + i] += gradient[i]
