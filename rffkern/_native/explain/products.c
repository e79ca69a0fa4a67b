/* One instruction set of Shapley values of products: VM_LEVEL names it, the compiler flags make it. */
#include "products.h"
#include "vectors.h"

typedef double vector VECTOR_OF(double);
enum { LANES = sizeof(vector) / sizeof(double), VECTORS = VX_ROWS / LANES };

static void angles(const double *restrict tile, const ptrdiff_t *restrict columns, const double *restrict numbers,
                   ptrdiff_t n_entries, double *restrict out)
{
    ptrdiff_t e, i;
    double sums[VX_ROWS] = {0};
    for (e = 0; e < n_entries; e++) {
        const double *restrict x = tile + columns[e] * VX_ROWS;
        const double number = numbers[e];
#pragma omp simd
        for (i = 0; i < VX_ROWS; i++) sums[i] += number * x[i];
    }
    for (i = 0; i < VX_ROWS; i++) out[i] = sums[i];
}

static void squares(const double *restrict tile, const ptrdiff_t *restrict columns, const double *restrict numbers,
                    const double *restrict centers, ptrdiff_t n_entries, double *restrict out)
{
    ptrdiff_t e, i;
    double sums[VX_ROWS] = {0};
    for (e = 0; e < n_entries; e++) {
        const double *restrict x = tile + columns[e] * VX_ROWS;
        const double number = numbers[e], center = centers[e];
#pragma omp simd
        for (i = 0; i < VX_ROWS; i++) {
            const double distance = number * (x[i] - center);
            sums[i] += distance * distance;
        }
    }
    for (i = 0; i < VX_ROWS; i++) out[i] = sums[i];
}

static void within(const double *restrict tile, const ptrdiff_t *restrict columns, const double *restrict lows,
                   const double *restrict highs, ptrdiff_t n_entries, double *restrict factors)
{
    ptrdiff_t e, i;
    for (e = 0; e < n_entries; e++) {
        const double *restrict x = tile + columns[e] * VX_ROWS;
        for (i = 0; i < VX_ROWS; i++) factors[i] = x[i] > lows[e] && x[i] <= highs[e] ? factors[i] : 0;
    }
}

static void add(const double *restrict values, double weight, double *restrict totals)
{
    ptrdiff_t i;
#pragma omp simd
    for (i = 0; i < VX_ROWS; i++) totals[i] += weight * values[i];
}

/* Real and imaginary parts of a number in each lane; the imaginary one is not touched where numbers are real. */
typedef struct {
    vector re, im;
} number;

static ALWAYS_INLINE vector all(double x)
{
    vector v = {0};
    return v + x;
}

static ALWAYS_INLINE number times(number a, number b, const int is_complex)
{
    number c = {a.re * b.re, a.im};
    if (is_complex) {
        c.re = c.re - a.im * b.im;
        c.im = a.re * b.im + a.im * b.re;
    }
    return c;
}

static ALWAYS_INLINE number load(const double *values, ptrdiff_t imaginary, const int is_complex)
{
    number c = {*(const vector *)values, {0}};
    if (is_complex) c.im = *(const vector *)(values + imaginary);
    return c;
}

static ALWAYS_INLINE void store(number c, double *values, ptrdiff_t imaginary, const int is_complex)
{
    *(vector *)values = c.re;
    if (is_complex) *(vector *)(values + imaginary) = c.im;
}

/* u - w of a column, at some lanes. */
static ALWAYS_INLINE number apart(const double *factors, const double *real_means, const double *imaginary_means,
                                  ptrdiff_t g, ptrdiff_t lane, ptrdiff_t imaginary, const int is_complex)
{
    number u = load(factors + g * VX_ROWS + lane, imaginary, is_complex);
    u.re -= all(real_means[g]);
    if (is_complex) u.im -= all(imaginary_means[g]);
    return u;
}

/* The real part of a number times the turn of its term. */
static ALWAYS_INLINE vector turned(number value, const double *turn, const int is_complex)
{
    if (is_complex) value.re = turn[0] * value.re - turn[1] * value.im;
    return value.re;
}

/* t u + (1 - t) w = w + t (u - w) of all columns, kept in `mixed`, and the products of those before each. */
static ALWAYS_INLINE void mix(const double *factors, const double *real_means, const double *imaginary_means,
                              ptrdiff_t k, double t, double *mixed, double *before, const int is_complex)
{
    const ptrdiff_t imaginary = k * VX_ROWS;
    number product[VECTORS];
    ptrdiff_t g;
    int v;
    UNROLLED for (v = 0; v < VECTORS; v++)
    {
        product[v].re = all(1);
        product[v].im = all(0);
    }
    for (g = 0; g < k; g++)
        UNROLLED for (v = 0; v < VECTORS; v++)
        {
            const ptrdiff_t at = g * VX_ROWS + v * LANES;
            number f = apart(factors, real_means, imaginary_means, g, v * LANES, imaginary, is_complex);
            f.re = all(real_means[g]) + t * f.re;
            if (is_complex) f.im = all(imaginary_means[g]) + t * f.im;
            store(f, mixed + at, imaginary, is_complex);
            store(product[v], before + at, imaginary, is_complex);
            product[v] = times(product[v], f, is_complex);
        }
}

static ALWAYS_INLINE void clear(double *values, ptrdiff_t size)
{
    ptrdiff_t i;
    for (i = 0; i < size; i++) values[i] = 0;
}

