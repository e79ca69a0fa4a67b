"""JavaScript: the program in C with other words, or WebAssembly of it."""

import base64
import json
import re
from collections.abc import Sequence
from string import Template
from typing import Any

from .._column_map.cells import EMPTY
from .c_program import answers_of, row_functions, scores_of, with_helpers, words_of
from .cells import js_cells, js_text
from .function import Function

# From C to JavaScript: all matches of one pattern, then of the next.  The program has no other C than these match, and
# what is the same in both.
_TRANSLATIONS: list[tuple[str, Any]] = [
    # static const int steps[2] = {1, 3}  ->  const steps = Int32Array.from([1, 3])
    (r"static const int (\w+)\[\d+\] = \{([^}]*)\}", r"const \1 = Int32Array.from([\2])"),
    (r"static const double (\w+)\[\d+\] = \{([^}]*)\}", r"const \1 = Float64Array.from([\2])"),
    # static double rank(double x, const double *knots, int n)  ->  function rank(x, knots, n)
    (r"(?m)^(?:static )?(?:void|int|double) (\w+)\(([^)]*)\)$",
     lambda found: f"function {found[1]}({re.sub(r'(const )?(double|int) [*]?', '', found[2])})"),
    # const double *z = x;  ->  const z = x;
    (r"const double \*(\w+) =", r"const \1 ="),
    # double z[5];  ->  const z = new Float64Array(5);
    (r"double (\w+)\[(\d+)\];", r"const \1 = new Float64Array(\2);"),
    (r"int (\w+)\[(\d+)\];", r"const \1 = new Int32Array(\2);"),
    # double n = near - even, w;  ->  let n = near - even, w;
    (r"\b(?:double|int|ROUNDED) (?=\w)", "let "),
    (r"\(void\)x;", ""),
    (r"\(int\)", ""),
    (r"\blarger\(", "Math.max("),
    (r"\bsmaller\(", "Math.min("),
    (r"\bf?(abs|exp|log|tanh|sqrt|floor)\(", r"Math.\1("),  # fabs and abs, exp, ...
    (r"\bisnan\(", "Number.isNaN("),
    (r"\bINFINITY\b", "Infinity"),
    # 0x1.8p+1  ->  3
    (r"-?0x[0-9a-f.]+p[+-]?\d+", lambda found: repr(float.fromhex(found[0])).removesuffix(".0")),
]

_JS_HEAD = """\
// $title, as rffkern exported it.  A row x is $row.
export const columns = $columns;
"""
_JS_ROW_OF_CELLS = """an array of {} cells, or an
// object that has them by name: text, numbers, booleans or Date, and null, NaN or empty text where missing"""
_JS_NUMBERS = """
function numbers_of(row) {
    const by_place = Array.isArray(row) || ArrayBuffer.isView(row);
    if (by_place && row.length !== columns.length) {
        throw new RangeError("expected a row of " + columns.length + " columns, got " + row.length);
    }
    if (ArrayBuffer.isView(row)) return row;
    return columns.map((name, j) => {
        if (!by_place && !(name in row)) throw new RangeError("the row has no column " + JSON.stringify(name));
        const cell = by_place ? row[j] : row[name];
        if (typeof cell !== "string") return Number(cell ?? NaN);
        if (cell.trim() === "") return NaN;
        if (!Number.isNaN(Number(cell))) return Number(cell);
        throw new RangeError("column " + JSON.stringify(name) + " must hold numbers, got " + cell);
    });
}
"""
_JS_FUNCTION = """
// $said
export function $name(x) {
    const out = new Float64Array($size);
    fill_$function($x, out);
    return $result;
}
"""

# (What it gives, how many numbers, result) of the functions that fill an array.
_JS_FUNCTIONS = {
    "scores": ("Scores of a row.", "$n_outputs", "out"),
    "probabilities": ("Probabilities of the classes.", "$n_answers", "out"),
    "predict": ("What the model predicts of a row: a number, or an array of several.", "$n_answers",
                "$n_answers === 1 ? out[0] : out"),
    "interval": ("The lower and the upper end of an interval; of several targets an array of such.", "2 * $n_targets",
                 "$n_targets === 1 ? [...out] : Array.from({ length: $n_targets }, (_, k) => [...out.subarray(2 * k, "
                 "2 * k + 2)])"),
    "contributions": ("Contributions of each column to each score, which with base_values add up to the scores.",
                      "$n_contributions", "out"),
}
_JS_CLASS = """
// The most likely class.
export const classes = $classes;
export function predict(x) {
    return classes[fill_class($x)];
}
"""

