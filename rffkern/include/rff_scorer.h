/* Scores of the rows of a model that is read: the other half of rffscore.c.
 *
 * Every level gives the bits that Python gives at it.  Products and sums that are rounded once are fused by name
 * (vecmath_score.h); no others are: RFF_UNFUSED sees to it where the compiler can be told.
 */
#ifndef RFF_SCORER_H
#define RFF_SCORER_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "rff_cells.h"
#include "rff_expansions.h"

/* Levels of x86-64 that are compiled: all up to RFF_MOST_LEVEL, 1 for the baseline alone. */
#ifndef RFF_MOST_LEVEL
#define RFF_MOST_LEVEL 4
#endif
#if !defined(RFF_TABLES) && defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__)) && RFF_MOST_LEVEL >= 3
#define VM_HAVE_LEVELS
#include <immintrin.h>
#endif

#ifdef RFF_TABLES /* the package itself, which has the functions of levels elsewhere */
#define RFF_FORMS (*rff_forms)
#else
#define VM_LEVEL baseline
#define VM_ALONE
#define RFF_FORMS vm_forms_baseline
#include "cpu.h"
#include "forms.c"
#include "polynomials.h"
#endif
#include "vectors.h"
#include "rff_trees.h"

/* Rows that are scored together: more where trees are many, which then stay in the cache while rows go by.  Rows fewer
   than RFF_FEW are scored one by one. */
#define RFF_PIECE VM_TILE
#define RFF_LARGE_PIECE 2048
#define RFF_PIECE_BYTES 1048576 /* of rows and scores of a piece */
#define RFF_FEW 8
#define RFF_TREE_BYTES 131072 /* of trees that score all rows of a piece before others do */

/* As in _model/angles.py and expansion.py. */
#define RFF_LARGEST_ANGLE 4000.0
#define RFF_SURELY (1 - 1e-9)
#define RFF_LARGEST_SINGLE 1e30
#define RFF_LARGEST_LENGTH 1e3
#define RFF_SINGLE_ERROR 1e-4
#define RFF_N_PROBES 200
#define RFF_MOST_USED 0.8
#define RFF_TAIL 1e-3
#define RFF_LARGEST_LOG 709.0
#define RFF_PI 3.141592653589793
#define RFF_GAUSSIAN_UNIT 0x1.b2da4e9808a53p-1 /* sqrt(1 / (2 log 2)): exp(-r^2 / 2) = 2^-(unit r)^2 */
#define RFF_EXPONENTIAL_UNIT 0x1.71547652b82fep+0 /* 1 / log 2: exp(-r) = 2^-(unit r) */

/* Terms as the functions of a level read them, padded with zeros to a multiple of VM_TERMS. */
#define RFF_PACKED(REAL)                                                                                               \
    struct {                                                                                                           \
        size_t n_padded;                                                                                               \
        size_t stride;          /* amplitudes of an output, a multiple of VM_TERM_BLOCK */                             \
        const int32_t *ends;    /* (n_padded + 1,) of the numbers of terms; NULL where zeros are multiplied too */     \
        const int32_t *columns; /* of the numbers */                                                                   \
        const REAL *numbers;    /* of omegas, or centers (n_padded, n_features) */                                     \
        const REAL *shifts;                                                                                            \
        const REAL *amplitudes; /* (n_outputs, stride) */                                                              \
        const REAL *terms;      /* shifts, then omegas, of VM_TILE terms each */                                       \
    }
typedef RFF_PACKED(float) rff_packed_f32;
typedef RFF_PACKED(double) rff_packed_f64;

typedef void rff_scorer(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *out, void *work);

/* Functions for single and double precision. */
typedef struct {
    rff_scorer *cosines[2], *kernels[2], *trees[2];
} rff_level;

typedef struct {
    const rff_level *level;
    size_t piece; /* rows that are scored together */
    int single; /* whether single precision suffices for rows in it */
    rff_packed_f32 f32;
    rff_packed_f64 f64;
    const double *angle_slopes; /* (n_features,) of the mean angle of a row, as in _model/angles.py */
    double angle_offset, largest_value;
    const double *middle, *scale; /* (n_features,) of kernels */
    const double *weights;        /* (n_outputs, n_padded) */
    rff_trees trees;
    int clips; /* whether a row can be outside the bounds */
    const float *lower, *upper; /* (n_features,) bounds of rows of single precision */
    const vm_form *forms;         /* (n_mapped,) */
    const uint32_t *imputation_columns; /* (n_imputations,) raw columns */
} rff_prepared;

static size_t rff_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/* Rows of a tile: it is read again for every few terms, so that wide rows come in fewer, to stay in the cache. */
static size_t rff_rows_at_once(size_t n_features, size_t n_bytes)
{
    const size_t rows = 20480 / n_features / n_bytes / VM_LANES * VM_LANES;
    return rows < VM_LANES ? VM_LANES : rows < VM_TILE ? rows : VM_TILE;
}

/* Bytes that the functions of a level work in. */
static size_t rff_work_size(const rff_expansion *e)
{
    const size_t d = e->n_features ? e->n_features : 1;
    const size_t single = d * rff_rows_at_once(d, 4) / 2, both = d * rff_rows_at_once(d, 8);
    const size_t row = d + 1, tile = (single > both ? single : both) + row;
    return (tile + e->n_outputs * RFF_PIECE) * sizeof(double) + 64;
}

/* Rows of a model, or of kernels in it, that are scored together. */
static size_t rff_piece(const rff_model *model) { return ((const rff_prepared *)model->prepared)->piece; }

/* Bytes of the bins of rows, behind sums of values of trees. */
static size_t rff_bins_size(const rff_model *model)
{
    const size_t n_columns = (size_t)((const rff_prepared *)model->prepared)->trees.packed.n_columns;
    return (model->expansion.n_outputs * sizeof(double) + n_columns) * rff_piece(model);
}

