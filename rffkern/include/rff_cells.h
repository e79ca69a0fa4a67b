/* Values of cells, as a fitted column takes them: rffkern/_column_map/cells.py and fitted_column.py.
 *
 * Numbers are as they are, dates are seconds since 1970, and categories the indices of their levels; nan is missing.
 * Text is read by the rules of docs/tables.md, without the locale.  Exported C files have these functions too.
 */
#ifndef RFF_CELLS_H
#define RFF_CELLS_H

#include "rff_durations.h"
#include "rff_reader.h"
#include "rff_text.h"

#define RFF_LARGEST_CELL 0x1p1022
#define RFF_LONGEST_TEXT 64 /* characters of a date, of a number with marks, and of a word with a meaning */
#define RFF_LONGEST_WHOLE 400 /* digits of a whole number that is a level by all of them */
#define RFF_FIRST_YEAR_OF_1900 69 /* of two digits */
#define RFF_DAYS_BEFORE_1970 719162 /* from the first of January of the year 1 on */

/* A text in lower case. */
typedef struct {
    uint32_t chars[RFF_LONGEST_TEXT + 1];
    int n;
} rff_word;

/* What `str.strip` takes away. */
static int rff_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680
           || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static rff_span rff_strip(const char *text, size_t size)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + size, *next;
    rff_span found;
    for (next = at; at < end; at = next)
        if (!rff_is_space(rff_decode(&next))) break;
    while (at < end) {
        const uint8_t *last;
        for (next = end - 1; (*next & 0xc0) == 0x80; next--) continue;
        last = next;
        if (!rff_is_space(rff_decode(&last))) break;
        end = next;
    }
    found.at = at;
    found.size = (size_t)(end - at);
    return found;
}

/* The plain forms of marks: PLAIN_MARKS of `_column_map/cells.py`. */
static uint32_t rff_plain(uint32_t c)
{
    return c == 0xa0 || c == 0x202f || c == 0x2009 || c == 0x2007 ? ' ' : c == 0x2019 ? '\''
        : c == 0x2212 || c == 0x2013 ? '-' : c == 0x5e74 || c == 0x6708 ? '/' : c;
}

/* Lay a text out in lower case, with plain marks if so; 0 where it is longer than any that means something. */
static int rff_lay(rff_span text, int with_plain_marks, rff_word *word)
{
    const uint8_t *at = text.at, *end = at + text.size;
    uint32_t letters[RFF_LONGEST_TEXT];
    int n = 0, k;
    while (at < end) {
        const uint32_t c = rff_decode(&at);
        if (with_plain_marks && c == 0x65e5) continue;
        if (n == RFF_LONGEST_TEXT) return 0;
        letters[n++] = with_plain_marks ? rff_plain(c) : c;
    }
    for (word->n = k = 0; k < n; k++) {
        if (word->n + (letters[k] == 0x130) >= RFF_LONGEST_TEXT) return 0;
        word->chars[word->n++] = rff_lower_case(letters, n, k);
        if (letters[k] == 0x130) word->chars[word->n++] = 0x307; /* I with a dot becomes i with one that combines */
    }
    word->chars[word->n] = 0;
    return 1;
}

/* How many characters of a word from a place on are those of an entry of Latin-1; 0 if they differ. */
static int rff_match(const rff_word *word, int place, const char *entry, int length)
{
    int k;
    for (k = 0; k < length; k++)
        if (place + k >= word->n || word->chars[place + k] != (uint8_t)entry[k]) return 0;
    return length;
}

/* Go through entries that are separated by blanks: the next one and its length, or 0 after the last. */
static int rff_next_entry(const char **list, const char **entry)
{
    int length = 0;
    while (**list == ' ') ++*list;
    for (*entry = *list; **list && **list != ' '; ++*list) length++;
    return length;
}

static int rff_is_among(const rff_word *word, const char *list)
{
    const char *entry;
    int length;
    while ((length = rff_next_entry(&list, &entry)) != 0)
        if (length == word->n && rff_match(word, 0, entry, length)) return 1;
    return 0;
}

/* --- levels */

