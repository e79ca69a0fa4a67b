/* Symmetric tables: every level asks all rows one question, code > cut of one column; the answers number a cell.
 *
 * Growth keeps the training rows sorted by cell: the rows of a cell lie together, so that its sums over codes stay in
 * the first cache, however many cells there are.  Sums over rows are double, in an order that follows from the data.
 * Scores are sums of a value per table; a row has the same bits alone and among others.
 */
#ifndef RFFKERN_CELLS_H
#define RFFKERN_CELLS_H

#include "cells_tables.h"

#define VC_GROUP 8       /* columns whose codes share a word */
#define VC_FEW_BITS 6
#define VC_FEW_PLACES 64 /* for whose sums codes stand together where there are many candidates */
#define VC_FEW 5         /* candidates up to which each code has a place */
#define VC_MAX_DEPTH 16
#define VC_KEPT 262144   /* two megabytes */
#define VC_FLOOR 1e-6    /* of the score: gains are compared in single precision, which resolves no less */

/* The growth of one table. */
typedef struct {
    const uint8_t *codes;         /* (any, stride) */
    const float *gradient;        /* (n_outputs, stride), times weight */
    const float *hessian;         /* (n_outputs, stride), times weight */
    const ptrdiff_t *n_bins;      /* (any,) */
    const ptrdiff_t *candidates;  /* (n_candidates,) rows of codes */
    ptrdiff_t stride, n_rows, n_outputs, n_candidates, max_depth;
    double reg;
    double *store;                /* vc_store_size(...) */
    ptrdiff_t depth;              /* reached */
    double scale;                 /* a power of 2 by which H + reg of all rows, of the first output, is about 1 */
    double score;                 /* sum of G^2 / (H + reg) over the cells that the last level divided, and outputs */
    ptrdiff_t candidate, cut;     /* the question of the last level */
} vc_growth;

/* Sums over codes of a candidate. */
static inline ptrdiff_t vc_places(ptrdiff_t n_candidates)
{
    return n_candidates > VC_FEW ? VC_FEW_PLACES : VC_CODES;
}

/* The most cells of a level whose sums over codes are kept: of two cells that were one, the sums of the larger are then
   a difference.  They take no more memory than a copy of the rows, or VC_KEPT numbers. */
static inline ptrdiff_t vc_kept_cells(ptrdiff_t n_rows, ptrdiff_t n_outputs, ptrdiff_t n_candidates, ptrdiff_t depth)
{
    const ptrdiff_t n_words = (n_candidates + VC_GROUP - 1) / VC_GROUP + n_outputs;
    const ptrdiff_t room = n_rows * n_words > VC_KEPT ? n_rows * n_words : VC_KEPT;
    ptrdiff_t n_cells = 1;
    while (2 * n_cells < (ptrdiff_t)1 << depth && 4 * vc_places(n_candidates) * n_cells * n_outputs * n_candidates <= room) n_cells *= 2;
    return n_cells;
}

/* Doubles in the store of a growth; n_rows counts training rows. */
static inline ptrdiff_t vc_store_size(ptrdiff_t n_rows, ptrdiff_t n_outputs, ptrdiff_t n_candidates, ptrdiff_t depth)
{
    const ptrdiff_t n_words = (n_candidates + VC_GROUP - 1) / VC_GROUP + n_outputs;
    const ptrdiff_t n_cells = vc_kept_cells(n_rows, n_outputs, n_candidates, depth);
    return 8 + 2 * vc_places(n_candidates) * n_cells * n_outputs * n_candidates + n_candidates * (VC_CODES / 2 + 1)
           + 2 * n_words * n_rows + 3 * (((ptrdiff_t)1 << depth) + 1);
}

typedef struct {
    /* Lay out the training rows, in one cell. */
    void (*begin)(vc_growth *growth);
    /* Divide all cells by the question of the largest gain; 0 if none has a gain. */
    int (*divide)(vc_growth *growth);
    /* values[cell * n_outputs + k] = G / (H + reg) of the cells; sets the score of these. */
    void (*finish)(vc_growth *growth, double *values);
    /* out[k * stride + i] = values[cell * n_outputs + k] for `width` rows of codes[column * stride + i]; width is at
       most VC_TILE. */
    void (*look_up)(const uint8_t *codes, ptrdiff_t stride, ptrdiff_t width, const ptrdiff_t *columns,
                    const ptrdiff_t *cuts, ptrdiff_t depth, const double *values, ptrdiff_t n_outputs, float *out);
    /* codes[i] = the number of edges below x[i * step], less 128; n_edges = 2^k - 1 < VC_CODES, in ascending order. */
    void (*code_f32)(const float *x, ptrdiff_t step, ptrdiff_t n_rows, const float *edges, ptrdiff_t n_edges,
                     int8_t *codes);
    void (*code_f64)(const double *x, ptrdiff_t step, ptrdiff_t n_rows, const double *edges, ptrdiff_t n_edges,
                     int8_t *codes);
    /* out[i * n_outputs + k] += values of the cells of the rows of a tile in the tables from `first`, a multiple of
       VC_TABLES, to `stop`; codes[column * VC_TILE + i], all of the tile, and i < n_rows for `out`.  Values of VC_TABLES
       tables are added up in double, and these sums to the score, one after the other. */
    void (*score)(const vc_tables *tables, ptrdiff_t first, ptrdiff_t stop, const int8_t *codes, ptrdiff_t n_rows,
                  double *out);
    /* The same for one row, codes[column], which may be read up to VC_TILE; `first` is a multiple of VC_CHUNK. */
    void (*score_row)(const vc_tables *tables, ptrdiff_t first, ptrdiff_t stop, const int8_t *codes, double *out);
} vm_cells_table;

extern const vm_cells_table vm_cells_baseline;
#ifdef VM_HAVE_LEVELS
extern const vm_cells_table vm_cells_v3, vm_cells_v4;
#endif

static inline const vm_cells_table *vm_table_cells(int level)
{
#ifdef VM_HAVE_LEVELS
    /* Level v2 has nothing that these functions would use. */
    static const vm_cells_table *const tables[] = {&vm_cells_baseline, &vm_cells_baseline, &vm_cells_v3, &vm_cells_v4};
    return tables[level];
#else
    (void)level;
    return &vm_cells_baseline;
#endif
}

#endif
