"""Scores of few rows by Fourier expansions: vectors run over the terms, and a row is one term of the product."""

from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_IsContiguous, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.math cimport INFINITY

from numpy import empty

from .core.checks cimport agree
from .core.signals cimport COSINE, look_at_signals
from .core.tiles cimport TERM_BLOCK, TILE, cospi, dot_terms, project, real

cdef enum:
    MOST_FEW = 7   # rows, up to which vectors over the terms are faster than vectors over the rows


cdef struct Few:
    const double *center       # (n_features,)
    const double *intercept    # (n_outputs,)
    Py_ssize_t n_features, n_outputs, n_terms, n_tiles   # terms padded to a multiple of TERM_BLOCK, in tiles of TILE


cdef bint are_within(const real *values, Py_ssize_t size, double limit) noexcept nogil:
    """Whether all are numbers up to the limit in magnitude."""
    cdef real bound = <real>limit
    cdef int within = 1
    cdef Py_ssize_t i
    for i in range(size):   # without a way out and in bits, so that it is done in vectors
        within &= (values[i] <= bound) & (values[i] >= -bound)
    return within


cdef int score_few(
    const Few *few,
    const real *terms,        # IN   (n_tiles, 1 + n_features, TILE) shifts, then omegas, of TILE terms
    const real *amplitudes,   # IN   (n_outputs, n_terms)
    const real *X,            # IN   (n_samples, n_features)
    Py_ssize_t n_samples,
    double *out,              # OUT  (n_samples, n_outputs)
    real *row,                # TEMP (1 + n_features,)
) except -1 nogil:
    """out = intercept + amplitudes . cos(omegas . (x - center) - shifts)."""
    cdef real u[TILE]
    cdef Py_ssize_t i, j, k, o, term, tile, size = (1 + few.n_features) * TILE, work = 0
    row[0] = -1
    for i in range(n_samples):
        for j in range(few.n_features):
            row[1 + j] = <real>(X[i * few.n_features + j] - few.center[j])
        for o in range(few.n_outputs):
            out[i * few.n_outputs + o] = few.intercept[o]
        for k in range(few.n_terms // TERM_BLOCK):
            term = k * TERM_BLOCK
            if term % TILE == 0:
                tile = term // TILE
                project(terms + tile * size, terms + min(tile + 1, few.n_tiles - 1) * size, 1 + few.n_features, row, 0,
                        u)
                cospi(u, TILE)
                look_at_signals(&work, TILE * (1 + few.n_features + COSINE + few.n_outputs))
            for o in range(few.n_outputs):
                out[i * few.n_outputs + o] += dot_terms(u + term % TILE, amplitudes + o * few.n_terms + term)
    return 0


cdef _hold(
    FewRows self, const double[::1] center, const real[:, :, ::1] terms, const real[:, ::1] amplitudes,
    const double[::1] intercept,
):
    agree(center.shape[0] >= 1, "center must have shape (n_features,)")
    agree(terms.shape[1] == 1 + center.shape[0] and terms.shape[2] == TILE,
          "terms must have shape (n_tiles, 1 + n_features, 128)")
    agree(amplitudes.shape[1] % TERM_BLOCK == 0 and terms.shape[0] == (amplitudes.shape[1] + TILE - 1) // TILE,
          "amplitudes must have shape (n_outputs, n_terms padded to a multiple of TERM_MULTIPLES[1])")
    agree(intercept.shape[0] == amplitudes.shape[0] >= 1, "intercept must have shape (n_outputs,)")
    self.few = Few(&center[0], &intercept[0], center.shape[0], intercept.shape[0], amplitudes.shape[1], terms.shape[0])
    if terms.shape[0]:
        self.terms, self.amplitudes = &terms[0, 0, 0], &amplitudes[0, 0]


cdef class FewRows:
    """Cosines as few rows are scored with them, checked: the arrays must not change any more.

    Arrays are read by their buffers, because memoryviews of all of them take longer than a row.
    """

    cdef:
        tuple arrays   # which the pointers are of
        Few few
        const void *terms
        const void *amplitudes
        Py_ssize_t itemsize
        char letter    # of the precision, in formats of buffers
        double limit

    def __cinit__(
        self,
        center,        # IN double (n_features,)
        terms,         # IN real (n_tiles, 1 + n_features, TILE) shifts, then omegas, of TILE terms; half turns
        amplitudes,    # IN real (n_outputs, n_terms padded with 0 to a multiple of TERM_BLOCK)
        intercept,     # IN double (n_outputs,)
        double limit,  # of the numbers that `take` takes
    ):
        self.arrays, self.itemsize, self.limit = (center, terms, amplitudes, intercept), terms.itemsize, limit
        if self.itemsize == sizeof(float):
            self.letter = b"f"
            _hold[float](self, center, terms, amplitudes, intercept)
        else:
            self.letter = b"d"
            _hold[double](self, center, terms, amplitudes, intercept)

    def score(self, X):
        """`score_rows` for an array of few rows, checked."""
        scores = self._score(X, False, INFINITY)
        agree(scores is not None, "X must be a contiguous array of shape (n_samples, n_features) in the precision of "
                                  "terms")
        return scores

    def take(self, X):
        """The same for an array that may be any, of the precision of terms; None where it needs another look."""
        return self._score(X, True, self.limit)

    cdef _score(self, X, bint few, double limit):
        """Scores (n_samples, n_outputs), or None where X is not a contiguous array of numbers, within the limit."""
        cdef Py_buffer rows, place
        cdef Py_ssize_t size
        cdef char *scratch
        PyObject_GetBuffer(X, &rows, PyBUF_STRIDES | PyBUF_FORMAT)
        try:
            # The format of an array that is not aligned begins with "=".
            if not (rows.ndim == 2 and rows.shape[1] == self.few.n_features and rows.itemsize == self.itemsize
                    and rows.format[not few and rows.format[0] == b"="] == self.letter
                    and (not few or 0 < rows.shape[0] <= MOST_FEW) and PyBuffer_IsContiguous(&rows, b"C")):
                return None
            size = rows.shape[0] * rows.shape[1]
            if not (are_within(<const float *>rows.buf, size, limit) if self.itemsize == sizeof(float)
                    else are_within(<const double *>rows.buf, size, limit)):
                return None
            out, row = empty((rows.shape[0], self.few.n_outputs)), bytearray((1 + rows.shape[1]) * self.itemsize)
            PyObject_GetBuffer(out, &place, PyBUF_WRITABLE)
            scratch = row
            try:
                with nogil:
                    if self.itemsize == sizeof(float):
                        score_few(&self.few, <const float *>self.terms, <const float *>self.amplitudes,
                                  <const float *>rows.buf, rows.shape[0], <double *>place.buf, <float *>scratch)
                    else:
                        score_few(&self.few, <const double *>self.terms, <const double *>self.amplitudes,
                                  <const double *>rows.buf, rows.shape[0], <double *>place.buf, <double *>scratch)
            finally:
                PyBuffer_Release(&place)
            return out
        finally:
            PyBuffer_Release(&rows)
