"""C, and JavaScript as the same program with other words."""

import re
import sys
from collections.abc import Iterator, Sequence
from string import Template
from typing import Any

import numpy as np

from .._rows.validation import integer_dtype
from ..errors import InvalidInputError
from .cells import c_cells, c_text, c_type, js_cells, js_text
from .formulas import CLIP, FORMS, KERNELS, LINE, PLACES, TextWriter, write
from .function import Array, Function, Intervals, Output, RowMap, check_texts


def _hexadecimal(value: float) -> str:
    """A number without rounding, and without the zeros that Python would write."""
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return re.sub(r"\.?0*p", "p", value.hex()) if value else "0"


_WRITER = TextWriter({"max": "fmax({}, {})", "min": "fmin({}, {})", "abs": "fabs({})", "where": "({} ? {} : {})"},
                     "{}({})", _hexadecimal)

_LARGEST = sys.float_info.max.hex()

# From C to JavaScript, one after the other.
_TRANSLATIONS: list[tuple[str, Any]] = [
    (r"static const int (\w+)\[\d+\] = \{([^}]*)\}", r"const \1 = Int32Array.of(\2)"),
    (r"static const double (\w+)\[\d+\] = \{([^}]*)\}", r"const \1 = Float64Array.of(\2)"),
    (r"(?m)^(?:static )?(?:void|int|double) (\w+)\((.*)\)$",
     lambda found: f"function {found[1]}({re.sub(r'(const )?(double|int) [*]?', '', found[2])})"),
    (r"const double \*(\w+) =", r"const \1 ="),
    (r"double (\w+)\[(\d+)\];", r"const \1 = new Float64Array(\2);"),
    (r"int (\w+)\[(\d+)\];", r"const \1 = new Int32Array(\2);"),
    (r"\b(?:double|int) (?=\w)", "let "),
    (r"\(void\)x;", ""),
    (r"\(int\)", ""),
    (r"\bf?(max|min|abs|sin|cos|exp|log|tanh|sqrt|floor)\(", r"Math.\1("),
    (r"\bisnan\(", "Number.isNaN("),
    (r"\bINFINITY\b", "Infinity"),
    (r"-?0x[0-9a-f.]+p[+-]\d+", lambda found: repr(float.fromhex(found[0])).removesuffix(".0")),
]

_RANK = """
/* The piecewise linear function through knots and heights, constant beyond them. */
static double rank(double x, const double *knots, const double *heights, int n)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) >> 1;
        if (knots[middle] <= x) low = middle + 1;
        else high = middle;
    }
    if (low == 0) return heights[0];
    if (low == n) return heights[n - 1];
    double slope = (heights[low] - heights[low - 1]) / (knots[low] - knots[low - 1]);
    return $rank;
}
"""

_SCORES = """
${static}void ${name}_scores(const double *x, double *h)
{
    $z
    for (int k = 0; k < $n_outputs; k++) h[k] = 0;
"""

_CLIPPED = """
    for (int j = 0; j < $n_features; j++) z[j] = $clip;\
"""

# What a part adds to the scores h of a row z, for n terms.
_PARTS = {
    "fourier": """\
    for (int t = 0; t < $n; t++) {
        double angle = -phases[t];
        for (int q = omega_starts[t]; q < omega_starts[t + 1]; q++) {
            angle += omegas[q] * (z[omega_columns[q]] - center[omega_columns[q]]);
        }
        angle = cos(angle);
        for (int k = 0; k < $n_outputs; k++) h[k] += amplitudes[t * $n_outputs + k] * angle;
    }
""",
    "linear": """\
    for (int j = 0; j < $n; j++) {
        for (int k = 0; k < $n_outputs; k++) h[k] += $line;
    }
""",
    "trees": """\
    for (int t = 0; t < $n; t++) {
        int leaf = starts[t];
        for (int q = t * $depth; q < (t + 1) * $depth; q++) {
            if (z[tree_columns[q]] > tree_thresholds[q]) leaf += steps[q];
        }
        for (int k = 0; k < $n_outputs; k++) h[k] += values[leaf * $n_outputs + k];
    }
""",
    "kernels": """\
    for (int t = $first; t < $end; t++) {
        double q = 0;
        for (int j = 0; j < $n_features; j++) {
            double d = (z[j] - centers[t * $n_features + j]) * inverse_length_scales[j];
            q += d * d;
        }
        q = $kernel;
        for (int k = 0; k < $n_outputs; k++) h[k] += weights[t * $n_outputs + k] * q;
    }
""",
}

