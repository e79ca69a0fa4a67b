/* Symmetric trees as they are scored: by the package, and by rffscore.c. */
#ifndef RFFKERN_PACKED_TREES_H
#define RFFKERN_PACKED_TREES_H

#include <stddef.h>
#include <stdint.h>

#define VT_TILE 128            /* rows of a tile, as VM_TILE */
#define VT_LANES 16            /* widths are multiples */
#define VT_BINS 256
#define VT_SUMMED 4            /* trees whose values are added up before they are added to a score */
#define VT_MAX_SCORED_DEPTH 12 /* at most: the parts of the number of a leaf are bytes */
#define VT_TREE_BLOCK 64       /* trees are packed in multiples */
#define VT_INDEX_PARTS 2       /* of the number of a leaf, a byte each */

/* Trees as they are scored.  Levels lie `stride` trees apart, a multiple of VT_TREE_BLOCK.  A row goes right
   at a level if the bin of its column is above the threshold.  The number of a leaf is the sum of the steps of the
   first levels at which the row goes right, plus `unit` times that sum over the other levels. */
typedef struct {
    const int32_t *columns;   /* (depth, stride) */
    const int8_t *thresholds; /* (depth, stride) */
    const uint8_t *steps;     /* (depth, stride) */
    const uint8_t *firsts;    /* (stride,) how many levels are the first ones */
    const int32_t *units;     /* (stride,) */
    const ptrdiff_t *starts;  /* (n_trees + 1,) the first leaf of each tree among those of all */
    const float *values;      /* (n_leaves, n_outputs) */
    ptrdiff_t stride, depth, n_outputs, n_columns;
} vt_trees;

#endif
