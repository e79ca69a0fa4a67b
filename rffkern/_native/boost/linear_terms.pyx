"""Linear functions fitted to the gradients of boosting: sums over rows of products of columns, and values at rows.

Columns are read where they lie.  A sum over rows is one thread's, in single precision within a block of rows and in
double precision from block to block, so that neither threads nor their number change a bit.
"""

from cython.parallel cimport prange

from .boost.boost_rows cimport add_linear, add_products, copy_columns
from .core.checks cimport agree, are_indices, has_shape
from .core.signals cimport at_once, look_at_signals
from .core.tiles cimport LANES, TERMS, TILE, project_terms

cdef enum:
    ROWS = 2 * TILE   # of a block, of which a group of columns stays in the first cache
    GROUP = 16        # columns whose sums are a thread's work
    PANEL = 64        # columns of a panel of a matrix


cdef int _check_linear(const float[:, ::1] columns, const Py_ssize_t[::1] subset, Py_ssize_t n_train,
                       int n_threads) except -1:
    agree(columns.shape[1] % TILE == 0, "columns must have shape (n_columns, n), n a multiple of 128")
    agree(subset.shape[0] >= 1 and are_indices(subset, columns.shape[0]), "subset must be indices of columns")
    agree(0 <= n_train <= columns.shape[1] and n_train % TILE == 0, "n_train must be a multiple of 128, at most n")
    return agree(n_threads >= 1, "n_threads must be at least 1")


cdef void _add_block(const float[:, ::1] columns, const Py_ssize_t[::1] subset, const float[:, ::1] vectors,
                     Py_ssize_t group, Py_ssize_t row, Py_ssize_t last, double[:, ::1] products) noexcept nogil:
    cdef Py_ssize_t k, start = group * GROUP, n_columns = min(subset.shape[0] - start, <Py_ssize_t>GROUP)
    cdef Py_ssize_t width
    while row < last:
        width = min(<Py_ssize_t>ROWS, last - row)
        for k in range(vectors.shape[0]):
            add_products(&columns[0, row], columns.shape[1], &subset[start], n_columns, &vectors[k, row], width,
                         &products[k, start])
        row += width


