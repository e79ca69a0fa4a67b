/* Decimal text and double precision: rounded exactly, in any locale.
 *
 * Few digits are rounded once by a product or quotient; others by whole numbers of as many bits as it takes.
 */
#ifndef RFF_EXACT_DECIMALS_H
#define RFF_EXACT_DECIMALS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RFF_MOST_DIGITS 770  /* that can matter: a number half way between two others has at most 767 */
#define RFF_BIG_WORDS 120    /* 10^(330 + RFF_MOST_DIGITS) shifted by 64 bits */
#define RFF_SHORTEST_ROOM 32 /* characters that `rff_write_number` takes */

/* A whole number, its words from low to high; n of them are used. */
typedef struct {
    uint32_t words[RFF_BIG_WORDS];
    int n;
} rff_big;

/* big = big * factor + more */
static void rff_multiply(rff_big *big, uint32_t factor, uint32_t more)
{
    uint64_t carry = more;
    int i;
    for (i = 0; i < big->n; i++) {
        carry += (uint64_t)big->words[i] * factor;
        big->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) big->words[big->n++] = (uint32_t)carry;
}

static void rff_multiply_by_ten(rff_big *big, int times)
{
    for (; times >= 9; times -= 9) rff_multiply(big, 1000000000, 0);
    for (; times > 0; times--) rff_multiply(big, 10, 0);
}

static void rff_shift(rff_big *big, int times)
{
    for (; times >= 31; times -= 31) rff_multiply(big, (uint32_t)1 << 31, 0);
    if (times > 0) rff_multiply(big, (uint32_t)1 << times, 0);
}

static int rff_bits(const rff_big *big)
{
    uint32_t top = big->n ? big->words[big->n - 1] : 0;
    int n = 0;
    for (; top; top >>= 1) n++;
    return big->n ? 32 * (big->n - 1) + n : 0;
}

/* The order of a + b and c; NULL for a b of 0. */
static int rff_compare_sum(const rff_big *a, const rff_big *b, const rff_big *c)
{
    rff_big sum = *a;
    uint64_t carry = 0;
    int i;
    for (i = 0; b && (i < b->n || carry); i++) {
        carry += i < b->n ? b->words[i] : 0;
        carry += i < sum.n ? sum.words[i] : 0;
        sum.words[i] = (uint32_t)carry;
        sum.n = i < sum.n ? sum.n : i + 1;
        carry >>= 32;
    }
    if (sum.n != c->n) return sum.n < c->n ? -1 : 1;
    for (i = sum.n; i--;)
        if (sum.words[i] != c->words[i]) return sum.words[i] < c->words[i] ? -1 : 1;
    return 0;
}

