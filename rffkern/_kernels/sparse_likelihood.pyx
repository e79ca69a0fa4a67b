"""Dense matrices of kernels of some rows, their factors and inverses, and slopes of the marginal likelihood."""

from cython.parallel cimport prange, threadid
from libc.math cimport log, sqrt

from .checks cimport agree, has_shape, holds
from .panels cimport (
    MANY, SOME, WIDE, factorise_panel, finish_below, invert_panels, mirror_rows, multiply_group, n_panels_of,
    square_panels,
)
from .signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .tiles cimport EXPONENTIAL, GAUSSIAN, LANES, TERMS, TILE, decay_by, distances, real

use_team(team)

PANEL_COLUMNS = WIDE


cdef void _matrix_rows(const real[:, :, ::1] tiles, const real[:, ::1] centers, real[:, ::1] matrix,
                       real[:, ::1] declines, int shape, Py_ssize_t first) noexcept nogil:
    cdef real u[TERMS * TILE]
    cdef real distance[TERMS * TILE]
    cdef real length = <real>(1 / log(2.0))
    cdef Py_ssize_t i, k, t, n_rows, n_terms = min(<Py_ssize_t>TERMS, matrix.shape[0] - first)
    for t in range(tiles.shape[0]):
        n_rows = min(<Py_ssize_t>TILE, matrix.shape[1] - t * TILE)
        distances(&tiles[t, 0, 0], tiles.shape[1], TILE, &centers[first, 0], u)
        for i in range(TERMS * TILE if declines.shape[0] else 0):
            distance[i] = <real>sqrt(u[i])
        for k in range(n_terms):
            decay_by(shape, u + k * TILE, TILE)
            for i in range(n_rows):
                matrix[first + k, t * TILE + i] = u[k * TILE + i]
            for i in range(n_rows if declines.shape[0] else 0):
                declines[first + k, t * TILE + i] = (
                    length * u[k * TILE + i] / distance[k * TILE + i] if distance[k * TILE + i] > 0 else 0)


