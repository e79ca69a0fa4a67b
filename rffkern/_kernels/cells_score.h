/* Scores of tables in one precision: REAL, and CELL, an integer of its size.  Included by cells.c only. */

#define VECTOR EXPAND2(vector, SUFFIX)
#define CELLS EXPAND2(cells, SUFFIX)
typedef REAL VECTOR VECTOR_OF(REAL);
typedef CELL CELLS VECTOR_OF(CELL);
#define WIDE (SPAN * sizeof(REAL) / sizeof(VECTOR)) /* vectors of SPAN rows */

/* cells[i] = the cell of row i, i < n_vectors vectors, at most WIDE. */
static ALWAYS_INLINE void EXPAND2(find_cells, SUFFIX)(const REAL *tile, ptrdiff_t stride, const int32_t *columns,
                                                      const REAL *thresholds, ptrdiff_t depth, CELL *cells,
                                                      const size_t n_vectors)
{
    CELLS found[WIDE] = {0};
    ptrdiff_t level;
    size_t v;
    for (level = 0; level < depth; level++) {
        const VECTOR *x = (const VECTOR *)(tile + columns[level] * stride);
        const REAL threshold = thresholds[level];
        const CELL bit = (CELL)1 << level;
        for (v = 0; v < n_vectors; v++) found[v] |= ABOVE(x[v], threshold) & bit;
    }
    for (v = 0; v < n_vectors; v++) ((CELLS *)cells)[v] = found[v];
}

/* sums[i] += values[cells[i] * n_outputs] for some rows, a multiple of VC_LANES. */
static ALWAYS_INLINE void EXPAND2(add_values, SUFFIX)(const CELL *cells, ptrdiff_t width, const REAL *values,
                                                      ptrdiff_t depth, ptrdiff_t n_outputs, REAL *restrict sums)
{
    ptrdiff_t i;
#ifdef MOST_PERMUTED
    if (sizeof(REAL) == 4 && depth <= MOST_PERMUTED && n_outputs == 1) {
        for (i = 0; i < width; i += VC_LANES) {
            const __m512 found = permuted((const float *)values, depth, _mm512_loadu_si512(cells + i));
            _mm512_storeu_ps(sums + i, _mm512_add_ps(_mm512_loadu_ps(sums + i), found));
        }
        return;
    }
#endif
    (void)depth;
    for (i = 0; i < width; i++) {
        ptrdiff_t cell = cells[i] * n_outputs;
        ONE_BY_ONE(cell);
        sums[i] += values[cell];
    }
}

/* sums[k * VC_TILE + i] = sum of values over n_tables, one after the other. */
static inline void EXPAND2(add_tables, SUFFIX)(const REAL *tile, ptrdiff_t stride, ptrdiff_t width,
                                               const int32_t *columns, const REAL *thresholds, ptrdiff_t depth,
                                               const REAL *values, ptrdiff_t n_outputs, ptrdiff_t n_tables,
                                               REAL *restrict sums)
{
    CELL cells[VC_TILE];
    ptrdiff_t t, i, k;
    for (k = 0; k < n_outputs; k++) memset(sums + k * VC_TILE, 0, width * sizeof *sums);
    for (t = 0; t < n_tables; t++, columns += depth, thresholds += depth, values += n_outputs << depth) {
        for (i = 0; i + SPAN <= width; i += SPAN)
            EXPAND2(find_cells, SUFFIX)(tile + i, stride, columns, thresholds, depth, cells + i, WIDE);
        for (; i < width; i += VC_LANES)
            EXPAND2(find_cells, SUFFIX)(tile + i, stride, columns, thresholds, depth, cells + i, WIDE * VC_LANES / SPAN);
        if (n_outputs == 1) EXPAND2(add_values, SUFFIX)(cells, width, values, depth, 1, sums);
        else
            for (k = 0; k < n_outputs; k++)
                EXPAND2(add_values, SUFFIX)(cells, width, values + k, depth, n_outputs, sums + k * VC_TILE);
    }
}

static void EXPAND2(score, SUFFIX)(const REAL *tile, ptrdiff_t stride, ptrdiff_t width, const int32_t *columns,
                                   const REAL *thresholds, ptrdiff_t depth, const REAL *values, ptrdiff_t n_outputs,
                                   ptrdiff_t n_tables, REAL *restrict sums, ptrdiff_t n_rows, double *restrict out)
{
    ptrdiff_t t, i, k;
    for (t = 0; t < n_tables; t += VC_TABLES) {
        EXPAND2(add_tables, SUFFIX)(tile, stride, width, columns + t * depth, thresholds + t * depth, depth,
                                    values + (t * n_outputs << depth), n_outputs,
                                    n_tables - t < VC_TABLES ? n_tables - t : VC_TABLES, sums);
        if (n_outputs == 1)
            for (i = 0; i < n_rows; i++) out[i] += sums[i];
        else
            for (k = 0; k < n_outputs; k++)
                for (i = 0; i < n_rows; i++) out[i * n_outputs + k] += sums[k * VC_TILE + i];
    }
}

/* The answers of one row to some questions, as bits. */
static inline void EXPAND2(answer, SUFFIX)(const REAL *row, const int32_t *columns, const REAL *thresholds,
                                           ptrdiff_t size, uint8_t *bits)
{
    ptrdiff_t i;
    int j;
    for (i = 0; i + 8 <= size; i += 8) {
        uint32_t eight = 0;
        for (j = 0; j < 8; j++) eight |= (uint32_t)(row[columns[i + j]] > thresholds[i + j]) << j;
        bits[i / 8] = (uint8_t)eight;
    }
    bits[i / 8] = 0;
    for (j = 0; i < size; i++, j++) bits[i / 8] |= (uint8_t)((row[columns[i]] > thresholds[i]) << j);
}

/* Sum of values[t, cell, 0] over tables, one after the other. */
static ALWAYS_INLINE REAL EXPAND2(sum_row, SUFFIX)(const uint8_t *bits, ptrdiff_t depth, const REAL *values,
                                                   ptrdiff_t n_outputs, ptrdiff_t n_tables)
{
    const uint32_t all = ((uint32_t)1 << depth) - 1;
    ptrdiff_t t;
    REAL sum = 0;
    for (t = 0; t < n_tables; t++, values += n_outputs << depth) {
        uint32_t word;
        memcpy(&word, bits + t * depth / 8, 4);
        sum += values[(ptrdiff_t)(word >> t * depth % 8 & all) * n_outputs];
    }
    return sum;
}

static void EXPAND2(score_row, SUFFIX)(const REAL *row, const int32_t *columns, const REAL *thresholds, ptrdiff_t depth,
                                       const REAL *values, ptrdiff_t n_outputs, ptrdiff_t n_tables, double *out)
{
    uint8_t bits[VC_TABLES * VC_MAX_DEPTH / 8 + 4];
    ptrdiff_t first, k;
    for (first = 0; first < n_tables; first += VC_TABLES) {
        const ptrdiff_t some = n_tables - first < VC_TABLES ? n_tables - first : VC_TABLES;
        EXPAND2(answer, SUFFIX)(row, columns + first * depth, thresholds + first * depth, some * depth, bits);
        for (k = 0; k < n_outputs; k++)
            out[k] += EXPAND2(sum_row, SUFFIX)(bits, depth, values + (first * n_outputs << depth) + k, n_outputs, some);
    }
}

#undef VECTOR
#undef CELLS
#undef WIDE
