"""Kernel matrices of some rows, and their derivatives, for the marginal likelihood of a Gaussian process."""

from cython.parallel cimport prange

from .checks cimport agree, has_shape
from .signals cimport COSINE, at_once, look_at_signals
from .tiles cimport TERMS, TILE, decay, distances

cdef enum:
    SOME = 512   # features whose sums stay in the first cache while all rows are read


cdef void _matrix_rows(const double[:, :, ::1] tiles, const double[:, ::1] centers, double[:, ::1] matrix,
                       Py_ssize_t first) noexcept nogil:
    cdef double u[TERMS * TILE]
    cdef Py_ssize_t i, k, t
    for t in range(tiles.shape[0]):
        distances(&tiles[t, 0, 0], tiles.shape[1], TILE, &centers[first, 0], u)
        for k in range(min(<Py_ssize_t>TERMS, matrix.shape[0] - first)):
            decay(u + k * TILE, TILE)
            for i in range(min(<Py_ssize_t>TILE, matrix.shape[1] - t * TILE)):
                matrix[first + k, t * TILE + i] = u[k * TILE + i]


def kernel_matrix(
    const double[:, :, ::1] tiles,     # IN   (n_tiles, n_features, TILE) rows
    const double[:, ::1] centers,      # IN   (n_centers padded to a multiple of TERMS, n_features)
    double[:, ::1] matrix,             # OUT  (n_centers, n_samples)
    int n_threads,
):
    """matrix = 2^-|center - row|^2."""
    agree(tiles.shape[1] >= 1 and tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(has_shape(centers, (matrix.shape[0] + TERMS - 1) // TERMS * TERMS, tiles.shape[1]),
          "centers must have shape (n_centers padded to a multiple of CENTER_MULTIPLE, n_features)")
    agree((matrix.shape[1] + TILE - 1) // TILE == tiles.shape[0], "matrix must have shape (n_centers, n_samples)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t k, n_groups = (matrix.shape[0] + TERMS - 1) // TERMS, first = 0, last, work = 0
    cdef Py_ssize_t each = TERMS * TILE * tiles.shape[0] * (tiles.shape[1] + COSINE)
    with nogil:
        while first < n_groups:
            last = min(n_groups, first + n_threads * at_once(each))
            for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _matrix_rows(tiles, centers, matrix, k * TERMS)
            look_at_signals(&work, (last - first) * each)
            first = last


cdef void _row_spread(const double[:, ::1] matrix, const double[:, ::1] rows, Py_ssize_t i,
                      double *sums) noexcept nogil:
    cdef Py_ssize_t j, k, part, start, stop
    cdef double a, b, total
    for part in range((rows.shape[1] + SOME - 1) // SOME):
        start = part * SOME
        stop = min(rows.shape[1], start + SOME)
        for k in range(start, stop):
            sums[k] = 0
        for j in range(0, i - 1, 2):   # a sum is read and written once for two rows, which are added in their order
            for k in range(start, stop):
                a = rows[i, k] - rows[j, k]
                b = rows[i, k] - rows[j + 1, k]
                total = sums[k] + matrix[i, j] * a * a
                sums[k] = total + matrix[i, j + 1] * b * b
        if i % 2:
            for k in range(start, stop):
                a = rows[i, k] - rows[i - 1, k]
                sums[k] += matrix[i, i - 1] * a * a


def spread_along_features(
    const double[:, ::1] matrix,     # IN   (n_samples, n_samples) symmetric
    const double[:, ::1] rows,       # IN   (n_samples, n_features)
    double[:, ::1] partial,          # OUT  (n_samples, n_features)
    int n_threads,
):
    """partial[i, k] = sum over j < i of matrix[i, j] (rows[i, k] - rows[j, k])^2."""
    agree(has_shape(matrix, rows.shape[0], rows.shape[0]), "matrix must have shape (n_samples, n_samples)")
    agree(has_shape(partial, rows.shape[0], rows.shape[1]), "partial must have shape (n_samples, n_features)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t i, each = 2 * rows.shape[0] * rows.shape[1], first = 0, last, work = 0
    with nogil:
        while first < rows.shape[0]:
            last = min(rows.shape[0], first + n_threads * at_once(each))
            for i in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _row_spread(matrix, rows, i, &partial[i, 0])
            look_at_signals(&work, (last - first) * each)
            first = last
