/* The arrays of expansions: rffkern/_model/expansion.py, parts.py and tree_layout.py. */
#ifndef RFF_EXPANSIONS_H
#define RFF_EXPANSIONS_H

#include <float.h>

#include "rff_archive.h"

#define RFF_MOST_DEPTH 12
#define RFF_MOST_NUMBERS (1u << 25) /* of omegas that a file has without their zeros: 256 MiB, all 0 */

static int rff_has_part(const rff_file *file, int part) { return rff_find_array(file, rff_part_arrays[part][0]) != NULL; }

/* The parts of a file, as bits. */
static int rff_parts_of(const rff_file *file)
{
    int part, parts = 0;
    for (part = 0; part < RFF_N_PARTS; part++) parts |= rff_has_part(file, part) << part;
    return parts;
}

/* Whether the arrays of a file are those of an expansion, then those of the lists given, in this order. */
static int rff_check_array_names(rff_file *file, const char *const *more, int has_map)
{
    static const char *const always[] = {"intercept", "center", NULL}, *const bounds[] = {"lower", "upper", NULL};
    static const char *const map[] = {"columns", NULL}, *const nothing[] = {NULL};
    static const char *const sparse[] = {"omegas", "omega_gaps", "phases", "amplitudes", NULL};
    const char *const *lists[4 + RFF_N_PARTS];
    size_t k = 0, list;
    int part;
    lists[0] = always;
    lists[1] = rff_find_array(file, "lower") ? bounds : nothing;
    for (part = 0; part < RFF_N_PARTS; part++) lists[2 + part] = rff_has_part(file, part) ? rff_part_arrays[part] : nothing;
    if (rff_has_part(file, RFF_PART_FOURIER) && rff_find_array(file, "omega_gaps")) lists[2 + RFF_PART_FOURIER] = sparse;
    lists[2 + RFF_N_PARTS] = more ? more : nothing;
    lists[3 + RFF_N_PARTS] = has_map ? map : nothing;
    for (list = 0; list < 4 + RFF_N_PARTS; list++)
        for (; *lists[list]; lists[list]++, k++)
            RFF_REQUIRE(file, k < file->n_arrays && strcmp(file->arrays[k].name, *lists[list]) == 0,
                        "the arrays are not those of the family");
    RFF_REQUIRE(file, k == file->n_arrays, "the arrays are not those of the family");
    return 1;
}

static int rff_is_shaped(const rff_array *array, uint32_t n_dimensions, size_t rows, size_t columns)
{
    return array->n_dimensions == n_dimensions && array->shape[0] == rows
           && (n_dimensions == 1 || array->shape[1] == columns);
}

/* Copy an array of some shape into `numbers`. */
static int rff_take(rff_file *file, rff_model *model, const char *name, uint32_t n_dimensions, size_t rows,
                    size_t columns, const double **numbers)
{
    const rff_array *array = rff_find_array(file, name);
    RFF_REQUIRE(file, array && rff_is_shaped(array, n_dimensions, rows, columns), "shapes must agree");
    *numbers = rff_copy(model, array);
    RFF_REQUIRE_MEMORY(file, *numbers);
    return 1;
}

/* Whether the score of every row is finite: the sums of magnitudes of coefficients, of slopes and of trees. */
static int rff_is_bounded(const rff_expansion *expansion, const double *coefficients, const rff_model *kernels)
{
    size_t output, m, tree;
    for (output = 0; output < expansion->n_outputs; output++) {
        double bound = fabs(expansion->intercept[output]), n_slopes = 0;
        for (m = 0; m < expansion->n_terms; m++) bound += fabs(coefficients[m * expansion->n_outputs + output]);
        for (m = 0; expansion->slopes && m < expansion->n_features; m++)
            n_slopes += expansion->slopes[m * expansion->n_outputs + output] != 0;
        bound += RFF_LARGEST_PART * n_slopes;
        for (tree = 0; tree < expansion->n_trees; tree++) {
            double largest = 0;
            for (m = expansion->tree_starts[tree]; m < expansion->tree_starts[tree + 1]; m++)
                largest = fmax(largest, fabs((double)expansion->tree_values[m * expansion->n_outputs + output]));
            bound += largest * expansion->tree_unit;
        }
        for (m = 0; kernels && m < kernels->expansion.n_terms; m++)
            bound += fabs(kernels->expansion.weights[m * expansion->n_outputs + output]);
        if (!isfinite(2 * bound)) return 0;
    }
    return 1;
}

/* --- trees */

/* A tree: what going right at each depth adds to the number of the leaf, and the number of leaves. */
typedef struct {
    const int32_t *columns;
    const double *thresholds;
    size_t depth;
    int32_t steps[RFF_MOST_DEPTH], n_leaves;
} rff_tree;

