"""Checks and statistics of rows, and their packing into tiles."""

from cython.parallel cimport prange

from .core.checks cimport agree, are_indices, has_shape
from .core.signals cimport at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport LANES, STRIP_TILES, TERM_BLOCK, TERMS, TILE, real

use_team(team)

ctypedef fused source:
    float
    double

cdef extern from "vecmath.h" nogil:
    void vm_prefetch(const void *address, Py_ssize_t size) noexcept

cdef enum:
    LOOKAHEAD = 8         # rows that are fetched ahead where they are packed in random order

TILE_ROWS = TILE
LANE_COUNT = LANES
STRIP_ROWS = TILE * STRIP_TILES
TERM_MULTIPLES = TERMS, TERM_BLOCK   # of the numbers of omegas and of amplitudes


cdef _find_unbounded(
    const source[::1] values, double limit,
):
    cdef Py_ssize_t i, last, first = 0, size = values.shape[0], work = 0
    cdef source bound = <source>limit
    cdef int within = 1
    with nogil:
        while first < size and within:
            last = min(size, first + at_once(4))
            for i in range(first, last):   # without a way out and in bits, so that it is done in vectors
                within &= (values[i] <= bound) & (values[i] >= -bound)
            look_at_signals(&work, 4 * (last - first))
            if within:
                first = last
        i = -1
        if not within:
            i = first
            while -bound <= values[i] <= bound:
                i += 1
    return i


def find_unbounded(
    values,         # IN   source (size,)
    double limit,
):
    """Index of the first value that is nan or beyond the limit in magnitude, or -1."""
    if values.itemsize == sizeof(float):
        return _find_unbounded[float](values, limit)
    return _find_unbounded[double](values, limit)


cdef inline Py_ssize_t _row_strips(Py_ssize_t n_samples) noexcept nogil:
    return (n_samples + TILE * STRIP_TILES - 1) // (TILE * STRIP_TILES)


