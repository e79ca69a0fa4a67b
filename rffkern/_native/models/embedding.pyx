"""Models of the C interface that are made of the arrays of an expansion: docs/c.md, "Embedding"."""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc
from libc.string cimport memcpy, memset

import numpy as np

from .core.checks cimport agree
from .simd cimport (
    table_trees, table_f32, table_f64, table_forms, vecmath_f32, vecmath_f64, vm_trees_table, vm_forms_table,
)

cdef extern from "rff_embed.h" nogil:
    const vecmath_f32 *rff_table_f32
    const vecmath_f64 *rff_table_f64
    const vm_forms_table *rff_forms
    const vm_trees_table *rff_table_trees
    const char *RFF_FUNCTIONS_CAPSULE
    const char *RFF_MODEL_CAPSULE

    ctypedef struct rff_info:
        int kind
        int takes_missing, has_feature_names
        size_t n_features, n_mapped, n_terms, n_outputs, n_classes, n_predictions

    ctypedef struct rff_form:
        int kind
        size_t source
        double missing, divisor, a, b, c, d
        size_t n_knots, stride
        const double *knots
        const double *heights

    ctypedef struct rff_span:
        const uint8_t *at
        size_t size

    ctypedef struct rff_texts:
        size_t n
        const rff_span *at

    ctypedef struct rff_column:
        int kind, is_used, has_rare
        rff_texts levels, words
        const char *format
        const char *dropped
        char decimal
        const char *unit
        size_t n_scores, first_score
        int n_bits
        const double *text

    ctypedef struct rff_difference:
        size_t value, date, other

    ctypedef struct rff_imputation:
        size_t output, n_predictors
        const uint32_t *predictors
        const double *factors
        double low, high

    ctypedef struct rff_column_map:
        size_t n_columns, n_values, n_outputs, n_imputations, n_differences
        const uint32_t *starts
        const rff_form *forms
        const rff_column *columns
        const double *neutral
        const rff_difference *differences
        const rff_imputation *imputations

    ctypedef struct rff_expansion:
        int kind
        size_t n_terms, n_features, n_outputs

    ctypedef struct rff_refusal:
        int error
        const char *why

    ctypedef struct rff_file:
        rff_refusal refusal

    ctypedef struct rff_model:
        rff_info info
        rff_expansion expansion
        int has_map
        rff_column_map map
        int link, prediction
        double slope
        const char **feature_names
        rff_model *kernels

    ctypedef struct rff_functions:
        pass

    const rff_functions rff_all_functions
    void *rff_own(rff_model *model, size_t n, size_t size) noexcept
    void rff_release(rff_model *model) noexcept
    int RFF_TABLE
    int rff_note_words(rff_model *model) noexcept
    int rff_prepare_for(rff_model *model, int for_single) noexcept
    enum: RFF_MAX_MEMBERS
    void rff_lend(rff_file *file, const char *name, uint32_t n_dimensions, size_t rows, size_t columns, size_t width,
                  const void *numbers) noexcept
    int rff_read_arrays(rff_file *file, rff_model *model) noexcept
    int RFF_E_MEMORY
    size_t rff_count_terms(const rff_model *model) noexcept
    int RFF_KERNEL, RFF_FUNCTION, RFF_CLASSIFIER, RFF_REGRESSOR, RFF_TRANSFORMER
    int RFF_COLUMN_NUMERIC, RFF_COLUMN_CATEGORY, RFF_COLUMN_DATE, RFF_COLUMN_EMPTY
    int RFF_NO_LINK, RFF_LOGISTIC, RFF_SOFTMAX, RFF_LINEAR, RFF_IDENTITY, RFF_EXPONENTIATED, RFF_SMALLEST

MODEL_KINDS = {"function": RFF_FUNCTION, "classifier": RFF_CLASSIFIER, "regressor": RFF_REGRESSOR,
               "transformer": RFF_TRANSFORMER}
LINKS = {"none": RFF_NO_LINK, "logistic": RFF_LOGISTIC, "softmax": RFF_SOFTMAX, "linear": RFF_LINEAR}
COLUMN_KINDS = {"numeric": RFF_COLUMN_NUMERIC, "category": RFF_COLUMN_CATEGORY, "date": RFF_COLUMN_DATE,
                "empty": RFF_COLUMN_EMPTY}
PREDICTIONS = {"scores": RFF_IDENTITY, "exponentiated": RFF_EXPONENTIATED, "smallest": RFF_SMALLEST}


