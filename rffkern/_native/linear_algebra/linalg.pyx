"""Cholesky factors: of a whole matrix, row by row as it grows, and what is solved with them.

The work is done on panels of TILE columns: to the rows that a product runs over, a panel is what a tile of rows is to
its features, and four rows of the other factor are the omegas of `project_terms`.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport sqrt

from .core.checks cimport agree, holds
from .core.signals cimport at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport LANES, TERMS, TILE, dot, project_terms
use_team(team)

cdef enum:
    CHUNK = 1024        # rows of a panel's products that are a thread's work


cdef double _inner(const double *a, const double *b, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t k = size // LANES * LANES
    cdef double total = dot(a, b, k)
    while k < size:
        total += a[k] * b[k]
        k += 1
    return total


cdef void _multiply(const double[:, ::1] left, Py_ssize_t row, Py_ssize_t start, Py_ssize_t size, const double *panel,
                    double *rows, double *products) noexcept nogil:
    """products[r * TILE + i] = left[row + r, start:start + size] . panel[:, i] for TERMS rows, 0 beyond the last."""
    cdef double zeros[TERMS]
    cdef Py_ssize_t r, k
    for r in range(TERMS):
        zeros[r] = 0
        for k in range(size):
            rows[r * size + k] = left[row + r, start + k] if row + r < left.shape[0] else 0
    project_terms(panel, size, TILE, rows, zeros, products)


cdef Py_ssize_t _factor_scratch(Py_ssize_t size) noexcept nogil:
    return size * (TILE + TERMS)


def factor_scratch(Py_ssize_t size):
    """Numbers of scratch that `factorise` wants of each thread, for so many columns."""
    agree(size >= 0, "size must not be negative")
    return _factor_scratch(size)


cdef void _finish_row(double[:, ::1] matrix, Py_ssize_t i, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Entries of a row in a panel, given those of the columns before it, and the panel's own factor."""
    cdef Py_ssize_t j
    for j in range(start, min(stop, i)):
        matrix[i, j] = (matrix[i, j] - _inner(&matrix[i, start], &matrix[j, start], j - start)) / matrix[j, j]


cdef void _subtract_before(double[:, ::1] matrix, Py_ssize_t row, Py_ssize_t start, Py_ssize_t stop,
                           const double *panel, double *rows) noexcept nogil:
    """Take from TERMS rows in a panel what the columns before it make of them."""
    cdef double products[TERMS * TILE]
    cdef Py_ssize_t i, j
    _multiply(matrix, row, 0, start, panel, rows, products)
    for i in range(row, min(row + TERMS, matrix.shape[0])):
        for j in range(start, min(stop, i + 1)):
            matrix[i, j] -= products[(i - row) * TILE + j - start]


cdef void _finish_below(double[:, ::1] matrix, Py_ssize_t row, Py_ssize_t start, Py_ssize_t stop, const double *panel,
                        double *rows) noexcept nogil:
    cdef Py_ssize_t i
    _subtract_before(matrix, row, start, stop, panel, rows)
    for i in range(row, min(row + TERMS, matrix.shape[0])):
        _finish_row(matrix, i, start, stop)


