/* Body of vecmath.c for one precision; included once per REAL.  No include guard on purpose. */

#define FN(name) EXPAND3(name, SUFFIX, VM_LEVEL)
#define POLY(name) EXPAND2(name, SUFFIX)

#define VM_PROTOTYPE(RESULT, name, arguments) static RESULT FN(name) arguments;
VM_FUNCTIONS(VM_PROTOTYPE, REAL)

typedef REAL FN(vector) VECTOR_OF(REAL);
enum { FN(lanes) = sizeof(FN(vector)) / sizeof(REAL) };

static inline WORD FN(bits)(REAL x)
{
    WORD w;
    memcpy(&w, &x, sizeof w);
    return w;
}

static inline REAL FN(from_bits)(WORD w)
{
    REAL x;
    memcpy(&x, &w, sizeof x);
    return x;
}

/* (-1)^n for the integer n held in `rounded` = MAGIC + n, as a bit to flip. */
static inline WORD FN(sign_bit)(REAL rounded) { return FN(bits)(rounded) << SIGN_SHIFT; }

/* 2^n for the integer n held in `rounded` = MAGIC + n, |n| < 127. */
static inline REAL FN(power)(REAL rounded)
{
    return FN(from_bits)((FN(bits)(rounded) + EXPONENT_BIAS) << EXPONENT_SHIFT);
}

/* 1 / power for a power of two: its exponent, mirrored. */
static inline REAL FN(inverse_power)(REAL power)
{
    return FN(from_bits)(((WORD)(2 * EXPONENT_BIAS) << EXPONENT_SHIFT) - FN(bits)(power));
}

/* Angles too large to carry information, inf and nan count as zero, so that a cosine is never outside [-1, 1]. */
static inline REAL FN(bounded)(REAL u) { return FABS(u) < ANGLE_LIMIT ? u : (REAL)0; }

/* Rows of a slice stay in registers while the features go by: two chains of loads and nothing stored in between. */
enum { FN(slice) = SLICE_VECTORS * FN(lanes) };

/* Fetch half of a tile ahead of its use, in address order, a step for each slice and feature: `project` asks for the
   first half of the next tile and `accumulate` for the second, so that memory seldom idles during arithmetic. */
static ALWAYS_INLINE void FN(fetch)(const REAL *half, ptrdiff_t step)
{
    int i;
    for (i = 0; i < FN(slice) / 2; i += 64 / (int)sizeof(REAL)) PREFETCH(half + step * (FN(slice) / 2) + i);
}

static void FN(project)(const REAL *restrict tile, const REAL *next, ptrdiff_t n_features, const REAL *restrict omega,
                        REAL shift, REAL *restrict u)
{
    ptrdiff_t j, row, step = 0;
    int v;
    for (row = 0; row < VM_TILE; row += FN(slice)) {
        FN(vector) sums[SLICE_VECTORS];
        for (v = 0; v < SLICE_VECTORS; v++) sums[v] = (FN(vector)){0} - shift;
        for (j = 0; j < n_features; j++) {
            const REAL *x = tile + j * VM_TILE + row;
            const REAL w = omega[j];
            FN(fetch)(next, step++);
            for (v = 0; v < SLICE_VECTORS; v++) sums[v] += w * *(const FN(vector) *)(x + v * FN(lanes));
        }
        for (v = 0; v < SLICE_VECTORS; v++) *(FN(vector) *)(u + row + v * FN(lanes)) = sums[v];
    }
}

static inline REAL FN(cospi_point)(REAL u)
{
    REAL rounded, r, z;
    u = FN(bounded)(u);
    rounded = u + MAGIC;
    r = u - (rounded - MAGIC);
    z = r * r;
    return FN(from_bits)(FN(bits)(1 + z * POLY(cosine)(z)) ^ FN(sign_bit)(rounded));
}

static void FN(cospi)(REAL *restrict u, ptrdiff_t width)
{
    ptrdiff_t i, k;
    for (k = 0; k < width; k += VM_LANES)
#pragma omp simd
        for (i = 0; i < VM_LANES; i++) u[k + i] = FN(cospi_point)(u[k + i]);
}