def column_products(
    const float[:, ::1] columns,        # IN   (n_columns, n)
    const Py_ssize_t[::1] subset,       # IN   (size,) of columns
    const float[:, ::1] vectors,        # IN   (n_vectors, n)
    Py_ssize_t n_train,                 # the first rows, which are summed over
    double[:, ::1] products,            # OUT  (n_vectors, size)
    int n_threads,
):
    """products[k, j] = sum over rows of vectors[k] times column subset[j]."""
    _check_linear(columns, subset, n_train, n_threads)
    agree(vectors.shape[1] == columns.shape[1], "vectors must have shape (n_vectors, n)")
    agree(has_shape(products, vectors.shape[0], subset.shape[0]), "products must have shape (n_vectors, size)")
    cdef Py_ssize_t n_groups = (subset.shape[0] + GROUP - 1) // GROUP, each = GROUP * vectors.shape[0]
    cdef Py_ssize_t g, first = 0, last, work = 0, rows = ROWS * at_once(ROWS * each * n_groups // n_threads)
    with nogil:
        products[:] = 0
        while first < n_train:
            last = min(n_train, first + rows)
            for g in prange(n_groups, schedule='dynamic', num_threads=n_threads):
                _add_block(columns, subset, vectors, g, first, last, products)
            look_at_signals(&work, (last - first) * each * n_groups // n_threads)
            first = last


cdef void _add_gram(const float[:, ::1] columns, const Py_ssize_t[::1] subset, const float[::1] weight,
                    Py_ssize_t start, Py_ssize_t row, Py_ssize_t last, double[:, ::1] gram) noexcept nogil:
    """What some rows add to the products of PANEL columns with all from the first of these on."""
    cdef float weighted[ROWS * PANEL]     # row by row: rows are to `project_terms` what columns are elsewhere
    cdef float others[TERMS * ROWS]
    cdef float products[TERMS * PANEL]
    cdef float zeros[TERMS]
    cdef Py_ssize_t i, j, k, first, n_rows, n = columns.shape[1], size = subset.shape[0]
    cdef Py_ssize_t width = min((size - start + LANES - 1) // LANES * LANES, <Py_ssize_t>PANEL)
    for k in range(TERMS):
        zeros[k] = 0
    for i in range(TERMS * ROWS):
        others[i] = 0
    while row < last:
        n_rows = min(<Py_ssize_t>ROWS, last - row)
        for j in range(width):
            for i in range(n_rows):
                weighted[i * width + j] = (columns[subset[start + j], row + i] * weight[row + i]
                                           if start + j < size and weight[row + i] > 0 else 0)
        for first in range(start, size, 4):   # TERMS
            copy_columns(&columns[0, row], n, &subset[first], min(<Py_ssize_t>TERMS, size - first), &weight[row],
                         n_rows, others)
            project_terms(weighted, n_rows, width, others, zeros, products)
            for k in range(min(<Py_ssize_t>TERMS, size - first)):
                for j in range(min(width, first + k - start + 1)):
                    gram[first + k, start + j] += products[k * width + j]
        row += n_rows


def column_gram(
    const float[:, ::1] columns,        # IN   (n_columns, n)
    const Py_ssize_t[::1] subset,       # IN   (size,) of columns
    const float[::1] weight,            # IN   (n,)
    Py_ssize_t n_train,                 # the first rows, which are summed over
    double[:, ::1] gram,                # OUT  (size, size) lower triangle, 0 above
    int n_threads,
):
    """gram[i, j] = sum over rows of weight times column subset[i] times column subset[j], for j <= i."""
    _check_linear(columns, subset, n_train, n_threads)
    cdef Py_ssize_t size = subset.shape[0], n_panels = (size + PANEL - 1) // PANEL
    agree(weight.shape[0] == columns.shape[1], "weight must have shape (n,)")
    agree(has_shape(gram, size, size), "gram must have shape (size, size)")
    cdef Py_ssize_t p, first = 0, last, work = 0, each = (size * size + size) // 2
    cdef Py_ssize_t rows = ROWS * at_once(ROWS * each // n_threads)
    with nogil:
        gram[:] = 0
        while first < n_train:
            last = min(n_train, first + rows)
            for p in prange(n_panels, schedule='dynamic', num_threads=n_threads):
                _add_gram(columns, subset, weight, p * PANEL, first, last, gram)
            look_at_signals(&work, (last - first) * each // n_threads)
            first = last


cdef void _evaluate_block(const float[:, ::1] columns, const Py_ssize_t[::1] subset, const double[:, ::1] coefficients,
                          Py_ssize_t row, float[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t k, start = 0, n = columns.shape[1], width = min(<Py_ssize_t>ROWS, n - row), size = subset.shape[0]
    while start < size:
        for k in range(out.shape[0]):
            add_linear(&columns[0, row], n, &subset[start], min(<Py_ssize_t>GROUP, size - start),
                       &coefficients[k, start], width, &out[k, row])
        start += GROUP


def evaluate_linear(
    const float[:, ::1] columns,        # IN   (n_columns, n)
    const Py_ssize_t[::1] subset,       # IN   (size,) of columns
    const double[:, ::1] coefficients,  # IN   (n_outputs, size)
    float[:, ::1] out,                  # OUT  (n_outputs, n)
    int n_threads,
):
    """out[k] = sum of coefficients[k, j] times column subset[j] for all rows."""
    _check_linear(columns, subset, 0, n_threads)
    cdef Py_ssize_t b, n = columns.shape[1], n_outputs = coefficients.shape[0], size = subset.shape[0]
    agree(coefficients.shape[1] == size, "coefficients must have shape (n_outputs, size)")
    agree(has_shape(out, n_outputs, n), "out must have shape (n_outputs, n)")
    cdef Py_ssize_t first = 0, last, work = 0, n_blocks = (n + ROWS - 1) // ROWS, each = ROWS * size * n_outputs
    with nogil:
        out[:] = 0
        while first < n_blocks:
            last = min(n_blocks, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _evaluate_block(columns, subset, coefficients, b * ROWS, out)
            look_at_signals(&work, (last - first) * each // n_threads)
            first = last