cdef void _release(object capsule) noexcept:
    rff_release(<rff_model *>PyCapsule_GetPointer(capsule, RFF_MODEL_CAPSULE))


cdef const void *_own(rff_model *model, array, dtype) except NULL:
    """A copy of an array that belongs to the model."""
    cdef bytes data = np.ascontiguousarray(array, dtype).tobytes()
    cdef void *place = rff_own(model, len(data) + 1, 1)
    if place == NULL:
        raise MemoryError
    memcpy(place, <const char *>data, len(data))
    return place


cdef int _fill(rff_model *model, dict arrays) except -1:
    """Copy the arrays of an expansion, as from a file."""
    cdef rff_file file
    cdef list kept = []
    memset(&file, 0, sizeof(file))
    agree(len(arrays) <= RFF_MAX_MEMBERS, "arrays must be those of an expansion")
    for name, array in arrays.items():
        agree(array.flags.c_contiguous and 1 <= array.ndim <= 2, "arrays must be contiguous")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        kept.append(array)
        rff_lend(&file, name.encode(), array.ndim, len(array), array.shape[1] if array.ndim == 2 else 1, array.itemsize,
                 <const void *><size_t>array.__array_interface__["data"][0])
    if not rff_read_arrays(&file, model):
        if file.refusal.error == RFF_E_MEMORY:
            raise MemoryError
        raise ValueError(file.refusal.why.decode())
    return 0


cdef rff_model *_new_model(dict arrays) except NULL:
    """A model of the arrays of an expansion, which is not prepared."""
    cdef rff_model *model = <rff_model *>calloc(1, sizeof(rff_model))
    if model == NULL:
        raise MemoryError
    try:
        _fill(model, arrays)
    except BaseException:
        rff_release(model)
        raise
    model.info.n_features = model.info.n_mapped = model.expansion.n_features
    model.info.n_outputs = model.expansion.n_outputs
    model.info.n_terms = rff_count_terms(model)
    return model


cdef void _use_level() noexcept:
    """Score with the functions of the level that is selected now."""
    global rff_table_f32, rff_table_f64, rff_forms, rff_table_trees
    rff_table_f32, rff_table_f64, rff_forms, rff_table_trees = table_f32, table_f64, table_forms, table_trees


cdef int _prepare(rff_model *model, bint takes_single) except -1:
    """Make what scores rows: those of float32 too, or those of float64 alone."""
    cdef int failed
    _use_level()
    with nogil:
        failed = rff_prepare_for(model, takes_single)
    if failed:
        raise MemoryError
    return 0


cdef void *_place(rff_model *model, size_t n, size_t size) except NULL:
    """Zeros that belong to the model."""
    cdef void *place = rff_own(model, n + 1, size)
    if place == NULL:
        raise MemoryError
    return place


cdef const char *_text(rff_model *model, str text) except NULL:
    """A text that ends in a 0 byte and belongs to the model."""
    return <const char *>_own(model, np.frombuffer(text.encode() + b"\0", np.uint8), np.uint8)


cdef int _fill_texts(rff_model *model, rff_texts *into, tuple texts) except -1:
    """Copy texts one after the other."""
    cdef list encoded = [text.encode() for text in texts]
    cdef bytes together = b"".join([text + b"\0" for text in encoded])
    cdef uint8_t *place = <uint8_t *>_place(model, len(together), 1)
    cdef rff_span *at = <rff_span *>_place(model, len(encoded), sizeof(rff_span))
    memcpy(place, <const char *>together, len(together))
    into.n, into.at = len(encoded), at
    for text in encoded:
        at.at, at.size = place, len(text)
        place += at.size + 1
        at += 1
    return 0


cdef int _fill_columns(rff_model *model, tuple columns, names) except -1:
    """Copy what cells are read by, and the names."""
    cdef rff_column *column = <rff_column *>_place(model, len(columns), sizeof(rff_column))
    cdef const char **name
    model.map.columns = column
    for each in columns:
        column.kind, column.is_used, column.has_rare = COLUMN_KINDS[each.kind], bool(each.forms), each.has_rare
        _fill_texts(model, &column.levels, each.levels)
        _fill_texts(model, &column.words, each.words)
        column.format, column.dropped = _text(model, each.format), _text(model, each.dropped)
        column.decimal, column.unit = ord(each.format[:1] or "."), _text(model, each.format[1:])
        if each.kind == "date" or each.format in ("time", "duration"):
            column.decimal = 0
        column += 1
    if names is not None:
        model.feature_names = name = <const char **>_place(model, len(names), sizeof(char *))
        model.info.has_feature_names = 1
        for each in names:
            name[0] = _text(model, each)
            name += 1
    if not rff_note_words(model):
        raise MemoryError
    return 0


