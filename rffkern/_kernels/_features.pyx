"""Packing of rows into tiles, and sums of cosines: what training and scoring read."""

from cython.parallel cimport prange, threadid
from libc.math cimport fabs

from ._common cimport (
    BLOCK_TILES, LANES, TERM_BLOCK, TERMS, TILE, add_scaled, cospi, dot_terms, project, project_terms, real,
)

ctypedef fused source:
    float
    double

cdef extern from "vecmath.h" nogil:
    void vm_prefetch(const void *address, Py_ssize_t size) noexcept

cdef enum:
    LOOKAHEAD = 8         # rows that are fetched ahead where they are packed in random order
    SCORE_BYTES = 20480   # of a tile in scoring

TILE_ROWS = TILE
LANE_COUNT = LANES
ROW_BLOCK = TILE * BLOCK_TILES
TERM_MULTIPLES = TERMS, TERM_BLOCK   # of the numbers of omegas and of amplitudes


def find_unbounded(
    const source[::1] values,   # IN   (size,)
    double limit,
):
    """Index of the first value that is nan or beyond the limit in magnitude, or -1."""
    cdef Py_ssize_t i, size = values.shape[0]
    cdef bint found = False
    with nogil:
        for i in range(size):   # without a way out, so that it is done in vectors
            found |= not fabs(values[i]) <= limit
        i = -1
        if found:
            i = 0
            while fabs(values[i]) <= limit:
                i += 1
    return i


