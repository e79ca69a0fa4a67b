"""Passes over rows of boosting, in single precision: boost_rows.h says what they do."""

from ..simd cimport table_boost

cdef extern from "boost_rows.h" nogil:
    ctypedef enum vb_loss:  # those that kernels treat apart
        VB_SOFTMAX
        VB_HUBER
        VB_QUANTILE
        VB_TWEEDIE
    int VB_N_LOSSES
    const char *VB_LOSS_NAMES
    ctypedef struct vb_rows:
        vb_loss loss
        float parameter
        Py_ssize_t n_outputs, stride
        float *scores
        const float *directions
        const float *targets
        const float *weight
        float step
    void copy_columns "vm_boost->copy_columns"(
        const float *columns, Py_ssize_t stride, const Py_ssize_t *subset, Py_ssize_t n_columns, const float *weight,
        Py_ssize_t width, float *out) noexcept
    void term_totals "vm_boost->term_totals"(
        const float *weight, const float *gradient, Py_ssize_t stride, Py_ssize_t n_outputs, Py_ssize_t width,
        double *totals) noexcept
    void term_sums "vm_boost->term_sums"(
        const float *columns, Py_ssize_t stride, const Py_ssize_t *subset, Py_ssize_t n_columns, const double *omega,
        const float *weight, const float *gradient, Py_ssize_t gradient_stride, Py_ssize_t n_outputs, Py_ssize_t width,
        float *sine, float *cosine, double *lanes) noexcept
    void term_gradient "vm_boost->term_gradient"(
        const float *columns, Py_ssize_t n_columns, const float *sine, const float *cosine, const float *weight,
        const float *gradient, Py_ssize_t gradient_stride, Py_ssize_t n_outputs, const double *numbers,
        Py_ssize_t width, float *open, double *lanes) noexcept
    void evaluate_columns "vm_boost->evaluate_term"(
        const float *columns, Py_ssize_t stride, const Py_ssize_t *subset, Py_ssize_t n_columns, const double *omega,
        const double *amplitudes, Py_ssize_t n_outputs, Py_ssize_t width, float *out) noexcept
    void add_linear "vm_boost->add_linear"(
        const float *columns, Py_ssize_t stride, const Py_ssize_t *subset, Py_ssize_t n_columns,
        const double *coefficients, Py_ssize_t width, float *out) noexcept
    void add_products "vm_boost->add_products"(
        const float *columns, Py_ssize_t stride, const Py_ssize_t *subset, Py_ssize_t n_columns, const float *v,
        Py_ssize_t width, double *sums) noexcept
    void derivatives "vm_boost->derivatives"(
        const vb_rows *rows, Py_ssize_t first, Py_ssize_t last, double *sums) noexcept
    double update_rows "vm_boost->update"(const vb_rows *rows, Py_ssize_t first, Py_ssize_t last, float *gradient,
                                          float *hessian) noexcept
