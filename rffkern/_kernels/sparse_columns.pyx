"""Sums of Gaussian kernels over centers, and least squares on columns of such sums.

Rows and centers are in units in which the kernel is k(x, c) = 2^-|x - c|^2; the models bring amplitude and bias in.
Numbers of centers are padded to a multiple of TERMS with centers of weight 0.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport log, sqrt

import numpy as np

from .checks cimport agree, holds, is_tiled
from .signals cimport COSINE, at_once, look_at_signals
from .tiles cimport (
    STRIP_TILES, TERMS, TILE, add_columns, add_kernels, column_products, decay, distances, dot,
    n_strips, real, strip_start, strip_stop,
)

cdef enum:
    LONG_TILES = 64       # in a strip of columns: memory is read in longer runs than a strip of rows has

CENTER_MULTIPLE = TERMS
PRODUCT_SCRATCH = 2 * LONG_TILES * TILE
UNIT = sqrt(0.5 / log(2.0))   # exp(-1/2 r^2) = 2^-(UNIT r)^2


cdef void _strip_correlations(const real[:, :, ::1] tiles, const double[:, ::1] v, const real[:, ::1] centers,
                              Py_ssize_t strip, Py_ssize_t start, Py_ssize_t stop, double *sums) noexcept nogil:
    """Of the centers from `start` to `stop`."""
    cdef real u[TERMS * TILE]
    cdef real rounded[TILE]
    cdef Py_ssize_t i, k, t, group, term
    for k in range(start, stop):
        sums[k] = 0
    for t in range(strip_start(strip), strip_stop(strip, tiles.shape[0])):
        for i in range(TILE):
            rounded[i] = <real>v[t, i]
        for group in range(start // TERMS, stop // TERMS):
            term = group * TERMS
            distances(&tiles[t, 0, 0], tiles.shape[1], TILE, &centers[term, 0], u)
            for k in range(TERMS):
                decay(u + k * TILE, TILE)
                sums[term + k] += dot(u + k * TILE, rounded, TILE)


cdef int _check_centers(const real[:, :, ::1] tiles, const real[:, ::1] centers) except -1:
    agree(tiles.shape[1] >= 1 and tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    return agree(centers.shape[0] % TERMS == 0 and centers.shape[1] == tiles.shape[1],
                 "centers must have shape (n_centers padded to a multiple of CENTER_MULTIPLE, n_features)")


cdef _correlate_centers(
    const real[:, :, ::1] tiles, const double[:, ::1] v, const real[:, ::1] centers, double[:, ::1] partial,
    double[::1] sums, int n_threads,
):
    _check_centers(tiles, centers)
    agree(is_tiled(v, tiles.shape[0]), "v must have shape (n_tiles, 128)")
    agree(holds(partial, n_strips(tiles.shape[0]), centers.shape[0]), "partial must have shape (n_strips, n_centers)")
    agree(sums.shape[0] == centers.shape[0], "sums must have shape (n_centers,)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t b, k, strips = n_strips(tiles.shape[0]), first, last, stop, start = 0, work = 0
    cdef Py_ssize_t each = TILE * STRIP_TILES * (tiles.shape[1] + COSINE)   # of a center
    with nogil:
        while start < centers.shape[0]:
            stop = min(centers.shape[0], start + TERMS * at_once(TERMS * each))
            first = 0
            while first < strips:
                last = min(strips, first + n_threads * at_once((stop - start) * each))
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    _strip_correlations(tiles, v, centers, b, start, stop, &partial[b, 0])
                look_at_signals(&work, (last - first) * (stop - start) * each)
                first = last
            start = stop
        for k in range(centers.shape[0]):
            sums[k] = 0
            for b in range(strips):
                sums[k] += partial[b, k]


def correlate_centers(
    tiles,           # IN   real (n_tiles, n_features, TILE)
    v,               # IN   double (n_tiles, TILE)
    centers,         # IN   real (n_centers, n_features)
    partial,         # TEMP double (n_strips, n_centers)
    sums,            # OUT  double (n_centers,)
    int n_threads,
):
    """sums = sum over rows of v k(row, center)."""
    if tiles.itemsize == sizeof(float):
        return _correlate_centers[float](tiles, v, centers, partial, sums, n_threads)
    return _correlate_centers[double](tiles, v, centers, partial, sums, n_threads)


cdef void _fill_tile(const real[:, :, ::1] tiles, const real[:, ::1] centers, const double[:, ::1] weights,
                     double constant, real[:, ::1] column, Py_ssize_t t, Py_ssize_t start, Py_ssize_t stop,
                     double *total) noexcept nogil:
    """Add what the centers from `start` to `stop` make, and after the last lay the totals down."""
    cdef Py_ssize_t i
    for i in range(TILE if start == 0 else 0):
        total[i] = constant
    add_kernels(&tiles[t, 0, 0], tiles.shape[1], TILE, centers, weights, start, stop, total)
    for i in range(TILE if stop == centers.shape[0] else 0):
        column[t, i] = <real>total[i]


cdef _fill_column(
    const real[:, :, ::1] tiles, const real[:, ::1] centers, const double[:, ::1] weights, double constant,
    real[:, ::1] column, int n_threads,
):
    _check_centers(tiles, centers)
    agree(weights.shape[0] == 1 and weights.shape[1] == centers.shape[0], "weights must have shape (1, n_centers)")
    agree(is_tiled(column, tiles.shape[0]), "column must have shape (n_tiles, 128)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t each = TILE * TERMS * (tiles.shape[1] + COSINE), n_centers = centers.shape[0]   # of TERMS centers
    cdef Py_ssize_t some = min(tiles.shape[0], n_threads * at_once(each * (n_centers // TERMS)))
    cdef Py_ssize_t t, first = 0, last, start, stop, work = 0
    cdef double[:, ::1] totals = np.empty((some, TILE))
    with nogil:
        while first < tiles.shape[0]:
            last = min(tiles.shape[0], first + some)
            start = stop = 0
            while start == 0 or start < n_centers:
                stop = min(n_centers, start + TERMS * at_once(each))
                for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    _fill_tile(tiles, centers, weights, constant, column, t, start, stop, &totals[t - first, 0])
                look_at_signals(&work, (last - first) * each * ((stop - start) // TERMS))
                start += TERMS * at_once(each)
            first = last


def fill_column(
    tiles,             # IN   real (n_tiles, n_features, TILE)
    centers,           # IN   real (n_centers, n_features)
    weights,           # IN   double (1, n_centers)
    double constant,
    column,            # OUT  real (n_tiles, TILE)
    int n_threads,
):
    """column = constant + sum over centers of weights k(row, center)."""
    if tiles.itemsize == sizeof(float):
        return _fill_column[float](tiles, centers, weights, constant, column, n_threads)
    return _fill_column[double](tiles, centers, weights, constant, column, n_threads)


cdef void _strip_products(const real[:, :, ::1] columns, Py_ssize_t n_columns, const double[:, ::1] weight,
                          const double[:, ::1] residual, Py_ssize_t strip, double *scratch,
                          double *sums) noexcept nogil:
    cdef double *last = scratch
    cdef double *rest = scratch + LONG_TILES * TILE
    cdef Py_ssize_t i, t, start = strip * LONG_TILES, size = 0
    for t in range(start, min(start + LONG_TILES, columns.shape[1])):
        for i in range(TILE):
            last[size] = weight[t, i] * columns[n_columns - 1, t, i]
            rest[size] = weight[t, i] * residual[t, i]
            size += 1
    column_products(&columns[0, start, 0], columns.shape[1] * TILE, n_columns, last, rest, size, sums)


cdef int _check_columns(const real[:, :, ::1] columns, const double[:, ::1] weight, const double[:, ::1] residual,
                        Py_ssize_t n_columns) except -1:
    agree(columns.shape[2] == TILE, "columns must have shape (capacity, n_tiles, 128)")
    agree(n_columns <= columns.shape[0], "the number of columns in use must not exceed the capacity")
    agree(is_tiled(weight, columns.shape[1]), "weight must have shape (n_tiles, 128)")
    return agree(is_tiled(residual, columns.shape[1]), "residual must have shape (n_tiles, 128)")


cdef _multiply_columns(
    const real[:, :, ::1] columns, Py_ssize_t n_columns, const double[:, ::1] weight, const double[:, ::1] residual,
    double[:, ::1] partial, double[:, ::1] scratch, double[:, ::1] products, int n_threads,
):
    cdef Py_ssize_t b, j, strips = (columns.shape[1] + LONG_TILES - 1) // LONG_TILES
    agree(n_columns >= 1, "n_columns must be at least 1")
    _check_columns(columns, weight, residual, n_columns)
    agree(holds(partial, strips, 2 * n_columns), "partial must have shape (n_strips, 2 n_columns)")
    agree(holds(scratch, n_threads, 2 * LONG_TILES * TILE), "scratch must have shape (n_threads, PRODUCT_SCRATCH)")
    agree(holds(products, n_columns, 2), "products must have shape (capacity, 2)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t each = TILE * LONG_TILES * 2 * n_columns, first = 0, last, work = 0
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_products(columns, n_columns, weight, residual, b, &scratch[threadid(), 0], &partial[b, 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        for j in range(n_columns):
            products[j, 0] = products[j, 1] = 0
            for b in range(strips):
                products[j, 0] += partial[b, 2 * j]
                products[j, 1] += partial[b, 2 * j + 1]


def multiply_columns(
    columns,                # IN   real (capacity, n_tiles, TILE)
    Py_ssize_t n_columns,   # of which are in use
    weight,                 # IN   double (n_tiles, TILE), 0 for padding
    residual,               # IN   double (n_tiles, TILE)
    partial,                # TEMP double (n_strips, 2 n_columns or more)
    scratch,                # TEMP double (n_threads, PRODUCT_SCRATCH)
    products,               # OUT  double (capacity, 2)
    int n_threads,
):
    """products[j] = weighted sums over rows of column j times the last column, and times the residual."""
    if columns.itemsize == sizeof(float):
        return _multiply_columns[float](columns, n_columns, weight, residual, partial, scratch, products, n_threads)
    return _multiply_columns[double](columns, n_columns, weight, residual, partial, scratch, products, n_threads)


cdef double _strip_shift(const real[:, :, ::1] columns, const double[::1] steps, const double[:, ::1] weight,
                         double[:, ::1] residual, Py_ssize_t strip) noexcept nogil:
    cdef Py_ssize_t i, t, start = strip * LONG_TILES, stop = min(start + LONG_TILES, columns.shape[1])
    cdef double total = 0
    if steps.shape[0]:
        add_columns(&columns[0, start, 0], columns.shape[1] * TILE, steps.shape[0], &steps[0], (stop - start) * TILE,
                    &residual[start, 0])
    for t in range(start, stop):
        for i in range(TILE):
            total += weight[t, i] * residual[t, i] * residual[t, i]
    return total


cdef _shift_residual(
    const real[:, :, ::1] columns, const double[::1] steps, const double[:, ::1] weight, double[:, ::1] residual,
    double[:, ::1] partial, int n_threads,
):
    cdef Py_ssize_t b, strips = (columns.shape[1] + LONG_TILES - 1) // LONG_TILES
    _check_columns(columns, weight, residual, steps.shape[0])
    agree(holds(partial, strips, 1), "partial must have shape (n_strips, 1)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef double total = 0
    cdef Py_ssize_t each = TILE * LONG_TILES * (steps.shape[0] + 1), first = 0, last, work = 0
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                partial[b, 0] = _strip_shift(columns, steps, weight, residual, b)
            look_at_signals(&work, (last - first) * each)
            first = last
        for b in range(strips):
            total += partial[b, 0]
    return total


def shift_residual(
    columns,         # IN   real (capacity, n_tiles, TILE)
    steps,           # IN   double (n_columns,) of the first columns
    weight,          # IN   double (n_tiles, TILE), 0 for padding
    residual,        # IN   double (n_tiles, TILE); OUT
    partial,         # TEMP double (n_strips, 1 or more)
    int n_threads,
):
    """residual += columns . steps; return the weighted sum of its squares."""
    if columns.itemsize == sizeof(float):
        return _shift_residual[float](columns, steps, weight, residual, partial, n_threads)
    return _shift_residual[double](columns, steps, weight, residual, partial, n_threads)
