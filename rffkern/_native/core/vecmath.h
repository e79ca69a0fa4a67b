/* Vector math on tiles of VM_TILE rows.
 *
 * A tile holds the rows feature-major: tile[j * VM_TILE + i] is feature j of row i.  Angles are counted in half turns
 * (theta / pi), so that range reduction is exact.  The same source is compiled once per instruction set and per
 * precision; each compilation fills one table of functions, and `simd` picks a table when it is imported.
 */
#ifndef RFFKERN_VECMATH_H
#define RFFKERN_VECMATH_H

#include "vectors.h"

#include <stddef.h>
#include <stdint.h>

/* Largest |y_tilde| that the surrogate loss sees: exp(64) * 64 * 128 rows still fits in single precision. */
#define VM_MAX_RESIDUAL 64.0
/* Smaller ones count as 0: subnormal floats are slow and nothing is left to learn from such a row. */
#define VM_MIN_RESIDUAL 1e-30

/* Every function of vector math, as F(result, name, (arguments)).  This is the only list of them in C: the tables of
   functions, the prototypes and the entries of the tables are made from it.  `tiles.pxd` declares them for Cython. */
#define VM_FUNCTIONS(F, REAL)                                                                                          \
    /* u[i] = omega . tile[:, i] - shift: half turns, when omega and shift were divided by pi. `next` is the tile that \
       is read after this one, to be fetched ahead: the same tile where there is no other. */                          \
    F(void, project, (const REAL *tile, const REAL *next, ptrdiff_t n_features, const REAL *omega, REAL shift,         \
                      REAL *u))                                                                                        \
    F(void, cospi, (REAL *u, ptrdiff_t width))                                                                         \
    F(void, sincospi, (const REAL *u, ptrdiff_t width, REAL *s, REAL *c))                                              \
    /* v = weight r2 s 2^(-r2 c); returns sum of weight (2^(-r2 c) - 1) */                                             \
    F(REAL, surrogate, (const REAL *r2, const REAL *weight, const REAL *s, const REAL *c, REAL *v))                    \
    /* The entries of lanes[j * VM_LANES ...] add up to tile[j] . v; `flush` moves such sums out and leaves 0 */       \
    F(void, accumulate, (const REAL *tile, const REAL *next, ptrdiff_t n_features, const REAL *v,                      \
                         REAL *lanes))                                                                                 \
    F(void, flush, (REAL *lanes, ptrdiff_t n_sums, double *sums))                                                      \
    /* sums[k] += sum of weight (2^-z_k - 1), sums[n_pairs + k] += sum of weight (2^z_k - 1),                          \
       z_k = a cosine[k] + b sine[k] */                                                                                \
    F(void, phase_sums, (const REAL *a, const REAL *b, const REAL *weight, ptrdiff_t n_pairs, const REAL *cosine,      \
                         const REAL *sine, double *sums))                                                              \
    /* Derivatives along the phase: with z = a cosine + b sine, z' = b cosine - a sine and e = 2^-z, sums[0] +=        \
       sum of weight (e - 1), sums[1] += sum of weight z' e, sums[2] += sum of weight (z + ln(2) z'^2) e */            \
    F(void, phase_derivatives, (const REAL *a, const REAL *b, const REAL *weight, REAL cosine, REAL sine,              \
                                double *sums))                                                                         \
    /* sums[0] += sum of |r|, sums[1] += sum of r h, with r = weight r2 */                                             \
    F(void, correlate, (const REAL *r2, const REAL *weight, const REAL *h, double *sums))                              \
    /* The same with r = weight y exp(-y raw), for rows whose r2 is held to a bound */                                 \
    F(void, correlate_unbounded, (const double *raw, const REAL *y, const REAL *weight, const REAL *h, double *sums))  \
    /* raw += step h; w = exp(-y raw); r2 = log2(e) y min(w, VM_MAX_RESIDUAL);                                         \
       sums[0] += sum of weight w, sums[1] = max(sums[1], largest |r2| / log2(e)) */                                   \
    F(void, boost, (double *raw, const REAL *y, const REAL *weight, const REAL *h, double step, REAL *r2,              \
                    double *sums))                                                                                     \
    /* With e = weight exp(-y (raw + step h)): sums[0] += sum of e, sums[1] += of y h e, sums[2] += of h^2 e */        \
    F(void, step_derivatives, (const double *raw, const REAL *y, const REAL *weight, const REAL *h, double step,       \
                               double *sums))                                                                          \
    /* v = weight (r - z), half the descent of the squared loss along z; returns sum of weight z (z - 2 r) */          \
    F(REAL, squared, (const REAL *r, const REAL *weight, const REAL *z, REAL *v))                                      \
    /* sums[0] += sum of weight r h, sums[1] += sum of weight h^2 */                                                   \
    F(void, regress, (const REAL *r, const REAL *weight, const REAL *h, double *sums))                                 \
    /* residual -= step h, r = residual; sums[0] += sum of weight r^2 */                                               \
    F(void, shrink, (double *residual, const REAL *weight, const REAL *h, double step, REAL *r, double *sums))         \
    /* u[k * width + i] = omegas[k] . tile[:, i] - shifts[k] for VM_TERMS terms and i < width, in a tile of            \
       width rows: tile[j * width + i] */                                                                              \
    F(void, project_terms, (const REAL *tile, ptrdiff_t n_features, ptrdiff_t width, const REAL *omegas,               \
                            const REAL *shifts, REAL *u))                                                              \
    /* The same for omegas that are 0 but for numbers[ends[k]] to numbers[ends[k + 1]], which those columns have: the       \
       bits of `project_terms` */                                                                                      \
    F(void, project_used, (const REAL *tile, ptrdiff_t width, const int32_t *ends, const int32_t *columns,             \
                           const REAL *numbers, const REAL *shifts, REAL *u))                                          \
    /* total[i] = sum of amplitudes[k] tile[k * width + i] over n_terms, a multiple of VM_TERMS */                     \
    F(void, combine, (const REAL *tile, ptrdiff_t n_terms, ptrdiff_t width, const REAL *amplitudes, REAL *total))      \
    /* sums[k] = sum of tile[k * width + i] v[i] over i < width */                                                     \
    F(void, products, (const REAL *tile, ptrdiff_t n_terms, ptrdiff_t width, const REAL *v, REAL *sums))               \
    /* tile[k * width + i] *= sum of amplitudes[o * stride + k] v[o * width + i] over o < n_outputs */                 \
    F(void, weigh, (REAL *tile, ptrdiff_t n_terms, ptrdiff_t width, const REAL *amplitudes, ptrdiff_t stride,          \
                    ptrdiff_t n_outputs, const REAL *v))                                                               \
    /* Step n_steps of Adam on values, with its mean slopes and mean squares of them, and with ridge |x|^2 and         \
       lasso |x|_1 by proximal steps in its metric */                                                                  \
    F(void, proximal_step, (REAL *values, REAL *mean, REAL *square, const REAL *slope, ptrdiff_t size,                 \
                            double n_steps, REAL rate, REAL ridge, REAL lasso))                                        \
    /* Sum of amplitude[k] h[k] over VM_TERM_BLOCK terms, one after the other, as `add_scaled` would sum them */       \
    F(REAL, dot_terms, (const REAL *h, const REAL *amplitude))                                                         \
    /* total[i] += amplitude h[i] */                                                                                   \
    F(void, add_scaled, (const REAL *h, ptrdiff_t width, REAL amplitude, REAL *total))                                 \
    /* Sum of a[i] b[i], i < width, a multiple of VM_LANES */                                                          \
    F(REAL, dot, (const REAL *a, const REAL *b, ptrdiff_t width))                                                      \
    /* u[k * VM_TILE + i] = |tile[:, i] - centers[k]|^2 for VM_TERMS centers, in a tile as of `project_terms` */       \
    F(void, distances, (const REAL *tile, ptrdiff_t n_features, ptrdiff_t width, const REAL *centers, REAL *u))        \
    /* u = 2^-u for u >= 0, held above the smallest power of two that is not slow */                                   \
    F(void, decay, (REAL *u, ptrdiff_t width))                                                                         \
    /* u = 2^-sqrt(u), likewise */                                                                                     \
    F(void, decay_root, (REAL *u, ptrdiff_t width))                                                                    \
    /* For columns[j * stride + i], i < width, a multiple of VM_LANES: sums[2 j] = sum of column j times a,            \
       sums[2 j + 1] = sum of column j times b, in double */                                                           \
    F(void, column_products, (const REAL *columns, ptrdiff_t stride, ptrdiff_t n_columns, const double *a,             \
                              const double *b, ptrdiff_t width, double *sums))                                         \
    /* total[i] += sum over j of steps[j] columns[j * stride + i], in double */                                        \
    F(void, add_columns, (const REAL *columns, ptrdiff_t stride, ptrdiff_t n_columns, const double *steps,             \
                          ptrdiff_t width, double *total))                                                             \
    /* The same for two totals with steps of their own, in the time of one and a half */                               \
    F(void, add_columns_twice, (const REAL *columns, ptrdiff_t stride, ptrdiff_t n_columns, const double *steps,       \
                                const double *others, ptrdiff_t width, double *total, double *other))

