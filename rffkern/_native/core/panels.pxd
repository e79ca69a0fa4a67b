"""Products, Cholesky factors and inverses of dense matrices, in panels of PANEL columns.

The entries of a panel stand row by row: four rows of another matrix times a panel are what `project_terms` computes.
"""

from libc.math cimport sqrt
from libc.string cimport memcpy, memset

from ..core.tiles cimport LANES, TERMS, project_terms, real

cdef enum:
    PANEL = 32            # columns of a panel, whose products with four rows stay in registers
    PANELS_PER_PASS = 2   # panels that rows are read for together
    K_BLOCK = 512         # rows of a panel that stay in the second cache
    ROW_BLOCK = 64        # rows that are read for each of these parts


cdef inline Py_ssize_t n_panels_of(Py_ssize_t size) noexcept nogil:
    return (size + PANEL - 1) // PANEL


cdef inline void take_rows(const real[:, ::1] matrix, Py_ssize_t row, Py_ssize_t start, Py_ssize_t depth,
                           real *rows) noexcept nogil:
    """TERMS rows from a column on, 0 beyond the last."""
    cdef Py_ssize_t r
    for r in range(TERMS):
        if row + r < matrix.shape[0]:
            memcpy(rows + r * depth, &matrix[row + r, start], depth * sizeof(real))
        else:
            memset(rows + r * depth, 0, depth * sizeof(real))


cdef inline void multiply_taken(const real *rows, Py_ssize_t depth, const real *panel,
                                real *products) noexcept nogil:
    """products[r * PANEL + j] = rows[r] . panel[:, j]"""
    cdef real zeros[TERMS]
    cdef Py_ssize_t r
    for r in range(TERMS):
        zeros[r] = 0
    project_terms(panel, depth, PANEL, rows, zeros, products)


cdef inline void multiply_group(const real[:, ::1] left, const real[:, :, ::1] panels, real[:, ::1] out,
                                Py_ssize_t row, real *rows) noexcept nogil:
    cdef real products[TERMS * PANEL]
    cdef Py_ssize_t i, j, p
    take_rows(left, row, 0, left.shape[1], rows)
    for p in range(panels.shape[0]):
        multiply_taken(rows, left.shape[1], &panels[p, 0, 0], products)
        for i in range(row, min(row + TERMS, out.shape[0])):
            for j in range(p * PANEL, min((p + 1) * PANEL, out.shape[1])):
                out[i, j] = products[(i - row) * PANEL + j - p * PANEL]


cdef inline bint factorise_block(real[:, ::1] matrix, Py_ssize_t start, Py_ssize_t stop,
                                 real *inverse) noexcept nogil:
    """The factor of a block on the diagonal, and its inverse (PANEL, PANEL), 1 on the diagonal past the last row."""
    cdef Py_ssize_t i, j, k
    cdef double total
    for i in range(start, stop):
        for j in range(start, i + 1):
            total = matrix[i, j]
            for k in range(start, j):
                total -= <double>matrix[i, k] * matrix[j, k]
            if j < i:
                matrix[i, j] = <real>(total / matrix[j, j])
            elif total > 0:
                matrix[i, i] = <real>sqrt(total)
            else:
                return False
    for i in range(PANEL * PANEL):
        inverse[i] = 0
    for i in range(PANEL):
        inverse[i * PANEL + i] = 1
        for k in range(start, min(start + i, stop) if start + i < stop else start):
            for j in range(k - start + 1):
                inverse[i * PANEL + j] -= matrix[start + i, k] * inverse[(k - start) * PANEL + j]
        for j in range(i + 1 if start + i < stop else 0):
            inverse[i * PANEL + j] /= matrix[start + i, start + i]
    return True


