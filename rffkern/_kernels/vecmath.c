/* One instruction-set level of the vector math: VM_LEVEL names it, the compiler flags make it. */
#include "vecmath.h"
#include "polynomials.h"
#include "vectors.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Vectors of rows that `project` and `accumulate` hold in registers. */
#define SLICE_VECTORS 8

/* Cache lines of a column that are asked for before it is read. */
#define FETCHED_LINES 8

#if defined(__AVX512F__)
#define TERM_VECTORS 4
#else
#define TERM_VECTORS 2
#endif

/* Vectors of rows that `project_used` holds in registers. */
#define USED_VECTORS 8

#define LOG2E 1.4426950408889634
#define LN2 0.6931471805599453

/* Adam's decay rates, and what keeps its divisor from 0 (Kingma and Ba, 2014). */
#define MEAN_DECAY 0.9
#define SQUARE_DECAY 0.999
#define SMALLEST_ROOT 1e-8

/* As those of polynomials.h, in double precision. */

static inline double sine_f64(double z)
{
    double z2 = z * z, z4 = z2 * z2;
    double low = (3.1415926535897932378 + -5.1677127800499696077 * z) +
                 (2.5501640398773004745 + -0.59926452931894468132 * z) * z2;
    double high = (0.08214588657310289502 + -0.0073704305059169434047 * z) +
                  (0.00046629981618983938014 + -0.000021903497074626017191 * z) * z2;
    return low + (high + 7.6978267682241906454e-7 * z4) * z4;
}

static inline double cosine_f64(double z)
{
    double z2 = z * z, z4 = z2 * z2;
    double low = (-4.9348022005446792464 + 4.0587121264167359752 * z) +
                 (-1.3352627688518803788 + 0.23533063027215769472 * z) * z2;
    double high = (-0.025806890025875390135 + 0.0019295626524798661125 * z) +
                  (-0.00010458286368326584797 + 4.166399462726948408e-6 * z) * z2;
    return low + high * z4;
}

/* 2^f - 1 = f E(f): the odd powers of f, then the even ones, each as a polynomial in q = f^2. */
static inline double exponential_odd_f64(double q)
{
    double q2 = q * q;
    return (0.69314718055994530942 + 0.055504108664821594339 * q) +
           ((0.001333355814641693531 + 0.000015252733829836118394 * q) +
            (1.0178062445845773521e-7 + 4.4549605981865183938e-10 * q) * q2) * q2;
}

static inline double exponential_even_f64(double q)
{
    double q2 = q * q;
    return (0.2402265069591009822 + 0.0096181291076068885273 * q) +
           ((0.00015403530441736050155 + 1.3215442587921689653e-6 * q) + 7.0725859492692236999e-9 * q2) * q2;
}

/* FUSED is a product and a sum that a compiler must not round otherwise in one place than in another. */
#ifdef __FP_FAST_FMA
#define FUSED_DOUBLE(a, b, c) fma(a, b, c)
#else
#define FUSED_DOUBLE(a, b, c) ((a) * (b) + (c))
#endif

/* Adding 1.5 * 2^(mantissa bits) rounds to an integer whose low bits then stand at the bottom of the word: there they
   give the parity of a half turn and, shifted into the exponent field, a power of two.  It works from SSE2 on, and is
   what -ffast-math would delete. */

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
#ifdef __FP_FAST_FMAF
#define FUSED(a, b, c) fmaf(a, b, c)
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif
#include "vecmath_tile.h"

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
#define FUSED(a, b, c) FUSED_DOUBLE(a, b, c)
#include "vecmath_tile.h"
