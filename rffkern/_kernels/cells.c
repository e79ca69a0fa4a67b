/* One instruction-set level of symmetric tables: VM_LEVEL names it, the compiler flags make it. */
#include "cells.h"

#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#ifndef VM_LEVEL
#define VM_LEVEL baseline
#endif

#define PASTE2(a, b) a##_##b
#define EXPAND2(a, b) PASTE2(a, b)

/* A vector as wide as the registers of the level. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

/* VM_PLAIN: as a compiler without GNU's vectors would see it, to test that.  A loop with ONE_BY_ONE is done for one value
   after the other. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(VM_PLAIN)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define ONE_BY_ONE(x) __asm__("" : "+r"(x))
#define VECTOR_OF(type) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(type)), may_alias))
#define ABOVE(x, threshold) ((x) > (threshold))
#define UNROLLED _Pragma("GCC unroll 8")
#else
#define ALWAYS_INLINE inline
#define ONE_BY_ONE(x) ((void)(x))
#define VECTOR_OF(type) /* one number: the compiler's own vectoriser has to do */
#define ABOVE(x, threshold) (-((x) > (threshold)))
#define UNROLLED
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define restrict __restrict
#endif

/* Of H + reg in units of that of all rows: products of two must not vanish. */
#define SMALLEST 1e-15f

/* Largest exponent of that unit: its inverse is a float. */
#define MOST_SCALED 120

/* Places of the parts of a store. */
typedef struct {
    double *sums;        /* (n_kept, n_outputs, n_candidates, VC_CODES, 2) g and h of codes, in the order of places */
    float *gains;        /* (n_candidates, VC_CODES) in the order of places */
    uint8_t *shifts;     /* (n_candidates,) see place_of */
    uint64_t *words[2];  /* (n_groups, n_rows) places of a row, a byte per column, before and after a division */
    uint64_t *pairs[2];  /* (n_outputs, n_rows) g and h of a row, as two floats */
    ptrdiff_t *starts[2];
    ptrdiff_t *slots;    /* where the sums of cells are kept */
    ptrdiff_t n_groups, n_kept;
} parts;

static parts parts_of(const vc_growth *growth)
{
    parts p;
    uintptr_t start = ((uintptr_t)growth->store + 63) / 64 * 64;
    ptrdiff_t n = growth->n_rows, m = growth->n_candidates;
    int i;
    p.n_groups = (m + VC_GROUP - 1) / VC_GROUP;
    p.sums = (double *)start;
    p.n_kept = vc_kept_cells(n, growth->n_outputs, m, growth->max_depth);
    p.gains = (float *)(p.sums + 2 * VC_CODES * p.n_kept * growth->n_outputs * m);
    p.words[0] = (uint64_t *)(p.gains + m * VC_CODES);
    for (i = 0; i < 2; i++) {
        p.pairs[i] = p.words[i] + p.n_groups * n;
        if (i == 0) p.words[1] = p.pairs[0] + growth->n_outputs * n;
    }
    p.starts[0] = (ptrdiff_t *)(p.pairs[1] + growth->n_outputs * n);
    p.starts[1] = p.starts[0] + ((ptrdiff_t)1 << growth->max_depth) + 1;
    p.slots = p.starts[1] + ((ptrdiff_t)1 << growth->max_depth) + 1;
    p.shifts = (uint8_t *)(p.slots + ((ptrdiff_t)1 << growth->max_depth) + 1);
    return p;
}

/* The first candidate of a group. */
static inline ptrdiff_t first_of(ptrdiff_t group, ptrdiff_t n_groups, ptrdiff_t n_candidates)
{
    return group * n_candidates / n_groups;
}

/* Running sums over codes are done in lanes, each of 2^shift codes in a row: code b is step b % 2^shift of lane
   b >> shift, and its place is 16 step + lane.  Any byte has a place below VC_CODES. */
static inline int place_of(int code, int shift)
{
    return ((code & ((1 << shift) - 1)) << 4) | (code >> shift);
}

static int shift_of(ptrdiff_t n_bins)
{
    int shift = 0;
    while (VC_LANES << shift < n_bins) shift++;
    return shift;
}

static inline void read_pair(uint64_t word, double *g, double *h)
{
    float both[2];
    memcpy(both, &word, 8);
    *g = both[0];
    *h = both[1];
}

