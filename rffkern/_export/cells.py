"""Rows of cells as rows of values, in C and JavaScript: what `RawColumn` and `FittedColumn.values_of` do in Python.

A value is a number, the seconds of a date since 1970, or the place of a level.  JavaScript reads text by all rules of
`_column_map/cells.py`, whose patterns stand in the file; C reads levels, plain numbers, durations and ISO dates.
"""

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator
from string import Template
from typing import Any

from .._column_map import cells, text
from .._installation import get_include
from .._rows.validation import LARGEST_VALUE
from .function import Array, Column, RowMap

# What `str.strip` takes away.
_BLANKS = [character for character in map(chr, range(0x3001)) if character.isspace()]

_NO, _YES = ([*dict.fromkeys(words)] for words in zip(*cells._BOOLEAN_WORDS, strict=True))

_C_TYPE = """\
typedef struct {
    const char *text;  /* of UTF-8, or NULL where the cell is a number */
    double number;
} ${name}_cell;

"""

_C_CELLS = r"""
enum { UNUSED, NUMBERS, MARKED, DURATIONS, DATES, LEVELS };  /* MARKED: numbers whose text is not read */

typedef struct {
    int kind, n_texts, n_numbers;
    const char *const *texts;  /* sorted: levels, or words that count as missing */
    const double *numbers, *places;  /* numbers that mean levels */
    double no, yes, other;  /* what truth values and other levels mean */
} raw_column;

static const char *const missing_words[] = {$missing_words, 0};
static const char *const no_words[] = {$no_words, 0};
static const char *const yes_words[] = {$yes_words, 0};
static const char *const infinite_words[] = {"inf", "infinity", 0};
static const char *const utc_words[] = {"z", "utc", "gmt", 0};

/* Bytes of a blank at s, or 0. */
static int blank(const char *s)
{
    const unsigned char a = (unsigned char)s[0], b = a ? (unsigned char)s[1] : 0, c = b ? (unsigned char)s[2] : 0;
    if (a == ' ' || (a >= 9 && a <= 13) || (a >= 0x1c && a <= 0x1f)) return 1;
    if (a == 0xc2 && (b == 0x85 || b == 0xa0)) return 2;
    if (a == 0xe1 && b == 0x9a && c == 0x80) return 3;
    if (a == 0xe2 && b == 0x80 && ((c >= 0x80 && c <= 0x8a) || c == 0xa8 || c == 0xa9 || c == 0xaf)) return 3;
    if (a == 0xe2 && b == 0x81 && c == 0x9f) return 3;
    return a == 0xe3 && b == 0x80 && c == 0x80 ? 3 : 0;
}

/* The place of a text of n bytes among sorted ones, or -1. */
static int find(const char *s, size_t n, const char *const *texts, int n_texts)
{
    int low = 0, high = n_texts;
    while (low < high) {
        int middle = (low + high) / 2, order = strncmp(s, texts[middle], n);
        if (order == 0 && texts[middle][n] == 0) return middle;
        if (order > 0) low = middle + 1;
        else high = middle;
    }
    return -1;
}

/* Whether a text is one of some words in lower or upper case. */
static int among(const char *s, size_t n, const char *const *words)
{
    for (; *words; words++) {
        size_t i = 0;
        while (i < n && (*words)[i]) {
            int c = (unsigned char)s[i];
            if (c >= 'A' && c <= 'Z') c += 32;
            if (i > 0 && (unsigned char)s[i - 1] == 0xc3 && c >= 0x80 && c <= 0x9e) c += 32;
            if (c != (unsigned char)(*words)[i]) break;
            i++;
        }
        if (i == n && (*words)[i] == 0) return 1;
    }
    return 0;
}

/* Whether a text from s to end is a number, and whether it has digits alone; nan is none. */
static int is_number(const char *s, const char *end, int *is_whole)
{
    int n_digits = 0;
    if (*s == '+' || *s == '-') s++;
    if (among(s, (size_t)(end - s), infinite_words)) return 1;
    for (; *s >= '0' && *s <= '9'; s++) n_digits++;
    *is_whole = s == end && n_digits > 0 && n_digits <= 400;
    if (*s == '.') {
        for (s++; *s >= '0' && *s <= '9'; s++) n_digits++;
    }
    if (n_digits > 0 && (*s == 'e' || *s == 'E')) {
        if (*++s == '+' || *s == '-') s++;
        if (*s < '0' || *s > '9') return 0;
        while (*s >= '0' && *s <= '9') s++;
    }
    return n_digits > 0 && s == end;
}

/* The place of the level that a number means. */
static double level_of_number(const raw_column *column, double number)
{
    int low = 0, high = column->n_numbers;
    while (low < high) {
        int middle = (low + high) / 2;
        if (column->numbers[middle] == number) return column->places[middle];
        if (column->numbers[middle] < number) low = middle + 1;
        else high = middle;
    }
    return column->other;
}

/* The place of the level that a text from s to end means. */
static double level_of_text(const raw_column *column, const char *s, const char *end)
{
    const size_t n = (size_t)(end - s);
    int is_whole = 0, found = find(s, n, column->texts, column->n_texts);
    if (found >= 0) return found;
    if (among(s, n, missing_words)) return NAN;
    if (is_number(s, end, &is_whole)) {
        if (is_whole) {  /* by all its digits, without zeros before them */
            char digits[402];
            size_t m = 0;
            const int is_negative = *s == '-';
            if (*s == '+' || *s == '-') s++;
            while (*s == '0' && s + 1 < end) s++;
            if (is_negative && *s != '0') digits[m++] = '-';
            memcpy(digits + m, s, (size_t)(end - s));
            m += (size_t)(end - s);
            digits[m] = 0;
            found = find(digits, m, column->texts, column->n_texts);
            if (found >= 0) return found;
            return m > 1 ? column->other : *s == '0' ? column->no : *s == '1' ? column->yes : column->other;
        }
        return level_of_number(column, strtod(s, 0));
    }
    return among(s, n, no_words) ? column->no : among(s, n, yes_words) ? column->yes : column->other;
}

/* The number in the next n digits, or -1. */
static int take(const char **s, int n)
{
    int value = 0;
    for (; n > 0; n--) {
        if (**s < '0' || **s > '9') return -1;
        value = 10 * value + (*(*s)++ - '0');
    }
    return value;
}

/* Seconds since 1970 of an ISO date, with a time and a zone or without; NAN for other texts. */
static double seconds(const char *s, const char *end)
{
    double zone = 0, fraction = 0, unit = 1;
    int year, month, day, era, hour = 0, minute = 0, second = 0;
    if ((year = take(&s, 4)) < 1 || *s++ != '-') return NAN;
    if ((month = take(&s, 2)) < 1 || month > 12 || *s++ != '-') return NAN;
    if ((day = take(&s, 2)) < 1) return NAN;
    if (day > (month != 2 ? 30 + ((month + month / 8) & 1)
                          : year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28)) return NAN;
    if (s < end) {
        if (*s != 'T' && *s != 't' && *s != ' ') return NAN;
        s++;
        if ((hour = take(&s, 2)) < 0 || hour > 23 || *s++ != ':') return NAN;
        if ((minute = take(&s, 2)) < 0 || minute > 59) return NAN;
        if (*s == ':') {
            s++;
            if ((second = take(&s, 2)) < 0 || second > 59) return NAN;
            if (*s == '.') {
                const char *first = ++s;
                for (; *s >= '0' && *s <= '9'; s++, unit *= 10) fraction = 10 * fraction + (*s - '0');
                if (s == first || s > first + 9) return NAN;
                for (; unit < 1e9; unit *= 10) fraction *= 10;
            }
        }
        if (*s == ' ' && s < end) s++;
        if (among(s, (size_t)(end - s), utc_words)) {
            s = end;
        } else if (*s == '+' || *s == '-') {
            const int sign = *s++ == '-' ? -1 : 1, hours = take(&s, 2);
            if (s < end && *s == ':') s++;
            zone = s < end ? take(&s, 2) : 0;
            if (hours < 0 || zone < 0) return NAN;
            zone = sign * (3600.0 * hours + 60 * zone);
        }
        if (s != end) return NAN;
    }
    year -= month <= 2;  /* years begin in March */
    era = year / 400;
    year -= 400 * era;
    day += (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 - 1 + 365 * year + year / 4 - year / 100;
    return ((146097.0 * era + day - 719468) * 86400 + (3600 * hour + 60 * minute + second - zone)) + fraction / 1e9;
}

/* Where a text begins and ends, without blanks around it. */
static const char *strip(const char *s, const char **end)
{
    const char *at;
    while (blank(s)) s += blank(s);
    for (at = *end = s; *at;) {
        const int n = blank(at);
        at += n ? n : 1;
        if (!n) *end = at;
    }
    return s;
}

/* The value of a cell; 0 if it has none. */
static int read_cell(const raw_column *column, const ${name}_cell *cell, double *x)
{
    const char *s = cell->text, *end;
    char *stop = 0;
    int is_whole;
    *x = NAN;
    if (column->kind == UNUSED || (!s && isnan(cell->number))) return 1;
    if (!s) {
        *x = column->kind == LEVELS ? level_of_number(column, cell->number) : cell->number;
        return fabs(cell->number) <= $largest;
    }
    s = strip(s, &end);
    if (s == end) return 1;
    if (column->kind == LEVELS) {
        *x = level_of_text(column, s, end);
        return 1;
    }
    if (among(s, (size_t)(end - s), missing_words) || find(s, (size_t)(end - s), column->texts, column->n_texts) >= 0)
        return 1;
    if (column->kind == DATES) {
        *x = seconds(s, end);
        return !isnan(*x);
    }
$durations    if (column->kind == MARKED || !is_number(s, end, &is_whole)) return 0;
    *x = strtod(s, &stop);
    return stop == end && fabs(*x) <= $largest;  /* it ends before a point where the locale has a comma */
}

/* The values of a row; 0, or 1 and the place of a column whose cell has none. */
static int read_row(const ${name}_cell *cells, double *x)
{
    int j;
    for (j = 0; j < $n_columns; j++) {
        if (!read_cell(&raw_columns[j], &cells[j], &x[j])) return j + 1;
    }
$derived    return 0;
}
"""

