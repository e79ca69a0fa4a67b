/* Forms of columns of raw tables, each a function of one value, on vectors of values: a number, the seconds of a date, or
 * the index of the level of a category.
 *
 * Every operation is rounded by itself (no product is fused with a sum), so that a value has the same bits at every
 * instruction set, alone and among others, and those that NumPy gives.
 */
#ifndef RFFKERN_FORMS_H
#define RFFKERN_FORMS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VF_LANES 16          /* widths are multiples */
#define VF_SEGMENT 128       /* values that are mapped together */
#define VF_MOST_GUIDED 65535 /* knots to which a guide leads */
#define VF_STANDARD_LIMIT 1e30
#define VF_BOUNDED_LIMIT 1e150
#define VF_DATE_LIMIT 1e11 /* seconds from 1970 up to which days differ: some 3000 years */

enum {
    VF_RAW,      /* x */
    VF_STANDARD, /* (x - a) b, held to its limit */
    VF_BOUNDED,  /* (z / sqrt(1 + z^2) - c) d with z = (x - a) b, held to its limit */
    VF_RANK,     /* the piecewise linear function through (knots, heights), constant beyond them */
    VF_WITHIN,   /* c where a <= x < b, else d */
    VF_TABLE,    /* table[x * stride], x held to 0, 1, ..., c */
    VF_PART,     /* cos(pi (u - b)), where 2 pi is the period of part a of a date, and u its place in half turns */
};

/* Parts of dates. */
enum { VF_HOUR, VF_WEEKDAY, VF_YEARDAY };

/* From this magnitude on, remainders of quotients are not too small to be exact. */
#define VF_SMALLEST 1e-200

/* A knot of a rank: the function goes on from its height with its slope as far as the next knot. */
typedef struct {
    double knot, height, slope, next;
} vf_knot;

typedef struct {
    int kind;
    double missing;  /* what a missing value becomes */
    double divisor;  /* of all that comes out */
    double reciprocal;  /* of the divisor, where `divide` may use it; else 0 */
    double a, b, c, d;
    const double *table;
    ptrdiff_t stride;
    /* Of ranks: buckets of values and, of each bucket, the last of the knots that is not above any of its values. */
    double origin;
    float spread;
    int32_t base, shift, last;
    ptrdiff_t reach;        /* the knots to search are the next 2 reach - 1 */
    const uint16_t *guide;  /* (2 (last + 1),) */
    const vf_knot *knots;   /* a flat one that ends at the first, then they increase, then nan up to the reach */
} vm_form;

static inline int32_t vf_bits(float x)
{
    int32_t w;
    memcpy(&w, &x, sizeof w);
    return w;
}

/* 1 / b if products with it can be mended into quotients by b: if it is so near that x / b is off by at most one unit in
   the last place before.  Then x y + (x - (x y) b) y, with the products y = 1 / b and x y rounded and the rest fused,
   rounds as x / b does (Markstein, IBM J. Res. Dev. 34, 1990, theorem 7). */
static inline double vf_reciprocal(double b)
{
    double y = 1 / b;
    return fabs(fma(b, y, -1.0)) <= 0x1p-54 ? y : 0;
}

/* A bucket in [0, 2 (last + 1)) for any value, nan too: it never decreases as the value grows.  The first bits of
   |x - origin| + spread count them: evenly as far as the spread on both sides of the origin, by ratios farther out. */
static inline int32_t vf_bucket(const vm_form *form, double x)
{
    float distance = (float)(x - form->origin);
    int32_t sign = vf_bits(distance) >> 31;
    int32_t count = ((vf_bits(fabsf(distance) + form->spread) & 0x7fffffff) - form->base) >> form->shift;
    return ((count < form->last ? count : form->last) ^ sign) + form->last + 1;
}

typedef struct {
    /* Whether all of some values are numbers of at most a magnitude. */
    int (*bounded)(const double *values, ptrdiff_t width, double limit);
    /* out[k * stride + i] = form k at values[i], i < width; `missing` says whether some value is nan. */
    void (*apply)(const vm_form *forms, ptrdiff_t n_forms, const double *values, ptrdiff_t width, int missing,
                  double *out, ptrdiff_t stride);
} vm_forms_table;

#ifndef VM_ALONE /* a program that includes forms.c */
extern const vm_forms_table vm_forms_baseline;
#ifdef VM_HAVE_LEVELS
extern const vm_forms_table vm_forms_v3, vm_forms_v4;
#endif

static inline const vm_forms_table *vm_table_forms(int level)
{
#ifdef VM_HAVE_LEVELS
    /* Level v2 has nothing that these functions would use. */
    static const vm_forms_table *const tables[] = {&vm_forms_baseline, &vm_forms_baseline, &vm_forms_v3, &vm_forms_v4};
    return tables[level];
#else
    (void)level;
    return &vm_forms_baseline;
#endif
}
#endif

#endif
