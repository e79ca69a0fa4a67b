"""Fourier terms fitted to the gradients of boosting: a[k] cos(omega . x) + c[k] sin(omega . x) for each output k.

The objective at omega is the squared error that the best amplitudes leave, over that of a constant, with a ridge on the
amplitudes and one on omega.  With weights w of sum W, C = cos(X omega), S = sin(X omega), g_k = gradient[k] (which is
already multiplied by w) and means mC = sum w C / W, mS = sum w S / W:

    A = [[sum w C^2 - W mC^2 + mu W, sum w C S - W mC mS], [., sum w S^2 - W mS^2 + mu W]]
    b_k = [sum C g_k - mC sum g_k, sum S g_k - mS sum g_k]        (a_k, c_k) = A^-1 b_k
    value = 1 - sum over k of b_k . (a_k, c_k) / total + lambda |omega|^2
    total = sum over k of (sum g_k^2 / w - (sum g_k)^2 / W)

The gradient in omega is exact without that of the amplitudes, for they are the best ones.  Angles are counted in half
turns.  Sums run in single precision within a block of rows, and in double precision from block to block in order.
"""

from cython.parallel cimport prange
from libc.math cimport isfinite

from .boost.fourier_objective cimport BLOCK, N_PLAIN, Rows, evaluate_rows, term_value, take_rows
from .boost.boost_rows cimport copy_columns, evaluate_columns
from .core.checks cimport agree, are_indices, has_shape
from .solvers cimport LBFGS
from .core.signals cimport COSINE, at_once, look_at_signals
from .core.tiles cimport LANES, TILE

cdef enum:
    ALIGNMENT = 16          # numbers: a line of the cache
    WIDE_BLOCK = 16 * BLOCK   # rows that a thread evaluates at once


