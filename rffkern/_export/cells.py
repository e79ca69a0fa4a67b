"""Rows of cells as rows of values, in C and JavaScript: what `RawColumn` and `FittedColumn.values_of` do in Python.

A value is a number, the seconds of a date since 1970, or the place of a level.  C reads cells by the functions of the C
library; JavaScript by the patterns of `_column_map/cells.py`, which stand in the file.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from string import Template
from typing import Any

from .._column_map import cells, text
from .._rows.validation import LARGEST_VALUE
from .function import Array, Column, RowMap
from .source import c_source_of

# What `str.strip` takes away.
BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))

_C_TYPE = """\
typedef struct {
    const char *text;  /* of UTF-8, or NULL where the cell is a number */
    double number;
} ${name}_cell;

"""

_C_READ_ROW = r"""
/* The values of a row; 0, or 1 and the place of a column whose cell has none. */
static int read_row(const ${name}_cell *cells, double *x)
{
$work    for (int j = 0; j < $n_columns; j++) {
        const rff_column *column = &raw_columns[j];
        rff_cell cell = {RFF_CELL_TEXT, cells[j].number, cells[j].text, 0};
        if (cell.text) cell.length = strlen(cell.text);
        else cell.kind = column->kind == RFF_COLUMN_DATE ? RFF_CELL_DATE : RFF_CELL_NUMBER;
        x[j] = NAN;
        if (column->is_used && rff_read_cell(column, &cell, &x[j]) != RFF_OK) return j + 1;
$scores    }
$derived    return 0;
}
"""
_C_WORK = "    rff_text_work work;\n"
_C_SCORES = "        if (column->n_scores) rff_score_cell(column, &cell, x[j], x + column->first_score, &work);\n"

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
    if (by_place && cells.length !== raw_columns.length) {
        throw new RangeError("expected a row of " + raw_columns.length + " columns, got " + cells.length);
    }
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
    const text = given.replace(/[\u00a0\u202f\u2009\u2007]/g, " ").replace(/\u2019/g, "'")
        .replace(/[\u2212\u2013]/g, "-").replace(/[\u5e74\u6708]/g, "/").replace(/\u65e5/g, "")
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
        negative: Boolean(part.open) || (signs[0] === "-" && !(part.minus && ",.".includes(part.body.at(-1)))),
        percent: part.after === "%" };
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
    texts = {j: (form, first) for j, form, first in mapping.values.texts}
    tables, rows = [], []
    for j, column in enumerate(mapping.columns):
        reading = column.reading
        members = [f".kind = RFF_COLUMN_{column.kind.upper()}", f".is_used = {int(column.kind != cells.EMPTY)}",
                   f".has_rare = {int(column.other == column.other)}"]  # in the order of `rff_column`, as C++ asks for
        for member, each in (("levels", column.levels), ("words", reading.words)):
            if each:
                spans = (f"{{(const uint8_t *){c_text(text)}, {len(text.encode())}}}" for text in each)
                tables.append(_c_table("rff_span", f"{member}{j}", spans))
                members.append(f".{member} = {{{len(each)}, {member}{j}}}")
        members.append(f".format = {c_text(reading.format)}")
        if column.kind == cells.NUMERIC and reading.format not in ("time", "duration"):
            members += [f".decimal = '{reading.decimal}'", f".unit = {c_text(reading.unit)}"]
        if j in texts:
            form, first = texts[j]
            tables.append(_c_table("double", f"text{j}", map(number, form.numbers[1:].tolist())))
            members += [f".n_scores = {len(form.shifts)}", f".first_score = {first}",
                        f".n_bits = {len(form.idf).bit_length() - 1}", f".text = text{j}"]
        rows.append(f"{{{', '.join(members)}}}")
    derived = [f"    x[{value}] = x[{j}] - x[{other}];\n"
               for value, j, other in mapping.values.differences]
    tables.append(_c_table("rff_column", "raw_columns", rows))
    return c_source_of("rff_read_cell", *["rff_score_cell"] * bool(texts)) + "\n" + "".join(tables) + Template(
        _C_READ_ROW).substitute(name=name, n_columns=len(rows), derived="".join(derived),
                                work=_C_WORK * bool(texts), scores=_C_SCORES * bool(texts))


def _c_table(kind: str, name: str, items: Iterable[str]) -> str:
    items = [*items]
    return f"static const {kind} {name}[{len(items)}] = {{\n" + ",\n".join(items) + "};\n"


# --- JavaScript

def js_text(value: Any) -> str:
    """JSON that may also stand in a page."""
    return json.dumps(value).replace("<", "\\u003c")


def js_cells(mapping: RowMap) -> str:
    """Tables of the columns, and the function `read_row(cells)`."""
    no_words, yes_words = ([*dict.fromkeys(words)] for words in zip(*cells._BOOLEAN_WORDS, strict=True))
    words: dict[str, Any] = {
        "missing_words": js_text(sorted(cells.MISSING)), "no_words": js_text(no_words),
        "yes_words": js_text(yes_words), "n_values": mapping.values.n_values, "largest": repr(LARGEST_VALUE),
        "base": text._BASE, "most_letters": text.MOST_LETTERS, "lengths": [*text._LENGTHS],
        "last_power": text._LAST_POWER, "derived": "".join(_js_derived(mapping))}
    blanks = "".join(f"\\u{ord(character):04x}" for character in BLANKS)
    head = (f"\nconst blanks_before = /^[{blanks}]+/, blanks_after = /[{blanks}]+$/;\nconst raw_columns = [\n"
            + "".join(f"    {{ {', '.join(_js_column(column))} }},\n" for column in mapping.columns) + "];\n")
    if mapping.values.texts:
        head += Template(_JS_TEXT).substitute(words) + "".join(
            f"const text{k} = {{ shifts: {_js_array(form.shifts)}, idf: {_js_array(form.idf)}, "
            f"coefficients: {_js_array(form.coefficients)} }};\n"
            for k, (_, form, _) in enumerate(mapping.values.texts))
    return head + Template(_JS_CELLS).substitute(
        words, reading=Template(_JS_READING).substitute(words, **_js_patterns()))


def _js_derived(mapping: RowMap) -> Iterator[str]:
    """Values behind those of columns."""
    for k, (j, _, first) in enumerate(mapping.values.texts):
        yield f"    x.set(scores_of_text(by_place ? cells[{j}] : cells[columns[{j}]], x[{j}], text{k}), {first});\n"
    for value, j, other in mapping.values.differences:
        yield f"    x[{value}] = x[{j}] - x[{other}];\n"


def _js_column(column: Column) -> Iterator[str]:
    yield f'kind: "{"unused" if column.kind == cells.EMPTY else column.kind}"'
    if column.kind == cells.CATEGORY:
        yield f"levels: new Map({js_text(column.levels)}.map((level, k) => [level, k]))"
        yield f"numbers: new Map({json.dumps([*column.numbers().items()])})"
        for name, place in zip(("no", "yes", "other"), (*column.truth_values(), None), strict=True):
            value = column.other if place is None else place
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
        "places": js_text({name: unit for name, unit, _ in cells._PLACES}), "first_year": cells.FIRST_YEAR_OF_1900}


def _js_pattern(compiled: "re.Pattern[str]") -> str:
    source = re.sub(r"\(\?P=(\w+)\)", r"\\k<\1>", compiled.pattern).replace("(?P<", "(?<")
    return re.sub(r"\[\^\\W\\d_\.?\]", lambda _: r"[\p{L}\p{Nl}\p{No}]", source)
