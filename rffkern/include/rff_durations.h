/* Seconds of durations, such as 26:30:00, 1 days 02:15:00, P1DT2H and 2h 15m: `_DURATIONS` of
 * rffkern/_column_map/cells.py.
 */
#ifndef RFF_DURATIONS_H
#define RFF_DURATIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* One to nine digits, and their value; return how many, or 0. */
static int rff_take_whole(const char **at, uint64_t *value)
{
    int n = 0;
    for (*value = 0; **at >= '0' && **at <= '9'; n++, ++*at)
        if (n < 9) *value = 10 * *value + (uint64_t)(**at - '0');
    return n <= 9 ? n : 0;
}

/* Digits after a point, if there is one, in units of 1e-9; 0 where none follow it. */
static int rff_take_fraction(const char **at, uint64_t *billionths)
{
    int n;
    *billionths = 0;
    if (**at != '.') return 1;
    ++*at;
    n = rff_take_whole(at, billionths);
    for (; n > 0 && n < 9; n++) *billionths *= 10;
    return n;
}

/* whole + billionths / 1e9, rounded once: 55 bits of it, the last of which is 1 where anything follows. */
static double rff_decimal_of(uint64_t whole, uint64_t billionths)
{
    int power = 0;
    if (billionths == 0) return (double)whole;
    for (; whole < (uint64_t)1 << 54; power++) {
        billionths *= 2;
        whole = 2 * whole + (billionths >= 1000000000);
        billionths %= 1000000000;
    }
    return ldexp((double)(whole | (billionths != 0)), -power);
}

/* Minutes and seconds of a clock behind its hours. */
static int rff_take_clock(const char *at, double hours, double sign, double *total)
{
    uint64_t minutes, seconds = 0, billionths = 0;
    at++;
    if (rff_take_whole(&at, &minutes) != 2 || minutes > 59) return 0;
    if (*at == ':') {
        at++;
        if (rff_take_whole(&at, &seconds) != 2 || seconds > 59 || !rff_take_fraction(&at, &billionths)) return 0;
    }
    *total += sign * 3600 * hours;
    *total += sign * 60 * (double)minutes;
    *total += sign * rff_decimal_of(seconds, billionths);
    return *at == 0;
}

/* Whether n letters are one of the words of a list, which has a blank before and after each. */
static int rff_has_word(const char *list, const char *word, size_t n)
{
    for (; list[1]; list = strchr(list + 1, ' '))
        if (strncmp(list + 1, word, n) == 0 && list[1 + n] == ' ') return 1;
    return 0;
}

/* The seconds of a text in lower case without outer blanks, in which any character that no duration has stands for those
   beyond ASCII; 0 if it is none. */
static int rff_read_duration(const char *at, double *seconds)
{
    static const char *const words[] = {
        " w wk wks week weeks ", " d day days ", " h hr hrs hour hours ", " m min mins minute minutes ",
        " s sec secs second seconds "};
    static const double units[] = {604800, 86400, 3600, 60, 1};
    const double sign = *at == '-' ? -1 : 1;
    int is_iso, has_time = 0, found = 0, place = 0;
    *seconds = 0;
    at += *at == '-' || *at == '+';
    is_iso = *at == 'p';
    for (at += is_iso; *at;) {
        const int has_sign = *at == '+';
        const char *after;
        uint64_t whole, billionths;
        size_t n = 0;
        at += has_sign;
        if (is_iso && !has_time && *at == 't') has_time = 1, at++;
        if (!rff_take_whole(&at, &whole)) return 0;
        if (*at == ':') /* behind days alone; with a sign of its own, as in -1 days +23:00:00 */
            return !is_iso && (found & ~2) == 0 && rff_take_clock(at, (double)whole, has_sign ? 1 : sign, seconds);
        after = at;
        if (has_sign || !rff_take_fraction(&at, &billionths)) return 0;
        if (at > after) place = 4; /* of seconds alone */
        at += !is_iso && *at == ' ';
        while (at[n] >= 'a' && at[n] <= 'z' && !(is_iso && n)) n++;
        for (; place < 5 && !rff_has_word(words[place], at, n); place++) continue;
        if (place == 5 || (is_iso && has_time != (place > 1))) return 0;
        *seconds += sign * units[place] * rff_decimal_of(whole, billionths);
        found |= 1 << place++;
        at += n;
        at += !is_iso && *at == ',';
        at += !is_iso && *at == ' ';
    }
    return found != 0;
}

#endif