#if (defined(__GNUC__) || defined(__clang__)) && !defined(VM_PLAIN)
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef float narrow_pair __attribute__((vector_size(8), aligned(4), may_alias));

static ALWAYS_INLINE pair read_wide(const uint64_t *word)
{
    return __builtin_convertvector(*(const narrow_pair *)word, pair);
}

static ALWAYS_INLINE void add_pair(double *sums, pair more)
{
    *(pair *)sums += more;
}
#else
typedef struct {
    double g, h;
} pair;

static inline pair read_wide(const uint64_t *word)
{
    pair both;
    read_pair(*word, &both.g, &both.h);
    return both;
}

static inline void add_pair(double *sums, pair more)
{
    sums[0] += more.g;
    sums[1] += more.h;
}
#endif

/* The sums over the rows of a cell, in four parts: additions wait for those before them. */
static void add_cell(const uint64_t *pairs, ptrdiff_t n_rows, double *g, double *h)
{
    double sums[8] = {0}, more[2];
    ptrdiff_t i, k;
    for (i = 0; i + 4 <= n_rows; i += 4) {
        float four[8];
        memcpy(four, pairs + i, sizeof four);
#pragma omp simd
        for (k = 0; k < 8; k++) sums[k] += four[k];
    }
    for (; i < n_rows; i++) {
        read_pair(pairs[i], more, more + 1);
        sums[0] += more[0];
        sums[1] += more[1];
    }
    *g = sums[0] + sums[2] + sums[4] + sums[6];
    *h = sums[1] + sums[3] + sums[5] + sums[7];
}

static void begin(vc_growth *growth)
{
    const parts p = parts_of(growth);
    const ptrdiff_t n = growth->n_rows, m = growth->n_candidates;
    ptrdiff_t i, j, k, group;
    for (group = 0; group < p.n_groups; group++) {
        uint64_t *restrict words = p.words[0] + group * n;
        ptrdiff_t first = first_of(group, p.n_groups, m);
        memset(words, 0, n * sizeof *words);
        for (j = first; j < first_of(group + 1, p.n_groups, m); j++) {
            const uint8_t *restrict codes = growth->codes + growth->candidates[j] * growth->stride;
            const int shift = shift_of(growth->n_bins[growth->candidates[j]]), byte = 8 * (int)(j - first);
            p.shifts[j] = (uint8_t)shift;
#pragma omp simd
            for (i = 0; i < n; i++) words[i] |= (uint64_t)place_of(codes[i], shift) << byte;
        }
    }
    for (k = 0; k < growth->n_outputs; k++) {
        const float *restrict g = growth->gradient + k * growth->stride, *restrict h = growth->hessian + k * growth->stride;
        char *pairs = (char *)(p.pairs[0] + k * n);
        for (i = 0; i < n; i++) {
            memcpy(pairs + 8 * i, g + i, 4);
            memcpy(pairs + 8 * i + 4, h + i, 4);
        }
    }
    p.slots[0] = 0;
    p.starts[0][0] = 0;
    p.starts[0][1] = n;
    growth->depth = 0;
}

/* sums[j, place, :] += g and h, over rows, for n columns. */
static ALWAYS_INLINE void add_rows_of(const uint64_t *restrict words, const uint64_t *restrict pairs, ptrdiff_t n_rows,
                                      double *restrict sums, const int n)
{
    ptrdiff_t i;
    int j;
    for (i = 0; i < n_rows; i++) {
        const uint64_t word = words[i];
        const pair more = read_wide(pairs + i);
        UNROLLED
        for (j = 0; j < n; j++) add_pair(sums + 2 * (VC_CODES * j + (word >> 8 * j & 255)), more);
    }
}

static void add_rows(const uint64_t *words, const uint64_t *pairs, ptrdiff_t n_rows, double *sums, int n)
{
    switch (n) {
    case 1: add_rows_of(words, pairs, n_rows, sums, 1); break;
    case 2: add_rows_of(words, pairs, n_rows, sums, 2); break;
    case 3: add_rows_of(words, pairs, n_rows, sums, 3); break;
    case 4: add_rows_of(words, pairs, n_rows, sums, 4); break;
    case 5: add_rows_of(words, pairs, n_rows, sums, 5); break;
    case 6: add_rows_of(words, pairs, n_rows, sums, 6); break;
    case 7: add_rows_of(words, pairs, n_rows, sums, 7); break;
    default: add_rows_of(words, pairs, n_rows, sums, 8); break;
    }
}

