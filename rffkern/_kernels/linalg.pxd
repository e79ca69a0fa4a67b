"""Growing Cholesky factors, for kernels that choose what they grow by."""

cdef double extend_row(double[:, ::1] factor, Py_ssize_t size, double smallest) noexcept nogil
cdef void solve(const double[:, ::1] factor, double *x, Py_ssize_t size) noexcept nogil
