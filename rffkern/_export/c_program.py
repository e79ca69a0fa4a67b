"""The program of a function in C, which is that of JavaScript with other words: scores, answers, contributions."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from string import Template
from typing import Any

import numpy as np

from .formulas import CLIP, COSINE, FORMS, KERNELS, LINE, PLACES, TextWriter, write
from .function import Array, Function, Intervals, Output, Part, RowMap
from .source import c_source_of


def hexadecimal(value: float) -> str:
    """A number without rounding, and without the zeros that Python would write."""
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return re.sub(r"\.?0*p", "p", value.hex()) if value else "0"


_WRITER = TextWriter({"max": "larger({}, {})", "min": "smaller({}, {})", "abs": "fabs({})", "where": "({} ? {} : {})"},
                      "{}({})", hexadecimal)

_LARGEST = sys.float_info.max.hex()

# What other functions may take.  Of two numbers the second may be nan, which `larger` and `smaller` then give.
_HELPERS = {
    "larger": """
static double larger(double a, double b)
{
    return a > b ? a : b;
}
""",
    "smaller": """
static double smaller(double a, double b)
{
    return a < b ? a : b;
}
""",
    "rank": """
/* The piecewise linear function through knots and heights, constant beyond them. */
static double rank(double x, const double *knots, const double *heights, int n)
{
    int low = 0;
    for (int left = n; left > 0; left -= (left + 1) >> 1) {
        low += (knots[low + ((left - 1) >> 1)] <= x) * ((left + 1) >> 1);
    }
    if (low == 0) return heights[0];
    if (low == n) return heights[n - 1];
    double slope = (heights[low] - heights[low - 1]) / (knots[low] - knots[low - 1]);
    return $rank;
}
""",
    "within": """
static double within(double u, double limit)
{
    return u < -limit ? -limit : u > limit ? limit : u;
}
""",
    # A polynomial of what is left of u after a whole number n of half turns, whose sign n has.
    "cosine": """
/* cos(pi u), |u| at most 2^51. */
static double cosine(double u)
{
    ROUNDED near = u + 0x1.8p52, even = 0.5 * (near - 0x1.8p52) + 0x1.8p52;
    double n = near - 0x1.8p52, z = (u - n) * (u - n);
    return (1 - 4 * fabs(0.5 * n - (even - 0x1.8p52))) * $cosine;
}
""",
}

# The row as parts read it.
_PREPARE = """
static void prepare(const double *x, double *z)
{
    $copy
}
"""

# Scores h of a row.
_SCORES = """
${static}void ${name}_scores(const double *x, double *h)
{
    $z
    for (int k = 0; k < $n_outputs; k++) h[k] = 0;
"""

# The same of rows that are taken together: z has ROWS numbers for each column, and h for each output.
_BLOCK = """
enum { ROWS = 16 };

static void score_block(const double *x, size_t n, double *scores)
{
    double h[$n_outputs * ROWS];
    $fill
    for (int k = 0; k < $n_outputs * ROWS; k++) h[k] = 0;
"""
_FILL = """\
double z[$n_features * ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        double own[$n_features];
        prepare(x + (i < n ? i : 0) * $n_values, own);
        for (int j = 0; j < $n_features; j++) z[j * ROWS + i] = own[j];
    }\
"""
_BLOCK_ENDS = """\
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < $n_outputs; k++) scores[i * $n_outputs + k] = h[k * ROWS + i];
    }
}

${static}void ${name}_score_rows(const double *x, size_t n_rows, double *h)
{
    for (size_t i = 0; i < n_rows; i += ROWS) {
        score_block(x + i * $n_values, n_rows - i < ROWS ? n_rows - i : ROWS, h + i * $n_outputs);
    }
}
"""

# What a part adds to the scores h of rows z, for n terms.  Of one row these are empty; of a
# block `each` is a loop, `row` the place of a row in a column, `i` that in an array of one number for each row.
_ONE_ROW = {"each": "", "row": "", "i": "", "rows": "", "size": ""}
_EACH_ROW = {"each": "for (int i = 0; i < ROWS; i++) ", "row": " * ROWS + i", "i": "[i]", "rows": "[ROWS]",
             "size": " * ROWS"}
_PARTS = {
    "fourier": """\
    double u[$n_features$size];
    for (int j = 0; j < $n_features; j++) {
        ${each}u[j$row] = within(z[j$row] - center[j], limits[j]);
    }
    for (int t = 0; t < $n; t++) {
        double angle$rows;
        ${each}angle$i = -phases[t];
        for (int q = omega_starts[t]; q < omega_starts[t + 1]; q++) {
            ${each}angle$i += omegas[q] * u[omega_columns[q]$row];
        }
        ${each}angle$i = cosine(angle$i);
        for (int k = 0; k < $n_outputs; k++) {
            ${each}h[k$row] += amplitudes[t * $n_outputs + k] * angle$i;
        }
    }
