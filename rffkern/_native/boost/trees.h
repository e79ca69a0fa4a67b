/* Symmetric trees: every level splits all rows by one question, bin > threshold of one column; the answers
 * number a leaf.
 *
 * Indicators of the levels of a category are grown on together, as a bundle: a column whose bins are the levels, of
 * which one has a histogram in the time of one column, and which is split into a level and all others.
 *
 * Growth keeps the training rows sorted by leaf: the rows of a leaf lie together, so that its histograms stay in
 * the first cache, however many leaves there are.  Sums over rows are double, in an order that follows from the data.
 * Of many rows a level is done in parts, which threads share: strips of the rows of large leaves, and blocks of leaves
 * next to each other.  Sums of parts are added up in order, whatever threads there are.
 * Scores are sums of a value per tree; a row has the same bits alone and among others.
 */
#ifndef RFFKERN_TREES_H
#define RFFKERN_TREES_H

#include "packed_trees.h"

#define VT_WORD_COLUMNS 8    /* columns whose bins share a word */
#define VT_COARSE_BITS 6
#define VT_COARSE_PLACES 64  /* of a histogram where there are many candidates: a place is then one or more bins */
#define VT_FEW_CANDIDATES 5  /* candidates up to which each bin has a place */
#define VT_MAX_DEPTH 16
#define VT_KEPT_SUMS 262144  /* two megabytes */
#define VT_STRIP_ROWS 16384  /* of a strip at least; half as many rows are grown on as one part */
#define VT_MOST_BLOCKS 32
#define VT_MOST_STRIPS (2 * VT_MOST_BLOCKS)
#define VT_MIN_GAIN 1e-6     /* of the score: gains are compared in single precision, which resolves no less */

/* Some rows of a large leaf. */
typedef struct {
    ptrdiff_t leaf, start, stop;
    ptrdiff_t n_right;     /* of its rows */
    ptrdiff_t left, right; /* the first place of those that go left, and the last of those that go right */
} vt_strip;

/* The growth of one tree. */
typedef struct {
    const uint8_t *binned;        /* (any, stride) bins of columns */
    const float *gradient;        /* (n_outputs, stride), times weight */
    const float *hessian;         /* (n_outputs, stride), times weight */
    const ptrdiff_t *n_bins;      /* (any,) */
    const int8_t *signs;          /* (any,) 1 or -1 where values rise or fall with a column, 0 where they need not */
    const ptrdiff_t *indicators;  /* (any,) of a bundle the row of binned that indicates its bin 0, else -1 */
    const ptrdiff_t *candidates;  /* (n_candidates,) rows of binned */
    ptrdiff_t stride, n_rows, n_outputs, n_candidates, max_depth;
    double reg;
    double *store;                /* vt_store_size(...) */
    ptrdiff_t depth;              /* reached */
    double scale;                 /* a power of 2 by which H + reg of all rows, of the first output, is about 1 */
    double score;                 /* sum of G^2 / (H + reg) over the leaves that the last level split, and outputs */
    ptrdiff_t candidate, threshold; /* the split of the last level */
    ptrdiff_t n_blocks, n_strips;   /* of the step that comes next */
    double scores[VT_MOST_BLOCKS];
    float windows[VT_MOST_BLOCKS][VT_LANES]; /* gains of the thresholds around that of the split */
    vt_strip strips[VT_MOST_STRIPS];
} vt_growth;

/* Blocks at most: one, unless there are many rows. */
static inline ptrdiff_t vt_most_blocks(ptrdiff_t n_rows)
{
    return n_rows < 2 * VT_STRIP_ROWS ? 1 : VT_MOST_BLOCKS;
}

/* Rows of a strip.  Leaves of no more rows have no strips. */
static inline ptrdiff_t vt_strip_rows(ptrdiff_t n_rows)
{
    const ptrdiff_t share = (n_rows + VT_MOST_BLOCKS - 1) / VT_MOST_BLOCKS;
    if (vt_most_blocks(n_rows) == 1) return n_rows;
    return share > VT_STRIP_ROWS ? share : VT_STRIP_ROWS;
}

/* Strips at most whose histograms are built: of one of two leaves that were one, that of fewer rows. */
static inline ptrdiff_t vt_most_sums(ptrdiff_t n_rows)
{
    return vt_most_blocks(n_rows) == 1 ? 0 : (n_rows + vt_strip_rows(n_rows) - 1) / vt_strip_rows(n_rows);
}

/* Entries of the histogram of a candidate. */
static inline ptrdiff_t vt_places(ptrdiff_t n_candidates)
{
    return n_candidates > VT_FEW_CANDIDATES ? VT_COARSE_PLACES : VT_BINS;
}

/* The most leaves of a level whose histograms are kept: of two leaves that were one, the histogram of the larger is
   then a difference.  They take no more memory than a copy of the rows, or VT_KEPT_SUMS numbers. */
static inline ptrdiff_t vt_kept_leaves(ptrdiff_t n_rows, ptrdiff_t n_outputs, ptrdiff_t n_candidates, ptrdiff_t depth)
{
    const ptrdiff_t n_words = (n_candidates + VT_WORD_COLUMNS - 1) / VT_WORD_COLUMNS + n_outputs;
    const ptrdiff_t room = n_rows * n_words > VT_KEPT_SUMS ? n_rows * n_words : VT_KEPT_SUMS;
    ptrdiff_t n_leaves = 1;
    while (2 * n_leaves < (ptrdiff_t)1 << depth
           && 4 * vt_places(n_candidates) * n_leaves * n_outputs * n_candidates <= room)
        n_leaves *= 2;
    return n_leaves;
}

