/* One instruction set of symmetric trees: VM_LEVEL names it, the compiler flags make it. */
#include "trees.h"
#include "vectors.h"

#include <math.h>
#include <string.h>

#include "grow_trees.h"
#include "score_trees.h"

#define LINE 8 /* values that lie in a line of the cache */

static void number_leaves(const uint8_t *binned, ptrdiff_t stride, ptrdiff_t width, const ptrdiff_t *columns,
                          const ptrdiff_t *thresholds, ptrdiff_t depth, uint16_t *leaf)
{
    uint8_t bytes[VT_MAX_DEPTH / 8][VT_TILE] = {{0}}; /* of the numbers of leaves */
    ptrdiff_t i, level;
    for (level = 0; level < depth; level++) {
        const uint8_t *restrict column = binned + columns[level] * stride;
        const uint8_t threshold = (uint8_t)thresholds[level], bit = (uint8_t)(1 << level % 8);
        uint8_t *restrict leaves = bytes[level / 8];
#pragma omp simd
        for (i = 0; i < width; i++) leaves[i] |= column[i] > threshold ? bit : 0;
    }
    for (i = 0; i < width; i++) leaf[i] = (uint16_t)(bytes[0][i] | bytes[1][i] << 8);
}

static void sum_leaves(const uint16_t *restrict leaves, ptrdiff_t n_rows, const float *restrict gradient,
                       const float *restrict hessian, double *restrict sums)
{
    ptrdiff_t i;
    for (i = 0; i < n_rows; i++) {
        double *sum = sums + 2 * (ptrdiff_t)leaves[i];
        sum[0] += (double)gradient[i];
        sum[1] += (double)hessian[i];
    }
}

/* Of each row the values of some outputs, which lie together. */
static ALWAYS_INLINE void take_values(const uint16_t *leaves, ptrdiff_t stride, ptrdiff_t width, const double *values,
                                      ptrdiff_t n_outputs, const ptrdiff_t n_taken, float *restrict out)
{
    ptrdiff_t i, k;
    for (i = 0; i < width; i++) {
        ptrdiff_t leaf = leaves[i];
        ONE_BY_ONE(leaf);
        UNROLLED
        for (k = 0; k < n_taken; k++) out[k * stride + i] = (float)values[leaf * n_outputs + k];
    }
}

static void look_up(const uint8_t *binned, ptrdiff_t stride, ptrdiff_t width, const ptrdiff_t *columns,
                    const ptrdiff_t *thresholds, ptrdiff_t depth, const double *values, ptrdiff_t n_outputs, float *out)
{
    uint16_t leaves[VT_TILE];
    ptrdiff_t k = 0;
    number_leaves(binned, stride, width, columns, thresholds, depth, leaves);
    for (; k + LINE <= n_outputs; k += LINE)
        take_values(leaves, stride, width, values + k, n_outputs, LINE, out + k * stride);
    for (; k < n_outputs; k++) take_values(leaves, stride, width, values + k, n_outputs, 1, out + k * stride);
}

const vm_trees_table EXPAND2(vm_trees, VM_LEVEL) = {
    begin, lay_out, plan_gains, sum_strip, find_gains, choose_split, plan_windows, add_windows, refine_split, plan_moves,
    count_right, place_strips, move_rows, plan_values, find_values, finish, number_leaves, sum_leaves, look_up,
    EXPAND3(bin, f32, VM_LEVEL), EXPAND3(bin, f64, VM_LEVEL), TREES(score), TREES(score_row)};
