/* One instruction set of symmetric trees: VM_LEVEL names it, the compiler flags make it. */
#include "trees.h"
#include "vectors.h"

#include <math.h>
#include <string.h>

#include "grow_trees.h"
#include "score_trees.h"

static void look_up(const uint8_t *binned, ptrdiff_t stride, ptrdiff_t width, const ptrdiff_t *columns,
                    const ptrdiff_t *thresholds, ptrdiff_t depth, const double *values, ptrdiff_t n_outputs, float *out)
{
    uint8_t bytes[VT_MAX_DEPTH / 8][VT_TILE] = {{0}}; /* of the numbers of leaves */
    ptrdiff_t i, k, level;
    for (level = 0; level < depth; level++) {
        const uint8_t *restrict column = binned + columns[level] * stride;
        const uint8_t threshold = (uint8_t)thresholds[level], bit = (uint8_t)(1 << level % 8);
        uint8_t *restrict leaves = bytes[level / 8];
#pragma omp simd
        for (i = 0; i < width; i++) leaves[i] |= column[i] > threshold ? bit : 0;
    }
    for (k = 0; k < n_outputs; k++)
        for (i = 0; i < width; i++) {
            ptrdiff_t leaf = bytes[0][i] | bytes[1][i] << 8;
            ONE_BY_ONE(leaf);
            out[k * stride + i] = (float)values[leaf * n_outputs + k];
        }
}

const vm_trees_table EXPAND2(vm_trees, VM_LEVEL) = {
    begin, split_leaves, finish, look_up,
    EXPAND3(bin, f32, VM_LEVEL), EXPAND3(bin, f64, VM_LEVEL), TREES(score), TREES(score_row)};