static void FN(sincospi)(const REAL *restrict u, ptrdiff_t width, REAL *restrict s, REAL *restrict c)
{
    ptrdiff_t i, k;
    for (k = 0; k < width; k += VM_LANES)
#pragma omp simd
        for (i = k; i < k + VM_LANES; i++) {
            REAL x = FN(bounded)(u[i]), rounded = x + MAGIC, r = x - (rounded - MAGIC), z = r * r;
            WORD flip = FN(sign_bit)(rounded);
            s[i] = FN(from_bits)(FN(bits)(r * POLY(sine)(z)) ^ flip);
            c[i] = FN(from_bits)(FN(bits)(1 + z * POLY(cosine)(z)) ^ flip);
        }
}

static REAL FN(surrogate)(const REAL *restrict r2, const REAL *restrict weight, const REAL *restrict s,
                          const REAL *restrict c, REAL *restrict v)
{
    REAL sum = 0;
    ptrdiff_t i;
    /* 2^x - 1 instead of 2^x: small residuals keep their digits, and rows that pad a tile (r2 = 0) add exactly 0. */
#pragma omp simd reduction(+ : sum)
    for (i = 0; i < VM_TILE; i++) {
        REAL x = -r2[i] * c[i], rounded = x + MAGIC, f = x - (rounded - MAGIC), q = f * f;
        REAL scale = FN(power)(rounded);
        REAL p = scale * (f * POLY(exponential_odd)(q) + q * POLY(exponential_even)(q));
        sum += weight[i] * (p + (scale - 1));
        v[i] = weight[i] * (r2[i] * s[i]) * (p + scale);
    }
    return sum;
}

static void FN(accumulate)(const REAL *restrict tile, const REAL *next, ptrdiff_t n_features, const REAL *restrict v,
                           REAL *restrict lanes)
{
    const REAL *half = next + n_features * VM_TILE / 2;
    ptrdiff_t j, row, step = 0;
    int k;
    for (row = 0; row < VM_TILE; row += FN(slice)) {
        FN(vector) held[SLICE_VECTORS];
        for (k = 0; k < SLICE_VECTORS; k++) held[k] = *(const FN(vector) *)(v + row + k * FN(lanes));
        for (j = 0; j < n_features; j++) {
            const REAL *x = tile + j * VM_TILE + row;
            FN(vector) *sum = (FN(vector) *)(lanes + j * VM_LANES);
            FN(vector) even = *sum, odd = {0};
            FN(fetch)(half, step++);
            for (k = 0; k < SLICE_VECTORS; k += 2) {
                even += held[k] * *(const FN(vector) *)(x + k * FN(lanes));
                odd += held[k + 1] * *(const FN(vector) *)(x + (k + 1) * FN(lanes));
            }
            *sum = even + odd;
        }
    }
}

static void FN(flush)(REAL *restrict lanes, ptrdiff_t n_sums, double *restrict sums)
{
    ptrdiff_t j, l;
    for (j = 0; j < n_sums; j++)
        for (l = 0; l < FN(lanes); l++) {
            sums[j] += (double)lanes[j * VM_LANES + l];
            lanes[j * VM_LANES + l] = 0;
        }
}

