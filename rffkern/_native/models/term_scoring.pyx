"""Scores of symmetric tables of thresholds, of many rows or few."""

from cython.parallel cimport prange, threadid
from libc.stdint cimport int8_t, int32_t, uint8_t

from .boost.cells cimport (
    VC_CHUNK, VC_CODES, VC_SCORED, are_tables, code_double, code_single, score_row, score_tile, vc_tables,
)
from .core.checks cimport agree
from .core.signals cimport at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport TILE, real

use_team(team)

cdef enum:
    STRIP_ROWS = 4096       # at most, that are coded together
    STRIP_BYTES = 131072
    BLOCK_BYTES = 131072    # of tables that all rows of a strip meet before others do
    QUESTION = 6            # bytes
    SEARCH = 8              # multiply-adds that a code counts for

CHUNK = VC_CHUNK
MAX_EDGES = VC_CODES - 1
MAX_SCORED_DEPTH = VC_SCORED

cdef double LARGEST_PART = 1e290   # of what a column adds to a line: no sum of them overflows
LARGEST_SLOPE_PART = LARGEST_PART


cdef inline Py_ssize_t _strip_rows(Py_ssize_t n_coded) noexcept nogil:
    """Rows that are coded together: a multiple of TILE."""
    return max(<Py_ssize_t>TILE, min(<Py_ssize_t>STRIP_ROWS, STRIP_BYTES // n_coded // TILE * TILE))


cdef class Tables:
    """Tables as they are scored, checked: the arrays must not change any more.

    A coded column is a column of a row with up to MAX_EDGES edges; its code is the number of edges below the number,
    less 128.  A column with more edges is several coded columns.  cells.h says how codes lead to cells.
    """

    cdef:
        tuple arrays   # which the pointers are of
        const int32_t *coded
        const Py_ssize_t *edge_starts
        const float *singles
        const double *doubles
        vc_tables raw
        Py_ssize_t n_tables, n_coded, n_features

    def __cinit__(
        self,
        const int32_t[::1] coded,          # IN (n_coded,) columns of rows
        const Py_ssize_t[::1] edge_starts,  # IN (n_coded + 1,) the first edge of each coded column among those of all
        const float[::1] singles,          # IN (n_edges,) of a coded column 2^k - 1, ascending, for rows of float32
        const double[::1] doubles,         # IN (n_edges,) for other rows
        const int32_t[:, ::1] columns,     # IN (depth, n_tables padded to a multiple of CHUNK) coded columns
        const int8_t[:, ::1] cuts,         # IN the same
        const uint8_t[:, ::1] steps,       # IN the same
        const uint8_t[::1] firsts,         # IN (n_tables padded,)
        const int32_t[::1] units,          # IN (n_tables padded,) from 0 to 2^16 - 1
        const Py_ssize_t[::1] starts,      # IN (n_tables + 1,)
        const float[:, ::1] values,        # IN (n_cells, n_outputs)
    ):
        cdef Py_ssize_t j, size, stride = columns.shape[1], depth = columns.shape[0]
        self.arrays = (coded.base, edge_starts.base, singles.base, doubles.base, columns.base, cuts.base, steps.base,
                       firsts.base, units.base, starts.base, values.base)
        agree(coded.shape[0] >= 1 and edge_starts.shape[0] == coded.shape[0] + 1,
              "edge_starts must have shape (n_coded + 1,)")
        agree(edge_starts[0] == 0 and 1 <= edge_starts[coded.shape[0]] == singles.shape[0],
              "singles must have shape (n_edges,)")
        agree(doubles.shape[0] == singles.shape[0], "doubles must have shape (n_edges,)")
        for j in range(coded.shape[0]):
            size = edge_starts[j + 1] - edge_starts[j]
            agree(0 <= size < VC_CODES and size & (size + 1) == 0, "a coded column must have 2^k - 1 edges, k below 9")
            agree(coded[j] >= 0, "coded must be columns")
            self.n_features = max(self.n_features, coded[j] + 1)
        self.n_tables = starts.shape[0] - 1
        agree(self.n_tables >= 1 and stride == (self.n_tables + VC_CHUNK - 1) // VC_CHUNK * VC_CHUNK
              and 1 <= depth <= VC_SCORED, "columns must have shape (depth, n_tables padded)")
        agree(cuts.shape[0] == depth and cuts.shape[1] == stride, "cuts must have the shape of columns")
        agree(steps.shape[0] == depth and steps.shape[1] == stride, "steps must have the shape of columns")
        agree(firsts.shape[0] == stride, "firsts must have shape (n_tables padded,)")
        agree(units.shape[0] == stride, "units must have shape (n_tables padded,)")
        agree(values.shape[0] >= 1 and values.shape[1] >= 1, "values must have shape (n_cells, n_outputs)")
        for j in range(stride):
            agree(0 <= units[j] < 65536, "units must be from 0 to 2^16 - 1")
        self.coded, self.edge_starts = &coded[0], &edge_starts[0]
        self.singles, self.doubles = &singles[0], &doubles[0]
        self.raw.columns, self.raw.cuts, self.raw.steps = &columns[0, 0], &cuts[0, 0], &steps[0, 0]
        self.raw.firsts, self.raw.units, self.raw.starts = &firsts[0], &units[0], &starts[0]
        self.raw.values, self.raw.stride, self.raw.depth = &values[0, 0], stride, depth
        self.raw.n_outputs, self.raw.n_columns = values.shape[1], coded.shape[0]
        agree(are_tables(&self.raw, self.n_tables, values.shape[0]),
              "columns, steps and starts must agree")
        self.n_coded = coded.shape[0]

    cpdef Py_ssize_t scratch_size(self, Py_ssize_t n_samples):
        """Numbers in the TEMP array `scratch` of a thread."""
        return self.n_coded * min(_strip_rows(self.n_coded), (max(<Py_ssize_t>1, n_samples) + TILE - 1) // TILE * TILE)


cdef struct Source:
    const float *singles    # one of both
    const double *doubles
    Py_ssize_t n_features, width   # of a tile, or 1 for rows one by one


cdef void _code_rows(Source *X, Tables tables, Py_ssize_t row, Py_ssize_t n_rows, Py_ssize_t width,
                     int8_t *codes) noexcept nogil:
    """codes[j * width + i] = the code of column coded[j] of row + i, i < n_rows."""
    cdef Py_ssize_t i, j, k, at, start, size, some, n_together = n_rows if X.width == 1 else X.width
    cdef Py_ssize_t step = X.n_features if X.width == 1 else 1
    for j in range(tables.n_coded):
        start = tables.edge_starts[j]
        size = tables.edge_starts[j + 1] - start
        for k in range((n_rows + n_together - 1) // n_together):
            i = k * n_together
            at = ((row + i) // X.width * X.n_features + tables.coded[j]) * X.width
            some = min(n_together, n_rows - i)
            if X.singles != NULL:
                code_single(X.singles + at, step, some, tables.singles + start, size, codes + j * width + i)
            else:
                code_double(X.doubles + at, step, some, tables.doubles + start, size, codes + j * width + i)
        for i in range(n_rows, width):
            codes[j * width + i] = -128


cdef void _score_strip(
    Source *X, Tables tables, double[:, ::1] out, Py_ssize_t row, Py_ssize_t n_rows, Py_ssize_t start, Py_ssize_t stop,
    Py_ssize_t block, int8_t *codes,
) noexcept nogil:
    """Add what the tables from `start` to `stop` make of some rows, so many tables at once."""
    cdef Py_ssize_t k, t, i, first
    for t in range((n_rows + TILE - 1) // TILE):
        i = t * TILE
        _code_rows(X, tables, row + i, min(<Py_ssize_t>TILE, n_rows - i), TILE, codes + i * tables.n_coded)
    for k in range((stop - start + block - 1) // block):
        first = start + k * block
        for t in range((n_rows + TILE - 1) // TILE):
            i = t * TILE
            score_tile(&tables.raw, first, min(stop, first + block), codes + i * tables.n_coded,
                       min(<Py_ssize_t>TILE, n_rows - i), &out[row + i, 0])


cdef int _score_rows(Source *X, Tables tables, double[:, ::1] out, int8_t[:, ::1] scratch, int n_threads) except -1:
    cdef Py_ssize_t n_samples = out.shape[0], n_outputs = out.shape[1], depth = tables.raw.depth
    cdef Py_ssize_t n_tables = tables.n_tables, n_coded = tables.n_coded, work = 0, b, first, last, start = 0, stop
    cdef Py_ssize_t rows = _strip_rows(n_coded), n_strips = (n_samples + rows - 1) // rows
    cdef Py_ssize_t n_bytes = depth * QUESTION + tables.raw.starts[n_tables] * n_outputs * sizeof(float) // n_tables
    cdef Py_ssize_t block = max(<Py_ssize_t>1, BLOCK_BYTES // n_bytes // VC_CHUNK) * VC_CHUNK
    cdef Py_ssize_t each = min(rows, n_samples) * (depth + n_outputs), some = VC_CHUNK * at_once(VC_CHUNK * each)
    cdef Py_ssize_t coding = min(rows, n_samples) * n_coded * SEARCH, strips
    with nogil:
        while start < n_tables:
            stop = min(n_tables, start + some)
            strips = n_threads * at_once(each * (stop - start) + coding)
            first = 0
            while first < n_strips:
                last = min(n_strips, first + strips)
                if n_samples == 1:
                    _code_rows(X, tables, 0, 1, 1, &scratch[0, 0])
                    score_row(&tables.raw, start, stop, &scratch[0, 0], &out[0, 0])
                else:
                    for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                        _score_strip(X, tables, out, b * rows, min(rows, n_samples - b * rows), start, stop, block,
                                     &scratch[threadid(), 0])
                look_at_signals(&work, (last - first) * (each * (stop - start) + coding))
                first = last
            start = stop
    return 0


def score_tables(
    X,                         # IN     real (n_samples, n_features, 1), or (n_tiles, n_features, tile_width)
    Tables tables not None,
    double[:, ::1] out,        # IN OUT (n_samples, n_outputs)
    int8_t[:, ::1] scratch,    # TEMP   (n_threads, tables.scratch_size(n_samples))
    int n_threads,
):
    """out += sum over tables of the values of the cells of rows.

    A row's bits do not depend on the rows beside it, nor on its precision.
    """
    cdef const float[:, :, ::1] singles
    cdef const double[:, :, ::1] doubles
    cdef Py_ssize_t n_tiles
    cdef Source rows
    rows.singles, rows.doubles = NULL, NULL
    if X.itemsize == sizeof(float):
        singles = X
        n_tiles, rows.n_features, rows.width = singles.shape[0], singles.shape[1], singles.shape[2]
    else:
        doubles = X
        n_tiles, rows.n_features, rows.width = doubles.shape[0], doubles.shape[1], doubles.shape[2]
    agree(rows.n_features >= tables.n_features, "X must have the columns that tables read")
    agree(rows.width == 1 or (0 < rows.width <= TILE and TILE % rows.width == 0),
          "X must have tiles of a width that divides 128")
    agree(n_tiles == (out.shape[0] + rows.width - 1) // rows.width,
          "X must have shape (n_samples, n_features, 1) or (n_tiles, n_features, width)")
    agree(out.shape[1] == tables.raw.n_outputs, "out must have shape (n_samples, n_outputs)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    agree(scratch.shape[0] >= n_threads and scratch.shape[1] >= tables.scratch_size(out.shape[0]),
          "scratch must have shape (n_threads, scratch_size)")
    if n_tiles == 0:
        return
    if X.itemsize == sizeof(float):
        rows.singles = &singles[0, 0, 0]
    else:
        rows.doubles = &doubles[0, 0, 0]
    _score_rows(&rows, tables, out, scratch, n_threads)


cdef inline double _line_part(double x, double slope) noexcept nogil:
    """x slope, but finite, also for rows that are far out."""
    return min(max(x * slope, -LARGEST_PART), LARGEST_PART) if slope != 0 else 0.0


cdef _score_lines(
    const real[:, :, ::1] X, const double[::1] center, const double[:, ::1] slopes, double[:, ::1] out,
):
    cdef Py_ssize_t n_samples = out.shape[0], n_outputs = out.shape[1], n_features = X.shape[1], width = X.shape[2]
    cdef Py_ssize_t work = 0, row, i, j, k, t
    cdef double x
    agree(width >= 1 and n_features >= 1, "X must have columns")
    agree(X.shape[0] == (n_samples + width - 1) // width,
          "X must have shape (n_samples, n_features, 1) or (n_tiles, n_features, width)")
    agree(center.shape[0] == n_features, "center must have shape (n_features,)")
    agree(slopes.shape[0] == n_features and slopes.shape[1] == n_outputs,
          "slopes must have shape (n_features, n_outputs)")
    with nogil:
        for t in range(X.shape[0]):
            for j in range(n_features):
                for i in range(min(width, n_samples - t * width)):
                    row = t * width + i
                    x = <double>X[t, j, i] - center[j]
                    for k in range(n_outputs):
                        out[row, k] += _line_part(x, slopes[j, k])
            look_at_signals(&work, width * n_features * (1 + n_outputs))


def score_lines(
    X,        # IN   real (n_samples, n_features, 1), or (n_tiles, n_features, tile_width)
    center,   # IN   double (n_features,)
    slopes,   # IN   double (n_features, n_outputs)
    out,      # IN OUT double (n_samples, n_outputs)
):
    """out += (x - center) slopes, column after column in double, so that a row's bits depend on no other row.

    A product is at most LARGEST_PART in magnitude, so that their sum is finite.
    """
    if X.itemsize == sizeof(float):
        return _score_lines[float](X, center, slopes, out)
    return _score_lines[double](X, center, slopes, out)


cdef enum:
    NUMBERS_AT_ONCE = 65536   # of rows, that a thread looks through


cdef uint8_t _leaves(const real *x, const double[::1] lower, const double[::1] upper, Py_ssize_t n_tiles,
                     Py_ssize_t width) noexcept nogil:
    """Whether any number of some tiles lies outside the bounds of its column."""
    cdef Py_ssize_t n_features = lower.shape[0], i, j
    cdef uint8_t found = 0
    cdef real low, high
    for _ in range(n_tiles):
        for j in range(n_features):
            low, high = <real>lower[j], <real>upper[j]
            for i in range(width):
                found |= (x[i] < low) | (x[i] > high)
            x += width
    return found


cdef bint _is_within(
    const real[:, :, ::1] X, const double[::1] lower, const double[::1] upper, int n_threads,
) except -1:
    cdef Py_ssize_t n_tiles = X.shape[0], n_features = X.shape[1], width = X.shape[2], b
    agree(n_features >= 1 and width >= 1, "X must have columns")
    agree(n_threads >= 1, "n_threads must be at least 1")
    agree(lower.shape[0] == n_features, "lower must have shape (n_features,)")
    agree(upper.shape[0] == n_features, "upper must have shape (n_features,)")
    cdef Py_ssize_t some = max(<Py_ssize_t>1, NUMBERS_AT_ONCE // (n_features * width))
    cdef Py_ssize_t n_strips = (n_tiles + some - 1) // some
    cdef uint8_t[::1] leaves = bytearray(n_strips)
    with nogil:
        for b in prange(n_strips, schedule='dynamic', num_threads=n_threads):
            leaves[b] = _leaves(&X[b * some, 0, 0], lower, upper, min(some, n_tiles - b * some), width)
    return not any(leaves)


def is_within(
    X,          # IN real (n_samples, n_features, 1), or (n_tiles, n_features, tile_width)
    lower,      # IN double (n_features,)
    upper,      # IN double (n_features,)
    int n_threads,
):
    """Whether all rows lie within the bounds of their columns, rounded to the precision of the rows."""
    if X.itemsize == sizeof(float):
        return _is_within[float](X, lower, upper, n_threads)
    return _is_within[double](X, lower, upper, n_threads)
