/* Polynomials of tools/vecmath_coefficients.py, by Estrin's scheme: short dependency chains.
 *
 * As macros they take numbers and vectors of numbers.  F(a, b, c) is a b + c, rounded once or twice; z2 = z^2.
 */
#ifndef RFFKERN_POLYNOMIALS_H
#define RFFKERN_POLYNOMIALS_H

/* F where the compiler may choose. */
#define EITHER(a, b, c) ((a) * (b) + (c))

#define SINE_F32(F, z, z2)                                                                                             \
    F(F(0.077655912276f, z2, F(-0.59829041128f, z, 2.5500773865f)), z2, F(-5.1677100767f, z, 3.1415926401f))
#define COSINE_F32(F, z, z2)                                                                                           \
    F(F(-0.024627111595f, z2, F(0.23507436832f, z, -1.3352399607f)), z2, F(4.0587114147f, z, -4.934802197f))

#define SINE_F64(F, z, z2)                                                                                             \
    F(F(7.6978267682241906454e-7, (z2) * (z2),                                                                         \
        F(F(-0.000021903497074626017191, z, 0.00046629981618983938014), z2,                                            \
          F(-0.0073704305059169434047, z, 0.08214588657310289502))),                                                   \
      (z2) * (z2),                                                                                                     \
      F(F(-0.59926452931894468132, z, 2.5501640398773004745), z2,                                                      \
        F(-5.1677127800499696077, z, 3.1415926535897932378)))
#define COSINE_F64(F, z, z2)                                                                                           \
    F(F(F(4.166399462726948408e-6, z, -0.00010458286368326584797), z2,                                                 \
        F(0.0019295626524798661125, z, -0.025806890025875390135)),                                                     \
      (z2) * (z2),                                                                                                     \
      F(F(0.23533063027215769472, z, -1.3352627688518803788), z2, F(4.0587121264167359752, z, -4.9348022005446792464)))

/* 2^f - 1 = f E(f): the odd powers of f, then the even ones, each as a polynomial in q = f^2. */
#define EXPONENTIAL_ODD_F32(F, q) F(F(0.0013390863365f, q, 0.055503571142f), q, 0.69314718803f)
#define EXPONENTIAL_EVEN_F32(F, q) F(F(0.00015453162945f, q, 0.0096180825573f), q, 0.24022650761f)
#define EXPONENTIAL_ODD_F64(F, q)                                                                                      \
    F(F(F(4.4549605981865183938e-10, q, 1.0178062445845773521e-7), (q) * (q),                                          \
        F(0.000015252733829836118394, q, 0.001333355814641693531)),                                                    \
      (q) * (q), F(0.055504108664821594339, q, 0.69314718055994530942))
#define EXPONENTIAL_EVEN_F64(F, q)                                                                                     \
    F(F(7.0725859692492236999e-9, (q) * (q), F(1.3215442587921689653e-6, q, 0.00015403530441736050155)), (q) * (q),    \
      F(0.0096181291076068885273, q, 0.2402265069591009822))

static inline float exponential_odd_f32(float q) { return EXPONENTIAL_ODD_F32(EITHER, q); }

static inline float exponential_even_f32(float q) { return EXPONENTIAL_EVEN_F32(EITHER, q); }

/* log((1 + s) / (1 - s)) = 2 s (1 + z L(z)), z = s^2 <= 1/9 */
static inline float logarithm_f32(float z)
{
    float z2 = z * z;
    return (0.33333320168f + 0.20003780322f * z) + (0.14118309903f + 0.13425749011f * z) * z2;
}

#endif
