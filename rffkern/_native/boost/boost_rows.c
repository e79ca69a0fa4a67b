/* One instruction set of the passes over rows of boosting: VM_LEVEL names it, the compiler flags make it. */
#include "boost_rows.h"
#include "polynomials.h"
#include "vectors.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define INVERSE_PI 0.31830988618379067154
#define LOG2E 1.44269504f
#define LN2 0.693147182f
#define MAGIC 12582912.0f     /* adding 1.5 * 2^23 rounds to an integer: see vecmath.c */
#define LEAST_EXPONENT -110.0f /* of 2: what is below is 0 beside 1, and would be slow */
#define LARGEST_ANGLE 0x4a800000 /* bits of 2^22 half turns: beyond, float cannot tell one from the next */
#define LARGEST_RATE 50.0f    /* scores beyond do not enter exponentials of losses */
#define LEAST_RESIDUAL 0.02f  /* in the curvature of the loss of a quantile: see quantile_rows */

#define LARGEST_MARGIN 1e30f  /* so that sums over a tile are finite */

/* Vectors of rows that are held in registers while columns go by; that many rows divide a tile. */
#define SLICE 8

/* For loops over these: -O2 would leave the sums in memory. */
#if defined(__GNUC__) && !defined(VM_PLAIN)
#define UNROLL _Pragma("GCC unroll 8")
#define ALIGNED __attribute__((aligned(64)))
#define MASK(condition) (condition) /* all bits set where it holds: so are comparisons of vectors */
#else
#define UNROLL
#define ALIGNED
#define MASK(condition) (-(condition))
#endif

typedef float vector VECTOR_OF(float);
typedef int32_t integers VECTOR_OF(int32_t);
typedef uint32_t words VECTOR_OF(uint32_t);
enum { LANES = sizeof(vector) / sizeof(float) };

static ALWAYS_INLINE float from_bits(uint32_t w)
{
    float x;
    memcpy(&x, &w, sizeof x);
    return x;
}

static ALWAYS_INLINE uint32_t bits(float x)
{
    uint32_t w;
    memcpy(&w, &x, sizeof w);
    return w;
}

/* x, or 0 where weight is 0.  In bits: compilers make masked loads of conditions, which are slow. */
static ALWAYS_INLINE float kept(float weight, float x) { return from_bits(bits(x) & -(uint32_t)(weight > 0)); }

/* --- Fourier terms */

static void copy_columns(const float *restrict columns, ptrdiff_t stride, const ptrdiff_t *restrict subset,
                         ptrdiff_t n_columns, const float *restrict weight, ptrdiff_t width, float *restrict out)
{
    ptrdiff_t i, j;
    for (j = 0; j < n_columns; j++) {
        const float *restrict x = columns + subset[j] * stride;
        float *restrict copy = out + j * width;
#pragma omp simd
        for (i = 0; i < width; i++) copy[i] = kept(weight[i], x[i]);
    }
}

/* u = unit omega . x at SLICE vectors of rows, over columns of a subset, or over all where there is none. */
static ALWAYS_INLINE void project_slice(const float *restrict columns, ptrdiff_t stride,
                                        const ptrdiff_t *restrict subset, ptrdiff_t n_columns,
                                        const double *restrict omega, double unit, float *restrict u)
{
    vector sums[SLICE] = {0};
    ptrdiff_t j;
    int v;
    for (j = 0; j < n_columns; j++) {
        const float *x = columns + (subset ? subset[j] : j) * stride;
        const float factor = (float)(omega[j] * unit);
        UNROLL for (v = 0; v < SLICE; v++) sums[v] += factor * *(const vector *)(x + v * LANES);
    }
    UNROLL for (v = 0; v < SLICE; v++) *(vector *)(u + v * LANES) = sums[v];
}

static void term_totals(const float *restrict weight, const float *restrict gradient, ptrdiff_t stride,
                        ptrdiff_t n_outputs, ptrdiff_t width, double *restrict totals)
{
    ptrdiff_t i, k;
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (i = 0; i < width; i++) total += (double)weight[i];
    totals[0] += total;
    for (k = 0; k < n_outputs; k++) {
        const float *restrict g = gradient + k * stride;
        double sum = 0, square = 0;
#pragma omp simd reduction(+ : sum, square)
        for (i = 0; i < width; i++) {
            const float w = weight[i], quotient = kept(w, g[i] / w);
            sum += (double)g[i];
            square += (double)g[i] * (double)quotient;
        }
        totals[1 + k] += sum;
        totals[1 + n_outputs + k] += square;
    }
}