static const char rff_missing_words[] = "na n/a #n/a nan null none nat <na> -nan +nan ? .";
static const char rff_words_of_no[] = "false no n f nein falsch non faux falso";
static const char rff_words_of_yes[] = "true yes y t ja wahr oui vrai s\355 si s\354 verdadero vero";

static int rff_is_missing(rff_span text)
{
    rff_word word;
    return text.size == 0 || (text.size <= RFF_LONGEST_TEXT && rff_lay(text, 0, &word)
                              && rff_is_among(&word, rff_missing_words));
}

static int rff_compare_bytes(rff_span text, rff_span other)
{
    const size_t common = text.size < other.size ? text.size : other.size;
    const int order = common ? memcmp(text.at, other.at, common) : 0;
    return order ? order : (text.size > other.size) - (text.size < other.size);
}

/* The place of a level: bytes of UTF-8 are in the order of code points, as files have levels.  The number of levels if
   there is no such level. */
static size_t rff_find_level(const rff_texts *levels, rff_span text)
{
    size_t low = 0, high = levels->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = rff_compare_bytes(levels->at[middle], text);
        if (order == 0) return middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return levels->n;
}

static size_t rff_find_ascii(const rff_texts *levels, const char *text, size_t size)
{
    rff_span span;
    span.at = (const uint8_t *)text;
    span.size = size;
    return rff_find_level(levels, span);
}

static size_t rff_find_boolean(const rff_texts *levels, int value)
{
    return rff_find_ascii(levels, value ? "True" : "False", value ? 4 : 5);
}

/* The level of the canonical text of a number, which a boolean may mean too. */
static size_t rff_find_number(const rff_texts *levels, const char *text, size_t size)
{
    const size_t found = rff_find_ascii(levels, text, size);
    return found == levels->n && size == 1 && (*text == '0' || *text == '1') ? rff_find_boolean(levels, *text == '1')
                                                                             : found;
}

/* The index of a level that has one, of a rare one, or nan. */
static double rff_code(const rff_column *column, size_t found)
{
    return found < column->levels.n || column->has_rare ? (double)found : NAN;
}

/* A number as Python's `float` reads it, nan and infinity too; `minus` is whether a minus sign of typography is one. */
static int rff_read_plain_number(rff_span text, int minus, double *value)
{
    const char *at = (const char *)text.at, *end = at + text.size;
    int negative = 0;
    size_t k;
    rff_word word;
    rff_span rest;
    if (minus && text.size > 3 && memcmp(at, "\xe2\x88\x92", 3) == 0) negative = 1, at += 3;
    else if (at < end && (*at == '+' || *at == '-')) negative = *at++ == '-';
    if (at < end && (*at | 32) >= 'i' && (*at | 32) <= 'n') {
        for (k = 0; at + k < end; k++)
            if ((uint8_t)at[k] >= 0x80) return 0;
        rest.at = (const uint8_t *)at;
        rest.size = (size_t)(end - at);
        if (rest.size > 8 || !rff_lay(rest, 0, &word)) return 0;
        *value = rff_is_among(&word, "nan") ? NAN : negative ? -HUGE_VAL : HUGE_VAL;
        return rff_is_among(&word, "nan inf infinity");
    }
    if (!rff_read_decimal(at, (size_t)(end - at), value)) return 0;
    if (negative) *value = -*value;
    return 1;
}

/* `known_level` of cells.py, and `_codes_of` of fitted_column.py, for text without outer blanks. */
static double rff_code_of_text(const rff_column *column, rff_span text)
{
    const rff_texts *levels = &column->levels;
    const char *at = (const char *)text.at, *end = at + text.size;
    char number[RFF_LONGEST_WHOLE + 2];
    size_t found = rff_find_level(levels, text), size;
    rff_word word;
    double value;
    if (text.size == 0 || (found == levels->n && rff_is_missing(text))) return NAN;
    if (found < levels->n) return rff_code(column, found);
    if (rff_read_plain_number(text, 0, &value)) {
        const int negative = *at == '-';
        const char *digit = at + (*at == '-' || *at == '+');
        size = (size_t)(end - digit);
        while (digit < end && *digit >= '0' && *digit <= '9') digit++;
        if (digit < end || size > RFF_LONGEST_WHOLE) /* not a whole number, of which no digit is lost */
            return rff_code(column, rff_find_number(levels, number, rff_write_number(value, number)));
        for (at = end - size; at < end - 1 && *at == '0'; at++) continue;
        size = (size_t)(end - at);
        number[0] = '-';
        memcpy(number + 1, at, size);
        return rff_code(column, negative && *at != '0' ? rff_find_number(levels, number, size + 1)
                                                       : rff_find_number(levels, number + 1, size));
    }
    if (text.size <= RFF_LONGEST_TEXT && rff_lay(text, 0, &word)) {
        if (rff_is_among(&word, rff_words_of_no)) found = rff_find_boolean(levels, 0);
        else if (rff_is_among(&word, rff_words_of_yes)) found = rff_find_boolean(levels, 1);
    }
    return rff_code(column, found);
}

