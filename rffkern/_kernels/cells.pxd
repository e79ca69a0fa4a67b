"""Symmetric tables on vectors of rows: cells.h says what they do."""

from libc.stdint cimport int32_t, uint8_t

from .simd cimport table_cells
from .tiles cimport real

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
        VC_TABLES
    Py_ssize_t vc_store_size(Py_ssize_t n_rows, Py_ssize_t n_outputs, Py_ssize_t n_candidates,
                             Py_ssize_t depth) noexcept
    void begin "vm_cells->begin"(vc_growth *growth) noexcept
    int divide "vm_cells->divide"(vc_growth *growth) noexcept
    void finish "vm_cells->finish"(vc_growth *growth, double *values) noexcept
    void look_up "vm_cells->look_up"(const uint8_t *codes, Py_ssize_t stride, Py_ssize_t width,
                                     const Py_ssize_t *columns, const Py_ssize_t *cuts, Py_ssize_t depth,
                                     const double *values, Py_ssize_t n_outputs, float *out) noexcept
    bint are_columns "vm_cells->are_columns"(const int32_t *columns, Py_ssize_t size, Py_ssize_t stop) noexcept
    void score_tile "vm_score_tile"(const real *tile, Py_ssize_t stride, Py_ssize_t width, const int32_t *columns,
                                    const real *thresholds, Py_ssize_t depth, const real *values, Py_ssize_t n_outputs,
                                    Py_ssize_t n_tables, real *sums, Py_ssize_t n_rows, double *out) noexcept
    void score_row "vm_score_row"(const real *row, const int32_t *columns, const real *thresholds, Py_ssize_t depth,
                                  const real *values, Py_ssize_t n_outputs, Py_ssize_t n_tables, double *out) noexcept