static void FN(phase_sums)(const REAL *restrict a, const REAL *restrict b, const REAL *restrict weight,
                           ptrdiff_t n_pairs, const REAL *restrict cosine, const REAL *restrict sine,
                           double *restrict sums)
{
    REAL fraction[VM_TILE], power[VM_TILE];
    ptrdiff_t i, k;
    for (k = 0; k < n_pairs; k++) {
        const REAL ck = cosine[k], sk = sine[k];
        REAL here = 0, opposite = 0;
        /* Two short loops: one long chain of operations per row would leave the arithmetic units waiting. */
#pragma omp simd
        for (i = 0; i < VM_TILE; i++) {
            REAL z = a[i] * ck + b[i] * sk, rounded = z + MAGIC;
            fraction[i] = z - (rounded - MAGIC);
            power[i] = FN(power)(rounded);
        }
        /* Phases b and b + pi need 2^-z and 2^z: one range reduction and one polynomial, split by parity, do both. */
#pragma omp simd reduction(+ : here, opposite)
        for (i = 0; i < VM_TILE; i++) {
            REAL f = fraction[i], q = f * f, up = power[i], down = FN(inverse_power)(up);
            REAL odd = f * POLY(exponential_odd)(q), even = q * POLY(exponential_even)(q);
            opposite += weight[i] * (up * (even + odd) + (up - 1));
            here += weight[i] * (down * (even - odd) + (down - 1));
        }
        sums[k] += here;
        sums[n_pairs + k] += opposite;
    }
}

static void FN(phase_slopes)(const REAL *restrict a, const REAL *restrict b, const REAL *restrict weight, REAL cosine,
                             REAL sine, double *restrict sums)
{
    REAL value = 0, slope = 0, curvature = 0;
    ptrdiff_t i;
#pragma omp simd reduction(+ : value, slope, curvature)
    for (i = 0; i < VM_TILE; i++) {
        REAL z = a[i] * cosine + b[i] * sine, turned = b[i] * cosine - a[i] * sine;
        REAL rounded = MAGIC - z, f = (MAGIC - rounded) - z, q = f * f, scale = FN(power)(rounded);
        REAL p = scale * (f * POLY(exponential_odd)(q) + q * POLY(exponential_even)(q)), e = weight[i] * (p + scale);
        value += weight[i] * (p + (scale - 1));
        slope += turned * e;
        curvature += (z + (REAL)LN2 * turned * turned) * e;
    }
    sums[0] += value;
    sums[1] += slope;
    sums[2] += curvature;
}

/* -y raw log2(e) as a whole number and a fraction: the margins are kept in double, and lose no digit this way. */
static inline void FN(split_margins)(const double *restrict raw, const REAL *restrict y, REAL *restrict whole,
                                     REAL *restrict fraction)
{
    ptrdiff_t i;
#pragma omp simd
    for (i = 0; i < VM_TILE; i++) {
        double x = -LOG2E * ((double)y[i] * raw[i]), n = (x + 6755399441055744.0) - 6755399441055744.0;
        whole[i] = (REAL)n;
        fraction[i] = (REAL)(x - n);
    }
}

/* 2^(whole + fraction), held to what a sum over a tile can hold. */
static inline REAL FN(row_weight)(REAL whole, REAL fraction)
{
    REAL q = fraction * fraction, n = whole < MAX_EXPONENT ? whole : MAX_EXPONENT, scale;
    n = n > MIN_EXPONENT ? n : MIN_EXPONENT;
    scale = FN(power)(n + MAGIC);
    return scale + scale * (fraction * POLY(exponential_odd)(q) + q * POLY(exponential_even)(q));
}

static void FN(correlate)(const REAL *restrict r2, const REAL *restrict weight, const REAL *restrict h,
                          double *restrict sums)
{
    REAL total = 0, product = 0;
    ptrdiff_t i;
    /* |h| <= 1, both sums round alike, and rounding keeps order: the first is never below the magnitude of the second. */
#pragma omp simd reduction(+ : total, product)
    for (i = 0; i < VM_TILE; i++) {
        REAL r = weight[i] * r2[i];
        total += FABS(r);
        product += r * h[i];
    }
    sums[0] += total;
    sums[1] += product;
}

static void FN(correlate_unbounded)(const double *restrict raw, const REAL *restrict y, const REAL *restrict weight,
                                    const REAL *restrict h, double *restrict sums)
{
    REAL whole[VM_TILE], fraction[VM_TILE], total = 0, product = 0;
    ptrdiff_t i;
    FN(split_margins)(raw, y, whole, fraction);
#pragma omp simd reduction(+ : total, product)
    for (i = 0; i < VM_TILE; i++) {
        REAL w = weight[i] * FN(row_weight)(whole[i], fraction[i]);
        total += w;
        product += w * (y[i] * h[i]);
    }
    sums[0] += total;
    sums[1] += product;
}

