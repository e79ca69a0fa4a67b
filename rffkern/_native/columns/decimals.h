/* Numbers in plain decimal text, rounded to the nearest double: ties to even, as Python's `float` does. */
#ifndef RFF_DECIMALS_H
#define RFF_DECIMALS_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Powers of ten that double precision holds without rounding. */
static const double dec_powers[23] = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22};

/* digits / 10^places for 1 <= places <= 27 and digits > 0; 0 where the compiler has no integers of 128 bits. */
static inline int dec_quotient(uint64_t digits, int places, double *value)
{
#ifdef __SIZEOF_INT128__
    uint64_t divisor = 1, top, low, bits, rest;
    unsigned __int128 quotient, dividend;
    double unit;
    int k, left = __builtin_clzll(digits), shift;

    for (k = 0; k < places; k++)
        divisor *= 5;  /* 5^27 has 63 bits */
    dividend = (unsigned __int128)(digits << left) << 64;  /* so that the quotient has 64 bits or more */
    quotient = dividend / divisor;
    rest = (uint64_t)(dividend - quotient * divisor);
    top = (uint64_t)(quotient >> 64);
    shift = (top ? 128 - __builtin_clzll(top) : 64) - 54;  /* all but 54 bits, the last of which rounds */
    low = (quotient & (((unsigned __int128)1 << shift) - 1)) != 0 || rest != 0;
    bits = (uint64_t)(quotient >> shift);
    bits = (bits >> 1) + ((bits & 1) & (low | (bits >> 1 & 1)));
    top = (uint64_t)(1023 + shift + 1 - 64 - left - places) << 52;  /* a power of two, of a normal number */
    memcpy(&unit, &top, sizeof(unit));
    *value = (double)bits * unit;
    return 1;
#else
    (void)digits; (void)places; (void)value;
    return 0;
#endif
}

/* The end of a cell that begins at `at` and holds a number, or NULL where it holds something else, or a number that
   needs more than 64 bits to round: a cell ends before the delimiter, a line break or the end of the text. */
static inline const unsigned char *dec_cell(const unsigned char *at, const unsigned char *end, unsigned char delimiter,
                                            double *value)
{
    uint64_t digits = 0;
    int n_digits = 0, n_significant = 0, exponent = 0, written = 0, below = 0, negative, k;

    while (at < end && *at == ' ')
        at++;
    negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    for (; at < end; at++) {
        if (*at == '.' && !below) {
            below = 1;
            continue;
        }
        if (*at < '0' || *at > '9')
            break;
        n_digits++;
        n_significant += n_significant || *at != '0';
        exponent -= below;
        if (n_significant > 19 || n_digits > 60)  /* before `digits` wraps around */
            return NULL;
        digits = 10 * digits + (uint64_t)(*at - '0');
    }
    if (n_digits == 0)
        return NULL;
    if (at < end && (*at == 'e' || *at == 'E')) {
        int minus;

        at++;
        minus = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+'))
            at++;
        for (k = 0; at < end && *at >= '0' && *at <= '9'; at++, k++) {
            written = 10 * written + (*at - '0');
            if (k == 3)
                return NULL;
        }
        if (k == 0)
            return NULL;
        exponent += minus ? -written : written;
    }
    while (at < end && *at == ' ')
        at++;
    if (at < end && *at != delimiter && *at != '\n' && *at != '\r')
        return NULL;
    if (digits == 0)
        *value = 0;
    else if (FLT_EVAL_METHOD == 0 && (digits <= (uint64_t)1 << 53 || exponent == 0) && exponent >= -22 && exponent <= 22)
        *value = exponent < 0 ? (double)digits / dec_powers[-exponent] : (double)digits * dec_powers[exponent];
    else if (exponent > -1 || exponent < -27 || !dec_quotient(digits, -exponent, value))
        return NULL;
    if (negative)
        *value = -*value;
    return at;
}

#endif
