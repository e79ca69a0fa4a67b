"""Forms of columns of raw tables: functions of one value, for whole tables of numbers, seconds or indices of levels.

Missing values are nan.  A mapped value has the same bits at every instruction set, alone and among others.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport fabs

import numpy as np

from .core.checks cimport agree, holds
from .columns.forms cimport VF_BOUNDED, VF_MOST_GUIDED, VF_PART, VF_RANK, VF_RAW, VF_STANDARD, VF_TABLE, VF_WITHIN
from .columns.forms cimport VF_HOUR, VF_WEEKDAY, VF_YEARDAY
from .columns.forms cimport apply_forms, bounded, vf_bits, vf_bucket, vf_knot, vf_reciprocal, vm_form
from .core.signals cimport at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport LANES, TILE, real

use_team(team)

cdef extern from "vecmath.h" nogil:
    void vm_prefetch(const void *address, Py_ssize_t size) noexcept

KINDS = {"raw": VF_RAW, "standard": VF_STANDARD, "bounded": VF_BOUNDED, "rank": VF_RANK, "within": VF_WITHIN,
         "table": VF_TABLE, "part": VF_PART}
DATE_PARTS = {"hour": VF_HOUR, "weekday": VF_WEEKDAY, "yearday": VF_YEARDAY}

cdef enum:
    STRIP_BYTES = 131072   # of columns that are mapped together: their tables are read into the first cache for each
    COLUMN_BYTES = 20480   # of rows that are turned into columns together
    GROUP = 8              # forms of a column that are mapped together
    SMALLEST_GUIDE = 64    # buckets
    BUCKETS_A_KNOT = 8
    OFFSET = 32            # numbers: reads wait for writes before them to the same place in another page of memory
    N_MISSING = 1
    N_UNBOUNDED = 2

MISSING, UNBOUNDED = N_MISSING, N_UNBOUNDED


cdef Py_ssize_t _longest_search(const vm_form *form, const double *knots, Py_ssize_t n_knots) noexcept nogil:
    """The largest number of knots that a bucket leaves to search."""
    cdef Py_ssize_t i, start = 0, longest = 1
    cdef int now, before = vf_bucket(form, knots[0])
    for i in range(1, n_knots):
        now = vf_bucket(form, knots[i])
        start = start if now == before else i
        longest = max(longest, i - start + 1)
        before = now
    return max(longest, n_knots - VF_MOST_GUIDED)


cdef void _lay_buckets(vm_form *form, const double *knots, Py_ssize_t n_knots, Py_ssize_t origin, Py_ssize_t width,
                       Py_ssize_t n_buckets) noexcept nogil:
    """Buckets that are even over so many knots to both sides of one, and at most so many."""
    cdef double low = knots[max(<Py_ssize_t>0, origin - width)], high = knots[min(n_knots - 1, origin + width)]
    form.origin = knots[origin]
    form.spread = <float>min(max(0.5 * high - 0.5 * low, 1e-30), 1e30)
    form.base = vf_bits(form.spread)
    form.last = vf_bits(<float>max(form.origin - knots[0], knots[n_knots - 1] - form.origin) + form.spread) - form.base
    form.shift = 0
    while 2 * (<Py_ssize_t>form.last + 1) > n_buckets:
        form.shift += 1
        form.last >>= 1


cdef void _choose_buckets(vm_form *form, const double *knots, Py_ssize_t n_knots) noexcept nogil:
    """Of some layouts one that leaves few knots to search: heavy tails and atoms need other buckets than even knots."""
    cdef vm_form trial = form[0]
    cdef Py_ssize_t quarter, width, longest, least = n_knots + 1
    for quarter in range(5):
        width = max(<Py_ssize_t>1, n_knots // 64)
        while width < 4 * n_knots and least > 1:
            _lay_buckets(&trial, knots, n_knots, (n_knots - 1) * quarter // 4, width,
                         max(<Py_ssize_t>SMALLEST_GUIDE, BUCKETS_A_KNOT * n_knots))
            longest = _longest_search(&trial, knots, n_knots)
            if longest < least:
                least = longest
                form[0] = trial
            width *= 4
    form.reach = 1
    while 2 * form.reach - 1 < least:
        form.reach *= 2


cdef class ColumnForms:
    """Forms of the columns of a table; each column may have several, or none."""

    cdef readonly Py_ssize_t n_columns, n_outputs
    cdef const Py_ssize_t[::1] starts
    cdef double[::1] store
    cdef vm_form *forms          # (n_outputs,) in the store
    cdef list held               # what their pointers point into

    def __cinit__(
        self,
        const Py_ssize_t[::1] starts,     # IN (n_columns + 1,) of the forms of each column, from 0 to n_outputs
        const Py_ssize_t[::1] kinds,      # IN (n_outputs,) among KINDS
        const double[:, ::1] numbers,     # IN (n_outputs, 6) missing, divisor, a, b, c, d of forms.h
        const Py_ssize_t[::1] n_knots,    # IN (n_outputs,) 0 of all but ranks and tables
        const double[::1] knots,          # IN (sum of n_knots,) those of one form after those of another
        const double[::1] heights,        # IN (sum of n_knots,) of ranks, and the values of tables, which have no knots
    ):
        cdef Py_ssize_t o, j, first = 0
        cdef double[::1] values
        agree(starts.shape[0] >= 2 and starts[0] == 0 and starts[starts.shape[0] - 1] == kinds.shape[0],
              "starts must go from 0 to the number of forms")
        for j in range(starts.shape[0] - 1):
            agree(starts[j] <= starts[j + 1], "starts must not decrease")
        agree(numbers.shape[0] == kinds.shape[0] and numbers.shape[1] == 6, "numbers must have shape (n_outputs, 6)")
        agree(n_knots.shape[0] == kinds.shape[0], "n_knots must have shape (n_outputs,)")
        self.n_columns, self.n_outputs = starts.shape[0] - 1, kinds.shape[0]
        self.starts, self.held = starts, []
        self.store = np.zeros(1 + self.n_outputs * sizeof(vm_form) // sizeof(double))
        self.forms = <vm_form *>&self.store[0]
        for o in range(self.n_outputs):
            agree(VF_RAW <= kinds[o] <= VF_PART, "kinds must be among KINDS")
            self.forms[o].kind = kinds[o]
            self.forms[o].missing, self.forms[o].divisor = numbers[o, 0], numbers[o, 1]
            self.forms[o].reciprocal = vf_reciprocal(numbers[o, 1])
            self.forms[o].a, self.forms[o].b = numbers[o, 2], numbers[o, 3]
            self.forms[o].c, self.forms[o].d = numbers[o, 4], numbers[o, 5]
            agree(n_knots[o] >= (1 if kinds[o] in (VF_RANK, VF_TABLE) else 0),
                  "n_knots must be at least 1 for a rank or table")
            agree(kinds[o] != VF_PART or numbers[o, 2] in (VF_HOUR, VF_WEEKDAY, VF_YEARDAY),
                  "a must be among DATE_PARTS for a part")
            agree(n_knots[o] <= min(knots.shape[0], heights.shape[0]) - first, "knots must have sum of n_knots entries")
            if kinds[o] == VF_RANK:
                self._lay_table(&self.forms[o], &knots[first], &heights[first], n_knots[o])
            elif kinds[o] == VF_TABLE:
                values = np.array(heights[first:first + n_knots[o]])
                self.held.append(values)
                self.forms[o].table, self.forms[o].stride, self.forms[o].c = &values[0], 1, n_knots[o] - 1
            first += n_knots[o]
        agree(knots.shape[0] == first, "knots must have sum of n_knots entries")
        agree(heights.shape[0] == first, "heights must have sum of n_knots entries")

    cdef int _lay_table(self, vm_form *form, const double *knots, const double *heights, Py_ssize_t size) except -1:
        """Fill in what a rank searches."""
        cdef Py_ssize_t i, n_buckets, k = 0
        cdef double[:, ::1] table
        cdef unsigned short[::1] guide
        _choose_buckets(form, knots, size)
        n_buckets = 2 * (<Py_ssize_t>form.last + 1)
        guide, table = np.empty(n_buckets, np.uint16), np.full((1 + size + 2 * form.reach, 4), np.nan)
        for i in range(n_buckets):
            while k < size and vf_bucket(form, knots[k]) < i:
                k += 1
            guide[i] = <unsigned short>min(k, <Py_ssize_t>VF_MOST_GUIDED)
        for i in range(size + 1):   # knot, height, slope, next
            k = max(<Py_ssize_t>0, i - 1)
            table[i, 0], table[i, 1], table[i, 2] = knots[k], heights[k], 0
            if i < size:
                table[i, 3] = knots[i]
            if 0 < i < size:
                table[i, 2] = (heights[i] - heights[i - 1]) / (knots[i] - knots[i - 1])
        form.guide, form.knots = &guide[0], <vf_knot *>&table[0, 0]
        self.held.append((guide, table))


cdef inline const real *_shifted(const real *place, Py_ssize_t n_bytes) noexcept nogil:
    return <const real *>(<const char *>place + n_bytes)


cdef void _take_columns(const real[:, :] X, Py_ssize_t row, Py_ssize_t n_rows, Py_ssize_t stride,
                        double *values) noexcept nogil:
    """values[j * stride + i] = X[row + i, j], a zero without its sign, with 0 beyond the rows."""
    cdef Py_ssize_t i, j, start = 0, stop, n_columns = X.shape[1], down = X.strides[0], right = X.strides[1]
    cdef Py_ssize_t some = max(<Py_ssize_t>LANES, COLUMN_BYTES // (n_columns * <Py_ssize_t>sizeof(real)))
    cdef Py_ssize_t n_bytes = n_columns * sizeof(real) if right == sizeof(real) else 0   # of a row that lies together
    cdef const real *x
    cdef double *column
    while start < n_rows:
        stop = min(n_rows, start + some)
        for i in range(stop, min(n_rows, stop + some)):
            vm_prefetch(&X[row + i, 0], n_bytes)
        j = 0
        while j + 4 <= n_columns:
            x, column = &X[row + start, j], values + j * stride
            for i in range(start, stop):
                column[i] = x[0] + 0.0
                column[stride + i] = _shifted(x, right)[0] + 0.0
                column[2 * stride + i] = _shifted(x, 2 * right)[0] + 0.0
                column[3 * stride + i] = _shifted(x, 3 * right)[0] + 0.0
                x = _shifted(x, down)
            j += 4
        while j < n_columns:
            x, column = &X[row + start, j], values + j * stride
            for i in range(start, stop):
                column[i] = x[0] + 0.0
                x = _shifted(x, down)
            j += 1
        start = stop
    for j in range(n_columns):
        for i in range(n_rows, stride):
            values[j * stride + i] = 0


cdef int _look(const double *values, Py_ssize_t size, double limit) noexcept nogil:
    """Whether values are missing, or beyond the limit in magnitude."""
    cdef Py_ssize_t i
    cdef int found = 0
    if bounded(values, size, limit):
        return 0
    for i in range(size):
        if values[i] != values[i]:
            found |= N_MISSING
        elif fabs(values[i]) > limit:
            found |= N_UNBOUNDED
    return found


cdef void _map_segment(const vm_form *forms, Py_ssize_t n_forms, const double *values, Py_ssize_t n_rows, int missing,
                       real *out, Py_ssize_t row_stride, Py_ssize_t stride, Py_ssize_t width) noexcept nogil:
    """out[k * stride + i * row_stride] = form k at values[i], and in a tile 0 beyond the rows as far as its width."""
    cdef double mapped[GROUP * TILE]
    cdef Py_ssize_t i, k, padded = (n_rows + LANES - 1) // LANES * LANES
    if real is double and width:   # a tile has room for all that is written
        apply_forms(forms, n_forms, values, padded, missing, <double *>out, stride)
    else:
        apply_forms(forms, n_forms, values, padded, missing, mapped, TILE)
        for k in range(n_forms):
            if row_stride == 1:   # said aloud, so that it is done in vectors
                for i in range(n_rows):
                    out[k * stride + i] = <real>mapped[k * TILE + i]
            else:
                for i in range(n_rows):
                    out[k * stride + i * row_stride] = <real>mapped[k * TILE + i]
    for k in range(n_forms):
        for i in range(n_rows, width):
            out[k * stride + i] = 0


cdef int _map_strip(
    const vm_form *forms, const Py_ssize_t[::1] starts, const real[:, :] X, double limit, real[:, :, ::1] out,
    Py_ssize_t row, Py_ssize_t n_rows, double *values,
) noexcept nogil:
    """Map some rows; `row` is a multiple of TILE."""
    cdef Py_ssize_t j, start, some, first, n_forms, width = out.shape[2], segment = TILE if width == 1 else width
    cdef Py_ssize_t row_stride = out.shape[1] if width == 1 else 1
    cdef Py_ssize_t stride = (n_rows + LANES - 1) // LANES * LANES
    cdef int found, all_found = 0
    _take_columns(X, row, n_rows, stride, values)
    for j in range(X.shape[1]):
        start = 0
        while start < n_rows:
            some = min(segment, n_rows - start)
            found = _look(values + j * stride + start, (some + LANES - 1) // LANES * LANES, limit)
            all_found |= found
            first = starts[j]
            while first < starts[j + 1]:
                n_forms = min(<Py_ssize_t>GROUP, starts[j + 1] - first)
                _map_segment(forms + first, n_forms, values + j * stride + start, some, found & N_MISSING,
                             &out[(row + start) // width, first, 0], row_stride, width, width if width > 1 else 0)
                first += n_forms
            start += some
    return all_found


cdef inline Py_ssize_t _strip_rows(Py_ssize_t n_samples, Py_ssize_t n_columns) noexcept nogil:
    """Rows that are mapped together: a multiple of TILE, or all."""
    cdef Py_ssize_t padded = (n_samples + LANES - 1) // LANES * LANES
    return max(<Py_ssize_t>LANES, min(padded, max(<Py_ssize_t>TILE, STRIP_BYTES // (8 * n_columns) // TILE * TILE)))


def scratch_size(Py_ssize_t n_samples, Py_ssize_t n_columns):
    """Numbers in the TEMP array `scratch` of a thread."""
    agree(n_samples >= 0, "n_samples must be at least 0")
    agree(n_columns >= 1, "n_columns must be at least 1")
    return OFFSET + n_columns * _strip_rows(n_samples, n_columns)


cdef _map_rows(ColumnForms forms, const real[:, :] X, double limit, real[:, :, ::1] out, double[:, ::1] scratch,
               int n_threads):
    agree(forms is not None, "forms must be given")
    agree(X.shape[1] == forms.n_columns, "X must have the columns of the forms")
    cdef Py_ssize_t width = out.shape[2], rows = _strip_rows(X.shape[0], X.shape[1])
    cdef Py_ssize_t first = 0, last, b, work = 0, each, n_strips = (X.shape[0] + rows - 1) // rows
    agree(width == 1 or (width >= LANES and TILE % width == 0), "out must have tiles of a width that divides 128")
    agree(out.shape[0] == (X.shape[0] + width - 1) // width and out.shape[1] == forms.n_outputs,
          "out must have shape (n_samples, n_outputs, 1) or (n_tiles, n_outputs, width)")
    agree(holds(scratch, n_threads, OFFSET + X.shape[1] * rows), "scratch must have shape (n_threads, scratch_size)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef int found = 0
    each = 16 * rows * (forms.n_columns + forms.n_outputs)
    with nogil:
        while first < n_strips:
            last = min(n_strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                found |= _map_strip(forms.forms, forms.starts, X, limit, out, b * rows,
                                    min(rows, X.shape[0] - b * rows), &scratch[threadid(), OFFSET])
            look_at_signals(&work, (last - first) * each)
            first = last
    return found


def map_rows(
    ColumnForms forms,
    X,                   # IN   real (n_samples, n_columns)
    double limit,
    out,                 # OUT  real (n_samples, n_outputs, 1), or (n_tiles, n_outputs, width), padded with 0
    scratch,             # TEMP double (n_threads, scratch_size)
    int n_threads,
):
    """out = the forms of the columns of X; return whether values are MISSING, or UNBOUNDED: beyond the limit.

    The width of tiles divides 128 and is a multiple of LANE_COUNT.
    """
    if X.itemsize == sizeof(float):
        return _map_rows[float](forms, X, limit, out, scratch, n_threads)
    return _map_rows[double](forms, X, limit, out, scratch, n_threads)
