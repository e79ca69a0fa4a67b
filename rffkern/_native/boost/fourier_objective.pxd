"""One evaluation of the objective of fourier_terms.pyx, which says what it is, on rows that lie in blocks."""

from libc.float cimport DBL_MIN

from ..boost.boost_rows cimport term_gradient, term_sums, term_totals
from ..core.tiles cimport LANES, TILE

cdef enum:
    BLOCK = 4 * TILE   # rows that are passed over together: what they need stays in the first cache
    N_PLAIN = 5        # sums of a pass that no output enters


cdef struct Rows:
    Py_ssize_t n_rows, stride, n_outputs
    const float *gradient    # (n_outputs, stride)
    const float *weight
    double mu, weight_sum, total
    double *totals           # (1 + 2 n_outputs,) of `term_totals`
    double *amplitudes       # (3, n_outputs): a, c and the constant d
    double *lanes


cdef inline void take_rows(Rows *rows, const float[:, ::1] gradient, const float[::1] weight, double mu,
                           Py_ssize_t first_tile, Py_ssize_t n_tiles, double[::1] sums) noexcept nogil:
    """What stays the same in all evaluations on some tiles."""
    cdef Py_ssize_t k, n_outputs = gradient.shape[0]
    cdef double squares = 0
    rows.n_rows, rows.stride, rows.n_outputs, rows.mu = n_tiles * TILE, gradient.shape[1], n_outputs, mu
    rows.gradient, rows.weight = &gradient[0, first_tile * TILE], &weight[first_tile * TILE]
    rows.totals = &sums[0]
    rows.amplitudes = rows.totals + 1 + 2 * n_outputs
    rows.lanes = rows.amplitudes + 3 * n_outputs
    for k in range(1 + 2 * n_outputs):
        rows.totals[k] = 0
    term_totals(rows.weight, rows.gradient, rows.stride, n_outputs, rows.n_rows, rows.totals)
    rows.weight_sum = max(rows.totals[0], DBL_MIN)
    rows.total = 0
    for k in range(n_outputs):
        squares += rows.totals[1 + n_outputs + k]
        rows.total += rows.totals[1 + n_outputs + k] - rows.totals[1 + k] * (rows.totals[1 + k] / rows.weight_sum)
    # What rounding leaves of a constant gradient is nothing to learn.
    rows.total = max(rows.total, 1e-9 * squares, DBL_MIN)


cdef inline double _solve(Rows *rows) noexcept nogil:
    """Amplitudes and constants from the sums in the lanes; return 1 - the share of the total that they explain."""
    cdef Py_ssize_t i, k, n_outputs = rows.n_outputs
    cdef double W = rows.weight_sum, gained = 0, mean_c, mean_s, cc, cs, ss, root, b_c, b_s, a, c
    cdef double *sums = rows.lanes
    for k in range(N_PLAIN + 2 * n_outputs):
        a = 0
        for i in range(LANES):
            a += rows.lanes[k * LANES + i]
        sums[k] = a
    mean_c, mean_s = sums[0] / W, sums[1] / W
    # max: rounding must not take away what makes the matrix positive.
    cc = max(sums[2] - mean_c * sums[0], 0.0) + rows.mu * W
    ss = max(sums[4] - mean_s * sums[1], 0.0) + rows.mu * W
    cs = (sums[3] - mean_c * sums[1]) / cc
    root = max(ss - cs * cs * cc, rows.mu * W)
    for k in range(n_outputs):
        b_c = sums[N_PLAIN + 2 * k] - mean_c * rows.totals[1 + k]
        b_s = sums[N_PLAIN + 1 + 2 * k] - mean_s * rows.totals[1 + k]
        c = (b_s - cs * b_c) / root
        a = b_c / cc - cs * c
        gained += a * b_c + c * b_s
        rows.amplitudes[k], rows.amplitudes[n_outputs + k] = a, c
        rows.amplitudes[2 * n_outputs + k] = rows.totals[1 + k] / W - a * mean_c - c * mean_s
    return 1 - gained / rows.total


cdef inline void _clear(double *lanes, Py_ssize_t n_sums) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n_sums * LANES):
        lanes[i] = 0


cdef inline double term_value(Rows *rows, const float *columns, Py_ssize_t stride, const Py_ssize_t *subset,
                              Py_ssize_t n_columns, const double *omega, float *sine, float *cosine,
                              bint keep) noexcept nogil:
    """1 - the share that is explained at omega.  Columns lie in blocks where there is no subset.

    sine and cosine have room for the rows, or for a block where they are not to be kept.
    """
    cdef Py_ssize_t row = 0, width, place
    _clear(rows.lanes, N_PLAIN + 2 * rows.n_outputs)
    while row < rows.n_rows:
        width = min(<Py_ssize_t>BLOCK, rows.n_rows - row)
        place = row if keep else 0
        term_sums(columns + row * (n_columns if subset == NULL else 1), width if subset == NULL else stride, subset,
                  n_columns, omega, rows.weight + row, rows.gradient + row, rows.stride, rows.n_outputs, width,
                  sine + place, cosine + place, rows.lanes)
        row += width
    return _solve(rows)


cdef inline double evaluate_rows(Rows *rows, const float *blocks, const double[::1] omega, double reg_lambda,
                                 float *scratch, double[::1] omega_gradient) noexcept nogil:
    """The objective at omega, and its gradient."""
    cdef float *sine = scratch
    cdef float *cosine = sine + rows.n_rows
    cdef Py_ssize_t j, i, width, row = (rows.n_rows - 1) // BLOCK * BLOCK, n_columns = omega.shape[0]
    cdef double sum, value = term_value(rows, blocks, 0, NULL, n_columns, &omega[0], sine, cosine, True)
    _clear(rows.lanes, n_columns)
    while row >= 0:   # backwards: the last blocks are still in the first cache
        width = min(<Py_ssize_t>BLOCK, rows.n_rows - row)
        term_gradient(blocks + row * n_columns, n_columns, sine + row, cosine + row, rows.weight + row,
                      rows.gradient + row, rows.stride, rows.n_outputs, rows.amplitudes, width,
                      cosine + rows.n_rows, rows.lanes)
        row -= BLOCK
    for j in range(n_columns):
        sum = 0
        for i in range(LANES):
            sum += rows.lanes[j * LANES + i]
        omega_gradient[j] = 2 * reg_lambda * omega[j] - 2 / rows.total * sum
        value += reg_lambda * omega[j] * omega[j]
    return value
