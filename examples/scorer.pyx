# cython: language_level=3
"""A library that scores rows in many threads at once, without the interpreter.  Build: python examples/build.py."""
from libc.stdlib cimport free, malloc
from rffkern cimport (
    RFF_FLOAT64, RFF_OK, rff_describe, rff_error_text, rff_free, rff_info, rff_load, rff_model, rff_score,
    rff_scratch_size,
)


cdef class Scorer:
    cdef rff_model *model
    cdef rff_info info

    def __cinit__(self, path):
        cdef const char *why
        if rff_load(path.encode(), 0, &self.model, &why) != RFF_OK:
            raise ValueError(why.decode())
        rff_describe(self.model, &self.info, sizeof(rff_info))

    def __dealloc__(self):
        rff_free(self.model)

    def score(self, const double[:, ::1] rows, double[:, ::1] scores):
        """Fill scores (n_rows, n_outputs) for rows (n_rows, n_features)."""
        cdef size_t n = rows.shape[0], size = rff_scratch_size(self.model, n)
        if rows.shape[1] != self.info.n_features or scores.shape[0] != n or scores.shape[1] != self.info.n_outputs:
            raise ValueError("shapes do not agree")
        with nogil:
            scratch = malloc(size)
            error = rff_score(self.model, RFF_FLOAT64, &rows[0, 0], n, &scores[0, 0], scratch, size)
            free(scratch)
        if error != RFF_OK:
            raise ValueError(rff_error_text(error).decode())