static double rff_code_of_number(const rff_column *column, double value)
{
    char text[RFF_SHORTEST_ROOM];
    return rff_code(column, rff_find_number(&column->levels, text, rff_write_number(value, text)));
}

/* --- numbers */

static int rff_is_digit_at(const rff_word *word, int place)
{
    return place < word->n && word->chars[place] >= '0' && word->chars[place] <= '9';
}

/* Move on by a character if it is one of some; return it, or 0. */
static uint32_t rff_take_char(const rff_word *word, int *place, const char *some)
{
    const uint32_t c = *place < word->n ? word->chars[*place] : 0;
    if (!c || c >= 0x80 || !strchr(some, (int)c)) return 0;
    ++*place;
    return c;
}

/* The length of a currency before a number, as `_CURRENCY` of cells.py has them; 0 for none. */
static int rff_currency_at(const rff_word *word, int place)
{
    static const char entries[] = "us$ r$ chf usd eur gbp jpy sek nok dkk pln kr. kr fr. rs. rs $ \243 \245";
    static const uint32_t signs[] = {0x20ac, 0x20b9, 0x20a9, 0x20bd, 0x20ba};
    const char *list = entries, *entry;
    const uint32_t *at = word->chars + place;
    int length, k;
    while ((length = rff_next_entry(&list, &entry)) != 0)
        if (rff_match(word, place, entry, length)) return length;
    for (k = 0; k < 5; k++)
        if (place < word->n && *at == signs[k]) return 1;
    return place + 1 < word->n && ((at[0] == 'z' && at[1] == 0x142) || (at[0] == 'k' && at[1] == 0x10d)) ? 2 : 0;
}

/* Whether a text is the unit after a number, as far as ASCII goes: letters, a point, a slash and letters, a power; or a
   sign of a currency or of degrees. */
static int rff_is_unit(const rff_word *unit)
{
    static const char *const none[] = {"e", "st", "nd", "rd", "th", "am", "pm"};
    const uint32_t first = unit->n ? unit->chars[0] : 0;
    int k, n = 0, after = 0, slash = 0;
    for (k = 0; k < 7; k++)
        if (rff_is_among(unit, none[k])) return 0;
    if (first == '$' || first == 0xb0 || first == 0xa3 || first == 0xa5 || (first >= 0x20a0 && first <= 0x20cf))
        return unit->n == 1 || (unit->n == 2 && (unit->chars[1] == 'c' || unit->chars[1] == 'f'));
    for (k = 0; k < unit->n; k++) { /* n letters since the slash, then perhaps a point */
        const uint32_t c = unit->chars[k];
        if ((c >= 'a' && c <= 'z') || c >= 0x80) {
            if (after && !(k == unit->n - 1 && (c == 0xb2 || c == 0xb3))) return 0;
            n++;
        } else if (c == '.' && n && !after && !slash) {
            after = 1;
        } else if (c == '/' && n && !slash) {
            slash = 1;
            after = n = 0;
        } else {
            return 0;
        }
    }
    return n > 0;
}

static int rff_is_word(const rff_word *word, int start, int stop, const rff_word *other)
{
    return stop - start == other->n && memcmp(word->chars + start, other->chars, (size_t)other->n * sizeof(uint32_t)) == 0;
}

/* The digits of a number with marks of thousands and a decimal mark, `_BODIES` of cells.py, as text with a point; its
   length, or 0 where marks are not where they belong. */
