"""Tables of vector math functions, one per precision, for the level chosen at import."""

cdef extern from "vecmath.h" nogil:
    ctypedef struct vecmath_f32:
        void project(const float *, Py_ssize_t, const float *, float, float *) noexcept nogil
        void cospi(float *, Py_ssize_t) noexcept nogil
        void sincospi(const float *, Py_ssize_t, float *, float *) noexcept nogil
        float surrogate(const float *, const float *, const float *, const float *, float *) noexcept nogil
        void accumulate(const float *, Py_ssize_t, const float *, float *) noexcept nogil
        void flush(float *, Py_ssize_t, double *) noexcept nogil
        void phase_sums(const float *, const float *, const float *, Py_ssize_t, const float *, const float *,
                        double *) noexcept nogil
        void phase_slopes(const float *, const float *, const float *, float, float, double *) noexcept nogil
        void correlate(const float *, const float *, const float *, double *) noexcept nogil
        void correlate_unbounded(const double *, const float *, const float *, const float *, double *) noexcept nogil
        void boost(double *, const float *, const float *, const float *, double, float *, double *) noexcept nogil
        void step_slopes(const double *, const float *, const float *, const float *, double, double *) noexcept nogil
        float squared(const float *, const float *, const float *, float *) noexcept nogil
        void regress(const float *, const float *, const float *, double *) noexcept nogil
        void shrink(double *, const float *, const float *, double, float *, double *) noexcept nogil
        void project_terms(const float *, Py_ssize_t, Py_ssize_t, const float *, const float *, float *) noexcept nogil
        void combine(const float *, Py_ssize_t, Py_ssize_t, const float *, float *) noexcept nogil
        void products(const float *, Py_ssize_t, Py_ssize_t, const float *, float *) noexcept nogil
        void weigh(float *, Py_ssize_t, Py_ssize_t, const float *, Py_ssize_t, Py_ssize_t, const float *) noexcept nogil
        void proximal_step(float *, float *, float *, const float *, Py_ssize_t, double, float, float,
                           float) noexcept nogil
        float dot_terms(const float *, const float *) noexcept nogil
        void add_scaled(const float *, Py_ssize_t, float, float *) noexcept nogil
        float dot(const float *, const float *, Py_ssize_t) noexcept nogil
        void distances(const float *, Py_ssize_t, Py_ssize_t, const float *, float *) noexcept nogil
        void decay(float *, Py_ssize_t) noexcept nogil
        void column_products(const float *, Py_ssize_t, Py_ssize_t, const double *, const double *, Py_ssize_t,
                             double *) noexcept nogil
        void add_columns(const float *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t, double *) noexcept nogil

    ctypedef struct vecmath_f64:
        void project(const double *, Py_ssize_t, const double *, double, double *) noexcept nogil
        void cospi(double *, Py_ssize_t) noexcept nogil
        void sincospi(const double *, Py_ssize_t, double *, double *) noexcept nogil
        double surrogate(const double *, const double *, const double *, const double *, double *) noexcept nogil
        void accumulate(const double *, Py_ssize_t, const double *, double *) noexcept nogil
        void flush(double *, Py_ssize_t, double *) noexcept nogil
        void phase_sums(const double *, const double *, const double *, Py_ssize_t, const double *, const double *,
                        double *) noexcept nogil
        void phase_slopes(const double *, const double *, const double *, double, double, double *) noexcept nogil
        void correlate(const double *, const double *, const double *, double *) noexcept nogil
        void correlate_unbounded(const double *, const double *, const double *, const double *,
                                 double *) noexcept nogil
        void boost(double *, const double *, const double *, const double *, double, double *, double *) noexcept nogil
        void step_slopes(const double *, const double *, const double *, const double *, double,
                         double *) noexcept nogil
        double squared(const double *, const double *, const double *, double *) noexcept nogil
        void regress(const double *, const double *, const double *, double *) noexcept nogil
        void shrink(double *, const double *, const double *, double, double *, double *) noexcept nogil
        void project_terms(const double *, Py_ssize_t, Py_ssize_t, const double *, const double *,
                           double *) noexcept nogil
        void combine(const double *, Py_ssize_t, Py_ssize_t, const double *, double *) noexcept nogil
        void products(const double *, Py_ssize_t, Py_ssize_t, const double *, double *) noexcept nogil
        void weigh(double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t, Py_ssize_t,
                   const double *) noexcept nogil
        void proximal_step(double *, double *, double *, const double *, Py_ssize_t, double, double, double,
                           double) noexcept nogil
        double dot_terms(const double *, const double *) noexcept nogil
        void add_scaled(const double *, Py_ssize_t, double, double *) noexcept nogil
        double dot(const double *, const double *, Py_ssize_t) noexcept nogil
        void distances(const double *, Py_ssize_t, Py_ssize_t, const double *, double *) noexcept nogil
        void decay(double *, Py_ssize_t) noexcept nogil
        void column_products(const double *, Py_ssize_t, Py_ssize_t, const double *, const double *, Py_ssize_t,
                             double *) noexcept nogil
        void add_columns(const double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t, double *) noexcept nogil

cdef const vecmath_f32 *table_f32
cdef const vecmath_f64 *table_f64
