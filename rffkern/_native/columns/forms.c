/* One instruction set of the forms of columns: VM_LEVEL names it, the compiler flags make it. */
#include "forms.h"
#include "polynomials.h"
#include "vectors.h"

static inline double held(double x, double limit)
{
    x = x < -limit ? -limit : x;
    return x > limit ? limit : x;
}

static inline void standardise(const vm_form *form, const double *restrict x, double *restrict out)
{
    const double mean = form->a, inverse_deviation = form->b;
    int i;
#pragma omp simd
    for (i = 0; i < VF_LANES; i++) out[i] = held((x[i] - mean) * inverse_deviation, VF_STANDARD_LIMIT);
}

static inline void bound(const vm_form *form, const double *restrict x, double *restrict out)
{
    const double median = form->a, inverse_width = form->b, mean = form->c, inverse_deviation = form->d;
    int i;
#pragma omp simd
    for (i = 0; i < VF_LANES; i++) {
        double z = held((x[i] - median) * inverse_width, VF_BOUNDED_LIMIT);
        out[i] = (z / sqrt(1 + z * z) - mean) * inverse_deviation;
    }
}

static inline void within(const vm_form *form, const double *restrict x, double *restrict out)
{
    const double low = form->a, high = form->b, inside = form->c, outside = form->d;
    int i;
#pragma omp simd
    for (i = 0; i < VF_LANES; i++) out[i] = x[i] >= low && x[i] < high ? inside : outside;
}

static inline void look_up(const vm_form *form, const double *restrict x, double *restrict out)
{
    int i;
    for (i = 0; i < VF_LANES; i++) {
        const double place = x[i] > 0 ? x[i] < form->c ? x[i] : form->c : 0;  /* nan, which is replaced, is 0 */
        out[i] = form->table[(ptrdiff_t)place * form->stride];
    }
}

/* The place of a day since 1970 in its year, from 0: of twelve months of 31 days.  Here years begin in March, so that a
   leap day is their last; 400 of them have 146097 days. */
static inline int64_t place_in_year(int64_t day)
{
    const int64_t since = day + 719468 + 146097 * 100; /* 1 March of a year that is a multiple of 400, before all */
    const int64_t of_era = since % 146097;
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    const int64_t month = (5 * of_year + 2) / 153; /* from March */
    return (month + 2) % 12 * 31 + of_year - (153 * month + 2) / 5;
}

static inline double half_turns(int part, double seconds)
{
    const double x = seconds == seconds ? held(seconds, VF_DATE_LIMIT) : 0, day = floor(x / 86400);
    if (part == VF_HOUR) return (x - day * 86400) / 43200;
    if (part == VF_WEEKDAY) return 2 * (day + 3 - 7 * floor((day + 3) / 7)) / 7; /* 1 January 1970 was a Thursday */
    return (double)place_in_year((int64_t)day) / 186;
}

static inline void turn(const vm_form *form, const double *restrict x, double *restrict out)
{
    int i;
    for (i = 0; i < VF_LANES; i++) {
        const double u = half_turns((int)form->a, x[i]) - form->b, whole = floor(u + 0.5), z = (u - whole) * (u - whole);
        const double cosine = 1 + z * COSINE_F64(EITHER, z, z * z);
        out[i] = whole - 2 * floor(0.5 * whole) == 0 ? cosine : -cosine;
    }
}

static inline void find_buckets(const vm_form *form, const double *restrict x, ptrdiff_t width, int32_t *restrict buckets)
{
    const vm_form copy = *form;
    ptrdiff_t i, start;
    for (start = 0; start < width; start += VF_LANES)
#pragma omp simd
        for (i = start; i < start + VF_LANES; i++) buckets[i] = vf_bucket(&copy, x[i]);
}

/* One value after the other: vectors would gather no faster, and the divisions of a bounded form go on meanwhile.  All
   that is read of a knot lies in half a line of the cache. */
static inline void rank(const vm_form *form, ptrdiff_t reach, const double *restrict x, const int32_t *restrict buckets,
                        double *restrict out)
{
    const vf_knot *restrict knots = form->knots, *restrict knot;
    const uint16_t *restrict guide = form->guide;
    ptrdiff_t i;
    for (i = 0; i < VF_LANES; i++) {
        const double value = x[i];
        ptrdiff_t first = guide[buckets[i]], step;
        ONE_BY_ONE(first);
        for (step = reach; step > 1; step >>= 1) first += knots[first + step - 1].next <= value ? step : 0;
        first += knots[first].next <= value;
        knot = knots + first;
        out[i] = knot->height + knot->slope * (value - knot->knot);
    }
}

