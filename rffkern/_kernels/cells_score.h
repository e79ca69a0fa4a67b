/* Scores of tables in one precision: REAL, and CELL, an integer of its size.  Included by cells.c only. */

/* sums[k * VC_TILE + i] = sum of values over n_tables, one after the other, as `add_row_tables` sums them. */
static inline void EXPAND2(add_tables, SUFFIX)(const REAL *tile, ptrdiff_t stride, ptrdiff_t width,
                                               const int32_t *columns, const REAL *thresholds, ptrdiff_t depth,
                                               const REAL *values, ptrdiff_t n_outputs, ptrdiff_t n_tables,
                                               REAL *restrict sums)
{
    CELL cells[VC_TILE];
    ptrdiff_t t, i, k, level;
    for (k = 0; k < n_outputs; k++)
        for (i = 0; i < width; i++) sums[k * VC_TILE + i] = 0;
    for (t = 0; t < n_tables; t++, columns += depth, thresholds += depth, values += n_outputs << depth) {
        for (i = 0; i < width; i++) cells[i] = 0;
        for (level = 0; level < depth; level++) {
            const REAL *restrict column = tile + columns[level] * stride;
            const REAL threshold = thresholds[level];
            const CELL bit = (CELL)1 << level;
#pragma omp simd
            for (i = 0; i < width; i++) cells[i] |= column[i] > threshold ? bit : 0;
        }
        for (k = 0; k < n_outputs; k++)
            for (i = 0; i < width; i++) sums[k * VC_TILE + i] += values[cells[i] * n_outputs + k];
    }
}

static void EXPAND2(score, SUFFIX)(const REAL *tile, ptrdiff_t stride, ptrdiff_t width, const int32_t *columns,
                                   const REAL *thresholds, ptrdiff_t depth, const REAL *values, ptrdiff_t n_outputs,
                                   ptrdiff_t n_tables, REAL *sums, ptrdiff_t n_rows, double *out)
{
    ptrdiff_t t, i, k;
    for (t = 0; t < n_tables; t += VC_TABLES) {
        EXPAND2(add_tables, SUFFIX)(tile, stride, width, columns + t * depth, thresholds + t * depth, depth,
                                    values + (t * n_outputs << depth), n_outputs,
                                    n_tables - t < VC_TABLES ? n_tables - t : VC_TABLES, sums);
        for (k = 0; k < n_outputs; k++)
            for (i = 0; i < n_rows; i++) out[i * n_outputs + k] += sums[k * VC_TILE + i];
    }
}

static void EXPAND2(score_row, SUFFIX)(const REAL *row, const int32_t *columns, const REAL *thresholds, ptrdiff_t depth,
                                       const REAL *values, ptrdiff_t n_outputs, ptrdiff_t n_tables, REAL *sums,
                                       double *out)
{
    ptrdiff_t t, k, level;
    for (k = 0; k < n_outputs; k++) sums[k] = 0;
    for (t = 0; t < n_tables; t++, columns += depth, thresholds += depth, values += n_outputs << depth) {
        ptrdiff_t cell = 0;
        for (level = 0; level < depth; level++) cell |= (ptrdiff_t)(row[columns[level]] > thresholds[level]) << level;
        for (k = 0; k < n_outputs; k++) sums[k] += values[cell * n_outputs + k];
        if (t % VC_TABLES == VC_TABLES - 1 || t == n_tables - 1)
            for (k = 0; k < n_outputs; k++) {
                out[k] += sums[k];
                sums[k] = 0;
            }
    }
}
