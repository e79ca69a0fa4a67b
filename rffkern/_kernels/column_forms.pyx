"""Forms of columns of raw tables: piecewise linear functions of their values."""

from .checks cimport agree


cdef inline double _interpolated(double value, const double[::1] knots, const double[::1] heights,
                                 const double[::1] slopes) noexcept nogil:
    """Height at a value: constant beyond the outer knots, nan for nan."""
    cdef Py_ssize_t first = 0, size = knots.shape[0], half
    cdef double beyond
    while size > 1:   # without a branch on the value, so that values can be searched one over the other
        half = size // 2
        first += half * (knots[first + half] <= value)
        size -= half
    beyond = value - knots[first]
    return heights[first] + slopes[first] * (0.0 if beyond < 0 else beyond)


def interpolate(
    const double[::1] values,    # IN   (n_values,)
    const double[::1] knots,     # IN   (n_knots,) increasing
    const double[::1] heights,   # IN   (n_knots,)
    const double[::1] slopes,    # IN   (n_knots,) from each knot to the next; of the last 0
    double[::1] out,             # OUT  (n_values,)
):
    """out = the piecewise linear function through the knots, at the values."""
    agree(knots.shape[0] >= 1, "knots must not be empty")
    agree(heights.shape[0] == knots.shape[0], "heights must have shape (n_knots,)")
    agree(slopes.shape[0] == knots.shape[0], "slopes must have shape (n_knots,)")
    agree(out.shape[0] == values.shape[0], "out must have shape (n_values,)")
    cdef Py_ssize_t i
    with nogil:
        for i in range(values.shape[0]):
            out[i] = _interpolated(values[i], knots, heights, slopes)
