"""L-BFGS by reverse communication, and growing Cholesky factors: for kernels that descend or choose what they grow by.
"""


cdef struct Trial:
    double step, loss, slope


cdef class LBFGS:
    """The caller evaluates, the object decides where next."""
    cdef readonly Py_ssize_t n_iterations, n_evaluations
    # The first `size` numbers of each array are used.
    cdef double[::1] x          # point to evaluate next; the best point once `advance` has returned False
    cdef double[::1] gradient   # filled by the caller with the gradient at x
    cdef Py_ssize_t most, size, max_iter   # variables at most, and those of this search
    cdef double loss_tolerance, gradient_tolerance, noise, first_length, first_gradient
    # The line search runs from `origin` along `direction`; `best` is the point of trial `low`, the far end is `high`.
    cdef double[::1] origin, origin_gradient, direction, best, best_gradient
    cdef Trial start, low, high
    cdef double step
    cdef bint bracketed
    cdef int n_trials
    # Correction pairs in a ring; `n_seen` counts all that were ever stored.
    cdef double[:, ::1] displacements, changes
    cdef double[::1] curvatures, coefficients
    cdef Py_ssize_t n_pairs, n_seen

    cdef void reset(self, const double[::1] x0, double first_length) noexcept nogil
    cdef bint advance(self, double loss) noexcept nogil
    cdef bint _begin_search(self) noexcept nogil
    cdef void _set_direction(self) noexcept nogil
    cdef void _store_pair(self) noexcept nogil
    cdef void _store(self, const double[::1] step, const double[::1] change) noexcept nogil
    cdef bint _end_search(self) noexcept nogil
    cdef double _next_step(self) noexcept nogil
    cdef void _move_to(self, double step) noexcept nogil


cdef double extend_row(double[:, ::1] factor, Py_ssize_t size, double smallest) noexcept nogil
cdef void solve(const double[:, ::1] factor, double *x, Py_ssize_t size) noexcept nogil
