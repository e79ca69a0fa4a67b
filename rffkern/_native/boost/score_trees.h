/* Scores of symmetric trees at one instruction-set level: by the package, and by rffscore.c.
 *
 * Included once for each level, without an include guard.
 */
#include "packed_trees.h"
#include "vectors.h"

#undef TREES
#define TREES(name) EXPAND2(name, VM_LEVEL)

typedef int8_t TREES(bytes) VECTOR_OF(int8_t);
typedef uint8_t TREES(counts) VECTOR_OF(uint8_t);
#undef WIDE
#define WIDE (VT_TILE / sizeof(TREES(bytes)))

/* The number of edges of a column that each of some rows is above, less 128.  There are 2^k - 1 edges, in order. */
#undef BIN_COLUMN
#define BIN_COLUMN(REAL, SUFFIX) \
    static void EXPAND3(bin, SUFFIX, VM_LEVEL)(const REAL *x, ptrdiff_t step, ptrdiff_t n_rows, const REAL *edges, \
                                                ptrdiff_t n_edges, int8_t *restrict binned) \
    { \
        int32_t place[VT_LANES]; \
        REAL row[VT_LANES]; \
        ptrdiff_t first, i; \
        int32_t half; \
        for (first = 0; first < n_rows; first += VT_LANES) { \
            const ptrdiff_t some = n_rows - first < VT_LANES ? n_rows - first : VT_LANES; \
            for (i = 0; i < some; i++) row[i] = x[(first + i) * step]; \
            for (; i < VT_LANES; i++) row[i] = row[0]; \
            for (i = 0; i < VT_LANES; i++) place[i] = 0; \
            for (half = (int32_t)(n_edges + 1) / 2; half > 0; half /= 2) \
                for (i = 0; i < VT_LANES; i++) place[i] += row[i] > edges[place[i] + half - 1] ? half : 0; \
            for (i = 0; i < some; i++) binned[first + i] = (int8_t)(place[i] - 128); \
        } \
    }
BIN_COLUMN(float, f32)
BIN_COLUMN(double, f64)

/* part[i] = sum of the steps of the levels from `level` to `stop` at which the row goes right. */
static ALWAYS_INLINE void TREES(add_steps)(const vt_trees *trees, ptrdiff_t t, ptrdiff_t level, ptrdiff_t stop,
                                           const int8_t *binned, uint8_t *part)
{
    TREES(counts) found[WIDE] = {0};
    size_t v;
    for (; level < stop; level++) {
        const ptrdiff_t q = level * trees->stride + t;
        const TREES(bytes) *x = (const TREES(bytes) *)(binned + trees->columns[q] * VT_TILE);
        const int8_t threshold = trees->thresholds[q];
        const uint8_t step = trees->steps[q];
        UNROLLED
        for (v = 0; v < WIDE; v++) found[v] += (TREES(counts))ABOVE(x[v], threshold) & step;
    }
    UNROLLED
    for (v = 0; v < WIDE; v++) ((TREES(counts) *)part)[v] = found[v];
}

/* leaves[i] = the leaf of each row of a tile. */
static void TREES(find_leaves)(const vt_trees *trees, ptrdiff_t t, const int8_t *binned,
                              uint16_t *restrict leaves)
{
    uint8_t parts[VT_INDEX_PARTS][VT_TILE];
    const ptrdiff_t n_first = trees->firsts[t];
    const uint16_t unit = (uint16_t)trees->units[t];
    int i;
    TREES(add_steps)(trees, t, 0, n_first, binned, parts[0]);
    if (n_first < trees->depth) {
        TREES(add_steps)(trees, t, n_first, trees->depth, binned, parts[1]);
#pragma omp simd
        for (i = 0; i < VT_TILE; i++) leaves[i] = (uint16_t)(parts[0][i] + unit * parts[1][i]);
    } else
#pragma omp simd
        for (i = 0; i < VT_TILE; i++) leaves[i] = parts[0][i];
}

#undef MOST_PERMUTED
#if VM_AVX512
#include <immintrin.h>
#define MOST_PERMUTED 256
#undef WRITTEN_OUT
#define WRITTEN_OUT _Pragma("GCC unroll 16")