/* gains[place] += scale times what the cuts of a column gain in a cell, of which `sums` are g and h.  Returns the
   score of the cell. */
static double add_gains(const double *restrict sums, int shift, double reg, double scale, float *restrict gains)
{
    const float unit = (float)scale;
    double left[2 * VC_LANES] = {0}, all[2 * VC_LANES], total[2] = {0, 0}, score;
    const float smallest = (float)(reg * scale) > SMALLEST ? (float)(reg * scale) : SMALLEST;
    float sides[2][2 * VC_LANES], whole;
    const int n_steps = 1 << shift;
    int step, i, k;
    for (step = 0; step < n_steps; step++)
#pragma omp simd
        for (i = 0; i < 2 * VC_LANES; i++) left[i] += sums[2 * VC_LANES * step + i];
    for (i = 0; i < 2 * VC_LANES; i += 2)
        for (k = 0; k < 2; k++) {
            const double lane = left[i + k];
            left[i + k] = total[k];
            total[k] += lane;
        }
    score = total[0] * total[0] / (total[1] + reg);
    whole = (float)(score * scale);
    for (i = 0; i < 2 * VC_LANES; i++) all[i] = total[i & 1];
    for (step = 0; step < n_steps; step++) {
        const double *restrict from = sums + 2 * VC_LANES * step;
        float *restrict to = gains + VC_LANES * step;
#pragma omp simd
        for (i = 0; i < 2 * VC_LANES; i++) {
            left[i] += from[i];
            sides[0][i] = (float)left[i] * unit;
            sides[1][i] = (float)(all[i] - left[i]) * unit;
        }
#pragma omp simd
        for (i = 0; i < VC_LANES; i++) {
            const float gl = sides[0][2 * i], gr = sides[1][2 * i];
            float hl = sides[0][2 * i + 1] + smallest, hr = sides[1][2 * i + 1] + smallest;
            hl = hl > smallest ? hl : smallest;
            hr = hr > smallest ? hr : smallest;
            to[i] += (gl * gl * hr + gr * gr * hl) / (hl * hr) - whole; /* a division costs as much as all the rest */
        }
    }
    return score;
}

/* Sums of the rows of a cell over codes. */
static void sum_codes(const vc_growth *growth, const parts *p, ptrdiff_t start, ptrdiff_t n_rows, double *sums)
{
    const int now = growth->depth & 1;
    const ptrdiff_t n = growth->n_rows, m = growth->n_candidates;
    ptrdiff_t k, group;
    memset(sums, 0, 2 * VC_CODES * m * growth->n_outputs * sizeof *sums);
    for (k = 0; k < growth->n_outputs; k++)
        for (group = 0; group < p->n_groups; group++) {
            const ptrdiff_t first = first_of(group, p->n_groups, m), last = first_of(group + 1, p->n_groups, m);
            add_rows(p->words[now] + group * n + start, p->pairs[now] + k * n + start, n_rows,
                     sums + 2 * VC_CODES * (k * m + first), (int)(last - first));
        }
}

static void set_scale(vc_growth *growth, const double *sums)
{
    double h = growth->reg;
    int place, exponent;
    for (place = 0; place < VC_CODES; place++) h += sums[2 * place + 1];
    frexp(h, &exponent);
    exponent = exponent > MOST_SCALED ? MOST_SCALED : exponent < -MOST_SCALED ? -MOST_SCALED : exponent;
    growth->scale = ldexp(1, -exponent);
}

static void subtract(double *restrict sums, const double *restrict less, ptrdiff_t size)
{
    ptrdiff_t i;
#pragma omp simd
    for (i = 0; i < size; i++) sums[i] -= less[i];
}

/* Gains of all questions in a cell. */
static void add_cell_gains(vc_growth *growth, const parts *p, ptrdiff_t start, ptrdiff_t n_rows, const double *sums)
{
    const ptrdiff_t m = growth->n_candidates;
    ptrdiff_t k, j;
    double g, h;
    for (k = 0; k < growth->n_outputs; k++)
        if (n_rows > 1)
            for (j = 0; j < m; j++) {
                double score = add_gains(sums + 2 * VC_CODES * (k * m + j), p->shifts[j], growth->reg, growth->scale,
                                         p->gains + VC_CODES * j);
                growth->score += j == 0 ? score : 0;
            }
        else if (n_rows == 1) { /* no question gains anything */
            add_cell(p->pairs[growth->depth & 1] + k * growth->n_rows + start, 1, &g, &h);
            growth->score += g * g / (h + growth->reg);
        }
}

