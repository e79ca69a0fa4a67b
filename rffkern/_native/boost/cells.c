/* One instruction set of symmetric tables: VM_LEVEL names it, the compiler flags make it. */
#include "cells.h"
#include "vectors.h"

#include <math.h>
#include <string.h>

#include "cells_grow.h"
#include "cells_score.h"

static void look_up(const uint8_t *codes, ptrdiff_t stride, ptrdiff_t width, const ptrdiff_t *columns,
                    const ptrdiff_t *cuts, ptrdiff_t depth, const double *values, ptrdiff_t n_outputs, float *out)
{
    uint8_t bytes[VC_MAX_DEPTH / 8][VC_TILE] = {{0}}; /* of the numbers of cells */
    ptrdiff_t i, k, level;
    for (level = 0; level < depth; level++) {
        const uint8_t *restrict column = codes + columns[level] * stride;
        const uint8_t cut = (uint8_t)cuts[level], bit = (uint8_t)(1 << level % 8);
        uint8_t *restrict cells = bytes[level / 8];
#pragma omp simd
        for (i = 0; i < width; i++) cells[i] |= column[i] > cut ? bit : 0;
    }
    for (k = 0; k < n_outputs; k++)
        for (i = 0; i < width; i++) {
            ptrdiff_t cell = bytes[0][i] | bytes[1][i] << 8;
            ONE_BY_ONE(cell);
            out[k * stride + i] = (float)values[cell * n_outputs + k];
        }
}

const vm_cells_table EXPAND2(vm_cells, VM_LEVEL) = {
    begin, divide, finish, look_up,
    EXPAND3(code, f32, VM_LEVEL), EXPAND3(code, f64, VM_LEVEL), CELLS(score), CELLS(score_row)};
