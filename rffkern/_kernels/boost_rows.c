/* One instruction-set level of the passes over rows of boosting: VM_LEVEL names it, the compiler flags make it. */
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
#define LARGEST_RATE 50.0f    /* scores beyond do not enter exponentials of the Poisson loss */
#define LEAST_RESIDUAL 0.02f  /* in the curvature of the loss of a quantile: see quantile_rows */

/* Vectors of rows that are held in registers while columns go by; that many rows divide a tile. */
#define SLICE 8

typedef float vector VECTOR_OF(float);
enum { LANES = sizeof(vector) / sizeof(float) };

/* --- Pairs of cosines */

static void copy_columns(const float *restrict columns, ptrdiff_t stride, const ptrdiff_t *restrict subset,
                         ptrdiff_t n_columns, const float *restrict weight, ptrdiff_t width, float *restrict out)
{
    ptrdiff_t i, j;
    for (j = 0; j < n_columns; j++) {
        const float *restrict x = columns + subset[j] * stride;
        float *restrict copy = out + j * width;
#pragma omp simd
        for (i = 0; i < width; i++) copy[i] = weight[i] > 0 ? x[i] : 0;
    }
}

static void project_columns(const float *restrict columns, ptrdiff_t stride, const ptrdiff_t *restrict subset,
                            ptrdiff_t n_columns, const double *restrict omega, ptrdiff_t width, float *restrict u)
{
    ptrdiff_t j, row;
    int v;
    for (row = 0; row < width; row += SLICE * LANES) {
        vector sums[SLICE] = {0};
        for (j = 0; j < n_columns; j++) {
            const float *x = columns + (subset ? subset[j] : j) * stride + row;
            const float half_turns = (float)(omega[j] * INVERSE_PI);
            for (v = 0; v < SLICE; v++) sums[v] += half_turns * *(const vector *)(x + v * LANES);
        }
        for (v = 0; v < SLICE; v++) *(vector *)(u + row + v * LANES) = sums[v];
    }
}

static void pair_totals(const float *restrict weight, const float *restrict gradient, ptrdiff_t stride,
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
            const float w = weight[i], quotient = w > 0 ? g[i] / w : 0;
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

static void pair_sums(const float *restrict sine, const float *restrict cosine, const float *restrict weight,
                      const float *restrict gradient, ptrdiff_t stride, ptrdiff_t n_outputs, ptrdiff_t width,
                      double *restrict lanes)
{
    vector sums[5] = {0};
    ptrdiff_t i, k;
    for (i = 0; i < width; i += LANES) {
        const vector w = *(const vector *)(weight + i), c = *(const vector *)(cosine + i);
        const vector s = *(const vector *)(sine + i), wc = w * c, ws = w * s;
        sums[0] += wc;
        sums[1] += ws;
        sums[2] += wc * c;
        sums[3] += wc * s;
        sums[4] += ws * s;
    }
    for (k = 0; k < 5; k++) add_lanes(sums + k, lanes + k * VB_LANES);
    for (k = 0; k < n_outputs; k++) {
        vector products[4] = {0};
        for (i = 0; i < width; i += 2 * LANES) {
            const vector even = *(const vector *)(gradient + k * stride + i);
            const vector odd = *(const vector *)(gradient + k * stride + i + LANES);
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

static void pair_slope(const float *restrict sine, const float *restrict cosine, const float *restrict weight,
                       const float *restrict gradient, ptrdiff_t stride, ptrdiff_t n_outputs,
                       const double *restrict numbers, ptrdiff_t width, float *restrict v)
{
    ptrdiff_t i, k;
    for (k = 0; k < n_outputs; k++) {
        const float a = (float)numbers[k], b = (float)numbers[n_outputs + k], d = (float)numbers[2 * n_outputs + k];
        const float *restrict g = gradient + k * stride;
        const float keep = k > 0;
#pragma omp simd
        for (i = 0; i < width; i++) {
            const float c = cosine[i], s = sine[i], e = g[i] - weight[i] * (a * c + (b * s + d));
            const float slope = e * (b * c - a * s);
            v[i] = keep > 0 ? v[i] + slope : slope;
        }
    }
}

static void column_dots(const float *restrict columns, ptrdiff_t stride, ptrdiff_t n_columns, const float *restrict v,
                        ptrdiff_t width, double *restrict lanes)
{
    ptrdiff_t i, j;
    int k;
    for (j = 0; j < n_columns; j++) {
        const float *x = columns + j * stride;
        vector sums[4] = {0};
        for (i = 0; i < width; i += 4 * LANES)
            for (k = 0; k < 4; k++)
                sums[k] += *(const vector *)(v + i + k * LANES) * *(const vector *)(x + i + k * LANES);
        sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        add_lanes(sums, lanes + j * VB_LANES);
    }
}

static void combine_pair(const float *restrict sine, const float *restrict cosine, const double *restrict amplitudes,
                         ptrdiff_t n_outputs, ptrdiff_t stride, ptrdiff_t width, float *restrict out)
{
    ptrdiff_t i, k;
    for (k = 0; k < n_outputs; k++) {
        const float a = (float)amplitudes[k], b = (float)amplitudes[n_outputs + k];
        float *restrict values = out + k * stride;
#pragma omp simd
        for (i = 0; i < width; i++) values[i] = a * cosine[i] + b * sine[i];
    }
}

/* --- Losses */

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
    double loss = 0;
    int i;
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], y = w > 0 ? targets[i] : 0, margin = w > 0 ? y * f[i] : 0, size = fabsf(margin);
        const float e = small_exponential(-size), likelier = 1 / (1 + e), other = e * likelier;
        g[i] = w * y * (margin > 0 ? other : likelier);
        h[i] = w * (likelier * other);
        if (with_loss) loss += (double)w * ((double)logarithm_beyond(e) + (double)(margin < 0 ? size : 0));
    }
    return loss;
}

/* Also the squared loss, whose delta is infinite. */
static double huber_rows(const float *restrict f, const float *restrict targets, const float *restrict weight,
                         float delta, float *restrict g, float *restrict h)
{
    double loss = 0;
    int i;
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], residual = w > 0 ? targets[i] - f[i] : 0;
        float held = residual < delta ? residual : delta;
        held = held > -delta ? held : -delta;
        g[i] = w * held;
        h[i] = w;
        loss += (double)w * (double)held * ((double)residual - 0.5 * (double)held);
    }
    return loss;
}