/* found[i] = values[leaves[i]] of up to 32 n_pairs values, in registers: several times as fast as reads from memory. */
static ALWAYS_INLINE void TREES(permute)(const float *values, ptrdiff_t n_leaves, const uint16_t *leaves,
                                         ptrdiff_t n_rows, float *restrict found, const int n_pairs)
{
    __m512 held[MOST_PERMUTED / 16];
    ptrdiff_t i;
    int v;
    WRITTEN_OUT
    for (v = 0; v < 2 * n_pairs; v++) {
        const ptrdiff_t left = n_leaves - 16 * v;
        held[v] = _mm512_maskz_loadu_ps(left >= 16 ? 0xffff : left > 0 ? (__mmask16)((1u << left) - 1) : 0,
                                        values + 16 * v);
    }
    for (i = 0; i < n_rows; i += 16) {
        const __m512i leaf = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(leaves + i)));
        const __m512i pair = _mm512_srli_epi32(leaf, 5);
        __m512 all = _mm512_permutex2var_ps(held[0], leaf, held[1]);
        WRITTEN_OUT
        for (v = 1; v < n_pairs; v++)
            all = _mm512_mask_mov_ps(all, _mm512_cmpeq_epi32_mask(pair, _mm512_set1_epi32(v)),
                                     _mm512_permutex2var_ps(held[2 * v], leaf, held[2 * v + 1]));
        _mm512_storeu_ps(found + i, all);
    }
}
#endif

/* found[i] = values[leaves[i] * n_outputs], of n_leaves. */
static ALWAYS_INLINE void TREES(take)(const float *values, ptrdiff_t n_outputs, ptrdiff_t n_leaves,
                                      const uint16_t *leaves, ptrdiff_t n_rows, float *restrict found)
{
    ptrdiff_t i;
#ifdef MOST_PERMUTED
    if (n_outputs == 1 && n_leaves <= MOST_PERMUTED) {
        if (n_leaves <= 32) TREES(permute)(values, n_leaves, leaves, n_rows, found, 1);
        else if (n_leaves <= 128) TREES(permute)(values, n_leaves, leaves, n_rows, found, 4);
        else TREES(permute)(values, n_leaves, leaves, n_rows, found, 8);
        return;
    }
#endif
    (void)n_leaves;
    UNROLLED
    for (i = 0; i < n_rows; i++) {
        ptrdiff_t leaf = leaves[i] * n_outputs;
        ONE_BY_ONE(leaf);
        found[i] = values[leaf];
    }
}

/* Adds the values of VT_SUMMED trees to `out` in the one order that all functions keep to. */
static ALWAYS_INLINE double TREES(sum_of)(float a, float b, float c, float d)
{
    return ((double)a + b) + ((double)c + d);
}

static void TREES(score)(const vt_trees *trees, ptrdiff_t first, ptrdiff_t stop, const int8_t *binned,
                         ptrdiff_t n_rows, double *restrict out)
{
    uint16_t leaves[VT_SUMMED][VT_TILE];
    float found[VT_SUMMED][VT_TILE];
    const ptrdiff_t n_outputs = trees->n_outputs;
    ptrdiff_t t, i, k, g;
    for (t = first; t < stop; t += VT_SUMMED) {
        const ptrdiff_t some = stop - t < VT_SUMMED ? stop - t : VT_SUMMED;
        if (some < VT_SUMMED) memset(found, 0, sizeof found);
        for (g = 0; g < some; g++) TREES(find_leaves)(trees, t + g, binned, leaves[g]);
        for (k = 0; k < n_outputs; k++) {
            for (g = 0; g < some; g++)
                TREES(take)(trees->values + trees->starts[t + g] * n_outputs + k, n_outputs,
                            trees->starts[t + g + 1] - trees->starts[t + g], leaves[g], n_rows, found[g]);
            if (n_outputs == 1)
#pragma omp simd
                for (i = 0; i < n_rows; i++)
                    out[i] += TREES(sum_of)(found[0][i], found[1][i], found[2][i], found[3][i]);
            else
                for (i = 0; i < n_rows; i++)
                    out[i * n_outputs + k] += TREES(sum_of)(found[0][i], found[1][i], found[2][i], found[3][i]);
        }
    }
}