cdef void _strip_range(const source[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, double *low,
                       double *high) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double value
    for j in range(X.shape[1]):
        low[j] = high[j] = X[start, j]
    for i in range(start + 1, stop):
        for j in range(X.shape[1]):
            value = X[i, j]
            low[j] = value if value < low[j] else low[j]
            high[j] = value if value > high[j] else high[j]


cdef _column_range(
    const source[:, ::1] X, double[:, ::1] low, double[:, ::1] high, int n_threads,
):
    agree(has_shape(low, _row_strips(X.shape[0]), X.shape[1]), "low must have shape (n_strips, n_features)")
    agree(has_shape(high, low.shape[0], X.shape[1]), "high must have shape (n_strips, n_features)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t b, rows = TILE * STRIP_TILES, each = 4 * rows * X.shape[1], first = 0, last, work = 0
    with nogil:
        while first < low.shape[0]:
            last = min(low.shape[0], first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_range(X, b * rows, min((b + 1) * rows, X.shape[0]), &low[b, 0], &high[b, 0])
            look_at_signals(&work, (last - first) * each)
            first = last


def column_range(
    X,               # IN   source (n_samples, n_features)
    low,             # OUT  double (n_strips, n_features) smallest values in each strip of STRIP_ROWS rows
    high,            # OUT  double (n_strips, n_features)
    int n_threads,
):
    """Smallest and largest values of the columns."""
    if X.itemsize == sizeof(float):
        return _column_range[float](X, low, high, n_threads)
    return _column_range[double](X, low, high, n_threads)


cdef void _strip_moments(const source[:, ::1] X, const double[::1] unit, const double[::1] center,
                         const double[::1] weight, int power, Py_ssize_t start, Py_ssize_t stop,
                         double *sums) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double value, w = 1
    for j in range(X.shape[1]):
        sums[j] = 0
    for i in range(start, stop):
        if weight.shape[0]:
            w = weight[i]
        for j in range(X.shape[1]):
            value = X[i, j] * unit[j] - center[j]
            sums[j] += w * value * value if power == 2 else w * value


cdef _column_moments(
    const source[:, ::1] X, const double[::1] unit, const double[::1] center, const double[::1] weight, int power,
    double[:, ::1] partial, int n_threads,
):
    agree(unit.shape[0] == X.shape[1], "unit must have shape (n_features,)")
    agree(center.shape[0] == X.shape[1], "center must have shape (n_features,)")
    agree(weight.shape[0] == 0 or weight.shape[0] == X.shape[0], "weight must have shape (n_samples,) or (0,)")
    agree(power == 1 or power == 2, "power must be 1 or 2")
    agree(has_shape(partial, _row_strips(X.shape[0]), X.shape[1]), "partial must have shape (n_strips, n_features)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t b, rows = TILE * STRIP_TILES, each = 4 * rows * X.shape[1], first = 0, last, work = 0
    with nogil:
        while first < partial.shape[0]:
            last = min(partial.shape[0], first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_moments(X, unit, center, weight, power, b * rows, min((b + 1) * rows, X.shape[0]),
                               &partial[b, 0])
            look_at_signals(&work, (last - first) * each)
            first = last


def column_moments(
    X,               # IN   source (n_samples, n_features)
    unit,            # IN   double (n_features,)
    center,          # IN   double (n_features,)
    weight,          # IN   double (n_samples,), or (0,) for 1
    int power,       # 1 or 2
    partial,         # OUT  double (n_strips, n_features) sums over each strip of STRIP_ROWS rows
    int n_threads,
):
    """Sums over rows of weight (X unit - center)^power."""
    if X.itemsize == sizeof(float):
        return _column_moments[float](X, unit, center, weight, power, partial, n_threads)
    return _column_moments[double](X, unit, center, weight, power, partial, n_threads)


cdef double _pack_tile(const source[:, ::1] X, const Py_ssize_t[::1] order, const double[::1] center,
                       const double[::1] inverse_scale, real[:, :, ::1] tiles, Py_ssize_t tile) noexcept nogil:
    cdef Py_ssize_t i, j, row, n_rows = min(<Py_ssize_t>TILE, X.shape[0] - tile * TILE)
    cdef double value, length, largest = 0
    for i in range(n_rows):
        row = tile * TILE + i
        if order.shape[0]:
            if row + LOOKAHEAD < order.shape[0]:
                vm_prefetch(&X[order[row + LOOKAHEAD], 0], X.shape[1] * sizeof(source))
            row = order[row]
        length = 0
        for j in range(X.shape[1]):
            value = (X[row, j] - center[j]) * inverse_scale[j]
            length += value * value
            tiles[tile, j, i] = <real>value
        largest = max(largest, length)
    for j in range(X.shape[1]):
        for i in range(n_rows, TILE):
            tiles[tile, j, i] = 0
    return largest


cdef _pack_rows(
    const source[:, ::1] X, const Py_ssize_t[::1] order, const double[::1] center, const double[::1] inverse_scale,
    real[:, :, ::1] tiles, double[::1] lengths, int n_threads,
):
    cdef Py_ssize_t n_samples = X.shape[0]
    agree(order.shape[0] == 0 or (order.shape[0] == n_samples and are_indices(order, n_samples)),
          "order must have shape (n_samples,) and hold indices of rows, or have shape (0,)")
    agree(center.shape[0] == X.shape[1], "center must have shape (n_features,)")
    agree(inverse_scale.shape[0] == X.shape[1], "inverse_scale must have shape (n_features,)")
    agree(tiles.shape[0] == (n_samples + TILE - 1) // TILE and tiles.shape[1] == X.shape[1] and tiles.shape[2] == TILE,
          "tiles must have shape (n_tiles, n_features, 128)")
    agree(lengths.shape[0] == tiles.shape[0], "lengths must have shape (n_tiles,)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t t, each = 8 * TILE * X.shape[1], first = 0, last, work = 0   # few operations, but slow memory
    with nogil:
        while first < tiles.shape[0]:
            last = min(tiles.shape[0], first + n_threads * at_once(each))
            for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                lengths[t] = _pack_tile(X, order, center, inverse_scale, tiles, t)
            look_at_signals(&work, (last - first) * each)
            first = last


def pack_rows(
    X,               # IN   source (n_samples, n_features)
    order,           # IN   Py_ssize_t (n_samples,) which row of X goes where, or (0,) for each in its place
    center,          # IN   double (n_features,)
    inverse_scale,   # IN   double (n_features,) 0 for constant columns
    tiles,           # OUT  real (n_tiles, n_features, TILE), padded with 0
    lengths,         # OUT  double (n_tiles,) largest squared length among the packed rows of a tile
    int n_threads,
):
    """Standardise rows and lay them out feature-major in tiles."""
    if X.itemsize == sizeof(float):
        if tiles.itemsize == sizeof(float):
            return _pack_rows[float, float](X, order, center, inverse_scale, tiles, lengths, n_threads)
        return _pack_rows[float, double](X, order, center, inverse_scale, tiles, lengths, n_threads)
    if tiles.itemsize == sizeof(float):
        return _pack_rows[double, float](X, order, center, inverse_scale, tiles, lengths, n_threads)
    return _pack_rows[double, double](X, order, center, inverse_scale, tiles, lengths, n_threads)
