"""What the kernels share: the fused precision, the shape of tiles and strips, and the functions of vector math.

Rows are packed feature-major in tiles of TILE rows, and tiles are grouped in strips of STRIP_TILES.  A strip is the
unit of parallel work and of summation: partial sums are kept per strip and added in strip order, so that results do not
depend on the number of threads.
"""


from ..simd cimport table_f32, table_f64

ctypedef fused real:
    float
    double

cdef enum:
    TILE = 128
    STRIP_TILES = 16
    TERMS = 4
    TERM_BLOCK = 16
    LANES = 16
    EXPONENTIAL = 1   # shapes of kernels, by the power of the distance
    GAUSSIAN = 2


cdef inline Py_ssize_t n_strips(Py_ssize_t n_tiles) noexcept nogil:
    return (n_tiles + STRIP_TILES - 1) // STRIP_TILES


cdef inline Py_ssize_t strip_start(Py_ssize_t strip) noexcept nogil:
    return strip * STRIP_TILES


cdef inline Py_ssize_t strip_stop(Py_ssize_t strip, Py_ssize_t n_tiles) noexcept nogil:
    return min((strip + 1) * STRIP_TILES, n_tiles)


cdef inline const real *weight_tile(const real[:, ::1] weight, Py_ssize_t tile, Py_ssize_t n_tiles) noexcept nogil:
    """Weights of a tile.  Equal weights need two rows only: one for the full tiles and one for the last."""
    if weight.shape[0] == n_tiles:
        return &weight[tile, 0]
    return &weight[tile == n_tiles - 1, 0]


# The functions of the table that `simd` has chosen; vecmath.h says what they do, and how the C names become members.
cdef extern from "vecmath.h" nogil:
    void project "vm_table->project"(const real *tile, const real *next, Py_ssize_t n_features, const real *omega,
                                     real shift, real *u) noexcept
    void cospi "vm_table->cospi"(real *u, Py_ssize_t width) noexcept
    void sincospi "vm_table->sincospi"(const real *u, Py_ssize_t width, real *s, real *c) noexcept
    real surrogate "vm_table->surrogate"(const real *r2, const real *weight, const real *s, const real *c,
                                         real *v) noexcept
    void accumulate "vm_table->accumulate"(const real *tile, const real *next, Py_ssize_t n_features, const real *v,
                                           real *lanes) noexcept
    void flush "vm_table->flush"(real *lanes, Py_ssize_t n_sums, double *sums) noexcept
    void phase_sums "vm_table->phase_sums"(const real *a, const real *b, const real *weight, Py_ssize_t n_pairs,
                                           const real *cosine, const real *sine, double *sums) noexcept
    void phase_derivatives "vm_table->phase_derivatives"(
        const real *a, const real *b, const real *weight, real cosine, real sine, double *sums) noexcept
    void correlate "vm_table->correlate"(const real *r2, const real *weight, const real *h, double *sums) noexcept
    void correlate_unbounded "vm_table->correlate_unbounded"(const double *raw, const real *y, const real *weight,
                                                             const real *h, double *sums) noexcept
    void boost "vm_table->boost"(double *raw, const real *y, const real *weight, const real *h, double step, real *r2,
                                 double *sums) noexcept
    void step_derivatives "vm_table->step_derivatives"(
        const double *raw, const real *y, const real *weight, const real *h, double step, double *sums) noexcept
    real squared "vm_table->squared"(const real *r, const real *weight, const real *z, real *v) noexcept
    void regress "vm_table->regress"(const real *r, const real *weight, const real *h, double *sums) noexcept
    void shrink "vm_table->shrink"(double *residual, const real *weight, const real *h, double step, real *r,
                                   double *sums) noexcept
    void project_terms "vm_table->project_terms"(const real *tile, Py_ssize_t n_features, Py_ssize_t width,
                                                 const real *omegas, const real *shifts, real *u) noexcept
    void combine "vm_table->combine"(const real *tile, Py_ssize_t n_terms, Py_ssize_t width, const real *amplitudes,
                                     real *total) noexcept
    void products "vm_table->products"(const real *tile, Py_ssize_t n_terms, Py_ssize_t width, const real *v,
                                       real *sums) noexcept
    void weigh "vm_table->weigh"(real *tile, Py_ssize_t n_terms, Py_ssize_t width, const real *amplitudes,
                                 Py_ssize_t stride, Py_ssize_t n_outputs, const real *v) noexcept
    void proximal_step "vm_table->proximal_step"(real *values, real *mean, real *square, const real *slope,
                                                 Py_ssize_t size, double n_steps, real rate, real ridge,
                                                 real lasso) noexcept
    real dot_terms "vm_table->dot_terms"(const real *h, const real *amplitude) noexcept
    void add_scaled "vm_table->add_scaled"(const real *h, Py_ssize_t width, real amplitude, real *total) noexcept
    real dot "vm_table->dot"(const real *a, const real *b, Py_ssize_t width) noexcept
    void distances "vm_table->distances"(const real *tile, Py_ssize_t n_features, Py_ssize_t width, const real *centers,
                                         real *u) noexcept
    void decay "vm_table->decay"(real *u, Py_ssize_t width) noexcept
    void decay_root "vm_table->decay_root"(real *u, Py_ssize_t width) noexcept
    void column_products "vm_table->column_products"(const real *columns, Py_ssize_t stride, Py_ssize_t n_columns,
                                                     const double *a, const double *b, Py_ssize_t width,
                                                     double *sums) noexcept
    void add_columns "vm_table->add_columns"(const real *columns, Py_ssize_t stride, Py_ssize_t n_columns,
                                             const double *steps, Py_ssize_t width, double *total) noexcept
    void add_columns_twice "vm_table->add_columns_twice"(const real *columns, Py_ssize_t stride, Py_ssize_t n_columns,
                                                         const double *steps, const double *others, Py_ssize_t width,
                                                         double *total, double *other) noexcept