static int rff_read_body(const uint32_t *at, int n, uint32_t decimal, char *text)
{
    const uint32_t other = decimal == '.' ? ',' : '.';
    int k, size = 0, run = 0, first = -1, n_other = 0, n_blank = 0, n_pairs = 0, whole;
    for (whole = 0; whole < n && at[whole] != decimal; whole++) continue;
    if (whole == 0 && n == 1) return 0;
    for (k = 0; k <= whole; k++) { /* groups of digits; the last but the first have three */
        const uint32_t c = k < whole ? at[k] : other;
        if (c >= '0' && c <= '9') {
            text[size++] = (char)c;
            run++;
            continue;
        }
        if (c != other && c != ' ' && c != '\'') return 0;
        if (first >= 0 && run != 3) {
            if (run != 2 || k == whole) return 0;
            n_pairs++;
        }
        if (first < 0) first = run;
        else if (run == 3 && k < whole && n_pairs) return 0;
        n_other += k < whole && c == other;
        n_blank += k < whole && c != other;
        run = 0;
    }
    if (n_other + n_blank) {
        if (first < 1 || first > 3 || (n_other && n_blank) || (n_other && at[0] == '0')) return 0;
        /* India: pairs of digits, and three at the end */
        if (n_pairs && (decimal != '.' || !n_other || first > 2 || n_pairs != n_other - 1)) return 0;
    }
    if (whole < n) text[size++] = '.';
    for (k = whole + 1; k < n; k++) {
        if (at[k] < '0' || at[k] > '9') return 0;
        text[size++] = (char)at[k];
    }
    return size;
}

/* A number with marks, a unit, a currency or in brackets: `_MARKED` of cells.py, in the format of a column. */
static int rff_read_marked_number(rff_span text, const rff_column *column, double *value)
{
    rff_word word, unit;
    rff_span unit_text;
    char number[RFF_LONGEST_TEXT + 8];
    int at = 0, start, stop, size, n_signs = 0, negative = 0, before = 0, is_open, is_closed, has_exponent = 0, n_body;
    uint32_t sign;
    unit_text.at = (const uint8_t *)column->unit;
    unit_text.size = strlen(column->unit);
    if (!rff_lay(text, 1, &word) || !rff_lay(unit_text, 0, &unit)) return 0;
    is_open = rff_take_char(&word, &at, "(") != 0;
    if ((sign = rff_take_char(&word, &at, "+-")) != 0) n_signs++, negative = sign == '-';
    rff_take_char(&word, &at, " ");
    if ((size = rff_currency_at(&word, at)) != 0) {
        if (!rff_is_word(&word, at, at + size, &unit)) return 0;
        before = 1;
        at += size;
    }
    rff_take_char(&word, &at, " ");
    if ((sign = rff_take_char(&word, &at, "+-")) != 0) n_signs++, negative = sign == '-';
    for (start = stop = at; rff_take_char(&word, &at, "0123456789., '");)
        if (word.chars[at - 1] != ' ' && word.chars[at - 1] != '\'') stop = at;
    if (stop == start || word.chars[start] == ' ' || word.chars[start] == '\'') return 0;
    n_body = rff_read_body(word.chars + start, stop - start, (uint8_t)column->decimal, number);
    if (!n_body) return 0;
    size = n_body;
    at = stop;
    if (at < word.n && word.chars[at] == 'e') {
        const int exponent = at++, sign_at = at;
        int k;
        rff_take_char(&word, &at, "+-");
        if (rff_is_digit_at(&word, at)) {
            has_exponent = 1;
            number[size++] = 'e';
            if (at > sign_at) number[size++] = (char)word.chars[sign_at];
            for (k = 0; rff_is_digit_at(&word, at); k++) number[size++] = (char)word.chars[at++];
            if (k > 3) return 0;
        } else {
            at = exponent; /* of a unit */
        }
    }
    rff_take_char(&word, &at, " ");
    is_closed = word.n > at && word.chars[word.n - 1] == ')';
    word.n -= is_closed;
    if (word.n > at && word.chars[word.n - 1] == '-') {
        n_signs++;
        negative = word.chars[stop - 1] != ',' && word.chars[stop - 1] != '.'; /* 5,- is 5 without cents */
        word.n--;
    }
    if (is_open != is_closed || n_signs + is_open > 1) return 0;
    if (word.n - at == 1 && word.chars[at] == '%') {
        if (has_exponent) return 0;
        memcpy(number + size, "e-2", 3);
        size += 3;
    } else if (at < word.n && (before || !rff_is_unit(&unit) || !rff_is_word(&word, at, word.n, &unit))) {
        return 0;
    }
    if (!rff_read_decimal(number, (size_t)size, value)) return 0;
    if (negative || is_open) *value = -*value;
    return fabs(*value) <= RFF_LARGEST_CELL;
}

