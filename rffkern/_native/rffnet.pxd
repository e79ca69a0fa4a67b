"""Losses of a row, for kernels that descend on any of them."""

cdef class Loss:
    cdef Py_ssize_t n_targets(self, Py_ssize_t n_outputs) noexcept nogil
    cdef double point(self, double score, double target, double *gradient) noexcept nogil
    cdef double row(self, const double *scores, const double *target, Py_ssize_t n_outputs,
                    double *gradient) noexcept nogil