/* Gains of all questions, over all cells. */
static void find_gains(vc_growth *growth, const parts *p)
{
    const ptrdiff_t *starts = p->starts[growth->depth & 1], n_cells = (ptrdiff_t)1 << growth->depth;
    const ptrdiff_t size = 2 * VC_CODES * growth->n_outputs * growth->n_candidates;
    ptrdiff_t cell, i;
    memset(p->gains, 0, growth->n_candidates * VC_CODES * sizeof *p->gains);
    growth->score = 0;
    if (growth->depth == 0) {
        sum_codes(growth, p, 0, growth->n_rows, p->sums);
        set_scale(growth, p->sums);
        add_cell_gains(growth, p, 0, growth->n_rows, p->sums);
        return;
    }
    if (n_cells > p->n_kept) {
        for (cell = 0; cell < n_cells; cell++) {
            const ptrdiff_t start = starts[cell], n_rows = starts[cell + 1] - start;
            if (n_rows > 1) sum_codes(growth, p, start, n_rows, p->sums);
            add_cell_gains(growth, p, start, n_rows, p->sums);
        }
        return;
    }
    for (cell = n_cells - 2; cell >= 0; cell -= 2) { /* backwards: a pair of slots takes the place of one */
        const ptrdiff_t middle = starts[cell + 1], n_left = middle - starts[cell], n_right = starts[cell + 2] - middle;
        const ptrdiff_t both = p->slots[cell / 2], fresh = (n_cells + cell) / 2;
        double *smaller = p->sums + fresh * size, *larger = p->sums + both * size;
        p->slots[cell] = n_left < n_right ? fresh : both;
        p->slots[cell + 1] = n_left < n_right ? both : fresh;
        if (n_left + n_right > 1) {
            sum_codes(growth, p, n_left < n_right ? starts[cell] : middle, n_left < n_right ? n_left : n_right, smaller);
            subtract(larger, smaller, size);
        }
        for (i = 0; i < 2; i++)
            add_cell_gains(growth, p, starts[cell + i], starts[cell + i + 1] - starts[cell + i],
                           p->sums + p->slots[cell + i] * size);
    }
}

static int choose(vc_growth *growth, const parts *p)
{
    float best = (float)(VC_FLOOR * growth->score * growth->scale);
    ptrdiff_t j, cut;
    int i;
    growth->candidate = -1;
    for (j = 0; j < growth->n_candidates; j++) {
        const int shift = p->shifts[j], n_places = VC_LANES << shift;
        const float *restrict gains = p->gains + VC_CODES * j;
        float largest = gains[0];
#pragma omp simd reduction(max : largest)
        for (i = 0; i < n_places; i++) largest = gains[i] > largest ? gains[i] : largest;
        if (!(largest > best)) continue;
        for (cut = 0; cut < growth->n_bins[growth->candidates[j]] - 1; cut++)
            if (gains[place_of((int)cut, shift)] > best) {
                best = gains[place_of((int)cut, shift)];
                growth->candidate = j;
                growth->cut = cut;
            }
    }
    return growth->candidate >= 0;
}

/* Where the rows of a cell go: those that go left from the start on, the others from the end back. */
typedef struct {
    const uint64_t *words;       /* of the column that is asked about */
    int byte;
    uint8_t goes_right[VC_CODES]; /* by place */
} question;

/* Move what two arrays, or one, have of the rows of a cell.  Returns the first row of those that go right. */
static ALWAYS_INLINE ptrdiff_t separate_in(const question *asked, const uint64_t *restrict a, uint64_t *restrict a_to,
                                           const uint64_t *restrict b, uint64_t *restrict b_to, ptrdiff_t start,
                                           ptrdiff_t stop, const int both)
{
    const uint64_t *restrict words = asked->words;
    const uint8_t *restrict goes_right = asked->goes_right;
    const int byte = asked->byte;
    ptrdiff_t i, left = start, right = stop - 1;
    for (i = start; i < stop; i++) {
        const ptrdiff_t is_right = goes_right[words[i] >> byte & 255];
        a_to[left] = a[i];
        a_to[right] = a[i];
        if (both) {
            b_to[left] = b[i];
            b_to[right] = b[i];
        }
        left += 1 - is_right;
        right -= is_right;
    }
    return left;
}