/* --- dates and times */

typedef struct {
    int year, month, day;
    int64_t seconds;     /* of the day, less the time zone */
    int32_t nanoseconds;
    int is_valid;
} rff_moment;

/* A whole number of at least and at most so many digits, after which there is no other. */
static int rff_take_digits(const rff_word *word, int *place, int least, int most, int *value)
{
    int n = 0;
    for (*value = 0; rff_is_digit_at(word, *place); n++, ++*place)
        if (n < most) *value = 10 * *value + (int)(word->chars[*place] - '0');
    return n >= least && n <= most ? n : 0;
}

static int rff_take_entry(const rff_word *word, int *place, const char *list)
{
    const char *entry;
    int length;
    while ((length = rff_next_entry(&list, &entry)) != 0)
        if (rff_match(word, *place, entry, length)) return *place += length;
    return 0;
}

/* A time of day: `_FULL_TIME` of cells.py if it is strict, `_CLOCK` without a zone, else `_LOOSE_TIME`. */
static int rff_take_time(const rff_word *word, int *place, int is_strict, int has_zone, rff_moment *moment)
{
    int hour, minute, second = 0, fraction = 0, n, half = 0, sign, hours = 0, minutes = 0;
    if (!rff_take_digits(word, place, is_strict ? 2 : 1, 2, &hour) || !rff_take_char(word, place, ":")
        || !rff_take_digits(word, place, 2, 2, &minute))
        return 0;
    if (rff_take_char(word, place, ":")) {
        if (!rff_take_digits(word, place, 2, 2, &second)) return 0;
        if (rff_take_char(word, place, is_strict ? "." : ".,")) {
            if (!(n = rff_take_digits(word, place, 1, 9, &fraction))) return 0;
            for (; n < 9; n++) fraction *= 10;
        }
    }
    rff_take_char(word, place, " ");
    if (!is_strict) {
        const int start = *place;
        if (rff_take_entry(word, place, "am pm a.m. p.m.")) half = (int)word->chars[start];
        if (has_zone) rff_take_char(word, place, " ");
    }
    if (has_zone && !rff_take_entry(word, place, "z utc gmt") && (sign = (int)rff_take_char(word, place, "+-")) != 0) {
        n = rff_take_digits(word, place, 2, 4, &hours);
        if (n == 4) {
            minutes = hours % 100;
            hours /= 100;
        } else if (n != 2 || (rff_take_char(word, place, ":") && !rff_take_digits(word, place, 2, 2, &minutes))) {
            return 0;
        }
        hours = sign == '-' ? hours : -hours;
        minutes = sign == '-' ? minutes : -minutes;
    }
    moment->is_valid &= minute <= 59 && second <= 59 && (half ? hour >= 1 && hour <= 12 : hour <= 23);
    if (half) hour = hour % 12 + (half == 'p' ? 12 : 0);
    moment->seconds = 3600 * (int64_t)(hour + hours) + 60 * (int64_t)(minute + minutes) + second;
    moment->nanoseconds = fraction;
    return *place == word->n;
}

/* The end of a date, or a time after it. */
static int rff_take_end(const rff_word *word, int place, int may_have_comma, rff_moment *moment)
{
    if (place == word->n) return 1;
    if (may_have_comma) rff_take_char(word, &place, ",");
    return rff_take_char(word, &place, "t ") && rff_take_time(word, &place, 0, 1, moment);
}

static int rff_take_year(const rff_word *word, int *place, int may_be_short, rff_moment *moment)
{
    const int n = rff_take_digits(word, place, may_be_short ? 2 : 4, 4, &moment->year);
    if (n == 2) moment->year += moment->year >= RFF_FIRST_YEAR_OF_1900 ? 1900 : 2000;
    return n == 4 || n == 2;
}