cdef void _block_range(const source[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, double *low,
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


def column_range(
    const source[:, ::1] X,   # IN   (n_samples, n_features)
    double[:, ::1] low,       # OUT  (n_blocks, n_features) smallest values in each block of ROW_BLOCK rows
    double[:, ::1] high,      # OUT  (n_blocks, n_features)
    int n_threads,
):
    """Smallest and largest values of the columns."""
    cdef Py_ssize_t b, rows = TILE * BLOCK_TILES
    for b in prange(low.shape[0], nogil=True, schedule='dynamic', num_threads=n_threads):
        _block_range(X, b * rows, min((b + 1) * rows, X.shape[0]), &low[b, 0], &high[b, 0])


cdef void _block_moments(const source[:, ::1] X, const double[::1] unit, const double[::1] center,
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


def column_moments(
    const source[:, ::1] X,      # IN   (n_samples, n_features)
    const double[::1] unit,      # IN   (n_features,)
    const double[::1] center,    # IN   (n_features,)
    const double[::1] weight,    # IN   (n_samples,), or (0,) for 1
    int power,                   # 1 or 2
    double[:, ::1] partial,      # OUT  (n_blocks, n_features) sums over each block of ROW_BLOCK rows
    int n_threads,
):
    """Sums over rows of weight (X unit - center)^power."""
    cdef Py_ssize_t b, rows = TILE * BLOCK_TILES
    for b in prange(partial.shape[0], nogil=True, schedule='dynamic', num_threads=n_threads):
        _block_moments(X, unit, center, weight, power, b * rows, min((b + 1) * rows, X.shape[0]), &partial[b, 0])


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


def pack_rows(
    const source[:, ::1] X,            # IN   (n_samples, n_features)
    const Py_ssize_t[::1] order,       # IN   (n_samples,) which row of X goes where, or (0,) for each in its place
    const double[::1] center,          # IN   (n_features,)
    const double[::1] inverse_scale,   # IN   (n_features,) 0 for constant columns
    real[:, :, ::1] tiles,             # OUT  (n_tiles, n_features, TILE), padded with 0
    double[::1] lengths,               # OUT  (n_tiles,) largest squared length among the packed rows of a tile
    int n_threads,
):
    """Standardise rows and lay them out feature-major in tiles."""
    cdef Py_ssize_t t
    for t in prange(tiles.shape[0], nogil=True, schedule='dynamic', num_threads=n_threads):
        lengths[t] = _pack_tile(X, order, center, inverse_scale, tiles, t)


cdef void _score_tile(
    const real[:, ::1] X, const double[::1] center, const real[:, ::1] omegas, const real[::1] shifts,
    const real[:, ::1] amplitudes, const double[::1] intercept, double[:, ::1] out, Py_ssize_t row, Py_ssize_t n_rows,
    real *tile,
) noexcept nogil:
    cdef real h[TERM_BLOCK * TILE]
    cdef real total[TILE]
    cdef Py_ssize_t i, j, k, o, block, term, n_terms = omegas.shape[0], n_features = X.shape[1], n_block
    cdef Py_ssize_t width = (n_rows + LANES - 1) // LANES * LANES
    for j in range(n_features):
        for i in range(n_rows):
            tile[j * width + i] = <real>(X[row + i, j] - center[j])
        for i in range(n_rows, width):
            tile[j * width + i] = 0
    for i in range(n_rows):
        for o in range(amplitudes.shape[0]):
            out[row + i, o] = intercept[o]
    for block in range(amplitudes.shape[1] // TERM_BLOCK):
        term = block * TERM_BLOCK
        n_block = min(<Py_ssize_t>TERM_BLOCK, n_terms - term)
        for k in range(n_block // TERMS):
            project_terms(tile, n_features, width, &omegas[term + k * TERMS, 0], &shifts[term + k * TERMS],
                          h + k * TERMS * width)
        cospi(h, n_block * width)
        for o in range(amplitudes.shape[0]):
            for i in range(width):
                total[i] = 0
            for k in range(n_block):
                if amplitudes[o, term + k] != 0:   # one-vs-rest: a term serves one output
                    add_scaled(h + k * width, width, amplitudes[o, term + k], total)
            for i in range(n_rows):
                out[row + i, o] += total[i]


def score_rows(
    const real[:, ::1] X,            # IN   (n_samples, n_features)
    const double[::1] center,        # IN   (n_features,)
    const real[:, ::1] omegas,       # IN   (n_terms, n_features) half turns; n_terms a multiple of TERMS
    const real[::1] shifts,          # IN   (n_terms,) half turns
    const real[:, ::1] amplitudes,   # IN   (n_outputs, n_terms padded with 0 to a multiple of TERM_BLOCK)
    const double[::1] intercept,     # IN   (n_outputs,)
    double[:, ::1] out,              # OUT  (n_samples, n_outputs)
    real[:, ::1] scratch,            # TEMP (n_threads, n_features * TILE)
    int n_threads,
):
    """out = intercept + amplitudes . cos(omegas . (x - center) - shifts).

    A row's bits do not depend on the rows beside it, and are those of `score_few`.
    """
    # A tile is read again for every few terms: wide rows come in fewer per tile, so that it stays in the first cache.
    cdef Py_ssize_t n_cached = SCORE_BYTES // (X.shape[1] * <Py_ssize_t>sizeof(real)) // LANES * LANES
    cdef Py_ssize_t t, n_rows = min(<Py_ssize_t>TILE, max(<Py_ssize_t>LANES, n_cached))
    for t in prange((X.shape[0] + n_rows - 1) // n_rows, nogil=True, schedule='dynamic', num_threads=n_threads):
        _score_tile(X, center, omegas, shifts, amplitudes, intercept, out, t * n_rows,
                    min(n_rows, X.shape[0] - t * n_rows), &scratch[threadid(), 0])


def score_few(
    const real[:, ::1] X,            # IN   (n_samples, n_features)
    const double[::1] center,        # IN   (n_features,)
    const real[:, :, ::1] terms,     # IN   (n_tiles, 1 + n_features, TILE) shifts, then omegas, of TILE terms
    const real[:, ::1] amplitudes,   # IN   (n_outputs, n_terms padded with 0 to a multiple of TERM_BLOCK)
    const double[::1] intercept,     # IN   (n_outputs,)
    double[:, ::1] out,              # OUT  (n_samples, n_outputs)
    real[::1] row,                   # TEMP (1 + n_features,)
):
    """`score_rows` for few rows: vectors run over the terms, and a row is one term of the product."""
    cdef real u[TILE]
    cdef Py_ssize_t block, i, j, o, term
    with nogil:
        row[0] = -1
        for i in range(X.shape[0]):
            for j in range(X.shape[1]):
                row[1 + j] = <real>(X[i, j] - center[j])
            for o in range(amplitudes.shape[0]):
                out[i, o] = intercept[o]
            for block in range(amplitudes.shape[1] // TERM_BLOCK):
                term = block * TERM_BLOCK
                if term % TILE == 0:
                    project(&terms[term // TILE, 0, 0], terms.shape[1], &row[0], 0, u)
                    cospi(u, TILE)
                for o in range(amplitudes.shape[0]):
                    out[i, o] += dot_terms(u + term % TILE, &amplitudes[o, term])