_JS_CELLS = r"""
const is_number = /^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)$$/i;
const missing_words = new Set($missing_words);
const no_words = new Set($no_words), yes_words = new Set($yes_words);

function number_of(text) {
    return /inf/i.test(text) ? (text[0] === "-" ? -Infinity : Infinity) : Number(text);
}

// The place of the level that a text means.
function level_of(column, text) {
    if (column.levels.has(text)) return column.levels.get(text);
    const word = text.toLowerCase();
    if (missing_words.has(word)) return NaN;
    if (/^[+-]?[0-9]{1,400}$$/.test(text)) {
        const whole = text.replace(/^([+-]?)0+(?=[0-9])/, "$$1").replace("+", "").replace(/^-0$$/, "0");
        if (column.levels.has(whole)) return column.levels.get(whole);
        return whole === "0" ? column.no : whole === "1" ? column.yes : column.other;
    }
    if (is_number.test(text)) return level_of_number(column, number_of(text));
    return no_words.has(word) ? column.no : yes_words.has(word) ? column.yes : column.other;
}

function level_of_number(column, number) {
    const found = column.numbers.get(number);
    return found === undefined ? column.other : found;
}
$reading
// The value of a cell; undefined for one that has none.
function value_of(column, cell) {
    if (column.kind === "unused" || cell === null || cell === undefined) return NaN;
    const of_levels = column.kind === "category";
    if (typeof cell === "boolean") {
        if (of_levels) return level_of(column, cell ? "True" : "False");
        return column.kind === "numeric" ? Number(cell) : undefined;
    }
    if (typeof cell === "bigint") {
        if (of_levels) return level_of(column, String(cell));
        cell = Number(cell);
    }
    if (cell instanceof Date) {
        const time = cell.getTime(), second = Math.floor(time / 1000);
        return column.kind === "date" ? second + (time - 1000 * second) / 1000 : undefined;
    }
    if (typeof cell === "number") {
        if (Number.isNaN(cell)) return NaN;
        if (!(Math.abs(cell) <= $largest)) return undefined;
        return of_levels ? level_of_number(column, cell) : cell;
    }
    if (typeof cell !== "string") return undefined;
    const text = cell.replace(blanks_before, "").replace(blanks_after, "");
    if (of_levels) return text === "" ? NaN : level_of(column, text);
    const found = read_text(text, column);
    if (found !== undefined && !Number.isNaN(found)) return found;
    return column.words.has(text) || missing_words.has(text.toLowerCase()) ? NaN : undefined;
}

// The values of a row: an array of cells in the order of columns, or an object that has them by name.
function read_row(cells) {
    const by_place = Array.isArray(cells) || ArrayBuffer.isView(cells), x = new Float64Array($n_values);
    raw_columns.forEach((column, j) => {
        if (!by_place && column.kind !== "unused" && !(columns[j] in cells)) {
            throw new RangeError("the row has no column " + JSON.stringify(columns[j]));
        }
        const cell = by_place ? cells[j] : cells[columns[j]], value = value_of(column, cell);
        if (value === undefined) {
            throw new RangeError("column " + JSON.stringify(columns[j]) + " must hold " + column.kind
                + " values, as in training, got " + String(cell));
        }
        x[j] = value;
    });
$derived    return x;
}
"""