# The kernels of a row where they are in regions, the leaves of a binary tree.
_REGION = """\
    int region = 0;
    while (region < $n_nodes) region = 2 * region + (z[region_columns[region]] > region_thresholds[region] ? 2 : 1);
    region -= $n_nodes;
"""

# Last, so that sums on the way are small.
_INTERCEPT = """\
    for (int k = 0; k < $n_outputs; k++) h[k] += intercept[k];
}
"""

# What follows from the scores, of two classes and of more.
_CLASSES = {2: """
${static}void ${name}_probabilities(const double *x, double *p)
{
    double h[1];
    ${name}_scores(x, h);
    p[1] = $formula;
    p[0] = 1 - p[1];
}

${static}int ${name}_class(const double *x)
{
    double h[1];
    ${name}_scores(x, h);
    return h[0] > 0 ? 1 : 0;
}
""", 3: """
${static}void ${name}_probabilities(const double *x, double *p)
{
    double h[$n_outputs];
    double largest = -INFINITY, sum = 0;
    ${name}_scores(x, h);
    for (int k = 0; k < $n_outputs; k++) {
        p[k] = $formula;
        if (p[k] > largest) largest = p[k];
    }
    for (int k = 0; k < $n_outputs; k++) sum += p[k] = exp(p[k] - largest);
    for (int k = 0; k < $n_outputs; k++) p[k] /= sum;
}

${static}int ${name}_class(const double *x)
{
    double h[$n_outputs];
    int best = 0;
    ${name}_scores(x, h);
    for (int k = 1; k < $n_outputs; k++) {
        if (h[k] > h[best]) best = k;
    }
    return best;
}
"""}
_PREDICT = """
${static}void ${name}_predict(const double *x, double *y)
{
    double h[$n_outputs];
    ${name}_scores(x, h);
    for (int k = 0; k < $n_outputs; k++) $predict;
}
"""
_INTERVAL = """
${static}void ${name}_interval(const double *x, double *y)
{
    double h[$n_outputs];
    ${name}_scores(x, h);
$ends}
"""

# Contributions phi (n_columns, n_outputs) of raw columns to the scores of a row z: _export/contributions.py.
_CONTRIBUTIONS = """
${static}void ${name}_contributions(const double *x, double *phi)
{
    $z
    for (int k = 0; k < $n_contributions; k++) phi[k] = 0;
"""
_CONTRIBUTIONS_OF_PARTS = {
    "fourier": """\
    double angle[$n_columns];
    double w_re[$n_columns];
    double w_im[$n_columns];
    double u_re[$n_columns];
    double u_im[$n_columns];
    double before_re[$n_columns];
    double before_im[$n_columns];
    double sum_re[$n_columns];
    double sum_im[$n_columns];
    int player[$n_columns];
    for (int t = 0; t < $n; t++) {
        int m = 0;
        for (int c = 0; c < $n_columns; c++) angle[c] = 0;
        for (int q = omega_starts[t]; q < omega_starts[t + 1]; q++) {
            angle[shapley_sources[omega_columns[q]]] += omegas[q] * (z[omega_columns[q]] - center[omega_columns[q]]);
        }
        for (int c = 0; c < $n_columns; c++) {
            if (shapley_reads[t * $n_columns + c] == 0) continue;
            player[m] = c;
            w_re[m] = shapley_real[t * $n_columns + c];
            w_im[m] = shapley_imaginary[t * $n_columns + c];
            u_re[m] = cos(angle[c]) - w_re[m];
            u_im[m] = sin(angle[c]) - w_im[m];
            sum_re[m] = 0;
            sum_im[m] = 0;
            m = m + 1;
        }
        for (int q = shapley_rule_ends[m]; q < shapley_rule_ends[m + 1]; q++) {
            double re = 1, im = 0;
            for (int g = 0; g < m; g++) {
                double f_re = w_re[g] + shapley_nodes[q] * u_re[g], f_im = w_im[g] + shapley_nodes[q] * u_im[g];
                double next = re * f_re - im * f_im;
                before_re[g] = re;
                before_im[g] = im;
                im = re * f_im + im * f_re;
                re = next;
            }
            re = shapley_weights[q];
            im = 0;
            for (int g = m - 1; g >= 0; g--) {
                double f_re = w_re[g] + shapley_nodes[q] * u_re[g], f_im = w_im[g] + shapley_nodes[q] * u_im[g];
                double next = re * f_re - im * f_im;
                sum_re[g] += before_re[g] * re - before_im[g] * im;
                sum_im[g] += before_re[g] * im + before_im[g] * re;
                im = re * f_im + im * f_re;
                re = next;
            }
        }
        for (int g = 0; g < m; g++) {
            double value = cos(phases[t]) * (u_re[g] * sum_re[g] - u_im[g] * sum_im[g])
                + sin(phases[t]) * (u_re[g] * sum_im[g] + u_im[g] * sum_re[g]);
            for (int k = 0; k < $n_outputs; k++) {
                phi[player[g] * $n_outputs + k] += amplitudes[t * $n_outputs + k] * value;
            }
        }
    }
""",
    "linear": """\
    for (int j = 0; j < $n; j++) {
        for (int k = 0; k < $n_outputs; k++) {
            phi[shapley_sources[j] * $n_outputs + k] += $line - shapley_line_means[j * $n_outputs + k];
        }
    }
""",
    "trees": """\
    for (int t = 0; t < $n; t++) {
        int leaf = 0, first = shapley_place_ends[t], last = shapley_place_ends[t + 1];
        for (int q = t * $depth; q < (t + 1) * $depth; q++) {
            if (z[tree_columns[q]] > tree_thresholds[q]) leaf += steps[q];
        }
        int at = shapley_starts[t] + leaf * (last - first) * $n_outputs;
        for (int p = first; p < last; p++) {
            for (int k = 0; k < $n_outputs; k++) {
                phi[shapley_places[p] * $n_outputs + k] += shapley_tables[at + (p - first) * $n_outputs + k];
            }
        }
    }
""",
}