/* a -= b, which is not larger. */
static void rff_subtract(rff_big *a, const rff_big *b)
{
    int64_t borrow = 0;
    int i;
    for (i = 0; i < a->n; i++) {
        borrow += (int64_t)a->words[i] - (i < b->n ? b->words[i] : 0);
        a->words[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->n && !a->words[a->n - 1]) a->n--;
}

/* above / below for positive numbers, rounded to the nearest, of two to the even one; both are changed. */
static double rff_quotient(rff_big *above, rff_big *below)
{
    const int power = rff_bits(above) - rff_bits(below) + 1; /* above / below < 2^power */
    const int n_bits = power + 1075 < 55 ? power + 1075 : 55; /* of which the last, below those of doubles, rounds */
    uint64_t bits = 0, rest;
    int i, n_dropped;
    rff_shift(power > 0 ? below : above, power > 0 ? power : -power);
    for (i = 0; i < n_bits; i++) {
        rff_shift(above, 1);
        bits <<= 1;
        if (rff_compare_sum(above, NULL, below) < 0) continue;
        rff_subtract(above, below);
        bits |= 1;
    }
    n_dropped = bits >> 54 ? 2 : 1;
    rest = bits & (((uint64_t)1 << n_dropped) - 1);
    bits >>= n_dropped;
    if (rest > (uint64_t)1 << (n_dropped - 1) || (rest == (uint64_t)1 << (n_dropped - 1) && (above->n || bits & 1)))
        bits++;
    return n_bits > 0 ? ldexp((double)bits, power - n_bits + n_dropped) : 0;
}

/* digits * 10^exponent, where n_digits of a text with a point among them count, and `more` of those after are not 0. */
static double rff_scaled_digits(const char *text, int n_digits, int more, int exponent)
{
    rff_big above = {{0}, 0}, below = {{1}, 1};
    for (; n_digits; text++) {
        if (*text == '.' || (*text == '0' && !above.n)) continue;
        rff_multiply(&above, 10, (uint32_t)(*text - '0'));
        n_digits--;
    }
    if (more) {
        rff_multiply(&above, 10, 1);
        exponent--;
    }
    rff_multiply_by_ten(exponent > 0 ? &above : &below, exponent > 0 ? exponent : -exponent);
    return rff_quotient(&above, &below);
}

/* Whether all of a text is digits, among them a point or not, and an exponent or not; and the number, which is infinite
   where it is too large. */
static int rff_read_decimal(const char *text, size_t size, double *value)
{
    const char *at = text, *end = text + size;
    uint64_t few = 0;
    int64_t exponent = 0, written = 0;
    int n_kept = 0, any = 0, point = 0, more = 0, minus = 0, k;
    double power = 1;
    for (; at < end; at++) {
        if (*at == '.' && !point) {
            point = 1;
            continue;
        }
        if (*at < '0' || *at > '9') break;
        any = 1;
        if ((n_kept || *at != '0') && n_kept < RFF_MOST_DIGITS) {
            if (n_kept++ < 19) few = 10 * few + (uint64_t)(*at - '0');
        } else if (n_kept) { /* this digit does not count, but its place */
            more |= *at != '0';
            exponent++;
        }
        exponent -= point;
    }
    if (!any) return 0;
    if (at < end && (*at == 'e' || *at == 'E')) {
        if (++at < end && (*at == '+' || *at == '-')) minus = *at++ == '-';
        if (at == end) return 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            if (written < 1000000000000000) written = 10 * written + (*at - '0');
        exponent += minus ? -written : written;
    }
    if (at < end) return 0;
    if (!n_kept || n_kept + exponent < -330) {
        *value = 0;
    } else if (n_kept + exponent > 310) {
        *value = HUGE_VAL;
    } else if (FLT_EVAL_METHOD == 0 && n_kept < 20 && few <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22) {
        for (k = 0; k < exponent || k < -exponent; k++) power *= 10;
        *value = exponent < 0 ? (double)few / power : (double)few * power;
    } else {
        *value = rff_scaled_digits(text, n_kept, more, (int)exponent);
    }
    return 1;
}

/* The fewest digits that are read as a positive number, of those the nearest to it; return how many, and the power of
   ten of the point before them.  Steele and White's algorithm as Burger and Dybvig have it (PLDI 1996): rest / unit is
   what is left of the number, and it may be off by low / unit or high / unit. */
static int rff_shortest_digits(double value, char digits[20], int *point)
{
    rff_big rest = {{0}, 2}, unit = {{1}, 1}, low = {{1}, 1}, high;
    int power, is_even, is_edge, n = 0, k;
    const uint64_t bits = (uint64_t)ldexp(frexp(value, &power), 53);
    power -= 53;
    for (k = 0; power + k < -1074; k++) continue; /* a number below the normal ones has fewer bits */
    is_even = (bits >> k) % 2 == 0;
    is_edge = bits == (uint64_t)1 << 52 && k == 0 && power > -1074;
    rest.words[0] = (uint32_t)(bits >> k);
    rest.words[1] = (uint32_t)(bits >> k >> 32);
    rest.n = rest.words[1] ? 2 : 1;
    power += k;
    rff_shift(&rest, 1 + is_edge + (power > 0 ? power : 0));
    rff_shift(&unit, 1 + is_edge + (power < 0 ? -power : 0));
    rff_shift(&low, power > 0 ? power : 0);
    high = low;
    rff_shift(&high, is_edge);
    *point = (int)ceil(log10(value) - 1e-10);
    if (*point > 0) rff_multiply_by_ten(&unit, *point);
    else rff_multiply_by_ten(&rest, -*point), rff_multiply_by_ten(&low, -*point), rff_multiply_by_ten(&high, -*point);
    if (rff_compare_sum(&rest, &high, &unit) >= (is_even ? 0 : 1)) {
        ++*point;
    } else {
        rff_multiply_by_ten(&rest, 1), rff_multiply_by_ten(&low, 1), rff_multiply_by_ten(&high, 1);
    }
    for (;;) {
        int is_low, is_high;
        for (k = 0; rff_compare_sum(&rest, NULL, &unit) >= 0; k++) rff_subtract(&rest, &unit);
        is_low = rff_compare_sum(&rest, NULL, &low) < (is_even ? 1 : 0);
        is_high = rff_compare_sum(&rest, &high, &unit) >= (is_even ? 0 : 1);
        if (is_low && is_high) {
            const int half = rff_compare_sum(&rest, &rest, &unit);
            is_high = half > 0 || (half == 0 && k % 2);
        }
        digits[n++] = (char)('0' + k + is_high);
        if (is_low || is_high) return n;
        rff_multiply_by_ten(&rest, 1), rff_multiply_by_ten(&low, 1), rff_multiply_by_ten(&high, 1);
    }
}

/* The text of a number as `level_text` of rffkern/_column_map/cells.py has it: whole numbers below 2^53 without a
   point, others as `repr` of Python.  Return its length. */
static size_t rff_write_number(double value, char text[RFF_SHORTEST_ROOM])
{
    char digits[20], *at = text;
    int n, point, k;
    if (value != value) return (size_t)(memcpy(text, "nan", 3), 3);
    if (value < 0) *at++ = '-';
    value = fabs(value);
    if (value > DBL_MAX) return (size_t)(memcpy(at, "inf", 3), at + 3 - text);
    if (value < 0x1p53 && value == floor(value)) {
        uint64_t whole = (uint64_t)value;
        for (n = 0; n == 0 || whole; whole /= 10) digits[n++] = (char)('0' + whole % 10);
        while (n) *at++ = digits[--n];
        return (size_t)(at - text);
    }
    n = rff_shortest_digits(value, digits, &point);
    if (point > 16 || point < -3) {
        *at++ = digits[0];
        if (n > 1) *at++ = '.';
        for (k = 1; k < n; k++) *at++ = digits[k];
        *at++ = 'e';
        *at++ = point > 0 ? '+' : '-';
        point = point > 0 ? point - 1 : 1 - point;
        if (point >= 100) *at++ = (char)('0' + point / 100);
        *at++ = (char)('0' + point / 10 % 10);
        *at++ = (char)('0' + point % 10);
        return (size_t)(at - text);
    }
    if (point < 1) *at++ = '0';
    for (k = point < 1 ? point : 0; k < n || k < point; k++) {
        if (k == point) *at++ = '.';
        *at++ = k >= 0 && k < n ? digits[k] : '0';
    }
    if (point >= n) *at++ = '.', *at++ = '0';
    return (size_t)(at - text);
}

#endif