""",
    "linear": """\
    for (int j = 0; j < $n; j++) {
        for (int k = 0; k < $n_outputs; k++) {
            ${each}h[k$row] += $line;
        }
    }
""",
    "trees": """\
    for (int t = 0; t < $n; t++) {
        int leaf$rows;
        ${each}leaf$i = starts[t];
        for (int q = t * $depth; q < (t + 1) * $depth; q++) {
            double threshold = tree_thresholds[q];
            int step = steps[q];
            ${each}leaf$i += z[tree_columns[q]$row] > threshold ? step : 0;
        }
        for (int k = 0; k < $n_outputs; k++) {
            ${each}h[k$row] += values[leaf$i * $n_outputs + k];
        }
    }
""",
    "kernels": """\
    for (int t = $first; t < $end; t++) {
        double q$rows;
        ${each}q$i = 0;
        for (int j = 0; j < $n_features; j++) {
            ${each}{
                double d = (z[j$row] - centers[t * $n_features + j]) * inverse_length_scales[j];
                q$i += d * d;
            }
        }
        ${each}q$i = $kernel;
        for (int k = 0; k < $n_outputs; k++) {
            ${each}h[k$row] += weights[t * $n_outputs + k] * q$i;
        }
    }
""",
}

# The kernels of a row where they are in regions, the leaves of a binary tree: in a block row by row.
_REGION = """\
    ${each}{
    int region = 0;
    while (region < $n_nodes) region = 2 * region + (z[region_columns[region]$row] > region_thresholds[region] ? 2 : 1);
    region -= $n_nodes;
$kernels    }
"""

# Last, so that sums on the way are small.
_INTERCEPT = """\
    for (int k = 0; k < $n_outputs; k++) {
        ${each}h[k$row] += intercept[k];
    }
"""

# What follows from the scores h of a row: (name, what is filled, statements), of two classes, of more, and of targets.
_ANSWERS = {
    2: [("probabilities", "p", """\
    p[1] = $formula;
    p[0] = 1 - p[1];
"""), ("class", "", """\
    return h[0] > 0 ? 1 : 0;
""")],
    3: [("probabilities", "p", """\
    double largest = -INFINITY, sum = 0;
    for (int k = 0; k < $n_outputs; k++) {
        p[k] = $formula;
        if (p[k] > largest) largest = p[k];
    }
    for (int k = 0; k < $n_outputs; k++) sum += p[k] = exp(p[k] - largest);
    for (int k = 0; k < $n_outputs; k++) p[k] /= sum;
"""), ("class", "", """\
    int best = 0;
    for (int k = 1; k < $n_outputs; k++) {
        if (h[k] > h[best]) best = k;
    }
    return best;
""")],
    0: [("predict", "y", """\
    for (int k = 0; k < $n_outputs; k++) $predict;
""")]}
_ANSWER = """
$kind ${public}_${answer}_of(const double *h$result)
{
$statements}

${static}$kind ${name}_${answer}(const double *x$result)
{
    double h[$n_outputs];
    ${name}_scores(x, h);
    $returned${public}_${answer}_of(h$out);
}
"""
_INTERVAL = """\
    double f[$n_outputs];
    for (int k = 0; k < $n_outputs; k++) f[k] = $f;
