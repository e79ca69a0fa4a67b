"""Kernels of rows with centers, sums of them, and least squares on columns of such sums.

Rows and centers are in units in which the kernel is k(x, c) = 2^-|x - c|^2, of shape GAUSSIAN, or 2^-|x - c|, of
shape EXPONENTIAL; the models bring amplitude and bias in.  Numbers of centers are padded to a multiple of TERMS with
centers of weight 0.  Where `shifts` has an entry per center, |x - c|^2 is centers . x - shifts: rows then carry |x|^2
as their last feature, and centers are (-2 c, 1) with shifts -|c|^2.  That takes half of the operations, and loses
digits far from the origin.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport log, sqrt

import numpy as np

from .core.checks cimport agree, has_shape, holds, is_tiled
from .core.signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .kernels.strips cimport LONG_TILES, combine_tile, fill_tile, strip_correlations, strip_products, strip_shift
from .core.tiles cimport EXPONENTIAL, GAUSSIAN, STRIP_TILES, TERMS, TILE, n_strips, real

use_team(team)

CENTER_MULTIPLE = TERMS
PRODUCT_SCRATCH = 2 * LONG_TILES * TILE
SHAPES = {"gaussian": GAUSSIAN, "exponential": EXPONENTIAL}
# exp(-1/2 r^2) = 2^-(unit r)^2, and exp(-r) = 2^-(unit r)
UNITS = {GAUSSIAN: sqrt(0.5 / log(2.0)), EXPONENTIAL: 1 / log(2.0)}


cdef int _check_centers(const real[:, :, ::1] tiles, const real[:, ::1] centers, const real[::1] shifts) except -1:
    agree(tiles.shape[1] >= 1 and tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(shifts.shape[0] == 0 or shifts.shape[0] == centers.shape[0], "shifts must be empty or of shape (n_centers,)")
    return agree(centers.shape[0] % TERMS == 0 and centers.shape[1] == tiles.shape[1],
                 "centers must have shape (n_centers padded to a multiple of CENTER_MULTIPLE, n_features)")


cdef _take_tiles(const real[:, :, ::1] tiles, const Py_ssize_t[::1] rows, Py_ssize_t n_features,
                 double[:, :, ::1] taken):
    cdef Py_ssize_t i, j, row, t, n_rows = rows.shape[0], total = TILE * tiles.shape[0]
    cdef double square
    agree(1 <= n_features <= tiles.shape[1] and tiles.shape[2] == TILE,
          "tiles must have shape (n_tiles, n_features or more, 128)")
    agree(taken.shape[0] * TILE >= n_rows and taken.shape[2] == TILE
          and (taken.shape[1] == n_features or taken.shape[1] == n_features + 1),
          "taken must have shape (n_tiles, n_features, 128), or one feature more")
    for i in range(n_rows):
        agree(0 <= rows[i] < total, "rows must be those of the tiles")
    with nogil:
        for t in range(taken.shape[0]):
            for i in range(TILE):
                row = rows[t * TILE + i] if t * TILE + i < n_rows else -1
                square = 0
                for j in range(n_features):
                    taken[t, j, i] = tiles[row // TILE, j, row % TILE] if row >= 0 else 0
                    square += taken[t, j, i] * taken[t, j, i]
                if taken.shape[1] > n_features:
                    taken[t, n_features, i] = square


def take_tiles(
    tiles,                     # IN   real (n_tiles, n_features or more, TILE)
    rows,                      # IN   intp (n_rows,)
    Py_ssize_t n_features,     # that are taken
    double[:, :, ::1] taken,   # OUT  (n_tiles, n_features, TILE), or one feature more for the squares of lengths
):
    """Some rows in tiles of their own, in double precision, padded with 0."""
    if tiles.itemsize == sizeof(float):
        return _take_tiles[float](tiles, rows, n_features, taken)
    return _take_tiles[double](tiles, rows, n_features, taken)


cdef _correlate_centers(
    const real[:, :, ::1] tiles, const real[:, ::1] centers, const real[::1] shifts, const double[:, :, ::1] v,
    real[:, :, ::1] kernels, double[:, ::1] partial, double[:, ::1] sums, int shape, int n_threads,
):
    _check_centers(tiles, centers, shifts)
    cdef Py_ssize_t n_centers = centers.shape[0], n_outputs = v.shape[0], strips = n_strips(tiles.shape[0])
    agree(v.shape[1] == tiles.shape[0] and v.shape[2] == TILE, "v must have shape (n_outputs, n_tiles, 128)")
    agree(kernels.shape[0] == tiles.shape[0] and kernels.shape[1] == n_centers and kernels.shape[2] == TILE,
          "kernels must have shape (n_tiles, n_centers, 128)")
    agree(holds(partial, strips, n_outputs * n_centers), "partial must have shape (n_strips, n_outputs * n_centers)")
    agree(has_shape(sums, n_outputs, n_centers), "sums must have shape (n_outputs, n_centers)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef double[:, ::1] pairs = np.empty((n_threads, 2 * n_centers))
    cdef Py_ssize_t b, k, o, first, last, stop, start = 0, work = 0
    cdef Py_ssize_t each = TILE * STRIP_TILES * (tiles.shape[1] + COSINE + n_outputs)   # of a center
    with nogil:
        while start < n_centers:
            stop = min(n_centers, start + TERMS * at_once(TERMS * each))
            first = 0
            while first < strips:
                last = min(strips, first + n_threads * at_once((stop - start) * each))
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    strip_correlations(tiles, centers, shifts, v, shape, kernels, b, start, stop, &pairs[threadid(), 0],
                                       &partial[b, 0] if n_outputs else NULL)
                look_at_signals(&work, (last - first) * (stop - start) * each)
                first = last
            start = stop
        for o in range(n_outputs):
            for k in range(n_centers):
                sums[o, k] = 0
                for b in range(strips):
                    sums[o, k] += partial[b, o * n_centers + k]


def correlate_centers(
    tiles,           # IN   real (n_tiles, n_features, TILE)
    centers,         # IN   real (n_centers, n_features)
    shifts,          # IN   real (n_centers,) or (0,)
    v,               # IN   double (n_outputs, n_tiles, TILE)
    kernels,         # OUT  real (n_tiles, n_centers, TILE)
    partial,         # TEMP double (n_strips, n_outputs * n_centers)
    sums,            # OUT  double (n_outputs, n_centers)
    int shape,       # GAUSSIAN or EXPONENTIAL
    int n_threads,
):
    """kernels = k(row, center), sums = sums of v k(row, center) over rows."""
    if tiles.itemsize == sizeof(float):
        return _correlate_centers[float](tiles, centers, shifts, v, kernels, partial, sums, shape, n_threads)
    return _correlate_centers[double](tiles, centers, shifts, v, kernels, partial, sums, shape, n_threads)


cdef _combine_kernels(const real[:, :, ::1] kernels, const double[:, ::1] weights, const double[::1] constants,
                      real[:, :, ::1] columns, Py_ssize_t start, int n_threads):
    agree(kernels.shape[2] == TILE, "kernels must have shape (n_tiles, n_centers, 128)")
    agree(1 <= weights.shape[1] <= kernels.shape[1], "weights must have shape (n_columns, n_centers or fewer)")
    agree(constants.shape[0] == weights.shape[0], "constants must have shape (n_columns,)")
    agree(columns.shape[0] >= weights.shape[0] and columns.shape[2] == TILE,
          "columns must have shape (n_columns, n_tiles, 128)")
    agree(0 <= start and start + kernels.shape[0] <= columns.shape[1], "start must leave room for the tiles")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t each = TILE * weights.shape[0] * weights.shape[1], first = 0, last, t, work = 0
    with nogil:
        while first < kernels.shape[0]:
            last = min(kernels.shape[0], first + n_threads * at_once(each))
            for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                combine_tile(kernels, weights, constants, columns, t, start)
            look_at_signals(&work, (last - first) * each)
            first = last


def combine_kernels(
    kernels,           # IN   real (n_tiles, n_centers, TILE)
    weights,           # IN   double (n_columns, n_centers or fewer)
    constants,         # IN   double (n_columns,)
    columns,           # OUT  real (n_columns or more, n_tiles, TILE), from tile `start` on
    Py_ssize_t start,
    int n_threads,
):
    """columns = constants + sum over centers of weights times kernels."""
    if kernels.itemsize == sizeof(float):
        return _combine_kernels[float](kernels, weights, constants, columns, start, n_threads)
    return _combine_kernels[double](kernels, weights, constants, columns, start, n_threads)


cdef _fill_columns(
    const real[:, :, ::1] tiles, const real[:, ::1] centers, const real[::1] shifts, const double[:, ::1] weights,
    const double[::1] constants, real[:, :, ::1] columns, int shape, int n_threads,
):
    _check_centers(tiles, centers, shifts)
    cdef Py_ssize_t n_columns = weights.shape[0], n_centers = centers.shape[0]
    agree(weights.shape[1] == n_centers, "weights must have shape (n_columns, n_centers)")
    agree(constants.shape[0] == n_columns, "constants must have shape (n_columns,)")
    agree(columns.shape[0] >= n_columns and columns.shape[1] == tiles.shape[0] and columns.shape[2] == TILE,
          "columns must have shape (n_columns, n_tiles, 128)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t each = TILE * TERMS * (tiles.shape[1] + COSINE + n_columns)   # of TERMS centers
    cdef Py_ssize_t some = min(tiles.shape[0], n_threads * at_once(each * (n_centers // TERMS)))
    cdef Py_ssize_t t, first = 0, last, start, stop, work = 0
    cdef double[:, ::1] totals = np.empty((some, n_columns * TILE))
    with nogil:
        while first < tiles.shape[0]:
            last = min(tiles.shape[0], first + some)
            start = stop = 0
            while start == 0 or start < n_centers:
                stop = min(n_centers, start + TERMS * at_once(each))
                for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    fill_tile(tiles, centers, shifts, weights, constants, shape, columns, t, start, stop,
                              &totals[t - first, 0])
                look_at_signals(&work, (last - first) * each * ((stop - start) // TERMS))
                start += TERMS * at_once(each)
            first = last


def fill_columns(
    tiles,             # IN   real (n_tiles, n_features, TILE)
    centers,           # IN   real (n_centers, n_features)
    shifts,            # IN   real (n_centers,) or (0,)
    weights,           # IN   double (n_columns, n_centers)
    constants,         # IN   double (n_columns,)
    columns,           # OUT  real (n_columns or more, n_tiles, TILE)
    int shape,         # GAUSSIAN or EXPONENTIAL
    int n_threads,
):
    """columns = constants + sum over centers of weights k(row, center)."""
    if tiles.itemsize == sizeof(float):
        return _fill_columns[float](tiles, centers, shifts, weights, constants, columns, shape, n_threads)
    return _fill_columns[double](tiles, centers, shifts, weights, constants, columns, shape, n_threads)


cdef int _check_columns(const real[:, :, ::1] columns, Py_ssize_t n_columns, const double[:, ::1] weight,
                        const double[:, :, ::1] vectors) except -1:
    agree(columns.shape[2] == TILE, "columns must have shape (capacity, n_tiles, 128)")
    agree(n_columns <= columns.shape[0], "the number of columns in use must not exceed the capacity")
    agree(is_tiled(weight, columns.shape[1]), "weight must have shape (n_tiles, 128)")
    return agree(vectors.shape[1] == columns.shape[1] and vectors.shape[2] == TILE,
                 "vectors must have shape (n_vectors, n_tiles, 128)")


cdef _multiply_columns(
    const real[:, :, ::1] columns, Py_ssize_t n_columns, const double[:, ::1] weight,
    const double[:, :, ::1] vectors, double[:, ::1] partial, double[:, ::1] scratch, double[:, ::1] products,
    int n_threads,
):
    cdef Py_ssize_t strips = (columns.shape[1] + LONG_TILES - 1) // LONG_TILES, n_vectors = vectors.shape[0]
    cdef Py_ssize_t b, j, k, pair, each = TILE * LONG_TILES * 2 * n_columns, first, last, work = 0
    agree(n_columns >= 1, "n_columns must be at least 1")
    _check_columns(columns, n_columns, weight, vectors)
    agree(holds(partial, strips, 2 * n_columns), "partial must have shape (n_strips, 2 n_columns)")
    agree(holds(scratch, n_threads, 2 * LONG_TILES * TILE), "scratch must have shape (n_threads, PRODUCT_SCRATCH)")
    agree(holds(products, n_vectors, n_columns), "products must have shape (n_vectors, n_columns)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    with nogil:
        for pair in range((n_vectors + 1) // 2):
            first = 0
            while first < strips:
                last = min(strips, first + n_threads * at_once(each))
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    strip_products(columns, n_columns, weight, vectors, b, pair, &scratch[threadid(), 0],
                                   &partial[b, 0])
                look_at_signals(&work, (last - first) * each)
                first = last
            for k in range(min(<Py_ssize_t>2, n_vectors - 2 * pair)):
                for j in range(n_columns):
                    products[2 * pair + k, j] = 0
                    for b in range(strips):
                        products[2 * pair + k, j] += partial[b, 2 * j + k]


def multiply_columns(
    columns,                # IN   real (capacity, n_tiles, TILE)
    Py_ssize_t n_columns,   # of which are in use
    weight,                 # IN   double (n_tiles, TILE), 0 for padding
    vectors,                # IN   double (n_vectors, n_tiles, TILE)
    partial,                # TEMP double (n_strips, 2 n_columns or more)
    scratch,                # TEMP double (n_threads, PRODUCT_SCRATCH)
    products,               # OUT  double (n_vectors or more, n_columns or more)
    int n_threads,
):
    """products[k, j] = weighted sum over rows of vector k times column j."""
    if columns.itemsize == sizeof(float):
        return _multiply_columns[float](columns, n_columns, weight, vectors, partial, scratch, products, n_threads)
    return _multiply_columns[double](columns, n_columns, weight, vectors, partial, scratch, products, n_threads)


cdef _shift_vectors(
    const real[:, :, ::1] columns, const double[:, ::1] steps, const double[:, ::1] weight,
    double[:, :, ::1] vectors, double[:, ::1] partial, double[::1] squares, int n_threads,
):
    cdef Py_ssize_t b, k, strips = (columns.shape[1] + LONG_TILES - 1) // LONG_TILES, n_vectors = vectors.shape[0]
    _check_columns(columns, steps.shape[1], weight, vectors)
    agree(steps.shape[0] == n_vectors, "steps must have shape (n_vectors, n_columns)")
    agree(holds(partial, strips, n_vectors), "partial must have shape (n_strips, n_vectors)")
    agree(squares.shape[0] == n_vectors, "squares must have shape (n_vectors,)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t each = TILE * LONG_TILES * (steps.shape[1] + 1) * n_vectors, first = 0, last, work = 0
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                strip_shift(columns, steps, weight, vectors, b, &partial[b, 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        for k in range(n_vectors):
            squares[k] = 0
            for b in range(strips):
                squares[k] += partial[b, k]


def shift_vectors(
    columns,         # IN   real (capacity, n_tiles, TILE)
    steps,           # IN   double (n_vectors, n_columns) of the first columns
    weight,          # IN   double (n_tiles, TILE), 0 for padding
    vectors,         # IN   double (n_vectors, n_tiles, TILE); OUT
    partial,         # TEMP double (n_strips, n_vectors or more)
    squares,         # OUT  double (n_vectors,)
    int n_threads,
):
    """vectors[k] += sum over columns of steps[k] times the column; squares = weighted sums of their squares."""
    if columns.itemsize == sizeof(float):
        return _shift_vectors[float](columns, steps, weight, vectors, partial, squares, n_threads)
    return _shift_vectors[double](columns, steps, weight, vectors, partial, squares, n_threads)