/* lanes[i] += the entries of a vector; those beyond its size are other sums of the same total */
static ALWAYS_INLINE void add_lanes(const vector *sum, double *restrict lanes)
{
    const float *entry = (const float *)sum;
    int i;
#pragma omp simd
    for (i = 0; i < LANES; i++) lanes[i] += (double)entry[i];
}

/* Sine and cosine of an angle in half turns.  Angles too large to carry information, inf and nan count as zero. */
static ALWAYS_INLINE vector sincospi(vector u, vector *cosine)
{
    integers w, flip;
    vector rounded, r, z, z2;
    memcpy(&w, &u, sizeof w);
    w &= MASK((w & 0x7fffffff) < LARGEST_ANGLE);
    memcpy(&u, &w, sizeof u);
    rounded = u + MAGIC;
    memcpy(&flip, &rounded, sizeof flip);
    flip = (integers)((words)flip << 31);
    r = u - (rounded - MAGIC);
    z = r * r;
    z2 = z * z;
    *cosine = 1 + z * COSINE_F32(EITHER, z, z2);
    r *= SINE_F32(EITHER, z, z2);
    memcpy(&w, cosine, sizeof w);
    w ^= flip;
    memcpy(cosine, &w, sizeof w);
    memcpy(&w, &r, sizeof w);
    w ^= flip;
    memcpy(&r, &w, sizeof w);
    return r;
}

static void term_sums(const float *restrict columns, ptrdiff_t stride, const ptrdiff_t *restrict subset,
                      ptrdiff_t n_columns, const double *restrict omega, const float *restrict weight,
                      const float *restrict gradient, ptrdiff_t gradient_stride, ptrdiff_t n_outputs, ptrdiff_t width,
                      float *restrict sine, float *restrict cosine, double *restrict lanes)
{
    vector sums[7] = {0};
    ptrdiff_t row, k, i;
    int v;
    /* Some rows from end to end: reads of the next ones go on during the arithmetic of these. */
    for (row = 0; row < width; row += SLICE * LANES) {
        ALIGNED float u[SLICE * LANES];
        project_slice(columns + row, stride, subset, n_columns, omega, INVERSE_PI, u);
        for (v = 0; v < SLICE; v++) {
            const vector w = *(const vector *)(weight + row + v * LANES);
            const vector g = *(const vector *)(gradient + row + v * LANES);
            vector c;
            const vector s = sincospi(*(const vector *)(u + v * LANES), &c), wc = w * c, ws = w * s;
            *(vector *)(sine + row + v * LANES) = s;
            *(vector *)(cosine + row + v * LANES) = c;
            sums[0] += wc;
            sums[1] += ws;
            sums[2] += wc * c;
            sums[3] += wc * s;
            sums[4] += ws * s;
            sums[5] += g * c;
            sums[6] += g * s;
        }
    }
    for (k = 0; k < 7; k++) add_lanes(sums + k, lanes + k * VB_LANES);
    for (k = 1; k < n_outputs; k++) {
        const float *restrict g = gradient + k * gradient_stride;
        vector products[4] = {0};
        for (i = 0; i < width; i += 2 * LANES) {
            const vector even = *(const vector *)(g + i), odd = *(const vector *)(g + i + LANES);
            products[0] += even * *(const vector *)(cosine + i);
            products[1] += even * *(const vector *)(sine + i);
            products[2] += odd * *(const vector *)(cosine + i + LANES);
            products[3] += odd * *(const vector *)(sine + i + LANES);
        }
        products[0] += products[2];
        products[1] += products[3];
        add_lanes(products, lanes + (5 + 2 * k) * VB_LANES);
        add_lanes(products + 1, lanes + (6 + 2 * k) * VB_LANES);
    }
}

