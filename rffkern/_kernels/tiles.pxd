"""What the kernels share: the fused precision, the shape of tiles and blocks, and one wrapper per vector function.

Rows are packed feature-major in tiles of TILE rows, and tiles are grouped in blocks of BLOCK_TILES.  A block is the
unit of parallel work and of summation: partial sums are kept per block and added in block order, so that results do not
depend on the number of threads.
"""

from .simd cimport table_f32, table_f64

ctypedef fused real:
    float
    double

cdef enum:
    TILE = 128
    BLOCK_TILES = 16
    TERMS = 4
    TERM_BLOCK = 16
    LANES = 16


cdef inline Py_ssize_t n_blocks(Py_ssize_t n_tiles) noexcept nogil:
    return (n_tiles + BLOCK_TILES - 1) // BLOCK_TILES


cdef inline Py_ssize_t block_start(Py_ssize_t block) noexcept nogil:
    return block * BLOCK_TILES


cdef inline Py_ssize_t block_stop(Py_ssize_t block, Py_ssize_t n_tiles) noexcept nogil:
    return min((block + 1) * BLOCK_TILES, n_tiles)


cdef inline const real *weight_tile(const real[:, ::1] weight, Py_ssize_t tile, Py_ssize_t n_tiles) noexcept nogil:
    """Weights of a tile.  Equal weights need two rows only: one for the full tiles and one for the last."""
    if weight.shape[0] == n_tiles:
        return &weight[tile, 0]
    return &weight[tile == n_tiles - 1, 0]


cdef inline void project(const real *tile, Py_ssize_t n_features, const real *omega, real shift,
                         real *u) noexcept nogil:
    if real is float:
        table_f32.project(tile, n_features, omega, shift, u)
    else:
        table_f64.project(tile, n_features, omega, shift, u)


cdef inline void cospi(real *u, Py_ssize_t width) noexcept nogil:
    if real is float:
        table_f32.cospi(u, width)
    else:
        table_f64.cospi(u, width)


cdef inline void sincospi(const real *u, Py_ssize_t width, real *s, real *c) noexcept nogil:
    if real is float:
        table_f32.sincospi(u, width, s, c)
    else:
        table_f64.sincospi(u, width, s, c)


cdef inline double surrogate(const real *r2, const real *weight, const real *s, const real *c,
                             real *v) noexcept nogil:
    if real is float:
        return table_f32.surrogate(r2, weight, s, c, v)
    else:
        return table_f64.surrogate(r2, weight, s, c, v)


cdef inline void accumulate(const real *tile, Py_ssize_t n_features, const real *v, real *lanes) noexcept nogil:
    if real is float:
        table_f32.accumulate(tile, n_features, v, lanes)
    else:
        table_f64.accumulate(tile, n_features, v, lanes)


cdef inline void flush(real *lanes, Py_ssize_t n_sums, double *sums) noexcept nogil:
    if real is float:
        table_f32.flush(lanes, n_sums, sums)
    else:
        table_f64.flush(lanes, n_sums, sums)


cdef inline void phase_sums(const real *a, const real *b, const real *weight, Py_ssize_t n_pairs, const real *cosine,
                            const real *sine, double *sums) noexcept nogil:
    if real is float:
        table_f32.phase_sums(a, b, weight, n_pairs, cosine, sine, sums)
    else:
        table_f64.phase_sums(a, b, weight, n_pairs, cosine, sine, sums)


cdef inline void phase_slopes(const real *a, const real *b, const real *weight, real cosine, real sine,
                              double *sums) noexcept nogil:
    if real is float:
        table_f32.phase_slopes(a, b, weight, cosine, sine, sums)
    else:
        table_f64.phase_slopes(a, b, weight, cosine, sine, sums)


cdef inline void correlate(const real *r2, const real *weight, const real *h, double *sums) noexcept nogil:
    if real is float:
        table_f32.correlate(r2, weight, h, sums)
    else:
        table_f64.correlate(r2, weight, h, sums)


cdef inline void correlate_unbounded(const double *raw, const real *y, const real *weight, const real *h,
                                     double *sums) noexcept nogil:
    if real is float:
        table_f32.correlate_unbounded(raw, y, weight, h, sums)
    else:
        table_f64.correlate_unbounded(raw, y, weight, h, sums)


cdef inline void boost(double *raw, const real *y, const real *weight, const real *h, double step, real *r2,
                       double *sums) noexcept nogil:
    if real is float:
        table_f32.boost(raw, y, weight, h, step, r2, sums)
    else:
        table_f64.boost(raw, y, weight, h, step, r2, sums)


cdef inline void step_slopes(const double *raw, const real *y, const real *weight, const real *h, double step,
                             double *sums) noexcept nogil:
    if real is float:
        table_f32.step_slopes(raw, y, weight, h, step, sums)
    else:
        table_f64.step_slopes(raw, y, weight, h, step, sums)


cdef inline double squared(const real *r, const real *weight, const real *z, real *v) noexcept nogil:
    if real is float:
        return table_f32.squared(r, weight, z, v)
    else:
        return table_f64.squared(r, weight, z, v)


cdef inline void regress(const real *r, const real *weight, const real *h, double *sums) noexcept nogil:
    if real is float:
        table_f32.regress(r, weight, h, sums)
    else:
        table_f64.regress(r, weight, h, sums)


cdef inline void shrink(double *residual, const real *weight, const real *h, double step, real *r,
                        double *sums) noexcept nogil:
    if real is float:
        table_f32.shrink(residual, weight, h, step, r, sums)
    else:
        table_f64.shrink(residual, weight, h, step, r, sums)