static void FN(step_slopes)(const double *restrict raw, const REAL *restrict y, const REAL *restrict weight,
                            const REAL *restrict h, double step, double *restrict sums)
{
    double stepped[VM_TILE];
    REAL whole[VM_TILE], fraction[VM_TILE], value = 0, slope = 0, curvature = 0;
    ptrdiff_t i;
#pragma omp simd
    for (i = 0; i < VM_TILE; i++) stepped[i] = raw[i] + step * (double)h[i];
    FN(split_margins)(stepped, y, whole, fraction);
#pragma omp simd reduction(+ : value, slope, curvature)
    for (i = 0; i < VM_TILE; i++) {
        REAL e = weight[i] * FN(row_weight)(whole[i], fraction[i]), along = y[i] * h[i];
        value += e;
        slope += along * e;
        curvature += along * (along * e);
    }
    sums[0] += value;
    sums[1] += slope;
    sums[2] += curvature;
}

static void FN(boost)(double *restrict raw, const REAL *restrict y, const REAL *restrict weight,
                      const REAL *restrict h, double step, REAL *restrict r2, double *restrict sums)
{
    REAL whole[VM_TILE], fraction[VM_TILE], total = 0;
    /* Numbers that are not negative are in the order of their bits, and integers have a maximum all compilers know. */
    SIGNED_WORD largest = (SIGNED_WORD)FN(bits)((REAL)sums[1]);
    ptrdiff_t i;
#pragma omp simd
    for (i = 0; i < VM_TILE; i++) raw[i] += step * (double)h[i];
    FN(split_margins)(raw, y, whole, fraction);
#pragma omp simd reduction(+ : total) reduction(max : largest)
    for (i = 0; i < VM_TILE; i++) {
        REAL w = FN(row_weight)(whole[i], fraction[i]), r;
        SIGNED_WORD size;
        total += weight[i] * w;
        r = w < (REAL)VM_MAX_RESIDUAL ? w : (REAL)VM_MAX_RESIDUAL;
        r = r > (REAL)VM_MIN_RESIDUAL ? r : 0;
        r = y[i] == 0 ? 0 : r;
        r2[i] = (REAL)LOG2E * (y[i] * r);
        size = (SIGNED_WORD)FN(bits)(r);
        largest = largest > size ? largest : size;
    }
    sums[0] += total;
    sums[1] = FN(from_bits)((WORD)largest);
}

static REAL FN(squared)(const REAL *restrict r, const REAL *restrict weight, const REAL *restrict z,
                        REAL *restrict v)
{
    REAL sum = 0;
    ptrdiff_t i;
#pragma omp simd reduction(+ : sum)
    for (i = 0; i < VM_TILE; i++) {
        sum += weight[i] * z[i] * (z[i] - 2 * r[i]);
        v[i] = weight[i] * (r[i] - z[i]);
    }
    return sum;
}

static void FN(regress)(const REAL *restrict r, const REAL *restrict weight, const REAL *restrict h,
                        double *restrict sums)
{
    REAL product = 0, square = 0;
    ptrdiff_t i;
#pragma omp simd reduction(+ : product, square)
    for (i = 0; i < VM_TILE; i++) {
        product += weight[i] * r[i] * h[i];
        square += weight[i] * h[i] * h[i];
    }
    sums[0] += product;
    sums[1] += square;
}

static void FN(shrink)(double *restrict residual, const REAL *restrict weight, const REAL *restrict h, double step,
                       REAL *restrict r, double *restrict sums)
{
    REAL square = 0;
    ptrdiff_t i;
#pragma omp simd reduction(+ : square)
    for (i = 0; i < VM_TILE; i++) {
        residual[i] -= step * (double)h[i];
        r[i] = (REAL)residual[i];
        square += weight[i] * r[i] * r[i];
    }
    sums[0] += square;
}

