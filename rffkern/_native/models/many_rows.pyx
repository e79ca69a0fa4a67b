"""Sums of cosines of many rows, by terms that training still changes."""

from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t

from .core.checks cimport agree, holds
from .core.signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport (
    LANES, TERM_BLOCK, TERMS, TILE, add_scaled, cospi, project_terms, project_used, real
)

use_team(team)

cdef enum:
    SCORE_BYTES = 20480   # of a tile


cdef inline Py_ssize_t _rows_at_once(Py_ssize_t n_features, Py_ssize_t n_bytes) noexcept nogil:
    """Rows of a tile: it is read again for every few terms, so that wide rows come in fewer, to stay in the cache."""
    return min(<Py_ssize_t>TILE, max(<Py_ssize_t>LANES, SCORE_BYTES // (n_features * n_bytes) // LANES * LANES))


def tile_width(Py_ssize_t n_features, Py_ssize_t n_bytes):
    """Width of tiles in which rows of so many columns, of so many bytes each number, are scored as they lie."""
    agree(n_features >= 1 and n_bytes >= 1, "n_features and n_bytes must be at least 1")
    cdef Py_ssize_t width = TILE
    while width > _rows_at_once(n_features, n_bytes):
        width //= 2
    return width


cdef bint _is_laid_out(const real[:, :, ::1] X, Py_ssize_t n_samples) noexcept nogil:
    """Whether X holds so many rows, one by one or in tiles."""
    cdef Py_ssize_t width = X.shape[2]
    return ((width == 1 or (width % LANES == 0 and 0 < width <= TILE))
            and X.shape[0] == (n_samples + width - 1) // width)


cdef void _score_tile(
    const real[:, :, ::1] X, const double[::1] center, const real[:, ::1] omegas, const int32_t[::1] uses,
    const real[::1] numbers, const real[::1] shifts, const real[:, ::1] amplitudes, const double[::1] intercept,
    double[:, ::1] out, Py_ssize_t row, Py_ssize_t n_rows,
    Py_ssize_t start, Py_ssize_t stop, real *tile,
) noexcept nogil:
    """Add what the blocks of terms from `start` to `stop` make of some rows."""
    cdef real h[TERM_BLOCK * TILE]
    cdef real total[TILE]
    cdef const real *column
    cdef Py_ssize_t i, j, k, o, block, term, n_terms = omegas.shape[0], n_features = X.shape[1], n_block
    cdef Py_ssize_t width = (n_rows + LANES - 1) // LANES * LANES
    for j in range(n_features):
        if X.shape[2] == 1:
            for i in range(n_rows):
                tile[j * width + i] = <real>(X[row + i, j, 0] - center[j])
        else:
            column = &X[row // X.shape[2], j, 0]
            for i in range(n_rows):
                tile[j * width + i] = <real>(column[i] - center[j])
        for i in range(n_rows, width):
            tile[j * width + i] = 0
    for i in range(n_rows if start == 0 else 0):
        for o in range(amplitudes.shape[0]):
            out[row + i, o] = intercept[o]
    for block in range(start, stop):
        term = block * TERM_BLOCK
        n_block = min(<Py_ssize_t>TERM_BLOCK, n_terms - term)
        for k in range(n_block // TERMS):
            i = term + k * TERMS
            if uses.shape[0]:
                project_used(tile, width, &uses[i], &uses[n_terms + 1], &numbers[0], &shifts[i], h + k * TERMS * width)
            else:
                project_terms(tile, n_features, width, &omegas[i, 0], &shifts[i], h + k * TERMS * width)
        cospi(h, n_block * width)
        for o in range(amplitudes.shape[0]):
            for i in range(width):
                total[i] = 0
            for k in range(n_block):
                if amplitudes[o, term + k] != 0:   # one-vs-rest: a term serves one output
                    add_scaled(h + k * width, width, amplitudes[o, term + k], total)
            for i in range(n_rows):
                out[row + i, o] += total[i]


cdef bint _are_uses(const int32_t[::1] uses, Py_ssize_t n_terms, Py_ssize_t n_features, Py_ssize_t size) noexcept nogil:
    """Whether these are the ends of terms among so many numbers, and the columns of the numbers."""
    cdef Py_ssize_t i
    cdef bint good = size >= 1 and uses.shape[0] == n_terms + 1 + size and uses[0] == 0 and uses[n_terms] == size
    for i in range(n_terms if good else 0):
        good &= uses[i] <= uses[i + 1]
    for i in range(size if good else 0):   # without a way out, so that it is done in vectors
        good &= <size_t>uses[n_terms + 1 + i] < <size_t>n_features
    return good


cdef _score_rows(
    const real[:, :, ::1] X, const double[::1] center, const real[:, ::1] omegas, const int32_t[::1] uses,
    const real[::1] numbers, const real[::1] shifts, const real[:, ::1] amplitudes, const double[::1] intercept,
    double[:, ::1] out, real[:, ::1] scratch, int n_threads,
):
    agree(X.shape[1] >= 1, "X must have columns")
    agree(center.shape[0] == X.shape[1], "center must have shape (n_features,)")
    agree(omegas.shape[0] % TERMS == 0 and omegas.shape[1] == X.shape[1],
          "omegas must have shape (n_terms padded to a multiple of TERM_MULTIPLES[0], n_features)")
    agree((uses.shape[0] == 0 and numbers.shape[0] == 0)
          or _are_uses(uses, omegas.shape[0], X.shape[1], numbers.shape[0]),
          "uses must be empty, or the ends of terms among numbers and the columns of these")
    agree(shifts.shape[0] == omegas.shape[0], "shifts must have an entry per row of omegas")
    agree(amplitudes.shape[1] == (omegas.shape[0] + TERM_BLOCK - 1) // TERM_BLOCK * TERM_BLOCK,
          "amplitudes must have shape (n_outputs, n_terms padded to a multiple of TERM_MULTIPLES[1])")
    agree(intercept.shape[0] == amplitudes.shape[0], "intercept must have shape (n_outputs,)")
    agree(out.shape[1] == amplitudes.shape[0], "out must have shape (n_samples, n_outputs)")
    agree(_is_laid_out(X, out.shape[0]), "X must have shape (n_samples, n_features, 1) or (n_tiles, n_features, width)")
    agree(holds(scratch, n_threads, X.shape[1] * TILE), "scratch must have shape (n_threads, n_features * 128)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t t, n_rows = X.shape[2] if X.shape[2] > 1 else _rows_at_once(X.shape[1], sizeof(real))
    cdef Py_ssize_t n_tiles = (out.shape[0] + n_rows - 1) // n_rows, n_blocks = amplitudes.shape[1] // TERM_BLOCK
    cdef Py_ssize_t each = n_rows * TERM_BLOCK * (X.shape[1] + COSINE + amplitudes.shape[0])   # of a block
    cdef Py_ssize_t first, last, stop, start = 0, work = 0, some = n_threads * at_once(each * n_blocks)
    with nogil:
        while start == 0 or start < n_blocks:
            stop = min(n_blocks, start + at_once(each))
            first = 0
            while first < n_tiles:
                last = min(n_tiles, first + some)
                for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    _score_tile(X, center, omegas, uses, numbers, shifts, amplitudes, intercept, out, t * n_rows,
                                min(n_rows, out.shape[0] - t * n_rows), start, stop, &scratch[threadid(), 0])
                look_at_signals(&work, (last - first) * each * (stop - start))
                first = last
            start += at_once(each)


def score_rows(
    X,               # IN   real (n_samples, n_features, 1), or (n_tiles, n_features, tile_width)
    center,          # IN   double (n_features,)
    omegas,          # IN   real (n_terms, n_features) half turns; n_terms a multiple of TERMS
    uses,            # IN   int32 (n_terms + 1 + n_numbers,) where numbers of terms begin and end, and their columns
    numbers,         # IN   real (n_numbers,) all of omegas but zeros; both empty where few are zero
    shifts,          # IN   real (n_terms,) half turns
    amplitudes,      # IN   real (n_outputs, n_terms padded with 0 to a multiple of TERM_BLOCK)
    intercept,       # IN   double (n_outputs,)
    out,             # OUT  double (n_samples, n_outputs)
    scratch,         # TEMP real (n_threads, n_features * TILE)
    int n_threads,
):
    """out = intercept + amplitudes . cos(omegas . (x - center) - shifts).

    A row's bits do not depend on the rows beside it, and are those of the scorer in C.
    """
    if X.itemsize == sizeof(float):
        return _score_rows[float](X, center, omegas, uses, numbers, shifts, amplitudes, intercept, out, scratch,
                                  n_threads)
    return _score_rows[double](X, center, omegas, uses, numbers, shifts, amplitudes, intercept, out, scratch, n_threads)
