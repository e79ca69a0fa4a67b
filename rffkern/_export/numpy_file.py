"""A Python file that needs NumPy alone."""

import base64
from collections.abc import Iterator

import numpy as np

from .formulas import CLIP, FORMS, KERNELS, LINE, TextWriter, write
from .function import Array, Function, RowMap

_WRITER = TextWriter({"max": "np.maximum({}, {})", "min": "np.minimum({}, {})"}, "np.{}({})", repr)

_HEAD = '''"""{title}, as rffkern exported it: functions of arrays of rows, with the columns of `columns`{missing}."""

import base64

import numpy as np


def _array(dtype, shape, text):
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)


columns = {columns}
'''

# What a part adds to the scores.
_PARTS = {
    "fourier": "h = h + np.cos((z - center) @ omegas.T - phases) @ amplitudes",
    "linear": "h = h + {line}.sum(axis=1)",
    "trees": """\
leaves = starts + np.where(z[:, tree_columns] > tree_thresholds, steps, 0).sum(axis=2)
    h = h + values[leaves].sum(axis=1, dtype=np.float64)""",
    "kernels": """\
q = sum(((z[:, [j]] - centers[:, j]) * inverse_length_scales[j]) ** 2 for j in range(z.shape[1]))
    h = h + {kernel} @ weights""",
}

_RANK = '''

def _rank(x, knots, heights):
    """The piecewise linear function through knots and heights, constant beyond them."""
    i = np.searchsorted(knots, x, side="right")
    slopes = np.concatenate([[0.0], np.diff(heights) / np.diff(knots), [0.0]])
    knot, height, slope = knots[np.maximum(i - 1, 0)], heights[np.maximum(i - 1, 0)], slopes[i]
    return {rank}
'''

_FILL = """\
imputed = {neutral!r} + sum(factor * (z[:, k] - neutral[k]) for k, factor in {factors})
    imputed = np.where(np.isnan(imputed), {neutral!r}, imputed).clip({low!r}, {high!r})
    filled[:, {output}] = np.where(np.isnan(X[:, {source}]), imputed, z[:, {output}])
"""

_CLASSES = '''

def probabilities(X):
    """Probabilities of the classes, shape (n_rows, {n_answers})."""
    h = scores(X)
{probabilities}


def predict(X):
    """The most likely class of each row."""
    h = scores(X)
    return classes[{chosen}]
'''
_OF_TWO = """\
    positive = {formula}
    return np.hstack([1 - positive, positive])"""
_OF_MANY = """\
    log_odds = {formula}
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)"""
_PREDICT = '''

def predict(X):
    """What the model predicts, shape (n_rows,), or (n_rows, {n_answers}) where that is more than one."""
    h = scores(X)
    return {predicted}
'''


def numpy_file(function: Function) -> str:
    """The text of the file."""
    return "".join(_lines(function))


def _lines(function: Function) -> Iterator[str]:
    answer, two = function.answer, len(function.answer.labels or ()) == 2
    yield _HEAD.format(title=function.title, columns=function.column_names(),
                       missing="" if function.mapping is None else ", nan where missing")
    if answer.labels is not None:
        yield f'classes = np.array({answer.labels}, dtype="{answer.dtype}")\n'
    arrays = {"intercept": function.intercept, **(function.bounds or {})}
    for part in function.parts:
        arrays |= part.arrays
    yield from (f"{name} = {_array(array)}\n" for name, array in arrays.items())
    if function.mapping is not None:
        yield from _mapped(function.mapping)
    rows = "X" if function.mapping is None else "_mapped(X)"
    yield ('\n\ndef scores(X):\n    """Scores, shape (n_rows, ' f'{function.intercept.size})."""\n'
           f"    X = np.asarray(X, dtype=np.float64)\n    z, h = {rows}, intercept\n")
    if function.bounds is not None:
        yield f"    z = {write(CLIP, _WRITER, z='z', lower='lower', upper='upper')}\n"
    for part in function.parts:
        line = write(LINE, _WRITER, coefficient="coefficients", x="(z - center)[:, :, None]")
        kernel = write(KERNELS[part.shape], _WRITER, q="q") if part.shape else ""
        yield f"    {_PARTS[part.kind].format(line=line, kernel=kernel)}\n"
    yield "    return np.broadcast_to(h, (len(X), len(intercept)))\n"
    formula = write(answer.formula, _WRITER, h="h", **{name: repr(value) for name, value in answer.numbers.items()})
    if answer.labels is None:
        several = "h.min(axis=1)" if answer.least else formula
        yield _PREDICT.format(n_answers=function.n_answers, predicted=several if function.n_answers > 1 or answer.least
                              else f"{several}[:, 0]")
    else:
        yield _CLASSES.format(n_answers=function.n_answers,
                              probabilities=(_OF_TWO if two else _OF_MANY).format(formula=formula),
                              chosen="(h[:, 0] > 0).astype(int)" if two else "h.argmax(axis=1)")


def _mapped(mapping: RowMap) -> Iterator[str]:
    """The function `_mapped(X)`: all outputs of a kind together, ranks one by one."""
    kinds = [output.kind for output in mapping.outputs]
    if "rank" in kinds:
        yield _RANK.format(rank=write(FORMS["rank"], _WRITER, height="height", slope="slope", x="x", knot="knot"))
    yield f"\n\ndef _mapped(X):\n    z = np.empty((len(X), {len(kinds)}))\n"
    for kind in dict.fromkeys(kinds):
        chosen = [output for output in mapping.outputs if output.kind == kind]
        places = [o for o, each in enumerate(kinds) if each == kind]
        yield f"    x = X[:, {[output.source for output in chosen]}]\n"
        if kind == "rank":
            tables = ", ".join(f"({_array(output.knots)}, {_array(output.heights)})" for output in chosen)
            yield f"    y = np.column_stack([_rank(*each) for each in zip(x.T, *zip({tables}))])\n"
        else:
            numbers = np.array([output.numbers for output in chosen])
            yield f"    a, b, c, d = {_array(numbers.T)}\n"
            yield f"    y = {write(FORMS[kind], _WRITER, x='x', a='a', b='b', c='c', d='d')}\n"
        missing, divisors = np.array([(output.missing, output.divisor) for output in chosen]).T
        yield f"    z[:, {places}] = np.where(np.isnan(x), {_array(missing)}, y) / {_array(divisors)}\n"
    if mapping.imputations:
        yield f"    filled, neutral = z.copy(), {_array(np.array(mapping.neutral))}\n"
    for imputation in mapping.imputations:
        yield "    " + _FILL.format(
            output=imputation.output, source=mapping.outputs[imputation.output].source, low=imputation.low,
            high=imputation.high,
            neutral=mapping.neutral[imputation.output],
            factors=[*zip(imputation.predictors.tolist(), imputation.factors.tolist(), strict=True)])
    yield f"    return {'filled' if mapping.imputations else 'z'}\n"


def _array(array: Array) -> str:
    """An expression for an array, with the bits that it has."""
    array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    return f'_array("{array.dtype.str}", {array.shape}, "{base64.b64encode(array.tobytes()).decode()}")'
