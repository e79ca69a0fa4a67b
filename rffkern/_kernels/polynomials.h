/* Polynomials of tools/vecmath_coefficients.py in single precision, by Estrin's scheme: short dependency chains. */
#ifndef RFFKERN_POLYNOMIALS_H
#define RFFKERN_POLYNOMIALS_H

/* As macros they take numbers and vectors of numbers; z2 = z^2. */
#define SINE_F32(z, z2)                                                                                                \
    ((3.1415926401f + -5.1677100767f * (z)) +                                                                          \
     ((2.5500773865f + -0.59829041128f * (z)) + 0.077655912276f * (z2)) * (z2))
#define COSINE_F32(z, z2)                                                                                              \
    ((-4.934802197f + 4.0587114147f * (z)) +                                                                           \
     ((-1.3352399607f + 0.23507436832f * (z)) + -0.024627111595f * (z2)) * (z2))

static inline float sine_f32(float z) { return SINE_F32(z, z * z); }

static inline float cosine_f32(float z) { return COSINE_F32(z, z * z); }

/* 2^f - 1 = f E(f): the odd powers of f, then the even ones, each as a polynomial in q = f^2. */
static inline float exponential_odd_f32(float q)
{
    return 0.69314718803f + (0.055503571142f + 0.0013390863365f * q) * q;
}

static inline float exponential_even_f32(float q)
{
    return 0.24022650761f + (0.0096180825573f + 0.00015453162945f * q) * q;
}

/* log((1 + s) / (1 - s)) = 2 s (1 + z L(z)), z = s^2 <= 1/9 */
static inline float logarithm_f32(float z)
{
    float z2 = z * z;
    return (0.33333320168f + 0.20003780322f * z) + (0.14118309903f + 0.13425749011f * z) * z2;
}

#endif