/* VM_TERMS sums over `n_vectors` vectors of rows, all of them held in registers while the features go by. */
static ALWAYS_INLINE void FN(project_slice)(const REAL *restrict tile, ptrdiff_t n_features, ptrdiff_t width,
                                            const REAL *restrict omegas, const REAL *restrict shifts,
                                            REAL *restrict u, const int n_vectors)
{
    FN(vector) sums[VM_TERMS][TERM_VECTORS];
    ptrdiff_t j;
    int k, v;
    for (k = 0; k < VM_TERMS; k++)
        for (v = 0; v < n_vectors; v++) sums[k][v] = (FN(vector)){0} - shifts[k];
    for (j = 0; j < n_features; j++)
        for (v = 0; v < n_vectors; v++) {
            const FN(vector) x = *(const FN(vector) *)(tile + j * width + v * FN(lanes));
            for (k = 0; k < VM_TERMS; k++) sums[k][v] += omegas[k * n_features + j] * x;
        }
    for (k = 0; k < VM_TERMS; k++)
        for (v = 0; v < n_vectors; v++) *(FN(vector) *)(u + k * width + v * FN(lanes)) = sums[k][v];
}

static void FN(project_terms)(const REAL *restrict tile, ptrdiff_t n_features, ptrdiff_t width,
                              const REAL *restrict omegas, const REAL *restrict shifts, REAL *restrict u)
{
    ptrdiff_t row = 0;
    for (; row + TERM_VECTORS * FN(lanes) <= width; row += TERM_VECTORS * FN(lanes))
        FN(project_slice)(tile + row, n_features, width, omegas, shifts, u + row, TERM_VECTORS);
    for (; row + 2 * FN(lanes) <= width; row += 2 * FN(lanes))
        FN(project_slice)(tile + row, n_features, width, omegas, shifts, u + row, 2);
    for (; row < width; row += FN(lanes))
        FN(project_slice)(tile + row, n_features, width, omegas, shifts, u + row, 1);
}

static ALWAYS_INLINE void FN(project_used_slice)(const REAL *restrict tile, ptrdiff_t width, const int32_t *columns,
                                                 const REAL *numbers, ptrdiff_t n_used, REAL shift, REAL *restrict u,
                                                 const int n_vectors)
{
    FN(vector) sums[USED_VECTORS];
    ptrdiff_t j;
    int v;
    for (v = 0; v < n_vectors; v++) sums[v] = (FN(vector)){0} - shift;
    for (j = 0; j < n_used; j++) {
        const REAL *x = tile + columns[j] * width;
        for (v = 0; v < n_vectors; v++) sums[v] += numbers[j] * *(const FN(vector) *)(x + v * FN(lanes));
    }
    for (v = 0; v < n_vectors; v++) *(FN(vector) *)(u + v * FN(lanes)) = sums[v];
}

static void FN(project_used)(const REAL *restrict tile, ptrdiff_t width, const int32_t *ends, const int32_t *columns,
                             const REAL *numbers, const REAL *shifts, REAL *restrict u)
{
    ptrdiff_t row;
    int k;
    for (k = 0; k < VM_TERMS; k++) {
        const ptrdiff_t first = ends[k], n_used = ends[k + 1] - first;
        for (row = 0; row + USED_VECTORS * FN(lanes) <= width; row += USED_VECTORS * FN(lanes))
            FN(project_used_slice)(tile + row, width, columns + first, numbers + first, n_used, shifts[k],
                                   u + k * width + row, USED_VECTORS);
        for (; row + 2 * FN(lanes) <= width; row += 2 * FN(lanes))
            FN(project_used_slice)(tile + row, width, columns + first, numbers + first, n_used, shifts[k],
                                   u + k * width + row, 2);
        for (; row < width; row += FN(lanes))
            FN(project_used_slice)(tile + row, width, columns + first, numbers + first, n_used, shifts[k],
                                   u + k * width + row, 1);
    }
}

/* Chains of sums that one term after the other goes to, so that no addition waits for the one before. */
enum { FN(chains) = 4 };

