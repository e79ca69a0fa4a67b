/* Models of the C interface that are made of arrays instead of a file, for `embedding`. */
#include "trees.h"
#include "vecmath.h"
#include "forms.h"

static const vecmath_f32 *rff_table_f32;
static const vecmath_f64 *rff_table_f64;
static const vm_forms_table *rff_forms;
static const vm_trees_table *rff_table_trees;

#undef VM_LEVEL
#define RFF_TABLES
#include "../../include/rff_scorer.h"

/* Lend an array of a caller, of 4 or 8 bytes a number, to what reads those of files. */
static void rff_lend(rff_file *file, const char *name, uint32_t n_dimensions, size_t rows, size_t columns, size_t width,
                     const void *numbers)
{
    rff_array *array = file->arrays + file->n_arrays++;
    strncpy(array->name, name, RFF_MAX_NAME - 1);
    array->n_dimensions = n_dimensions;
    array->shape[0] = rows;
    array->shape[1] = columns;
    array->size = rows * columns;
    array->width = width;
    array->data = (const uint8_t *)numbers;
    file->content.size += array->size * width;
}

/* Scores of some of the rows, checked, from the first of a tile on; `scratch` as `rff_score` takes it. */
static void rff_score_some(const rff_model *model, rff_type type, const void *rows, size_t width, size_t first,
                           size_t n_rows, double *out, void *scratch)
{
    const rff_rows X = {rows, type, model->info.n_features, width};
    const size_t piece = rff_piece(model), n_outputs = model->info.n_outputs;
    double *base = (double *)(((uintptr_t)scratch + 63) / 64 * 64);
    size_t row;
    for (row = first; row < first + n_rows; row += piece)
        rff_score_given(model, &X, row, first + n_rows - row < piece ? first + n_rows - row : piece,
                        out + row * n_outputs, base);
}

/* Bytes of scratch memory that it takes. */
static size_t rff_scratch_size_of_numbers(const rff_model *model)
{
    return rff_scratch_layout(model).values * sizeof(double);
}

/* Whether single precision suffices for the rows of one part, as far as angles are small. */
static int rff_part_is_single(const rff_model *model)
{
    const size_t n_regions = model->regions ? model->expansion.n_regions : 0;
    size_t region;
    for (region = 0; region < n_regions; region++)
        if (model->regions[region].expansion.n_terms && !rff_part_is_single(model->regions + region)) return 0;
    return n_regions || ((const rff_prepared *)model->prepared)->single;
}

/* are_far[i] = whether the angles of a row of single precision need double precision. */
static void rff_find_far(const rff_model *model, const float *rows, size_t n_rows, unsigned char *are_far)
{
    const rff_rows X = {rows, RFF_FLOAT32, model->info.n_features, 1};
    const rff_prepared *prepared = (const rff_prepared *)model->prepared;
    size_t i;
    for (i = 0; i < n_rows; i++)
        are_far[i] = (unsigned char)(!prepared->single || rff_is_far(&model->expansion, prepared, &X, i));
}

/* What an extension gets: `rff_functions` of rffkern.h. */
static const rff_functions rff_all_functions = {
    RFF_ABI_VERSION, sizeof(rff_functions), rff_describe, rff_scratch_size, rff_score, rff_predict, rff_predict_proba,
    rff_score_cells, rff_predict_cells, rff_predict_proba_cells, rff_find_column};