/* Doubles in the store of a growth; n_rows counts training rows. */
static inline ptrdiff_t vt_store_size(ptrdiff_t n_rows, ptrdiff_t n_outputs, ptrdiff_t n_candidates, ptrdiff_t depth)
{
    const ptrdiff_t n_words = (n_candidates + VT_WORD_COLUMNS - 1) / VT_WORD_COLUMNS + n_outputs;
    const ptrdiff_t n_leaves = vt_kept_leaves(n_rows, n_outputs, n_candidates, depth);
    return 8 + 2 * vt_places(n_candidates) * (n_leaves + vt_most_sums(n_rows)) * n_outputs * n_candidates
           + n_candidates * (vt_most_blocks(n_rows) * VT_BINS / 2 + 2) + 1 + 2 * n_words * n_rows
           + 3 * (((ptrdiff_t)1 << depth) + 1);
}

typedef struct {
    /* Begin with the training rows in one leaf, which blocks then lay out. */
    void (*begin)(vt_growth *growth);
    void (*lay_out)(vt_growth *growth, ptrdiff_t block);
    /* Of a level: the strips whose histograms are built first, then the gains of all splits, by blocks of leaves. */
    void (*plan_gains)(vt_growth *growth);
    void (*sum_strip)(vt_growth *growth, ptrdiff_t strip);
    void (*find_gains)(vt_growth *growth, ptrdiff_t block);
    /* Choose the split of the largest gain; 0 if none has a gain. */
    int (*choose_split)(vt_growth *growth);
    /* Where places stand for several bins: gains of the thresholds around that split, and the best of them.  Parts are
       strips, then blocks; else there are none. */
    void (*plan_windows)(vt_growth *growth);
    void (*add_windows)(vt_growth *growth, ptrdiff_t part);
    void (*refine_split)(vt_growth *growth);
    /* Move all rows to the leaves of the next level: strips once their rows are counted, and blocks. */
    void (*plan_moves)(vt_growth *growth);
    void (*count_right)(vt_growth *growth, ptrdiff_t strip);
    void (*place_strips)(vt_growth *growth);
    void (*move_rows)(vt_growth *growth, ptrdiff_t part);
    /* values[leaf * n_outputs + k] = G / (H + reg) of the leaves of a block; then the score of all. */
    void (*plan_values)(vt_growth *growth);
    void (*find_values)(vt_growth *growth, ptrdiff_t block, double *values);
    void (*finish)(vt_growth *growth);
    /* leaves[i] = the number of the leaf of each of `width` rows of binned[column * stride + i]; width is at most
       VT_TILE. */
    void (*number_leaves)(const uint8_t *binned, ptrdiff_t stride, ptrdiff_t width, const ptrdiff_t *columns,
                          const ptrdiff_t *thresholds, ptrdiff_t depth, uint16_t *leaves);
    /* sums[2 * leaf] += gradient of the rows of each leaf, sums[2 * leaf + 1] += hessian, row after row. */
    void (*sum_leaves)(const uint16_t *leaves, ptrdiff_t n_rows, const float *gradient, const float *hessian,
                       double *sums);
    /* out[k * stride + i] = values[leaf * n_outputs + k] for `width` rows of binned[column * stride + i]; width is at
       most VT_TILE. */
    void (*look_up)(const uint8_t *binned, ptrdiff_t stride, ptrdiff_t width, const ptrdiff_t *columns,
                    const ptrdiff_t *thresholds, ptrdiff_t depth, const double *values, ptrdiff_t n_outputs,
                    float *out);
    /* binned[i] = the number of edges below x[i * step], less 128; n_edges = 2^k - 1 < VT_BINS, in ascending order. */
    void (*bin_f32)(const float *x, ptrdiff_t step, ptrdiff_t n_rows, const float *edges, ptrdiff_t n_edges,
                     int8_t *binned);
    void (*bin_f64)(const double *x, ptrdiff_t step, ptrdiff_t n_rows, const double *edges, ptrdiff_t n_edges,
                     int8_t *binned);
    /* out[i * n_outputs + k] += values of the leaves of the rows of a tile in the trees from `first`, a multiple of
       VT_SUMMED, to `stop`; binned[column * VT_TILE + i], all of the tile, and i < n_rows for `out`.  Values of
       VT_SUMMED trees are added up in double, and these sums to the score, one after the other. */
    void (*score)(const vt_trees *trees, ptrdiff_t first, ptrdiff_t stop, const int8_t *binned, ptrdiff_t n_rows,
                  double *out);
    /* The same for one row, binned[column], which may be read up to VT_TILE; `first` is a multiple of VT_TREE_BLOCK. */
    void (*score_row)(const vt_trees *trees, ptrdiff_t first, ptrdiff_t stop, const int8_t *binned, double *out);
} vm_trees_table;

extern const vm_trees_table vm_trees_baseline;
#ifdef VM_HAVE_LEVELS
extern const vm_trees_table vm_trees_v3, vm_trees_v4;
#endif

static inline const vm_trees_table *vm_table_trees(int level)
{
#ifdef VM_HAVE_LEVELS
    /* Level v2 has nothing that these functions would use. */
    static const vm_trees_table *const tables[] = {&vm_trees_baseline, &vm_trees_baseline, &vm_trees_v3, &vm_trees_v4};
    return tables[level];
#else
    (void)level;
    return &vm_trees_baseline;
#endif
}

#endif