static void term_gradient(const float *restrict columns, ptrdiff_t n_columns, const float *restrict sine,
                        const float *restrict cosine, const float *restrict weight, const float *restrict gradient,
                        ptrdiff_t gradient_stride, ptrdiff_t n_outputs, const double *restrict numbers, ptrdiff_t width,
                        float *restrict open, double *restrict lanes)
{
    ptrdiff_t row, j, k;
    int v;
    for (j = 0; j < n_columns * VB_LANES; j++) open[j] = 0;
    for (row = 0; row < width; row += SLICE * LANES) {
        vector along[SLICE] = {0};
        for (k = 0; k < n_outputs; k++) {
            const float a = (float)numbers[k], b = (float)numbers[n_outputs + k], d = (float)numbers[2 * n_outputs + k];
            const float *restrict g = gradient + k * gradient_stride + row;
            UNROLL for (v = 0; v < SLICE; v++) {
                const vector c = *(const vector *)(cosine + row + v * LANES), s = *(const vector *)(sine + row + v * LANES);
                const vector w = *(const vector *)(weight + row + v * LANES);
                along[v] += (*(const vector *)(g + v * LANES) - w * (a * c + (b * s + d))) * (b * c - a * s);
            }
        }
        for (j = 0; j < n_columns; j++) {
            const float *restrict x = columns + j * width + row;
            vector even = *(const vector *)(open + j * VB_LANES), odd = along[1] * *(const vector *)(x + LANES);
            even += along[0] * *(const vector *)x;
            UNROLL for (v = 2; v < SLICE; v += 2) {
                even += along[v] * *(const vector *)(x + v * LANES);
                odd += along[v + 1] * *(const vector *)(x + (v + 1) * LANES);
            }
            *(vector *)(open + j * VB_LANES) = even + odd;
        }
    }
    for (j = 0; j < n_columns; j++) add_lanes((const vector *)(open + j * VB_LANES), lanes + j * VB_LANES);
}

static void evaluate_term(const float *restrict columns, ptrdiff_t stride, const ptrdiff_t *restrict subset,
                          ptrdiff_t n_columns, const double *restrict omega, const double *restrict amplitudes,
                          ptrdiff_t n_outputs, ptrdiff_t width, float *restrict out)
{
    ptrdiff_t row, k;
    int v;
    for (row = 0; row < width; row += SLICE * LANES) {
        ALIGNED float u[SLICE * LANES];
        project_slice(columns + row, stride, subset, n_columns, omega, INVERSE_PI, u);
        for (v = 0; v < SLICE; v++) {
            vector c;
            const vector s = sincospi(*(const vector *)(u + v * LANES), &c);
            for (k = 0; k < n_outputs; k++)
                *(vector *)(out + k * stride + row + v * LANES) =
                    (float)amplitudes[k] * c + (float)amplitudes[n_outputs + k] * s;
        }
    }
}

/* --- Linear functions */

static void add_linear(const float *restrict columns, ptrdiff_t stride, const ptrdiff_t *restrict subset,
                       ptrdiff_t n_columns, const double *restrict coefficients, ptrdiff_t width, float *restrict out)
{
    ptrdiff_t row;
    int v;
    for (row = 0; row < width; row += SLICE * LANES) {
        ALIGNED float u[SLICE * LANES];
        project_slice(columns + row, stride, subset, n_columns, coefficients, 1, u);
        UNROLL for (v = 0; v < SLICE; v++) *(vector *)(out + row + v * LANES) += *(vector *)(u + v * LANES);
    }
}

/* sums[j] += products of `n` columns with v: each read of v serves all. */
static ALWAYS_INLINE void add_products_of(const float *restrict columns, ptrdiff_t stride,
                                          const ptrdiff_t *restrict subset, const float *restrict v, ptrdiff_t width,
                                          double *restrict sums, const int n)
{
    const float *x[4];
    vector even[4] = {0}, odd[4] = {0};
    ptrdiff_t i;
    int j, l;
    UNROLL for (j = 0; j < n; j++) x[j] = columns + subset[j] * stride;
    for (i = 0; i < width; i += 2 * LANES)
        UNROLL for (j = 0; j < n; j++) {
            even[j] += *(const vector *)(x[j] + i) * *(const vector *)(v + i);
            odd[j] += *(const vector *)(x[j] + i + LANES) * *(const vector *)(v + i + LANES);
        }
    UNROLL for (j = 0; j < n; j++) {
        double total = 0;
        even[j] += odd[j];
        for (l = 0; l < LANES; l++) total += (double)((const float *)(even + j))[l];
        sums[j] += total;
    }
}

static void add_products(const float *restrict columns, ptrdiff_t stride, const ptrdiff_t *restrict subset,
                         ptrdiff_t n_columns, const float *restrict v, ptrdiff_t width, double *restrict sums)
{
    ptrdiff_t j;
    for (j = 0; j + 4 <= n_columns; j += 4) add_products_of(columns, stride, subset + j, v, width, sums + j, 4);
    for (; j < n_columns; j++) add_products_of(columns, stride, subset + j, v, width, sums + j, 1);
}