/* `_MONTHS` of cells.py in Latin-1. */
static const char *const rff_months[12] = {
    "january janvier januar j\344nner gennaio enero janv jan ene gen",
    "february febbraio f\351vrier febrero februar f\351vr feb f\351v",
    "march marzo mars m\344rz mar m\344r mrz",
    "april aprile avril abril apr avr abr",
    "maggio mayo may mai mag",
    "giugno junio june juni juin jun giu",
    "juillet luglio julio july juli juil jul lug",
    "agosto august ao\373t aug aou ago",
    "septembre septiembre september settembre sept sep set",
    "octobre octubre october oktober ottobre oct okt ott",
    "noviembre novembre november nov",
    "diciembre dicembre d\351cembre december dezember dec dez d\351c dic",
};

/* What follows the name of a month in `_ORDERLESS` of cells.py, by what comes first. */
enum { RFF_DAY_FIRST, RFF_MONTH_FIRST, RFF_MONTH_AFTER_WEEKDAY, RFF_YEAR_FIRST };

static int rff_take_rest(const rff_word *word, int place, int first, rff_moment *moment)
{
    rff_moment found = *moment;
    int at = place;
    if (first == RFF_YEAR_FIRST) {
        if (rff_take_char(word, &at, " /-") && rff_take_digits(word, &at, 1, 2, &found.day)
            && rff_take_end(word, at, 1, &found)) {
            *moment = found;
            return 1;
        }
        return 0;
    }
    if (first == RFF_DAY_FIRST) {
        rff_take_char(word, &at, ".");
        rff_take_char(word, &at, ",");
        rff_take_char(word, &at, " /-");
        at += rff_match(word, at, "de ", 3);
        if (!rff_take_year(word, &at, 1, &found) || !rff_take_end(word, at, 1, &found)) return 0;
        *moment = found;
        return 1;
    }
    rff_take_char(word, &at, ".");
    if (rff_take_char(word, &at, " /-") && rff_take_digits(word, &at, 1, 2, &found.day)) {
        rff_take_entry(word, &at, "st nd rd th");
        rff_take_char(word, &at, ",");
        if (rff_take_char(word, &at, " /-") && rff_take_year(word, &at, 1, &found) && rff_take_end(word, at, 1, &found)) {
            *moment = found;
            return 1;
        }
    }
    if (first == RFF_MONTH_AFTER_WEEKDAY) return 0;
    found = *moment; /* a month of a year */
    found.day = 1;
    at = place;
    rff_take_char(word, &at, ".");
    rff_take_char(word, &at, ",");
    if (!rff_take_char(word, &at, " /-") || !rff_take_year(word, &at, 0, &found) || at < word->n) return 0;
    *moment = found;
    return 1;
}

/* Go on from the name of a month, whichever it may be. */
static int rff_take_month(const rff_word *word, int place, int first, rff_moment *moment)
{
    int month, length;
    for (month = 0; month < 12; month++) {
        const char *list = rff_months[month], *entry;
        while ((length = rff_next_entry(&list, &entry)) != 0) {
            moment->month = month + 1;
            if (rff_match(word, place, entry, length) && rff_take_rest(word, place + length, first, moment)) return 1;
        }
    }
    return 0;
}

/* A day of the week or any word that is no month, and a blank after it: where it ends. */
static int rff_skip_weekday(const rff_word *word)
{
    int at = 0, month, k;
    for (; at < word->n; at++) {
        const uint32_t c = word->chars[at];
        if (!((c >= 'a' && c <= 'z') || (c >= 0xdf && c <= 0xff && c != 0xf7))) break;
    }
    if (at < 2 || at > 10) return 0;
    for (month = 0; month < 12; month++) {
        rff_word name = *word;
        name.n = at;
        if (rff_is_among(&name, rff_months[month])) return 0;
    }
    for (k = 0; k < 2; k++) rff_take_char(word, &at, ".,");
    return rff_take_char(word, &at, " ") ? at : 0;
}