cdef _kernel_matrix(const real[:, :, ::1] tiles, const real[:, ::1] centers, real[:, ::1] matrix,
                    real[:, ::1] declines, int shape, int n_threads):
    agree(tiles.shape[1] >= 1 and tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(has_shape(centers, (matrix.shape[0] + TERMS - 1) // TERMS * TERMS, tiles.shape[1]),
          "centers must have shape (n_centers padded to a multiple of CENTER_MULTIPLE, n_features)")
    agree((matrix.shape[1] + TILE - 1) // TILE == tiles.shape[0], "matrix must have shape (n_centers, n_samples)")
    agree(declines.shape[0] == 0 or has_shape(declines, matrix.shape[0], matrix.shape[1]),
          "declines must have the shape of the matrix, or no rows")
    agree(shape == GAUSSIAN or shape == EXPONENTIAL, "shape must be that of a kernel")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t k, n_groups = (matrix.shape[0] + TERMS - 1) // TERMS, first = 0, last, work = 0
    cdef Py_ssize_t each = TERMS * TILE * tiles.shape[0] * (tiles.shape[1] + COSINE)
    with nogil:
        while first < n_groups:
            last = min(n_groups, first + n_threads * at_once(each))
            for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _matrix_rows(tiles, centers, matrix, declines, shape, k * TERMS)
            look_at_signals(&work, (last - first) * each)
            first = last


def kernel_matrix(
    tiles,             # IN   real (n_tiles, n_features, TILE) rows
    centers,           # IN   real (n_centers padded to a multiple of TERMS, n_features)
    matrix,            # OUT  real (n_centers, n_samples)
    declines,          # OUT  real (n_centers, n_samples), or (0, 0) for none
    int shape,         # GAUSSIAN or EXPONENTIAL
    int n_threads,
):
    """matrix = kernels of rows and centers; declines = matrix / r, 0 where r is 0, of the kernel exp(-r)."""
    if tiles.itemsize == sizeof(float):
        return _kernel_matrix[float](tiles, centers, matrix, declines, shape, n_threads)
    return _kernel_matrix[double](tiles, centers, matrix, declines, shape, n_threads)


cdef inline Py_ssize_t _scratch(Py_ssize_t size) noexcept nogil:
    return (n_panels_of(size) + SOME) * WIDE * (WIDE + TERMS)


def system_scratch(Py_ssize_t size):
    """Numbers of scratch that the functions below want of each thread, for matrices of so many columns."""
    agree(size >= 0, "size must not be negative")
    return _scratch(size)


cdef int _check_scratch(const real[:, ::1] scratch, Py_ssize_t size, int n_threads) except -1:
    agree(n_threads >= 1, "n_threads must be at least 1")
    return agree(holds(scratch, n_threads, _scratch(size)),
                 "scratch must have shape (n_threads, system_scratch(size))")


cdef _multiply_panels(const real[:, ::1] left, const real[:, :, ::1] panels, real[:, ::1] out, real[:, ::1] scratch,
                      int n_threads):
    cdef Py_ssize_t k, depth = left.shape[1], n_groups = (left.shape[0] + TERMS - 1) // TERMS, first = 0, last, work = 0
    agree(out.shape[0] == left.shape[0], "out must have shape (n_rows, n_columns)")
    agree(panels.shape[0] == n_panels_of(out.shape[1]) and panels.shape[1] == depth and panels.shape[2] == WIDE,
          "panels must have shape (n_panels, depth, PANEL_COLUMNS)")
    _check_scratch(scratch, depth, n_threads)
    cdef Py_ssize_t each = TERMS * depth * WIDE * panels.shape[0]
    with nogil:
        while first < n_groups:
            last = min(n_groups, first + n_threads * at_once(each))
            for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
                multiply_group(left, panels, out, k * TERMS, &scratch[threadid(), 0])
            look_at_signals(&work, (last - first) * each)
            first = last


def multiply(
    left,              # IN   real (n_rows, depth)
    panels,            # IN   real (n_panels, depth, WIDE) columns of the right factor
    out,               # OUT  real (n_rows, n_columns), at most WIDE n_panels
    scratch,           # TEMP real (n_threads, system_scratch(depth))
    int n_threads,
):
    """out = left @ right."""
    if left.itemsize == sizeof(float):
        return _multiply_panels[float](left, panels, out, scratch, n_threads)
    return _multiply_panels[double](left, panels, out, scratch, n_threads)


cdef _factorise_system(real[:, ::1] matrix, real[:, :, ::1] inverses, real[:, ::1] scratch, int n_threads):
    cdef Py_ssize_t p, k, size = matrix.shape[0], start, stop, n_groups, first, last, each, work = 0
    agree(matrix.shape[1] == size, "matrix must have shape (size, size)")
    agree(inverses.shape[0] == n_panels_of(size) and inverses.shape[1] == inverses.shape[2] == WIDE,
          "inverses must have shape (n_panels, PANEL_COLUMNS, PANEL_COLUMNS)")
    _check_scratch(scratch, size, n_threads)
    cdef real *panel = &scratch[0, 0]
    cdef real *transposed = panel + n_panels_of(size) * WIDE * WIDE
    cdef Py_ssize_t behind = (n_panels_of(size) + 1) * WIDE * WIDE
    cdef bint good = True
    with nogil:
        for p in range(n_panels_of(size)):
            start, stop = p * WIDE, min((p + 1) * WIDE, size)
            good = good and factorise_panel(matrix, start, &inverses[p, 0, 0], panel, transposed, panel + behind)
            n_groups, first, each = (size - stop + MANY - 1) // MANY, 0, MANY * WIDE * (start + WIDE)
            while good and first < n_groups:
                last = min(n_groups, first + n_threads * at_once(each))
                for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    finish_below(matrix, stop + k * MANY, min(size, stop + (k + 1) * MANY), start, panel, transposed,
                                 &scratch[threadid(), 0] + behind)
                look_at_signals(&work, (last - first) * each)
                first = last
    return good


def factorise_system(
    matrix,            # IN   real (size, size) lower triangle, positive definite; OUT its factor L
    inverses,          # OUT  real (n_panels, WIDE, WIDE) of the blocks on the diagonal of L
    scratch,           # TEMP real (n_threads, system_scratch)
    int n_threads,
):
    """Replace a lower triangle by its Cholesky factor; return whether it was positive definite."""
    if matrix.itemsize == sizeof(float):
        return _factorise_system[float](matrix, inverses, scratch, n_threads)
    return _factorise_system[double](matrix, inverses, scratch, n_threads)


cdef _invert_system(
    const real[:, ::1] factor, const real[:, :, ::1] inverses, real[:, ::1] inverse, real[:, :, ::1] panels,
    real[:, ::1] transposed, real[:, ::1] scratch, int n_threads,
):
    cdef Py_ssize_t p, size = factor.shape[0], n_panels = n_panels_of(size), n_padded = WIDE * n_panels
    cdef Py_ssize_t n_groups = (n_panels + SOME - 1) // SOME
    cdef Py_ssize_t first = 0, last, work = 0, each = SOME * WIDE * size * size
    agree(factor.shape[1] == size, "factor must have shape (size, size)")
    agree(has_shape(inverse, size, size), "inverse must have shape (size, size)")
    agree(inverses.shape[0] == n_panels and inverses.shape[1] == inverses.shape[2] == WIDE,
          "inverses must have shape (n_panels, PANEL_COLUMNS, PANEL_COLUMNS)")
    agree(panels.shape[0] == n_panels and panels.shape[1] == n_padded and panels.shape[2] == WIDE,
          "panels must have shape (n_panels, n_padded, PANEL_COLUMNS)")
    agree(has_shape(transposed, n_padded, n_padded), "transposed must have shape (n_padded, n_padded)")
    _check_scratch(scratch, size, n_threads)
    with nogil:
        while first < n_groups:
            last = min(n_groups, first + n_threads * at_once(each))
            for p in prange(first, last, schedule='dynamic', num_threads=n_threads):
                invert_panels(factor, inverses, p * SOME, min((p + 1) * SOME, n_panels), panels, transposed,
                              &scratch[threadid(), 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        first = 0
        while first < n_groups:
            last = min(n_groups, first + n_threads * at_once(each))
            for p in prange(first, last, schedule='dynamic', num_threads=n_threads):
                square_panels(transposed, p * SOME, min((p + 1) * SOME, n_panels), panels, inverse,
                              &scratch[threadid(), 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        first, each = 0, WIDE * size
        while first < n_panels:
            last = min(n_panels, first + n_threads * at_once(each))
            for p in prange(first, last, schedule='dynamic', num_threads=n_threads):
                mirror_rows(inverse, p * WIDE, min((p + 1) * WIDE, size))
            look_at_signals(&work, (last - first) * each)
            first = last


def invert_system(
    factor,            # IN   real (size, size) lower triangle of `factorise_system`
    inverses,          # IN   real (n_panels, WIDE, WIDE)
    inverse,           # OUT  real (size, size)
    panels,            # TEMP real (n_panels, WIDE n_panels, WIDE)
    transposed,        # TEMP real (WIDE n_panels, WIDE n_panels)
    scratch,           # TEMP real (n_threads, system_scratch)
    int n_threads,
):
    """inverse = (L L')^-1."""
    if factor.itemsize == sizeof(float):
        return _invert_system[float](factor, inverses, inverse, panels, transposed, scratch, n_threads)
    return _invert_system[double](factor, inverses, inverse, panels, transposed, scratch, n_threads)


cdef inline void _add_slopes(real *row, const real *matrix, const real *declines, Py_ssize_t size, double *total,
                             double *along, double *steep) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(size):
        total[k] += row[k]
        along[k] += row[k] * matrix[k]
        row[k] *= declines[k]
        steep[k] += row[k]


cdef void _row_slopes(real[:, ::1] inverse, const real[:, ::1] weights, const real[:, ::1] matrix,
                      const real[:, ::1] declines, double[:, ::1] sums, Py_ssize_t i) noexcept nogil:
    cdef double total[LANES], along[LANES], steep[LANES]
    cdef Py_ssize_t j, k, start = 0, size = inverse.shape[0], n_outputs = weights.shape[0]
    cdef real *row = &inverse[i, 0]
    cdef const real *weight
    cdef real own
    for k in range(LANES):
        total[k] = along[k] = steep[k] = 0
    for j in range(size):
        row[j] *= n_outputs
    for k in range(n_outputs):
        weight, own = &weights[k, 0], weights[k, i]
        for j in range(size):
            row[j] -= own * weight[j]
    sums[i, 0] = row[i]
    while start < size:   # as many sums side by side as vectors hold
        _add_slopes(row + start, &matrix[i, start], &declines[i, start], min(<Py_ssize_t>LANES, size - start),
                    total, along, steep)
        start += LANES
    for k in range(1, LANES):
        total[0] += total[k]
        along[0] += along[k]
        steep[0] += steep[k]
    sums[i, 1], sums[i, 2], sums[i, 3] = total[0], along[0], steep[0]


cdef _likelihood_slopes(
    real[:, ::1] inverse, const real[:, ::1] weights, const real[:, ::1] matrix, const real[:, ::1] declines,
    double[:, ::1] sums, int n_threads,
):
    cdef Py_ssize_t i, size = inverse.shape[0], each = size * (weights.shape[0] + 4), first = 0, last, work = 0
    agree(has_shape(inverse, size, size), "inverse must have shape (size, size)")
    agree(weights.shape[1] == size, "weights must have shape (n_outputs, size)")
    agree(has_shape(matrix, size, size), "matrix must have shape (size, size)")
    agree(has_shape(declines, size, size), "declines must have shape (size, size)")
    agree(has_shape(sums, size, 4), "sums must have shape (size, 4)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    with nogil:
        while first < size:
            last = min(size, first + n_threads * at_once(each))
            for i in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _row_slopes(inverse, weights, matrix, declines, sums, i)
            look_at_signals(&work, (last - first) * each)
            first = last


def likelihood_slopes(
    inverse,           # IN   real (size, size) of the covariance; OUT slopes W times the declines
    weights,           # IN   real (n_outputs, size) inverse times targets
    matrix,            # IN   real (size, size) kernels
    declines,          # IN   real (size, size)
    sums,              # OUT  double (size, 4) of each row of W: on the diagonal, sum, sum times kernels, OUT
    int n_threads,
):
    """Slopes of twice the negative log-likelihood along covariances: W = n_outputs inverse - sum of weight weight'."""
    if inverse.itemsize == sizeof(float):
        return _likelihood_slopes[float](inverse, weights, matrix, declines, sums, n_threads)
    return _likelihood_slopes[double](inverse, weights, matrix, declines, sums, n_threads)