/* h is the curvature of the parabola that touches the loss at the residual and is nowhere below it, 1 / (2 |residual|)
   (Hunter and Lange, 2000, "Quantile regression via an MM algorithm", equation 2.1, where g is smoothed too). */
static double quantile_rows(const float *restrict f, const float *restrict targets, const float *restrict weight,
                            float quantile, float *restrict g, float *restrict h)
{
    double loss = 0;
    int i;
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], residual = w > 0 ? targets[i] - f[i] : 0;
        const float slope = residual < 0 ? quantile - 1 : quantile;
        g[i] = w * slope;
        h[i] = w * (0.5f / (LEAST_RESIDUAL + fabsf(residual)));
        loss += (double)w * ((double)slope * (double)residual);
    }
    return loss;
}

/* h is exp(F), or halfway to y where this is larger: else a row of y = 100 exp(F) would ask for a step of F by 99. */
static double poisson_rows(const float *restrict f, const float *restrict targets, const float *restrict weight,
                           float *restrict g, float *restrict h)
{
    double loss = 0;
    int i;
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++) {
        const float w = weight[i], y = w > 0 ? targets[i] : 0, score = w > 0 ? f[i] : 0;
        float held = score < LARGEST_RATE ? score : LARGEST_RATE, rate;
        held = held > -LARGEST_RATE ? held : -LARGEST_RATE;
        rate = power(held * LOG2E);
        g[i] = w * (y - rate);
        h[i] = w * (y > rate ? 0.5f * (y + rate) : rate);
        loss += (double)w * ((double)rate - (double)y * (double)score);
    }
    return loss;
}

/* Of output k. */
static ALWAYS_INLINE double tile_rows(const vb_rows *rows, const float *f, ptrdiff_t row, ptrdiff_t k,
                                      float *restrict g, float *restrict h, const int with_loss)
{
    const float *targets = rows->targets + row, *weight = rows->weight + row;
    const float parameter = rows->parameters[k];
    switch (rows->loss) {
    case VB_LOGISTIC: return logistic_rows(f, targets, weight, g, h, with_loss);
    case VB_HUBER: return huber_rows(f, targets, weight, parameter, g, h);
    case VB_QUANTILE: return quantile_rows(f, targets, weight, parameter, g, h);
    case VB_POISSON: return poisson_rows(f, targets, weight, g, h);
    default: return huber_rows(f, targets, weight, INFINITY, g, h);
    }
}

/* The largest score of each row of a tile, and the sum of the exponentials of what the scores are less than it; returns
   the sum of weight times loss. */