# Text as numbers and dates; the names are those of `_column_map/cells.py`.
_JS_READING = r"""
const pattern = (source) => new RegExp("^(?:" + source + ")$$", "du");
const marked = pattern($marked), clock = pattern($clock);
const bodies = { ".": pattern($point), ",": pattern($comma) };
const orderless = $orderless.map(pattern), ordered = { dmy: pattern($dmy), mdy: pattern($mdy) };
const months = new Map(Object.entries($months)), not_units = new Set($not_units);
const durations = $durations.map(pattern), places = Object.entries($places);

function read_text(given, column) {
    const text = given.replace(/[\u00a0\u202f\u2009\u2007]/g, " ").replace(/\u2019/g, "'").replace(/\u2212/g, "-")
        .replace(blanks_before, "").replace(blanks_after, "");
    const shape = text.toLowerCase().replace(/[1-9]/g, "0"), is_short = [...shape].length <= $longest;
    if (column.kind === "numeric" && column.format !== "time" && column.format !== "duration") {
        return read_number(text, is_short ? shape : "", column.format);
    }
    if (!is_short) return undefined;
    if (column.format === "duration") return duration_of(text, shape);
    if (column.kind === "numeric") return seconds_of(0, time_of(text, clock.exec(shape)));
    let found = column.format ? ordered[column.format].exec(shape) : null;
    for (const each of orderless) found = found || each.exec(shape);
    return found ? seconds_of(day_of(text, found), time_of(text, found)) : undefined;
}

function read_number(text, shape, format) {
    const decimal = format[0] || ".", other = decimal === "." ? "," : ".", found = marked.exec(shape);
    let value;
    const parts = found && parts_of(found);
    if (is_number.test(text) && (format === "" || format === ".")) {
        value = number_of(text);
    } else if (parts && (parts.unit === "" || parts.unit === format.slice(1)) && bodies[decimal].test(parts.body)) {
        const digits = text.slice(parts.start, parts.stop);
        if (parts.body.includes(other) && digits[0] === "0") return undefined;
        const plain = digits.replace(/[ ']/g, "").replaceAll(other, "").replaceAll(decimal, ".");
        value = (parts.negative ? -1 : 1) * Number(plain + (parts.percent ? "e-2" : ""));
    } else if (decimal === "." && is_number.test(text)) {
        value = number_of(text);
    }
    return Math.abs(value) <= $largest ? value : undefined;
}

function parts_of(found) {
    const part = found.groups, signs = [part.sign, part.inner, part.minus].filter(Boolean);
    const units = [part.before, part.after].filter((unit) => unit && unit !== "%");
    if (Boolean(part.open) !== Boolean(part.close) || signs.length + (part.open ? 1 : 0) > 1 || units.length > 1
        || not_units.has(units[0]) || (part.exponent && part.after === "%")) return null;
    const places = found.indices.groups;
    return { start: places.body[0], stop: (places.exponent || places.body)[1], body: part.body, unit: units[0] || "",
        negative: Boolean(part.open) || signs[0] === "-", percent: part.after === "%" };
}

function duration_of(text, shape) {
    const found = durations.map((each) => each.exec(shape)).find(Boolean);
    if (!found || !shape.includes("0")) return undefined;
    const part = found.groups;
    let total = 0;
    for (const [name, unit] of places) {
        if (!part[name]) continue;
        const value = field(text, found, name);
        if (shape.includes(":") && "ms".includes(name) && value >= 60) return undefined;
        total += part.sign === "-" && (name === "d" || !part.plus) ? -unit * value : unit * value;
    }
    return total;
}

const field = (text, found, name, missing) =>
    found.groups[name] ? Number(text.slice(...found.indices.groups[name])) : missing;

const seconds_of = (day, time) => time === undefined ? undefined : day + time.whole + time.fraction;

// Seconds of a day since 1970.
function day_of(text, found) {
    const part = found.groups, day = new Date(0);
    let year = field(text, found, "year", 0);
    if (part.year.length === 2) year += year >= $first_year ? 1900 : 2000;
    const month = part.name ? months.get(part.name) : field(text, found, "month", 1);
    const day_of_month = field(text, found, "day", 1);
    day.setUTCFullYear(year, month - 1, day_of_month);
    const exists = year >= 1 && day.getUTCMonth() === month - 1 && day.getUTCDate() === day_of_month;
    return exists ? day.getTime() / 1000 : NaN;
}

// Seconds of the time of day less the time zone, whole ones and their fraction.
function time_of(text, found) {
    if (!found) return undefined;
    const part = found.groups, minute = field(text, found, "minute", 0), second = field(text, found, "second", 0);
    let hour = field(text, found, "hour", 0), zone = 0;
    if (minute > 59 || second > 59 || (part.half ? hour < 1 || hour > 12 : hour > 23)) return undefined;
    if (part.half) hour = hour % 12 + (part.half[0] === "p" ? 12 : 0);
    if (part.zone && /[+-]/.test(part.zone)) {
        const digits = text.slice(...found.indices.groups.zone).replace(/[^0-9]/g, "");
        zone = 3600 * Number(digits.slice(0, 2)) + 60 * Number(digits.slice(2));
        if (part.zone[0] === "-") zone = -zone;
    }
    const fraction = part.fraction ? field(text, found, "fraction") * 10 ** (9 - part.fraction.length) / 10 ** 9 : 0;
    return { whole: 3600 * hour + 60 * minute + second - zone, fraction };
}
"""