/* --- Losses */

/* 2^x for |x| < 127 */
static ALWAYS_INLINE float power(float x)
{
    float rounded = x + MAGIC, f = x - (rounded - MAGIC), q = f * f;
    float scale = from_bits((bits(rounded) + 127u) << 23);
    return scale + scale * (f * exponential_odd_f32(q) + q * exponential_even_f32(q));
}

/* exp(x) for x <= 0; nan counts as -inf */
static ALWAYS_INLINE float small_exponential(float x)
{
    x *= LOG2E;
    return power(x > LEAST_EXPONENT ? x : LEAST_EXPONENT);
}

/* log(1 + x), 0 <= x <= 1 */
static ALWAYS_INLINE float logarithm_beyond(float x)
{
    float s = x / (2 + x), z = s * s, twice = 2 * s;
    return twice + twice * (z * logarithm_f32(z));
}

/* log(x), x >= 1 */
static ALWAYS_INLINE float logarithm(float x)
{
    uint32_t w = bits(x);
    float exponent = (float)(int32_t)(w >> 23) - 127.0f;
    return exponent * LN2 + logarithm_beyond(from_bits((w & 0x7fffffu) | 0x3f800000u) - 1);
}

/* Row functions of a tile: at scores `f`, g and h times weight; they return the sum of weight times loss.  Rows of weight
   0 count as rows of score 0 and target 0. */

static ALWAYS_INLINE double logistic_rows(const float *restrict f, const float *restrict targets,
                                          const float *restrict weight, float *restrict g, float *restrict h,
                                          const int with_loss)
{
    float loss = 0;
    int i;
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], y = kept(w, targets[i]), margin = kept(w, y * f[i]), size = fabsf(margin);
        const float e = small_exponential(-size), likelier = 1 / (1 + e), other = e * likelier;
        g[i] = w * y * (margin > 0 ? other : likelier);
        h[i] = w * (likelier * other);
        if (with_loss) {
            const float beyond = margin < 0 ? size : 0;
            loss += w * (logarithm_beyond(e) + (beyond < LARGEST_MARGIN ? beyond : LARGEST_MARGIN));
        }
    }
    return (double)loss;
}

/* Also the squared loss, whose delta is infinite. */
static double huber_rows(const float *restrict f, const float *restrict targets, const float *restrict weight,
                         float delta, float *restrict g, float *restrict h)
{
    float loss = 0;
    int i;
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], residual = kept(w, targets[i] - f[i]);
        float held = residual < delta ? residual : delta, derivative;
        held = held > -delta ? held : -delta;
        derivative = w * held;
        g[i] = derivative;
        h[i] = w;
        loss += derivative * (residual - 0.5f * held);
    }
    return (double)loss;
}

/* h is the curvature of the parabola that touches the loss at the residual and is nowhere below it, 1 / (2 |residual|)
   (Hunter and Lange, 2000, "Quantile regression via an MM algorithm", equation 2.1, where g is smoothed too). */
static double quantile_rows(const float *restrict f, const float *restrict targets, const float *restrict weight,
                            float quantile, float *restrict g, float *restrict h)
{
    float loss = 0;
    int i;
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], residual = kept(w, targets[i] - f[i]);
        const float derivative = w * (residual < 0 ? quantile - 1 : quantile);
        g[i] = derivative;
        h[i] = w * (0.5f / (LEAST_RESIDUAL + fabsf(residual)));
        loss += derivative * residual;
    }
    return (double)loss;
}

/* h is exp(F), or halfway to y where this is larger: else a row of y = 100 exp(F) would ask for a step of F by 99. */
static double poisson_rows(const float *restrict f, const float *restrict targets, const float *restrict weight,
                           float *restrict g, float *restrict h)
{
    double loss = 0;
    int i;
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], y = kept(w, targets[i]), score = kept(w, f[i]);
        float held = score < LARGEST_RATE ? score : LARGEST_RATE, rate;
        held = held > -LARGEST_RATE ? held : -LARGEST_RATE;
        rate = power(held * LOG2E);
        g[i] = w * (y - rate);
        h[i] = w * (y > rate ? 0.5f * (y + rate) : rate);
        loss += (double)w * ((double)rate - (double)y * (double)score);
    }
    return loss;
}

/* With A = y exp((1 - power) F) and B = exp((2 - power) F), g is A - B and h (power - 1) A + (2 - power) B, or
   (A + B) / 2 where this is larger: no row then asks for a step of F by more than 2. */