static double softmax_sums(const vb_rows *rows, ptrdiff_t row, float step, float *restrict top, float *restrict total)
{
    const float *restrict targets = rows->targets + row, *restrict weight = rows->weight + row;
    float own[VB_TILE];
    double loss = 0;
    ptrdiff_t k;
    int i;
    for (k = 0; k < rows->n_outputs; k++) {
        const float *restrict f = rows->scores + k * rows->stride + row;
        const float *restrict d = rows->directions + k * rows->stride + row;
        const float class = (float)k;
#pragma omp simd
        for (i = 0; i < VB_TILE; i++) {
            const float score = weight[i] > 0 ? f[i] + step * d[i] : 0, before = class > 0 ? top[i] : score;
            top[i] = score > before ? score : before;
            own[i] = targets[i] == class ? score : class > 0 ? own[i] : 0;
            total[i] = 0;
        }
    }
    for (k = 0; k < rows->n_outputs; k++) {
        const float *restrict f = rows->scores + k * rows->stride + row;
        const float *restrict d = rows->directions + k * rows->stride + row;
#pragma omp simd
        for (i = 0; i < VB_TILE; i++)
            total[i] += small_exponential((weight[i] > 0 ? f[i] + step * d[i] : 0) - top[i]);
    }
#pragma omp simd reduction(+ : loss)
    for (i = 0; i < VB_TILE; i++)
        loss += (double)weight[i] * ((double)logarithm(total[i]) + ((double)top[i] - (double)own[i]));
    return loss;
}

/* g and h of output k */
static void softmax_rows(const vb_rows *rows, ptrdiff_t row, ptrdiff_t k, float step, const float *restrict top,
                         const float *restrict total, float *restrict g, float *restrict h)
{
    const float *restrict targets = rows->targets + row, *restrict weight = rows->weight + row;
    const float *restrict f = rows->scores + k * rows->stride + row;
    const float *restrict d = rows->directions + k * rows->stride + row;
    const float class = (float)k;
    int i;
#pragma omp simd
    for (i = 0; i < VB_TILE; i++) {
        const float score = weight[i] > 0 ? f[i] + step * d[i] : 0;
        const float p = small_exponential(score - top[i]) / total[i];
        g[i] = weight[i] * ((targets[i] == class ? 1.0f : 0.0f) - p);
        h[i] = weight[i] * (p * (1 - p));
    }
}

static void add_slopes(const float *restrict g, const float *restrict h, const float *restrict weight,
                       const float *restrict directions, double *restrict sums)
{
    double slope = 0, curvature = 0;
    int i;
#pragma omp simd reduction(+ : slope, curvature)
    for (i = 0; i < VB_TILE; i++) {
        const float d = weight[i] > 0 ? directions[i] : 0;
        slope += (double)g[i] * (double)d;
        curvature += (double)h[i] * ((double)d * (double)d);
    }
    sums[0] += slope;
    sums[1] += curvature;
}

static void slopes(const vb_rows *rows, ptrdiff_t first, ptrdiff_t last, double *restrict sums)
{
    float f[VB_TILE], g[VB_TILE], h[VB_TILE], top[VB_TILE], total[VB_TILE];
    const float step = rows->step;
    ptrdiff_t row, k;
    int i;
    for (row = first; row < last; row += VB_TILE) {
        if (rows->loss == VB_SOFTMAX) {
            softmax_sums(rows, row, step, top, total);
            for (k = 0; k < rows->n_outputs; k++) {
                softmax_rows(rows, row, k, step, top, total, g, h);
                add_slopes(g, h, rows->weight + row, rows->directions + k * rows->stride + row, sums);
            }
            continue;
        }
        for (k = 0; k < rows->n_outputs; k++) {
            const float *restrict scores = rows->scores + k * rows->stride + row;
            const float *restrict d = rows->directions + k * rows->stride + row;
#pragma omp simd
            for (i = 0; i < VB_TILE; i++) f[i] = scores[i] + step * d[i];
            tile_rows(rows, f, row, k, g, h, 0);
            add_slopes(g, h, rows->weight + row, d, sums);
        }
    }
}

static double update(const vb_rows *rows, ptrdiff_t first, ptrdiff_t last, float *gradient, float *hessian)
{
    float g[VB_TILE], h[VB_TILE], top[VB_TILE], total[VB_TILE];
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
        if (rows->loss != VB_SOFTMAX) {
            for (k = 0; k < rows->n_outputs; k++)
                loss += tile_rows(rows, rows->scores + k * rows->stride + row, row, k,
                                  gradient ? gradient + k * rows->stride + row : g,
                                  hessian ? hessian + k * rows->stride + row : h, 1);
            continue;
        }
        loss += softmax_sums(rows, row, 0, top, total);
        for (k = 0; k < rows->n_outputs && gradient; k++)
            softmax_rows(rows, row, k, 0, top, total, gradient + k * rows->stride + row,
                         hessian + k * rows->stride + row);
    }
    return loss;
}

const vb_table EXPAND2(vm_boost, VM_LEVEL) = {
    .copy_columns = copy_columns, .project_columns = project_columns, .pair_totals = pair_totals,
    .pair_sums = pair_sums, .pair_slope = pair_slope, .column_dots = column_dots, .combine_pair = combine_pair,
    .slopes = slopes, .update = update,
};
