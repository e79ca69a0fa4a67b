"""Phases of a landmark, and the random Fourier features (`rff`) of rows: inline code of landmark.pyx."""

from libc.math cimport M_PI, rint

from ..core.tiles cimport TERMS, TILE, add_scaled, dot, project_terms, real, sincospi


cdef inline void scale_omegas(const double[:, ::1] omegas, real[:, ::1] scaled, real *shifts) noexcept nogil:
    """Omegas in half turns, padded with 0 as `project_terms` reads them, and shifts of 0."""
    cdef Py_ssize_t j, k
    for k in range(TERMS):
        shifts[k] = 0
    for j in range(scaled.shape[0]):
        for k in range(omegas.shape[1]):
            scaled[j, k] = <real>(omegas[j, k] / M_PI) if j < omegas.shape[0] else 0


cdef inline void tile_rff(const real *tile, Py_ssize_t n_features, const real[:, ::1] scaled, const real *shifts,
                          Py_ssize_t start, Py_ssize_t stop, real *rff) noexcept nogil:
    """Cosine and sine of each omega . x of the rows of a tile, from `start`, a multiple of TERMS, to `stop`."""
    cdef real u[TERMS * TILE]
    cdef Py_ssize_t j, k, group
    for group in range((stop - start + TERMS - 1) // TERMS):
        j = start + group * TERMS
        project_terms(tile, n_features, TILE, &scaled[j, 0], shifts, u)
        for k in range(min(<Py_ssize_t>TERMS, stop - j)):
            sincospi(u + k * TILE, TILE, rff + (2 * (j + k) + 1) * TILE, rff + 2 * (j + k) * TILE)


cdef inline void landmark_phases(const double[:, ::1] basis, const double[::1] x, double[::1] u) noexcept nogil:
    """u = omegas x, with the transpose of omegas as basis; where it is empty, u = x."""
    cdef Py_ssize_t j, k
    if basis.shape[0] == 0:
        for j in range(x.shape[0]):
            u[j] = x[j]
        return
    for j in range(u.shape[0]):
        u[j] = 0
    for k in range(x.shape[0]):
        add_scaled(&basis[k, 0], u.shape[0], x[k], &u[0])


cdef inline void set_direction(const double[::1] u, Py_ssize_t n_components, double length,
                               real[::1] direction) noexcept nogil:
    """direction[2 j], direction[2 j + 1] = length cos(u_j), length sin(u_j)."""
    cdef real half_turns[TILE]
    cdef real s[TILE]
    cdef real c[TILE]
    cdef double angle
    cdef Py_ssize_t j, start, n_here
    for j in range(TILE):
        half_turns[j] = 0
    for start in range(0, n_components, 128):
        n_here = min(<Py_ssize_t>TILE, n_components - start)
        for j in range(n_here):   # reduced in double, for phases may be many turns
            angle = u[start + j] / M_PI
            half_turns[j] = <real>(angle - 2 * rint(0.5 * angle))
        sincospi(half_turns, TILE, s, c)
        for j in range(n_here):
            direction[2 * (start + j)] = <real>(length * c[j])
            direction[2 * (start + j) + 1] = <real>(length * s[j])


cdef inline void phase_gradient(const double[:, ::1] partial, Py_ssize_t strips, double factor,
                                const real[::1] direction, Py_ssize_t n_components, double[::1] u) noexcept nogil:
    """u = gradient in the phases, from the sums of each strip along their directions."""
    cdef double along_cosine, along_sine
    cdef Py_ssize_t b, j
    for j in range(n_components):
        along_cosine = along_sine = 0
        for b in range(strips):
            along_cosine += partial[b, 1 + 2 * j]
            along_sine += partial[b, 2 + 2 * j]
        u[j] = factor * (along_sine * direction[2 * j] - along_cosine * direction[2 * j + 1])


cdef inline void landmark_gradient(const double[:, ::1] basis, const double[::1] u,
                                   double[::1] gradient) noexcept nogil:
    """The gradient in the landmark from that in its phases, as `landmark_phases` takes its basis."""
    cdef Py_ssize_t k
    if basis.shape[0] == 0:
        gradient[:] = u[:gradient.shape[0]]
        return
    for k in range(basis.shape[0]):
        gradient[k] = dot(&basis[k, 0], &u[0], u.shape[0])
