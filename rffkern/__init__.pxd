"""Scoring of trained models from Cython without the interpreter: rffkern.h says what each function does.

An extension that cimports these names compiles `rffscore.c` too; both files are in `rffkern.get_include()`.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t


cdef extern from "rffkern.h" nogil:
    enum:
        RFF_ABI_VERSION

    ctypedef struct rff_model:
        pass

    ctypedef enum rff_error:
        RFF_OK
        RFF_E_ARGUMENT
        RFF_E_FILE
        RFF_E_MEMORY
        RFF_E_LARGE
        RFF_E_FORMAT
        RFF_E_CHECKSUM
        RFF_E_NEWER
        RFF_E_INVALID
        RFF_E_UNSUPPORTED
        RFF_E_SCRATCH
        RFF_E_ROWS
        RFF_E_NO_LABELS
        RFF_E_WORDS
        RFF_E_CELL

    ctypedef enum rff_type:
        RFF_FLOAT32
        RFF_FLOAT64

    ctypedef enum rff_kind:
        RFF_FUNCTION
        RFF_CLASSIFIER
        RFF_REGRESSOR
        RFF_TRANSFORMER
        RFF_COLUMN_MAP

    ctypedef enum rff_column_kind:
        RFF_COLUMN_NUMERIC
        RFF_COLUMN_CATEGORY
        RFF_COLUMN_DATE
        RFF_COLUMN_EMPTY

    ctypedef struct rff_column_info:
        rff_column_kind kind
        int32_t is_used
        int32_t has_rare_levels
        size_t n_levels
        const char *name
        const char *format
        const char *dropped

    ctypedef enum rff_cell_kind:
        RFF_CELL_MISSING
        RFF_CELL_NUMBER
        RFF_CELL_TEXT
        RFF_CELL_DATE

    ctypedef struct rff_cell:
        rff_cell_kind kind
        double number
        const char *text
        size_t length

    ctypedef enum rff_label_kind:
        RFF_NO_LABELS
        RFF_BOOLEAN
        RFF_INTEGER
        RFF_UNSIGNED
        RFF_REAL
        RFF_TEXT

    ctypedef struct rff_label:
        rff_label_kind kind
        int64_t integer
        uint64_t whole
        double real
        const char *text
        size_t length

    ctypedef struct rff_info:
        rff_kind kind
        rff_label_kind label_kind
        int32_t format_version
        int32_t takes_missing
        int32_t has_feature_names
        size_t n_features
        size_t n_mapped
        size_t n_terms
        size_t n_outputs
        size_t n_classes
        size_t n_predictions
        const char *family
        const char *class_name
        const char *takes_words
        const char *target

    int rff_abi_version() noexcept
    const char *rff_error_text(rff_error error) noexcept
    rff_error rff_load(const char *path, size_t max_bytes, rff_model **model, const char **why) noexcept
    rff_error rff_load_memory(const void *data, size_t n_bytes, rff_model **model, const char **why) noexcept
    void rff_free(rff_model *model) noexcept
    rff_error rff_describe(const rff_model *model, rff_info *info, size_t size) noexcept
    rff_error rff_get_label(const rff_model *model, size_t index, rff_label *label) noexcept
    const char *rff_feature_name(const rff_model *model, size_t index) noexcept
    size_t RFF_NO_COLUMN
    size_t rff_find_column(const rff_model *model, const char *name, size_t length) noexcept
    rff_error rff_describe_column(const rff_model *model, size_t index, rff_column_info *column, size_t size) noexcept
    rff_error rff_get_level(const rff_model *model, size_t column, size_t index, const char **text,
                            size_t *length) noexcept
    size_t rff_scratch_size(const rff_model *model, size_t n_rows) noexcept
    rff_error rff_score(const rff_model *model, rff_type type, const void *rows, size_t n_rows, double *scores,
                        void *scratch, size_t scratch_size) noexcept
    rff_error rff_predict(const rff_model *model, rff_type type, const void *rows, size_t n_rows, double *predictions,
                          void *scratch, size_t scratch_size) noexcept
    rff_error rff_predict_proba(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                                double *probabilities, void *scratch, size_t scratch_size) noexcept
    rff_error rff_score_cells(const rff_model *model, const rff_cell *cells, size_t n_rows, double *scores,
                              void *scratch, size_t scratch_size, size_t *row, size_t *column) noexcept
    rff_error rff_predict_cells(const rff_model *model, const rff_cell *cells, size_t n_rows, double *predictions,
                                void *scratch, size_t scratch_size, size_t *row, size_t *column) noexcept
    rff_error rff_predict_proba_cells(const rff_model *model, const rff_cell *cells, size_t n_rows,
                                      double *probabilities, void *scratch, size_t scratch_size, size_t *row,
                                      size_t *column) noexcept

    ctypedef struct rff_functions:
        int abi_version
        size_t size
        rff_error (*describe)(const rff_model *model, rff_info *info, size_t size) noexcept nogil
        size_t (*scratch_size)(const rff_model *model, size_t n_rows) noexcept nogil
        rff_error (*score)(const rff_model *model, rff_type type, const void *rows, size_t n_rows, double *scores,
                           void *scratch, size_t scratch_size) noexcept nogil
        rff_error (*predict)(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                             double *predictions, void *scratch, size_t scratch_size) noexcept nogil
        rff_error (*predict_proba)(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                                   double *probabilities, void *scratch, size_t scratch_size) noexcept nogil
        rff_error (*score_cells)(const rff_model *model, const rff_cell *cells, size_t n_rows, double *scores,
                                 void *scratch, size_t scratch_size, size_t *row, size_t *column) noexcept nogil
        rff_error (*predict_cells)(const rff_model *model, const rff_cell *cells, size_t n_rows, double *predictions,
                                   void *scratch, size_t scratch_size, size_t *row, size_t *column) noexcept nogil
        rff_error (*predict_proba_cells)(const rff_model *model, const rff_cell *cells, size_t n_rows,
                                         double *probabilities, void *scratch, size_t scratch_size, size_t *row,
                                         size_t *column) noexcept nogil
        size_t (*find_column)(const rff_model *model, const char *name, size_t length) noexcept nogil
    const char *RFF_FUNCTIONS_CAPSULE
    const char *RFF_MODEL_CAPSULE