# Of cells: the same functions, which read the row first.
_C_OF_CELLS = """
int ${name}_$function(const ${name}_cell *cells, double *$out)
{
    double x[$n_values];
    const int odd = read_row(cells, x);
    if (!odd) row_$function(x, $out);
    return odd;
}
"""
_C_CLASS_OF_CELLS = """
int ${name}_class(const ${name}_cell *cells)
{
    double x[$n_values];
    const int odd = read_row(cells, x);
    return odd ? -odd : row_class(x);
}
"""

_C_HEAD = """\
/* $title, as rffkern exported it: C99, libm alone.
 *
 * x has the $n_columns $row.
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
_C_INTERVAL = """\
 * ${name}_interval(x, y) fills the lower and the upper end of the interval of each target.
"""
_C_CONTRIBUTIONS = """\
 * ${name}_contributions(x, phi) fills the contributions of each column to each score, $n_contributions in all; with
 * ${name}_base_values they add up to the scores.
"""
_C_CLASSES = """\
 * ${name}_probabilities(x, p) fills $n_answers probabilities.
 * ${name}_class(x) is the index of the most likely of ${name}_labels.
"""

_C_ROW_OF_CELLS = """\
cells of a row: text, or a number where the text is NULL; missing are NULL with NAN, and empty text.
 * Dates are seconds since 1970, or text such as 2024-03-01 12:30:15.5+01:00.
 * Functions return 0, or 1 + j if the cell j cannot be read, and ${name}_class then -(1 + j)"""

_JS_HEAD = """\
// $title, as rffkern exported it.  A row x is $row.
export const columns = $columns;
"""
_JS_ROW_OF_CELLS = """an array of {} cells, or an
// object that has them by name: text, numbers, booleans or Date, and null, NaN or empty text where missing"""
_JS_TAIL = """
// Scores of a row.
export function scores(x) {
    const h = new Float64Array($n_outputs);
    fill_scores($x, h);
    return h;
}
"""
_JS_PREDICT = """
// What the model predicts of a row: a number, or an array of several.
export function predict(x) {
    const y = new Float64Array($n_answers);
    fill_predict($x, y);
    return $n_answers === 1 ? y[0] : y;
}
"""
_JS_INTERVAL = """
// The lower and the upper end of an interval: an array of two numbers, or of such arrays of several targets.
export function predict_interval(x) {
    const y = new Float64Array(2 * $n_targets);
    fill_interval($x, y);
    return $n_targets === 1 ? [y[0], y[1]] : Array.from({ length: $n_targets }, (_, k) => [y[2 * k], y[2 * k + 1]]);
}
"""
_JS_CONTRIBUTIONS = """
// Contributions of each column to each score, $n_contributions in all; with base_values they add up to the scores.
export const base_values = [$base_values];
export function contributions(x) {
    const phi = new Float64Array($n_contributions);
    fill_contributions($x, phi);
    return phi;
}
"""
_JS_CLASSES = """
// Probabilities of the classes.
export function probabilities(x) {
    const p = new Float64Array($n_answers);
    fill_probabilities($x, p);
    return p;
}

// The most likely class.
export const classes = $classes;
export function predict(x) {
    return classes[fill_class($x)];
}
"""