# The functions that read arrays, for WebAssembly without a C library; numbers go in and out by two arrays.
_WASM_HEAD = """\
#include <float.h>
#define ROUNDED double
#define INFINITY __builtin_inf()
#define isnan __builtin_isnan
#define fabs __builtin_fabs
#define floor __builtin_floor
#define sqrt __builtin_sqrt
__attribute__((import_module("math"), import_name("exp"))) double exp(double);

double given[$n_values], found[$n_found];
"""
_WASM_FUNCTION = """
void $function(void)
{
    row_$function(given, found);
}
"""

_JS_OF_WASM = """
let wasm, given, found;
export const ready = WebAssembly.instantiate(Uint8Array.from(atob(
    "$wasm"
), (letter) => letter.charCodeAt(0)), { math: Math }).then(({ instance }) => {
    wasm = instance.exports;
    given = new Float64Array(wasm.memory.buffer, wasm.given.value, $n_values);
    found = new Float64Array(wasm.memory.buffer, wasm.found.value, $n_found);
});
"""
_JS_OF_WASM_FUNCTION = """
function fill_$function(x, out) {
    given.fill(NaN);
    given.set(x);
    wasm.$function();
    out.set(found.subarray(0, out.length));
}
"""


def js_file(function: Function, wasm: bytes = b"", of_text: bool = False) -> str:
    """One ES module, of which the functions that read arrays may be WebAssembly; rows may be those of a text file."""
    labels, mapping, words = function.answer.labels, function.cells, words_of(function, "fill")
    if function.mapping is not None and (of_text or any(
            column.kind == EMPTY for column in function.mapping.columns)):  # rows may have text in columns without use
        mapping = function.mapping
    program = ("" if wasm else scores_of(function, "fill", "", "")) + answers_of(function, "fill", "fill", "")
    program = with_helpers(program, without=("larger", "smaller"))  # which JavaScript has
    for pattern, by in _TRANSLATIONS:
        program = re.sub(pattern, by, program)
    if wasm:
        program = Template(_JS_OF_WASM).substitute(words, wasm=base64.b64encode(wasm).decode()) + "".join(
            Template(_JS_OF_WASM_FUNCTION).substitute(function=name) for name in _functions_of_rows(function)) + program
    words |= {
        "columns": js_text(function.column_names()), "classes": _js_labels(labels),
        "x": "numbers_of(x)" if mapping is None else "read_row(x)",
        "row": f"an array of {function.n_columns} numbers" + ("" if function.names is None else " or an object by name")
        + ("" if function.mapping is None else ", NaN where missing")
        if mapping is None else _JS_ROW_OF_CELLS.format(function.n_columns)}
    tail = _JS_CLASS if labels is not None else ""
    for each in row_functions(function):
        said, size, result = _JS_FUNCTIONS[each]
        tail += Template(_JS_FUNCTION).safe_substitute(
            name="predict_interval" if each == "interval" else each, said=said, size=size, function=each, result=result)
    if function.contributions:
        tail += f"export const base_values = {json.dumps(function.contributions.base_values.tolist())};\n"
    reader = js_cells(mapping) if mapping is not None else _JS_NUMBERS
    return (Template(_JS_HEAD).substitute(words) + program + reader + Template(tail).substitute(words))


def _js_labels(labels: Sequence[Any] | None) -> str:
    """The labels: of whole numbers that numbers of JavaScript would round, all as BigInt."""
    if labels and isinstance(labels[0], int) and max(map(abs, labels)) > 2**53 - 1:
        return f"[{', '.join(f'{label}n' for label in labels)}]"
    return js_text(labels)


def wasm_source(function: Function) -> tuple[str, list[str]]:
    """C of the functions that read arrays, for WebAssembly, and the names that it has to export."""
    names = _functions_of_rows(function)
    text = Template(_WASM_HEAD).substitute(words_of(function, "row"))
    text += with_helpers(scores_of(function, "row", "", "static "))
    return text + "".join(Template(_WASM_FUNCTION).substitute(function=name) for name in names), [
        "given", "found", *names]


def _functions_of_rows(function: Function) -> list[str]:
    return ["scores", *(["contributions"] if function.contributions else [])]