static inline void replace_missing(double by, const double *restrict x, ptrdiff_t width, double *restrict out)
{
    ptrdiff_t i, start;
    for (start = 0; start < width; start += VF_LANES)
#pragma omp simd
        for (i = start; i < start + VF_LANES; i++) out[i] = x[i] != x[i] ? by : out[i];
}

static inline void divide(const vm_form *form, ptrdiff_t width, double *restrict out)
{
    const double by = form->divisor;
    ptrdiff_t i, start;
#ifdef __FP_FAST_FMA
    const double reciprocal = form->reciprocal;
    int64_t tiny = reciprocal == 0;
    for (start = 0; start < width; start += VF_LANES)
#pragma omp simd reduction(| : tiny)
        for (i = start; i < start + VF_LANES; i++) tiny |= out[i] != 0 && fabs(out[i]) < VF_SMALLEST ? 1 : 0;
    for (start = 0; start < width && !tiny; start += VF_LANES)
#pragma omp simd
        for (i = start; i < start + VF_LANES; i++) {
            double x = out[i], quotient = x * reciprocal, mended = fma(fma(-quotient, by, x), reciprocal, quotient);
            out[i] = x == 0 ? x : mended;
        }
    if (!tiny) return;
#endif
    for (start = 0; start < width; start += VF_LANES)
#pragma omp simd
        for (i = start; i < start + VF_LANES; i++) out[i] /= by;
}

static int bounded(const double *restrict values, ptrdiff_t width, double limit)
{
    int64_t beyond = 0;
    ptrdiff_t i, start;
    for (start = 0; start < width; start += VF_LANES)
#pragma omp simd reduction(| : beyond)
        for (i = start; i < start + VF_LANES; i++) beyond |= fabs(values[i]) <= limit ? 0 : 1;
    return !beyond;
}

static inline void map_lanes(const vm_form *form, const double *restrict x, const int32_t *restrict buckets,
                             double *restrict out)
{
    switch (form->kind) {
    case VF_STANDARD: standardise(form, x, out); break;
    case VF_BOUNDED: bound(form, x, out); break;
    case VF_WITHIN: within(form, x, out); break;
    case VF_TABLE: look_up(form, x, out); break;
    case VF_PART: turn(form, x, out); break;
    case VF_RANK:
        if (form->reach == 1) rank(form, 1, x, buckets, out);
        else rank(form, form->reach, x, buckets, out);
        break;
    default: memcpy(out, x, VF_LANES * sizeof(double));
    }
}

/* Forms of a segment: one at most is a rank. */
static void map_segment(const vm_form *forms, ptrdiff_t n_forms, const double *restrict x, ptrdiff_t width, int missing,
                        double *restrict out, ptrdiff_t stride)
{
    int32_t buckets[VF_SEGMENT];
    ptrdiff_t i, k;
    for (k = 0; k < n_forms; k++)
        if (forms[k].kind == VF_RANK) find_buckets(forms + k, x, width, buckets);
    for (i = 0; i < width; i += VF_LANES)
        for (k = 0; k < n_forms; k++) map_lanes(forms + k, x + i, buckets + i, out + k * stride + i);
    for (k = 0; k < n_forms; k++) {
        if (missing) replace_missing(forms[k].missing, x, width, out + k * stride);
        if (forms[k].divisor != 1) divide(forms + k, width, out + k * stride);
    }
}

static void apply(const vm_form *forms, ptrdiff_t n_forms, const double *values, ptrdiff_t width, int missing,
                  double *out, ptrdiff_t stride)
{
    ptrdiff_t start, last, first;
    for (start = 0; start < width; start += VF_SEGMENT)
        for (first = 0; first < n_forms; first = last) {
            for (last = first + 1; last < n_forms && forms[last].kind != VF_RANK; last++) continue;
            map_segment(forms + first, last - first, values + start,
                        width - start < VF_SEGMENT ? width - start : VF_SEGMENT, missing,
                        out + first * stride + start, stride);
        }
}

#ifdef VM_ALONE
static
#endif
const vm_forms_table EXPAND2(vm_forms, VM_LEVEL) = {bounded, apply};
