/* Scores of symmetric tables at one instruction-set level: by the package, and by rffscore.c.
 *
 * Included once for each level, without an include guard.
 */
#include "cells_tables.h"
#include "vectors.h"

#undef CELLS
#define CELLS(name) EXPAND2(name, VM_LEVEL)

typedef int8_t CELLS(answers) VECTOR_OF(int8_t);
typedef uint8_t CELLS(counts) VECTOR_OF(uint8_t);
#undef WIDE
#define WIDE (VC_TILE / sizeof(CELLS(answers)))

/* The number of edges of a column that each of some rows is above, less 128.  There are 2^k - 1 edges, in order. */
#undef CODE_COLUMN
#define CODE_COLUMN(REAL, SUFFIX) \
    static void EXPAND3(code, SUFFIX, VM_LEVEL)(const REAL *x, ptrdiff_t step, ptrdiff_t n_rows, const REAL *edges, \
                                                ptrdiff_t n_edges, int8_t *restrict codes) \
    { \
        int32_t place[VC_LANES]; \
        REAL row[VC_LANES]; \
        ptrdiff_t first, i; \
        int32_t half; \
        for (first = 0; first < n_rows; first += VC_LANES) { \
            const ptrdiff_t some = n_rows - first < VC_LANES ? n_rows - first : VC_LANES; \
            for (i = 0; i < some; i++) row[i] = x[(first + i) * step]; \
            for (; i < VC_LANES; i++) row[i] = row[0]; \
            for (i = 0; i < VC_LANES; i++) place[i] = 0; \
            for (half = (int32_t)(n_edges + 1) / 2; half > 0; half /= 2) \
                for (i = 0; i < VC_LANES; i++) place[i] += row[i] > edges[place[i] + half - 1] ? half : 0; \
            for (i = 0; i < some; i++) codes[first + i] = (int8_t)(place[i] - 128); \
        } \
    }
CODE_COLUMN(float, f32)
CODE_COLUMN(double, f64)

/* part[i] = sum of the steps of the levels from `level` to `stop` whose question the row answers with yes. */
static ALWAYS_INLINE void CELLS(add_steps)(const vc_tables *tables, ptrdiff_t t, ptrdiff_t level, ptrdiff_t stop,
                                           const int8_t *codes, uint8_t *part)
{
    CELLS(counts) found[WIDE] = {0};
    size_t v;
    for (; level < stop; level++) {
        const ptrdiff_t q = level * tables->stride + t;
        const CELLS(answers) *x = (const CELLS(answers) *)(codes + tables->columns[q] * VC_TILE);
        const int8_t cut = tables->cuts[q];
        const uint8_t step = tables->steps[q];
        UNROLLED
        for (v = 0; v < WIDE; v++) found[v] += (CELLS(counts))ABOVE(x[v], cut) & step;
    }
    UNROLLED
    for (v = 0; v < WIDE; v++) ((CELLS(counts) *)part)[v] = found[v];
}

/* cells[i] = the cell of each row of a tile. */
static void CELLS(find_cells)(const vc_tables *tables, ptrdiff_t t, const int8_t *codes,
                              uint16_t *restrict cells)
{
    uint8_t parts[VC_PARTS][VC_TILE];
    const ptrdiff_t n_first = tables->firsts[t];
    const uint16_t unit = (uint16_t)tables->units[t];
    int i;
    CELLS(add_steps)(tables, t, 0, n_first, codes, parts[0]);
    if (n_first < tables->depth) {
        CELLS(add_steps)(tables, t, n_first, tables->depth, codes, parts[1]);
#pragma omp simd
        for (i = 0; i < VC_TILE; i++) cells[i] = (uint16_t)(parts[0][i] + unit * parts[1][i]);
    } else
#pragma omp simd
        for (i = 0; i < VC_TILE; i++) cells[i] = parts[0][i];
}

#undef MOST_PERMUTED
#if VM_AVX512
#include <immintrin.h>
#define MOST_PERMUTED 256
#undef WRITTEN_OUT
#define WRITTEN_OUT _Pragma("GCC unroll 16")