"""

# Contributions phi (n_columns, n_outputs) of raw columns to the scores of a row z: _export/contributions.py.
_CONTRIBUTIONS = """
${static}void ${name}_contributions(const double *x, double *phi)
{
    $z
    for (int k = 0; k < $n_contributions; k++) phi[k] = 0;
"""
_PRODUCTS = """\
    double exponent[$n_columns];
    double w[$n_factors];
    double u[$n_factors];
    double before[$n_factors];
    double sums[$n_factors];
    int player[$n_columns];
"""
_INTEGRATE = ("rff_integrate(m, w, u, shapley_nodes, shapley_weights, shapley_rule_ends[m], shapley_rule_ends[m + 1], "
              "before, sums);")
_CONTRIBUTIONS_OF_PARTS = {
    "fourier": """\
    for (int t = 0; t < $n; t++) {
        int m = 0;
        for (int c = 0; c < $n_columns; c++) exponent[c] = 0;
        for (int q = omega_starts[t]; q < omega_starts[t + 1]; q++) {
            int j = omega_columns[q];
            exponent[shapley_sources[j]] += omegas[q] * within(z[j] - center[j], limits[j]);
        }
        for (int c = 0; c < $n_columns; c++) {
            if (shapley_reads[t * $n_columns + c] == 0) continue;
            player[m] = c;
            w[2 * m] = shapley_real[t * $n_columns + c];
            w[2 * m + 1] = shapley_imaginary[t * $n_columns + c];
            u[2 * m] = cosine(exponent[c]) - w[2 * m];
            u[2 * m + 1] = cosine(exponent[c] - 0.5) - w[2 * m + 1];
            m = m + 1;
        }
        $integrate
        for (int g = 0; g < m; g++) {
            double value = cosine(phases[t]) * (u[2 * g] * sums[2 * g] - u[2 * g + 1] * sums[2 * g + 1])
                + cosine(phases[t] - 0.5) * (u[2 * g] * sums[2 * g + 1] + u[2 * g + 1] * sums[2 * g]);
            for (int k = 0; k < $n_outputs; k++) {
                phi[player[g] * $n_outputs + k] += amplitudes[t * $n_outputs + k] * value;
            }
        }
    }
""",
    "kernels": """\
    for (int region = 0; region < $n_regions; region++) {
        for (int t = region_starts[region]; t < region_starts[region + 1]; t++) {
            int m = 0;
            for (int c = 0; c < $n_columns; c++) exponent[c] = 0;
            for (int j = 0; j < $n_features; j++) {
                double d = (z[j] - centers[t * $n_features + j]) * inverse_length_scales[j];
                int at = region * $n_features + j;
                if (z[j] <= shapley_lows[at] || z[j] > shapley_highs[at]) d = INFINITY;
                exponent[shapley_sources[j]] += d * d;
            }
            for (int c = 0; c < $n_columns; c++) {
                if (shapley_kernel_reads[region * $n_columns + c] == 0) continue;
                player[m] = c;
                w[2 * m] = shapley_kernel_means[t * $n_columns + c];
                u[2 * m] = exp(-0.5 * exponent[c]) - w[2 * m];
                w[2 * m + 1] = 0;
                u[2 * m + 1] = 0;
                m = m + 1;
            }
            $integrate
            for (int g = 0; g < m; g++) {
                for (int k = 0; k < $n_outputs; k++) {
                    phi[player[g] * $n_outputs + k] += weights[t * $n_outputs + k] * u[2 * g] * sums[2 * g];
                }
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


def row_functions(function: Function) -> list[str]:
    """The functions of a row that fill an array."""
    answers = ["scores", "predict" if function.answer.labels is None else "probabilities"]
    return answers + ["interval"] * bool(function.intervals) + ["contributions"] * bool(function.contributions)


def with_helpers(program: str, without: Sequence[str] = ()) -> str:
    """A program with the helpers that it takes."""
    words = {"rank": write(FORMS["rank"], _WRITER, height="heights[low - 1]", slope="slope", x="x",
                           knot="knots[low - 1]"), "cosine": write(COSINE, _WRITER, z="z")}
    return "".join(Template(text).substitute(words) for name, text in _HELPERS.items()
                   if name not in without and f"{name}(" in program) + program


def words_of(function: Function, name: str) -> dict[str, Any]:
    """What several templates have."""
    n_values = function.n_columns if function.mapping is None else function.mapping.values.n_values
    return {"name": name, "title": function.title, "n_columns": function.n_columns, "n_values": n_values,
            "n_features": function.n_features, "n_outputs": function.intercept.size, "n_answers": function.n_answers,
            "n_targets": len(function.intervals.ends) if function.intervals else 0,
            "n_contributions": function.n_columns * function.intercept.size,
            "n_found": function.intercept.size * (function.n_columns if function.contributions else 1)}


def _constant(name: str, values: Array) -> str:
    """An array of numbers, some in a line."""
    kind = "int" if values.dtype.kind in "iu" else "double"
    texts = [str(value) if kind == "int" else hexadecimal(value) for value in values.reshape(-1).tolist()]
    lines = ",\n".join(", ".join(texts[i : i + 8]) for i in range(0, len(texts), 8))
    return f"static const {kind} {name}[{len(texts)}] = {{\n{lines}}};\n"


def scores_of(function: Function, name: str, public: str, static: str) -> str:
    """Arrays, and the functions that read them: scores, of many rows too in C, and contributions."""
    parts, mapping = function.parts, function.mapping if function.parts else None
    is_mapped = mapping is not None or (function.bounds is not None and bool(parts))
    words = words_of(function, name) | {
        "static": static, "fill": Template(_FILL).substitute(words_of(function, name)) if parts else "(void)x;",
        "z": "(void)x;" if not parts else f"double z[{function.n_features}];\n    prepare(x, z);" if is_mapped else
        "const double *z = x;",
        "copy": "map_row(x, z);" if mapping else f"for (int j = 0; j < {function.n_features}; j++) z[j] = x[j];"}
    arrays = {"intercept": function.intercept}
    for part in parts:
        arrays |= part.arrays
        arrays |= _half_turns(part.arrays) if part.kind == "fourier" else {}
    arrays |= function.contributions.arrays if function.contributions and parts else {}
    if function.bounds is not None and parts:
        arrays |= function.bounds
        clip = write(CLIP, _WRITER, z="z[j]", lower="lower[j]", upper="upper[j]")
        words["copy"] += f"\n    for (int j = 0; j < {function.n_features}; j++) z[j] = {clip};"
    text = "".join(_constant(*item) for item in arrays.items())
    text += "" if mapping is None else "".join(_map_row(mapping))
    text += Template(_PREPARE).substitute(words) if is_mapped or (parts and public) else ""
    text += Template(_SCORES + _sums(parts, words, _ONE_ROW) + "}\n").substitute(words)
    if public:
        text += Template(_BLOCK + _sums(parts, words, _EACH_ROW) + _BLOCK_ENDS).substitute(words)
    if function.contributions is not None:
        is_product = "shapley_nodes" in arrays
        text += (c_source_of("rff_integrate") if is_product else "") + Template(
            _CONTRIBUTIONS + (_PRODUCTS if is_product else "")).substitute(words, n_factors=2 * function.n_columns)
        text += "".join(Template(part.of_kind(_CONTRIBUTIONS_OF_PARTS)).substitute(
            _words_of_part(part, words, _ONE_ROW), integrate=_INTEGRATE)
                        for part in parts) + "}\n"
    return text


def _sums(parts: Sequence[Part], words: dict[str, Any], loop: dict[str, str]) -> str:
    """What parts add to the scores of a row, or of each row of a block."""
    sums = []
    for part in parts:
        in_regions = part.n_regions > 1
        own = _ONE_ROW | {"row": loop["row"]} if in_regions else loop
        kernel = write(KERNELS[part.shape], _WRITER, q="q" + own["i"]) if part.shape else ""
        text = Template(part.of_kind(_PARTS)).substitute(_words_of_part(part, words, own), kernel=kernel)
        if in_regions:
            text = Template(_REGION).substitute(loop, n_nodes=part.n_regions - 1, kernels=text)
        sums.append(text)
    return "".join(sums) + Template(_INTERCEPT).substitute(words | loop)


def _words_of_part(part: Part, words: dict[str, Any], loop: dict[str, str]) -> dict[str, Any]:
    """The words of a part."""
    n, in_regions = len(next(iter(part.arrays.values()))), part.n_regions > 1
    line = write(LINE, _WRITER, coefficient=f"coefficients[j * {words['n_outputs']} + k]",
                 x=f"(z[j{loop['row']}] - center[j])")
    return words | loop | {"n": n, "n_regions": part.n_regions, "first": "region_starts[region]" if in_regions else 0,
                    "end": "region_starts[region + 1]" if in_regions else n, "line": line,
                    "depth": part.arrays["steps"].shape[1] if part.kind == "trees" else 0}


def answers_of(function: Function, name: str, public: str, static: str) -> str:
    """The functions of what follows from the scores of a row."""
    answer, n_classes = function.answer, len(function.answer.labels or ())
    formula = write(answer.formula, _WRITER, h="h[0]" if n_classes == 2 else "h[k]",
                    **{word: hexadecimal(value) for word, value in answer.numbers.items()})
    words = words_of(function, name) | {
        "static": static, "public": public, "formula": formula,
        "predict": "y[0] = k > 0 ? smaller(y[0], h[k]) : h[k]" if answer.least else f"y[k] = {formula}"}
    answers, text = _ANSWERS[min(n_classes, 3)], ""
    if function.intervals is not None:
        ends = [end for pair in function.intervals.ends for end in pair]
        text = "".join(_constant(f"end_knots{k}", np.array(end.knots)) + _constant(f"spreads{k}", np.array(end.spreads))
                       for k, end in enumerate(ends))
        f = "h[k]" if function.intervals.of_scores else formula
        answers = [*answers, ("interval", "y", _INTERVAL.replace("$f", f) + "".join(_ends(function.intervals)))]
    return text + "".join(Template(_ANSWER).substitute(
        words, answer=each, statements=Template(statements).substitute(words), result=f", double *{out}" if out else "",
        out=f", {out}" if out else "", kind="void" if out else "int", returned="" if out else "return ")
        for each, out, statements in answers)


def _half_turns(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Phases and omegas in half turns; of each term its omegas that are not 0, as most read few columns.

    `limits` keep the sum of a term, whatever the row, below 2^51.
    """
    omegas = arrays["omegas"] / np.pi
    largest = np.count_nonzero(omegas, axis=1).max(initial=1) * np.abs(omegas).max(axis=0, initial=2.0**-900)
    found = {"phases": np.fmod(arrays["phases"] / np.pi, 2), "limits": 2.0**50 / largest}
    terms, columns = np.nonzero(omegas)
    starts = np.searchsorted(terms, np.arange(len(omegas) + 1))
    if not len(terms):  # for C has no arrays of no numbers
        return found | {"omegas": np.zeros(1), "omega_columns": np.zeros(1, dtype=np.int64), "omega_starts": starts}
    return found | {"omegas": omegas[terms, columns], "omega_columns": columns, "omega_starts": starts}


def _ends(intervals: Intervals) -> Iterator[str]:
    """Statements that put the ends of intervals, in ascending order, into y."""
    for i, pair in enumerate(intervals.ends):
        for k, (name, end) in enumerate(zip(("low", "high"), pair, strict=True), 2 * i):
            f, n = f"f[{end.output}]", len(end.knots)
            yield (f"    double {name}{i} = {f} + {hexadecimal(end.factor)} * "
                   f"rank({f}, end_knots{k}, spreads{k}, {n});\n")
        for place, function in enumerate(("smaller", "larger")):
            value = f"smaller({_LARGEST}, {function}(low{i}, high{i}))"
            yield f"    y[{2 * i + place}] = larger({'0' if intervals.is_positive else '-' + _LARGEST}, {value});\n"


def _map_row(mapping: RowMap) -> Iterator[str]:
    """The function `map_row(x, z)`."""
    for o, output in enumerate(mapping.outputs):
        yield _constant(f"knots{o}", output.knots) if output.kind == "rank" else ""
        yield _constant(f"heights{o}", output.heights) if output.kind in ("rank", *PLACES) else ""
    yield "\nstatic void map_row(const double *x, double *z)\n{\n"
    for o, output in enumerate(mapping.outputs):
        yield (f"    z[{o}] = (isnan(x[{output.source}]) ? {hexadecimal(output.missing)} : {_form(output, o)})"
               f"{'' if output.divisor == 1 else ' / ' + hexadecimal(output.divisor)};\n")
    imputed = []
    for i, imputation in enumerate(mapping.imputations):
        neutral = hexadecimal(mapping.neutral[imputation.output])
        terms = [f"{hexadecimal(factor)} * (z[{k}] - {hexadecimal(mapping.neutral[k])})"
                 for k, factor in zip(imputation.predictors.tolist(), imputation.factors.tolist(), strict=True)]
        yield f"    double imputed{i} = {' + '.join([neutral, *terms])};\n"
        value = f"isnan(imputed{i}) ? {neutral} : imputed{i}"
        held = f"smaller({hexadecimal(imputation.high)}, larger({hexadecimal(imputation.low)}, {value}))"
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
                 **dict(zip("abcd", map(hexadecimal, output.numbers), strict=False)))
