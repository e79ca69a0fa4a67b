"""Columns of plain numbers of a CSV text."""

from .core.checks cimport agree
from .core.signals cimport look_at_signals

cdef extern from "decimals.h" nogil:
    const unsigned char *dec_cell(const unsigned char *at, const unsigned char *end, unsigned char delimiter,
                                  double *value) noexcept


cdef inline const unsigned char *_passed(
    const unsigned char *at, const unsigned char *end, unsigned char delimiter,
) noexcept nogil:
    """The end of a cell that is not wanted."""
    while at < end and at[0] != delimiter and at[0] != c"\n" and at[0] != c"\r":
        at += 1
    return at


cdef inline const unsigned char *_row(
    const unsigned char *at, const unsigned char *end, unsigned char delimiter,
    const Py_ssize_t[::1] places, double[:, ::1] out, Py_ssize_t i,
) noexcept nogil:
    """The beginning of the next row, or NULL where this has another number of cells or one that is no plain number."""
    cdef Py_ssize_t j, n_cells = places.shape[0]
    for j in range(n_cells):
        at = _passed(at, end, delimiter) if places[j] < 0 else dec_cell(at, end, delimiter, &out[i, places[j]])
        if at == NULL:
            return NULL
        if j < n_cells - 1:
            if at == end or at[0] != delimiter:
                return NULL
            at += 1
    if at < end and at[0] == delimiter:
        return NULL
    if at < end and at[0] == c"\r":
        at += 1
        return at + 1 if at < end and at[0] == c"\n" else at
    return at + 1 if at < end else at


def read_numbers(
    const unsigned char[::1] text,    # IN   (size,) lines, the last of which may have no end
    int delimiter,                    # an ASCII character that is in no number
    const Py_ssize_t[::1] places,     # IN   (n_cells,) the column of `out` that a cell of a row goes to, or -1
    double[:, ::1] out,               # OUT  (n_rows, n_columns)
):
    """Whether the text has just so many rows, whose wanted cells are plain numbers; `out` then has them.

    Plain numbers have at most 19 digits and an exponent that keeps them within what 128 bits can round as Python does.
    """
    cdef Py_ssize_t i = 0, j, work = 0, size = text.shape[0], n_rows = out.shape[0], n_columns = out.shape[1]
    cdef Py_ssize_t n_wanted = 0
    cdef const unsigned char *at
    cdef const unsigned char *end
    agree(0 <= delimiter < 128 and delimiter not in b"0123456789+-.eE \r\n", "the delimiter is part of numbers or rows")
    for j in range(places.shape[0]):
        agree(-1 <= places[j] < n_columns, "places and out do not agree")
        n_wanted += places[j] >= 0
    agree(n_wanted == n_columns, "places must have a cell for each column of out")
    if size == 0 or n_rows == 0 or places.shape[0] == 0:
        return size == 0 and n_rows == 0
    at = &text[0]
    end = at + size
    with nogil:
        while i < n_rows and at < end:
            at = _row(at, end, <unsigned char>delimiter, places, out, i)
            if at == NULL:
                break
            i += 1
            look_at_signals(&work, 16 * places.shape[0])
    return i == n_rows and at == end