# Scores of free text; the names are those of `_column_map/text.py`.
_JS_TEXT = r"""
const numbers_of = (text) => new Float64Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
const u64 = (value) => BigInt.asUintN(64, value);

function bucket_of(letters, kind, n_bits) {
    let z = 0n, power = 1n;
    for (const letter of letters) {
        z += (letter + 1n) * power;
        power = u64(power * ${base}n);
    }
    z = u64(z + kind * 0xD1B54A32D192ED03n);
    z = u64((z ^ (z >> 30n)) * 0xBF58476D1CE4E5B9n);
    z = u64((z ^ (z >> 27n)) * 0x94D049BB133111EBn);
    return Number((z ^ (z >> 31n)) >> BigInt(64 - n_bits));
}

function logarithm(count) {
    let m = count, exponent = 0, series = 0;
    for (; m >= Math.SQRT2; m /= 2) exponent++;
    const ratio = (m - 1) / (m + 1);
    for (let k = $last_power; k > 0; k -= 2) series = series * (ratio * ratio) + 2 / k;
    return exponent * Math.LN2 + ratio * series;
}

function scores_of_text(cell, value, { shifts, idf, coefficients }) {
    if (Number.isNaN(value)) return shifts.map(() => NaN);
    let text = typeof cell === "boolean" ? (cell ? "True" : "False") : String(cell);
    text = text.replace(blanks_before, "").replace(blanks_after, "");
    const words = ([...text].slice(0, $most_letters).join("").toLowerCase().match(/[\p{L}\p{N}]+/gu) || [])
        .map((word) => [...word].map((letter) => BigInt(letter.codePointAt(0))));
    const n_bits = Math.round(Math.log2(idf.length)), blank = 32n, counts = new Map();
    const add = (letters, kind) => {
        const bucket = bucket_of(letters, kind, n_bits);
        counts.set(bucket, (counts.get(bucket) || 0) + 1);
    };
    words.forEach((word, k) => {
        add(word, 1n);
        if (k > 0) add([...words[k - 1], blank, ...word], 2n);
        const padded = [blank, ...word, blank];
        for (const length of $lengths) {
            for (let i = 0; i + length <= padded.length; i++) add(padded.slice(i, i + length), BigInt(10 + length));
        }
    });
    const buckets = [...counts.keys()].sort((a, b) => a - b);
    const values = buckets.map((bucket) => (1 + logarithm(counts.get(bucket))) * idf[bucket]);
    const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0)) || 1;
    return Array.from(shifts, (shift, k) => values.reduce((sum, value, i) =>
        sum + value / length * coefficients[k * idf.length + buckets[i]], 0) + shift);
}
"""


