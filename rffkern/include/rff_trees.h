/* Trees as score_trees.h reads them: made once, when a model is loaded. */
#ifndef RFF_TREES_H
#define RFF_TREES_H

#include "packed_trees.h"
#include "rff_model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A binned column is a column of a row with 2^k - 1 edges, at most 255.  One with more edges is several binned columns.
   There are `packed.n_columns`. */
typedef struct {
    vt_trees packed;
    const uint32_t *columns;      /* (n_columns,) columns of rows */
    const ptrdiff_t *edge_starts; /* (n_columns + 1,) */
    const float *f32;             /* edges for rows of single precision: rounded down, so that the same rows are above */
    const double *f64;
} rff_trees;

/* x[column] > threshold is the same as bin > threshold_bin of a binned column. */
typedef struct {
    double threshold;
    int32_t column, threshold_bin;
    size_t binned_column;
} rff_split;

/* By column, then by threshold. */
static int rff_compare_splits(const void *a, const void *b)
{
    const rff_split *p = *(rff_split *const *)a, *q = *(rff_split *const *)b;
    if (p->column != q->column) return p->column < q->column ? -1 : 1;
    return (p->threshold > q->threshold) - (p->threshold < q->threshold);
}

static float rff_round_down(double edge)
{
    float single = edge == HUGE_VAL ? HUGE_VALF : edge >= FLT_MAX ? FLT_MAX : edge < -FLT_MAX ? -HUGE_VALF : (float)edge;
    return single > edge ? nextafterf(single, -HUGE_VALF) : single;
}

/* The smallest 2^k - 1 that is not below n. */
static size_t rff_padded(size_t n)
{
    size_t padded = 0;
    while (padded < n) padded = 2 * padded + 1;
    return padded;
}

/* Binned columns and threshold bins of the n splits in their order, and the edges. */
static int rff_pack_edges(rff_model *model, rff_trees *trees, rff_split **order, size_t n)
{
    size_t k, i, n_binned = 0, n_edges = 0;
    uint32_t *columns;
    ptrdiff_t *starts;
    double *doubles;
    float *singles;
    for (k = 0; k < n; k++) {
        const rff_split *before = k ? order[k - 1] : NULL;
        const int is_other = !before || before->column != order[k]->column;
        order[k]->threshold_bin = is_other ? 0 : before->threshold_bin + (before->threshold != order[k]->threshold);
        if (is_other || order[k]->threshold_bin == VT_BINS - 1) {
            order[k]->threshold_bin = 0;
            n_binned++;
        }
        order[k]->binned_column = n_binned - 1;
    }
    columns = (uint32_t *)rff_own(model, n_binned + 1, sizeof *columns);
    starts = (ptrdiff_t *)rff_own(model, n_binned + 2, sizeof *starts);
    if (!columns || !starts) return 0;
    for (k = 0; k < n; k++) {
        columns[order[k]->binned_column] = (uint32_t)order[k]->column;
        if (k + 1 < n && order[k + 1]->binned_column == order[k]->binned_column) continue;
        n_edges += rff_padded((size_t)order[k]->threshold_bin + 1);
        starts[order[k]->binned_column + 1] = (ptrdiff_t)n_edges;
    }
    if (n_binned == 0) starts[n_binned = 1] = (ptrdiff_t)(n_edges = 1); /* of column 0, by which no tree splits */
    doubles = (double *)rff_own(model, n_edges, sizeof *doubles);
    singles = (float *)rff_own(model, n_edges, sizeof *singles);
    if (!doubles || !singles) return 0;
    for (i = 0; i < n_edges; i++) doubles[i] = HUGE_VAL;
    for (k = 0; k < n; k++) doubles[starts[order[k]->binned_column] + order[k]->threshold_bin] = order[k]->threshold;
    for (i = 0; i < n_edges; i++) singles[i] = rff_round_down(doubles[i]);
    trees->packed.n_columns = (ptrdiff_t)n_binned;
    trees->columns = columns;
    trees->edge_starts = starts;
    trees->f32 = singles;
    trees->f64 = doubles;
    return 1;
}

