/* Body of vecmath.c for one precision; included once per REAL.  No include guard on purpose. */
#include "vecmath_score.h"

#define VM_PROTOTYPE(RESULT, name, arguments) static RESULT FN(name) arguments;
VM_FUNCTIONS(VM_PROTOTYPE, REAL)

/* 1 / power for a power of two: its exponent, mirrored. */
static inline REAL FN(inverse_power)(REAL power)
{
    return FN(from_bits)(((WORD)(2 * EXPONENT_BIAS) << EXPONENT_SHIFT) - FN(bits)(power));
}

static void FN(sincospi)(const REAL *restrict u, ptrdiff_t width, REAL *restrict s, REAL *restrict c)
{
    ptrdiff_t i, k;
    for (k = 0; k < width; k += VM_LANES)
#pragma omp simd
        for (i = k; i < k + VM_LANES; i++) {
            REAL x = FN(bounded)(u[i]), rounded = x + MAGIC, r = x - (rounded - MAGIC), z = r * r;
            WORD flip = FN(sign_bit)(rounded);
            s[i] = FN(from_bits)(FN(bits)(r * POLY(SINE)(FUSED, z, z * z)) ^ flip);
            c[i] = FN(from_bits)(FN(bits)(FUSED(z, POLY(COSINE)(FUSED, z, z * z), 1)) ^ flip);
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
        REAL p = scale * (f * FN(exponential_odd)(q) + q * FN(exponential_even)(q));
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
            REAL odd = f * FN(exponential_odd)(q), even = q * FN(exponential_even)(q);
            opposite += weight[i] * (up * (even + odd) + (up - 1));
            here += weight[i] * (down * (even - odd) + (down - 1));
        }
        sums[k] += here;
        sums[n_pairs + k] += opposite;
    }
}

static void FN(phase_derivatives)(const REAL *restrict a, const REAL *restrict b, const REAL *restrict weight,
                                  REAL cosine, REAL sine, double *restrict sums)
{
    REAL value = 0, slope = 0, curvature = 0;
    ptrdiff_t i;
#pragma omp simd reduction(+ : value, slope, curvature)
    for (i = 0; i < VM_TILE; i++) {
        REAL z = a[i] * cosine + b[i] * sine, turned = b[i] * cosine - a[i] * sine;
        REAL rounded = MAGIC - z, f = (MAGIC - rounded) - z, q = f * f, scale = FN(power)(rounded);
        REAL p = scale * (f * FN(exponential_odd)(q) + q * FN(exponential_even)(q)), e = weight[i] * (p + scale);
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
    return scale + scale * (fraction * FN(exponential_odd)(q) + q * FN(exponential_even)(q));
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

static void FN(step_derivatives)(const double *restrict raw, const REAL *restrict y, const REAL *restrict weight,
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

/* VM_TERMS columns at a time: fewer reads of a and b, and more sums than one addition waits for. */
/* Two sums at once, for which a column is read and converted once. */
static void FN(add_columns_twice)(const REAL *restrict columns, ptrdiff_t stride, ptrdiff_t n_columns,
                                  const double *restrict steps, const double *restrict others, ptrdiff_t width,
                                  double *restrict total, double *restrict other)
{
    ptrdiff_t i, j, start;
    int k;
    for (j = 0; j < n_columns; j += VM_TERMS) {
        const REAL *c0 = FN(column)(columns, stride, n_columns, j, 0), *c1 = FN(column)(columns, stride, n_columns, j, 1);
        const REAL *c2 = FN(column)(columns, stride, n_columns, j, 2), *c3 = FN(column)(columns, stride, n_columns, j, 3);
        double s[VM_TERMS], z[VM_TERMS];
        for (k = 0; k < VM_TERMS; k++) s[k] = j + k < n_columns ? steps[j + k] : 0;
        for (k = 0; k < VM_TERMS; k++) z[k] = j + k < n_columns ? others[j + k] : 0;
        FN(fetch_columns)(columns, stride, n_columns, j, width);
        for (start = 0; start < width; start += VM_LANES)
#pragma omp simd
            for (i = start; i < start + VM_LANES; i++) {
                const double x0 = c0[i], x1 = c1[i], x2 = c2[i], x3 = c3[i];
                double low = FUSED_DOUBLE(s[1], x1, FUSED_DOUBLE(s[0], x0, total[i]));
                double low_other = FUSED_DOUBLE(z[1], x1, FUSED_DOUBLE(z[0], x0, other[i]));
                total[i] = FUSED_DOUBLE(s[3], x3, FUSED_DOUBLE(s[2], x2, low));
                other[i] = FUSED_DOUBLE(z[3], x3, FUSED_DOUBLE(z[2], x2, low_other));
            }
    }
}

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

#define VM_ENTRY(RESULT, name, arguments) .name = FN(name),
const EXPAND2(vecmath, SUFFIX) EXPAND3(vecmath, SUFFIX, VM_LEVEL) = {VM_FUNCTIONS(VM_ENTRY, REAL)};

#undef VM_ENTRY
#undef VM_PROTOTYPE