cdef inline void subtract_before(real[:, ::1] matrix, Py_ssize_t row, Py_ssize_t start, const real *panel,
                                 real *rows, real *left) noexcept nogil:
    """left (TERMS, PANEL) = rows in a panel less what the columns before it make of them."""
    cdef Py_ssize_t i, j
    take_rows(matrix, row, 0, start, rows)
    multiply_taken(rows, start, panel, left)
    for i in range(min(<Py_ssize_t>TERMS, matrix.shape[0] - row)):
        for j in range(min(<Py_ssize_t>PANEL, matrix.shape[1] - start)):
            left[i * PANEL + j] = matrix[row + i, start + j] - left[i * PANEL + j]


cdef inline void finish_below(real[:, ::1] matrix, Py_ssize_t first, Py_ssize_t last, Py_ssize_t start,
                              const real *panel, const real *transposed, real *rows) noexcept nogil:
    """The factor in a panel, of some rows below its block; part of its depth stays in the cache for all of them."""
    cdef real products[TERMS * PANEL]
    cdef Py_ssize_t i, j, row, group, at = 0, depth, n_groups = (last - first + TERMS - 1) // TERMS
    while at < start:
        depth = min(<Py_ssize_t>K_BLOCK, start - at)
        for group in range(n_groups):
            row = first + group * TERMS
            take_rows(matrix, row, at, depth, rows)
            multiply_taken(rows, depth, panel + at * PANEL, products)
            for i in range(row, min(row + TERMS, last)):
                for j in range(PANEL):
                    matrix[i, start + j] -= products[(i - row) * PANEL + j]
        at += K_BLOCK
    for group in range(n_groups):
        row = first + group * TERMS
        take_rows(matrix, row, start, PANEL, rows)
        multiply_taken(rows, PANEL, transposed, products)
        for i in range(row, min(row + TERMS, last)):
            for j in range(PANEL):
                matrix[i, start + j] = products[(i - row) * PANEL + j]