cdef int _fill_derived(rff_model *model, values) except -1:
    """Copy what scores of free text and differences of dates are made of: values behind those of columns."""
    cdef rff_column_map *map = &model.map
    cdef rff_column *columns = <rff_column *>map.columns
    cdef rff_difference *difference
    map.n_values = values.n_values
    for j, form, first in values.texts:
        columns[<size_t>j].n_scores, columns[<size_t>j].first_score = len(form.shifts), first
        columns[<size_t>j].n_bits = len(form.idf).bit_length() - 1
        columns[<size_t>j].text = <const double *>_own(model, form.numbers[1:], np.float64)
    map.n_differences = len(values.differences)
    map.differences = difference = <rff_difference *>_place(model, map.n_differences, sizeof(rff_difference))
    for value, date, other in values.differences:
        difference.value, difference.date, difference.other = value, date, other
        difference += 1
    return 0


cdef int _fill_map(rff_model *model, dict columns) except -1:
    """Copy what is known of a column map."""
    cdef rff_column_map *map = &model.map
    starts, kinds, numbers, n_knots, knots, heights = columns["forms"]
    cdef const double *knot = <const double *>_own(model, knots, np.float64)
    cdef const double *height = <const double *>_own(model, heights, np.float64)
    cdef rff_form *form = <rff_form *>_place(model, len(kinds), sizeof(rff_form))
    cdef list imputations = [each for column in columns["columns"] for each in column.imputations]
    cdef size_t n_imputations = len(imputations)
    cdef rff_imputation *imputation = <rff_imputation *>_place(model, n_imputations, sizeof(rff_imputation))
    agree(len(kinds) == model.expansion.n_features, "forms must have an output for each column of the expansion")
    map.starts = <const uint32_t *>_own(model, starts, np.uint32)
    map.neutral = <const double *>_own(model, columns["neutral"], np.float64)
    map.n_columns, map.n_outputs, map.n_imputations = len(starts) - 1, len(kinds), n_imputations
    map.forms, map.imputations = form, imputation
    for kind, source, row, size in zip(kinds, columns["values"].sources, numbers, n_knots, strict=True):
        form.kind, form.source, form.n_knots, form.stride = kind, source, size, 1
        form.missing, form.divisor, form.a, form.b, form.c, form.d = row
        if form.n_knots:
            form.knots, form.heights = knot, height
        if kind == RFF_TABLE:
            form.c = size - 1   # the last place
        knot, height, form = knot + form.n_knots, height + form.n_knots, form + 1
    for each in imputations:
        imputation.output, imputation.n_predictors = each.output, len(each.predictors)
        imputation.low, imputation.high = each.low, each.high
        imputation.predictors = <const uint32_t *>_own(model, each.predictors, np.uint32)
        imputation.factors = <const double *>_own(model, each.factors, np.float64)
        imputation += 1
    model.has_map = model.info.takes_missing = 1
    model.info.n_features = map.n_columns
    _fill_columns(model, columns["columns"], columns["names"])
    return _fill_derived(model, columns["values"])


def make_model(
    dict arrays,        # of an expansion, by name, checked
    dict columns,       # forms, values, neutral, columns and names of a column map, checked; else empty
    str kind,           # among MODEL_KINDS
    Py_ssize_t n_classes,
    str link,           # among LINKS
    double slope,
    str prediction,     # among PREDICTIONS
):
    """A capsule that owns the model, with the functions of the level that is selected now."""
    cdef rff_model *model = _new_model(arrays)
    try:
        capsule = PyCapsule_New(model, RFF_MODEL_CAPSULE, _release)
    except BaseException:
        rff_release(model)
        raise
    if columns:
        _fill_map(model, columns)
    model.info.kind, model.info.n_classes = MODEL_KINDS[kind], n_classes
    model.link, model.slope, model.prediction = LINKS[link], slope, PREDICTIONS[prediction]
    model.info.n_predictions = 1 if n_classes or prediction == "smallest" else model.info.n_outputs
    _prepare(model, True)
    return capsule


def functions():
    """A capsule of the functions that take such models."""
    return PyCapsule_New(<void *>&rff_all_functions, RFF_FUNCTIONS_CAPSULE, NULL)