/* found[i] = values[cells[i]] of up to 32 n_pairs values, in registers: several times as fast as reads from memory. */
static ALWAYS_INLINE void CELLS(permute)(const float *values, ptrdiff_t n_cells, const uint16_t *cells,
                                         ptrdiff_t n_rows, float *restrict found, const int n_pairs)
{
    __m512 held[MOST_PERMUTED / 16];
    ptrdiff_t i;
    int v;
    WRITTEN_OUT
    for (v = 0; v < 2 * n_pairs; v++) {
        const ptrdiff_t left = n_cells - 16 * v;
        held[v] = _mm512_maskz_loadu_ps(left >= 16 ? 0xffff : left > 0 ? (__mmask16)((1u << left) - 1) : 0,
                                        values + 16 * v);
    }
    for (i = 0; i < n_rows; i += 16) {
        const __m512i cell = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(cells + i)));
        const __m512i pair = _mm512_srli_epi32(cell, 5);
        __m512 all = _mm512_permutex2var_ps(held[0], cell, held[1]);
        WRITTEN_OUT
        for (v = 1; v < n_pairs; v++)
            all = _mm512_mask_mov_ps(all, _mm512_cmpeq_epi32_mask(pair, _mm512_set1_epi32(v)),
                                     _mm512_permutex2var_ps(held[2 * v], cell, held[2 * v + 1]));
        _mm512_storeu_ps(found + i, all);
    }
}
#endif

/* found[i] = values[cells[i] * n_outputs], of n_cells. */
static ALWAYS_INLINE void CELLS(take)(const float *values, ptrdiff_t n_outputs, ptrdiff_t n_cells,
                                      const uint16_t *cells, ptrdiff_t n_rows, float *restrict found)
{
    ptrdiff_t i;
#ifdef MOST_PERMUTED
    if (n_outputs == 1 && n_cells <= MOST_PERMUTED) {
        if (n_cells <= 32) CELLS(permute)(values, n_cells, cells, n_rows, found, 1);
        else if (n_cells <= 128) CELLS(permute)(values, n_cells, cells, n_rows, found, 4);
        else CELLS(permute)(values, n_cells, cells, n_rows, found, 8);
        return;
    }
#endif
    (void)n_cells;
    UNROLLED
    for (i = 0; i < n_rows; i++) {
        ptrdiff_t cell = cells[i] * n_outputs;
        ONE_BY_ONE(cell);
        found[i] = values[cell];
    }
}

/* Adds the values of VC_TABLES tables to `out` in the one order that all functions keep to. */
static ALWAYS_INLINE double CELLS(sum_of)(float a, float b, float c, float d)
{
    return ((double)a + b) + ((double)c + d);
}

static void CELLS(score)(const vc_tables *tables, ptrdiff_t first, ptrdiff_t stop, const int8_t *codes,
                         ptrdiff_t n_rows, double *restrict out)
{
    uint16_t cells[VC_TABLES][VC_TILE];
    float found[VC_TABLES][VC_TILE];
    const ptrdiff_t n_outputs = tables->n_outputs;
    ptrdiff_t t, i, k, g;
    for (t = first; t < stop; t += VC_TABLES) {
        const ptrdiff_t some = stop - t < VC_TABLES ? stop - t : VC_TABLES;
        if (some < VC_TABLES) memset(found, 0, sizeof found);
        for (g = 0; g < some; g++) CELLS(find_cells)(tables, t + g, codes, cells[g]);
        for (k = 0; k < n_outputs; k++) {
            for (g = 0; g < some; g++)
                CELLS(take)(tables->values + tables->starts[t + g] * n_outputs + k, n_outputs,
                            tables->starts[t + g + 1] - tables->starts[t + g], cells[g], n_rows, found[g]);
            if (n_outputs == 1)
#pragma omp simd
                for (i = 0; i < n_rows; i++)
                    out[i] += CELLS(sum_of)(found[0][i], found[1][i], found[2][i], found[3][i]);
            else
                for (i = 0; i < n_rows; i++)
                    out[i * n_outputs + k] += CELLS(sum_of)(found[0][i], found[1][i], found[2][i], found[3][i]);
        }
    }
}

