/* What scores rows, at one instruction-set level in one precision: double where VM_DOUBLE is defined, else single.
 *
 * Included once for each, without an include guard.  A product and a sum that belong together are FUSED: rounded once
 * at a level that has an instruction for it, twice elsewhere, whatever a compiler would make of them.  So that all
 * levels of one kind give the same bits, and so do all compilers.
 */
#include "vectors.h"

#if VM_FUSES && (defined(__GNUC__) || defined(__clang__)) && !defined(VM_PLAIN)
#if defined(__x86_64__)
#include <immintrin.h>
#define VM_X86
#elif defined(__aarch64__)
#include <arm_neon.h>
#define VM_NEON
#endif
#endif

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
#undef FUSED_VECTORS
#undef FUSED_DOUBLE

/* Adding 1.5 * 2^(mantissa bits) rounds to an integer whose low bits then stand at the bottom of the word: there they
   give the parity of a half turn and, shifted into the exponent field, a power of two.  It works from SSE2 on, and is
   what -ffast-math would delete. */

#ifdef VM_DOUBLE
#define REAL double
#define WORD uint64_t
#define SIGNED_WORD int64_t
#define SUFFIX f64
#define MAGIC 6755399441055744.0
#define EXPONENT_SHIFT 52
#define EXPONENT_BIAS 1023u
#define SIGN_SHIFT 63
#define ANGLE_LIMIT 2251799813685248.0 /* 2^51 half turns */
#define MAX_EXPONENT 900.0
#define MIN_EXPONENT -900.0
#define FABS fabs
#define SQRT sqrt
#else
#define REAL float
#define WORD uint32_t
#define SIGNED_WORD int32_t
#define SUFFIX f32
#define MAGIC 12582912.0f
#define EXPONENT_SHIFT 23
#define EXPONENT_BIAS 127u
#define SIGN_SHIFT 31
#define ANGLE_LIMIT 4194304.0f /* 2^22 half turns: beyond, float cannot tell one half turn from the next */
#define MAX_EXPONENT 80.0f /* of 2: a tile still has a sum where one of 2^40 rows has all the weight */
#define MIN_EXPONENT -110.0f
#define FABS fabsf
#define SQRT sqrtf
#endif

#if VM_FUSES
#define FUSED_DOUBLE(a, b, c) fma(a, b, c)
#ifdef VM_DOUBLE
#define FUSED(a, b, c) fma(a, b, c)
#else
#define FUSED(a, b, c) fmaf(a, b, c)
#endif
#else
#define FUSED_DOUBLE(a, b, c) ((a) * (b) + (c))
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif

/* The same for vectors: compilers have no common word for it. */
#if !VM_FUSES
#define FUSED_VECTORS(a, b, c) ((a) * (b) + (c))
#elif defined(VM_X86) && VECTOR_BYTES == 64 && defined(VM_DOUBLE)
#define FUSED_VECTORS(a, b, c) ((FN(vector))_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#elif defined(VM_X86) && VECTOR_BYTES == 64
#define FUSED_VECTORS(a, b, c) ((FN(vector))_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif defined(VM_X86) && VECTOR_BYTES == 32 && defined(VM_DOUBLE)
#define FUSED_VECTORS(a, b, c) ((FN(vector))_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#elif defined(VM_X86) && VECTOR_BYTES == 32
#define FUSED_VECTORS(a, b, c) ((FN(vector))_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#elif defined(VM_NEON) && defined(VM_DOUBLE)
#define FUSED_VECTORS(a, b, c) ((FN(vector))vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#elif defined(VM_NEON)
#define FUSED_VECTORS(a, b, c) ((FN(vector))vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#else
#define FUSED_VECTORS FN(fused_each)
#endif

#ifndef FN
#define FN(name) EXPAND3(name, SUFFIX, VM_LEVEL)
#define POLY(name) EXPAND2(name, PRECISION)
#endif
#undef PRECISION
#ifdef VM_DOUBLE
#define PRECISION F64
#else
#define PRECISION F32
#endif

/* Vectors of rows that `project` and `accumulate` hold in registers. */
#define SLICE_VECTORS 8

/* Vectors of rows that `project_used` holds in registers. */
#define USED_VECTORS 8

/* Cache lines of a column that are asked for before it is read. */
#define FETCHED_LINES 8

#undef TERM_VECTORS
#if VECTOR_BYTES == 64
#define TERM_VECTORS 4
#else
#define TERM_VECTORS 2
#endif

typedef REAL FN(vector) VECTOR_OF(REAL);
enum { FN(lanes) = sizeof(FN(vector)) / sizeof(REAL) };

#if VM_FUSES
static ALWAYS_INLINE FN(vector) FN(fused_each)(FN(vector) a, FN(vector) b, FN(vector) c)
{
    int l;
    for (l = 0; l < FN(lanes); l++) ((REAL *)&c)[l] = FUSED(((REAL *)&a)[l], ((REAL *)&b)[l], ((REAL *)&c)[l]);
    return c;
}
#endif

static inline REAL FN(exponential_odd)(REAL q) { return POLY(EXPONENTIAL_ODD)(FUSED, q); }

static inline REAL FN(exponential_even)(REAL q) { return POLY(EXPONENTIAL_EVEN)(FUSED, q); }

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
            const FN(vector) w = omega[j] - (FN(vector)){0};
            FN(fetch)(next, step++);
            for (v = 0; v < SLICE_VECTORS; v++)
                sums[v] = FUSED_VECTORS(w, *(const FN(vector) *)(x + v * FN(lanes)), sums[v]);
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
    return FN(from_bits)(FN(bits)(FUSED(z, POLY(COSINE)(FUSED, z, z * z), 1)) ^ FN(sign_bit)(rounded));
}

static void FN(cospi)(REAL *restrict u, ptrdiff_t width)
{
    ptrdiff_t i, k;
    for (k = 0; k < width; k += VM_LANES)
#pragma omp simd
        for (i = 0; i < VM_LANES; i++) u[k + i] = FN(cospi_point)(u[k + i]);
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
            for (k = 0; k < VM_TERMS; k++)
                sums[k][v] = FUSED_VECTORS(omegas[k * n_features + j] - (FN(vector)){0}, x, sums[k][v]);
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
        for (v = 0; v < n_vectors; v++)
            sums[v] = FUSED_VECTORS(numbers[j] - (FN(vector)){0}, *(const FN(vector) *)(x + v * FN(lanes)), sums[v]);
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
                sums[k][v] = FUSED_VECTORS(apart, apart, sums[k][v]);
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
    return FUSED(scale, FUSED(f, FN(exponential_odd)(q), q * FN(exponential_even)(q)), scale);
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