/* row[j] = binned[columns[j]] for a chunk of trees. */
static ALWAYS_INLINE void TREES(fetch)(const vt_trees *trees, const int32_t *columns, const int8_t *binned,
                                       int8_t *restrict row)
{
    int j;
#ifdef MOST_PERMUTED
    if (trees->n_columns <= 64) { /* all binned in two registers */
        const __m512i low = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)binned));
        const __m512i high = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(binned + 32)));
        for (j = 0; j < VT_TREE_BLOCK; j += 32) {
            const __m256i even = _mm512_cvtepi32_epi16(_mm512_loadu_si512(columns + j));
            const __m256i odd = _mm512_cvtepi32_epi16(_mm512_loadu_si512(columns + j + 16));
            const __m512i places = _mm512_inserti64x4(_mm512_castsi256_si512(even), odd, 1);
            _mm256_storeu_si256((__m256i *)(row + j),
                                _mm512_cvtepi16_epi8(_mm512_permutex2var_epi16(low, places, high)));
        }
        return;
    }
#endif
    (void)trees;
    for (j = 0; j < VT_TREE_BLOCK; j++) row[j] = binned[columns[j]];
}

/* leaves[j] = the leaf of one row in VT_TREE_BLOCK trees from t on. */
static void TREES(find_leaves_of_row)(const vt_trees *trees, ptrdiff_t t, const int8_t *binned,
                                     uint16_t *restrict leaves)
{
    int8_t row[VT_TREE_BLOCK];
    TREES(counts) parts[VT_INDEX_PARTS][VT_TREE_BLOCK / sizeof(TREES(counts))];
    const TREES(bytes) *firsts = (const TREES(bytes) *)(trees->firsts + t);
    ptrdiff_t level;
    size_t v;
    int j;
    memset(parts, 0, sizeof parts);
    for (level = 0; level < trees->depth; level++) {
        const ptrdiff_t q = level * trees->stride + t;
        const TREES(bytes) *x = (const TREES(bytes) *)row, *thresholds = (const TREES(bytes) *)(trees->thresholds + q);
        const TREES(counts) *steps = (const TREES(counts) *)(trees->steps + q);
        TREES(fetch)(trees, trees->columns + q, binned, row);
        UNROLLED
        for (v = 0; v < VT_TREE_BLOCK / sizeof(TREES(counts)); v++) {
            const TREES(counts) step = (TREES(counts))ABOVE(x[v], thresholds[v]) & steps[v];
            const TREES(counts) low = (TREES(counts))ABOVE(firsts[v], (int8_t)level) & step;
            parts[0][v] += low;
            parts[1][v] += step - low;
        }
    }
    for (j = 0; j < VT_TREE_BLOCK; j++)
        leaves[j] = (uint16_t)(((uint8_t *)parts[0])[j] + trees->units[t + j] * ((uint8_t *)parts[1])[j]);
}

static void TREES(score_row)(const vt_trees *trees, ptrdiff_t first, ptrdiff_t stop, const int8_t *binned, double *out)
{
    uint16_t leaves[VT_TREE_BLOCK];
    const ptrdiff_t n_outputs = trees->n_outputs;
    ptrdiff_t t, k, j, g;
    for (t = first; t < stop; t += VT_TREE_BLOCK) {
        const ptrdiff_t some = stop - t < VT_TREE_BLOCK ? stop - t : VT_TREE_BLOCK;
        TREES(find_leaves_of_row)(trees, t, binned, leaves);
        for (j = 0; n_outputs == 1 && j + VT_SUMMED <= some; j += VT_SUMMED) {
            const ptrdiff_t *starts = trees->starts + t + j;
            const float *values = trees->values;
            *out += TREES(sum_of)(values[starts[0] + leaves[j]], values[starts[1] + leaves[j + 1]],
                                  values[starts[2] + leaves[j + 2]], values[starts[3] + leaves[j + 3]]);
        }
        for (; j < some; j += VT_SUMMED)
            for (k = 0; k < n_outputs; k++) {
                float found[VT_SUMMED] = {0};
                for (g = 0; g < VT_SUMMED && j + g < some; g++)
                    found[g] = trees->values[(trees->starts[t + j + g] + leaves[j + g]) * n_outputs + k];
                out[k] += TREES(sum_of)(found[0], found[1], found[2], found[3]);
            }
    }
}