static void rff_lay_out(rff_tree *tree)
{
    int seen[RFF_MOST_DEPTH] = {0}, here[RFF_MOST_DEPTH];
    size_t level, l;
    tree->n_leaves = 1;
    for (l = 0; l < tree->depth; l++) tree->steps[l] = 0;
    for (level = 0; level < tree->depth; level++) {
        int32_t count = 1;
        for (l = 0; l < tree->depth; l++) {
            here[l] = tree->thresholds[l] < DBL_MAX && tree->columns[l] == tree->columns[level] && !seen[level]
                      && tree->thresholds[level] < DBL_MAX;
            count += here[l];
        }
        for (l = 0; l < tree->depth; l++)
            if (here[l]) {
                tree->steps[l] = tree->n_leaves;
                seen[l] = 1;
            }
        tree->n_leaves *= count;
    }
}

/* 1, or a power of two near the largest value where single precision would not hold the values. */
static double rff_unit(double largest)
{
    int exponent = 0;
    frexp(largest, &exponent);
    return exponent >= -60 && exponent <= 100 ? 1 : ldexp(1, exponent - 1);
}

/* Values in single precision, in units of `tree_unit`, as Python rounds them: first as they are kept, then packed. */
static void rff_round_values(rff_expansion *expansion, const rff_array *values, float *rounded)
{
    const size_t n = values->size;
    double largest = 0, unit;
    size_t i;
    for (i = 0; i < n; i++) largest = fmax(largest, fabs(rff_number(values, i)));
    unit = rff_unit(largest);
    for (i = 0, largest = 0; i < n; i++) {
        rounded[i] = (float)(rff_number(values, i) / unit);
        largest = fmax(largest, fabs(unit * (double)rounded[i]));
    }
    expansion->tree_unit = rff_unit(largest);
    for (i = 0; i < n; i++) rounded[i] = (float)(unit * (double)rounded[i] / expansion->tree_unit);
}

/* Where leaves begin, and what leads to them.  The number of leaves is compared with the size of the file before memory
   is asked for. */
static int rff_lay_out_trees(rff_file *file, rff_model *model, const rff_array *columns, uint32_t **starts,
                             int32_t **steps)
{
    rff_expansion *expansion = &model->expansion;
    const size_t n = expansion->n_trees, depth = expansion->depth;
    int32_t *whole_columns = rff_own(model, n * depth, sizeof *whole_columns);
    rff_tree tree;
    uint64_t n_leaves = 0;
    size_t t, l;
    *starts = rff_own(model, n + 1, sizeof **starts);
    *steps = rff_own(model, n * depth, sizeof **steps);
    RFF_REQUIRE_MEMORY(file, whole_columns && *starts && *steps);
    for (t = 0; t < n; t++) {
        for (l = t * depth; l < (t + 1) * depth; l++) {
            const double column = rff_number(columns, l);
            RFF_REQUIRE(file, column >= 0 && column < (double)expansion->n_features && column == floor(column),
                        "tree_columns must hold indices of features");
            whole_columns[l] = (int32_t)column;
        }
        tree.columns = whole_columns + t * depth;
        tree.thresholds = expansion->thresholds + t * depth;
        tree.depth = depth;
        rff_lay_out(&tree);
        memcpy(*steps + t * depth, tree.steps, depth * sizeof **steps);
        n_leaves += (uint64_t)tree.n_leaves;
        RFF_REQUIRE(file, n_leaves <= file->content.size && n_leaves < INT32_MAX, "shapes must agree");
        (*starts)[t + 1] = (uint32_t)n_leaves;
    }
    expansion->tree_columns = whole_columns;
    return 1;
}

static int rff_read_trees(rff_file *file, rff_model *model)
{
    rff_expansion *expansion = &model->expansion;
    const rff_array *columns = rff_find_array(file, "tree_columns"), *values = rff_find_array(file, "tree_values");
    float *rounded;
    uint32_t *starts;
    int32_t *steps;
    RFF_REQUIRE(file, columns->n_dimensions == 2 && columns->shape[1] <= RFF_MOST_DEPTH
                && (columns->shape[1] || !columns->shape[0]), "tree_columns must have 1 to 12 columns");
    expansion->n_trees = columns->shape[0];
    expansion->depth = columns->shape[1];
    if (!rff_take(file, model, "tree_thresholds", 2, expansion->n_trees, expansion->depth, &expansion->thresholds)
        || !rff_lay_out_trees(file, model, columns, &starts, &steps))
        return 0;
    expansion->tree_starts = starts;
    expansion->steps = steps;
    RFF_REQUIRE(file, rff_is_shaped(values, 2, starts[expansion->n_trees], expansion->n_outputs), "shapes must agree");
    expansion->tree_values = rounded = rff_own(model, values->size, sizeof *rounded);
    RFF_REQUIRE_MEMORY(file, rounded);
    rff_round_values(expansion, values, rounded);
    return 1;
}