def c_file(function: Function, name: str) -> str:
    """One C file."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise InvalidInputError(f"name must be a word that C takes for a function, got {name!r}")
    check_texts(function, "c", without="\0", counts_words=True)
    labels, words, mapping = function.answer.labels, _words(function, name), function.cells
    missing = "columns of a row" + ("" if function.mapping is None else ", NAN where missing")
    answers = (_C_PREDICT if labels is None else _C_CLASSES) + (_C_INTERVAL if function.intervals else "")
    answers += _C_CONTRIBUTIONS if function.contributions else ""
    words |= {"answers": Template(answers).substitute(words),
              "row": missing if mapping is None else Template(_C_ROW_OF_CELLS).substitute(words)}
    text = Template(_C_HEAD).substitute(words)
    if mapping is None:
        text += _program(function, name)
    else:
        text = text.replace("#include <math.h>", "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n"
                            "#include <stdlib.h>\n#include <string.h>")
        text += c_type(name) + _program(function, "row", "static ") + c_cells(mapping, name, _hexadecimal)
        outputs = {"scores": "h"} | ({"predict": "y"} if labels is None else {"probabilities": "p"})
        outputs |= {"interval": "y"} if function.intervals else {}
        outputs |= {"contributions": "phi"} if function.contributions else {}
        text += "".join(Template(_C_OF_CELLS).substitute(words, function=each, out=out)
                        for each, out in outputs.items())
        text += "" if labels is None else Template(_C_CLASS_OF_CELLS).substitute(words)
    if function.contributions:
        values = ", ".join(map(_hexadecimal, function.contributions.base_values.tolist()))
        declaration = f"const double {name}_base_values[{function.intercept.size}]"
        text += f"\nextern {declaration};\n{declaration} = {{{values}}};\n"
    return text + ("" if labels is None else _c_labels(name, labels))


def _c_labels(name: str, labels: Sequence[Any]) -> str:
    """Declaration and definition of the labels."""
    if isinstance(labels[0], str):
        kind, texts = "const char *const", [*map(c_text, labels)]
    elif isinstance(labels[0], float):
        kind, texts = "const double", [_hexadecimal(label) for label in labels]
    elif integer_dtype(labels[0], labels[-1]) is None:
        raise InvalidInputError(f"the labels, from {labels[0]} to {labels[-1]}, are whole numbers that no integer of C "
                                "holds together: export the model to another target, or train it on labels as text")
    elif labels[-1] >= 2**63:
        kind, texts = "const unsigned long long", [f"{label}ULL" for label in labels]
    else:  # whose least number has no literal
        kind, texts = "const long long", [f"{int(label)}" if label > -(2**63) else f"{label + 1} - 1"
                                          for label in labels]
    declaration = f"{kind} {name}_labels[{len(labels)}]"
    return f"\nextern {declaration};\n{declaration} = {{{', '.join(texts)}}};\n"


def _js_labels(labels: Sequence[Any] | None) -> str:
    """The labels: of whole numbers that numbers of JavaScript would round, all as BigInt."""
    if labels and isinstance(labels[0], int) and max(map(abs, labels)) > 2**53 - 1:
        return f"[{', '.join(f'{label}n' for label in labels)}]"
    return js_text(labels)


def js_file(function: Function) -> str:
    """One ES module."""
    labels, mapping, program = function.answer.labels, function.cells, _program(function, "fill")
    for pattern, by in _TRANSLATIONS:
        program = re.sub(pattern, by, program)
    words = _words(function, "fill") | {
        "columns": js_text(function.column_names()), "classes": _js_labels(labels),
        "x": "x" if mapping is None else "read_row(x)",
        "row": f"an array of {function.n_columns} numbers" + ("" if function.mapping is None else ", NaN where missing")
        if mapping is None else _JS_ROW_OF_CELLS.format(function.n_columns)}
    head, tail = (Template(text).substitute(words)
                  for text in (_JS_HEAD, _JS_TAIL + (_JS_PREDICT if labels is None else _JS_CLASSES)
                                + (_JS_INTERVAL if function.intervals else "")
                                + (_JS_CONTRIBUTIONS if function.contributions else "")))
    return head + program + ("" if mapping is None else js_cells(mapping)) + tail


def _words(function: Function, name: str) -> dict[str, Any]:
    """What several templates have."""
    n_values = function.n_columns if function.mapping is None else function.mapping.n_values
    return {"name": name, "title": function.title, "n_columns": function.n_columns, "n_values": n_values,
            "n_features": function.n_features, "n_outputs": function.intercept.size, "n_answers": function.n_answers,
            "n_targets": len(function.intervals.ends) if function.intervals else 0,
            "n_contributions": function.n_columns * function.intercept.size,
            "base_values": ", ".join(map(repr, function.contributions.base_values.tolist()))
            if function.contributions else ""}


def _constant(name: str, values: Array) -> str:
    """An array of numbers, some in a line."""
    kind = "int" if values.dtype.kind in "iu" else "double"
    texts = [str(value) if kind == "int" else _hexadecimal(value) for value in values.reshape(-1).tolist()]
    lines = ",\n".join(", ".join(texts[i : i + 8]) for i in range(0, len(texts), 8))
    return f"static const {kind} {name}[{len(texts)}] = {{\n{lines}}};\n"


def _program(function: Function, name: str, static: str = "") -> str:
    """Arrays, then the functions that are asked for, whose names begin with a name, in C."""
    n_outputs, answer, mapping = function.intercept.size, function.answer, function.mapping
    arrays = {"intercept": function.intercept}
    for part in function.parts:
        arrays |= part.arrays
        arrays |= _without_zeros(part.arrays["omegas"]) if part.kind == "fourier" else {}
    arrays |= function.contributions.arrays if function.contributions and function.parts else {}
    copy = f"for (int j = 0; j < {function.n_features}; j++) z[j] = x[j];" if mapping is None else "map_row(x, z);"
    z = f"double z[{function.n_features}];\n    {copy}"
    if not function.parts:
        z = "(void)x;"
    elif function.bounds is not None:
        arrays |= function.bounds
        clip = write(CLIP, _WRITER, z="z[j]", lower="lower[j]", upper="upper[j]")
        z += Template(_CLIPPED).substitute(n_features=function.n_features, clip=clip)
    elif mapping is None:
        z = "const double *z = x;"
    two = answer.labels is not None and len(answer.labels) == 2
    formula = write(answer.formula, _WRITER, h="h[0]" if two else "h[k]",
                    **{word: _hexadecimal(value) for word, value in answer.numbers.items()})
    predict = "y[0] = k > 0 ? fmin(y[0], h[k]) : h[k]" if answer.least else f"y[k] = {formula}"
    words = _words(function, name) | {
        "static": static, "z": z, "formula": formula, "predict": predict,
        "line": write(LINE, _WRITER, coefficient=f"coefficients[j * {n_outputs} + k]", x="(z[j] - center[j])")}
    text = "".join(_constant(*item) for item in arrays.items())
    mapping = mapping if function.parts else None
    ends = [end for pair in function.intervals.ends for end in pair] if function.intervals else []
    for k, end in enumerate(ends):
        text += _constant(f"end_knots{k}", np.array(end.knots)) + _constant(f"spreads{k}", np.array(end.spreads))
    if ends or (mapping is not None and any(output.kind == "rank" for output in mapping.outputs)):
        text += Template(_RANK).substitute(rank=write(FORMS["rank"], _WRITER, height="heights[low - 1]", slope="slope",
                                                      x="x", knot="knots[low - 1]"))
    text += "" if mapping is None else "".join(_map_row(mapping))
    text += Template(_SCORES).substitute(words)
    for part in function.parts:
        n = len(next(iter(part.arrays.values())))
        in_regions = part.n_regions > 1
        text += Template(_REGION).substitute(n_nodes=part.n_regions - 1) if in_regions else ""
        text += Template(_PARTS[part.kind]).substitute(
            words, n=n, first="region_starts[region]" if in_regions else 0,
            end="region_starts[region + 1]" if in_regions else n,
            depth=part.arrays["steps"].shape[1] if part.kind == "trees" else 0,
            kernel=write(KERNELS[part.shape], _WRITER, q="q") if part.shape else "")
    answers = _PREDICT if answer.labels is None else _CLASSES[2 if two else 3]
    text += Template(_INTERCEPT + answers).substitute(words)
    if function.intervals is not None:
        text += Template(_INTERVAL).substitute(words, ends="".join(_ends(function.intervals, formula)))
    if function.contributions is not None:
        text += Template(_CONTRIBUTIONS).substitute(words)
        text += "".join(Template(_CONTRIBUTIONS_OF_PARTS[part.kind]).substitute(
            words, n=len(next(iter(part.arrays.values()))),
            depth=part.arrays["steps"].shape[1] if part.kind == "trees" else 0) for part in function.parts) + "}\n"
    return text


def _without_zeros(omegas: Array) -> dict[str, Array]:
    """Omegas that are not 0, their columns, and where those of each term begin: most terms read few columns."""
    terms, columns = np.nonzero(omegas)
    starts = np.searchsorted(terms, np.arange(len(omegas) + 1))
    if not len(terms):  # for C has no arrays of no numbers
        return {"omegas": np.zeros(1), "omega_columns": np.zeros(1, dtype=np.int64), "omega_starts": starts}
    return {"omegas": omegas[terms, columns], "omega_columns": columns, "omega_starts": starts}


def _ends(intervals: Intervals, formula: str) -> Iterator[str]:
    """Statements that put the ends of intervals, in ascending order, into y."""
    if not intervals.of_scores and formula != "h[k]":
        yield f"    for (int k = 0; k < {len(intervals.ends)}; k++) h[k] = {formula};\n"
    for i, pair in enumerate(intervals.ends):
        for k, (name, end) in enumerate(zip(("low", "high"), pair, strict=True), 2 * i):
            f, n = f"h[{end.output}]", len(end.knots)
            yield (f"    double {name}{i} = {f} + {_hexadecimal(end.factor)} * "
                   f"rank({f}, end_knots{k}, spreads{k}, {n});\n")
        for place, function in enumerate(("min", "max")):
            value = f"f{function}(low{i}, high{i})"
            value = f"fmax({'0' if intervals.is_positive else '-' + _LARGEST}, fmin({_LARGEST}, {value}))"
            yield f"    y[{2 * i + place}] = {value};\n"


def _map_row(mapping: RowMap) -> Iterator[str]:
    """The function `map_row(x, z)`."""
    for o, output in enumerate(mapping.outputs):
        yield _constant(f"knots{o}", output.knots) if output.kind == "rank" else ""
        yield _constant(f"heights{o}", output.heights) if output.kind in ("rank", *PLACES) else ""
    yield "\nstatic void map_row(const double *x, double *z)\n{\n"
    for o, output in enumerate(mapping.outputs):
        yield (f"    z[{o}] = (isnan(x[{output.source}]) ? {_hexadecimal(output.missing)} : {_form(output, o)})"
               f"{'' if output.divisor == 1 else ' / ' + _hexadecimal(output.divisor)};\n")
    imputed = []
    for i, imputation in enumerate(mapping.imputations):
        neutral = _hexadecimal(mapping.neutral[imputation.output])
        terms = [f"{_hexadecimal(factor)} * (z[{k}] - {_hexadecimal(mapping.neutral[k])})"
                 for k, factor in zip(imputation.predictors.tolist(), imputation.factors.tolist(), strict=True)]
        yield f"    double imputed{i} = {' + '.join([neutral, *terms])};\n"
        value = f"isnan(imputed{i}) ? {neutral} : imputed{i}"
        held = f"fmin({_hexadecimal(imputation.high)}, fmax({_hexadecimal(imputation.low)}, {value}))"
        column = mapping.outputs[imputation.output].column
        imputed.append(f"    if (isnan(x[{column}])) z[{imputation.output}] = {held};\n")
    yield from imputed
    yield "}\n"


def _form(output: Output, place: int) -> str:
    """A mapped column of a value that is not missing."""
    x = f"x[{output.source}]"
    if output.kind == "rank":
        return f"rank({x}, knots{place}, heights{place}, {len(output.knots)})"
    if output.kind in PLACES:
        return f"heights{place}[(int){write(PLACES[output.kind], _WRITER, x=x)}]"
    return write(FORMS[output.kind], _WRITER, x=x,
                 **dict(zip("abcd", map(_hexadecimal, output.numbers), strict=False)))