cdef inline void project_terms(const real *tile, Py_ssize_t n_features, Py_ssize_t width, const real *omegas,
                               const real *shifts, real *u) noexcept nogil:
    if real is float:
        table_f32.project_terms(tile, n_features, width, omegas, shifts, u)
    else:
        table_f64.project_terms(tile, n_features, width, omegas, shifts, u)


cdef inline void combine(const real *tile, Py_ssize_t n_terms, Py_ssize_t width, const real *amplitudes,
                         real *total) noexcept nogil:
    if real is float:
        table_f32.combine(tile, n_terms, width, amplitudes, total)
    else:
        table_f64.combine(tile, n_terms, width, amplitudes, total)


cdef inline void products(const real *tile, Py_ssize_t n_terms, Py_ssize_t width, const real *v,
                          real *sums) noexcept nogil:
    if real is float:
        table_f32.products(tile, n_terms, width, v, sums)
    else:
        table_f64.products(tile, n_terms, width, v, sums)


cdef inline void weigh(real *tile, Py_ssize_t n_terms, Py_ssize_t width, const real *amplitudes, Py_ssize_t stride,
                       Py_ssize_t n_outputs, const real *v) noexcept nogil:
    if real is float:
        table_f32.weigh(tile, n_terms, width, amplitudes, stride, n_outputs, v)
    else:
        table_f64.weigh(tile, n_terms, width, amplitudes, stride, n_outputs, v)


cdef inline void proximal_step(real *values, real *mean, real *square, const real *slope, Py_ssize_t size,
                               double n_steps, real rate, real ridge, real lasso) noexcept nogil:
    if real is float:
        table_f32.proximal_step(values, mean, square, slope, size, n_steps, rate, ridge, lasso)
    else:
        table_f64.proximal_step(values, mean, square, slope, size, n_steps, rate, ridge, lasso)


cdef inline real dot_terms(const real *h, const real *amplitude) noexcept nogil:
    if real is float:
        return table_f32.dot_terms(h, amplitude)
    else:
        return table_f64.dot_terms(h, amplitude)


cdef inline void add_scaled(const real *h, Py_ssize_t width, real amplitude, real *total) noexcept nogil:
    if real is float:
        table_f32.add_scaled(h, width, amplitude, total)
    else:
        table_f64.add_scaled(h, width, amplitude, total)


cdef inline real dot(const real *a, const real *b, Py_ssize_t width) noexcept nogil:
    if real is float:
        return table_f32.dot(a, b, width)
    else:
        return table_f64.dot(a, b, width)


cdef inline void distances(const real *tile, Py_ssize_t n_features, Py_ssize_t width, const real *centers,
                           real *u) noexcept nogil:
    if real is float:
        table_f32.distances(tile, n_features, width, centers, u)
    else:
        table_f64.distances(tile, n_features, width, centers, u)


cdef inline void decay(real *u, Py_ssize_t width) noexcept nogil:
    if real is float:
        table_f32.decay(u, width)
    else:
        table_f64.decay(u, width)


cdef inline void column_products(const real *columns, Py_ssize_t stride, Py_ssize_t n_columns, const double *a,
                                 const double *b, Py_ssize_t width, double *sums) noexcept nogil:
    if real is float:
        table_f32.column_products(columns, stride, n_columns, a, b, width, sums)
    else:
        table_f64.column_products(columns, stride, n_columns, a, b, width, sums)


cdef inline void add_columns(const real *columns, Py_ssize_t stride, Py_ssize_t n_columns, const double *steps,
                             Py_ssize_t width, double *total) noexcept nogil:
    if real is float:
        table_f32.add_columns(columns, stride, n_columns, steps, width, total)
    else:
        table_f64.add_columns(columns, stride, n_columns, steps, width, total)


cdef inline void evaluate(const real *tile, Py_ssize_t n_features, const real *omegas, const real *shifts,
                          const real *posterior, Py_ssize_t n_components, real *h) noexcept nogil:
    """h = sum over j of posterior[j] cos(omegas[j] . x - shifts[j]) on a tile; angles in half turns.

    With several components, omegas and shifts are read up to the next multiple of TERMS.
    """
    cdef real u[TERMS * TILE]
    cdef Py_ssize_t i, j, k, group
    if n_components == 1:   # whose posterior is 1
        project(tile, n_features, omegas, shifts[0], h)
        cospi(h, TILE)
        return
    for i in range(TILE):
        h[i] = 0
    for group in range((n_components + TERMS - 1) // TERMS):
        j = group * TERMS
        project_terms(tile, n_features, TILE, omegas + j * n_features, shifts + j, u)
        for k in range(min(<Py_ssize_t>TERMS, n_components - j)):
            cospi(u + k * TILE, TILE)
            add_scaled(u + k * TILE, TILE, posterior[j + k], h)


cdef inline void add_kernels(const real *tile, Py_ssize_t n_features, Py_ssize_t width, const real[:, ::1] centers,
                              const double[:, ::1] weights, double *total) noexcept nogil:
    """total[o * TILE + i] += sum over centers of weights[o] 2^-|row i - center|^2, for the rows of a tile."""
    cdef real u[TERMS * TILE]
    cdef Py_ssize_t k, o, group, term
    for group in range(centers.shape[0] // TERMS):
        term = group * TERMS
        distances(tile, n_features, width, &centers[term, 0], u)
        for k in range(TERMS):
            decay(u + k * TILE, width)
        for o in range(weights.shape[0]):
            add_columns(u, TILE, TERMS, &weights[o, term], width, total + o * TILE)
