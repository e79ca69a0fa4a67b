/* Trained models of rffkern in C: read the `.npz` file that `rffkern.save` writes, and score rows.
 *
 * Compile `rffscore.c`, which stands beside this file, with any C99 compiler; it needs libc and libm alone.
 *
 * A model never changes once it is loaded: any number of threads may call any function but `rff_free` on the same model
 * at the same time, without a lock.  Only loading allocates memory, and `rff_prepare_explanations` after it; only
 * `rff_free` releases it; functions that score work in memory of the caller, of the size that `rff_scratch_size` tells.
 * Nothing prints, reads the environment, or keeps state between calls.  Every function that can fail returns an
 * `rff_error`, and where it fails, it has written nothing to its results unless it says so.
 */
#ifndef RFFKERN_H
#define RFFKERN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RFF_API
#define RFF_API extern
#endif

/* The version of this interface.  Functions, codes and members at the end of structs may be added without a new one. */
#define RFF_ABI_VERSION 1

typedef struct rff_model rff_model;

typedef enum {
    RFF_OK = 0,
    RFF_E_ARGUMENT = 1,    /* a null pointer, an unknown type, an index out of range */
    RFF_E_FILE = 2,        /* the file cannot be opened or read; errno says why */
    RFF_E_MEMORY = 3,      /* out of memory while loading */
    RFF_E_LARGE = 4,       /* the file is larger than the limit given */
    RFF_E_FORMAT = 5,      /* not a model file, cut off, or its archive is malformed */
    RFF_E_CHECKSUM = 6,    /* the bytes are not those that were written */
    RFF_E_NEWER = 7,       /* of a newer format version: a newer rffscore.c reads it */
    RFF_E_INVALID = 8,     /* the contents contradict each other, or are out of range */
    RFF_E_UNSUPPORTED = 9, /* a sound model that C cannot score: labels beyond 64 bits */
    RFF_E_SCRATCH = 10,    /* too little scratch memory */
    RFF_E_ROWS = 11,       /* a row holds nan or inf, or numbers too large */
    RFF_E_NO_LABELS = 12,  /* the model has no labels or probabilities: it is no classifier */
    RFF_E_WORDS = 13,      /* a column takes words or dates: call `rff_score_cells` and its like */
    RFF_E_CELL = 14,       /* a cell is no value of its column, such as text in a column of numbers, or no UTF-8 */
    RFF_E_NOT_KEPT = 15,   /* the file keeps no residuals of rows out of fold, or no distributions of columns */
    RFF_E_COVERAGE = 16,   /* a coverage too high for the number of rows that residuals are of */
} rff_error;

typedef enum {
    RFF_FLOAT32 = 4,
    RFF_FLOAT64 = 8,
} rff_type;

typedef enum {
    RFF_FUNCTION = 0,   /* an expansion alone, which has scores */
    RFF_CLASSIFIER = 1, /* scores, labels and probabilities */
    RFF_REGRESSOR = 2,  /* scores and predictions, which are equal for most losses */
    RFF_TRANSFORMER = 3, /* PBRFFTransformer: its score is the sum of its features */
    RFF_COLUMN_MAP = 4, /* its scores are the mapped columns */
} rff_kind;

typedef enum {
    RFF_NO_LABELS = 0,
    RFF_BOOLEAN = 1,  /* `integer` is 0 or 1 */
    RFF_INTEGER = 2,  /* `integer` */
    RFF_UNSIGNED = 3, /* `whole` */
    RFF_REAL = 4,     /* `real` */
    RFF_TEXT = 5,     /* `text` and `length` */
} rff_label_kind;

/* A label.  Text is UTF-8 and ends in a 0 byte, which `length` does not count; it belongs to the model. */
typedef struct {
    rff_label_kind kind;
    int64_t integer;
    uint64_t whole;
    double real;
    const char *text;
    size_t length;
} rff_label;

typedef enum {
    RFF_COLUMN_NUMERIC = 0,
    RFF_COLUMN_CATEGORY = 1, /* words, or numbers and booleans that are levels */
    RFF_COLUMN_DATE = 2,
    RFF_COLUMN_EMPTY = 3, /* all values were missing in training */
} rff_column_kind;

/* A column of rows.  Texts are UTF-8, end in a 0 byte and belong to the model. */
typedef struct {
    rff_column_kind kind;
    int32_t is_used;         /* 0 where training dropped it: its cells are not looked at */
    int32_t has_rare_levels; /* of a category: 1 where a level that is not among those kept counts as rare, 0 where it
                                counts as missing */
    int32_t reserved;
    size_t n_levels;         /* of a category, those kept */
    const char *name;        /* NULL where the model has no names */
    const char *format;      /* of text: of numbers "", or the decimal mark and the unit, "time" or "duration"; of dates
                                "", "dmy" or "mdy" */
    const char *dropped;     /* why it is not used; else "" */
} rff_column_info;

