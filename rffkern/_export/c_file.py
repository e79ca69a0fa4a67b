"""C: one file, which needs libm alone."""

import re
from collections.abc import Sequence
from string import Template
from typing import Any

from .._rows.validation import integer_dtype
from ..errors import InvalidInputError
from .c_program import answers_of, hexadecimal, row_functions, scores_of, with_helpers, words_of
from .cells import c_cells, c_text, c_type
from .function import Function, check_texts

# Of cells: the same functions, which read the row first.
_C_OF_CELLS = """
int ${name}_$function(const ${name}_cell *cells, double *out)
{
    double x[$n_values];
    const int odd = read_row(cells, x);
    if (!odd) row_$function(x, out);
    return odd;
}
"""
_C_ROWS_OF_CELLS = """
size_t ${name}_score_rows(const ${name}_cell *cells, size_t n_rows, double *h)
{
    for (size_t i = 0; i < n_rows; i += ROWS) {
        double x[ROWS * $n_values];
        const size_t n = n_rows - i < ROWS ? n_rows - i : ROWS;
        for (size_t k = 0; k < n; k++) {
            const int odd = read_row(cells + (i + k) * $n_columns, x + k * $n_values);
            if (odd) return (i + k) * $n_columns + (size_t)odd;
        }
        row_score_rows(x, n, h + i * $n_outputs);
    }
    return 0;
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
 * ${name}_scores(x, h) fills $n_outputs score(s); ${name}_score_rows(x, n, h) those of n rows, faster.
$answers * ${name}_..._of(h, ...) does the same for scores of a row.
 */
#include <float.h>
#include <math.h>
#include <stddef.h>

#ifdef __FAST_MATH__
#error "-ffast-math (-Ofast) removes what tells missing values and rounds angles"
#endif

/* A product that is fused with a sum would move a row across a threshold; loops over rows are to take vectors. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

#if FLT_EVAL_METHOD == 2 || FLT_EVAL_METHOD < 0
#define ROUNDED volatile double  /* as registers have more bits */
#else
#define ROUNDED double
#endif

"""
_C_END_OF_LOOPS = """
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
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
 * Functions return 0, or 1 + j if the cell j of all rows cannot be read, and ${name}_class then -(1 + j)"""


def c_file(function: Function, name: str) -> str:
    """One C file."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise InvalidInputError(f"name must be a word that C takes for a function, got {name!r}")
    check_texts(function, "c", without="\0")
    labels, words, mapping = function.answer.labels, words_of(function, name), function.cells
    missing = "columns of a row" + ("" if function.mapping is None else ", NAN where missing")
    answers = (_C_PREDICT if labels is None else _C_CLASSES) + (_C_INTERVAL if function.intervals else "")
    answers += _C_CONTRIBUTIONS if function.contributions else ""
    words |= {"answers": Template(answers).substitute(words),
              "row": missing if mapping is None else Template(_C_ROW_OF_CELLS).substitute(words)}
    text = Template(_C_HEAD).substitute(words)
    if mapping is None:
        text += with_helpers(scores_of(function, name, name, "") + answers_of(function, name, name, ""))
    else:
        text = text.replace("#include <math.h>", "#include <math.h>\n#include <stdint.h>\n#include <string.h>")
        text += c_type(name) + with_helpers(
            scores_of(function, "row", name, "static ") + answers_of(function, "row", name, "static "))
        text += _C_END_OF_LOOPS + c_cells(mapping, name, hexadecimal)
        text += "".join(Template(_C_OF_CELLS).substitute(words, function=each) for each in row_functions(function))
        text += Template(_C_ROWS_OF_CELLS).substitute(words)
        text += "" if labels is None else Template(_C_CLASS_OF_CELLS).substitute(words)
    if function.contributions:
        values = ", ".join(map(hexadecimal, function.contributions.base_values.tolist()))
        declaration = f"const double {name}_base_values[{function.intercept.size}]"
        text += f"\nextern {declaration};\n{declaration} = {{{values}}};\n"
    return text + ("" if labels is None else _c_labels(name, labels))


def _c_labels(name: str, labels: Sequence[Any]) -> str:
    """Declaration and definition of the labels."""
    if isinstance(labels[0], str):
        kind, texts = "const char *const", [*map(c_text, labels)]
    elif isinstance(labels[0], float):
        kind, texts = "const double", [hexadecimal(label) for label in labels]
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
