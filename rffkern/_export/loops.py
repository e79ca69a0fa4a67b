"""C and JavaScript: the same loops over the rows of a model's arrays, with the words of each language."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from string import Template
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..errors import InvalidInputError
from .formulas import FORMS, KERNELS, LINE, TextWriter, write
from .function import Function, RowMap

Array = NDArray[Any]


class Language(NamedTuple):
    """What differs between languages with these loops."""

    real: str  # before a new number
    whole: str  # before a new index
    reals: Callable[[str, int], str]  # a new array of zeros or of anything
    constant: Callable[[str, Array, Callable[[float], str]], str]  # an array of numbers
    function: Callable[[str, str, str, bool], str]  # head: name, arrays that are read, one that is filled, public
    missing: str  # whether {} is not a number
    writer: TextWriter


def _c_constant(name: str, values: Array, number: Callable[[float], str]) -> str:
    kind = "int" if values.dtype.kind in "iu" else "double"
    return f"static const {kind} {name}[{values.size}] = {{\n{_rows(values, number)}}};\n"


def _c_function(name: str, given: str, filled: str, public: bool) -> str:
    arguments = [f"const double *{given}", *([f"double *{filled}"] if filled else [])]
    return f"{'' if public else 'static '}{'void' if filled else 'int'} {name}({', '.join(arguments)})"


def _js_constant(name: str, values: Array, number: Callable[[float], str]) -> str:
    kind = "Int32Array" if values.dtype.kind in "iu" else "Float64Array"
    return f"const {name} = {kind}.of(\n{_rows(values, number)});\n"


def _js_function(name: str, given: str, filled: str, public: bool) -> str:
    return f"function {name}({', '.join(filter(None, [given, filled]))})"


def _hexadecimal(value: float) -> str:
    """A number without rounding, and without the zeros that Python would write."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "INFINITY", "-inf": "-INFINITY"}.get(str(value), "NAN")
    return re.sub(r"\.?0*p", "p", value.hex()) if value else "0"


def _decimal(value: float) -> str:
    return {"inf": "Infinity", "-inf": "-Infinity"}.get(text := repr(value), text.removesuffix(".0"))


def _rows(values: Array, number: Callable[[float], str]) -> str:
    """Numbers with commas between, some in a line."""
    texts = [str(value) if isinstance(value, int) else number(value) for value in values.reshape(-1).tolist()]
    return ",\n".join(", ".join(texts[i : i + 8]) for i in range(0, len(texts), 8))


_TERNARY = {"where": "({} ? {} : {})"}
C = Language("double ", "int ", "double {}[{}];".format, _c_constant, _c_function, "isnan({})", TextWriter(
    {"max": "fmax({}, {})", "min": "fmin({}, {})", "abs": "fabs({})"} | _TERNARY, "{}({})", _hexadecimal))
JAVASCRIPT = Language("let ", "let ", "const {} = new Float64Array({});".format, _js_constant, _js_function,
                      "Number.isNaN({})", TextWriter(_TERNARY, "Math.{}({})", _decimal))

_RANK_IN_C = """
/* The piecewise linear function through knots and heights, constant beyond them. */
static double rank(double x, const double *knots, const double *heights, int n)"""
_RANK_IN_JAVASCRIPT = """
// The piecewise linear function through knots and heights, constant beyond them.
function rank(x, knots, heights, n)"""
_RANK = """ {
    ${whole}low = 0, high = n;
    while (low < high) {
        ${whole}middle = (low + high) >> 1;
        if (knots[middle] <= x) low = middle + 1;
        else high = middle;
    }
    if (low == 0) return heights[0];
    if (low == n) return heights[n - 1];
    ${real}slope = (heights[low] - heights[low - 1]) / (knots[low] - knots[low - 1]);
    return $formula;
}
"""

# What a part adds to the scores h of a row z, for n terms.
_PARTS = {
    "waves": """
    for (${whole}t = 0; t < $n; t++) {
        ${real}angle = -phases[t];
        for (${whole}j = 0; j < $n_features; j++) angle += omegas[t * $n_features + j] * (z[j] - center[j]);
        angle = $cos;
        for (${whole}k = 0; k < $n_outputs; k++) h[k] += amplitudes[t * $n_outputs + k] * angle;
    }
""",
    "lines": """
    for (${whole}j = 0; j < $n; j++) {
        for (${whole}k = 0; k < $n_outputs; k++) h[k] += $line;
    }
""",
    "tables": """
    for (${whole}t = 0; t < $n; t++) {
        ${whole}cell = starts[t];
        for (${whole}q = t * $depth; q < (t + 1) * $depth; q++) {
            if (z[table_columns[q]] > thresholds[q]) cell += steps[q];
        }
        for (${whole}k = 0; k < $n_outputs; k++) h[k] += values[cell * $n_outputs + k];
    }
""",
    "kernels": """
    for (${whole}t = 0; t < $n; t++) {
        ${real}q = 0;
        for (${whole}j = 0; j < $n_features; j++) {
            ${real}d = (z[j] - centers[t * $n_features + j]) * inverse_lengthscales[j];
            q += d * d;
        }
        q = $kernel;
        for (${whole}k = 0; k < $n_outputs; k++) h[k] += weights[t * $n_outputs + k] * q;
    }
""",
}