# The same in C, by `rff_text.h` of the C library.
_C_SCORE_CELL = r"""
/* Scores of the text of a cell, missing where its value is; 0 for a number whose text is not known. */
static int score_cell(const rff_text_form *form, const ${name}_cell *cell, double value, double *scores)
{
    rff_text_work work;
    char digits[32];
    const char *s = cell->text ? cell->text : digits, *end;
    size_t k;
    for (k = 0; k < form->n_scores; k++) scores[k] = NAN;
    if (isnan(value)) return 1;
    if (!cell->text) {
        if (cell->number != floor(cell->number) || fabs(cell->number) >= 0x1p53) return 0;
        sprintf(digits, "%.0f", cell->number == 0 ? 0 : cell->number);
    }
    s = strip(s, &end);
    rff_score_text(form, s, (size_t)(end - s), scores, &work);
    return 1;
}
"""

# Durations in C, by `rff_durations.h` of the C library.
_C_DURATION = r"""
/* The seconds of a text from s to end; 0 if it is no duration. */
static int duration(const char *s, const char *end, double *x)
{
    static const char *const marks[] = {"\302\240 ", "\342\200\207 ", "\342\200\211 ", "\342\200\257 ",
                                        "\342\210\222-", "\342\204\252k"};  /* and their plain forms */
    char text[$longest + 1];
    int n = 0;
    size_t k, size;
    while (s < end && n < $longest) {
        text[n] = *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : (unsigned char)*s < 0x80 ? *s : '?';
        for (k = 0, size = 1; k < sizeof marks / sizeof marks[0]; k++) {
            if (strncmp(s, marks[k], strlen(marks[k]) - 1) == 0) {
                size = strlen(marks[k]) - 1;
                text[n] = marks[k][size];
            }
        }
        for (s += size; size == 1 && ((unsigned char)*s & 0xc0) == 0x80; s++) continue;
        n++;
    }
    text[n] = 0;
    return s == end && rff_read_duration(text, x);
}
"""


