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
