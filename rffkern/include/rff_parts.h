/* The parts of the function that a trained model is: what each is called in files, its arrays as the scorer takes them, and
   what those that score row by row add.  A new part stands here and, with what reads it, in rff_expansions.h. */
#ifndef RFF_PARTS_H
#define RFF_PARTS_H

#include "rff_exact.h"
#include "rffkern.h"

#define RFF_LARGEST_PART 1e290 /* of what a column adds to a linear term */

typedef enum {
    RFF_NO_EXPANSION, /* a column map alone */
    RFF_KERNEL,       /* intercept + sum of weights[m] shape(|(x - centers[m]) * inverse_length_scales|) */
    RFF_TERMS,        /* intercept + sum of amplitudes[m] cos(omegas[m] . (x - center) - phases[m])
                         + slopes' (x - center) + the values of the leaves of trees, each of which may be missing;
                         `kernels` may be beside it */
} rff_expansion_kind;

/* In the order of files, kernels last; a set of parts is a sum of bits 1 << RFF_PART_FOURIER and so on. */
enum { RFF_PART_FOURIER, RFF_PART_LINEAR, RFF_PART_TREES, RFF_PART_KERNELS, RFF_N_PARTS };

/* The arrays of each part; a part is there if its first array is.  `rff_parts` of rff_expansions.h reads them. */
static const char *const rff_part_arrays[RFF_N_PARTS][8] = {
    {"omegas", "phases", "amplitudes", NULL},
    {"coefficients", NULL},
    {"tree_columns", "tree_thresholds", "tree_values", NULL},
    {"centers", "weights", "inverse_length_scales", "exponent", "region_columns", "region_thresholds", "region_starts",
     NULL},
};

/* Kernels alone are scored by themselves, beside other parts as a model of their own. */
static rff_expansion_kind rff_kind_of(int parts) { return parts == 1 << RFF_PART_KERNELS ? RFF_KERNEL : RFF_TERMS; }

typedef enum {
    RFF_GAUSSIAN,    /* exp(-r^2 / 2) */
    RFF_EXPONENTIAL, /* exp(-r) */
} rff_kernel_shape;

/* Arrays of double precision in C order, finite, aligned to 64 bytes, shapes as said.  Absent ones are NULL. */
typedef struct {
    rff_expansion_kind kind;
    int parts;         /* that it has, as bits */
    size_t n_terms;    /* rows of omegas or centers: cosines or kernels, without trees */
    size_t n_features; /* columns of a mapped row */
    size_t n_outputs;
    const double *intercept; /* (n_outputs,) */
    /* RFF_TERMS */
    const double *omegas;     /* (n_terms, n_features) */
    const double *phases;     /* (n_terms,) */
    const double *amplitudes; /* (n_terms, n_outputs) */
    const double *center;     /* (n_features,) */
    /* RFF_KERNEL */
    rff_kernel_shape shape;
    const double *centers;              /* (n_terms, n_features) */
    const double *weights;              /* (n_terms, n_outputs) */
    const double *inverse_length_scales; /* (n_features,) */
    size_t n_regions;                   /* 1, or a power of 2: a row has the kernels of its region alone */
    const uint32_t *region_columns;     /* (n_regions - 1,) node k has the children 2 k + 1 and 2 k + 2 */
    const double *region_thresholds;    /* (n_regions - 1,) rows above go to the second */
    const size_t *region_starts;        /* (n_regions + 1,) first center of each */
    /* RFF_TERMS again */
    const double *slopes; /* (n_features, n_outputs) */
    int has_slopes;       /* whether one of them is not 0 */
    size_t n_trees, depth;
    const int32_t *tree_columns;  /* (n_trees, depth) */
    const double *thresholds;     /* (n_trees, depth); DBL_MAX splits nothing */
    const int32_t *steps;         /* (n_trees, depth) what x[column] > threshold adds to the number of the leaf */
    const uint32_t *tree_starts;  /* (n_trees + 1,) first leaf of each tree */
    const float *tree_values;     /* (n_leaves, n_outputs) in units of tree_unit */
    const double *lower, *upper;  /* (n_features,) bounds that the columns of a row are clipped to */
    double tree_unit;             /* 1, or a power of 2: scores += unit * (sum of values, in double) if it is not 1 */
} rff_expansion;

/* Rows one by one, of width 1, or in tiles: (n_tiles, n_features, width), of a width that divides VM_TILE. */
typedef struct {
    const void *values;
    rff_type type;
    size_t n_features, width;
} rff_rows;

static size_t rff_place(const rff_rows *X, size_t row, size_t column)
{
    if (X->width == 1) return row * X->n_features + column;
    return (row / X->width * X->n_features + column) * X->width + row % X->width;
}

static double rff_value(const rff_rows *X, size_t row, size_t column)
{
    const size_t place = rff_place(X, row, column);
    return X->type == RFF_FLOAT32 ? ((const float *)X->values)[place] : ((const double *)X->values)[place];
}

/* (x - center) slope of a column and an output, not above RFF_LARGEST_PART. */
static double rff_line(const rff_expansion *e, size_t j, size_t o, double x)
{
    const double slope = e->slopes[j * e->n_outputs + o], part = slope != 0 ? (x - e->center[j]) * slope : 0;
    return part < -RFF_LARGEST_PART ? -RFF_LARGEST_PART : part > RFF_LARGEST_PART ? RFF_LARGEST_PART : part;
}

static void rff_add_lines(const rff_expansion *e, const rff_rows *X, size_t row, size_t n_rows, double *out)
{
    size_t i, j, o;
    for (i = 0; e->has_slopes && i < n_rows; i++)
        for (j = 0; j < e->n_features; j++) {
            const double x = rff_value(X, row + i, j);
            for (o = 0; o < e->n_outputs; o++) out[i * e->n_outputs + o] += rff_line(e, j, o, x);
        }
}

#ifdef RFF_TABLES /* the package itself, which divides rows among threads by these */

/* Numbers of an expansion that a row meets. */
static size_t rff_numbers_of_row(const rff_expansion *e)
{
    return e->n_terms * (e->n_features + 2) + e->n_trees * e->depth;
}

/* Multiply-adds of a row, where a cosine or a kernel takes as long as `each` of them. */
static size_t rff_work_of_row(const rff_expansion *e, size_t each)
{
    return e->n_terms * (e->n_features + each + e->n_outputs) + e->n_trees * (e->depth + e->n_outputs);
}

#endif

/* Terms that rounds of boosting add, those of all parts but kernels. */
static size_t rff_count_boosted(const rff_expansion *expansion)
{
    return (expansion->kind == RFF_KERNEL ? 0 : expansion->n_terms) + expansion->n_trees;
}

#endif