typedef enum {
    RFF_CELL_MISSING = 0,
    RFF_CELL_NUMBER = 1, /* `number`; nan is missing too */
    RFF_CELL_TEXT = 2,   /* `text` and `length` */
    RFF_CELL_DATE = 3,   /* `number`: seconds since 1970 in UTC; nan is missing too */
} rff_cell_kind;

/* A cell of a row, all zeros where it is missing.  Text is UTF-8 and need not end in a 0 byte. */
typedef struct {
    rff_cell_kind kind;
    double number;
    const char *text;
    size_t length; /* bytes */
} rff_cell;

typedef struct {
    rff_kind kind;
    rff_label_kind label_kind;
    int32_t format_version;    /* of the file */
    int32_t takes_missing;     /* 1 where nan stands for a missing value, as columns are mapped first; else 0 */
    int32_t has_feature_names; /* 1 or 0 */
    int32_t reserved;
    size_t n_features;    /* numbers of a row, as it is given */
    size_t n_mapped;      /* the same after the column map, if there is one */
    size_t n_terms;       /* of the expansion */
    size_t n_outputs;     /* scores of a row */
    size_t n_classes;     /* labels, probabilities of a row; 0 if it is no classifier */
    size_t n_predictions; /* what `rff_predict` writes for a row: 1 for a classifier, the index of the label */
    const char *family;   /* as in the file, such as "gbrff2" */
    const char *class_name; /* such as "GBRFF2Classifier" */
    const char *takes_words; /* a sentence that names the first column of categories or dates, for which rows are given as
                                cells; NULL where numbers do */
    const char *target;     /* name of what is predicted, where the file tells (metadata "target"); else NULL */
} rff_info;

/* RFF_ABI_VERSION of the code that was compiled. */
RFF_API int rff_abi_version(void);

/* What a code means, in English; never NULL. */
RFF_API const char *rff_error_text(rff_error error);

/* Read the file at `path`, of up to `max_bytes` (0: 1 GiB).  `*model` is NULL unless the result is RFF_OK.  `why`, if
   it is not NULL, becomes a sentence about what is wrong, a constant text, or NULL where nothing is. */
RFF_API rff_error rff_load(const char *path, size_t max_bytes, rff_model **model, const char **why);

/* The same for the bytes of a file, which are not needed afterwards. */
RFF_API rff_error rff_load_memory(const void *bytes, size_t n_bytes, rff_model **model, const char **why);

/* Release a model; NULL is allowed.  No other function may be using it. */
RFF_API void rff_free(rff_model *model);

/* What a model is.  `size` is sizeof(rff_info) of the caller, so that later versions may add members. */
RFF_API rff_error rff_describe(const rff_model *model, rff_info *info, size_t size);

/* Label `index` of n_classes, in the order of the probabilities. */
RFF_API rff_error rff_get_label(const rff_model *model, size_t index, rff_label *label);

/* Name of column `index` of n_features, in UTF-8; NULL if the model has no names or the index is out of range. */
RFF_API const char *rff_feature_name(const rff_model *model, size_t index);

/* Column `index` of n_features.  `size` is sizeof(rff_column_info) of the caller. */
RFF_API rff_error rff_describe_column(const rff_model *model, size_t index, rff_column_info *column, size_t size);

/* Level `index` of n_levels of a column, in the order of code points; `*length` in bytes, unless `length` is NULL. */
RFF_API rff_error rff_get_level(const rff_model *model, size_t column, size_t index, const char **text, size_t *length);

/* Index of the column of a name of `length` bytes of UTF-8; RFF_NO_COLUMN if no column has it. */
#define RFF_NO_COLUMN SIZE_MAX
RFF_API size_t rff_find_column(const rff_model *model, const char *name, size_t length);

/* Bytes of scratch memory, of any alignment, that the functions below need for up to `n_rows` rows in a call; it stops
   growing at some number of rows, so that a caller may ask for SIZE_MAX.  Threads need one each. */
RFF_API size_t rff_scratch_size(const rff_model *model, size_t n_rows);

/* Scores of rows: what `decision_function` of a classifier and `score` of an expansion give in Python, (n_rows,
   n_outputs) in `scores`.  `rows` are n_rows x n_features numbers of a type, row by row. */
RFF_API rff_error rff_score(const rff_model *model, rff_type type, const void *rows, size_t n_rows, double *scores,
                            void *scratch, size_t scratch_size);

/* Predictions, (n_rows, n_predictions): of a classifier the index of the label, as a double; of a regressor what
   `predict` gives; of others the scores. */
RFF_API rff_error rff_predict(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                              double *predictions, void *scratch, size_t scratch_size);

/* Probabilities of the labels, (n_rows, n_classes); RFF_E_NO_LABELS unless the model is a classifier. */
RFF_API rff_error rff_predict_proba(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                                    double *probabilities, void *scratch, size_t scratch_size);