cdef inline bint factorise_panel(real[:, ::1] matrix, Py_ssize_t start, real *inverse, real *panel,
                                 real *transposed, real *rows) noexcept nogil:
    """The block on the diagonal, and what the rows below it need: the panel before it, and its inverse transposed."""
    cdef real left[TERMS * PANEL]
    cdef Py_ssize_t i, j, k, row, stop = min(start + PANEL, matrix.shape[0])
    for i in range(PANEL):
        for k in range(start):
            panel[k * PANEL + i] = matrix[start + i, k] if start + i < stop else 0
    for k in range((stop - start + TERMS - 1) // TERMS):
        row = start + k * TERMS
        subtract_before(matrix, row, start, panel, rows, left)
        for i in range(row, min(row + TERMS, stop)):
            for j in range(start, i + 1):
                matrix[i, j] = left[(i - row) * PANEL + j - start]
    if not factorise_block(matrix, start, stop, inverse):
        return False
    for i in range(PANEL):
        for j in range(PANEL):
            transposed[j * PANEL + i] = inverse[i * PANEL + j]
    return True


cdef inline void invert_panels(const real[:, ::1] factor, const real[:, :, ::1] inverses, Py_ssize_t first,
                               Py_ssize_t last, real[:, :, ::1] panels, real[:, ::1] transposed,
                               real *scratch) noexcept nogil:
    """Columns of L^-1 in some panels, whose rows are read together, and the same transposed."""
    cdef real *rows = scratch + PANELS_PER_PASS * PANEL * PANEL
    cdef Py_ssize_t i, j, b, p, group, start = first * PANEL, stop
    for p in range(first, last):
        memset(&panels[p, start, 0], 0, (p - first) * PANEL * PANEL * sizeof(real))
        for j in range(PANEL):
            memset(&transposed[p * PANEL + j, start], 0, (p - first) * PANEL * sizeof(real))
    for b in range(first, inverses.shape[0]):
        stop = min(last, b + 1)
        for group in range(PANEL // TERMS):
            take_rows(factor, b * PANEL + group * TERMS, start, (b - first) * PANEL, rows)
            for p in range(first, stop):
                multiply_taken(rows, (b - first) * PANEL, &panels[p, start, 0],
                               scratch + ((p - first) * PANEL + group * TERMS) * PANEL)
        for p in range(first, stop):
            for i in range((p - first) * PANEL * PANEL, (p - first + 1) * PANEL * PANEL):
                scratch[i] = -scratch[i]
            for i in range(PANEL if p == b else 0):
                scratch[((p - first) * PANEL + i) * PANEL + i] += 1
            for group in range(PANEL // TERMS):
                multiply_taken(&inverses[b, group * TERMS, 0], PANEL, scratch + (p - first) * PANEL * PANEL,
                               &panels[p, b * PANEL + group * TERMS, 0])
            for j in range(PANEL):
                for i in range(PANEL):
                    transposed[p * PANEL + j, b * PANEL + i] = panels[p, b * PANEL + i, j]


cdef inline void square_panels(const real[:, ::1] transposed, Py_ssize_t first, Py_ssize_t last,
                               const real[:, :, ::1] panels, real[:, ::1] inverse, real *rows) noexcept nogil:
    """Columns of L^-T L^-1 in some panels, down to their diagonal and somewhat farther."""
    cdef real products[TERMS * PANEL]
    cdef Py_ssize_t i, j, p, group, row, width, depth, at = first * PANEL
    cdef real *out
    while at < transposed.shape[1]:
        depth = min(<Py_ssize_t>K_BLOCK, transposed.shape[1] - at)
        for group in range((min(last * PANEL, inverse.shape[0]) + TERMS - 1) // TERMS):
            row = group * TERMS
            take_rows(transposed, row, at, depth, rows)
            for p in range(max(first, row // PANEL), last):
                multiply_taken(rows, depth, &panels[p, at, 0], products)
                width = min(<Py_ssize_t>PANEL, inverse.shape[0] - p * PANEL)
                for i in range(min(<Py_ssize_t>TERMS, inverse.shape[0] - row)):
                    out = &inverse[row + i, p * PANEL]
                    if at == first * PANEL:
                        memcpy(out, products + i * PANEL, width * sizeof(real))
                    else:
                        for j in range(width):
                            out[j] += products[i * PANEL + j]
        at += K_BLOCK


cdef inline void mirror_rows(real[:, ::1] matrix, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """The entries of some rows below the diagonal from those above it, block by block, as caches hold them."""
    cdef Py_ssize_t i, j, start = 0, stop
    while start < last:
        stop = start + PANEL
        for i in range(first, last):
            for j in range(start, min(stop, i)):
                matrix[i, j] = matrix[j, i]
        start = stop


cdef inline void solve_rows(const real[:, ::1] factor, Py_ssize_t row, double[:, ::1] solutions,
                            bint forward) noexcept nogil:
    """A row of L x = b, or of L' x = b, which takes what it gives from the rows before it."""
    cdef const real *of_row = &factor[row, 0]
    cdef double lanes[LANES]
    cdef double *x
    cdef double own
    cdef Py_ssize_t i, j, o, whole = row // LANES * LANES
    for o in range(solutions.shape[0]):
        x = &solutions[o, 0]
        if forward:
            for i in range(LANES):
                lanes[i] = 0
            j = 0
            while j < whole:
                for i in range(LANES):
                    lanes[i] += of_row[j + i] * x[j + i]
                j += LANES
            for j in range(whole, row):
                lanes[0] += of_row[j] * x[j]
            for i in range(LANES):
                x[row] -= lanes[i]
            x[row] /= of_row[row]
        else:
            x[row] /= of_row[row]
            own, j = x[row], 0
            while j < whole:
                for i in range(LANES):
                    lanes[i] = x[j + i] - of_row[j + i] * own
                for i in range(LANES):
                    x[j + i] = lanes[i]
                j += LANES
            for j in range(whole, row):
                x[j] -= of_row[j] * own