# --- C

def c_text(text: str) -> str:
    """A literal of UTF-8; octal escapes, which end after three digits."""
    return '"' + "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
                         for byte in text.encode()) + '"'


def c_type(name: str) -> str:
    """The type of a cell."""
    return Template(_C_TYPE).substitute(name=name)


def c_cells(mapping: RowMap, name: str, number: Any) -> str:
    """Tables of the columns, and the function `read_row(cells, x)`; `number` writes a constant."""
    functions, reading = Template(_C_CELLS).substitute(
        name=name, n_columns=len(mapping.columns), largest=number(LARGEST_VALUE),
        derived="".join(_c_derived(mapping)),
        durations="" if not _has_durations(mapping) else
        "    if (column->kind == DURATIONS) return duration(s, end, x);\n",
        **{key: ", ".join(map(c_text, words)) for key, words in _words().items()}).split("\n\n/* The value of a cell;")
    rows, tables = [], []
    kinds = {cells.NUMERIC: "NUMBERS", cells.DATE: "DATES", cells.CATEGORY: "LEVELS", cells.EMPTY: "UNUSED"}
    for j, column in enumerate(mapping.columns):
        texts, meant = column.levels or column.reading.words, sorted(column.numbers().items())
        pointers = ["0", "0", "0"]
        if texts:
            tables.append(_c_table("const char *const", f"texts{j}", map(c_text, texts)))
            pointers[0] = f"texts{j}"
        if meant:
            tables += [_c_table("const double", f"numbers{j}", (number(value) for value, _ in meant)),
                       _c_table("const double", f"places{j}", (str(place) for _, place in meant))]
            pointers[1:] = [f"numbers{j}", f"places{j}"]
        kind = kinds[column.kind]
        if column.kind == cells.NUMERIC and column.reading.format[:1] not in ("", "."):
            kind = "DURATIONS" if column.reading.format == "duration" else "MARKED"
        others = ["NAN" if value != value else f"{value:.0f}" for value in _others(column)]
        rows.append(f"    {{{', '.join([kind, str(len(texts)), str(len(meant)), *pointers, *others])}}}")
    table = f"\nstatic const raw_column raw_columns[{len(rows)}] = {{\n" + ",\n".join(rows) + "};\n"
    of_texts = _c_texts(mapping, name, number) if mapping.texts else ""
    if _has_durations(mapping):
        of_texts += _shared("rff_durations.h") + Template(_C_DURATION).substitute(longest=cells._LONGEST)
    return functions + "\n\n" + "".join(tables) + table + of_texts + "\n/* The value of a cell;" + reading