#define VM_MEMBER(RESULT, name, arguments) RESULT(*name) arguments;
typedef struct { VM_FUNCTIONS(VM_MEMBER, float) } vecmath_f32;
typedef struct { VM_FUNCTIONS(VM_MEMBER, double) } vecmath_f64;

/* Cython puts a number before the C name of an external function of a fused type: 0 for float, 1 for double.  Named
   "vm_table->dot", the function becomes a member of the table of that precision; `vm_f32` and `vm_f64` are the
   variables of `simd.pxd`. */
#define __pyx_fuse_0vm_table vm_f32
#define __pyx_fuse_1vm_table vm_f64

extern const vecmath_f32 vecmath_f32_baseline;
extern const vecmath_f64 vecmath_f64_baseline;
#ifdef VM_HAVE_LEVELS
extern const vecmath_f32 vecmath_f32_v3, vecmath_f32_v4;
extern const vecmath_f64 vecmath_f64_v3, vecmath_f64_v4;
#endif

static inline const vecmath_f32 *vm_table_f32(int level)
{
#ifdef VM_HAVE_LEVELS
    /* Level v2 takes the baseline, whose vectors are as wide. */
    static const vecmath_f32 *const tables[] = {&vecmath_f32_baseline, &vecmath_f32_baseline, &vecmath_f32_v3,
                                                &vecmath_f32_v4};
    return tables[level];
#else
    (void)level;
    return &vecmath_f32_baseline;
#endif
}

static inline const vecmath_f64 *vm_table_f64(int level)
{
#ifdef VM_HAVE_LEVELS
    /* Level v2 takes the baseline, whose vectors are as wide. */
    static const vecmath_f64 *const tables[] = {&vecmath_f64_baseline, &vecmath_f64_baseline, &vecmath_f64_v3,
                                                &vecmath_f64_v4};
    return tables[level];
#else
    (void)level;
    return &vecmath_f64_baseline;
#endif
}

/* Ask for `size` bytes ahead of their use. */
static inline void vm_prefetch(const void *address, ptrdiff_t size)
{
#if defined(__GNUC__) || defined(__clang__)
    ptrdiff_t i;
    for (i = 0; i < size; i += 64) __builtin_prefetch((const char *)address + i);
#else
    (void)address;
    (void)size;
#endif
}

static inline int vm_has_openmp(void)
{
#ifdef _OPENMP
    return 1;
#else
    return 0;
#endif
}

#endif
