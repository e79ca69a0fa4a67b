"""The scorer in C, over the arrays of an expansion."""

from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_IsContiguous, PyBuffer_Release, PyObject_GetBuffer,
)
from cython.parallel cimport prange, threadid
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc

from numpy import empty

from .core.checks cimport agree
from .core.signals cimport COSINE, SIGNAL_WORK, at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport LANES, TILE

use_team(team)

cdef extern from "rff_embed.h" nogil:
    Py_ssize_t RFF_FEW
    double RFF_LARGEST_ANGLE
    size_t rff_piece(const rff_model *model) noexcept
    size_t rff_scratch_size_of_numbers(const rff_model *model) noexcept
    int rff_are_sound(const rff_model *model, int type, const void *rows, size_t n) noexcept
    void rff_score_some(const rff_model *model, int type, const void *rows, size_t width, size_t first, size_t n_rows,
                        double *out, void *scratch) noexcept
    size_t rff_numbers_of_row(const rff_expansion *e) noexcept
    size_t rff_work_of_row(const rff_expansion *e, size_t each) noexcept
    int rff_part_is_single(const rff_model *model) noexcept
    void rff_find_far(const rff_model *model, const float *rows, size_t n_rows, uint8_t *are_far) noexcept

FEW = RFF_FEW   # rows, fewer than which are scored with vectors over the terms
LARGEST_SINGLE_ANGLE = RFF_LARGEST_ANGLE   # in radians: single precision moves such an angle by 2e-4

cdef enum:
    SCORE_BYTES = 20480   # of a tile: it is read again for every few terms, and stays in the cache