/* How many of the n_rows from `row` on lie at equal distances, which are `step`. */
static size_t rff_run(const rff_rows *X, size_t row, size_t n_rows, size_t *step)
{
    size_t left = n_rows;
    *step = X->width == 1 ? X->n_features : 1;
    if (X->width > 1) left = X->width - row % X->width;
    return n_rows < left ? n_rows : left;
}

#ifdef RFF_TABLES
#include "../_native/models/rff_tables.h"
#else
#undef VM_LEVEL
#define VM_LEVEL baseline
#include "rff_level.h"

#ifdef VM_HAVE_LEVELS
#undef VM_FUSES
#define VM_FUSES 1

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt"))),                \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt")
#endif
#undef VM_AVX512
#define VM_AVX512 0
#undef VM_LEVEL
#define VM_LEVEL v3
#undef VECTOR_BYTES
#define VECTOR_BYTES 32
#include "rff_level.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if RFF_MOST_LEVEL >= 4
#ifdef __clang__
#pragma clang attribute push(__attribute__((target(                                                                    \
    "avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"))),                    \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")
#endif
#undef VM_AVX512
#define VM_AVX512 1
#undef VM_LEVEL
#define VM_LEVEL v4
#undef VECTOR_BYTES
#define VECTOR_BYTES 64
#include "rff_level.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#endif

static const rff_level *rff_choose_level(void)
{
#ifdef VM_HAVE_LEVELS
    const int n_levels = cpu_n_levels(cpu_detect());
#if RFF_MOST_LEVEL >= 4
    if (n_levels >= 4) return &rff_level_v4;
#endif
    if (n_levels >= 3) return &rff_level_v3;
#endif
    return &rff_level_baseline;
}
#endif

/* --- What is made of a model when it is loaded */

#define RFF_REAL float
#define RFF_SUFFIX f32
#include "rff_pack.h"
#define RFF_REAL double
#define RFF_SUFFIX f64
#include "rff_pack.h"

static int rff_within(const double *values, size_t n, double limit)
{
    size_t i;
    for (i = 0; i < n; i++)
        if (!(fabs(values[i]) <= limit)) return 0;
    return 1;
}

/* Sums are in the order of their terms, as in _model/angles.py: where a row is far out for single precision. */
static int rff_bound_angles(rff_model *model, rff_prepared *prepared)
{
    const rff_expansion *e = &model->expansion;
    const size_t n = e->n_terms, d = e->n_features, k_outputs = e->n_outputs;
    double *slopes = (double *)rff_own(model, d, sizeof(double)), *units, *sums, left, total = 0, centered = 0;
    size_t j, k, o;
    prepared->angle_slopes = slopes;
    units = (double *)rff_own(model, 2 * k_outputs, sizeof(double));
    if (!slopes || !units) return 0;
    sums = units + k_outputs;
    for (k = 0; k < n; k++)
        for (o = 0; o < k_outputs; o++)
            if (fabs(e->amplitudes[k * k_outputs + o]) > units[o]) units[o] = fabs(e->amplitudes[k * k_outputs + o]);
    for (o = 0; o < k_outputs; o++) units[o] = units[o] == 0 ? 1 : units[o];
    for (k = 0; k < n; k++)
        for (o = 0; o < k_outputs; o++) sums[o] += fabs(e->amplitudes[k * k_outputs + o]) / units[o];
    for (o = 0; o < k_outputs; o++) sums[o] = sums[o] < 1 ? 1 : sums[o];
    for (k = 0; k < n; k++) {
        double share = 0;
        for (o = 0; o < k_outputs; o++) share += fabs(e->amplitudes[k * k_outputs + o]) / units[o] / sums[o];
        share /= (double)k_outputs;
        prepared->angle_offset += share * fabs(e->phases[k]);
        for (j = 0; j < d; j++) slopes[j] += share * fabs(e->omegas[k * d + j]);
    }
    for (j = 0; j < d; j++) {
        total += slopes[j];
        centered += slopes[j] * fabs(e->center[j]);
    }
    left = RFF_LARGEST_ANGLE * RFF_SURELY - prepared->angle_offset - centered;
    prepared->largest_value = total != 0 ? left / total : HUGE_VAL;
    return 1;
}

static int rff_prepare_cosines(rff_model *model, rff_prepared *prepared, int for_single)
{
    const rff_expansion *e = &model->expansion;
    const size_t n = e->n_terms, d = e->n_features;
    if (!rff_bound_angles(model, prepared) || !rff_pack_cosines_f64(model, &prepared->f64)) return 0;
    prepared->single = for_single && prepared->angle_offset < RFF_LARGEST_ANGLE && rff_within(e->omegas, n * d, RFF_LARGEST_SINGLE)
        && rff_within(e->phases, n, RFF_LARGEST_SINGLE) && rff_within(e->center, d, RFF_LARGEST_SINGLE)
        && rff_within(e->amplitudes, n * e->n_outputs, RFF_LARGEST_SINGLE)
        && rff_within(e->intercept, e->n_outputs, RFF_LARGEST_SINGLE);
    return !prepared->single || rff_pack_cosines_f32(model, &prepared->f32);
}

static float rff_bound_f32(double x) { return x > FLT_MAX ? HUGE_VALF : x < -FLT_MAX ? -HUGE_VALF : (float)x; }