/* row[j] = codes[columns[j]] for a chunk of tables. */
static ALWAYS_INLINE void CELLS(fetch)(const vc_tables *tables, const int32_t *columns, const int8_t *codes,
                                       int8_t *restrict row)
{
    int j;
#ifdef MOST_PERMUTED
    if (tables->n_columns <= 64) { /* all codes in two registers */
        const __m512i low = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)codes));
        const __m512i high = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(codes + 32)));
        for (j = 0; j < VC_CHUNK; j += 32) {
            const __m256i even = _mm512_cvtepi32_epi16(_mm512_loadu_si512(columns + j));
            const __m256i odd = _mm512_cvtepi32_epi16(_mm512_loadu_si512(columns + j + 16));
            const __m512i places = _mm512_inserti64x4(_mm512_castsi256_si512(even), odd, 1);
            _mm256_storeu_si256((__m256i *)(row + j),
                                _mm512_cvtepi16_epi8(_mm512_permutex2var_epi16(low, places, high)));
        }
        return;
    }
#endif
    (void)tables;
    for (j = 0; j < VC_CHUNK; j++) row[j] = codes[columns[j]];
}

/* cells[j] = the cell of one row in VC_CHUNK tables from t on. */
static void CELLS(find_cells_of_row)(const vc_tables *tables, ptrdiff_t t, const int8_t *codes,
                                     uint16_t *restrict cells)
{
    int8_t row[VC_CHUNK];
    CELLS(counts) parts[VC_PARTS][VC_CHUNK / sizeof(CELLS(counts))];
    const CELLS(answers) *firsts = (const CELLS(answers) *)(tables->firsts + t);
    ptrdiff_t level;
    size_t v;
    int j;
    memset(parts, 0, sizeof parts);
    for (level = 0; level < tables->depth; level++) {
        const ptrdiff_t q = level * tables->stride + t;
        const CELLS(answers) *x = (const CELLS(answers) *)row, *cuts = (const CELLS(answers) *)(tables->cuts + q);
        const CELLS(counts) *steps = (const CELLS(counts) *)(tables->steps + q);
        CELLS(fetch)(tables, tables->columns + q, codes, row);
        UNROLLED
        for (v = 0; v < VC_CHUNK / sizeof(CELLS(counts)); v++) {
            const CELLS(counts) step = (CELLS(counts))ABOVE(x[v], cuts[v]) & steps[v];
            const CELLS(counts) low = (CELLS(counts))ABOVE(firsts[v], (int8_t)level) & step;
            parts[0][v] += low;
            parts[1][v] += step - low;
        }
    }
    for (j = 0; j < VC_CHUNK; j++)
        cells[j] = (uint16_t)(((uint8_t *)parts[0])[j] + tables->units[t + j] * ((uint8_t *)parts[1])[j]);
}

static void CELLS(score_row)(const vc_tables *tables, ptrdiff_t first, ptrdiff_t stop, const int8_t *codes, double *out)
{
    uint16_t cells[VC_CHUNK];
    const ptrdiff_t n_outputs = tables->n_outputs;
    ptrdiff_t t, k, j, g;
    for (t = first; t < stop; t += VC_CHUNK) {
        const ptrdiff_t some = stop - t < VC_CHUNK ? stop - t : VC_CHUNK;
        CELLS(find_cells_of_row)(tables, t, codes, cells);
        for (j = 0; n_outputs == 1 && j + VC_TABLES <= some; j += VC_TABLES) {
            const ptrdiff_t *starts = tables->starts + t + j;
            const float *values = tables->values;
            *out += CELLS(sum_of)(values[starts[0] + cells[j]], values[starts[1] + cells[j + 1]],
                                  values[starts[2] + cells[j + 2]], values[starts[3] + cells[j + 3]]);
        }
        for (; j < some; j += VC_TABLES)
            for (k = 0; k < n_outputs; k++) {
                float found[VC_TABLES] = {0};
                for (g = 0; g < VC_TABLES && j + g < some; g++)
                    found[g] = tables->values[(tables->starts[t + j + g] + cells[j + g]) * n_outputs + k];
                out[k] += CELLS(sum_of)(found[0], found[1], found[2], found[3]);
            }
    }
}