/* --- expansions */

/* Omegas without their zeros, and the distance of each from the one before. */
static int rff_read_sparse_omegas(rff_file *file, rff_model *model)
{
    rff_expansion *e = &model->expansion;
    const rff_array *omegas = rff_find_array(file, "omegas"), *gaps = rff_find_array(file, "omega_gaps");
    const size_t n_terms = rff_find_array(file, "phases")->shape[0], size = n_terms * e->n_features;
    double *numbers;
    size_t i, place = 0; /* one more than that of a number */
    RFF_REQUIRE(file, omegas->n_dimensions == 1 && rff_is_shaped(gaps, 1, omegas->size, 0)
                && rff_find_array(file, "phases")->n_dimensions == 1 && n_terms <= RFF_MOST_NUMBERS / e->n_features,
                "omegas and their gaps do not agree");
    e->n_terms = n_terms;
    e->omegas = numbers = rff_own(model, size, sizeof *numbers);
    RFF_REQUIRE_MEMORY(file, numbers);
    for (i = 0; i < omegas->size; i++) {
        const double gap = rff_number(gaps, i);
        RFF_REQUIRE(file, gap >= 1 && gap == floor(gap) && gap <= (double)(size - place),
                    "omegas and their gaps do not agree");
        place += (size_t)gap;
        numbers[place - 1] = rff_number(omegas, i);
    }
    return 1;
}

static int rff_read_omegas(rff_file *file, rff_model *model)
{
    rff_expansion *e = &model->expansion;
    if (rff_find_array(file, "omega_gaps")) return rff_read_sparse_omegas(file, model);
    e->n_terms = rff_find_array(file, "omegas")->shape[0];
    return rff_take(file, model, "omegas", 2, e->n_terms, e->n_features, &e->omegas);
}

static int rff_read_cosines(rff_file *file, rff_model *model)
{
    rff_expansion *e = &model->expansion;
    return rff_read_omegas(file, model)
           && rff_take(file, model, "phases", 1, e->n_terms, 0, &e->phases)
           && rff_take(file, model, "amplitudes", 2, e->n_terms, e->n_outputs, &e->amplitudes);
}

static int rff_read_linear(rff_file *file, rff_model *model)
{
    rff_expansion *e = &model->expansion;
    size_t i;
    if (!rff_take(file, model, "coefficients", 2, e->n_features, e->n_outputs, &e->slopes)) return 0;
    for (i = 0; i < e->n_features * e->n_outputs; i++) e->has_slopes |= e->slopes[i] != 0;
    return 1;
}

static int rff_read_bounds(rff_file *file, rff_model *model)
{
    rff_expansion *e = &model->expansion;
    size_t i;
    if (!rff_take(file, model, "lower", 1, e->n_features, 0, &e->lower)
        || !rff_take(file, model, "upper", 1, e->n_features, 0, &e->upper))
        return 0;
    for (i = 0; i < e->n_features; i++)
        RFF_REQUIRE(file, e->lower[i] <= e->upper[i], "lower must not be above upper");
    return 1;
}

/* exp(-r^p / p) with the exponent p, 2 or 1. */
static int rff_read_exponent(rff_file *file, rff_model *model)
{
    const double *exponent;
    model->expansion.shape = RFF_GAUSSIAN;
    if (!rff_take(file, model, "exponent", 1, 1, 0, &exponent)) return 0;
    RFF_REQUIRE(file, *exponent == 1 || *exponent == 2, "exponent must be [1.0] or [2.0]");
    if (*exponent == 1) model->expansion.shape = RFF_EXPONENTIAL;
    return 1;
}