def _c_derived(mapping: RowMap) -> Iterator[str]:
    """Values behind those of columns."""
    first = len(mapping.columns)
    for k, (j, form) in enumerate(mapping.texts):
        yield f"    if (!score_cell(&text{k}, &cells[{j}], x[{j}], x + {first})) return {j + 1};\n"
        first += len(form.shifts)
    for value, (j, other) in enumerate(mapping.differences, first):
        yield f"    x[{value}] = x[{j}] - x[{other}];\n"


def _c_texts(mapping: RowMap, name: str, number: Any) -> str:
    """What scores free text, and its tables."""
    parts = [_shared("rff_text.h"), Template(_C_SCORE_CELL).substitute(name=name)]
    for k, (_, form) in enumerate(mapping.texts):
        arrays = {f"shifts{k}": form.shifts, f"idf{k}": form.idf, f"coefficients{k}": form.coefficients}
        parts += [_c_table("const double", each, map(number, values.ravel().tolist()))
                  for each, values in arrays.items()]
        members = [str(len(form.shifts)), str(len(form.idf).bit_length() - 1), *arrays]
        parts.append(f"static const rff_text_form text{k} = {{{', '.join(members)}}};\n")
    return "".join(parts)


def _shared(name: str) -> str:
    """A file that the C library has too."""
    with open(os.path.join(get_include(), name), encoding="utf-8") as file:
        return "\n" + file.read()


def _has_durations(mapping: RowMap) -> bool:
    return any(column.reading.format == "duration" for column in mapping.columns)


def _c_table(kind: str, name: str, texts: Iterable[str]) -> str:
    items = [*texts]
    return f"static {kind} {name}[{len(items)}] = {{\n" + ",\n".join(items) + "};\n"


def _others(column: Column) -> list[float]:
    """What "no", "yes" and levels that are not known mean."""
    return [*(column.other if place is None else float(place) for place in column.truth_values()), column.other]


def _words() -> dict[str, list[str]]:
    return {"missing_words": sorted(cells.MISSING), "no_words": _NO, "yes_words": _YES}


# --- JavaScript

