"""Products of sparse matrices with vectors.  A row is one thread's: neither threads nor their number change a bit."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, uint32_t

from .core.checks cimport agree, has_shape
from .core.signals cimport at_once, look_at_signals


cdef void _sparse_row(const int32_t* indices, const double* cells, Py_ssize_t n_cells, const double[:, ::1] vectors,
                      double* out) noexcept nogil:
    cdef Py_ssize_t i = 0, k, n_vectors = vectors.shape[1]
    cdef double sums[4]   # additions wait for those before them
    cdef const double* vector = &vectors[0, 0]
    if n_vectors == 1:
        for k in range(4):
            sums[k] = 0
        while i + 4 <= n_cells:
            for k in range(4):
                sums[k] += cells[i + k] * vector[indices[i + k]]
            i += 4
        while i < n_cells:
            sums[0] += cells[i] * vector[indices[i]]
            i += 1
        out[0] = (sums[0] + sums[1]) + (sums[2] + sums[3])
        return
    for k in range(n_vectors):
        out[k] = 0
    for i in range(n_cells):
        vector = &vectors[indices[i], 0]
        for k in range(n_vectors):
            out[k] += cells[i] * vector[k]


def sparse_products(
    const Py_ssize_t[::1] indptr,       # IN   (n_rows + 1,) cells of row i are those from indptr[i] to indptr[i + 1]
    const int32_t[::1] indices,         # IN   (n_cells,) their columns
    const double[::1] cells,            # IN   (n_cells,)
    const double[:, ::1] vectors,       # IN   (n_columns, n_vectors)
    double[:, ::1] out,                 # OUT  (n_rows, n_vectors)
    int n_threads,
):
    """out = a sparse matrix times vectors, cell after cell of a row."""
    cdef Py_ssize_t i, n_cells = cells.shape[0], n_rows = indptr.shape[0] - 1, n_columns = vectors.shape[0]
    cdef Py_ssize_t first = 0, last, work = 0, n_vectors = vectors.shape[1], each
    cdef uint32_t bound = <uint32_t>min(n_columns, <Py_ssize_t>2147483647)
    cdef bint good = True
    agree(n_rows >= 0 and indptr[0] == 0 and indptr[n_rows] == n_cells, "indptr must be from 0 to the number of cells")
    for i in range(n_rows):
        good &= indptr[i] <= indptr[i + 1]
    agree(good, "indptr must not fall")
    agree(indices.shape[0] == n_cells, "indices must have shape (n_cells,)")
    for i in range(n_cells):
        good &= <uint32_t>indices[i] < bound   # without a way out, so that it is done in vectors
    agree(good, "indices must be columns")
    agree(n_vectors >= 1 and has_shape(out, n_rows, n_vectors), "out must have shape (n_rows, n_vectors)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    if n_cells == 0:
        out[:] = 0
        return
    each = max(<Py_ssize_t>1, n_cells // max(<Py_ssize_t>1, n_rows)) * n_vectors
    with nogil:
        while first < n_rows:
            last = min(n_rows, first + n_threads * at_once(each))
            for i in prange(first, last, schedule='dynamic', chunksize=64,
                            num_threads=n_threads):
                _sparse_row(&indices[0] + indptr[i], &cells[0] + indptr[i], indptr[i + 1] - indptr[i], vectors,
                            &out[i, 0])
            look_at_signals(&work, (last - first) * each // n_threads)
            first = last