def tile_width(Py_ssize_t n_features, Py_ssize_t n_bytes):
    """Width of tiles in which rows of so many columns, of so many bytes each number, are scored as they lie."""
    agree(n_features >= 1 and n_bytes >= 1, "n_features and n_bytes must be at least 1")
    cdef Py_ssize_t width = TILE
    while width > max(<Py_ssize_t>LANES, SCORE_BYTES // (n_features * n_bytes)):
        width //= 2
    return width


cdef class Scorer:
    """Scores of the rows of an expansion: the model that C scores.  The arrays must not change any more.

    Rows are scored with the functions of the level that is selected when they are.
    """

    cdef:
        rff_model *model
        bint takes_single         # rows of single precision too
        size_t scratch_size       # bytes
        readonly Py_ssize_t row_size   # numbers of the model that a row meets
        Py_ssize_t row_work       # multiply-adds
        Py_ssize_t n_features, n_outputs

    def __cinit__(
        self,
        dict arrays,        # of an expansion, by name, checked
        bint takes_single,  # rows of float32 too; else those of float64 alone
    ):
        cdef rff_model *model
        self.model = model = _new_model(arrays)
        _prepare(model, takes_single)
        self.n_features, self.n_outputs = model.expansion.n_features, model.expansion.n_outputs
        self.takes_single, self.scratch_size = takes_single, rff_scratch_size_of_numbers(model)
        self.row_size = rff_numbers_of_row(&model.expansion)
        self.row_work = 1 + rff_work_of_row(&model.expansion, COSINE)
        if model.kernels != NULL:
            self.row_size += rff_numbers_of_row(&model.kernels.expansion)
            self.row_work += rff_work_of_row(&model.kernels.expansion, COSINE)

    def __dealloc__(self):
        if self.model != NULL:
            rff_release(self.model)

    def score(
        self,
        X,                    # IN   real (n_samples, n_features), or (n_tiles, n_features, tile_width); finite
        double[:, ::1] out,   # OUT  (n_samples, n_outputs)
        int n_threads,
    ):
        """Scores of rows.  The bits of a row depend neither on the rows beside it nor on the number of threads."""
        cdef const float[:, :, ::1] singles
        cdef const double[:, :, ::1] doubles
        cdef const void *rows
        agree(2 <= X.ndim <= 3, "X must have shape (n_samples, n_features) or (n_tiles, n_features, tile_width)")
        cdef Py_ssize_t width = 1 if X.ndim == 2 else X.shape[2]
        agree(X.shape[1] == self.n_features and (X.ndim == 2 or width in (1, 16, 32, 64, 128))
              and X.shape[0] == (out.shape[0] + width - 1) // width,
              "X must have shape (n_samples, n_features) or (n_tiles, n_features, tile_width)")
        agree(out.shape[1] == self.n_outputs, "out must have shape (n_samples, n_outputs)")
        agree(n_threads >= 1, "n_threads must be at least 1")
        agree(self.takes_single or X.itemsize == sizeof(double), "X must be of float64")
        agree(X.flags.c_contiguous, "X must be C-contiguous")
        if not out.shape[0]:
            return
        X = X.reshape(X.shape[0], self.n_features, width)
        if X.itemsize == sizeof(float):
            singles = X
            rows = &singles[0, 0, 0]
        else:
            doubles = X
            rows = &doubles[0, 0, 0]
        self._score(X.itemsize, rows, width, out.shape[0], &out[0, 0], n_threads)

    cdef int _score(self, int type, const void *rows, Py_ssize_t width, Py_ssize_t n_rows, double *out,
                    int n_threads) except -1:
        cdef Py_ssize_t piece = rff_piece(self.model), work = 0, first = 0, last, b
        # Where rows take so long that a piece of them would keep signals waiting, a piece has fewer.
        piece = min(piece, max(max(width, <Py_ssize_t>LANES), SIGNAL_WORK // 2 // self.row_work // TILE * TILE))
        cdef Py_ssize_t n_pieces = (n_rows + piece - 1) // piece, some = n_threads * at_once(piece * self.row_work)
        cdef size_t size = (self.scratch_size + 63) // 64 * 64
        cdef char *scratch = <char *>malloc(n_threads * size)
        if scratch == NULL:
            raise MemoryError
        _use_level()
        try:
            with nogil:
                while first < n_pieces:
                    last = min(n_pieces, first + some)
                    for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                        rff_score_some(self.model, type, rows, width, b * piece, min(piece, n_rows - b * piece), out,
                                       scratch + threadid() * size)
                    look_at_signals(&work, (last - first) * piece * self.row_work)
                    first = last
        finally:
            free(scratch)
        return 0

    @property
    def fits_single(self):
        """Whether single precision suffices for cosines and for kernels, as far as rows are not far out."""
        cdef bint of_kernels = self.model.kernels == NULL or rff_part_is_single(self.model.kernels)
        cdef bint of_model = rff_part_is_single(self.model)
        return (True, of_model) if self.model.expansion.kind == RFF_KERNEL else (of_model, of_kernels)

    def find_far(self, const float[:, ::1] X):
        """Which rows, of an expansion of cosines, need double precision."""
        are_far = bytearray(X.shape[0])
        cdef uint8_t[::1] found = are_far
        agree(X.shape[1] == self.n_features, "X must have shape (n_samples, n_features)")
        agree(self.takes_single and self.model.expansion.kind != RFF_KERNEL, "X must be scored by cosines")
        if X.shape[0]:
            rff_find_far(self.model, &X[0, 0], X.shape[0], &found[0])
        return are_far

    def take(self, X):
        """Scores of an array that may be any; None where it is not one of few rows, contiguous and all numbers.

        It is read by its buffer, because a memoryview takes longer than a row.
        """
        cdef Py_buffer rows, place
        cdef int type
        cdef char *scratch
        PyObject_GetBuffer(X, &rows, PyBUF_STRIDES | PyBUF_FORMAT)
        try:
            # The format of an array that is not aligned begins with "=".
            if not (rows.ndim == 2 and rows.shape[1] == self.n_features and 0 < rows.shape[0] < RFF_FEW
                    and (rows.format[0] == b"d" or (rows.format[0] == b"f" and self.takes_single))
                    and rows.format[1] == 0
                    and rows.shape[0] * self.row_work < SIGNAL_WORK and PyBuffer_IsContiguous(&rows, b"C")):
                return None
            type = <int>rows.itemsize
            if not rff_are_sound(self.model, type, rows.buf, rows.shape[0] * rows.shape[1]):
                return None
            out = empty((rows.shape[0], self.n_outputs))
            PyObject_GetBuffer(out, &place, PyBUF_WRITABLE)
            _use_level()
            try:
                with nogil:
                    scratch = <char *>malloc(self.scratch_size)
                    if scratch != NULL:
                        rff_score_some(self.model, type, rows.buf, 1, 0, rows.shape[0], <double *>place.buf, scratch)
                        free(scratch)
                if scratch == NULL:
                    raise MemoryError
            finally:
                PyBuffer_Release(&place)
            return out
        finally:
            PyBuffer_Release(&rows)