/* The parts of a date, in the order of days and months that a column has. */
static int rff_take_date(const rff_word *word, const char *order, rff_moment *moment)
{
    int at = 0, n, number, start = 0;
    uint32_t mark;
    for (n = 0; rff_is_digit_at(word, n); n++) continue;
    moment->month = moment->day = 1;
    if (n == 4) {
        rff_take_digits(word, &at, 4, 4, &moment->year);
        mark = rff_take_char(word, &at, "-/. ");
        if (!mark) return 0;
        if (mark == ' ' || !rff_is_digit_at(word, at))
            return mark != '.' && rff_take_month(word, at, RFF_YEAR_FIRST, moment);
        if (!rff_take_digits(word, &at, mark == '-' ? 2 : 1, 2, &moment->month)) return 0;
        if (mark == '-' && at == word->n) return 1;
        if (rff_take_char(word, &at, mark == '-' ? "-" : mark == '/' ? "/" : ".") == 0
            || !rff_take_digits(word, &at, mark == '-' ? 2 : 1, 2, &moment->day))
            return 0;
        if (mark != '-') return rff_take_end(word, at, 0, moment);
        return at == word->n || (rff_take_char(word, &at, "t ") && rff_take_time(word, &at, 1, 1, moment));
    }
    if (n == 0) {
        start = at = rff_skip_weekday(word);
        if (!rff_is_digit_at(word, at)) return rff_take_month(word, at, at ? RFF_MONTH_AFTER_WEEKDAY : RFF_MONTH_FIRST, moment);
    }
    if (!rff_take_digits(word, &at, 1, 2, &number)) return 0;
    if (*order && start == 0 && rff_is_digit_at(word, at + 1) && (mark = rff_take_char(word, &at, "/.-")) != 0) {
        const char marks[2] = {(char)mark, 0};
        moment->day = number;
        if (!rff_take_digits(word, &at, 1, 2, &moment->month) || !rff_take_char(word, &at, marks)
            || !rff_take_year(word, &at, 1, moment))
            return 0;
        if (*order == 'm') {
            moment->day = moment->month;
            moment->month = number;
        }
        return rff_take_end(word, at, 1, moment);
    }
    moment->day = number;
    rff_take_entry(word, &at, "st nd rd th . er \272");
    rff_take_char(word, &at, " /-");
    at += rff_match(word, at, "de ", 3);
    return rff_take_month(word, at, RFF_DAY_FIRST, moment);
}

/* Seconds since 1970 of a date that exists. */
static int rff_read_date(rff_span text, const rff_column *column, double *value)
{
    static const int lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    rff_moment moment = {0, 1, 1, 0, 0, 1};
    rff_word word;
    int64_t days;
    int is_leap, k, before;
    if (!rff_lay(text, 1, &word) || !rff_take_date(&word, column->format, &moment) || !moment.is_valid) return 0;
    is_leap = moment.year % 4 == 0 && (moment.year % 100 != 0 || moment.year % 400 == 0);
    if (moment.year < 1 || moment.month < 1 || moment.month > 12 || moment.day < 1
        || moment.day > lengths[moment.month - 1] + (is_leap && moment.month == 2))
        return 0;
    before = moment.year - 1;
    days = 365 * (int64_t)before + before / 4 - before / 100 + before / 400 + moment.day - 1 - RFF_DAYS_BEFORE_1970;
    for (k = 1; k < moment.month; k++) days += lengths[k - 1] + (is_leap && k == 2);
    *value = (double)(days * 86400 + moment.seconds) + (double)moment.nanoseconds / 1e9;
    return 1;
}

static int rff_read_time(rff_span text, double *value)
{
    rff_moment moment = {0, 0, 0, 0, 0, 1};
    rff_word word;
    int at = 0;
    if (!rff_lay(text, 1, &word) || !rff_take_time(&word, &at, 0, 0, &moment) || !moment.is_valid) return 0;
    *value = (double)moment.seconds + (double)moment.nanoseconds / 1e9;
    return 1;
}

static int rff_read_seconds(rff_span text, double *value)
{
    rff_word word;
    char plain[RFF_LONGEST_TEXT + 1];
    int k;
    if (!rff_lay(text, 1, &word)) return 0;
    for (k = 0; k <= word.n; k++)
        plain[k] = k < word.n && (word.chars[k] == 0 || word.chars[k] >= 0x80) ? '?' : (char)word.chars[k];
    return rff_read_duration(plain, value);
}

