/* Tables of thresholds as cells_score.h reads them: made once, when a model is loaded. */
#ifndef RFF_CELLS_H
#define RFF_CELLS_H

#include "cells_tables.h"
#include "rff_model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A coded column is a column of a row with 2^k - 1 edges, at most 255.  One with more edges is several coded columns.
   There are `tables.n_columns`. */
typedef struct {
    vc_tables tables;
    const uint32_t *coded;        /* (n_columns,) columns of rows */
    const ptrdiff_t *edge_starts; /* (n_columns + 1,) */
    const float *f32;             /* edges for rows of single precision: rounded down, so that the same rows are above */
    const double *f64;
} rff_cells;

/* x[column] > threshold is asked as code > cut of a coded column. */
typedef struct {
    double threshold;
    int32_t column, cut;
    size_t coded;
} rff_question;

/* By column, then by threshold. */
static int rff_compare_questions(const void *a, const void *b)
{
    const rff_question *p = *(rff_question *const *)a, *q = *(rff_question *const *)b;
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

/* Coded columns and cuts of the n questions in their order, and the edges. */
static int rff_pack_edges(rff_model *model, rff_cells *cells, rff_question **order, size_t n)
{
    size_t k, i, n_coded = 0, n_edges = 0;
    uint32_t *coded;
    ptrdiff_t *starts;
    double *doubles;
    float *singles;
    for (k = 0; k < n; k++) {
        const rff_question *before = k ? order[k - 1] : NULL;
        const int is_other = !before || before->column != order[k]->column;
        order[k]->cut = is_other ? 0 : before->cut + (before->threshold != order[k]->threshold);
        if (is_other || order[k]->cut == VC_CODES - 1) {
            order[k]->cut = 0;
            n_coded++;
        }
        order[k]->coded = n_coded - 1;
    }
    coded = (uint32_t *)rff_own(model, n_coded + 1, sizeof *coded);
    starts = (ptrdiff_t *)rff_own(model, n_coded + 2, sizeof *starts);
    if (!coded || !starts) return 0;
    for (k = 0; k < n; k++) {
        coded[order[k]->coded] = (uint32_t)order[k]->column;
        if (k + 1 < n && order[k + 1]->coded == order[k]->coded) continue;
        n_edges += rff_padded((size_t)order[k]->cut + 1);
        starts[order[k]->coded + 1] = (ptrdiff_t)n_edges;
    }
    if (n_coded == 0) starts[n_coded = 1] = (ptrdiff_t)(n_edges = 1); /* of column 0, which no table asks of */
    doubles = (double *)rff_own(model, n_edges, sizeof *doubles);
    singles = (float *)rff_own(model, n_edges, sizeof *singles);
    if (!doubles || !singles) return 0;
    for (i = 0; i < n_edges; i++) doubles[i] = HUGE_VAL;
    for (k = 0; k < n; k++) doubles[starts[order[k]->coded] + order[k]->cut] = order[k]->threshold;
    for (i = 0; i < n_edges; i++) singles[i] = rff_round_down(doubles[i]);
    cells->tables.n_columns = (ptrdiff_t)n_coded;
    cells->coded = coded;
    cells->edge_starts = starts;
    cells->f32 = singles;
    cells->f64 = doubles;
    return 1;
}

/* Levels one after the other, of tables padded to what is scored together.  A column that a table asks k times is a
   digit of k + 1 values; the levels of the digits that fit into a byte come first. */
static int rff_pack_levels(rff_model *model, rff_cells *cells, const rff_question *questions)
{
    const rff_expansion *e = &model->expansion;
    const size_t depth = e->depth, stride = (e->n_tables + VC_CHUNK - 1) / VC_CHUNK * VC_CHUNK;
    int32_t *columns = (int32_t *)rff_own(model, depth * stride, sizeof *columns);
    int32_t *units = (int32_t *)rff_own(model, stride, sizeof *units);
    int8_t *cuts = (int8_t *)rff_own(model, depth * stride, sizeof *cuts);
    uint8_t *steps = (uint8_t *)rff_own(model, depth * stride, sizeof *steps);
    uint8_t *firsts = (uint8_t *)rff_own(model, stride, sizeof *firsts);
    ptrdiff_t *starts = (ptrdiff_t *)rff_own(model, e->n_tables + 1, sizeof *starts);
    size_t t, l, m;
    if (!columns || !units || !cuts || !steps || !firsts || !starts) return 0;
    for (l = 0; l < depth * stride; l++) cuts[l] = 127;
    for (t = 0; t < e->n_tables; t++) {
        const rff_question *asked = questions + t * depth;
        const int32_t *all = e->steps + t * depth;
        int is_later[VC_SCORED], unit = 0;
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
                if (all[l] == 0) continue; /* asks nothing */
                columns[q] = (int32_t)asked[l].coded;
                cuts[q] = (int8_t)(asked[l].cut - 128);
                steps[q] = (uint8_t)(m ? all[l] / unit : all[l]);
            }
        units[t] = unit;
    }
    for (t = 0; t <= e->n_tables; t++) starts[t] = (ptrdiff_t)e->table_starts[t];
    cells->tables.columns = columns;
    cells->tables.cuts = cuts;
    cells->tables.steps = steps;
    cells->tables.firsts = firsts;
    cells->tables.units = units;
    cells->tables.starts = starts;
    cells->tables.values = e->table_values;
    cells->tables.stride = (ptrdiff_t)stride;
    cells->tables.depth = (ptrdiff_t)depth;
    cells->tables.n_outputs = (ptrdiff_t)e->n_outputs;
    return 1;
}

static int rff_pack_cells(rff_model *model, rff_cells *cells)
{
    const rff_expansion *e = &model->expansion;
    const size_t n_all = e->n_tables * e->depth;
    rff_model memory = {0}; /* of this function alone */
    rff_question *questions = (rff_question *)rff_own(&memory, n_all, sizeof *questions);
    rff_question **order = (rff_question **)rff_own(&memory, n_all, sizeof *order);
    size_t k, n = 0;
    int done = questions && order;
    for (k = 0; done && k < n_all; k++) {
        questions[k].column = e->table_columns[k];
        questions[k].threshold = e->thresholds[k];
        if (e->thresholds[k] < DBL_MAX) order[n++] = questions + k;
    }
    if (done && n) qsort(order, n, sizeof *order, rff_compare_questions);
    done = done && rff_pack_edges(model, cells, order, n) && rff_pack_levels(model, cells, questions);
    rff_release_blocks(memory.blocks);
    return done;
}

#endif
