/* Growth of symmetric trees at one instruction set.  Included by trees.c only. */

/* Of H + reg in units of that of all rows: products of two must not vanish. */
#define SMALLEST 1e-15f

/* Largest exponent of that unit: its inverse is a float. */
#define MOST_SCALED 120

/* The byte of a bin.  Running sums over bins are done in lanes, each of 2^shift bins in a row: bin b is step
   b % 2^shift of lane b >> shift, and its place is 16 step + lane.  Of bins with few places, the last `dropped` bits
   do not count for the place; they are the first bits of the byte. */
typedef struct {
    uint8_t shift, dropped;
} bin_layout;

static inline int byte_of(int bin, bin_layout c)
{
    const int kept = bin >> c.dropped, place = (kept & ((1 << c.shift) - 1)) << 4 | kept >> c.shift;
    return place | (bin & ((1 << c.dropped) - 1)) << VT_COARSE_BITS;
}

static bin_layout layout_of(ptrdiff_t n_bins, ptrdiff_t n_places)
{
    bin_layout c = {0, 0};
    while (n_places << c.dropped < n_bins) c.dropped++;
    while (VT_LANES << c.shift << c.dropped < n_bins) c.shift++;
    return c;
}

/* Places of the parts of a store. */
typedef struct {
    double *sums;        /* (n_kept, n_outputs, n_used, 2) histograms of g and h, those of candidates one after another */
    double *strip_sums;  /* (n_strips, n_outputs, n_used, 2) of strips, or those of windows */
    float *gains;        /* (n_blocks, n_used) in the order of places */
    ptrdiff_t *offsets;  /* (n_candidates + 1,) where the places begin that a candidate uses; the last is n_used */
    bin_layout *layouts; /* (n_candidates,) */
    uint64_t *words[2];  /* (n_groups, n_rows) places of a row, a byte per column, before and after a division */
    uint64_t *pairs[2];  /* (n_outputs, n_rows) g and h of a row, as two floats */
    ptrdiff_t *starts[2];
    ptrdiff_t *slots;    /* where the histograms of leaves are kept */
    ptrdiff_t n_groups, n_kept, n_places;
} parts;

static parts parts_of(const vt_growth *growth)
{
    parts p;
    uintptr_t start = ((uintptr_t)growth->store + 63) / 64 * 64;
    ptrdiff_t n = growth->n_rows, m = growth->n_candidates;
    int i;
    p.n_groups = (m + VT_WORD_COLUMNS - 1) / VT_WORD_COLUMNS;
    p.n_places = vt_places(m);
    p.sums = (double *)start;
    p.n_kept = vt_kept_leaves(n, growth->n_outputs, m, growth->max_depth);
    p.strip_sums = p.sums + 2 * p.n_places * p.n_kept * growth->n_outputs * m;
    p.gains = (float *)(p.strip_sums + 2 * p.n_places * vt_most_sums(n) * growth->n_outputs * m);
    p.words[0] = (uint64_t *)(p.gains + vt_most_blocks(n) * m * p.n_places);
    for (i = 0; i < 2; i++) {
        p.pairs[i] = p.words[i] + p.n_groups * n;
        if (i == 0) p.words[1] = p.pairs[0] + growth->n_outputs * n;
    }
    p.starts[0] = (ptrdiff_t *)(p.pairs[1] + growth->n_outputs * n);
    p.starts[1] = p.starts[0] + ((ptrdiff_t)1 << growth->max_depth) + 1;
    p.slots = p.starts[1] + ((ptrdiff_t)1 << growth->max_depth) + 1;
    p.offsets = p.slots + ((ptrdiff_t)1 << growth->max_depth) + 1;
    p.layouts = (bin_layout *)(p.offsets + m + 1);
    return p;
}

/* The first candidate of a group. */
static inline ptrdiff_t first_of(ptrdiff_t group, ptrdiff_t n_groups, ptrdiff_t n_candidates)
{
    return group * n_candidates / n_groups;
}

/* The first of n leaves, or whatever blocks share, of a block. */
static inline ptrdiff_t start_of(const vt_growth *growth, ptrdiff_t block, ptrdiff_t n)
{
    return block * n / growth->n_blocks;
}

