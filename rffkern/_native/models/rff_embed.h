/* Models of the C interface that are made of arrays instead of a file, for `embedding`. */
#include "cells.h"
#include "vecmath.h"
#include "forms.h"

static const vecmath_f32 *rff_table_f32;
static const vecmath_f64 *rff_table_f64;
static const vm_forms_table *rff_forms;
static const vm_cells_table *rff_table_cells;

#undef VM_LEVEL
#define RFF_TABLES
#include "../../include/rff_reader.h"
#include "../../include/rff_scorer.h"

/* Scores of some of the rows, checked; `scratch` as `rff_score` takes it. */
static void rff_score_some(const rff_model *model, rff_type type, const void *rows, size_t first, size_t n_rows,
                           double *out, void *scratch)
{
    const rff_rows X = {rows, type, model->info.n_features};
    const size_t piece = rff_piece(model), n_outputs = model->info.n_outputs;
    double *base = (double *)(((uintptr_t)scratch + 63) / 64 * 64);
    size_t row;
    for (row = first; row < first + n_rows; row += piece)
        rff_score_given(model, &X, row, first + n_rows - row < piece ? first + n_rows - row : piece,
                        out + row * n_outputs, base);
}

/* What an extension gets: `rff_functions` of rffkern.h. */
static rff_error rff_tell(const rff_model *model, rff_info *info, size_t size)
{
    if (!model || !info) return RFF_E_ARGUMENT;
    memset(info, 0, size);
    memcpy(info, &model->info, size < sizeof *info ? size : sizeof *info);
    return RFF_OK;
}

static const rff_functions rff_all_functions = {
    RFF_ABI_VERSION, sizeof(rff_functions), rff_tell, rff_scratch_size, rff_score, rff_predict, rff_predict_proba};