static void FN(combine)(const REAL *restrict tile, ptrdiff_t n_terms, ptrdiff_t width, const REAL *restrict amplitudes,
                        REAL *restrict total)
{
    ptrdiff_t row, k;
    int v;
    for (row = 0; row < width; row += FN(lanes)) {
        FN(vector) sums[FN(chains)] = {0};
        for (k = 0; k < n_terms; k += FN(chains))
            for (v = 0; v < FN(chains); v++)
                sums[v] += amplitudes[k + v] * *(const FN(vector) *)(tile + (k + v) * width + row);
        *(FN(vector) *)(total + row) = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

static void FN(products)(const REAL *restrict tile, ptrdiff_t n_terms, ptrdiff_t width, const REAL *restrict v,
                         REAL *restrict sums)
{
    ptrdiff_t k, row;
    int l;
    for (k = 0; k < n_terms; k++) {
        const REAL *h = tile + k * width;
        FN(vector) products = {0};
        REAL sum = 0;
        for (row = 0; row < width; row += FN(lanes))
            products += *(const FN(vector) *)(h + row) * *(const FN(vector) *)(v + row);
#pragma omp simd reduction(+ : sum)
        for (l = 0; l < FN(lanes); l++) sum += ((const REAL *)&products)[l];
        sums[k] = sum;
    }
}

static void FN(weigh)(REAL *restrict tile, ptrdiff_t n_terms, ptrdiff_t width, const REAL *restrict amplitudes,
                      ptrdiff_t stride, ptrdiff_t n_outputs, const REAL *restrict v)
{
    ptrdiff_t k, o, row;
    for (k = 0; k < n_terms; k++)
        for (row = 0; row < width; row += FN(lanes)) {
            FN(vector) sum = {0};
            for (o = 0; o < n_outputs; o++)
                sum += amplitudes[o * stride + k] * *(const FN(vector) *)(v + o * width + row);
            *(FN(vector) *)(tile + k * width + row) *= sum;
        }
}

static void FN(proximal_step)(REAL *restrict values, REAL *restrict mean, REAL *restrict square,
                              const REAL *restrict slope, ptrdiff_t size, double n_steps, REAL rate, REAL ridge,
                              REAL lasso)
{
    const REAL decay = (REAL)MEAN_DECAY, square_decay = (REAL)SQUARE_DECAY;
    const REAL mean_unit = (REAL)(1 / (1 - pow(MEAN_DECAY, n_steps)));
    const REAL square_unit = (REAL)(1 / (1 - pow(SQUARE_DECAY, n_steps)));
    ptrdiff_t k;
#pragma omp simd
    for (k = 0; k < size; k++) {
        REAL m = decay * mean[k] + (1 - decay) * slope[k];
        REAL q = square_decay * square[k] + (1 - square_decay) * slope[k] * slope[k];
        REAL reach = rate / (SQRT(square_unit * q) + (REAL)SMALLEST_ROOT), bound = reach * lasso;
        REAL moved = values[k] - reach * (mean_unit * m), held = moved < bound ? moved : bound;
        held = held > -bound ? held : -bound;
        values[k] = (moved - held) / (1 + 2 * reach * ridge);
        mean[k] = m;
        square[k] = q;
    }
}

static REAL FN(dot_terms)(const REAL *restrict h, const REAL *restrict amplitude)
{
    REAL total = 0;
    int k;
    for (k = 0; k < VM_TERM_BLOCK; k++) total = FUSED(amplitude[k], h[k], total);
    return total;
}

static void FN(add_scaled)(const REAL *restrict h, ptrdiff_t width, REAL amplitude, REAL *restrict total)
{
    ptrdiff_t i, k;
    for (k = 0; k < width; k += VM_LANES)
#pragma omp simd
        for (i = 0; i < VM_LANES; i++) total[k + i] = FUSED(amplitude, h[k + i], total[k + i]);
}

static REAL FN(dot)(const REAL *restrict a, const REAL *restrict b, ptrdiff_t width)
{
    FN(vector) sums[VM_LANES / FN(lanes)] = {0};
    REAL total = 0;
    ptrdiff_t k;
    int v, l;
    for (k = 0; k < width; k += VM_LANES)
        for (v = 0; v < VM_LANES / FN(lanes); v++)
            sums[v] += *(const FN(vector) *)(a + k + v * FN(lanes)) * *(const FN(vector) *)(b + k + v * FN(lanes));
    for (v = 1; v < VM_LANES / FN(lanes); v++) sums[0] += sums[v];
    for (l = 0; l < FN(lanes); l++) total += ((const REAL *)sums)[l];
    return total;
}

static ALWAYS_INLINE void FN(distance_slice)(const REAL *restrict tile, ptrdiff_t n_features, ptrdiff_t width,
                                             const REAL *restrict centers, REAL *restrict u, const int n_vectors)
{
    FN(vector) sums[VM_TERMS][TERM_VECTORS] = {0};
    ptrdiff_t j;
    int k, v;
    for (j = 0; j < n_features; j++)
        for (v = 0; v < n_vectors; v++) {
            const FN(vector) x = *(const FN(vector) *)(tile + j * width + v * FN(lanes));
            for (k = 0; k < VM_TERMS; k++) {
                const FN(vector) apart = x - centers[k * n_features + j];
                sums[k][v] += apart * apart;
            }
        }
    for (k = 0; k < VM_TERMS; k++)
        for (v = 0; v < n_vectors; v++) *(FN(vector) *)(u + k * VM_TILE + v * FN(lanes)) = sums[k][v];
}

/* Differences first: |x|^2 - 2 x . c + |c|^2 would lose what tells two rows apart that lie far from the origin. */
static void FN(distances)(const REAL *restrict tile, ptrdiff_t n_features, ptrdiff_t width,
                          const REAL *restrict centers, REAL *restrict u)
{
    ptrdiff_t row = 0;
    for (; row + TERM_VECTORS * FN(lanes) <= width; row += TERM_VECTORS * FN(lanes))
        FN(distance_slice)(tile + row, n_features, width, centers, u + row, TERM_VECTORS);
    for (; row < width; row += FN(lanes)) FN(distance_slice)(tile + row, n_features, width, centers, u + row, 1);
}

static ALWAYS_INLINE REAL FN(decay_of)(REAL u)
{
    REAL x = u < -MIN_EXPONENT ? -u : MIN_EXPONENT; /* inf and nan are far away too */
    REAL rounded = x + MAGIC, f = x - (rounded - MAGIC), q = f * f, scale = FN(power)(rounded);
    return scale + scale * (f * POLY(exponential_odd)(q) + q * POLY(exponential_even)(q));
}

static void FN(decay)(REAL *restrict u, ptrdiff_t width)
{
    ptrdiff_t i, k;
    for (k = 0; k < width; k += VM_LANES)
#pragma omp simd
        for (i = 0; i < VM_LANES; i++) u[k + i] = FN(decay_of)(u[k + i]);
}

static void FN(decay_root)(REAL *restrict u, ptrdiff_t width)
{
    ptrdiff_t i, k;
    for (k = 0; k < width; k += VM_LANES)
#pragma omp simd
        for (i = 0; i < VM_LANES; i++) u[k + i] = FN(decay_of)(SQRT(u[k + i] < 0 ? 0 : u[k + i]));
}

/* Column j + k of n_columns; beyond the last one, a column that is there. */
static inline const REAL *FN(column)(const REAL *columns, ptrdiff_t stride, ptrdiff_t n_columns, ptrdiff_t j, int k)
{
    return columns + (j + k < n_columns ? j + k : j) * stride;
}

/* Fetch where the next VM_TERMS columns begin, which the hardware does not foresee. */
static ALWAYS_INLINE void FN(fetch_columns)(const REAL *columns, ptrdiff_t stride, ptrdiff_t n_columns, ptrdiff_t j,
                                             ptrdiff_t width)
{
    const ptrdiff_t line = 64 / (ptrdiff_t)sizeof(REAL), end = FETCHED_LINES * line;
    ptrdiff_t i, k;
    for (k = j + VM_TERMS; k < n_columns && k < j + 2 * VM_TERMS; k++)
        for (i = 0; i < end && i < width; i += line) PREFETCH(columns + k * stride + i);
}

/* VM_TERMS columns at a time: fewer reads of a and b, and more sums than one addition waits for. */
static void FN(column_products)(const REAL *restrict columns, ptrdiff_t stride, ptrdiff_t n_columns,
                                const double *restrict a, const double *restrict b, ptrdiff_t width,
                                double *restrict sums)
{
    ptrdiff_t i, j;
    int k;
    for (j = 0; j < n_columns; j += VM_TERMS) {
        const REAL *c0 = FN(column)(columns, stride, n_columns, j, 0), *c1 = FN(column)(columns, stride, n_columns, j, 1);
        const REAL *c2 = FN(column)(columns, stride, n_columns, j, 2), *c3 = FN(column)(columns, stride, n_columns, j, 3);
        FN(fetch_columns)(columns, stride, n_columns, j, width);
        double a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
#pragma omp simd reduction(+ : a0, a1, a2, a3, b0, b1, b2, b3)
        for (i = 0; i < width; i++) {
            const double x = a[i], y = b[i];
            a0 += x * (double)c0[i];
            b0 += y * (double)c0[i];
            a1 += x * (double)c1[i];
            b1 += y * (double)c1[i];
            a2 += x * (double)c2[i];
            b2 += y * (double)c2[i];
            a3 += x * (double)c3[i];
            b3 += y * (double)c3[i];
        }
        {
            const double found[2 * VM_TERMS] = {a0, b0, a1, b1, a2, b2, a3, b3};
            for (k = 0; k < 2 * VM_TERMS && 2 * j + k < 2 * n_columns; k++) sums[2 * j + k] = found[k];
        }
    }
}

static void FN(add_columns)(const REAL *restrict columns, ptrdiff_t stride, ptrdiff_t n_columns,
                            const double *restrict steps, ptrdiff_t width, double *restrict total)
{
    ptrdiff_t i, j, start;
    for (j = 0; j < n_columns; j += VM_TERMS) {
        const REAL *c0 = FN(column)(columns, stride, n_columns, j, 0), *c1 = FN(column)(columns, stride, n_columns, j, 1);
        const REAL *c2 = FN(column)(columns, stride, n_columns, j, 2), *c3 = FN(column)(columns, stride, n_columns, j, 3);
        const double s0 = steps[j], s1 = j + 1 < n_columns ? steps[j + 1] : 0;
        const double s2 = j + 2 < n_columns ? steps[j + 2] : 0, s3 = j + 3 < n_columns ? steps[j + 3] : 0;
        FN(fetch_columns)(columns, stride, n_columns, j, width);
        for (start = 0; start < width; start += VM_LANES)
#pragma omp simd
            for (i = start; i < start + VM_LANES; i++) {
                double low = FUSED_DOUBLE(s1, (double)c1[i], FUSED_DOUBLE(s0, (double)c0[i], total[i]));
                total[i] = FUSED_DOUBLE(s3, (double)c3[i], FUSED_DOUBLE(s2, (double)c2[i], low));
            }
    }
}

#define VM_ENTRY(RESULT, name, arguments) .name = FN(name),
const EXPAND2(vecmath, SUFFIX) EXPAND3(vecmath, SUFFIX, VM_LEVEL) = {VM_FUNCTIONS(VM_ENTRY, REAL)};

#undef VM_ENTRY
#undef VM_PROTOTYPE
#undef FN
#undef POLY
#undef REAL
#undef WORD
#undef SIGNED_WORD
#undef SUFFIX
#undef MAGIC
#undef EXPONENT_SHIFT
#undef EXPONENT_BIAS
#undef SIGN_SHIFT
#undef ANGLE_LIMIT
#undef MAX_EXPONENT
#undef MIN_EXPONENT
#undef FABS
#undef SQRT
#undef FUSED
