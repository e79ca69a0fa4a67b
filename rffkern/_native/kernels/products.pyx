"""Products of a kernel matrix of many rows with vectors, and kernels of all rows with some centers.

Rows and centers are in units in which the kernel is 2^-|x - c|^2, of shape GAUSSIAN, or 2^-|x - c|, of shape
EXPONENTIAL.  Differences of rows are squared, so that the matrix is symmetric to the last bit.
"""

from cython.parallel cimport prange

from .core.checks cimport agree
from .core.signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport EXPONENTIAL, GAUSSIAN, TERM_BLOCK, TERMS, TILE, decay_by, distances, project_terms, real

use_team(team)

PRODUCT_MULTIPLE = TERM_BLOCK

cdef enum:
    BLOCK = 32   # centers of which products are added up in the precision of the kernels, and these sums in double


cdef int _check(const real[:, :, ::1] tiles, const real[:, ::1] centers, int shape, int n_threads) except -1:
    agree(tiles.shape[1] >= 1 and tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(centers.shape[0] >= 1 and centers.shape[0] % TERM_BLOCK == 0 and centers.shape[1] == tiles.shape[1],
          "centers must have shape (n_centers padded to a multiple of PRODUCT_MULTIPLE, n_features)")
    agree(shape == GAUSSIAN or shape == EXPONENTIAL, "shape must be that of a kernel")
    return agree(n_threads >= 1, "n_threads must be at least 1")


cdef inline void _evaluate(const real *tile, const real[:, ::1] centers, Py_ssize_t first, int shape,
                           real *u) noexcept nogil:
    """u[k * TILE + i] = kernel of row i of a tile and center first + k, for TERM_BLOCK centers."""
    cdef Py_ssize_t k
    for k in range(TERM_BLOCK // TERMS):
        distances(tile, centers.shape[1], TILE, &centers[first + k * TERMS, 0], u + k * TERMS * TILE)
    decay_by(shape, u, TERM_BLOCK * TILE)


cdef void _multiply_tile(
    const real[:, :, ::1] tiles, const real[:, ::1] centers, const double[:, ::1] weights, real[:, :, ::1] kept,
    bint is_filled, double[:, :, ::1] products, int shape, Py_ssize_t t, Py_ssize_t start, Py_ssize_t stop,
) noexcept nogil:
    """Add what the centers from `start` to `stop` make of the rows of a tile."""
    cdef real fresh[BLOCK * TILE]
    cdef real steps[TERMS * BLOCK]
    cdef real sums[TERMS * TILE]
    cdef real zeros[TERMS]
    cdef real *u
    cdef Py_ssize_t i, k, o, first = start, depth, n_outputs = weights.shape[0]
    for k in range(TERMS):
        zeros[k] = 0
    for o in range(n_outputs if start == 0 else 0):
        for i in range(TILE):
            products[o, t, i] = 0
    while first < stop:
        depth = min(<Py_ssize_t>BLOCK, stop - first)
        u = &kept[t, first, 0] if t < kept.shape[0] else fresh
        if not (is_filled and t < kept.shape[0]):
            for k in range(depth // TERM_BLOCK):
                _evaluate(&tiles[t, 0, 0], centers, first + k * TERM_BLOCK, shape, u + k * TERM_BLOCK * TILE)
        o = 0
        while o < n_outputs:   # TERMS outputs at a time, for which the kernels are read once
            for k in range(TERMS):
                for i in range(depth):
                    steps[k * depth + i] = <real>weights[o + k, first + i] if o + k < n_outputs else 0
            project_terms(u, depth, TILE, steps, zeros, sums)
            for k in range(min(<Py_ssize_t>TERMS, n_outputs - o)):
                for i in range(TILE):
                    products[o + k, t, i] += sums[k * TILE + i]
            o += TERMS
        first += BLOCK


cdef _multiply_kernels(
    const real[:, :, ::1] tiles, const real[:, ::1] centers, const double[:, ::1] weights, real[:, :, ::1] kept,
    bint is_filled, double[:, :, ::1] products, int shape, int n_threads,
):
    _check(tiles, centers, shape, n_threads)
    cdef Py_ssize_t n_centers = centers.shape[0], n_tiles = tiles.shape[0], n_outputs = weights.shape[0]
    agree(weights.shape[1] == n_centers, "weights must have shape (n_outputs, n_centers)")
    agree(kept.shape[0] <= n_tiles and (kept.shape[0] == 0 or (kept.shape[1] == n_centers and kept.shape[2] == TILE)),
          "kept must have shape (n_tiles or fewer, n_centers, 128)")
    agree(products.shape[0] == n_outputs and products.shape[1] == n_tiles and products.shape[2] == TILE,
          "products must have shape (n_outputs, n_tiles, 128)")
    cdef Py_ssize_t each = TILE * BLOCK * (tiles.shape[1] + COSINE + n_outputs)
    cdef Py_ssize_t some = n_threads * at_once(each * ((n_centers + BLOCK - 1) // BLOCK))
    cdef Py_ssize_t t, first = 0, last, start, stop, work = 0
    with nogil:
        while first < n_tiles:
            last = min(n_tiles, first + some)
            start = 0
            while start < n_centers:
                stop = min(n_centers, start + BLOCK * at_once(each))
                for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    _multiply_tile(tiles, centers, weights, kept, is_filled, products, shape, t, start, stop)
                look_at_signals(&work, (last - first) * each * ((stop - start + BLOCK - 1) // BLOCK))
                start = stop
            first = last


def multiply_kernels(
    tiles,             # IN   real (n_tiles, n_features, TILE)
    centers,           # IN   real (n_centers, n_features)
    weights,           # IN   double (n_outputs, n_centers)
    kept,              # IN   real (n_kept, n_centers, TILE) kernels of the first tiles; OUT unless is_filled
    bint is_filled,    # whether `kept` holds them already
    products,          # OUT  double (n_outputs, n_tiles, TILE)
    int shape,         # GAUSSIAN or EXPONENTIAL
    int n_threads,
):
    """products = sum over centers of weights k(row, center); kernels of tiles that are not kept are computed anew.

    Weights are rounded to the precision of the kernels, in which their magnitudes must lie.
    """
    if tiles.itemsize == sizeof(float):
        return _multiply_kernels[float](tiles, centers, weights, kept, is_filled, products, shape, n_threads)
    return _multiply_kernels[double](tiles, centers, weights, kept, is_filled, products, shape, n_threads)


cdef void _columns_of(const real[:, :, ::1] tiles, const real[:, ::1] centers, real[:, :, ::1] columns, int shape,
                      Py_ssize_t first, Py_ssize_t t) noexcept nogil:
    cdef real u[TERM_BLOCK * TILE]
    cdef Py_ssize_t i, k
    _evaluate(&tiles[t, 0, 0], centers, first, shape, u)
    for k in range(min(<Py_ssize_t>TERM_BLOCK, columns.shape[0] - first)):
        for i in range(TILE):
            columns[first + k, t, i] = u[k * TILE + i]


cdef _kernel_columns(const real[:, :, ::1] tiles, const real[:, ::1] centers, real[:, :, ::1] columns, int shape,
                     int n_threads):
    _check(tiles, centers, shape, n_threads)
    cdef Py_ssize_t n_tiles = tiles.shape[0], n_groups = centers.shape[0] // TERM_BLOCK
    agree((columns.shape[0] + TERM_BLOCK - 1) // TERM_BLOCK == n_groups and columns.shape[1] == n_tiles
          and columns.shape[2] == TILE, "columns must have shape (n_centers before padding, n_tiles, 128)")
    cdef Py_ssize_t each = TILE * TERM_BLOCK * (tiles.shape[1] + COSINE), first = 0, last, k, work = 0
    with nogil:
        while first < n_groups * n_tiles:
            last = min(n_groups * n_tiles, first + n_threads * at_once(each))
            for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _columns_of(tiles, centers, columns, shape, k // n_tiles * TERM_BLOCK, k % n_tiles)
            look_at_signals(&work, (last - first) * each)
            first = last


def kernel_columns(
    tiles,             # IN   real (n_tiles, n_features, TILE)
    centers,           # IN   real (n_centers padded, n_features)
    columns,           # OUT  real (n_centers, n_tiles, TILE)
    int shape,         # GAUSSIAN or EXPONENTIAL
    int n_threads,
):
    """columns[c] = kernels of all rows with center c."""
    if tiles.itemsize == sizeof(float):
        return _kernel_columns[float](tiles, centers, columns, shape, n_threads)
    return _kernel_columns[double](tiles, centers, columns, shape, n_threads)