/* Rows are clipped in their precision. */
static int rff_prepare_bounds(rff_model *model, rff_prepared *prepared)
{
    const rff_expansion *e = &model->expansion;
    float *lower = (float *)rff_own(model, 2 * e->n_features, sizeof(float)), *upper = lower + e->n_features;
    size_t j;
    if (!lower) return 0;
    for (j = 0; j < e->n_features; j++) {
        lower[j] = rff_bound_f32(e->lower[j]);
        upper[j] = rff_bound_f32(e->upper[j]);
        prepared->clips |= e->lower[j] > -DBL_MAX || e->upper[j] < DBL_MAX;
    }
    prepared->lower = lower;
    prepared->upper = upper;
    return 1;
}

/* Score some of the centers in both precisions, all at once: weights of smooth functions are often large and cancel. */
static int rff_try_single(rff_model *model, rff_prepared *prepared)
{
    const rff_expansion *e = &model->expansion;
    const size_t d = e->n_features, k_outputs = e->n_outputs, step = e->n_terms / RFF_N_PROBES + 1;
    const size_t n = (e->n_terms + step - 1) / step;
    rff_model memory = {0}; /* of this function alone: regions would keep it many times */
    double *rows = (double *)rff_own(&memory, n * d + 1, sizeof(double));
    double *exact = (double *)rff_own(&memory, 2 * n * k_outputs + 1, sizeof(double)), *rounded = exact + n * k_outputs;
    const rff_rows X = {rows, RFF_FLOAT64, d, 1};
    void *work = rff_own(&memory, rff_work_size(e), 1);
    size_t i, o;
    if (!rows || !exact || !work) {
        rff_release_blocks(memory.blocks);
        return 0;
    }
    for (i = 0; i < n; i++) memcpy(rows + i * d, e->centers + i * step * d, d * sizeof(double));
    prepared->level->kernels[1](model, &X, 0, n, exact, work);
    prepared->level->kernels[0](model, &X, 0, n, rounded, work);
    prepared->single = 1;
    for (o = 0; o < k_outputs; o++) {
        double largest = 0;
        for (i = o; i < n * k_outputs; i += k_outputs) largest = fmax(largest, fabs(exact[i] - e->intercept[o]));
        for (i = o; i < n * k_outputs; i += k_outputs)
            if (!(fabs(rounded[i] - exact[i]) <= RFF_SINGLE_ERROR * largest)) prepared->single = 0;
    }
    rff_release_blocks(memory.blocks);
    return 1;
}

static int rff_are_near(const rff_expansion *e, const double *middle, const double *scale)
{
    size_t i, j;
    for (i = 0; i < e->n_terms; i++) {
        double length = 0;
        for (j = 0; j < e->n_features; j++) {
            const double apart = (e->centers[i * e->n_features + j] - middle[j]) * scale[j];
            length += apart * apart;
        }
        if (!(sqrt(length) < RFF_LARGEST_LENGTH)) return 0;
    }
    for (i = 0; i < e->n_terms * e->n_outputs; i++)
        if (!(fabs(e->weights[i]) < RFF_LARGEST_SINGLE)) return 0;
    return 1;
}

