/* Symmetric tables as they are scored: by the package, and by rffscore.c. */
#ifndef RFFKERN_CELLS_TABLES_H
#define RFFKERN_CELLS_TABLES_H

#include <stddef.h>
#include <stdint.h>

#define VC_TILE 128      /* rows of a tile, as VM_TILE */
#define VC_LANES 16      /* widths are multiples */
#define VC_CODES 256
#define VC_TABLES 4      /* whose values are added up before they are added to a score */
#define VC_SCORED 12     /* depth of tables that are scored, at most: the parts of the number of a cell are bytes */
#define VC_CHUNK 64      /* tables are packed in multiples */
#define VC_PARTS 2       /* of the number of a cell, a byte each */

/* Tables as they are scored.  Levels lie `stride` tables apart, a multiple of VC_CHUNK.  A question is whether the code
   of a column of a row is above the cut.  The number of a cell is the sum of the steps of the first levels whose answer
   is yes, plus `unit` times that sum over the other levels. */
typedef struct {
    const int32_t *columns;   /* (depth, stride) */
    const int8_t *cuts;       /* (depth, stride) */
    const uint8_t *steps;     /* (depth, stride) */
    const uint8_t *firsts;    /* (stride,) how many levels are the first ones */
    const int32_t *units;     /* (stride,) */
    const ptrdiff_t *starts;  /* (n_tables + 1,) the first cell of each table among those of all */
    const float *values;      /* (n_cells, n_outputs) */
    ptrdiff_t stride, depth, n_outputs, n_columns;
} vc_tables;

#endif
