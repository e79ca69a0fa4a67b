/* What a model file says, as the reader leaves it and the scorer takes it.  Not part of the interface. */
#ifndef RFF_MODEL_H
#define RFF_MODEL_H

#include "rff_parts.h"

/* From scores to probabilities (rffkern/_estimator/links.py). */
typedef enum {
    RFF_NO_LINK,
    RFF_LOGISTIC, /* 1 / (1 + exp(-slope score)), of several classes one against the rest, scaled to sum to 1 */
    RFF_SOFTMAX,  /* of several classes; of two the same as RFF_LOGISTIC with slope 1 */
    RFF_LINEAR,   /* (1 + score) / 2, with a tail where there are several classes */
} rff_link;

/* From scores to the predictions of a regressor. */
typedef enum {
    RFF_IDENTITY,
    RFF_EXPONENTIATED, /* exp(min(score, largest logarithm)): counts */
    RFF_SMALLEST,      /* the smallest of the outputs: several quantiles, of which the first is told */
} rff_prediction;

/* Forms of mapped columns; their numbers are those of forms.h, VF_RAW and so on. */
enum { RFF_RAW, RFF_STANDARD, RFF_BOUNDED, RFF_RANK, RFF_WITHIN, RFF_TABLE, RFF_PART };

/* An output of the column map: what `CompiledMap` (rffkern/_column_map/compiled.py) tells its kernel. */
typedef struct {
    int kind;
    size_t source;  /* the value that it is of: that of its column, or one behind these, of text or of two dates */
    double missing; /* what a missing value becomes, before the divisor */
    double divisor;
    double a, b, c, d; /* as in forms.h; of a rank c is the largest magnitude of its heights */
    size_t n_knots;    /* of a rank, or values of a table */
    const double *knots, *heights; /* (n_knots,) the knots increasing; of a table the heights alone */
    size_t stride;     /* from one height of a table to the next */
} rff_form;

/* Bytes, in most places UTF-8. */
typedef struct {
    const uint8_t *at;
    size_t size;
} rff_span;

/* Texts, each with a 0 byte behind it. */
typedef struct {
    size_t n;
    const rff_span *at; /* (n,) */
} rff_texts;

/* What is known of a raw column, and how its cells of text are read: `Reading` of rffkern/_column_map/cells.py. */
typedef struct {
    rff_column_kind kind;
    int is_used, has_rare;
    rff_texts levels; /* sorted */
    rff_texts words;  /* that count as missing */
    const char *format, *dropped;
    char decimal;     /* the decimal mark of numbers, or 0 of times and dates */
    const char *unit; /* of numbers, or "" */
    size_t n_scores;     /* of free text; else 0 */
    size_t first_score;  /* the value that is the first of them */
    int n_bits;          /* of the number of buckets */
    const double *text;  /* shifts, idf and coefficients: `rff_text_form` */
} rff_column;

/* A value that is the difference of two dates of a row. */
typedef struct {
    size_t value, date, other;
} rff_difference;

/* What stands for an output where its column is missing: neutral[output] + sum of factors[k] (out[predictors[k]] -
   neutral[predictors[k]]), in the order of k, neutral[output] if that is nan, held to [low, high]; `out` is the mapped row
   before any output of it is replaced (rffkern/_column_map/imputation.py). */
typedef struct {
    size_t output;
    size_t n_predictors;
    const uint32_t *predictors;
    const double *factors;
    double low, high;
} rff_imputation;

/* A column map, whose raw values are numbers, seconds of dates, and indices of levels: of rare ones the index after the
   last.  Behind those of columns a row has scores of free text and differences of dates.  A column without outputs is
   dropped; that of a column which training saw only missing values in (kind "empty") is RFF_WITHIN with c = d = missing,
   a constant. */
typedef struct {
    size_t n_columns; /* raw ones */
    size_t n_values;  /* of a row */
    size_t n_outputs; /* mapped ones: features of the expansion */
    const uint32_t *starts; /* (n_columns + 1,) outputs of column j are those from starts[j] to starts[j + 1] */
    const rff_form *forms;  /* (n_outputs,) */
    const rff_column *columns; /* (n_columns,) */
    const double *neutral;  /* (n_outputs,) missing / divisor */
    size_t n_differences;
    const rff_difference *differences;
    size_t n_imputations;
    const rff_imputation *imputations; /* in the order of their columns */
} rff_column_map;

/* Residuals of rows out of fold of an output, divided by their spread at the prediction: rffkern/_estimator/conformal.py */
typedef struct {
    double n_rows;         /* which `values` are some of, or all */
    size_t n_values, n_knots;
    const double *values;  /* (n_values,) in ascending order */
    const double *knots, *spreads; /* (n_knots,) the knots increasing */
} rff_residuals;

/* The distribution of a raw column in training: rffkern/_column_map/drift.py */
typedef struct {
    int is_known;
    double missing;       /* share of the rows */
    rff_texts levels;     /* of a category */
    size_t n_values;      /* of numbers and dates */
    const double *values; /* (n_values,) */
    const double *shares; /* of the rows with a value: (levels.n + 1,) the last of all other levels; (n_values,), or NULL
                             where they are equal */
} rff_distribution;

struct rff_model {
    rff_info info;
    rff_expansion expansion;
    int has_map;
    rff_column_map map;
    rff_link link;
    double slope; /* of RFF_LOGISTIC */
    rff_prediction prediction;
    const double *quantiles;             /* (n_outputs,) of RFF_SMALLEST */
    const rff_residuals *residuals;      /* (n_outputs,) of a regressor, or NULL */
    const rff_distribution *distributions; /* (n_features,) of raw columns, or NULL */
    size_t n_components; /* of a transformer: terms of a feature */
    rff_label *labels;         /* (n_classes,) */
    const char **feature_names; /* (n_features,) or NULL */
    struct rff_model *kernels;  /* an expansion of kernels whose scores are added, or NULL */
    struct rff_model *regions;  /* (n_regions,) the kernels of each, if they are several; else NULL */
    void *prepared;             /* of the scorer */
    void *explainer;            /* what contributions take, where they are prepared */
    void *blocks;               /* all memory of the model */
};

/* The same with kernels. */
static size_t rff_count_terms(const rff_model *model)
{
    const rff_expansion *kernels = model->kernels ? &model->kernels->expansion : &model->expansion;
    return rff_count_boosted(&model->expansion) + (kernels->kind == RFF_KERNEL ? kernels->n_terms : 0);
}

/* Zeroed memory for n values of some size, aligned to 64 bytes, that belongs to the model; NULL if there is none. */
static void *rff_own(rff_model *model, size_t n, size_t size);

/* Called at the end of loading, when all else of the model is there: the scorer makes what it needs, by `rff_own`, and
   may set `prepared`.  RFF_OK, or RFF_E_MEMORY. */
static rff_error rff_prepare(rff_model *model);

#endif