/* Move the rows of all cells; words are not needed any more after the last level. */
static void separate(const vc_growth *growth, const parts *p, const question *asked, int is_last)
{
    const int now = growth->depth & 1, next = 1 - now;
    const ptrdiff_t n = growth->n_rows, *starts = p->starts[now];
    ptrdiff_t cell, k, start, stop, middle;
    for (cell = 0; cell < (ptrdiff_t)1 << growth->depth; cell++) {
        start = starts[cell];
        stop = starts[cell + 1];
        if (is_last) middle = separate_in(asked, p->pairs[now], p->pairs[next], NULL, NULL, start, stop, 0);
        else
            middle = separate_in(asked, p->pairs[now], p->pairs[next], p->words[now], p->words[next], start, stop, 1);
        for (k = 1; k < p->n_groups && !is_last; k++)
            separate_in(asked, p->words[now] + k * n, p->words[next] + k * n, NULL, NULL, start, stop, 0);
        for (k = 1; k < growth->n_outputs; k++)
            separate_in(asked, p->pairs[now] + k * n, p->pairs[next] + k * n, NULL, NULL, start, stop, 0);
        p->starts[next][2 * cell] = start;
        p->starts[next][2 * cell + 1] = middle;
    }
    p->starts[next][2 * cell] = n;
}

static int divide(vc_growth *growth)
{
    const parts p = parts_of(growth);
    question asked = {p.words[growth->depth & 1], 0, {0}};
    ptrdiff_t group = 0, code;
    find_gains(growth, &p);
    if (!choose(growth, &p)) return 0;
    while (first_of(group + 1, p.n_groups, growth->n_candidates) <= growth->candidate) group++;
    asked.words += group * growth->n_rows;
    asked.byte = 8 * (int)(growth->candidate - first_of(group, p.n_groups, growth->n_candidates));
    for (code = growth->cut + 1; code < growth->n_bins[growth->candidates[growth->candidate]]; code++)
        asked.goes_right[place_of((int)code, p.shifts[growth->candidate])] = 1;
    separate(growth, &p, &asked, growth->depth + 1 == growth->max_depth);
    growth->depth++;
    return 1;
}

static void finish(vc_growth *growth, double *values)
{
    const parts p = parts_of(growth);
    const int now = growth->depth & 1;
    ptrdiff_t place, k, level;
    growth->score = 0;
    for (place = 0; place < (ptrdiff_t)1 << growth->depth; place++) {
        ptrdiff_t cell = 0, start = p.starts[now][place];
        for (level = 0; level < growth->depth; level++) cell |= (place >> level & 1) << (growth->depth - 1 - level);
        for (k = 0; k < growth->n_outputs; k++) {
            double g, h;
            add_cell(p.pairs[now] + k * growth->n_rows + start, p.starts[now][place + 1] - start, &g, &h);
            values[cell * growth->n_outputs + k] = g / (h + growth->reg);
            growth->score += g * g / (h + growth->reg);
        }
    }
}

static void look_up(const uint8_t *codes, ptrdiff_t stride, ptrdiff_t width, const ptrdiff_t *columns,
                    const ptrdiff_t *cuts, ptrdiff_t depth, const double *values, ptrdiff_t n_outputs, float *out)
{
    uint8_t bytes[VC_MAX_DEPTH / 8][VC_TILE] = {{0}}; /* of the numbers of cells */
    ptrdiff_t i, k, level;
    for (level = 0; level < depth; level++) {
        const uint8_t *restrict column = codes + columns[level] * stride;
        const uint8_t cut = (uint8_t)cuts[level], bit = (uint8_t)(1 << level % 8);
        uint8_t *restrict cells = bytes[level / 8];
#pragma omp simd
        for (i = 0; i < width; i++) cells[i] |= column[i] > cut ? bit : 0;
    }
    for (k = 0; k < n_outputs; k++)
        for (i = 0; i < width; i++) {
            ptrdiff_t cell = bytes[0][i] | bytes[1][i] << 8;
            ONE_BY_ONE(cell);
            out[k * stride + i] = (float)values[cell * n_outputs + k];
        }
}

#include "cells_score.h"

const vm_cells_table EXPAND2(vm_cells, VM_LEVEL) = {
    begin, divide, finish, look_up, are_tables, code_f32, code_f64, score, score_row};
