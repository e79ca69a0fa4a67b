"""Dense symmetric systems: products, factors, inverses and solutions."""

from cython.parallel cimport prange, threadid

from .core.checks cimport agree, has_shape, holds
from .core.panels cimport (
    PANEL, PANELS_PER_PASS, ROW_BLOCK, factorise_panel, finish_below, invert_panels, mirror_rows, multiply_group,
    n_panels_of, solve_rows, square_panels,
)
from .core.signals cimport at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport TERMS, dot, real

use_team(team)

PANEL_COLUMNS = PANEL


cdef inline Py_ssize_t _scratch(Py_ssize_t size) noexcept nogil:
    return (n_panels_of(size) + PANELS_PER_PASS) * PANEL * (PANEL + TERMS)


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
    agree(panels.shape[0] == n_panels_of(out.shape[1]) and panels.shape[1] == depth and panels.shape[2] == PANEL,
          "panels must have shape (n_panels, depth, PANEL_COLUMNS)")
    _check_scratch(scratch, depth, n_threads)
    cdef Py_ssize_t each = TERMS * depth * PANEL * panels.shape[0]
    with nogil:
        while first < n_groups:
            last = min(n_groups, first + n_threads * at_once(each))
            for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
                multiply_group(left, panels, out, k * TERMS, &scratch[threadid(), 0])
            look_at_signals(&work, (last - first) * each)
            first = last


