"""Shapley values of products, for ROWS rows at once: products.h says what the functions do."""

from ..simd cimport table_explain

cdef extern from "products.h" nogil:
    enum:
        VX_ROWS
    ctypedef struct vx_rule:
        const double *nodes
        const double *weights
        Py_ssize_t n_nodes
    Py_ssize_t vx_scratch_size(Py_ssize_t k, int with_pairs) noexcept
    void angles "vm_explain->angles"(const double *tile, const Py_ssize_t *columns, const double *numbers,
                                     Py_ssize_t n_entries, double *out) noexcept
    void squares "vm_explain->squares"(const double *tile, const Py_ssize_t *columns, const double *numbers,
                                       const double *centers, Py_ssize_t n_entries, double *out) noexcept
    void within "vm_explain->within"(const double *tile, const Py_ssize_t *columns, const double *lows,
                                     const double *highs, Py_ssize_t n_entries, double *factors) noexcept
    void complex_values "vm_explain->complex_values"(
        const double *factors, const double *real_means, const double *imaginary_means, Py_ssize_t k,
        const double *turn, vx_rule rule, double *scratch, double *out) noexcept
    void real_values "vm_explain->real_values"(const double *factors, const double *means, Py_ssize_t k, vx_rule rule,
                                               double *scratch, double *out) noexcept
    void complex_pairs "vm_explain->complex_pairs"(
        const double *factors, const double *real_means, const double *imaginary_means, Py_ssize_t k,
        const double *turn, vx_rule rule, double *scratch, double *out) noexcept
    void real_pairs "vm_explain->real_pairs"(const double *factors, const double *means, Py_ssize_t k, vx_rule rule,
                                             double *scratch, double *out) noexcept
    void add "vm_explain->add"(const double *values, double weight, double *totals) noexcept
