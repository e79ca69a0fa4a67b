"""Omegas, phases and posterior of a weak learner as kernels read them, and its values on a tile."""

from libc.math cimport M_PI

from ..core.tiles cimport TERMS, evaluate, next_tile, real


cdef inline Py_ssize_t size_of_terms(Py_ssize_t n_components, Py_ssize_t n_features) noexcept nogil:
    return (n_features + 2) * ((n_components + TERMS - 1) // TERMS * TERMS)


cdef inline void pack_terms(const double[:, ::1] omegas, const double[::1] phases, const double[::1] posterior,
                            real *terms) noexcept nogil:
    """Omegas and phases in half turns, padded with 0 to a multiple of TERMS, then the posterior."""
    cdef Py_ssize_t j, k, n_features = omegas.shape[1], n_padded = (omegas.shape[0] + TERMS - 1) // TERMS * TERMS
    cdef real *shifts = terms + n_padded * n_features
    for j in range(n_padded * (n_features + 2)):
        terms[j] = 0
    for j in range(omegas.shape[0]):
        for k in range(n_features):
            terms[j * n_features + k] = <real>(omegas[j, k] / M_PI)
        shifts[j] = <real>(phases[j] / M_PI)
        shifts[n_padded + j] = <real>posterior[j]


cdef inline void evaluate_terms(const real[:, :, ::1] tiles, Py_ssize_t t, const real *terms, Py_ssize_t n_components,
                                Py_ssize_t start, Py_ssize_t stop, real *h) noexcept nogil:
    cdef Py_ssize_t n_features = tiles.shape[1], n_padded = (n_components + TERMS - 1) // TERMS * TERMS
    cdef const real *shifts = terms + n_padded * n_features
    evaluate(&tiles[t, 0, 0], next_tile(tiles, t), n_features, terms, shifts, shifts + n_padded, n_components,
             start, stop, h)