_PROBABILITIES_OF_TWO = """
    p[1] = $formula;
    p[0] = 1 - p[1];
"""
_PROBABILITIES = """
    ${real}largest = -$infinity, sum = 0;
    for (${whole}k = 0; k < $n_outputs; k++) {
        p[k] = $formula;
        if (p[k] > largest) largest = p[k];
    }
    for (${whole}k = 0; k < $n_outputs; k++) sum += p[k] = $exp;
    for (${whole}k = 0; k < $n_outputs; k++) p[k] /= sum;
"""
_CLASS_OF_TWO = """
    return h[0] > 0 ? 1 : 0;
"""
_CLASS = """
    ${whole}best = 0;
    for (${whole}k = 1; k < $n_outputs; k++) {
        if (h[k] > h[best]) best = k;
    }
    return best;
"""
_TARGETS = """
    for (${whole}k = 0; k < $n_outputs; k++) y[k] = $formula;
"""
_LEAST = """
    y[0] = h[0];
    for (${whole}k = 1; k < $n_outputs; k++) y[0] = $least;
"""


_C_HEAD = """\
/* $title, as rffkern exported it: C99, libm alone.
 *
 * x has the $n_columns columns of a row$missing.
 * ${name}_scores(x, h) fills $n_outputs score(s).
$answers */
#include <math.h>

/* A product that is fused with a sum would move a row across a threshold. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

"""
_C_PREDICT = """\
 * ${name}_predict(x, y) fills $n_answers value(s).
"""
_C_CLASSES = """\
 * ${name}_probabilities(x, p) fills $n_classes probabilities.
 * ${name}_class(x) is the index of the most likely of ${name}_labels.
"""


def c_file(function: Function, name: str) -> str:
    """One C file."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise InvalidInputError(f"name must be a word that C takes for a function, got {name!r}")
    labels = function.answer.labels
    answers = Template(_C_PREDICT if labels is None else _C_CLASSES).substitute(
        name=name, n_answers=function.n_answers, n_classes=function.n_answers)
    head = Template(_C_HEAD).substitute(
        name=name, title=function.title, n_columns=function.n_columns, n_outputs=function.intercept.size,
        answers=answers, missing="" if function.mapping is None else ", NAN where missing")
    return head + "".join(_program(function, C, f"{name}_")) + ("" if labels is None else _c_labels(name, labels))


def _c_labels(name: str, labels: Sequence[Any]) -> str:
    """Declaration and definition of the labels."""
    if isinstance(labels[0], str):
        kind, texts = "const char *const", [_c_text(label) for label in labels]
    elif isinstance(labels[0], float):
        kind, texts = "const double", [_hexadecimal(label) for label in labels]
    elif max(labels) > 2**63 - 1:
        kind, texts = "const unsigned long long", [f"{label}ULL" for label in labels]
    else:  # whose least number has no literal
        kind, texts = "const long long", [f"{int(label)}" if label > -(2**63) else f"{label + 1} - 1"
                                          for label in labels]
    declaration = f"{kind} {name}_labels[{len(labels)}]"
    return f"\nextern {declaration};\n{declaration} = {{{', '.join(texts)}}};\n"


def _c_text(text: str) -> str:
    """A literal of UTF-8; octal escapes, which end after three digits."""
    return '"' + "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
                         for byte in text.encode()) + '"'


_JS_HEAD = """\
// $title, as rffkern exported it.  A row x is an array of $n_columns numbers$missing.
export const columns = $columns;
"""
_JS_TAIL = """
// Scores of a row.
export function scores(x) {
    const h = new Float64Array($n_outputs);
    fill_scores(x, h);
    return h;
}
"""
_JS_PREDICT = """
// What the model predicts of a row: a number, or an array of several.
export function predict(x) {
    const y = new Float64Array($n_answers);
    fill_predict(x, y);
    return $n_answers === 1 ? y[0] : y;
}
"""
_JS_CLASSES = """
// Probabilities of the classes.
export function probabilities(x) {
    const p = new Float64Array($n_answers);
    fill_probabilities(x, p);
    return p;
}