static double tweedie_rows(const float *restrict f, const float *restrict targets, const float *restrict weight,
                           float exponent, float *restrict g, float *restrict h)
{
    const float below = exponent - 1, above = 2 - exponent;
    const double of_target = 1 / (double)below, of_mean = above > 0 ? 1 / (double)above : 0, of_score = above > 0 ? 0 : 1;
    double loss = 0;
    int i;
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], y = kept(w, targets[i]), score = kept(w, f[i]);
        float held = score < LARGEST_RATE ? score : LARGEST_RATE, target, mean, curvature, half;
        held = held > -LARGEST_RATE ? held : -LARGEST_RATE;
        target = y * power(-below * held * LOG2E);
        mean = power(above * held * LOG2E);
        curvature = below * target + above * mean;
        half = 0.5f * (target + mean);
        g[i] = w * (target - mean);
        h[i] = w * (curvature > half ? curvature : half);
        loss += (double)w * (of_target * ((double)target - (double)y) + of_mean * ((double)mean - 1)
                             + of_score * (double)score);
    }
    return loss;
}

#if defined(__GNUC__) /* a loss without a case is an error of the compiler */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
#endif

static ALWAYS_INLINE double tile_rows(const vb_rows *rows, const float *f, ptrdiff_t row, float *restrict g,
                                      float *restrict h, const int with_loss)
{
    const float *targets = rows->targets + row, *weight = rows->weight + row;
    switch (rows->loss) {
    case VB_SQUARED: return huber_rows(f, targets, weight, INFINITY, g, h);
    case VB_LOGISTIC: return logistic_rows(f, targets, weight, g, h, with_loss);
    case VB_SOFTMAX: break; /* whose rows read the scores of all classes */
    case VB_HUBER: return huber_rows(f, targets, weight, rows->parameter, g, h);
    case VB_QUANTILE: return quantile_rows(f, targets, weight, rows->parameter, g, h);
    case VB_POISSON: return poisson_rows(f, targets, weight, g, h);
    case VB_TWEEDIE: return tweedie_rows(f, targets, weight, rows->parameter, g, h);
    }
    return NAN;
}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Of each row of a tile, the largest score, and of its class the number that `values` holds, of the shape of scores. */
static void softmax_tops(const vb_rows *rows, ptrdiff_t row, float step, const float *values, float *restrict top,
                         float *restrict own)
{
    const float *restrict targets = rows->targets + row, *restrict weight = rows->weight + row;
    ptrdiff_t k;
    int i;
    for (k = 0; k < rows->n_outputs; k++) {
        const float *restrict f = rows->scores + k * rows->stride + row;
        const float *restrict d = rows->directions + k * rows->stride + row;
        const float *restrict value = values + k * rows->stride + row;
        const float class = (float)k;
#pragma omp simd
        for (i = 0; i < VB_TILE; i++) {
            const float score = kept(weight[i], f[i] + step * d[i]), before = class > 0 ? top[i] : score;
            const float mine = class > 0 ? own[i] : 0, is_own = targets[i] == class ? weight[i] : 0;
            top[i] = score > before ? score : before;
            own[i] = is_own > 0 ? value[i] : mine;
        }
    }
}

/* With exponentials e of scores and sums over outputs, p = e / sum of e: the derivative along the step is own direction
   - sum of p d, the curvature sum of p d^2 - sum of (p d)^2. */
static void softmax_derivatives(const vb_rows *rows, ptrdiff_t row, float step, double *restrict sums)
{
    ALIGNED float top[VB_TILE], own[VB_TILE], total[VB_TILE] = {0}, first[VB_TILE] = {0}, second[VB_TILE] = {0};
    ALIGNED float squares[VB_TILE] = {0};
    const float *restrict weight = rows->weight + row;
    float derivative = 0, curvature = 0;
    ptrdiff_t k;
    int i;
    softmax_tops(rows, row, step, rows->directions, top, own);
    for (k = 0; k < rows->n_outputs; k++) {
        const float *restrict f = rows->scores + k * rows->stride + row;
        const float *restrict directions = rows->directions + k * rows->stride + row;
#pragma omp simd
        for (i = 0; i < VB_TILE; i++) {
            const float d = kept(weight[i], directions[i]);
            const float e = small_exponential(kept(weight[i], f[i]) + step * d - top[i]), along = e * d;
            total[i] += e;
            first[i] += along;
            second[i] += along * d;
            squares[i] += along * along;
        }
    }
#pragma omp simd reduction(+ : derivative, curvature)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], inverse = 1 / total[i];
        derivative += w * (own[i] - first[i] * inverse);
        curvature += w * (inverse * (second[i] - squares[i] * inverse));
    }
    sums[0] += (double)derivative;
    sums[1] += (double)curvature;
}

