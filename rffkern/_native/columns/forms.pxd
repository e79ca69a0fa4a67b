"""Forms of columns on vectors of values: forms.h says what they do."""

from ..simd cimport table_forms

cdef extern from "forms.h" nogil:
    ctypedef struct vf_knot:
        double knot, height, slope, next
    ctypedef struct vm_form:
        int kind
        double missing, divisor, reciprocal, a, b, c, d, origin
        float spread
        int base, shift, last
        Py_ssize_t reach, stride
        const double *table
        const unsigned short *guide
        const vf_knot *knots
    int VF_MOST_GUIDED, VF_RAW, VF_STANDARD, VF_BOUNDED, VF_RANK, VF_WITHIN, VF_TABLE, VF_PART
    int VF_HOUR, VF_WEEKDAY, VF_YEARDAY
    int vf_bits(float x) noexcept
    double vf_reciprocal(double b) noexcept
    int vf_bucket(const vm_form *form, double x) noexcept
    int bounded "vm_forms->bounded"(const double *values, Py_ssize_t width, double limit) noexcept
    void apply_forms "vm_forms->apply"(const vm_form *forms, Py_ssize_t n_forms, const double *values, Py_ssize_t width,
                                       int missing, double *out, Py_ssize_t stride) noexcept