cdef inline const real *next_tile(const real[:, :, ::1] tiles, Py_ssize_t tile) noexcept nogil:
    """The tile that is read after a tile; the same one at the end."""
    return &tiles[tile + 1 if tile + 1 < tiles.shape[0] else tile, 0, 0]


cdef inline void evaluate(const real *tile, const real *next, Py_ssize_t n_features, const real *omegas,
                          const real *shifts, const real *posterior, Py_ssize_t n_components, Py_ssize_t start,
                          Py_ssize_t stop, real *h) noexcept nogil:
    """h = sum over j of posterior[j] cos(omegas[j] . x - shifts[j]) on a tile; angles in half turns.

    Components from `start` to `stop` are added to those before them; `start` is a multiple of TERMS.  With several
    components, omegas and shifts are read up to the next multiple.
    """
    cdef real u[TERMS * TILE]
    cdef Py_ssize_t i, j, k, group
    if n_components == 1:   # whose posterior is 1
        project(tile, next, n_features, omegas, shifts[0], h)
        cospi(h, TILE)
        return
    if start == 0:
        for i in range(TILE):
            h[i] = 0
    stop = min(stop, n_components)
    for group in range((stop - start + TERMS - 1) // TERMS):
        j = start + group * TERMS
        project_terms(tile, n_features, TILE, omegas + j * n_features, shifts + j, u)
        for k in range(min(<Py_ssize_t>TERMS, stop - j)):
            cospi(u + k * TILE, TILE)
            add_scaled(u + k * TILE, TILE, posterior[j + k], h)


cdef inline Py_ssize_t square_distances(const real *tile, Py_ssize_t n_features, Py_ssize_t width,
                                        const real[:, ::1] centers, const real[::1] shifts, Py_ssize_t term,
                                        real *u) noexcept nogil:
    """u[k * stride + i] = |row i - center|^2 for TERMS centers; return the stride.

    Differences of rows and centers are squared, or, with shifts, it is centers . row - shifts.
    """
    if shifts.shape[0]:
        project_terms(tile, n_features, width, &centers[term, 0], &shifts[term], u)
        return width
    distances(tile, n_features, width, &centers[term, 0], u)
    return TILE


cdef inline void decay_by(int shape, real *u, Py_ssize_t width) noexcept nogil:
    """u = 2^-u, or 2^-sqrt(u), of squared distances."""
    if shape == EXPONENTIAL:
        decay_root(u, width)
    else:
        decay(u, width)


cdef inline void add_kernels(const real *tile, Py_ssize_t n_features, Py_ssize_t width, const real[:, ::1] centers,
                             const real[::1] shifts, const double[:, ::1] weights, int shape,
                             Py_ssize_t start, Py_ssize_t stop, double *total) noexcept nogil:
    """total[o * TILE + i] += sum over centers of weights[o] k(row i, center), for the rows of a tile.

    Over the centers from `start` to `stop`, both multiples of TERMS.
    """
    cdef real u[TERMS * TILE]
    cdef Py_ssize_t k, o, group, term, stride
    for group in range(start // TERMS, stop // TERMS):
        term = group * TERMS
        stride = square_distances(tile, n_features, width, centers, shifts, term, u)
        for k in range(TERMS):
            decay_by(shape, u + k * stride, width)
        for o in range(weights.shape[0]):
            add_columns(u, stride, TERMS, &weights[o, term], width, total + o * TILE)