static int rff_prepare_kernels(rff_model *model, rff_prepared *prepared, int for_single)
{
    const rff_expansion *e = &model->expansion;
    const size_t n = e->n_terms, d = e->n_features, n_padded = rff_up(n, VM_TERMS);
    double *middle = (double *)rff_own(model, 2 * d, sizeof(double)), *scale = middle + d;
    double *weights = (double *)rff_own(model, e->n_outputs * n_padded + 1, sizeof(double));
    const double unit = e->shape == RFF_EXPONENTIAL ? RFF_EXPONENTIAL_UNIT : RFF_GAUSSIAN_UNIT;
    size_t i, j, o;
    if (!middle || !weights) return 0;
    for (j = 0; j < d; j++) {
        double low = n ? e->centers[j] : 0, high = low;
        for (i = 1; i < n; i++) {
            const double x = e->centers[i * d + j];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        middle[j] = 0.5 * low + 0.5 * high;
        scale[j] = unit * e->inverse_length_scales[j];
    }
    for (i = 0; i < n; i++)
        for (o = 0; o < e->n_outputs; o++) weights[o * n_padded + i] = e->weights[i * e->n_outputs + o];
    prepared->middle = middle;
    prepared->scale = scale;
    prepared->weights = weights;
    if (!rff_pack_centers_f64(model, &prepared->f64, middle, scale)) return 0;
    if (!for_single || !rff_are_near(e, middle, scale)) return 1;
    return rff_pack_centers_f32(model, &prepared->f32, middle, scale) && rff_try_single(model, prepared);
}

/* The forms of columns as forms.c takes them: a rank has one bucket on each side of its first knot, so that all knots
   are searched. */
static int rff_prepare_map(rff_model *model, rff_prepared *prepared)
{
    static const uint16_t guide[2] = {0, 0};
    const rff_column_map *map = &model->map;
    vm_form *forms = (vm_form *)rff_own(model, map->n_outputs + 1, sizeof(vm_form));
    uint32_t *columns = (uint32_t *)rff_own(model, map->n_imputations + 1, sizeof(uint32_t));
    size_t o, i, f;
    if (!forms || !columns) return 0;
    prepared->forms = forms;
    prepared->imputation_columns = columns;
    for (o = 0; o < map->n_outputs; o++) {
        const rff_form *from = map->forms + o;
        vm_form *form = forms + o;
        vf_knot *knots;
        form->kind = from->kind;
        form->missing = from->missing;
        form->divisor = from->divisor;
        form->a = from->a, form->b = from->b, form->c = from->c, form->d = from->d;
        form->table = from->heights;
        form->stride = (ptrdiff_t)from->stride;
        if (from->kind != RFF_RANK) continue;
        for (form->reach = 1; 2 * (size_t)form->reach - 1 < from->n_knots; form->reach *= 2) continue;
        form->spread = 1;
        form->base = vf_bits(form->spread);
        form->origin = from->knots[0];
        form->guide = guide;
        form->knots = knots = (vf_knot *)rff_own(model, 1 + from->n_knots + 2 * (size_t)form->reach, sizeof(vf_knot));
        if (!knots) return 0;
        for (i = 0; i < 1 + from->n_knots + 2 * (size_t)form->reach; i++) {
            const size_t k = i ? i - 1 : 0;
            knots[i].knot = knots[i].height = knots[i].slope = knots[i].next = NAN;
            if (i > from->n_knots) continue;
            knots[i].knot = from->knots[k];
            knots[i].height = from->heights[k];
            knots[i].slope = 0;
            if (i < from->n_knots) knots[i].next = from->knots[i];
            if (i > 0 && i < from->n_knots)
                knots[i].slope = (from->heights[i] - from->heights[k]) / (from->knots[i] - from->knots[k]);
        }
    }
    for (f = 0; f < map->n_imputations; f++)
        while (columns[f] + 1 < map->n_columns && map->starts[columns[f] + 1] <= map->imputations[f].output)
            columns[f]++;
    return 1;
}

/* What functions of a level read, also for rows of single precision if they are to be scored. */
static rff_error rff_prepare_for(rff_model *model, int for_single)
{
    const rff_expansion *e = &model->expansion;
    size_t region;
    rff_prepared *prepared = (rff_prepared *)rff_own(model, 1, sizeof *prepared);
    int done = 1;
    if (!prepared) return RFF_E_MEMORY;
    model->prepared = prepared;
    prepared->level = rff_choose_level();
    prepared->piece = RFF_PIECE;
    if (e->n_trees && e->tree_starts[e->n_trees] * e->n_outputs * sizeof(float) > 8 * RFF_TREE_BYTES)
        while (2 * prepared->piece <= RFF_LARGE_PIECE
               && 2 * prepared->piece * (e->n_features + e->n_outputs) * sizeof(double) <= RFF_PIECE_BYTES)
            prepared->piece *= 2;
    if (model->has_map) done = rff_prepare_map(model, prepared);
    if (done && e->kind == RFF_TERMS) done = rff_prepare_cosines(model, prepared, for_single);
    if (done && e->lower) done = rff_prepare_bounds(model, prepared);
    if (done && e->n_trees) done = rff_pack_trees(model, &prepared->trees);
    for (region = 0; model->regions && region < e->n_regions && done; region++)
        if (model->regions[region].expansion.n_terms)
            done = rff_prepare_for(model->regions + region, for_single) == RFF_OK;
    if (done && e->kind == RFF_KERNEL && !model->regions) done = rff_prepare_kernels(model, prepared, for_single);
    if (done && model->kernels) return rff_prepare_for(model->kernels, for_single);
    return done ? RFF_OK : RFF_E_MEMORY;
}

static rff_error rff_prepare(rff_model *model) { return rff_prepare_for(model, 1); }

/* --- Scores */

/* Whether a number of rows of single precision is above the bound that all rows within are near by.  Rows begin a
   tile. */
static int rff_any_is_large(const rff_rows *X, size_t row, size_t n_rows, double bound)
{
    const float *x = (const float *)X->values + row * X->n_features, largest = rff_round_down(bound);
    const size_t n = rff_up(n_rows, X->width) * X->n_features;
    int found = 0;
    size_t i;
    for (i = 0; i < n; i++) found |= fabsf(x[i]) > largest;
    return found;
}

/* Whether the mean angle of a row is too large for single precision: judged by that row alone. */
static int rff_is_far(const rff_expansion *e, const rff_prepared *prepared, const rff_rows *X, size_t row)
{
    double total = 0;
    int is_large = 0;
    size_t j;
    for (j = 0; j < e->n_features; j++) {
        const double x = rff_value(X, row, j);
        is_large |= !(fabs(x) <= prepared->largest_value);
        total += fabs(x - e->center[j]) * prepared->angle_slopes[j];
    }
    return is_large && prepared->angle_offset + total > RFF_LARGEST_ANGLE;
}

/* Cosines in the precision that rows need. */
static void rff_score_cosines(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *out,
                              void *work)
{
    const rff_prepared *prepared = (const rff_prepared *)model->prepared;
    const size_t k_outputs = model->expansion.n_outputs;
    size_t first, stop;
    if (X->type != RFF_FLOAT32 || !prepared->single || !rff_any_is_large(X, row, n_rows, prepared->largest_value)) {
        prepared->level->cosines[X->type != RFF_FLOAT32 || !prepared->single](model, X, row, n_rows, out, work);
        return;
    }
    for (first = 0; first < n_rows; first = stop) {
        const int far = rff_is_far(&model->expansion, prepared, X, row + first);
        for (stop = first + 1; stop < n_rows; stop++)
            if (rff_is_far(&model->expansion, prepared, X, row + stop) != far) break;
        prepared->level->cosines[far](model, X, row + first, stop - first, out + first * k_outputs, work);
    }
}

static size_t rff_region(const rff_expansion *e, const rff_rows *X, size_t row)
{
    size_t node = 0;
    while (node < e->n_regions - 1)
        node = 2 * node + 1 + (rff_value(X, row, e->region_columns[node]) > e->region_thresholds[node]);
    return node - (e->n_regions - 1);
}

/* The scores of up to RFF_PIECE rows by the kernels of their regions.  `work` has room for a tile, for such scores and
   for such rows. */
static void rff_score_regions(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *out,
                              double *work)
{
    const rff_expansion *e = &model->expansion;
    const size_t d = e->n_features, k_outputs = e->n_outputs;
    size_t regions[RFF_PIECE], places[RFF_PIECE], i, j, first, n;
    double *scores = work + rff_up(RFF_PIECE * d, 8), *rest = scores + rff_up(RFF_PIECE * k_outputs, 8);
    const rff_rows there = {work, X->type, d, 1};
    for (i = 0; i < n_rows; i++) regions[i] = rff_region(e, X, row + i);
    for (first = 0; first < n_rows; first++) {
        const size_t region = regions[first];
        const rff_model *part = model->regions + region;
        const rff_prepared *prepared;
        if (region == e->n_regions) continue; /* scored */
        for (n = 0, i = first; i < n_rows; i++) {
            if (regions[i] != region) continue;
            for (j = 0; j < d; j++)
                if (X->type == RFF_FLOAT32) ((float *)work)[n * d + j] = (float)rff_value(X, row + i, j);
                else work[n * d + j] = rff_value(X, row + i, j);
            regions[i] = e->n_regions;
            places[n++] = i;
        }
        if (part->expansion.n_terms == 0) {
            for (i = 0; i < n; i++) memcpy(out + places[i] * k_outputs, e->intercept, k_outputs * sizeof(double));
            continue;
        }
        prepared = (const rff_prepared *)part->prepared;
        prepared->level->kernels[X->type != RFF_FLOAT32 || !prepared->single](part, &there, 0, n, scores, rest);
        for (i = 0; i < n; i++) memcpy(out + places[i] * k_outputs, scores + i * k_outputs, k_outputs * sizeof(double));
    }
}

/* Scores of a piece of rows, mapped if they are to be, of terms or of kernels.  `work` has room for a tile and for such
   scores. */
static void rff_score_part(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *out,
                           void *work)
{
    const rff_expansion *e = &model->expansion;
    const rff_prepared *prepared = (const rff_prepared *)model->prepared;
    const int is_double = X->type != RFF_FLOAT32;
    double *sums = (double *)work;
    size_t i;
    int part;
    if (model->regions) {
        for (i = 0; i < n_rows; i += RFF_PIECE)
            rff_score_regions(model, X, row + i, n_rows - i < RFF_PIECE ? n_rows - i : RFF_PIECE, out + i * e->n_outputs,
                              sums);
        return;
    }
    if (e->kind == RFF_KERNEL) {
        prepared->level->kernels[is_double || !prepared->single](model, X, row, n_rows, out, work);
        return;
    }
    rff_score_cosines(model, X, row, n_rows, out, work);
    for (part = 0; part < RFF_N_PARTS; part++)
        if (rff_parts[part].add) rff_parts[part].add(e, X, row, n_rows, out);
    if (e->n_trees == 0) return;
    if (e->tree_unit == 1) {
        prepared->level->trees[is_double](model, X, row, n_rows, out, work);
        return;
    }
    for (i = 0; i < n_rows * e->n_outputs; i++) sums[i] = 0;
    prepared->level->trees[is_double](model, X, row, n_rows, sums, sums + prepared->piece * e->n_outputs);
    for (i = 0; i < n_rows * e->n_outputs; i++) out[i] += e->tree_unit * sums[i];
}

/* The same of terms and of kernels beside them, for which `work` has room for as many scores more. */
static void rff_score_piece(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *out,
                            void *work)
{
    const size_t n_outputs = model->expansion.n_outputs;
    double *scores = (double *)work;
    size_t i;
    rff_score_part(model, X, row, n_rows, out, work);
    if (!model->kernels) return;
    rff_score_part(model->kernels, X, row, n_rows, scores, scores + rff_piece(model) * n_outputs);
    for (i = 0; i < n_rows * n_outputs; i++) out[i] += scores[i];
}

/* The value of an output where it is imputed, of a mapped row whose outputs are `stride` apart. */
static double rff_imputed(const rff_column_map *map, const rff_imputation *imputation, const double *mapped,
                          size_t stride)
{
    const double neutral = map->neutral[imputation->output];
    double found = neutral;
    size_t k;
    for (k = 0; k < imputation->n_predictors; k++)
        found += imputation->factors[k] * (mapped[imputation->predictors[k] * stride]
                                           - map->neutral[imputation->predictors[k]]);
    found = found != found ? neutral : found;
    found = found < imputation->low ? imputation->low : found;
    return found > imputation->high ? imputation->high : found;
}

/* outputs[k * RFF_PIECE + i] = output k of the column map at row i. */
static void rff_map_piece(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *outputs,
                          double *imputed)
{
    const rff_column_map *map = &model->map;
    const rff_prepared *prepared = (const rff_prepared *)model->prepared;
    double values[RFF_PIECE];
    const size_t padded = rff_up(n_rows, VF_LANES);
    size_t i, f, first, stop;
    for (first = 0; first < map->n_outputs; first = stop) { /* those of one value */
        const size_t source = map->forms[first].source;
        int missing = 0;
        for (stop = first + 1; stop < map->n_outputs && map->forms[stop].source == source; stop++) continue;
        for (i = 0; i < padded; i++) {
            values[i] = i < n_rows ? rff_value(X, row + i, source) + 0.0 : 0;
            missing |= values[i] != values[i];
        }
        RFF_FORMS.apply(prepared->forms + first, (ptrdiff_t)(stop - first), values, (ptrdiff_t)padded, missing,
                        outputs + first * RFF_PIECE, RFF_PIECE);
    }
    for (i = 0; i < n_rows && map->n_imputations; i++) {
        double *mapped = outputs + i;
        for (f = 0; f < map->n_imputations; f++)
            imputed[f] = rff_imputed(map, map->imputations + f, mapped, RFF_PIECE);
        for (f = 0; f < map->n_imputations; f++) {
            const double x = rff_value(X, row + i, prepared->imputation_columns[f]);
            if (x != x) mapped[map->imputations[f].output * RFF_PIECE] = imputed[f];
        }
    }
}

/* Clip the columns of whole tiles, or of rows one by one, to the bounds of the expansion, in their precision. */
static void rff_clip(const rff_model *model, const rff_rows *X, size_t n_rows, void *rows)
{
    const rff_expansion *e = &model->expansion;
    const rff_prepared *prepared = (const rff_prepared *)model->prepared;
    float *single = (float *)rows;
    double *both = (double *)rows;
    size_t first, i, j;
    if (X->width == 1 && X->type == RFF_FLOAT32)
        for (first = 0; first < n_rows; first++, single += e->n_features)
            for (j = 0; j < e->n_features; j++) {
                const float x = single[j] < prepared->lower[j] ? prepared->lower[j] : single[j];
                single[j] = x > prepared->upper[j] ? prepared->upper[j] : x;
            }
    else if (X->width == 1)
        for (first = 0; first < n_rows; first++, both += e->n_features)
            for (j = 0; j < e->n_features; j++) {
                const double x = both[j] < e->lower[j] ? e->lower[j] : both[j];
                both[j] = x > e->upper[j] ? e->upper[j] : x;
            }
    else
        for (first = 0; first < n_rows; first += X->width)
            for (j = 0; j < e->n_features; j++, single += X->width, both += X->width)
                for (i = 0; i < X->width; i++)
                    if (X->type == RFF_FLOAT32) {
                        const float x = single[i] < prepared->lower[j] ? prepared->lower[j] : single[i];
                        single[i] = x > prepared->upper[j] ? prepared->upper[j] : x;
                    } else {
                        const double x = both[i] < e->lower[j] ? e->lower[j] : both[i];
                        both[i] = x > e->upper[j] ? e->upper[j] : x;
                    }
}

/* The parts of scratch memory, as counts of doubles. */
typedef struct {
    size_t outputs, imputed, mapped, scores, work, values, factors, text, total; /* values: of cells */
} rff_layout;

/* Values of a row of cells. */
static size_t rff_n_values(const rff_model *model)
{
    return model->has_map ? model->map.n_values : model->info.n_features;
}

/* Numbers of intervals, two for each output, or of contributions, six for each column. */
static size_t rff_n_factors(const rff_model *model)
{
    const size_t n_ends = model->residuals ? 2 * model->info.n_outputs : 0;
    const size_t n_parts = model->explainer ? 6 * model->info.n_features : 0;
    return n_ends > n_parts ? n_ends : n_parts;
}

static rff_layout rff_scratch_layout(const rff_model *model)
{
    const rff_column_map *map = &model->map;
    const size_t n_mapped = model->has_map ? map->n_outputs : 0;
    const rff_prepared *prepared = (const rff_prepared *)model->prepared;
    const size_t n_copied = model->has_map ? n_mapped : prepared->clips ? model->expansion.n_features : 0;
    const size_t work = rff_work_size(&model->expansion), bins = rff_bins_size(model);
    rff_layout found;
    size_t j;
    found.outputs = 8; /* for the alignment of what follows */
    found.imputed = found.outputs + n_mapped * RFF_PIECE;
    found.mapped = found.imputed + (model->has_map ? map->n_imputations : 0);
    found.scores = rff_up(found.mapped + n_copied * prepared->piece, 8);
    found.work = rff_up(found.scores + model->info.n_outputs * prepared->piece, 8);
    found.total = found.work + (work > bins ? work : bins) / sizeof(double);
    if (model->kernels) found.total += model->expansion.n_outputs * prepared->piece;
    if (model->regions || (model->kernels && model->kernels->regions))
        found.total += rff_up((model->expansion.n_features + model->expansion.n_outputs) * RFF_PIECE, 8) + 16;
    found.values = rff_up(found.total, 8);
    found.factors = rff_up(found.values + rff_n_values(model) * prepared->piece, 8);
    found.text = rff_up(found.factors + rff_n_factors(model), 8);
    found.total = found.text + 8;
    for (j = 0; j < (model->has_map ? map->n_columns : 0); j++)
        if (map->columns[j].n_scores) {
            found.total += rff_up(sizeof(rff_text_work), 8) / sizeof(double);
            break;
        }
    return found;
}

RFF_API size_t rff_scratch_size(const rff_model *model, size_t n_rows)
{
    (void)n_rows;
    return model ? rff_scratch_layout(model).total * sizeof(double) : 0;
}

/* Whether all numbers of rows are finite, or missing where that is allowed, and so small that differences are finite. */
static int rff_are_sound(const rff_model *model, rff_type type, const void *rows, size_t n)
{
    const int missing = model->info.takes_missing;
    int good = 1;
    size_t i;
    if (type == RFF_FLOAT32)
        for (i = 0; i < n; i++) {
            const float x = ((const float *)rows)[i];
            good &= (fabsf(x) <= FLT_MAX) | ((x != x) & missing);
        }
    else
        for (i = 0; i < n; i++) {
            const double x = ((const double *)rows)[i];
            good &= (fabs(x) <= 0x1p1022) | ((x != x) & missing);
        }
    return good;
}

static rff_error rff_check(const rff_model *model, rff_type type, const void *rows, int are_cells, size_t n_rows,
                           const double *out, const void *scratch, size_t scratch_size)
{
    if (!model || (type != RFF_FLOAT32 && type != RFF_FLOAT64)) return RFF_E_ARGUMENT;
    if (n_rows && (!rows || !out || !scratch)) return RFF_E_ARGUMENT;
    if (n_rows > SIZE_MAX / sizeof(rff_cell) / (model->info.n_features ? model->info.n_features : 1))
        return RFF_E_ARGUMENT;
    if (n_rows && scratch_size < rff_scratch_size(model, n_rows)) return RFF_E_SCRATCH;
    if (model->info.takes_words && !are_cells) return RFF_E_WORDS;
    return are_cells || rff_are_sound(model, type, rows, n_rows * model->info.n_features) ? RFF_OK : RFF_E_ROWS;
}

/* Some rows as the expansion takes them, the first of which becomes `*row`: mapped and clipped in scratch memory, or as
   they are.  Those of a column map alone become `out`, which is else not touched. */
static rff_rows rff_map_given(const rff_model *model, const rff_rows *X, size_t *row, size_t n_rows, double *out,
                              double *base)
{
    const rff_expansion *e = &model->expansion;
    const rff_layout place = rff_scratch_layout(model);
    const size_t n = model->has_map ? model->map.n_outputs : e->n_features;
    const size_t size = n * (X->type == RFF_FLOAT32 ? sizeof(float) : sizeof(double));
    double *outputs = base + place.outputs, *mapped = base + place.mapped;
    const int clips = ((const rff_prepared *)model->prepared)->clips;
    const rff_rows there = {mapped, X->type, n, model->has_map ? 1 : X->width};
    size_t first, i, k;
    if (!model->has_map && !clips) return *X;
    if (!model->has_map) /* rows begin a tile */
        memcpy(mapped, (const char *)X->values + *row * size, rff_up(n_rows, X->width) * size);
    for (first = 0; first < n_rows && model->has_map; first += RFF_PIECE) {
        const size_t stop = n_rows - first < RFF_PIECE ? n_rows : first + RFF_PIECE;
        rff_map_piece(model, X, *row + first, stop - first, outputs, base + place.imputed);
        for (i = first; i < stop; i++)
            for (k = 0; k < n; k++) {
                const double value = outputs[k * RFF_PIECE + i - first];
                if (e->kind == RFF_NO_EXPANSION) out[i * n + k] = value;
                else if (X->type == RFF_FLOAT32) ((float *)mapped)[i * n + k] = (float)value;
                else mapped[i * n + k] = value;
            }
    }
    *row = 0;
    if (clips) rff_clip(model, &there, n_rows, mapped);
    return there;
}

/* Scores of a piece of rows as they are given. */
static void rff_score_given(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *out,
                            double *base)
{
    const rff_rows mapped = rff_map_given(model, X, &row, n_rows, out, base);
    if (model->expansion.kind != RFF_NO_EXPANSION)
        rff_score_piece(model, &mapped, row, n_rows, out, base + rff_scratch_layout(model).work);
}

/* What is asked of some rows, which becomes `out`; `coverage` is that of intervals. */
typedef void rff_answer(const rff_model *model, double coverage, const rff_rows *X, size_t row, size_t n_rows, double *out,
                        double *base);

static void rff_give_scores(const rff_model *model, double coverage, const rff_rows *X, size_t row, size_t n_rows,
                            double *out, double *base)
{
    (void)coverage;
    rff_score_given(model, X, row, n_rows, out, base);
}

/* The scores of rows in scratch memory. */
static const double *rff_scores_given(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows,
                                      double *base)
{
    double *scores = base + rff_scratch_layout(model).scores;
    rff_score_given(model, X, row, n_rows, scores, base);
    return scores;
}

static double rff_target(const rff_model *model, double score)
{
    if (model->prediction != RFF_EXPONENTIATED) return score;
    return exp(score < RFF_LARGEST_LOG ? score : RFF_LARGEST_LOG);
}

static void rff_predict_row(const rff_model *model, const double *scores, double *out)
{
    const size_t n = model->info.n_outputs;
    size_t o, best = 0;
    if (model->info.kind == RFF_CLASSIFIER) {
        for (o = 1; o < n; o++) best = scores[o] > scores[best] ? o : best;
        *out = n == 1 ? scores[0] > 0 : (double)best;
        return;
    }
    for (o = 0; o < model->info.n_predictions; o++) out[o] = rff_target(model, scores[o]);
    for (o = 0; o < n && model->prediction == RFF_SMALLEST; o++) *out = scores[o] < *out ? scores[o] : *out;
}

static void rff_give_predictions(const rff_model *model, double coverage, const rff_rows *X, size_t row, size_t n_rows,
                                 double *out, double *base)
{
    const double *scores = rff_scores_given(model, X, row, n_rows, base);
    size_t i;
    (void)coverage;
    for (i = 0; i < n_rows; i++)
        rff_predict_row(model, scores + i * model->info.n_outputs, out + i * model->info.n_predictions);
}

/* log(exp(0) + exp(x)) */
static double rff_log_sum(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

/* Of two classes the probability of the second, of more the logarithm of what those are proportional to. */
static double rff_linked(const rff_model *model, double score, int is_binary)
{
    if (model->link == RFF_LINEAR && is_binary) {
        const double share = 0.5 * (1 + score);
        return share < 0 ? 0 : share > 1 ? 1 : share;
    }
    if (model->link == RFF_LINEAR) {
        const double above = 1 + score, tail = above / RFF_TAIL - 1;
        return log(0.5 * (above > RFF_TAIL ? above : RFF_TAIL)) + (tail < 0 ? tail : 0);
    }
    if (is_binary) return 0.5 * (1 + tanh(0.5 * model->slope * score));
    return model->link == RFF_SOFTMAX ? score : -rff_log_sum(-model->slope * score);
}

static void rff_probabilities_of_row(const rff_model *model, const double *scores, double *out)
{
    const size_t n = model->info.n_outputs;
    double largest = -HUGE_VAL, total = 0;
    size_t o;
    if (n == 1) {
        out[1] = rff_linked(model, scores[0], 1);
        out[0] = 1 - out[1];
        return;
    }
    for (o = 0; o < n; o++) {
        out[o] = rff_linked(model, scores[o], 0);
        largest = out[o] > largest ? out[o] : largest;
    }
    for (o = 0; o < n; o++) total += out[o] = exp(out[o] - largest);
    for (o = 0; o < n; o++) out[o] /= total;
}

static void rff_give_probabilities(const rff_model *model, double coverage, const rff_rows *X, size_t row,
                                   size_t n_rows, double *out, double *base)
{
    const double *scores = rff_scores_given(model, X, row, n_rows, base);
    size_t i;
    (void)coverage;
    for (i = 0; i < n_rows; i++)
        rff_probabilities_of_row(model, scores + i * model->info.n_outputs, out + i * model->info.n_classes);
}

/* The values of the cells of some rows, or the place of the first that is refused. */
static rff_error rff_read_cells(const rff_model *model, const rff_cell *cells, size_t n_rows, double *values,
                                rff_text_work *work, size_t *row, size_t *column)
{
    const rff_column_map *map = model->has_map ? &model->map : NULL;
    const size_t n = model->info.n_features, n_values = rff_n_values(model);
    size_t i, j, k;
    for (i = 0; i < n_rows; i++, values += n_values) {
        for (j = 0; j < n; j++) {
            const rff_column *of = map ? map->columns + j : NULL;
            const rff_cell *cell = cells + i * n + j;
            const rff_error error = rff_read_cell(of, cell, values + j);
            if (error != RFF_OK) {
                *row = i;
                *column = j;
                return error;
            }
            if (of && of->n_scores) rff_score_cell(of, cell, values[j], values + of->first_score, work);
        }
        for (k = 0; map && k < map->n_differences; k++)
            values[map->differences[k].value] = values[map->differences[k].date] - values[map->differences[k].other];
    }
    return RFF_OK;
}

/* Answers of n_out numbers for each row of numbers, or of cells. */
static rff_error rff_give(const rff_model *model, rff_type type, const void *rows, int are_cells, size_t n_rows,
                          rff_answer *answer, double coverage, size_t n_out, double *out, void *scratch,
                          size_t scratch_size, size_t *row, size_t *column)
{
    rff_error error = rff_check(model, type, rows, are_cells, n_rows, out, scratch, scratch_size);
    rff_rows X = {rows, type, 0, 1};
    double *base, *values;
    size_t first, n, bad_row, bad_column;
    if (error || n_rows == 0) return error;
    base = (double *)(((uintptr_t)scratch + 63) / 64 * 64);
    values = base + rff_scratch_layout(model).values;
    X.n_features = are_cells ? rff_n_values(model) : model->info.n_features;
    if (are_cells) X.values = values;
    for (first = 0; first < n_rows; first += n) {
        n = n_rows - first < rff_piece(model) ? n_rows - first : rff_piece(model);
        if (are_cells)
            error = rff_read_cells(model, (const rff_cell *)rows + first * model->info.n_features, n, values,
                                   (rff_text_work *)(base + rff_scratch_layout(model).text), &bad_row, &bad_column);
        if (error) {
            if (row) *row = first + bad_row;
            if (column) *column = bad_column;
            return error;
        }
        answer(model, coverage, &X, are_cells ? 0 : first, n, out + first * n_out, base);
    }
    return RFF_OK;
}

RFF_API rff_error rff_score(const rff_model *model, rff_type type, const void *rows, size_t n_rows, double *scores,
                            void *scratch, size_t scratch_size)
{
    return rff_give(model, type, rows, 0, n_rows, rff_give_scores, 0, model ? model->info.n_outputs : 0, scores, scratch,
                    scratch_size, NULL, NULL);
}

RFF_API rff_error rff_score_cells(const rff_model *model, const rff_cell *cells, size_t n_rows, double *scores,
                                  void *scratch, size_t scratch_size, size_t *row, size_t *column)
{
    return rff_give(model, RFF_FLOAT64, cells, 1, n_rows, rff_give_scores, 0, model ? model->info.n_outputs : 0, scores,
                    scratch, scratch_size, row, column);
}

RFF_API rff_error rff_predict(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                              double *predictions, void *scratch, size_t scratch_size)
{
    return rff_give(model, type, rows, 0, n_rows, rff_give_predictions, 0, model ? model->info.n_predictions : 0,
                    predictions, scratch, scratch_size, NULL, NULL);
}

RFF_API rff_error rff_predict_cells(const rff_model *model, const rff_cell *cells, size_t n_rows, double *predictions,
                                    void *scratch, size_t scratch_size, size_t *row, size_t *column)
{
    return rff_give(model, RFF_FLOAT64, cells, 1, n_rows, rff_give_predictions, 0,
                    model ? model->info.n_predictions : 0, predictions, scratch, scratch_size, row, column);
}

RFF_API rff_error rff_predict_proba(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                                    double *probabilities, void *scratch, size_t scratch_size)
{
    if (model && model->info.kind != RFF_CLASSIFIER) return RFF_E_NO_LABELS;
    return rff_give(model, type, rows, 0, n_rows, rff_give_probabilities, 0, model ? model->info.n_classes : 0,
                    probabilities, scratch, scratch_size, NULL, NULL);
}

RFF_API rff_error rff_predict_proba_cells(const rff_model *model, const rff_cell *cells, size_t n_rows,
                                          double *probabilities, void *scratch, size_t scratch_size, size_t *row,
                                          size_t *column)
{
    if (model && model->info.kind != RFF_CLASSIFIER) return RFF_E_NO_LABELS;
    return rff_give(model, RFF_FLOAT64, cells, 1, n_rows, rff_give_probabilities, 0,
                    model ? model->info.n_classes : 0, probabilities, scratch, scratch_size, row, column);
}

#endif