cdef int _factorise_panel(double[:, ::1] matrix, Py_ssize_t start, double[:, ::1] scratch, int n_threads,
                          Py_ssize_t *work) except -1 nogil:
    """The factor in the columns of a panel; return whether its diagonal was positive."""
    cdef Py_ssize_t i, k, size = matrix.shape[1], stop = min(start + TILE, size)
    cdef double *panel = &scratch[0, 0]
    cdef Py_ssize_t n_groups = (matrix.shape[0] - stop + TERMS - 1) // TERMS, each = TERMS * TILE * (start + TILE)
    cdef Py_ssize_t first = 0, last
    cdef double pivot
    for i in range(TILE):
        for k in range(start):
            panel[k * TILE + i] = matrix[start + i, k] if start + i < stop else 0
    for k in range((stop - start + TERMS - 1) // TERMS):
        _subtract_before(matrix, start + k * TERMS, start, stop, panel, panel + size * TILE)
    for i in range(start, stop):
        _finish_row(matrix, i, start, stop)
        pivot = matrix[i, i] - _inner(&matrix[i, start], &matrix[i, start], i - start)
        if not pivot > 0:
            return False
        matrix[i, i] = sqrt(pivot)
    while first < n_groups:
        last = min(n_groups, first + n_threads * at_once(each))
        for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
            _finish_below(matrix, stop + k * TERMS, start, stop, panel, &scratch[threadid(), 0] + size * TILE)
        look_at_signals(work, (last - first) * each)
        first = last
    return True


def factorise(
    double[:, ::1] matrix,              # IN   (size or more, size) lower triangle, positive definite; OUT its factor L
    double[:, ::1] scratch,             # TEMP (n_threads, factor_scratch)
    int n_threads,
):
    """Replace a lower triangle by its Cholesky factor, and rows R below it by R L'^-1.

    Return whether the triangle was positive definite.
    """
    cdef Py_ssize_t panel, size = matrix.shape[1], work = 0
    agree(matrix.shape[0] == size or (matrix.shape[0] > size and size % TERMS == 0),
          "matrix must have shape (size, size), or more rows where size is a multiple of 4")
    agree(holds(scratch, n_threads, _factor_scratch(size)), "scratch must have shape (n_threads, factor_scratch(size))")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef bint good = True
    with nogil:
        for panel in range((size + TILE - 1) // TILE):
            if good:
                good = _factorise_panel(matrix, panel * TILE, scratch, n_threads, &work)
    return good


cdef void _add_panel(const double[:, ::1] rows, Py_ssize_t start, Py_ssize_t first, Py_ssize_t last, double factor,
                     double[:, ::1] matrix, Py_ssize_t offset, double *panel) noexcept nogil:
    """What `add_products` adds to the columns of one panel."""
    cdef double products[TERMS * TILE]
    cdef Py_ssize_t i, j, k, group, row, depth = rows.shape[1]
    cdef Py_ssize_t below = max(first, start), stop = min(start + TILE, matrix.shape[1] - offset)
    for i in range(TILE if below < last else 0):
        for k in range(depth):
            panel[k * TILE + i] = rows[start + i, k] if start + i < rows.shape[0] else 0
    for group in range((last - below + TERMS - 1) // TERMS):
        row = below + group * TERMS
        _multiply(rows, row, 0, depth, panel, panel + depth * TILE, products)
        for i in range(row, min(row + TERMS, last)):
            for j in range(start, min(stop, i + 1)):
                matrix[offset + i, offset + j] += factor * products[(i - row) * TILE + j - start]


def add_products(
    const double[:, ::1] rows,          # IN   (n_rows, depth)
    Py_ssize_t first,                   # of the rows of the matrix that change, behind the offset
    Py_ssize_t last,                    # one behind the last of them
    double factor,
    double[:, ::1] matrix,              # IN   (offset + n_rows, n_columns, offset or more); OUT lower triangle changed
    Py_ssize_t offset,                  # of the products in the matrix, down and to the right
    double[:, ::1] scratch,             # TEMP (n_threads, factor_scratch(depth))
    int n_threads,
):
    """matrix[offset + i, offset + j] += factor rows[i] . rows[j] for j <= i."""
    agree(0 <= first <= last <= rows.shape[0], "first and last must be in order, within the rows")
    agree(0 <= offset <= matrix.shape[1] <= matrix.shape[0] and matrix.shape[0] == offset + rows.shape[0],
          "matrix must have shape (offset + n_rows, n_columns) with offset <= n_columns <= offset + n_rows")
    agree(holds(scratch, n_threads, _factor_scratch(rows.shape[1])),
          "scratch must have shape (n_threads, factor_scratch(depth))")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t p, n_chunks = (last - first + CHUNK - 1) // CHUNK
    cdef Py_ssize_t n_panels = (min(last, matrix.shape[1] - offset) + TILE - 1) // TILE
    for p in prange(n_panels * n_chunks, nogil=True, schedule='dynamic', num_threads=n_threads):
        _add_panel(rows, p // n_chunks * TILE, first + p % n_chunks * CHUNK,
                   min(last, first + (p % n_chunks + 1) * CHUNK), factor, matrix, offset, &scratch[threadid(), 0])


cdef double extend_row(double[:, ::1] factor, Py_ssize_t size, double smallest) noexcept nogil:
    """Turn row `size` from one of the matrix into one of its factor; return its pivot.

    A pivot that is not above `smallest` times the diagonal entry tells of a row that others make up: it has no factor.
    """
    cdef Py_ssize_t i
    cdef double pivot, diagonal = factor[size, size]
    for i in range(size):
        factor[size, i] = (factor[size, i] - _inner(&factor[i, 0], &factor[size, 0], i)) / factor[i, i]
    pivot = diagonal - _inner(&factor[size, 0], &factor[size, 0], size)
    if pivot > smallest * diagonal:
        factor[size, size] = sqrt(pivot)
        return pivot
    return 0


def extend(
    double[:, ::1] factor,              # IN   row `size` one of the matrix, up to the diagonal; OUT one of its factor
    Py_ssize_t size,                    # of the factor so far
    double smallest,                    # share of the diagonal entry that its pivot must be above
):
    """Extend a Cholesky factor by a row; return whether the row has a pivot."""
    agree(size >= 0, "size must not be negative")
    agree(holds(factor, size + 1, size + 1), "factor must have more than `size` rows and columns")
    cdef double pivot
    with nogil:
        pivot = extend_row(factor, size, smallest)
    return pivot > 0


cdef inline void _solve_forward(const double[:, ::1] factor, double *x, Py_ssize_t i) noexcept nogil:
    x[i] = (x[i] - _inner(&factor[i, 0], x, i)) / factor[i, i]


cdef inline void _solve_back(const double[:, ::1] factor, double *x, Py_ssize_t i) noexcept nogil:
    cdef Py_ssize_t k
    x[i] /= factor[i, i]
    for k in range(i):
        x[k] -= factor[i, k] * x[i]


cdef void solve(const double[:, ::1] factor, double *x, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(size):
        _solve_forward(factor, x, i)
    for i in range(size - 1, -1, -1):
        _solve_back(factor, x, i)


def solve_factorised(
    const double[:, ::1] factor,        # IN   (size or more, size or more) lower triangle
    double[::1] x,                      # IN   (size,) right-hand side; OUT solution
    bint forward=True, bint back=True,
):
    """Solve L L' x = b; only forward, L x = b, or only back, L' x = b."""
    agree(holds(factor, x.shape[0], x.shape[0]), "factor must have at least as many rows and columns as x has entries")
    cdef Py_ssize_t i, work = 0
    with nogil:
        for i in range(x.shape[0] if forward else 0):
            _solve_forward(factor, &x[0], i)
            look_at_signals(&work, 4 * i)   # rows come from memory
        for i in range(x.shape[0] - 1 if back else -1, -1, -1):
            _solve_back(factor, &x[0], i)
            look_at_signals(&work, 4 * i)
