/* Scores of free text by its words and letters: rffkern/_column_map/text.py. */
#ifndef RFF_TEXT_H
#define RFF_TEXT_H

#include "rff_reader.h"
#include "rff_unicode.h"

/* Letters of a text that are read; those of its words and of a blank after each, where a letter may become a letter and
   an end of a word; and n-grams of these: a word of m letters has 2 m + 1 at most. */
enum { RFF_MOST_LETTERS = 4096, RFF_MOST_PLAIN = 2 * RFF_MOST_LETTERS + 3, RFF_MOST_GRAMS = 2 * RFF_MOST_PLAIN };

typedef struct {
    size_t n_scores;
    int n_bits;                  /* of the number of buckets, from 10 to 16 */
    const double *shifts;        /* (n_scores,) */
    const double *idf;           /* (2^n_bits,) */
    const double *coefficients;  /* (n_scores, 2^n_bits) */
} rff_text_form;

/* What a text is scored in. */
typedef struct {
    uint32_t plain[RFF_MOST_PLAIN];
    union {
        uint32_t letters[RFF_MOST_LETTERS];
        uint16_t buckets[2][RFF_MOST_GRAMS];
    } of;
} rff_text_work;

/* Whether a letter is in sorted ranges. */
static int rff_is_in(uint32_t c, const uint32_t (*ranges)[2], size_t n)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (c < ranges[middle][0]) high = middle;
        else if (c > ranges[middle][1]) low = middle + 1;
        else return 1;
    }
    return 0;
}

#define RFF_IS_IN(c, ranges) rff_is_in(c, ranges, sizeof(ranges) / sizeof *(ranges))

/* Whether the letter before or after a place, beyond marks that have no case, has one. */
static int rff_is_cased(const uint32_t *letters, int n, int place, int step)
{
    for (place += step; place >= 0 && place < n; place += step)
        if (!RFF_IS_IN(letters[place], rff_ignored_letters)) return RFF_IS_IN(letters[place], rff_cased_letters);
    return 0;
}

/* The lower case of a letter among others, as `str.lower` has it; of I with a dot without it. */
static uint32_t rff_lower_case(const uint32_t *letters, int n, int place)
{
    const uint32_t c = letters[place];
    size_t low = 0, high = sizeof rff_upper_letters / sizeof *rff_upper_letters;
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if (c == 0x130) return 'i';
    if (c == 0x3a3) return rff_is_cased(letters, n, place, -1) && !rff_is_cased(letters, n, place, 1) ? 0x3c2 : 0x3c3;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int32_t *found = rff_upper_letters[middle];
        if ((int32_t)c < found[0]) high = middle;
        else if ((int32_t)c > found[1]) low = middle + 1;
        else return ((int32_t)c - found[0]) % found[2] ? c : (uint32_t)((int32_t)c + found[3]);
    }
    return c;
}

/* The words of a text of UTF-8 in work->plain, each between two blanks; the number of letters. */
static int rff_find_words(const char *text, size_t size, rff_text_work *work)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + size;
    uint32_t *letters = work->of.letters, *plain = work->plain;
    int i, n = 0, n_plain = 1;
    while (at < end && n < RFF_MOST_LETTERS) letters[n++] = rff_decode(&at);
    plain[0] = ' ';
    for (i = 0; i < n; i++) {
        const uint32_t c = rff_lower_case(letters, n, i);
        if (RFF_IS_IN(c, rff_word_letters)) plain[n_plain++] = c;
        else if (plain[n_plain - 1] != ' ') plain[n_plain++] = ' ';
        if (letters[i] == 0x130) plain[n_plain++] = ' '; /* its dot becomes a mark by itself */
    }
    if (plain[n_plain - 1] != ' ') plain[n_plain++] = ' ';
    return n_plain;
}

/* The bucket of an n-gram of some kind: a polynomial of its letters, mixed by the steps of SplitMix64. */
static uint16_t rff_bucket(const uint32_t *letters, int n, unsigned kind, int n_bits)
{
    uint64_t z = kind * 0xd1b54a32d192ed03u, power = 1;
    for (; n > 0; n--, power *= 0x9e3779b97f4a7c15u) z += (*letters++ + (uint64_t)1) * power;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint16_t)((z ^ (z >> 31)) >> (64 - n_bits));
}

/* The buckets of all n-grams of words in work->plain, in work->of.buckets[0]; how many there are. */
static int rff_find_buckets(rff_text_work *work, int n_plain, int n_bits)
{
    const uint32_t *plain = work->plain;
    uint16_t *buckets = work->of.buckets[0];
    int i, k, size, word = 1, before = 0, n = 0;
    for (i = 1; i < n_plain; i++) {
        if (plain[i] != ' ') continue;
        buckets[n++] = rff_bucket(plain + word, i - word, 1, n_bits);
        if (before) buckets[n++] = rff_bucket(plain + before, i - before, 2, n_bits);
        for (size = 3; size <= 4; size++)
            for (k = word - 1; k + size <= i + 1; k++)
                buckets[n++] = rff_bucket(plain + k, size, 10 + (unsigned)size, n_bits);
        before = word;
        word = i + 1;
    }
    return n;
}

/* Sort work->of.buckets[0]: by the lower byte into the other array, then by the upper one back. */
static void rff_sort_buckets(rff_text_work *work, int n)
{
    int starts[257], pass, i;
    for (pass = 0; pass < 2; pass++) {
        const uint16_t *from = work->of.buckets[pass];
        uint16_t *to = work->of.buckets[1 - pass];
        memset(starts, 0, sizeof starts);
        for (i = 0; i < n; i++) starts[(from[i] >> 8 * pass & 255) + 1]++;
        for (i = 0; i < 255; i++) starts[i + 1] += starts[i];
        for (i = 0; i < n; i++) to[starts[from[i] >> 8 * pass & 255]++] = from[i];
    }
}

/* `_logarithms` of text.py. */
static double rff_log_of_count(int count)
{
    double m = count, ratio, square, series = 0;
    int exponent = 0, k;
    for (; m >= 0x1.6a09e667f3bcdp+0; m *= 0.5) exponent++;
    ratio = (m - 1) / (m + 1);
    square = ratio * ratio;
    for (k = 23; k > 0; k -= 2) series = series * square + 2.0 / k;
    return exponent * 0x1.62e42fefa39efp-1 + ratio * series;
}

/* scores[k] = beta_k . x + shift_k, as `TextForm.of_texts` gives them, of a text without blanks around it. */
static void rff_score_text(const rff_text_form *form, const char *text, size_t size, double *scores,
                           rff_text_work *work)
{
    const int n = rff_find_buckets(work, rff_find_words(text, size, work), form->n_bits);
    const uint16_t *buckets = work->of.buckets[0];
    double length = 0;
    int pass, i, next;
    size_t k;
    rff_sort_buckets(work, n);
    for (k = 0; k < form->n_scores; k++) scores[k] = 0;
    for (pass = 0; pass < 2; pass++) { /* the length of x, then scores */
        for (i = 0; i < n; i = next) {
            double value;
            for (next = i + 1; next < n && buckets[next] == buckets[i]; next++) continue;
            value = (1 + (next - i > 1 ? rff_log_of_count(next - i) : 0)) * form->idf[buckets[i]];
            if (pass == 0) length += value * value;
            for (k = 0; pass == 1 && k < form->n_scores; k++)
                scores[k] += value / length * form->coefficients[(k << form->n_bits) + buckets[i]];
        }
        if (pass == 0) length = length > 0 ? sqrt(length) : 1;
    }
    for (k = 0; k < form->n_scores; k++) scores[k] += form->shifts[k];
}

#endif