static ALWAYS_INLINE void add_values(const double *restrict factors, const double *restrict real_means,
                                     const double *restrict imaginary_means, ptrdiff_t k, const double *turn,
                                     vx_rule rule, double *restrict scratch, double *restrict out, const int is_complex)
{
    const ptrdiff_t size = k * VX_ROWS, imaginary = size;
    double *mixed = scratch, *before = scratch + 2 * size, *others = scratch + 4 * size;
    ptrdiff_t g, m;
    int v;
    clear(others, 2 * size);
    for (m = 0; m < rule.n_nodes; m++) {
        number after[VECTORS];
        mix(factors, real_means, imaginary_means, k, rule.nodes[m], mixed, before, is_complex);
        UNROLLED for (v = 0; v < VECTORS; v++)
        {
            after[v].re = all(rule.weights[m]);
            after[v].im = all(0);
        }
        for (g = k - 1; g >= 0; g--)
            UNROLLED for (v = 0; v < VECTORS; v++)
            {
                const ptrdiff_t at = g * VX_ROWS + v * LANES;
                number sum = load(others + at, imaginary, is_complex);
                const number product = times(load(before + at, imaginary, is_complex), after[v], is_complex);
                sum.re += product.re;
                if (is_complex) sum.im += product.im;
                store(sum, others + at, imaginary, is_complex);
                after[v] = times(after[v], load(mixed + at, imaginary, is_complex), is_complex);
            }
    }
    for (g = 0; g < k; g++)
        UNROLLED for (v = 0; v < VECTORS; v++)
        {
            const ptrdiff_t at = g * VX_ROWS + v * LANES;
            const number u = apart(factors, real_means, imaginary_means, g, v * LANES, imaginary, is_complex);
            const number value = times(u, load(others + at, imaginary, is_complex), is_complex);
            *(vector *)(out + at) += turned(value, turn, is_complex);
        }
}

static ALWAYS_INLINE void add_pairs(const double *restrict factors, const double *restrict real_means,
                                    const double *restrict imaginary_means, ptrdiff_t k, const double *turn,
                                    vx_rule rule, double *restrict scratch, double *restrict out, const int is_complex)
{
    const ptrdiff_t size = k * VX_ROWS, imaginary = size, n_pairs = k * (k - 1) / 2;
    double *mixed = scratch, *before = scratch + 2 * size, *after = scratch + 4 * size, *others = scratch + 6 * size;
    ptrdiff_t g, h, m, pair;
    int v;
    clear(others, 2 * n_pairs * VX_ROWS);
    for (m = 0; m < rule.n_nodes; m++) {
        mix(factors, real_means, imaginary_means, k, rule.nodes[m], mixed, before, is_complex);
        for (v = 0; v < VECTORS; v++) {
            number product = {all(rule.weights[m]), {0}};
            for (g = k - 1; g >= 0; g--) {
                const ptrdiff_t at = g * VX_ROWS + v * LANES;
                store(product, after + at, imaginary, is_complex);
                product = times(product, load(mixed + at, imaginary, is_complex), is_complex);
            }
            for (g = 0, pair = 0; g < k; g++) {
                number between = load(before + g * VX_ROWS + v * LANES, imaginary, is_complex);
                for (h = g + 1; h < k; h++, pair++) {
                    const ptrdiff_t at = h * VX_ROWS + v * LANES, place = pair * VX_ROWS + v * LANES;
                    number sum = load(others + place, n_pairs * VX_ROWS, is_complex);
                    product = times(between, load(after + at, imaginary, is_complex), is_complex);
                    sum.re += product.re;
                    if (is_complex) sum.im += product.im;
                    store(sum, others + place, n_pairs * VX_ROWS, is_complex);
                    between = times(between, load(mixed + at, imaginary, is_complex), is_complex);
                }
            }
        }
    }
    for (v = 0; v < VECTORS; v++)
        for (g = 0, pair = 0; g < k; g++)
            for (h = g + 1; h < k; h++, pair++) {
                const ptrdiff_t place = pair * VX_ROWS + v * LANES;
                const number u = apart(factors, real_means, imaginary_means, g, v * LANES, imaginary, is_complex);
                const number w = apart(factors, real_means, imaginary_means, h, v * LANES, imaginary, is_complex);
                const number value = times(times(u, w, is_complex), load(others + place, n_pairs * VX_ROWS, is_complex),
                                           is_complex);
                *(vector *)(out + place) += turned(value, turn, is_complex);
            }
}

static void complex_values(const double *factors, const double *real_means, const double *imaginary_means, ptrdiff_t k,
                           const double *turn, vx_rule rule, double *scratch, double *out)
{
    add_values(factors, real_means, imaginary_means, k, turn, rule, scratch, out, 1);
}

static void real_values(const double *factors, const double *means, ptrdiff_t k, vx_rule rule, double *scratch,
                        double *out)
{
    add_values(factors, means, means, k, means, rule, scratch, out, 0);
}

static void complex_pairs(const double *factors, const double *real_means, const double *imaginary_means, ptrdiff_t k,
                          const double *turn, vx_rule rule, double *scratch, double *out)
{
    add_pairs(factors, real_means, imaginary_means, k, turn, rule, scratch, out, 1);
}

static void real_pairs(const double *factors, const double *means, ptrdiff_t k, vx_rule rule, double *scratch,
                       double *out)
{
    add_pairs(factors, means, means, k, means, rule, scratch, out, 0);
}

const vx_table EXPAND3(vm, explain, VM_LEVEL) = {
    angles, squares, within, complex_values, real_values, complex_pairs, real_pairs, add,
};