/* Levels one after the other, of trees padded to what is scored together.  A column by which a tree splits k times is a
   digit of k + 1 values; the levels of the digits that fit into a byte come first. */
static int rff_pack_levels(rff_model *model, rff_trees *trees, const rff_split *splits)
{
    const rff_expansion *e = &model->expansion;
    const size_t depth = e->depth, stride = (e->n_trees + VT_TREE_BLOCK - 1) / VT_TREE_BLOCK * VT_TREE_BLOCK;
    int32_t *columns = (int32_t *)rff_own(model, depth * stride, sizeof *columns);
    int32_t *units = (int32_t *)rff_own(model, stride, sizeof *units);
    int8_t *thresholds = (int8_t *)rff_own(model, depth * stride, sizeof *thresholds);
    uint8_t *steps = (uint8_t *)rff_own(model, depth * stride, sizeof *steps);
    uint8_t *firsts = (uint8_t *)rff_own(model, stride, sizeof *firsts);
    ptrdiff_t *starts = (ptrdiff_t *)rff_own(model, e->n_trees + 1, sizeof *starts);
    size_t t, l, m;
    if (!columns || !units || !thresholds || !steps || !firsts || !starts) return 0;
    for (l = 0; l < depth * stride; l++) thresholds[l] = 127;
    for (t = 0; t < e->n_trees; t++) {
        const rff_split *of_tree = splits + t * depth;
        const int32_t *all = e->steps + t * depth;
        int is_later[VT_MAX_SCORED_DEPTH], unit = 0;
        size_t place = 0;
        for (l = 0; l < depth; l++) {
            int32_t base = 1;
            for (m = 0; m < depth; m++) base += all[m] && all[m] == all[l];
            is_later[l] = all[l] * base > 256;
            if (is_later[l] && (unit == 0 || all[l] < unit)) unit = all[l];
            firsts[t] = (uint8_t)(firsts[t] + !is_later[l]);
        }
        for (m = 0; m < 2; m++)
            for (l = 0; l < depth; l++) {
                const size_t q = place * stride + t;
                if (is_later[l] != (int)m) continue;
                place++;
                if (all[l] == 0) continue; /* splits nothing */
                columns[q] = (int32_t)of_tree[l].binned_column;
                thresholds[q] = (int8_t)(of_tree[l].threshold_bin - 128);
                steps[q] = (uint8_t)(m ? all[l] / unit : all[l]);
            }
        units[t] = unit;
    }
    for (t = 0; t <= e->n_trees; t++) starts[t] = (ptrdiff_t)e->tree_starts[t];
    trees->packed.columns = columns;
    trees->packed.thresholds = thresholds;
    trees->packed.steps = steps;
    trees->packed.firsts = firsts;
    trees->packed.units = units;
    trees->packed.starts = starts;
    trees->packed.values = e->tree_values;
    trees->packed.stride = (ptrdiff_t)stride;
    trees->packed.depth = (ptrdiff_t)depth;
    trees->packed.n_outputs = (ptrdiff_t)e->n_outputs;
    return 1;
}

static int rff_pack_trees(rff_model *model, rff_trees *trees)
{
    const rff_expansion *e = &model->expansion;
    const size_t n_all = e->n_trees * e->depth;
    rff_model memory = {0}; /* of this function alone */
    rff_split *splits = (rff_split *)rff_own(&memory, n_all, sizeof *splits);
    rff_split **order = (rff_split **)rff_own(&memory, n_all, sizeof *order);
    size_t k, n = 0;
    int done = splits && order;
    for (k = 0; done && k < n_all; k++) {
        splits[k].column = e->tree_columns[k];
        splits[k].threshold = e->thresholds[k];
        if (e->thresholds[k] < DBL_MAX) order[n++] = splits + k;
    }
    if (done && n) qsort(order, n, sizeof *order, rff_compare_splits);
    done = done && rff_pack_edges(model, trees, order, n) && rff_pack_levels(model, trees, splits);
    rff_release_blocks(memory.blocks);
    return done;
}

#endif