/* The same three for rows of cells, n_rows x n_features of them, row by row, in double precision.  Text is read as in
   Python, which is how the column was in training: numbers, dates and times in the same format, words as levels, and in
   any column what says that a value is missing.  Every model takes such rows.

   RFF_E_ROWS or RFF_E_CELL: `*row` and `*column`, unless they are NULL, tell the first cell that is refused, and answers
   for rows before it may have been written. */
RFF_API rff_error rff_score_cells(const rff_model *model, const rff_cell *cells, size_t n_rows, double *scores,
                                  void *scratch, size_t scratch_size, size_t *row, size_t *column);
RFF_API rff_error rff_predict_cells(const rff_model *model, const rff_cell *cells, size_t n_rows, double *predictions,
                                    void *scratch, size_t scratch_size, size_t *row, size_t *column);
RFF_API rff_error rff_predict_proba_cells(const rff_model *model, const rff_cell *cells, size_t n_rows,
                                          double *probabilities, void *scratch, size_t scratch_size, size_t *row,
                                          size_t *column);

/* Ends of intervals that contain the target with a probability of `coverage`, above 0 and below 1, the lower one first,
   (n_rows, n_predictions, 2): what `predict_interval` of a regressor gives without groups.  RFF_E_NOT_KEPT where the
   file has no residuals of rows that the model was not trained on. */
RFF_API rff_error rff_predict_interval(const rff_model *model, double coverage, rff_type type, const void *rows,
                                       size_t n_rows, double *ends, void *scratch, size_t scratch_size);
RFF_API rff_error rff_predict_interval_cells(const rff_model *model, double coverage, const rff_cell *cells,
                                             size_t n_rows, double *ends, void *scratch, size_t scratch_size,
                                             size_t *row, size_t *column);

/* Make what `rff_explain` takes, once and before threads share the model: it allocates memory, which `rff_free` releases,
   and `rff_scratch_size` is larger from then on.  RFF_E_NOT_KEPT where the file has no distributions of columns,
   RFF_E_UNSUPPORTED where scores are sums of kernels, or RFF_E_MEMORY; `why`, if it is not NULL, says so. */
RFF_API rff_error rff_prepare_explanations(rff_model *model, const char **why);

/* The mean scores of the background, (n_outputs,), to which contributions are added for the score; NULL before
   `rff_prepare_explanations`. */
RFF_API const double *rff_base_values(const rff_model *model);

/* Contributions of columns to the scores, (n_rows, n_features, n_outputs): the exact Shapley values that `explain` of
   Python gives with its own background, the distributions of the columns in training.  Rows of single precision are
   explained in double precision.  RFF_E_ARGUMENT before `rff_prepare_explanations`. */
RFF_API rff_error rff_explain(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                              double *contributions, void *scratch, size_t scratch_size);
RFF_API rff_error rff_explain_cells(const rff_model *model, const rff_cell *cells, size_t n_rows, double *contributions,
                                    void *scratch, size_t scratch_size, size_t *row, size_t *column);

/* The functions of the package, for extensions of Python that do not compile rffscore.c: what the capsule of
   `rffkern.c_functions()` points to.  A capsule of `rffkern.c_model(model)` points to the rff_model. */
#define RFF_FUNCTIONS_CAPSULE "rffkern.functions"
#define RFF_MODEL_CAPSULE "rffkern.model"
typedef struct {
    int abi_version;
    size_t size; /* of this struct */
    rff_error (*describe)(const rff_model *model, rff_info *info, size_t size);
    size_t (*scratch_size)(const rff_model *model, size_t n_rows);
    rff_error (*score)(const rff_model *model, rff_type type, const void *rows, size_t n_rows, double *scores,
                       void *scratch, size_t scratch_size);
    rff_error (*predict)(const rff_model *model, rff_type type, const void *rows, size_t n_rows, double *predictions,
                         void *scratch, size_t scratch_size);
    rff_error (*predict_proba)(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                               double *probabilities, void *scratch, size_t scratch_size);
    rff_error (*score_cells)(const rff_model *model, const rff_cell *cells, size_t n_rows, double *scores, void *scratch,
                             size_t scratch_size, size_t *row, size_t *column);
    rff_error (*predict_cells)(const rff_model *model, const rff_cell *cells, size_t n_rows, double *predictions,
                               void *scratch, size_t scratch_size, size_t *row, size_t *column);
    rff_error (*predict_proba_cells)(const rff_model *model, const rff_cell *cells, size_t n_rows, double *probabilities,
                                     void *scratch, size_t scratch_size, size_t *row, size_t *column);
    size_t (*find_column)(const rff_model *model, const char *name, size_t length);
} rff_functions;

#ifdef __cplusplus
}
#endif

#endif