/* The regions that rows fall into, each with some of the centers: _model/regions.py. */
static int rff_read_regions(rff_file *file, rff_model *model)
{
    rff_expansion *e = &model->expansion;
    const rff_array *starts = rff_find_array(file, "region_starts");
    const double *columns, *first;
    uint32_t *whole;
    size_t *firsts, k, n;
    int are_sound = 1;
    RFF_REQUIRE(file, starts->n_dimensions == 1 && starts->size >= 2, "regions must be a tree");
    n = e->n_regions = starts->size - 1;
    RFF_REQUIRE(file, (n & (n - 1)) == 0, "regions must be a tree");
    if (!rff_take(file, model, "region_columns", 1, n - 1, 0, &columns)
        || !rff_take(file, model, "region_thresholds", 1, n - 1, 0, &e->region_thresholds)
        || !rff_take(file, model, "region_starts", 1, n + 1, 0, &first))
        return 0;
    whole = (uint32_t *)rff_own(model, n, sizeof *whole);
    firsts = (size_t *)rff_own(model, n + 1, sizeof *firsts);
    RFF_REQUIRE_MEMORY(file, whole && firsts);
    for (k = 0; k < n - 1; k++)
        are_sound &= columns[k] >= 0 && columns[k] < (double)e->n_features && columns[k] == floor(columns[k]);
    for (k = 0; k <= n; k++)
        are_sound &= first[k] >= (k ? first[k - 1] : 0) && first[k] <= (double)e->n_terms && first[k] == floor(first[k]);
    RFF_REQUIRE(file, are_sound && first[0] == 0 && first[n] == (double)e->n_terms, "regions must be a tree");
    for (k = 0; k < n - 1; k++) whole[k] = (uint32_t)columns[k];
    for (k = 0; k <= n; k++) firsts[k] = (size_t)first[k];
    e->region_columns = whole;
    e->region_starts = firsts;
    RFF_REQUIRE_MEMORY(file, rff_divide(model));
    return 1;
}

static int rff_read_kernels(rff_file *file, rff_model *model)
{
    rff_expansion *e = &model->expansion;
    e->n_terms = rff_find_array(file, "centers")->shape[0];
    return rff_take(file, model, "centers", 2, e->n_terms, e->n_features, &e->centers)
           && rff_take(file, model, "weights", 2, e->n_terms, e->n_outputs, &e->weights)
           && rff_take(file, model, "inverse_length_scales", 1, e->n_features, 0, &e->inverse_length_scales)
           && rff_read_exponent(file, model) && rff_read_regions(file, model);
}

/* Kernels alone, or beside terms as a model of their own without an intercept. */
static int rff_read_any_kernels(rff_file *file, rff_model *model)
{
    rff_model *kernels;
    rff_expansion *e;
    if (model->expansion.kind == RFF_KERNEL) return rff_read_kernels(file, model);
    kernels = rff_own(model, 1, sizeof *kernels);
    RFF_REQUIRE_MEMORY(file, kernels);
    model->kernels = kernels;
    e = &kernels->expansion;
    e->kind = RFF_KERNEL;
    e->n_features = model->expansion.n_features;
    e->n_outputs = model->expansion.n_outputs;
    e->tree_unit = 1;
    e->intercept = rff_own(kernels, e->n_outputs, sizeof(double));
    RFF_REQUIRE_MEMORY(file, e->intercept);
    return rff_read_kernels(file, kernels);
}

/* What reads the arrays of each part, and what adds it to the scores of rows that are clipped, if a level does not. */
static const struct {
    int (*read)(rff_file *file, rff_model *model);
    void (*add)(const rff_expansion *e, const rff_rows *X, size_t row, size_t n_rows, double *out);
} rff_parts[RFF_N_PARTS] = {
    {rff_read_cosines, NULL},
    {rff_read_linear, rff_add_lines},
    {rff_read_trees, NULL},
    {rff_read_any_kernels, NULL},
};

/* The expansion of arrays that have the right names. */
static int rff_read_arrays(rff_file *file, rff_model *model)
{
    rff_expansion *e = &model->expansion;
    int part;
    const rff_array *center = rff_find_array(file, "center"), *intercept = rff_find_array(file, "intercept");
    RFF_REQUIRE(file, center->n_dimensions == 1 && intercept->n_dimensions == 1 && center->size
                && intercept->size && center->size < INT32_MAX, "shapes must agree");
    e->parts = rff_parts_of(file);
    e->kind = rff_kind_of(e->parts);
    e->n_features = center->size;
    e->n_outputs = intercept->size;
    e->tree_unit = 1;
    if (!rff_take(file, model, "intercept", 1, e->n_outputs, 0, &e->intercept)
        || !rff_take(file, model, "center", 1, e->n_features, 0, &e->center)
        || (rff_find_array(file, "lower") && !rff_read_bounds(file, model)))
        return 0;
    for (part = 0; part < RFF_N_PARTS; part++)
        if (rff_has_part(file, part) && !rff_parts[part].read(file, model)) return 0;
    return 1;
}

/* The same, whose scores must be finite. */
static int rff_read_expansion(rff_file *file, rff_model *model)
{
    const rff_expansion *e = &model->expansion;
    if (!rff_read_arrays(file, model)) return 0;
    RFF_REQUIRE(file, rff_is_bounded(e, e->kind == RFF_KERNEL ? e->weights : e->amplitudes, model->kernels),
                "the amplitudes are too large for finite scores");
    return 1;
}

#endif