/* --- cells */

static int rff_is_one_of(const rff_texts *texts, rff_span text)
{
    size_t k;
    for (k = 0; k < texts->n; k++)
        if (rff_compare_bytes(texts->at[k], text) == 0) return 1;
    return 0;
}

/* A number or date of a text without outer blanks, or nan for one that says that there is none. */
static rff_error rff_read_text(const rff_column *column, rff_span text, double *value)
{
    double plain = 0;
    const int is_number = rff_read_plain_number(text, 1, &plain), has_mark = text.size && text.at[0] >= 0x80;
    if (column->kind == RFF_COLUMN_DATE) {
        if (rff_read_date(text, column, value)) return RFF_OK;
    } else if (!column->decimal) {
        if ((*column->format == 'd' ? rff_read_seconds : rff_read_time)(text, value)) return RFF_OK;
    } else if (column->decimal == '.' && is_number) {
        if (fabs(plain) <= RFF_LARGEST_CELL) {
            *value = plain;
            return RFF_OK;
        }
    } else if (rff_read_marked_number(text, column, value)) {
        return RFF_OK;
    }
    *value = NAN;
    if (rff_is_one_of(&column->words, text) || rff_is_missing(text)) return RFF_OK;
    return is_number && !has_mark && fabs(plain) > RFF_LARGEST_CELL ? RFF_E_ROWS : RFF_E_CELL;
}

/* The value of a cell of a column; without a column map, NULL. */
static rff_error rff_read_cell(const rff_column *column, const rff_cell *cell, double *value)
{
    const int is_used = column && column->is_used && column->kind != RFF_COLUMN_EMPTY;
    const rff_column_kind kind = column ? column->kind : RFF_COLUMN_NUMERIC;
    rff_error error = RFF_OK;
    *value = NAN;
    if (cell->kind == RFF_CELL_TEXT) {
        rff_span text;
        if (!cell->text && cell->length) return RFF_E_ARGUMENT;
        if (!column) return RFF_E_CELL;
        if (!is_used) return RFF_OK;
        text.at = (const uint8_t *)cell->text;
        text.size = cell->length;
        if (!rff_is_utf8(text)) return RFF_E_CELL;
        if (text.size) text = rff_strip(cell->text, cell->length);
        if (kind == RFF_COLUMN_CATEGORY) *value = rff_code_of_text(column, text);
        else error = rff_read_text(column, text, value);
        *value += 0.0; /* no zero has a sign */
        return error;
    }
    if (cell->kind != RFF_CELL_MISSING && cell->kind != RFF_CELL_NUMBER && cell->kind != RFF_CELL_DATE)
        return RFF_E_ARGUMENT;
    if (cell->kind == RFF_CELL_MISSING || cell->number != cell->number) return column ? RFF_OK : RFF_E_ROWS;
    if (!(fabs(cell->number) <= RFF_LARGEST_CELL)) return RFF_E_ROWS;
    if (column && !is_used) return RFF_OK;
    if ((cell->kind == RFF_CELL_DATE) != (kind == RFF_COLUMN_DATE)) return RFF_E_CELL;
    *value = (kind == RFF_COLUMN_CATEGORY ? rff_code_of_number(column, cell->number) : cell->number) + 0.0;
    return RFF_OK;
}

/* The scores of the text of a cell, which has been read; missing where its value is. */
static void rff_score_cell(const rff_column *column, const rff_cell *cell, double value, double *scores,
                           rff_text_work *work)
{
    const rff_text_form form = {column->n_scores, column->n_bits, column->text, column->text + column->n_scores,
                                column->text + column->n_scores + ((size_t)1 << column->n_bits)};
    char number[RFF_SHORTEST_ROOM];
    rff_span text;
    size_t k;
    for (k = 0; k < column->n_scores && value != value; k++) scores[k] = NAN;
    if (value != value) return;
    text.at = (const uint8_t *)number;
    if (cell->kind == RFF_CELL_TEXT) text = rff_strip(cell->text, cell->length);
    else text.size = rff_write_number(cell->number, number);
    rff_score_text(&form, (const char *)text.at, text.size, scores, work);
}

#endif