static double softmax_rows(const vb_rows *rows, ptrdiff_t row, float *gradient, float *hessian)
{
    ALIGNED float top[VB_TILE], own[VB_TILE], total[VB_TILE] = {0}, spare[VB_TILE];
    const float *restrict targets = rows->targets + row, *restrict weight = rows->weight + row;
    double loss = 0;
    ptrdiff_t k;
    int i;
    softmax_tops(rows, row, 0, rows->scores, top, own);
    for (k = 0; k < rows->n_outputs; k++) {
        const float *restrict f = rows->scores + k * rows->stride + row;
        float *restrict e = gradient ? gradient + k * rows->stride + row : spare;
#pragma omp simd
        for (i = 0; i < VB_TILE; i++) {
            e[i] = small_exponential(kept(weight[i], f[i]) - top[i]);
            total[i] += e[i];
        }
    }
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        loss += (double)weight[i] * ((double)logarithm(total[i]) + ((double)top[i] - (double)own[i]));
        total[i] = 1 / total[i];
    }
    for (k = 0; k < rows->n_outputs && gradient; k++) {
        float *restrict g = gradient + k * rows->stride + row, *restrict h = hessian + k * rows->stride + row;
        const float class = (float)k;
#pragma omp simd
        for (i = 0; i < VB_TILE; i++) {
            const float p = g[i] * total[i];
            g[i] = weight[i] * ((targets[i] == class ? 1.0f : 0.0f) - p);
            h[i] = weight[i] * (p * (1 - p));
        }
    }
    return loss;
}

static void add_derivatives(const float *restrict g, const float *restrict h, const float *restrict weight,
                       const float *restrict directions, double *restrict sums)
{
    float derivative = 0, curvature = 0;
    int i;
#pragma omp simd reduction(+ : derivative, curvature)
    for (i = 0; i < VB_TILE; i++) {
        const float d = kept(weight[i], directions[i]);
        derivative += g[i] * d;
        curvature += h[i] * d * d;
    }
    sums[0] += (double)derivative;
    sums[1] += (double)curvature;
}

static void derivatives(const vb_rows *rows, ptrdiff_t first, ptrdiff_t last, double *restrict sums)
{
    ALIGNED float f[VB_TILE], g[VB_TILE], h[VB_TILE];
    const float step = rows->step;
    ptrdiff_t row;
    int i;
    for (row = first; row < last; row += VB_TILE) {
        if (rows->loss == VB_SOFTMAX) {
            softmax_derivatives(rows, row, step, sums);
            continue;
        }
#pragma omp simd
        for (i = 0; i < VB_TILE; i++) f[i] = rows->scores[row + i] + step * rows->directions[row + i];
        tile_rows(rows, f, row, g, h, 0);
        add_derivatives(g, h, rows->weight + row, rows->directions + row, sums);
    }
}

static double update(const vb_rows *rows, ptrdiff_t first, ptrdiff_t last, float *gradient, float *hessian)
{
    ALIGNED float g[VB_TILE], h[VB_TILE];
    const float step = rows->step;
    double loss = 0;
    ptrdiff_t row, k;
    int i;
    for (row = first; row < last; row += VB_TILE) {
        for (k = 0; k < rows->n_outputs; k++) {
            float *restrict f = rows->scores + k * rows->stride + row;
            const float *restrict d = rows->directions + k * rows->stride + row;
#pragma omp simd
            for (i = 0; i < VB_TILE; i++) f[i] += step * d[i];
        }
        if (rows->loss == VB_SOFTMAX)
            loss += softmax_rows(rows, row, gradient, hessian);
        else
            loss += tile_rows(rows, rows->scores + row, row, gradient ? gradient + row : g,
                              hessian ? hessian + row : h, 1);
    }
    return loss;
}

const vb_table EXPAND2(vm_boost, VM_LEVEL) = {
    .copy_columns = copy_columns, .term_totals = term_totals, .term_sums = term_sums, .term_gradient = term_gradient,
    .evaluate_term = evaluate_term, .add_linear = add_linear, .add_products = add_products, .derivatives = derivatives,
    .update = update,
};
