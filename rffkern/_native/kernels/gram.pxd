"""Gram matrices of rows, a bounded number of rows and of the matrix's own rows at a time."""

from ..core.tiles cimport TERMS, TILE, project_terms, real

cdef enum:
    PANEL = 32          # columns of a Gram matrix that are computed together: few lie beyond its diagonal, unused


cdef inline Py_ssize_t _pack_rows(const real[:, ::1] features, const double[::1] scale, Py_ssize_t *row,
                                  Py_ssize_t stop, double *panels, double *scaled) noexcept nogil:
    """Take up to TILE rows of positive scale: by panels of PANEL columns, and transposed times their scale.

    Return how many, with `row` after the last one looked at; rows that are lacking become 0.
    """
    cdef Py_ssize_t i, j, n_rows = 0, width = features.shape[1]
    while row[0] < stop and n_rows < TILE:
        if scale[row[0]] > 0:
            for j in range(width):
                panels[(j // PANEL * TILE + n_rows) * PANEL + j % PANEL] = features[row[0], j]
                scaled[j * TILE + n_rows] = scale[row[0]] * features[row[0], j]
            n_rows += 1
        row[0] += 1
    for j in range(width if n_rows else 0):
        for i in range(n_rows, TILE):
            panels[(j // PANEL * TILE + i) * PANEL + j % PANEL] = 0
            scaled[j * TILE + i] = 0
    return n_rows


cdef inline Py_ssize_t _add_gram(const real[:, ::1] features, const double[::1] scale, double[:, ::1] gram,
                                 Py_ssize_t start, Py_ssize_t stop, Py_ssize_t first, Py_ssize_t last,
                                 double *panels) noexcept nogil:
    """Add up to TILE rows of positive scale to the rows of a Gram matrix from TERMS first to TERMS last.

    Return the row after them.
    """
    cdef double products[TERMS * PANEL]
    cdef double shifts[TERMS]
    cdef Py_ssize_t i, j, k, panel, row = start, width = features.shape[1], n_panels = (width + PANEL - 1) // PANEL
    cdef double *scaled = panels + n_panels * TILE * PANEL
    for k in range(TERMS):
        shifts[k] = 0
    if _pack_rows(features, scale, &row, stop, panels, scaled):
        for i in range(first, last):
            for panel in range(i * TERMS // PANEL + 1):   # up to that of the diagonal
                project_terms(panels + panel * TILE * PANEL, TILE, PANEL, scaled + i * TERMS * TILE, shifts, products)
                for k in range(TERMS):
                    for j in range(min(<Py_ssize_t>PANEL, i * TERMS + k + 1 - panel * PANEL)):
                        gram[i * TERMS + k, panel * PANEL + j] += products[k * PANEL + j]
    return row


cdef inline void share_gram(const real[:, ::1] features, const double[::1] scale, double[:, ::1] gram, Py_ssize_t *row,
                            Py_ssize_t stop, Py_ssize_t n_packs, Py_ssize_t first, Py_ssize_t last,
                            double *panels) noexcept nogil:
    """Add some packs of a share's rows; move `row` on with the last rows of the matrix."""
    cdef Py_ssize_t _, at = row[0], n_rows = features.shape[1] // TERMS
    for _ in range(n_packs):
        if at < stop:
            at = _add_gram(features, scale, gram, at, stop, first, last, panels)
    if last == n_rows:
        row[0] = at