cdef inline float *_aligned(float[::1] scratch) noexcept nogil:
    """The first number at the beginning of a line of the cache."""
    cdef float *start = &scratch[0]
    return start + (-(<size_t>start // sizeof(float))) % ALIGNMENT


cdef const float *_copy_blocks(Rows *rows, const float[:, ::1] columns, const Py_ssize_t[::1] subset,
                               Py_ssize_t first_tile, float *blocks) noexcept nogil:
    """The columns of a subset in blocks of rows, one block after the other."""
    cdef Py_ssize_t row = 0, width, s = subset.shape[0]
    while row < rows.n_rows:
        width = min(<Py_ssize_t>BLOCK, rows.n_rows - row)
        copy_columns(&columns[0, first_tile * TILE + row], columns.shape[1], &subset[0], s, rows.weight + row, width,
                     blocks + row * s)
        row += width
    return blocks


cdef void _copy_amplitudes(Rows *rows, double[:, ::1] amplitudes) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(rows.n_outputs):
        amplitudes[0, k] = rows.amplitudes[k]
        amplitudes[1, k] = rows.amplitudes[rows.n_outputs + k]


def scratch_size(Py_ssize_t n_columns, Py_ssize_t n_tiles):
    """Numbers in the TEMP array `scratch`, for a subset of n_columns."""
    agree(n_columns >= 1, "n_columns must be at least 1")
    agree(n_tiles >= 1, "n_tiles must be at least 1")
    return ALIGNMENT + n_columns * LANES + (n_columns + 2) * n_tiles * TILE


def sums_size(Py_ssize_t n_columns, Py_ssize_t n_outputs):
    """Numbers in the TEMP array `sums`, for a subset of at most n_columns."""
    agree(n_columns >= 1, "n_columns must be at least 1")
    agree(n_outputs >= 1, "n_outputs must be at least 1")
    return 1 + 5 * n_outputs + n_columns + LANES * max(n_columns, N_PLAIN + 2 * n_outputs)


cdef int _check_term(const float[:, ::1] columns, const float[:, ::1] gradient, const float[::1] weight, double mu,
                     Py_ssize_t first_tile, Py_ssize_t n_tiles, Py_ssize_t n_columns, double[::1] sums) except -1:
    cdef Py_ssize_t n = columns.shape[1]
    agree(columns.shape[0] >= 1 and n >= TILE and n % TILE == 0,
          "columns must have shape (n_columns, n), n a multiple of 128")
    agree(gradient.shape[0] >= 1 and gradient.shape[1] == n, "gradient must have shape (n_outputs, n)")
    agree(weight.shape[0] == n, "weight must have shape (n,)")
    agree(mu > 0, "mu must be above 0")
    agree(n_tiles >= 1 and 0 <= first_tile <= n // TILE - n_tiles, "first_tile and n_tiles must be tiles of columns")
    return agree(sums.shape[0] >= sums_size(n_columns, gradient.shape[0]), "sums must have sums_size numbers")


cdef int _check_subset(const float[:, ::1] columns, const Py_ssize_t[::1] subset, const double[::1] omega) except -1:
    agree(subset.shape[0] >= 1 and are_indices(subset, columns.shape[0]), "subset must be indices of columns")
    return agree(omega.shape[0] == subset.shape[0], "omega must have the length of subset")


cdef double _candidate(Rows *rows, const float[:, ::1] columns, Py_ssize_t first_tile, const double *omega,
                       double reg_lambda, Py_ssize_t *subset, double *packed) noexcept nogil:
    """The objective at an omega of all columns, most of which are 0."""
    cdef float sine[BLOCK]
    cdef float cosine[BLOCK]
    cdef Py_ssize_t j, s = 0
    cdef double square = 0
    for j in range(columns.shape[0]):
        if omega[j] != 0:
            subset[s], packed[s] = j, omega[j]
            square += omega[j] * omega[j]
            s += 1
    return reg_lambda * square + term_value(rows, &columns[0, first_tile * TILE], columns.shape[1], subset, s, packed,
                                            sine, cosine, False)


def choose_term(
    const float[:, ::1] columns,        # IN   (n_columns, n)
    const float[:, ::1] gradient,       # IN   (n_outputs, n) times weight
    const float[::1] weight,            # IN   (n,)
    const double[:, ::1] omegas,        # IN   (n_candidates, n_columns) 0 outside the columns of a candidate
    const double[::1] reg_lambdas,      # IN   (n_candidates,)
    double mu,
    Py_ssize_t first_tile,
    Py_ssize_t n_tiles,
    double[::1] values,                 # OUT  (n_candidates,)
    Py_ssize_t[::1] subset,             # TEMP (n_columns,)
    double[::1] sums,                   # TEMP (sums_size(n_columns, n_outputs),)
):
    """Values of the objective at each candidate; return the first of the smallest, 0 if none is finite."""
    cdef Py_ssize_t m, best = -1, work = 0, n_columns = columns.shape[0], n_candidates = omegas.shape[0]
    _check_term(columns, gradient, weight, mu, first_tile, n_tiles, n_columns, sums)
    agree(n_candidates >= 1 and omegas.shape[1] == n_columns, "omegas must have shape (n_candidates, n_columns)")
    agree(reg_lambdas.shape[0] == n_candidates, "reg_lambdas must have shape (n_candidates,)")
    agree(values.shape[0] == n_candidates, "values must have shape (n_candidates,)")
    agree(subset.shape[0] >= n_columns, "subset must have shape (n_columns,)")
    cdef Rows rows
    with nogil:
        take_rows(&rows, gradient, weight, mu, first_tile, n_tiles, sums)
        for m in range(n_candidates):
            values[m] = _candidate(&rows, columns, first_tile, &omegas[m, 0], reg_lambdas[m], &subset[0],
                                   &sums[sums.shape[0] - n_columns])
            if isfinite(values[m]) and (best < 0 or values[m] < values[best]):
                best = m
            look_at_signals(&work, rows.n_rows * (n_columns + COSINE + 2 * rows.n_outputs))
    return max(best, <Py_ssize_t>0)


def term_objective(
    const float[:, ::1] columns,        # IN   (n_columns, n)
    const float[:, ::1] gradient,       # IN   (n_outputs, n) times weight
    const float[::1] weight,            # IN   (n,)
    const Py_ssize_t[::1] subset,       # IN   (size,) of columns
    const double[::1] omega,            # IN   (size,)
    double reg_lambda,
    double mu,
    Py_ssize_t first_tile,
    Py_ssize_t n_tiles,
    double[::1] omega_gradient,         # OUT  (size,)
    double[:, ::1] amplitudes,          # OUT  (2, n_outputs)
    float[::1] scratch,                 # TEMP (scratch_size(size, n_tiles),)
    double[::1] sums,                   # TEMP (sums_size(size, n_outputs),)
):
    """The objective at omega, its gradient and the best amplitudes there."""
    _check_term(columns, gradient, weight, mu, first_tile, n_tiles, subset.shape[0], sums)
    _check_subset(columns, subset, omega)
    agree(scratch.shape[0] >= scratch_size(subset.shape[0], n_tiles), "scratch must have scratch_size numbers")
    agree(omega_gradient.shape[0] == omega.shape[0], "omega_gradient must have the length of omega")
    agree(has_shape(amplitudes, 2, gradient.shape[0]), "amplitudes must have shape (2, n_outputs)")
    cdef Rows rows
    cdef double value
    cdef float *start = _aligned(scratch)
    with nogil:
        take_rows(&rows, gradient, weight, mu, first_tile, n_tiles, sums)
        blocks = _copy_blocks(&rows, columns, subset, first_tile, start + 2 * rows.n_rows + LANES * omega.shape[0])
        value = evaluate_rows(&rows, blocks, omega, reg_lambda, start, omega_gradient)
        _copy_amplitudes(&rows, amplitudes)
    return value


def descend_term(
    LBFGS search,                       # TEMP for at least as many variables as the subset has columns
    const float[:, ::1] columns,        # IN   (n_columns, n)
    const float[:, ::1] gradient,       # IN   (n_outputs, n) times weight
    const float[::1] weight,            # IN   (n,)
    const Py_ssize_t[::1] subset,       # IN   (size,) of columns
    double[::1] omega,                  # IN   (size,) where to start; OUT the end of the descent
    double reg_lambda,
    double mu,
    Py_ssize_t first_tile,
    Py_ssize_t n_tiles,
    double first_length,
    double[:, ::1] amplitudes,          # OUT  (2, n_outputs) the best ones at the end
    float[::1] scratch,                 # TEMP (scratch_size(size, n_tiles),)
    double[::1] sums,                   # TEMP (sums_size(size, n_outputs),)
):
    """Minimise the objective over omega, from its first value; return its value at the end."""
    agree(search is not None and search.most >= omega.shape[0], "search must be an LBFGS of the variables of omega")
    _check_term(columns, gradient, weight, mu, first_tile, n_tiles, subset.shape[0], sums)
    _check_subset(columns, subset, omega)
    agree(scratch.shape[0] >= scratch_size(subset.shape[0], n_tiles), "scratch must have scratch_size numbers")
    agree(has_shape(amplitudes, 2, gradient.shape[0]), "amplitudes must have shape (2, n_outputs)")
    cdef Rows rows
    cdef double value
    cdef float *start = _aligned(scratch)
    cdef Py_ssize_t j, work = 0
    cdef bint there
    with nogil:
        take_rows(&rows, gradient, weight, mu, first_tile, n_tiles, sums)
        blocks = _copy_blocks(&rows, columns, subset, first_tile, start + 2 * rows.n_rows + LANES * omega.shape[0])
        search.reset(omega, first_length)
        while True:
            omega[:] = search.x[: search.size]
            value = evaluate_rows(&rows, blocks, omega, reg_lambda, start, search.gradient)
            look_at_signals(&work, 2 * rows.n_rows * (subset.shape[0] + COSINE + 2 * rows.n_outputs))
            if not search.advance(value):
                break
        there = True
        for j in range(omega.shape[0]):
            there = there and omega[j] == search.x[j]
        if not there:   # the last evaluation was not at the best point
            omega[:] = search.x[: search.size]
            value = evaluate_rows(&rows, blocks, omega, reg_lambda, start, search.gradient)
        _copy_amplitudes(&rows, amplitudes)
    return value


def evaluate_term(
    const float[:, ::1] columns,        # IN   (n_columns, n)
    const Py_ssize_t[::1] subset,       # IN   (size,) of columns
    const double[::1] omega,            # IN   (size,)
    const double[:, ::1] amplitudes,    # IN   (2, n_outputs)
    float[:, ::1] out,                  # OUT  (n_outputs, n)
    int n_threads,
):
    """out[k] = amplitudes[0, k] cos(omega . x) + amplitudes[1, k] sin(omega . x) for all rows."""
    cdef Py_ssize_t b, first = 0, last, work = 0, n = columns.shape[1], n_outputs = out.shape[0], s = subset.shape[0]
    cdef Py_ssize_t n_blocks = (n + WIDE_BLOCK - 1) // WIDE_BLOCK, each = WIDE_BLOCK * (s + COSINE + 2 * n_outputs)
    _check_subset(columns, subset, omega)
    agree(n % TILE == 0, "columns must have shape (n_columns, n), n a multiple of 128")
    agree(n_outputs >= 1 and out.shape[1] == n, "out must have shape (n_outputs, n)")
    agree(has_shape(amplitudes, 2, n_outputs), "amplitudes must have shape (2, n_outputs)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    with nogil:
        while first < n_blocks:
            last = min(n_blocks, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                evaluate_columns(&columns[0, b * WIDE_BLOCK], n, &subset[0], s, &omega[0], &amplitudes[0, 0], n_outputs,
                                 min(<Py_ssize_t>WIDE_BLOCK, n - b * WIDE_BLOCK), &out[0, b * WIDE_BLOCK])
            look_at_signals(&work, (last - first) * each // n_threads)
            first = last
