"""The work of `sparse_columns` on a tile or a strip."""

from ..core.lanes cimport weighted_square
from ..core.tiles cimport (
    TERMS, TILE, add_columns, add_columns_twice, add_kernels, column_products, decay_by, real, square_distances,
    strip_start, strip_stop,
)

cdef enum:
    LONG_TILES = 64       # in a strip of columns: memory is read in longer runs than a strip of rows has


cdef inline void strip_correlations(const real[:, :, ::1] tiles, const real[:, ::1] centers, const real[::1] shifts,
                                    const double[:, :, ::1] v, int shape, real[:, :, ::1] kernels,
                                    Py_ssize_t strip, Py_ssize_t start, Py_ssize_t stop, double *pairs,
                                    double *sums) noexcept nogil:
    """Of the centers from `start` to `stop`; sums[o * n_centers + k] belongs to output o and center k."""
    cdef Py_ssize_t k, o, t, size = stop - start, n_centers = centers.shape[0], n_outputs = v.shape[0]
    for o in range(n_outputs):
        for k in range(start, stop):
            sums[o * n_centers + k] = 0
    for t in range(strip_start(strip), strip_stop(strip, tiles.shape[0])):
        for k in range(start // TERMS, stop // TERMS):
            square_distances(&tiles[t, 0, 0], tiles.shape[1], TILE, centers, shifts, k * TERMS,
                             &kernels[t, k * TERMS, 0])
        decay_by(shape, &kernels[t, start, 0], size * TILE)
        for o in range(0, n_outputs, 2):
            k = min(o + 1, n_outputs - 1)
            column_products(&kernels[t, start, 0], TILE, size, &v[o, t, 0], &v[k, t, 0], TILE, pairs)
            for k in range(size):
                sums[o * n_centers + start + k] += pairs[2 * k]
            for k in range(size if o + 1 < n_outputs else 0):
                sums[(o + 1) * n_centers + start + k] += pairs[2 * k + 1]


cdef inline void combine_tile(const real[:, :, ::1] kernels, const double[:, ::1] weights, const double[::1] constants,
                              real[:, :, ::1] columns, Py_ssize_t t, Py_ssize_t start) noexcept nogil:
    cdef double total[TILE]
    cdef Py_ssize_t i, o
    for o in range(weights.shape[0]):
        for i in range(TILE):
            total[i] = constants[o]
        add_columns(&kernels[t, 0, 0], TILE, weights.shape[1], &weights[o, 0], TILE, total)
        for i in range(TILE):
            columns[o, start + t, i] = <real>total[i]


cdef inline void fill_tile(const real[:, :, ::1] tiles, const real[:, ::1] centers, const real[::1] shifts,
                           const double[:, ::1] weights, const double[::1] constants, int shape,
                           real[:, :, ::1] columns, Py_ssize_t t, Py_ssize_t start, Py_ssize_t stop,
                           double *total) noexcept nogil:
    """Add what the centers from `start` to `stop` make, and after the last lay the totals down."""
    cdef Py_ssize_t i, o
    for o in range(weights.shape[0]):
        for i in range(TILE if start == 0 else 0):
            total[o * TILE + i] = constants[o]
    add_kernels(&tiles[t, 0, 0], tiles.shape[1], TILE, centers, shifts, weights, shape, start, stop, total)
    for o in range(weights.shape[0] if stop == centers.shape[0] else 0):
        for i in range(TILE):
            columns[o, t, i] = <real>total[o * TILE + i]


cdef inline void strip_products(const real[:, :, ::1] columns, Py_ssize_t n_columns, const double[:, ::1] weight,
                                const double[:, :, ::1] vectors, Py_ssize_t strip, Py_ssize_t pair, double *scratch,
                                double *sums) noexcept nogil:
    """With two of the vectors."""
    cdef double *even = scratch
    cdef double *odd = scratch + LONG_TILES * TILE
    cdef Py_ssize_t i, t, start = strip * LONG_TILES, size = 0, other = min(2 * pair + 1, vectors.shape[0] - 1)
    for t in range(start, min(start + LONG_TILES, columns.shape[1])):
        for i in range(TILE):
            even[size + i] = weight[t, i] * vectors[2 * pair, t, i]
            odd[size + i] = weight[t, i] * vectors[other, t, i]
        size += TILE
    column_products(&columns[0, start, 0], columns.shape[1] * TILE, n_columns, even, odd, size, sums)


cdef inline void strip_shift(const real[:, :, ::1] columns, const double[:, ::1] steps, const double[:, ::1] weight,
                             double[:, :, ::1] vectors, Py_ssize_t strip, double *sums) noexcept nogil:
    """A few columns at a time, which the next vector finds in the cache."""
    cdef Py_ssize_t i, j, k, some, start = strip * LONG_TILES, stop = min(start + LONG_TILES, columns.shape[1])
    cdef Py_ssize_t stride = columns.shape[1] * TILE, size = (stop - start) * TILE, n_vectors = vectors.shape[0]
    for i in range((steps.shape[1] + TERMS - 1) // TERMS):
        j = i * TERMS
        some = min(<Py_ssize_t>TERMS, steps.shape[1] - j)
        for k in range(n_vectors // 2):
            add_columns_twice(&columns[j, start, 0], stride, some, &steps[2 * k, j], &steps[2 * k + 1, j], size,
                              &vectors[2 * k, start, 0], &vectors[2 * k + 1, start, 0])
        if n_vectors % 2:
            add_columns(&columns[j, start, 0], stride, some, &steps[n_vectors - 1, j], size,
                        &vectors[n_vectors - 1, start, 0])
    for k in range(vectors.shape[0]):
        sums[k] = weighted_square(&weight[start, 0], &vectors[k, start, 0], size)