// The most likely class.
export const classes = $classes;
export function predict(x) {
    return classes[fill_class(x)];
}
"""


def js_file(function: Function) -> str:
    """One ES module."""
    labels = function.answer.labels
    numbers = {"title": function.title, "n_columns": function.n_columns, "n_outputs": function.intercept.size,
               "n_answers": function.n_answers, "columns": json.dumps(function.column_names()),
               "classes": json.dumps(labels), "missing": "" if function.mapping is None else ", NaN where missing"}
    head, tail = (Template(text).substitute(numbers)
                  for text in (_JS_HEAD, _JS_TAIL + (_JS_PREDICT if labels is None else _JS_CLASSES)))
    return head + "".join(_program(function, JAVASCRIPT, "fill_")) + tail


def _program(function: Function, language: Language, prefix: str) -> Iterable[str]:
    """Arrays, then the functions that are asked for, whose names begin with the prefix."""
    n_outputs, answer, seen = function.intercept.size, function.answer, set()

    def filled(template: str, **more: object) -> str:
        return Template(template).substitute(
            real=language.real, whole=language.whole, n_outputs=n_outputs, n_features=function.n_features, **more)

    def head(name: str, given: str, filled: str = "", public: bool = True) -> str:
        return "\n" + language.function(name, given, filled, public) + " {\n"

    call, number = language.writer.call, language.writer.number
    yield language.constant("intercept", function.intercept, number)
    for part in function.parts:
        for name, array in part.arrays.items():
            if name not in seen:
                yield language.constant(name, array, number)
        seen |= {*part.arrays}
    if function.mapping is not None:
        yield from _map_row(function.mapping, language, filled, head)
    yield head(f"{prefix}scores", "x", "h")
    if not function.parts:
        yield "    (void)x;\n" if language is C else ""
    elif function.mapping is None:
        yield filled("    ${rows}z = x;\n", rows="const double *" if language is C else "const ")
    else:
        yield f"    {language.reals('z', function.n_features)}\n    map_row(x, z);\n"
    yield filled("    for (${whole}k = 0; k < $n_outputs; k++) h[k] = intercept[k];\n")
    for part in function.parts:
        yield filled(_PARTS[part.kind].removeprefix("\n"), n=len(next(iter(part.arrays.values()))),
                     depth=part.arrays["steps"].shape[1] if part.kind == "tables" else 0, cos=call("cos", "angle"),
                     line=write(LINE, language.writer, slope=f"slopes[j * {n_outputs} + k]", x="(z[j] - center[j])"),
                     kernel=write(KERNELS[part.shape], language.writer, q="q") if part.shape else "")
    yield "}\n"
    score = f"    {language.reals('h', n_outputs)}\n    {prefix}scores(x, h);"
    formula = write(answer.formula, language.writer, h="h[0]" if answer.labels and len(answer.labels) == 2 else "h[k]",
                    **{name: number(value) for name, value in answer.numbers.items()})
    if answer.labels is None:
        yield head(f"{prefix}predict", "x", "y") + score
        yield filled(_LEAST if answer.least else _TARGETS, formula=formula, least=call("min", "y[0]", "h[k]")) + "}\n"
        return
    two = len(answer.labels) == 2
    yield head(f"{prefix}probabilities", "x", "p") + score + filled(
        _PROBABILITIES_OF_TWO if two else _PROBABILITIES, formula=formula, infinity=number(float("inf")),
        exp=call("exp", "p[k] - largest")) + "}\n"
    yield head(f"{prefix}class", "x") + score + filled(_CLASS_OF_TWO if two else _CLASS) + "}\n"


def _map_row(mapping: RowMap, language: Language, filled: Callable[..., str],
             head: Callable[..., str]) -> Iterable[str]:
    """The function `map_row(x, z)`."""
    call, number = language.writer.call, language.writer.number
    ranks = [o for o, output in enumerate(mapping.outputs) if output.kind == "rank"]
    for o in ranks:
        yield language.constant(f"knots{o}", mapping.outputs[o].knots, number)
        yield language.constant(f"heights{o}", mapping.outputs[o].heights, number)
    if ranks:
        yield _RANK_IN_C if language is C else _RANK_IN_JAVASCRIPT
        yield filled(_RANK, formula=write(FORMS["rank"], language.writer, height="heights[low - 1]", slope="slope",
                                          x="x", knot="knots[low - 1]"))
    yield head("map_row", "x", "z", False)
    for o, output in enumerate(mapping.outputs):
        x = f"x[{output.source}]"
        if output.kind == "rank":
            value = f"rank({x}, knots{o}, heights{o}, {len(output.knots)})"
        else:
            value = write(FORMS[output.kind], language.writer, x=x,
                          **{name: number(each) for name, each in zip("abcd", output.numbers, strict=True)})
        value = call("where", language.missing.format(x), number(output.missing), value)
        yield f"    z[{o}] = {value if output.divisor == 1 else call('div', value, number(output.divisor))};\n"
    told = []
    for i, fill in enumerate(mapping.fills):
        neutral = mapping.neutral[fill.output]
        terms = [call("mul", number(factor), call("sub", f"z[{k}]", number(mapping.neutral[k])))
                 for k, factor in zip(fill.telling.tolist(), fill.factors.tolist(), strict=True)]
        x = f"x[{mapping.outputs[fill.output].source}]"
        told.append(f"    if ({language.missing.format(x)}) z[{fill.output}] = told{i};\n")
        yield f"    {language.real}told{i} = {' + '.join([number(neutral), *terms])};\n"
        held = call("min", number(fill.high), call("max", number(fill.low), f"told{i}"))
        yield f"    told{i} = {call('where', language.missing.format(f'told{i}'), number(neutral), held)};\n"
    yield from told
    yield "}\n"
