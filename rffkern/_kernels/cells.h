/* Symmetric tables: every level asks all rows one question, code > cut of one column; the answers number a cell.
 *
 * Growth keeps the training rows sorted by cell: the rows of a cell lie together, so that its sums over codes stay in
 * the first cache, however many cells there are.  Sums over rows are double, in an order that follows from the data.
 * Scores are sums of a value per table; a row has the same bits alone and among others.
 */
#ifndef RFFKERN_CELLS_H
#define RFFKERN_CELLS_H

#include <stddef.h>
#include <stdint.h>

#define VC_TILE 128      /* rows of a tile, as VM_TILE */
#define VC_LANES 16      /* widths are multiples */
#define VC_CODES 256
#define VC_GROUP 8       /* columns whose codes share a word */
#define VC_FEW_BITS 6
#define VC_FEW_PLACES 64 /* for whose sums codes stand together where there are many candidates */
#define VC_FEW 5         /* candidates up to which each code has a place */
#define VC_MAX_DEPTH 16
#define VC_TABLES 32     /* whose values are summed in REAL before they are added to a double */
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
    /* Whether all are at least 0 and below `stop`. */
    int (*are_columns)(const int32_t *columns, ptrdiff_t size, ptrdiff_t stop);
    /* out[i * n_outputs + k] += sum over tables of values[t, cell, k], i < n_rows, for the rows of a tile: column j is
       tile[j * stride + i], i < width.  sums: TEMP (n_outputs * VC_TILE,) */
    void (*score_f32)(const float *tile, ptrdiff_t stride, ptrdiff_t width, const int32_t *columns,
                      const float *thresholds, ptrdiff_t depth, const float *values, ptrdiff_t n_outputs,
                      ptrdiff_t n_tables, float *sums, ptrdiff_t n_rows, double *out);
    void (*score_f64)(const double *tile, ptrdiff_t stride, ptrdiff_t width, const int32_t *columns,
                      const double *thresholds, ptrdiff_t depth, const double *values, ptrdiff_t n_outputs,
                      ptrdiff_t n_tables, double *sums, ptrdiff_t n_rows, double *out);
    /* The same for one row, whose columns lie together. */
    void (*score_row_f32)(const float *row, const int32_t *columns, const float *thresholds, ptrdiff_t depth,
                          const float *values, ptrdiff_t n_outputs, ptrdiff_t n_tables, double *out);
    void (*score_row_f64)(const double *row, const int32_t *columns, const double *thresholds, ptrdiff_t depth,
                          const double *values, ptrdiff_t n_outputs, ptrdiff_t n_tables, double *out);
} vm_cells_table;

extern const vm_cells_table vm_cells_baseline;
#ifdef VM_HAVE_LEVELS
extern const vm_cells_table vm_cells_v3, vm_cells_v4;
#endif

/* Cython puts a number before the C name of an external function of a fused type: 0 for float, 1 for double. */
#define __pyx_fuse_0vm_score_tile vm_cells->score_f32
#define __pyx_fuse_1vm_score_tile vm_cells->score_f64
#define __pyx_fuse_0vm_score_row vm_cells->score_row_f32
#define __pyx_fuse_1vm_score_row vm_cells->score_row_f64

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