def multiply(
    left,              # IN   real (n_rows, depth)
    panels,            # IN   real (n_panels, depth, PANEL) columns of the right factor
    out,               # OUT  real (n_rows, n_columns), at most PANEL n_panels
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
    agree(inverses.shape[0] == n_panels_of(size) and inverses.shape[1] == inverses.shape[2] == PANEL,
          "inverses must have shape (n_panels, PANEL_COLUMNS, PANEL_COLUMNS)")
    _check_scratch(scratch, size, n_threads)
    cdef real *panel = &scratch[0, 0]
    cdef real *transposed = panel + n_panels_of(size) * PANEL * PANEL
    cdef Py_ssize_t behind = (n_panels_of(size) + 1) * PANEL * PANEL
    cdef bint good = True
    with nogil:
        for p in range(n_panels_of(size)):
            start, stop = p * PANEL, min((p + 1) * PANEL, size)
            good = good and factorise_panel(matrix, start, &inverses[p, 0, 0], panel, transposed, panel + behind)
            n_groups, first, each = (size - stop + ROW_BLOCK - 1) // ROW_BLOCK, 0, ROW_BLOCK * PANEL * (start + PANEL)
            while good and first < n_groups:
                last = min(n_groups, first + n_threads * at_once(each))
                for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    finish_below(matrix, stop + k * ROW_BLOCK, min(size, stop + (k + 1) * ROW_BLOCK), start, panel,
                                 transposed, &scratch[threadid(), 0] + behind)
                look_at_signals(&work, (last - first) * each)
                first = last
    return good


def factorise_system(
    matrix,            # IN   real (size, size) lower triangle, positive definite; OUT its factor L
    inverses,          # OUT  real (n_panels, PANEL, PANEL) of the blocks on the diagonal of L
    scratch,           # TEMP real (n_threads, system_scratch)
    int n_threads,
):
    """Replace a lower triangle by its Cholesky factor; return whether it was positive definite."""
    if matrix.itemsize == sizeof(float):
        return _factorise_system[float](matrix, inverses, scratch, n_threads)
    return _factorise_system[double](matrix, inverses, scratch, n_threads)


cdef _invert_system(
    const real[:, ::1] factor, const real[:, :, ::1] inverses, real[:, ::1] inverse, double[::1] diagonal,
    real[:, :, ::1] panels, real[:, ::1] transposed, real[:, ::1] scratch, int n_threads,
):
    cdef Py_ssize_t p, j, start, size = factor.shape[0], n_panels = n_panels_of(size), n_padded = PANEL * n_panels
    cdef Py_ssize_t n_groups = (n_panels + PANELS_PER_PASS - 1) // PANELS_PER_PASS
    cdef Py_ssize_t first = 0, last, work = 0, each = PANELS_PER_PASS * PANEL * size * size
    agree(factor.shape[1] == size, "factor must have shape (size, size)")
    agree(inverse.shape[0] == 0 or has_shape(inverse, size, size), "inverse must have shape (size, size) or (0, ...)")
    agree(diagonal.shape[0] == size, "diagonal must have shape (size,)")
    agree(inverses.shape[0] == n_panels and inverses.shape[1] == inverses.shape[2] == PANEL,
          "inverses must have shape (n_panels, PANEL_COLUMNS, PANEL_COLUMNS)")
    agree(panels.shape[0] == n_panels and panels.shape[1] == n_padded and panels.shape[2] == PANEL,
          "panels must have shape (n_panels, n_padded, PANEL_COLUMNS)")
    agree(has_shape(transposed, n_padded, n_padded), "transposed must have shape (n_padded, n_padded)")
    _check_scratch(scratch, size, n_threads)
    with nogil:
        while first < n_groups:
            last = min(n_groups, first + n_threads * at_once(each))
            for p in prange(first, last, schedule='dynamic', num_threads=n_threads):
                invert_panels(factor, inverses, p * PANELS_PER_PASS, min((p + 1) * PANELS_PER_PASS, n_panels), panels,
                              transposed, &scratch[threadid(), 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        for j in range(size):
            start = j // PANEL * PANEL
            diagonal[j] = dot(&transposed[j, start], &transposed[j, start], n_padded - start)
        first = 0 if inverse.shape[0] else n_groups
        while first < n_groups:
            last = min(n_groups, first + n_threads * at_once(each))
            for p in prange(first, last, schedule='dynamic', num_threads=n_threads):
                square_panels(transposed, p * PANELS_PER_PASS, min((p + 1) * PANELS_PER_PASS, n_panels), panels,
                              inverse, &scratch[threadid(), 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        first, each = 0 if inverse.shape[0] else n_panels, PANEL * size
        while first < n_panels:
            last = min(n_panels, first + n_threads * at_once(each))
            for p in prange(first, last, schedule='dynamic', num_threads=n_threads):
                mirror_rows(inverse, p * PANEL, min((p + 1) * PANEL, size))
            look_at_signals(&work, (last - first) * each)
            first = last


def invert_system(
    factor,                 # IN   real (size, size) lower triangle of `factorise_system`
    inverses,               # IN   real (n_panels, PANEL, PANEL)
    inverse,                # OUT  real (size, size), or (0, 0) where its diagonal is enough, in half of the time
    double[::1] diagonal,   # OUT  (size,) sums over the columns of L^-1 of squares
    panels,                 # TEMP real (n_panels, PANEL n_panels, PANEL)
    transposed,             # TEMP real (PANEL n_panels, PANEL n_panels)
    scratch,                # TEMP real (n_threads, system_scratch)
    int n_threads,
):
    """inverse = (L L')^-1, and its diagonal."""
    if factor.itemsize == sizeof(float):
        return _invert_system[float](factor, inverses, inverse, diagonal, panels, transposed, scratch, n_threads)
    return _invert_system[double](factor, inverses, inverse, diagonal, panels, transposed, scratch, n_threads)


cdef _solve_system(const real[:, ::1] factor, double[:, ::1] solutions):
    cdef Py_ssize_t k, size = factor.shape[0], work = 0
    agree(factor.shape[1] == size, "factor must have shape (size, size)")
    agree(solutions.shape[1] == size, "solutions must have shape (n_outputs, size)")
    with nogil:
        for k in range(size):
            solve_rows(factor, k, solutions, True)
            look_at_signals(&work, 4 * k * solutions.shape[0])   # rows come from memory
        for k in range(size - 1, -1, -1):
            solve_rows(factor, k, solutions, False)
            look_at_signals(&work, 4 * k * solutions.shape[0])


def solve_system(
    factor,                      # IN   real (size, size) lower triangle of `factorise_system`
    double[:, ::1] solutions,    # IN   (n_outputs, size) right-hand sides; OUT solutions
):
    """Solve L L' x = b for each output."""
    if factor.itemsize == sizeof(float):
        return _solve_system[float](factor, solutions)
    return _solve_system[double](factor, solutions)
