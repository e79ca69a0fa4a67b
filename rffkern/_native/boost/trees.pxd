"""Symmetric trees on vectors of rows: trees.h says what they do."""

from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t

from ..simd cimport table_trees

cdef extern from "trees.h" nogil:
    ctypedef struct vt_growth:
        const uint8_t *binned
        const float *gradient
        const float *hessian
        const Py_ssize_t *n_bins
        const Py_ssize_t *candidates
        Py_ssize_t stride, n_rows, n_outputs, n_candidates, max_depth
        double reg
        double *store
        Py_ssize_t depth
        double scale, score
        Py_ssize_t candidate, threshold
    enum:
        VT_FEW_CANDIDATES
        VT_MAX_DEPTH
        VT_BINS
        VT_SUMMED
        VT_MAX_SCORED_DEPTH
        VT_TREE_BLOCK
    Py_ssize_t vt_store_size(Py_ssize_t n_rows, Py_ssize_t n_outputs, Py_ssize_t n_candidates,
                             Py_ssize_t depth) noexcept
    void begin "vm_trees->begin"(vt_growth *growth) noexcept
    int split_leaves "vm_trees->split_leaves"(vt_growth *growth) noexcept
    void finish "vm_trees->finish"(vt_growth *growth, double *values) noexcept
    void number_leaves "vm_trees->number_leaves"(const uint8_t *binned, Py_ssize_t stride, Py_ssize_t width,
                                                 const Py_ssize_t *columns, const Py_ssize_t *thresholds,
                                                 Py_ssize_t depth, uint16_t *leaves) noexcept
    void sum_leaves "vm_trees->sum_leaves"(const uint16_t *leaves, Py_ssize_t n_rows, const float *gradient,
                                           const float *hessian, double *sums) noexcept
    void look_up "vm_trees->look_up"(const uint8_t *binned, Py_ssize_t stride, Py_ssize_t width,
                                     const Py_ssize_t *columns, const Py_ssize_t *thresholds, Py_ssize_t depth,
                                     const double *values, Py_ssize_t n_outputs, float *out) noexcept
