"""Sizes of the mini-batch steps of RFFNet, where their parts lie in the scratch of a tile, and its scaled rows."""

from libc.math cimport M_PI

from ..core.signals cimport COSINE
from ..core.tiles cimport LANES, TERMS, TILE, real

cdef enum:
    GROUP = 32   # terms whose gradients stay in the first-level cache while all features are multiplied with them

cdef struct Layout:
    # Sizes, and offsets into the scratch of a tile, where `width` is the number of rows, padded.
    Py_ssize_t n_features, padded_features, padded_terms, n_outputs
    Py_ssize_t rows               # (n_features, width) standardised
    Py_ssize_t scaled             # (n_features, width) times relevance over pi
    Py_ssize_t cosine             # (padded_terms, width)
    Py_ssize_t sine               # (padded_terms, width), and then minus the gradient along the angles
    Py_ssize_t score              # (n_outputs, width)
    Py_ssize_t gradient           # (n_outputs, width) of the mean loss of the batch along the scores
    Py_ssize_t turned             # (padded_features, width) minus the gradient along relevance times feature
    Py_ssize_t term               # (TERMS, width)
    Py_ssize_t coefficient_gradient   # (n_outputs, padded_terms)
    Py_ssize_t relevance_gradient    # (n_features,)
    Py_ssize_t end


cdef inline Py_ssize_t width_of(Py_ssize_t n_rows) noexcept nogil:
    return (n_rows + LANES - 1) // LANES * LANES


cdef inline Layout layout_of(Py_ssize_t n_features, Py_ssize_t padded_terms, Py_ssize_t n_outputs,
                             Py_ssize_t batch_size) noexcept nogil:
    cdef Layout at
    cdef Py_ssize_t width = width_of(min(<Py_ssize_t>TILE, batch_size))
    at.n_features, at.padded_terms, at.n_outputs = n_features, padded_terms, n_outputs
    at.padded_features = (n_features + TERMS - 1) // TERMS * TERMS
    at.rows = 0
    at.scaled = at.rows + n_features * width
    at.cosine = at.scaled + n_features * width
    at.sine = at.cosine + padded_terms * width
    at.score = at.sine + padded_terms * width
    at.gradient = at.score + n_outputs * width
    at.turned = at.gradient + n_outputs * width
    at.term = at.turned + at.padded_features * width
    at.coefficient_gradient = at.term + TERMS * width
    at.relevance_gradient = at.coefficient_gradient + n_outputs * padded_terms
    at.end = (at.relevance_gradient + n_features + LANES - 1) // LANES * LANES
    return at


cdef inline Py_ssize_t each_group(const Layout *at, Py_ssize_t n_batch) noexcept nogil:
    """Multiply-adds of a group of terms and a tile of a batch."""
    return GROUP * width_of(min(<Py_ssize_t>TILE, n_batch)) * (at.n_features + 2 * COSINE + at.n_outputs)


cdef inline void scale_rows(const Layout *at, real *work, Py_ssize_t n_rows, const real *relevances) noexcept nogil:
    """Rows times relevances over pi."""
    cdef Py_ssize_t i, j, width = width_of(n_rows)
    cdef real factor
    for j in range(at.n_features):
        factor = <real>(relevances[j] / M_PI)
        for i in range(width):
            work[at.scaled + j * width + i] = factor * work[at.rows + j * width + i]
