"""Symmetric tables on vectors of rows: cells.h says what they do."""

from libc.stdint cimport int8_t, int32_t, uint8_t

from ..simd cimport table_cells

cdef extern from "cells.h" nogil:
    ctypedef struct vc_growth:
        const uint8_t *codes
        const float *gradient
        const float *hessian
        const Py_ssize_t *n_bins
        const Py_ssize_t *candidates
        Py_ssize_t stride, n_rows, n_outputs, n_candidates, max_depth
        double reg
        double *store
        Py_ssize_t depth
        double scale, score
        Py_ssize_t candidate, cut
    enum:
        VC_FEW
        VC_MAX_DEPTH
        VC_CODES
        VC_TABLES
        VC_SCORED
        VC_CHUNK
    Py_ssize_t vc_store_size(Py_ssize_t n_rows, Py_ssize_t n_outputs, Py_ssize_t n_candidates,
                             Py_ssize_t depth) noexcept
    void begin "vm_cells->begin"(vc_growth *growth) noexcept
    int divide "vm_cells->divide"(vc_growth *growth) noexcept
    void finish "vm_cells->finish"(vc_growth *growth, double *values) noexcept
    void look_up "vm_cells->look_up"(const uint8_t *codes, Py_ssize_t stride, Py_ssize_t width,
                                     const Py_ssize_t *columns, const Py_ssize_t *cuts, Py_ssize_t depth,
                                     const double *values, Py_ssize_t n_outputs, float *out) noexcept