static inline ptrdiff_t fewer(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

/* Divide the rows of a leaf into strips, if they are many. */
static void add_strips(vt_growth *growth, ptrdiff_t leaf, ptrdiff_t start, ptrdiff_t stop)
{
    const ptrdiff_t n_rows = vt_strip_rows(growth->n_rows), n = stop - start > n_rows ? (stop - start - 1) / n_rows + 1 : 0;
    ptrdiff_t i;
    for (i = 0; i < n; i++) {
        vt_strip *strip = growth->strips + growth->n_strips++;
        strip->leaf = leaf;
        strip->start = start + i * n_rows;
        strip->stop = fewer(stop, strip->start + n_rows);
    }
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

/* The sums over the rows of a leaf, in four parts: additions wait for those before them. */
static void add_leaf(const uint64_t *pairs, ptrdiff_t n_rows, double *g, double *h)
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

static void begin(vt_growth *growth)
{
    const parts p = parts_of(growth);
    ptrdiff_t j;
    p.offsets[0] = 0;
    for (j = 0; j < growth->n_candidates; j++) {
        p.layouts[j] = layout_of(growth->n_bins[growth->candidates[j]], p.n_places);
        p.offsets[j + 1] = p.offsets[j] + ((ptrdiff_t)VT_LANES << p.layouts[j].shift);
    }
    p.slots[0] = 0;
    p.starts[0][0] = 0;
    p.starts[0][1] = growth->n_rows;
    growth->depth = 0;
    growth->n_blocks = vt_most_blocks(growth->n_rows);
}

static void lay_out(vt_growth *growth, ptrdiff_t block)
{
    const parts p = parts_of(growth);
    const ptrdiff_t n = growth->n_rows, m = growth->n_candidates;
    const ptrdiff_t start = start_of(growth, block, n), stop = start_of(growth, block + 1, n);
    ptrdiff_t i, j, k, group;
    for (group = 0; group < p.n_groups; group++) {
        uint64_t *restrict words = p.words[0] + group * n;
        ptrdiff_t first = first_of(group, p.n_groups, m);
        memset(words + start, 0, (stop - start) * sizeof *words);
        for (j = first; j < first_of(group + 1, p.n_groups, m); j++) {
            const uint8_t *restrict binned = growth->binned + growth->candidates[j] * growth->stride;
            const bin_layout c = p.layouts[j];
            const int byte = 8 * (int)(j - first);
#pragma omp simd
            for (i = start; i < stop; i++) words[i] |= (uint64_t)byte_of(binned[i], c) << byte;
        }
    }
    for (k = 0; k < growth->n_outputs; k++) {
        const float *restrict g = growth->gradient + k * growth->stride, *restrict h = growth->hessian + k * growth->stride;
        char *pairs = (char *)(p.pairs[0] + k * n);
        for (i = start; i < stop; i++) {
            memcpy(pairs + 8 * i, g + i, 4);
            memcpy(pairs + 8 * i + 4, h + i, 4);
        }
    }
}

/* The sums of each of n columns, which begin at `offsets`, += g and h of rows at their places. */
static ALWAYS_INLINE void add_rows_of(const uint64_t *restrict words, const uint64_t *restrict pairs, ptrdiff_t n_rows,
                                      double *restrict sums, const ptrdiff_t *restrict offsets, ptrdiff_t n_places,
                                      const int n)
{
    double *column[VT_WORD_COLUMNS];
    ptrdiff_t i;
    int j;
    for (j = 0; j < n; j++) column[j] = sums + 2 * offsets[j];
    for (i = 0; i < n_rows; i++) {
        const uint64_t word = words[i];
        const pair more = read_wide(pairs + i);
        UNROLLED
        for (j = 0; j < n; j++) add_pair(column[j] + 2 * (word >> 8 * j & (n_places - 1)), more);
    }
}

static void add_rows(const uint64_t *words, const uint64_t *pairs, ptrdiff_t n_rows, double *sums,
                     const ptrdiff_t *offsets, ptrdiff_t n_places, int n)
{
    switch (n) {
    case 1: add_rows_of(words, pairs, n_rows, sums, offsets, n_places, 1); break;
    case 2: add_rows_of(words, pairs, n_rows, sums, offsets, n_places, 2); break;
    case 3: add_rows_of(words, pairs, n_rows, sums, offsets, n_places, 3); break;
    case 4: add_rows_of(words, pairs, n_rows, sums, offsets, n_places, 4); break;
    case 5: add_rows_of(words, pairs, n_rows, sums, offsets, n_places, 5); break;
    case 6: add_rows_of(words, pairs, n_rows, sums, offsets, n_places, 6); break;
    case 7: add_rows_of(words, pairs, n_rows, sums, offsets, n_places, 7); break;
    default: add_rows_of(words, pairs, n_rows, sums, offsets, n_places, 8); break;
    }
}

/* Of a leaf: reg and gains are in units of the score's. */
typedef struct {
    float unit, smallest, whole;
    double all[2 * VT_LANES];
} leaf_score;

static ALWAYS_INLINE leaf_score score_leaf(const double *total, double reg, double scale)
{
    leaf_score c = {(float)scale, (float)(reg * scale) > SMALLEST ? (float)(reg * scale) : SMALLEST,
                    (float)(total[0] * total[0] / (total[1] + reg) * scale), {0}};
    int i;
    for (i = 0; i < 2 * VT_LANES; i++) c.all[i] = total[i & 1];
    return c;
}

/* gains[lane] += what a threshold gains that has `left` on one side; with a sign, nothing where the values of the two
   sides are in the other order, for such leaves become one. */
static ALWAYS_INLINE void add_sides(const double *restrict left, const leaf_score *restrict c, float *restrict gains,
                                    const int sign)
{
    float sides[2][2 * VT_LANES];
    int i;
#pragma omp simd
    for (i = 0; i < 2 * VT_LANES; i++) {
        sides[0][i] = (float)left[i] * c->unit;
        sides[1][i] = (float)(c->all[i] - left[i]) * c->unit;
    }
#pragma omp simd
    for (i = 0; i < VT_LANES; i++) {
        const float gl = sides[0][2 * i], gr = sides[1][2 * i];
        float hl = sides[0][2 * i + 1] + c->smallest, hr = sides[1][2 * i + 1] + c->smallest;
        hl = hl > c->smallest ? hl : c->smallest;
        hr = hr > c->smallest ? hr : c->smallest;
        gains[i] += sign != 0 && sign * (gr * hl - gl * hr) < 0
                        ? 0
                        : (gl * gl * hr + gr * gr * hl) / (hl * hr) - c->whole; /* the division is half of the cost */
    }
}

static inline int is_bundle(const vt_growth *growth, ptrdiff_t candidate)
{
    return growth->indicators[growth->candidates[candidate]] >= 0;
}

/* gains[place] += scale times what the thresholds of a column gain in a leaf, of which `sums` are g and h, or what the
   levels of a bundle do, each on one side alone.  Returns the score of the leaf. */
static double add_gains(const double *restrict sums, int shift, double reg, double scale, int sign, int of_bundle,
                        float *restrict gains)
{
    const double before = !of_bundle; /* times the sums of bins below, of the same side as the bin */
    double left[2 * VT_LANES] = {0}, total[2] = {0, 0};
    const int n_steps = 1 << shift;
    leaf_score c;
    int step, i, k;
    for (step = 0; step < n_steps; step++)
#pragma omp simd
        for (i = 0; i < 2 * VT_LANES; i++) left[i] += sums[2 * VT_LANES * step + i];
    for (i = 0; i < 2 * VT_LANES; i += 2)
        for (k = 0; k < 2; k++) {
            const double lane = left[i + k];
            left[i + k] = total[k];
            total[k] += lane;
        }
    c = score_leaf(total, reg, scale);
    for (step = 0; step < n_steps; step++) {
#pragma omp simd
        for (i = 0; i < 2 * VT_LANES; i++) left[i] = before * left[i] + sums[2 * VT_LANES * step + i];
        if (sign == 0) add_sides(left, &c, gains + VT_LANES * step, 0);
        else add_sides(left, &c, gains + VT_LANES * step, sign);
    }
    return total[0] * total[0] / (total[1] + reg);
}

/* Histograms of the rows of a leaf. */
static void build_histograms(const vt_growth *growth, const parts *p, ptrdiff_t start, ptrdiff_t n_rows, double *sums)
{
    const int now = growth->depth & 1;
    const ptrdiff_t n = growth->n_rows, m = growth->n_candidates;
    ptrdiff_t k, group;
    memset(sums, 0, 2 * p->offsets[m] * growth->n_outputs * sizeof *sums);
    for (k = 0; k < growth->n_outputs; k++)
        for (group = 0; group < p->n_groups; group++) {
            const ptrdiff_t first = first_of(group, p->n_groups, m), last = first_of(group + 1, p->n_groups, m);
            add_rows(p->words[now] + group * n + start, p->pairs[now] + k * n + start, n_rows,
                     sums + 2 * k * p->offsets[m], p->offsets + first, p->n_places, (int)(last - first));
        }
}

static void set_scale(vt_growth *growth, const double *sums, ptrdiff_t n_places)
{
    double h = growth->reg;
    ptrdiff_t place;
    int exponent;
    for (place = 0; place < n_places; place++) h += sums[2 * place + 1];
    frexp(h, &exponent);
    exponent = exponent > MOST_SCALED ? MOST_SCALED : exponent < -MOST_SCALED ? -MOST_SCALED : exponent;
    growth->scale = ldexp(1, -exponent);
}

static void subtract_histogram(double *restrict sums, const double *restrict less, ptrdiff_t size)
{
    ptrdiff_t i;
#pragma omp simd
    for (i = 0; i < size; i++) sums[i] -= less[i];
}

/* Gains of all splits in a leaf; returns its score. */
static double add_leaf_gains(const vt_growth *growth, const parts *p, ptrdiff_t start, ptrdiff_t n_rows,
                             const double *sums, float *gains)
{
    const ptrdiff_t m = growth->n_candidates;
    ptrdiff_t k, j;
    double g, h, all = 0;
    for (k = 0; k < growth->n_outputs; k++)
        if (n_rows > 1)
            for (j = 0; j < m; j++) {
                double score = add_gains(sums + 2 * (k * p->offsets[m] + p->offsets[j]), p->layouts[j].shift,
                                         growth->reg, growth->scale, growth->signs[growth->candidates[j]],
                                         is_bundle(growth, j), gains + p->offsets[j]);
                all += j == 0 ? score : 0;
            }
        else if (n_rows == 1) { /* no split gains anything */
            add_leaf(p->pairs[growth->depth & 1] + k * growth->n_rows + start, 1, &g, &h);
            all += g * g / (h + growth->reg);
        }
    return all;
}

static void plan_gains(vt_growth *growth)
{
    const parts p = parts_of(growth);
    const ptrdiff_t *starts = p.starts[growth->depth & 1], n_leaves = (ptrdiff_t)1 << growth->depth;
    ptrdiff_t leaf;
    growth->n_strips = 0;
    growth->n_blocks = fewer(vt_most_blocks(growth->n_rows), n_leaves > p.n_kept ? p.n_kept : (n_leaves + 1) / 2);
    if (growth->depth == 0) add_strips(growth, 0, 0, growth->n_rows);
    if (growth->depth == 0 || n_leaves > p.n_kept) return;
    for (leaf = n_leaves - 2; leaf >= 0; leaf -= 2) { /* backwards: a pair of slots takes the place of one */
        const ptrdiff_t middle = starts[leaf + 1], both = p.slots[leaf / 2], fresh = (n_leaves + leaf) / 2;
        const int is_left = middle - starts[leaf] < starts[leaf + 2] - middle; /* has fewer rows */
        p.slots[leaf] = is_left ? fresh : both;
        p.slots[leaf + 1] = is_left ? both : fresh;
        add_strips(growth, leaf + !is_left, starts[leaf + !is_left], starts[leaf + 1 + !is_left]);
    }
}

/* Numbers of the histograms of a leaf. */
static inline ptrdiff_t histogram_size(const vt_growth *growth, const parts *p)
{
    return 2 * p->offsets[growth->n_candidates] * growth->n_outputs;
}

static void sum_strip(vt_growth *growth, ptrdiff_t i)
{
    const parts p = parts_of(growth);
    const vt_strip strip = growth->strips[i];
    build_histograms(growth, &p, strip.start, strip.stop - strip.start,
                     p.strip_sums + i * histogram_size(growth, &p));
}

/* Histograms of a leaf: of its rows, or those of its strips. */
static void sum_leaf(const vt_growth *growth, const parts *p, ptrdiff_t leaf, ptrdiff_t start, ptrdiff_t n_rows,
                     double *sums)
{
    const ptrdiff_t size = histogram_size(growth, p);
    ptrdiff_t strip = 0, i;
    while (strip < growth->n_strips && growth->strips[strip].leaf != leaf) strip++;
    if (strip == growth->n_strips) {
        build_histograms(growth, p, start, n_rows, sums);
        return;
    }
    memcpy(sums, p->strip_sums + strip * size, size * sizeof *sums);
    for (strip++; strip < growth->n_strips && growth->strips[strip].leaf == leaf; strip++) {
        const double *restrict more = p->strip_sums + strip * size;
#pragma omp simd
        for (i = 0; i < size; i++) sums[i] += more[i];
    }
}

/* Gains of all splits, over the leaves of a block. */
static void find_gains(vt_growth *growth, ptrdiff_t block)
{
    const parts p = parts_of(growth);
    const ptrdiff_t *starts = p.starts[growth->depth & 1], n_leaves = (ptrdiff_t)1 << growth->depth;
    const ptrdiff_t n_used = p.offsets[growth->n_candidates], size = histogram_size(growth, &p);
    float *gains = p.gains + block * n_used;
    double score = 0;
    ptrdiff_t leaf, pair, i;
    memset(gains, 0, n_used * sizeof *gains);
    if (growth->depth == 0) {
        sum_leaf(growth, &p, 0, 0, growth->n_rows, p.sums);
        set_scale(growth, p.sums, p.offsets[1]);
        score = add_leaf_gains(growth, &p, 0, growth->n_rows, p.sums, gains);
    } else if (n_leaves > p.n_kept) {
        double *sums = p.sums + block * size;
        for (leaf = start_of(growth, block, n_leaves); leaf < start_of(growth, block + 1, n_leaves); leaf++) {
            const ptrdiff_t start = starts[leaf], n_rows = starts[leaf + 1] - start;
            if (n_rows > 1) build_histograms(growth, &p, start, n_rows, sums);
            score += add_leaf_gains(growth, &p, start, n_rows, sums, gains);
        }
    } else {
        for (pair = start_of(growth, block + 1, n_leaves / 2) - 1; pair >= start_of(growth, block, n_leaves / 2); pair--) {
            const ptrdiff_t fresh = n_leaves / 2 + pair, less = 2 * pair + (p.slots[2 * pair] != fresh);
            double *larger = p.sums + p.slots[4 * pair + 1 - less] * size;
            if (starts[2 * pair + 2] - starts[2 * pair] > 1) {
                sum_leaf(growth, &p, less, starts[less], starts[less + 1] - starts[less], p.sums + fresh * size);
                subtract_histogram(larger, p.sums + fresh * size, size);
            }
            for (i = 2 * pair; i < 2 * pair + 2; i++)
                score += add_leaf_gains(growth, &p, starts[i], starts[i + 1] - starts[i], p.sums + p.slots[i] * size,
                                        gains);
        }
    }
    growth->scores[block] = score;
}

/* The split of the largest gain, of thresholds after the last bin of a place; the threshold of a bundle is a level. */
static int choose_split(vt_growth *growth)
{
    const parts layout = parts_of(growth), *p = &layout;
    const ptrdiff_t n_used = p->offsets[growth->n_candidates];
    ptrdiff_t j, threshold, block;
    float best;
    int i;
    growth->score = growth->scores[0];
    for (block = 1; block < growth->n_blocks; block++) {
        const float *restrict more = p->gains + block * n_used;
        growth->score += growth->scores[block];
#pragma omp simd
        for (j = 0; j < n_used; j++) p->gains[j] += more[j];
    }
    best = (float)(VT_MIN_GAIN * growth->score * growth->scale);
    growth->candidate = -1;
    for (j = 0; j < growth->n_candidates; j++) {
        const bin_layout c = p->layouts[j];
        const ptrdiff_t last = growth->n_bins[growth->candidates[j]] - 1;
        const int n_places = VT_LANES << c.shift;
        const float *restrict gains = p->gains + p->offsets[j];
        float largest = gains[0];
#pragma omp simd reduction(max : largest)
        for (i = 0; i < n_places; i++) largest = gains[i] > largest ? gains[i] : largest;
        if (!(largest > best)) continue;
        for (threshold = (1 << c.dropped) - 1; threshold < last; threshold += 1 << c.dropped)
            if (gains[byte_of((int)threshold, c) & (p->n_places - 1)] > best) {
                best = gains[byte_of((int)threshold, c) & (p->n_places - 1)];
                growth->candidate = j;
                growth->threshold = threshold;
            }
    }
    return growth->candidate >= 0;
}

/* The column and the threshold, or the level of a bundle, by which rows are split. */
typedef struct {
    const uint64_t *words;
    bin_layout layout;
    int byte, is_bundle;
    ptrdiff_t threshold;
} split;

static split split_of(const vt_growth *growth, const parts *p)
{
    const ptrdiff_t m = growth->n_candidates;
    ptrdiff_t group = 0;
    split found = {NULL, p->layouts[growth->candidate], 0, is_bundle(growth, growth->candidate), growth->threshold};
    while (first_of(group + 1, p->n_groups, m) <= growth->candidate) group++;
    found.words = p->words[growth->depth & 1] + group * growth->n_rows;
    found.byte = 8 * (int)(growth->candidate - first_of(group, p->n_groups, m));
    return found;
}

/* The order that values keep along the column of the split. */
static inline int sign_of_split(const vt_growth *growth) { return growth->signs[growth->candidates[growth->candidate]]; }

/* Bins below a window of thresholds, those in it, and those above. */
#define WINDOW (VT_LANES + 2)

/* The part of a window that each byte is in; returns the first bin of the window. */
static ptrdiff_t window_of(const vt_growth *growth, bin_layout layout, uint8_t *part)
{
    const ptrdiff_t first = growth->threshold - VT_LANES / 2 + 1 > 0 ? growth->threshold - VT_LANES / 2 + 1 : 0;
    ptrdiff_t bin;
    memset(part, 0, VT_BINS);
    for (bin = 0; bin < growth->n_bins[growth->candidates[growth->candidate]]; bin++)
        part[byte_of((int)bin, layout)] =
            (uint8_t)(bin < first ? 0 : bin < first + VT_LANES ? bin - first + 1 : WINDOW - 1);
    return first;
}

/* The sums of the rows in each part of a window. */
static void sum_window(const uint64_t *words, int byte, const uint64_t *pairs, ptrdiff_t n_rows, const uint8_t *part,
                       double *found)
{
    double sums[2][2 * WINDOW] = {{0}};
    ptrdiff_t i;
    for (i = 0; i < n_rows; i++) add_pair(sums[i & 1] + 2 * part[words[i] >> byte & 255], read_wide(pairs + i));
    for (i = 0; i < 2 * WINDOW; i++) found[i] = sums[0][i] + sums[1][i];
}

/* gains[lane] += what a threshold gains after bin `first + lane`, by the sums of the rows of a leaf. */
static void add_window(const double *sums, double reg, double scale, int sign, float *gains)
{
    double left[2 * VT_LANES], total[2] = {0, 0};
    leaf_score c;
    int k;
    for (k = 0; k < 2 * WINDOW; k++) {
        total[k & 1] += sums[k];
        if (k >= 2 && k < 2 * WINDOW - 2) left[k - 2] = total[k & 1];
    }
    c = score_leaf(total, reg, scale);
    if (sign == 0) add_sides(left, &c, gains, 0);
    else add_sides(left, &c, gains, sign);
}

/* Strips of the large leaves, and blocks for the others. */
static void plan_leaves(vt_growth *growth, const parts *p)
{
    const ptrdiff_t *starts = p->starts[growth->depth & 1], n_leaves = (ptrdiff_t)1 << growth->depth;
    ptrdiff_t leaf;
    growth->n_strips = 0;
    growth->n_blocks = fewer(vt_most_blocks(growth->n_rows), n_leaves);
    for (leaf = 0; leaf < n_leaves; leaf++) add_strips(growth, leaf, starts[leaf], starts[leaf + 1]);
}

static void plan_windows(vt_growth *growth)
{
    const parts p = parts_of(growth);
    growth->n_strips = growth->n_blocks = 0;
    if (p.layouts[growth->candidate].dropped) plan_leaves(growth, &p);
}

static void add_windows(vt_growth *growth, ptrdiff_t i)
{
    const parts p = parts_of(growth);
    const split chosen = split_of(growth, &p);
    const ptrdiff_t n = growth->n_rows, *starts = p.starts[growth->depth & 1], n_leaves = (ptrdiff_t)1 << growth->depth;
    const ptrdiff_t block = i - growth->n_strips;
    const uint64_t *pairs = p.pairs[growth->depth & 1];
    uint8_t part[VT_BINS];
    double sums[2 * WINDOW];
    ptrdiff_t leaf, k;
    window_of(growth, chosen.layout, part);
    if (block < 0) {
        const ptrdiff_t start = growth->strips[i].start, n_rows = growth->strips[i].stop - start;
        for (k = 0; k < growth->n_outputs; k++)
            sum_window(chosen.words + start, chosen.byte, pairs + k * n + start, n_rows, part,
                       p.strip_sums + 2 * WINDOW * (i * growth->n_outputs + k));
        return;
    }
    memset(growth->windows[block], 0, sizeof growth->windows[block]);
    for (leaf = start_of(growth, block, n_leaves); leaf < start_of(growth, block + 1, n_leaves); leaf++) {
        const ptrdiff_t start = starts[leaf], n_rows = starts[leaf + 1] - start;
        for (k = 0; k < growth->n_outputs && n_rows > 1 && n_rows <= vt_strip_rows(n); k++) {
            sum_window(chosen.words + start, chosen.byte, pairs + k * n + start, n_rows, part, sums);
            add_window(sums, growth->reg, growth->scale, sign_of_split(growth), growth->windows[block]);
        }
    }
}

/* The best of the thresholds around the one that was chosen. */
static void refine_split(vt_growth *growth)
{
    const parts p = parts_of(growth);
    const ptrdiff_t last = growth->n_bins[growth->candidates[growth->candidate]] - 1, n_outputs = growth->n_outputs;
    uint8_t part[VT_BINS];
    const ptrdiff_t first = window_of(growth, p.layouts[growth->candidate], part);
    float gains[VT_LANES], best = -INFINITY;
    ptrdiff_t i, j, k, bin;
    if (growth->n_blocks == 0) return;
    memcpy(gains, growth->windows[0], sizeof gains);
    for (i = 1; i < growth->n_blocks; i++)
        for (j = 0; j < VT_LANES; j++) gains[j] += growth->windows[i][j];
    for (i = 0; i < growth->n_strips; i++) {
        double *sums = p.strip_sums + 2 * WINDOW * i * n_outputs, *next = sums + 2 * WINDOW * n_outputs;
        if (i + 1 < growth->n_strips && growth->strips[i + 1].leaf == growth->strips[i].leaf) {
            for (j = 0; j < 2 * WINDOW * n_outputs; j++) next[j] += sums[j];
            continue;
        }
        for (k = 0; k < n_outputs; k++)
            add_window(sums + 2 * WINDOW * k, growth->reg, growth->scale, sign_of_split(growth), gains);
    }
    for (bin = first; bin < first + VT_LANES && bin < last; bin++)
        if (gains[bin - first] > best) {
            best = gains[bin - first];
            growth->threshold = bin;
        }
}

#if VM_AVX512
#include <immintrin.h>
/* Which of eight rows go right. */
static ALWAYS_INLINE __mmask8 right_of(const split *by, const uint64_t *words)
{
    const bin_layout c = by->layout;
    const __m512i byte = _mm512_and_si512(_mm512_srl_epi64(_mm512_loadu_si512(words), _mm_cvtsi32_si128(by->byte)),
                                          _mm512_set1_epi64(255));
    const __m512i few = _mm512_set1_epi64((1 << VT_COARSE_BITS) - 1), rest = _mm512_srli_epi64(byte, VT_COARSE_BITS);
    const __m512i place = c.dropped ? _mm512_and_si512(byte, few) : byte;
    const __m512i lane = _mm512_sll_epi64(_mm512_and_si512(place, _mm512_set1_epi64(15)), _mm_cvtsi32_si128(c.shift));
    __m512i bin = _mm512_or_si512(lane, _mm512_srli_epi64(place, 4));
    if (c.dropped) bin = _mm512_or_si512(_mm512_sll_epi64(bin, _mm_cvtsi32_si128(c.dropped)), rest);
    if (by->is_bundle) return _mm512_cmpeq_epi64_mask(bin, _mm512_set1_epi64(by->threshold));
    return _mm512_cmpgt_epi64_mask(bin, _mm512_set1_epi64(by->threshold));
}

/* to[left...] = those of eight numbers that go left, to[... right] = the others, the last first; what lies beyond may
   be overwritten where there is room.  Stores under masks are slow. */
static ALWAYS_INLINE void move(const uint64_t *from, uint64_t *to, ptrdiff_t left, ptrdiff_t right, __mmask8 is_right,
                               const int has_room)
{
    const int n_right = __builtin_popcount(is_right);
    const __m512i all = _mm512_loadu_si512(from), backwards = _mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i some = _mm512_maskz_compress_epi64((__mmask8)~is_right, all);
    const __m512i others = _mm512_permutexvar_epi64(backwards, _mm512_maskz_compress_epi64(is_right, all));
    if (has_room) {
        _mm512_storeu_si512(to + left, some);
        _mm512_storeu_si512(to + right - 7, others);
        return;
    }
    _mm512_mask_storeu_epi64(to + left, (__mmask8)(0xff >> n_right), some);
    _mm512_mask_storeu_epi64(to + right - 7, (__mmask8)~(0xff >> n_right), others);
}
#endif

/* Move what two arrays, or one, have of some rows: those that go left from `left` on, the others from `right` back.  The
   rows of a whole leaf fill what lies between; those of a strip have room up to left_end and down from right_end.
   Returns the place after the last one that went left. */
static ALWAYS_INLINE ptrdiff_t partition(const split *by, const uint8_t *restrict goes_right, const uint64_t *restrict a,
                                         uint64_t *restrict a_to, const uint64_t *restrict b, uint64_t *restrict b_to,
                                         const vt_strip *rows, const int both, const int is_whole)
{
    const uint64_t *restrict words = by->words;
    const int byte = by->byte;
    const ptrdiff_t stop = rows->stop;
    ptrdiff_t i = rows->start, left = rows->left, right = rows->right;
#if VM_AVX512
    const ptrdiff_t left_end = left + stop - i - rows->n_right, right_end = right - rows->n_right;
    for (; i + 8 <= stop; i += 8) {
        const __mmask8 is_right = right_of(by, words + i);
        const int has_room = is_whole ? right - left >= 16 : left_end - left >= 8 && right - right_end >= 8;
        if (has_room) {
            move(a + i, a_to, left, right, is_right, 1);
            if (both) move(b + i, b_to, left, right, is_right, 1);
        } else {
            move(a + i, a_to, left, right, is_right, 0);
            if (both) move(b + i, b_to, left, right, is_right, 0);
        }
        left += 8 - __builtin_popcount(is_right);
        right -= __builtin_popcount(is_right);
    }
#endif
    for (; i < stop; i++) {
        const ptrdiff_t is_right = goes_right[words[i] >> byte & 255], to = is_right ? right : left;
        a_to[to] = a[i];
        if (both) b_to[to] = b[i];
        left += 1 - is_right;
        right -= is_right;
    }
    return left;
}

/* Move all that is kept of some rows; words are not needed any more after the last level. */
static ALWAYS_INLINE ptrdiff_t partition_rows(const vt_growth *growth, const parts *p, const split *by,
                                              const uint8_t *goes_right, const vt_strip *rows, const int is_whole)
{
    const int now = growth->depth & 1, next = 1 - now, is_last = growth->depth + 1 == growth->max_depth;
    const ptrdiff_t n = growth->n_rows;
    ptrdiff_t k, middle;
    if (is_last) middle = partition(by, goes_right, p->pairs[now], p->pairs[next], NULL, NULL, rows, 0, is_whole);
    else
        middle = partition(by, goes_right, p->pairs[now], p->pairs[next], p->words[now], p->words[next], rows, 1,
                           is_whole);
    for (k = 1; k < p->n_groups && !is_last; k++)
        partition(by, goes_right, p->words[now] + k * n, p->words[next] + k * n, NULL, NULL, rows, 0, is_whole);
    for (k = 1; k < growth->n_outputs; k++)
        partition(by, goes_right, p->pairs[now] + k * n, p->pairs[next] + k * n, NULL, NULL, rows, 0, is_whole);
    return middle;
}

static void plan_moves(vt_growth *growth)
{
    const parts p = parts_of(growth);
    p.starts[1 - (growth->depth & 1)][(ptrdiff_t)2 << growth->depth] = growth->n_rows;
    plan_leaves(growth, &p);
}

/* Which bytes go right. */
static void find_right(const vt_growth *growth, const split *by, uint8_t *goes_right)
{
    ptrdiff_t bin;
    memset(goes_right, 0, VT_BINS);
    for (bin = growth->threshold + 1; bin < growth->n_bins[growth->candidates[growth->candidate]]; bin++)
        goes_right[byte_of((int)bin, by->layout)] = !by->is_bundle;
    if (by->is_bundle) goes_right[byte_of((int)by->threshold, by->layout)] = 1;
}

static void count_right(vt_growth *growth, ptrdiff_t i)
{
    const parts p = parts_of(growth);
    const split by = split_of(growth, &p);
    vt_strip *strip = growth->strips + i;
    uint8_t goes_right[VT_BINS];
    ptrdiff_t row, n_right = 0;
    find_right(growth, &by, goes_right);
    for (row = strip->start; row < strip->stop; row++) n_right += goes_right[by.words[row] >> by.byte & 255];
    strip->n_right = n_right;
}

/* Where strips move their rows to: as if those of a leaf came one after the other. */
static void place_strips(vt_growth *growth)
{
    const parts p = parts_of(growth);
    ptrdiff_t i, *starts = p.starts[growth->depth & 1], *next = p.starts[1 - (growth->depth & 1)];
    for (i = 0; i < growth->n_strips; i++) {
        vt_strip *strip = growth->strips + i;
        const int is_first = i == 0 || strip[-1].leaf != strip->leaf;
        strip->left = is_first ? strip->start : strip[-1].left + strip[-1].stop - strip[-1].start - strip[-1].n_right;
        strip->right = is_first ? starts[strip->leaf + 1] - 1 : strip[-1].right - strip[-1].n_right;
        next[2 * strip->leaf] = starts[strip->leaf];
        next[2 * strip->leaf + 1] = strip->left + strip->stop - strip->start - strip->n_right; /* of the last one */
    }
}

static void move_rows(vt_growth *growth, ptrdiff_t i)
{
    const parts p = parts_of(growth);
    const split by = split_of(growth, &p);
    const ptrdiff_t *starts = p.starts[growth->depth & 1], n_leaves = (ptrdiff_t)1 << growth->depth;
    const ptrdiff_t block = i - growth->n_strips;
    ptrdiff_t leaf, *next = p.starts[1 - (growth->depth & 1)];
    uint8_t goes_right[VT_BINS];
    find_right(growth, &by, goes_right);
    if (block < 0) {
        partition_rows(growth, &p, &by, goes_right, growth->strips + i, 0);
        return;
    }
    for (leaf = start_of(growth, block, n_leaves); leaf < start_of(growth, block + 1, n_leaves); leaf++) {
        const ptrdiff_t start = starts[leaf], stop = starts[leaf + 1];
        const vt_strip whole = {leaf, start, stop, 0, start, stop - 1};
        if (stop - start > vt_strip_rows(growth->n_rows)) continue;
        next[2 * leaf] = start;
        next[2 * leaf + 1] = partition_rows(growth, &p, &by, goes_right, &whole, 1);
    }
}

static void plan_values(vt_growth *growth)
{
    growth->n_blocks = fewer(vt_most_blocks(growth->n_rows), (ptrdiff_t)1 << growth->depth);
}

static void find_values(vt_growth *growth, ptrdiff_t block, double *values)
{
    const parts p = parts_of(growth);
    const int now = growth->depth & 1;
    const ptrdiff_t n_leaves = (ptrdiff_t)1 << growth->depth;
    ptrdiff_t place, k, level;
    double score = 0;
    for (place = start_of(growth, block, n_leaves); place < start_of(growth, block + 1, n_leaves); place++) {
        ptrdiff_t leaf = 0, start = p.starts[now][place];
        for (level = 0; level < growth->depth; level++) leaf |= (place >> level & 1) << (growth->depth - 1 - level);
        for (k = 0; k < growth->n_outputs; k++) {
            double g, h;
            add_leaf(p.pairs[now] + k * growth->n_rows + start, p.starts[now][place + 1] - start, &g, &h);
            values[leaf * growth->n_outputs + k] = g / (h + growth->reg);
            score += g * g / (h + growth->reg);
        }
    }
    growth->scores[block] = score;
}

static void finish(vt_growth *growth)
{
    ptrdiff_t block;
    growth->score = 0;
    for (block = 0; block < growth->n_blocks; block++) growth->score += growth->scores[block];
}