def js_text(value: Any) -> str:
    """JSON that may also stand in a page."""
    return json.dumps(value).replace("<", "\\u003c")


def js_cells(mapping: RowMap) -> str:
    """Tables of the columns, and the function `read_row(cells)`."""
    words: dict[str, Any] = {key: js_text(words) for key, words in _words().items()} | {
        "n_columns": len(mapping.columns), "n_values": mapping.n_values, "largest": repr(LARGEST_VALUE),
        "base": text._BASE, "most_letters": text.MOST_LETTERS, "lengths": [*text._LENGTHS],
        "last_power": text._LAST_POWER, "derived": "".join(_js_derived(mapping))}
    blanks = "".join(f"\\u{ord(character):04x}" for character in _BLANKS)
    head = (f"\nconst blanks_before = /^[{blanks}]+/, blanks_after = /[{blanks}]+$/;\nconst raw_columns = [\n"
            + "".join(f"    {{ {', '.join(_js_column(column))} }},\n" for column in mapping.columns) + "];\n")
    if mapping.texts:
        head += Template(_JS_TEXT).substitute(words) + "".join(
            f"const text{k} = {{ shifts: {_js_array(form.shifts)}, idf: {_js_array(form.idf)}, "
            f"coefficients: {_js_array(form.coefficients)} }};\n" for k, (_, form) in enumerate(mapping.texts))
    return head + Template(_JS_CELLS).substitute(
        words, reading=Template(_JS_READING).substitute(words, **_js_patterns()))


def _js_derived(mapping: RowMap) -> Iterator[str]:
    """Values behind those of columns."""
    first = len(mapping.columns)
    for k, (j, form) in enumerate(mapping.texts):
        yield f"    x.set(scores_of_text(by_place ? cells[{j}] : cells[columns[{j}]], x[{j}], text{k}), {first});\n"
        first += len(form.shifts)
    for value, (j, other) in enumerate(mapping.differences, first):
        yield f"    x[{value}] = x[{j}] - x[{other}];\n"


def _js_column(column: Column) -> Iterator[str]:
    yield f'kind: "{"unused" if column.kind == cells.EMPTY else column.kind}"'
    if column.kind == cells.CATEGORY:
        yield f"levels: new Map({js_text(column.levels)}.map((level, k) => [level, k]))"
        yield f"numbers: new Map({json.dumps([*column.numbers().items()])})"
        for name, value in zip(("no", "yes", "other"), _others(column), strict=True):
            yield f"{name}: {'NaN' if value != value else format(value, '.0f')}"
    elif column.kind != cells.EMPTY:
        yield f"format: {js_text(column.reading.format)}"
        yield f"words: new Set({js_text(column.reading.words)})"


def _js_array(array: Array) -> str:
    return f'numbers_of("{base64.b64encode(array.astype("<f8").tobytes()).decode()}")'


def _js_patterns() -> dict[str, Any]:
    """Patterns of Python as JavaScript writes them, whose own class of letters has English ones alone."""
    patterns: dict[str, Any] = {
        "marked": cells._MARKED, "clock": cells._CLOCK, "point": cells._BODIES["."], "comma": cells._BODIES[","],
        "dmy": cells._ORDERED["dmy"], "mdy": cells._ORDERED["mdy"], "orderless": cells._ORDERLESS,
        "durations": cells._DURATIONS}
    return {name: js_text([*map(_js_pattern, each)] if isinstance(each, list) else _js_pattern(each))
            for name, each in patterns.items()} | {
        "months": js_text(cells._MONTHS), "not_units": js_text(sorted(cells._NOT_UNITS)), "longest": cells._LONGEST,
        "places": js_text({name: unit for name, unit, _ in cells._PLACES}), "first_year": cells._FIRST_YEAR_OF_1900}


def _js_pattern(compiled: "re.Pattern[str]") -> str:
    source = re.sub(r"\(\?P=(\w+)\)", r"\\k<\1>", compiled.pattern).replace("(?P<", "(?<")
    return re.sub(r"\[\^\\W\\d_\.?\]", lambda _: r"[\p{L}\p{Nl}\p{No}]", source)
