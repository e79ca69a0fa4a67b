"""Scores of symmetric tables of thresholds, of many rows or few."""

from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t

from .cells cimport VC_MAX_DEPTH, VC_TABLES, are_columns, score_row, score_tile
from .checks cimport agree, holds
from .signals cimport at_once, look_at_signals
from .tiles cimport LANES, TILE, real

cdef enum:
    STRIP_ROWS = 1024       # at most, that are read together
    STRIP_BYTES = 262144
    BLOCK_BYTES = 262144    # of the values of tables that all rows of a strip meet before others do
    FEW = 3                 # rows from which on they are put in tiles

cdef double LARGEST_PART = 1e290   # of what a column adds to a line: no sum of them overflows
LARGEST_SLOPE_PART = LARGEST_PART


cdef inline Py_ssize_t _strip_rows(Py_ssize_t n_features, Py_ssize_t n_bytes) noexcept nogil:
    """Rows that are read together: a multiple of TILE."""
    return max(<Py_ssize_t>TILE, min(<Py_ssize_t>STRIP_ROWS, STRIP_BYTES // (n_features * n_bytes) // TILE * TILE))


def scratch_size(Py_ssize_t n_features, Py_ssize_t n_outputs, Py_ssize_t n_bytes):
    """Numbers, of so many bytes each, in the TEMP array `scratch` of a thread."""
    agree(n_features >= 1 and n_outputs >= 1 and n_bytes >= 1, "n_features, n_outputs and n_bytes must be at least 1")
    return n_features * _strip_rows(n_features, n_bytes) + n_outputs * TILE


cdef void _lay_rows(const real[:, :, ::1] X, Py_ssize_t row, Py_ssize_t n_rows, real *tile) noexcept nogil:
    """tile[j * TILE + i] = X[row + i, j, 0], and 0 beyond the rows."""
    cdef Py_ssize_t i, j
    cdef const real *x
    for j in range(X.shape[1]):
        x = &X[row, j, 0]
        for i in range(n_rows):
            tile[j * TILE + i] = x[i * X.shape[1]]
        for i in range(n_rows, TILE):
            tile[j * TILE + i] = 0


cdef void _score_strip(
    const real[:, :, ::1] X, const int32_t[:, ::1] columns, const real[:, ::1] thresholds, const real[:, :, ::1] values,
    double[:, ::1] out, Py_ssize_t row, Py_ssize_t n_rows, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t block,
    real *scratch,
) noexcept nogil:
    """Add what the tables from `start` to `stop` make of some rows, so many tables at once."""
    cdef Py_ssize_t t, i, k, first, width = X.shape[2], n_features = X.shape[1]
    cdef Py_ssize_t step = TILE if width == 1 else width, some
    cdef real *sums = scratch
    cdef real *tiles = scratch + out.shape[1] * TILE
    cdef const real *tile
    if width == 1:
        for t in range((n_rows + TILE - 1) // TILE):
            i = t * TILE
            _lay_rows(X, row + i, min(<Py_ssize_t>TILE, n_rows - i), tiles + i * n_features)
    for k in range((stop - start + block - 1) // block):
        first = start + k * block
        some = min(block, stop - first)
        for t in range((n_rows + step - 1) // step):
            i = t * step
            tile = tiles + i * n_features if width == 1 else &X[(row + i) // step, 0, 0]
            score_tile(tile, step, (min(step, n_rows - i) + LANES - 1) // LANES * LANES, &columns[first, 0],
                       &thresholds[first, 0], columns.shape[1], &values[first, 0, 0], out.shape[1], some, sums,
                       min(step, n_rows - i), &out[row + i, 0])


cdef int _score_tables(
    const real[:, :, ::1] X, const int32_t[:, ::1] columns, const real[:, ::1] thresholds, const real[:, :, ::1] values,
    double[:, ::1] out, real[:, ::1] scratch, int n_threads,
) except -1:
    cdef Py_ssize_t n_samples = out.shape[0], n_outputs = out.shape[1], depth = columns.shape[1], width = X.shape[2]
    cdef Py_ssize_t n_tables = columns.shape[0], work = 0, i, b, first, last, start, stop
    agree(X.shape[1] >= 1, "X must have columns")
    agree(width == 1 or (0 < width <= TILE and width % LANES == 0 and TILE % width == 0),
          "X must have tiles of a width that divides 128")
    agree(X.shape[0] == (n_samples + width - 1) // width,
          "X must have shape (n_samples, n_features, 1) or (n_tiles, n_features, width)")
    agree(1 <= depth <= VC_MAX_DEPTH, "columns must have shape (n_tables, depth)")
    agree(thresholds.shape[0] == n_tables and thresholds.shape[1] == depth,
          "thresholds must have shape (n_tables, depth)")
    agree(values.shape[0] == n_tables and values.shape[1] == <Py_ssize_t>1 << depth and values.shape[2] == n_outputs
          and n_outputs >= 1, "values must have shape (n_tables, 2^depth, n_outputs)")
    agree(holds(scratch, n_threads, X.shape[1] * _strip_rows(X.shape[1], sizeof(real)) + n_outputs * TILE),
          "scratch must have shape (n_threads, scratch_size)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    if n_tables == 0 or n_samples == 0:
        return 0
    agree(are_columns(&columns[0, 0], n_tables * depth, X.shape[1]), "columns must be below n_features")
    cdef Py_ssize_t rows = _strip_rows(X.shape[1], sizeof(real)), n_strips = (n_samples + rows - 1) // rows
    cdef Py_ssize_t block = BLOCK_BYTES // (n_outputs * sizeof(real) << depth) // VC_TABLES * VC_TABLES
    block = max(<Py_ssize_t>VC_TABLES, block)
    cdef Py_ssize_t each = rows * (depth + n_outputs), some = block * at_once(block * each), strips
    with nogil:
        start = 0
        if width == 1 and n_samples < FEW:
            for i in range(n_samples):
                start = 0
                while start < n_tables:
                    stop = min(n_tables, start + some)
                    score_row(&X[i, 0, 0], &columns[start, 0], &thresholds[start, 0], depth, &values[start, 0, 0],
                              n_outputs, stop - start, &out[i, 0])
                    look_at_signals(&work, (stop - start) * (depth + n_outputs))
                    start = stop
        while start < n_tables:
            stop = min(n_tables, start + some)
            strips = n_threads * at_once(each * (stop - start))
            first = 0
            while first < n_strips:
                last = min(n_strips, first + strips)
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    _score_strip(X, columns, thresholds, values, out, b * rows, min(rows, n_samples - b * rows),
                                 start, stop, block, &scratch[threadid(), 0])
                look_at_signals(&work, (last - first) * each * (stop - start))
                first = last
            start = stop
    return 0


def score_tables(
    X,                         # IN     real (n_samples, n_features, 1), or (n_tiles, n_features, tile_width)
    columns,                   # IN     int32 (n_tables, depth)
    thresholds,                # IN     real (n_tables, depth)
    values,                    # IN     real (n_tables, 2^depth, n_outputs)
    out,                       # IN OUT double (n_samples, n_outputs)
    scratch,                   # TEMP   real (n_threads, scratch_size)
    int n_threads,
):
    """out += sum over tables of the values of the cells of rows.

    The cell is the sum over levels of (x[columns[t, level]] > thresholds[t, level]) << level.  A row's bits do not
    depend on the rows beside it: values are summed in `real` over each VC_TABLES tables, and these sums in double.
    """
    if scratch.itemsize == sizeof(float):   # a fused function that Python sees takes twice the space
        _score_tables[float](X, columns, thresholds, values, out, scratch, n_threads)
    else:
        _score_tables[double](X, columns, thresholds, values, out, scratch, n_threads)


cdef inline double _part(double x, double slope) noexcept nogil:
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
                        out[row, k] += _part(x, slopes[j, k])
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
