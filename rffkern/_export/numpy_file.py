"""A Python file that needs NumPy alone."""

import base64
from collections.abc import Iterator

import numpy as np

from .._column_map import cells, tables, text
from .._column_map.cells import EMPTY, NUMERIC
from .._rows.validation import LARGEST_VALUE
from .formulas import CLIP, FORMS, KERNELS, LINE, PLACES, TextWriter, write
from .function import Array, Function, RowMap
from .source import source_of

_WRITER = TextWriter({"max": "np.maximum({}, {})", "min": "np.minimum({}, {})"}, "np.{}({})", repr)

_IMPORTS = """\
import datetime
import math
import numbers
import re
import sys
from collections import Counter
from typing import NamedTuple
"""

_HEAD = '''"""{title}, as rffkern exported it: functions of {rows}, with the columns of `columns`{missing}."""

import base64
{imports}
import numpy as np


def _array(dtype, shape, text):
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)


columns = {columns}


def _checked(X):
    """Rows of an array, which have all columns."""
    if X.ndim != 2 or X.shape[1] != len(columns):
        raise ValueError(f"expected rows of {{len(columns)}} columns, got an array of shape {{X.shape}}")
    return X

'''

# What a part adds to the scores.
_PARTS = {
    "fourier": "h = h + np.cos((z - center) @ omegas.T - phases) @ amplitudes",
    "linear": "h = h + {line}.sum(axis=1)",
    "trees": """\
leaves = starts + np.where(z[:, tree_columns] > tree_thresholds, steps, 0).sum(axis=2)
    h = h + values[leaves].sum(axis=1, dtype=np.float64)""",
    "regions": """\
node = np.zeros(len(z), dtype=int)
    for _ in range({depth}):
        node = 2 * node + 1 + (z[np.arange(len(z)), region_columns[node]] > region_thresholds[node])
    h = np.tile(h, (len(z), 1)) if h.ndim == 1 else h
    for region in np.unique(node).tolist():
        rows, some = node == region, slice(*region_starts[region - {n_nodes} :][:2])
        q = sum(((z[rows][:, [j]] - centers[some, j]) * inverse_length_scales[j]) ** 2 for j in range(z.shape[1]))
        h[rows] += {kernel} @ weights[some]""",
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

# What reads cells, beside functions of this package.
_CELLS = '''

def _value(cell, reading, levels, other):
    """The value of a cell: a number, the seconds of a date, or the place of a level."""
    group, kind = _group(type(cell)), reading.kind
    if group == "missing" or (group == "numbers" and _is_nan(cell)):
        return np.nan
    if kind == "category" and group in ("text", "numbers", "booleans"):
        text = str(cell).strip() if group == "text" else level_text(cell)
        level = known_level(text, levels) if text else None
        return np.nan if level is None else levels.get(level, other)
    if group in ("numbers", "booleans") and (kind == "numeric" or group == "numbers"):
        if abs(float(cell)) <= LARGEST_VALUE:
            return float(cell)
    elif group == ("dates" if kind == "date" else "times of day") or (group == "intervals" and kind == "numeric"):
        return _moment(cell)
    raise ValueError(f"expected {kind} values, as in training, got {cell!r}; None counts as missing")


def _values(cells, reading, levels, other):
    """Values of a column."""
    array = np.asarray(cells)
    if array.dtype.kind in "mM":
        if (array.dtype.kind == "M") != (reading.kind == "date"):
            raise ValueError(f"expected {reading.kind} values, as in training, got {array.dtype}")
        return _seconds(array)
    if array.dtype.kind in "iuf" and reading.kind != "category":
        return array.astype(np.float64)
    objects = np.asarray(cells, dtype=object).tolist()
    if reading.kind != "category" and any(isinstance(cell, str) for cell in objects):
        places = [k for k, cell in enumerate(objects) if isinstance(cell, str)]
        values = np.full(len(objects), np.nan)
        found, odd = read_column([str(objects[k]) for k in places], reading)
        if odd:
            raise ValueError(f"expected {reading.kind} values, as in training, got {odd[0]!r}; None counts as missing")
        values[places] = found
        rest = [k for k, cell in enumerate(objects) if not isinstance(cell, str)]
        values[rest] = [_value(objects[k], reading, levels, other) for k in rest]
        return values
    found = {}
    for cell in objects:
        if (type(cell), cell) not in found:
            found[type(cell), cell] = _value(cell, reading, levels, other)
    return np.array([found[type(cell), cell] for cell in objects], dtype=np.float64)


def _read(X):
    """Values of rows of cells: of a data frame or dicts by name, else of an array or a list of rows."""
    named = _by_name(X)
    by_name = named is not None
    cells = named if by_name else _checked(np.asarray(X, dtype=object))
    n_rows = len(cells[columns[_used[0]]] if by_name and _used else X)
    x = np.full((n_rows, {n_values}), np.nan)
    for j, (name, (reading, levels, other)) in enumerate(zip(columns, _readings)):
        if reading.kind != "empty":
            column = cells[name] if by_name else cells[:, j]
            try:
                x[:, j] = _values(column, reading, levels, other)
            except ValueError as error:
                raise ValueError(f"column {name!r}: {error}") from error
    first = len(columns)
    for j, shifts, idf, coefficients in _texts:
        found = _scores_of_texts(cells[columns[j]] if by_name else cells[:, j], shifts, idf, coefficients)
        x[:, first : first + len(shifts)] = np.where(np.isnan(x[:, [j]]), np.nan, found)
        first += len(shifts)
    for value, (j, other) in enumerate({differences}, first):
        x[:, value] = x[:, j] - x[:, other]
    return x


def _scores_of_texts(cells, shifts, idf, coefficients):
    """Scores of free text, shape (n_rows, n_scores)."""
    texts = [cell.strip() if isinstance(cell, str) else level_text(cell) for cell in np.asarray(cells, object).tolist()]
    distinct = [*dict.fromkeys(texts)]
    grams = Grams.of(distinct, len(idf).bit_length() - 1)
    scores = (_products(grams, grams.weighted(idf), coefficients) + shifts[:, None]).T
    return scores[[*map({text: k for k, text in enumerate(distinct)}.__getitem__, texts)]]
'''

# What finds columns by name, of which a text would else be as many rows as it has letters.
_BY_NAME = '''

_used = {used}


def _by_name(X):
    """The columns of a data frame, a dict of columns or a list of dicts; None of an array or a list of rows."""
    if isinstance(X, (list, tuple)) and len(X) and all(hasattr(row, "keys") for row in X):
        return {{columns[j]: [row[columns[j]] for row in X] for j in _used}}
    if not (hasattr(X, "keys") or hasattr(X, "columns")):
        return None
    for name in (columns[j] for j in _used):
        if isinstance(X[name], (str, bytes)) or not hasattr(X[name], "__len__"):
            raise ValueError(f"column {{name!r}}: expected one value for each row, got {{X[name]!r}}: a list of one "
                             "value is a table of one row")
    return X
'''

# What reads numbers.
_NUMBERS = '''

def _read(X):
    """Rows of numbers: of a data frame or dicts by name, else of an array; columns without use are not read."""
    named = _by_name(X)
    by_name = named is not None
    cells = named if by_name else _checked(np.asarray(X, dtype={dtype}))
    x = np.full((len(cells[columns[_used[0]]] if by_name and _used else X), len(columns)), np.nan)
    for j in _used:
        column = np.asarray(cells[columns[j]] if by_name else cells[:, j])
        x[:, j] = column / np.timedelta64(1, "s") if column.dtype.kind == "m" else column
    return x
'''

_FILL = """\
imputed = {neutral!r} + sum(factor * (z[:, k] - neutral[k]) for k, factor in {factors})
    imputed = np.where(np.isnan(imputed), {neutral!r}, imputed).clip({low!r}, {high!r})
    filled[:, {output}] = np.where(np.isnan(X[:, {column}]), imputed, z[:, {output}])
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
_INTERVAL = '''

def predict_interval(X):
    """Lower and upper ends of intervals, shape (n_rows, 2), or (n_rows, n_targets, 2) of several targets."""
    h = scores(X)
    f, largest = {outputs}, np.finfo(np.float64).max
    ends = np.stack([f[:, output] + factor * np.interp(f[:, output], knots, spreads)
                     for output, factor, knots, spreads in {ends}], axis=1).reshape(-1, {n_targets}, 2)
    ends = np.sort(np.clip(ends, -largest, largest), axis=2){positive}
    return ends{first}
'''


def numpy_file(function: Function) -> str:
    """The text of the file."""
    return "".join(_lines(function))


def _lines(function: Function) -> Iterator[str]:
    answer, two = function.answer, len(function.answer.labels or ()) == 2
    of_cells = function.cells is not None
    is_read = of_cells or function.names is not None
    arrays_of = "arrays of cells" if of_cells else "arrays of rows"
    yield _HEAD.format(title=function.title, columns=function.column_names(),
                       rows=f"data frames, dicts of columns, lists of dicts or {arrays_of}" if is_read else arrays_of,
                       imports=_IMPORTS if of_cells else "",
                       missing="" if function.mapping is None or of_cells else ", nan where missing")
    if answer.labels is not None:
        yield f'classes = np.array({answer.labels}, dtype="{answer.dtype}")\n'
    arrays = {"intercept": function.intercept, **(function.bounds or {})}
    for part in function.parts:
        arrays |= part.arrays
    yield from (f"{name} = {_array(array)}\n" for name, array in arrays.items())
    if function.cells is not None:
        yield from _cells(function.cells)
    elif function.names is not None:
        kinds = [NUMERIC] * function.n_columns if function.mapping is None else \
            [column.kind for column in function.mapping.columns]
        read = [j for j, kind in enumerate(kinds) if kind != EMPTY]
        yield _BY_NAME.format(used=read)
        yield _NUMBERS.format(dtype="object" if EMPTY in kinds else "np.float64")
    if function.mapping is not None:
        yield from _mapped(function.mapping)
    rows = "X" if function.mapping is None else "_mapped(X)"
    yield ('\n\ndef scores(X):\n    """Scores, shape (n_rows, ' f'{function.intercept.size})."""\n'
           f"    X = {'_read(X)' if is_read else '_checked(np.asarray(X, dtype=np.float64))'}\n"
           f"    z, h = {rows}, intercept\n")
    if function.bounds is not None:
        yield f"    z = {write(CLIP, _WRITER, z='z', lower='lower', upper='upper')}\n"
    for part in function.parts:
        line = write(LINE, _WRITER, coefficient="coefficients", x="(z - center)[:, :, None]")
        kernel = write(KERNELS[part.shape], _WRITER, q="q") if part.shape else ""
        n_nodes = part.n_regions - 1
        yield "    " + (_PARTS["regions"] if n_nodes else part.of_kind(_PARTS)).format(
            line=line, kernel=kernel, n_nodes=n_nodes, depth=n_nodes.bit_length()) + "\n"
    yield "    return np.broadcast_to(h, (len(X), len(intercept)))\n"
    formula = write(answer.formula, _WRITER, h="h", **{name: repr(value) for name, value in answer.numbers.items()})
    if answer.labels is None:
        several = "h.min(axis=1)" if answer.least else formula
        yield _PREDICT.format(n_answers=function.n_answers, predicted=several if function.n_answers > 1 or answer.least
                              else f"{several}[:, 0]")
        if function.intervals is not None:
            ends, of_scores, is_positive = function.intervals
            yield _INTERVAL.format(outputs="h" if of_scores else formula, n_targets=len(ends),
                                   ends=[tuple(end) for pair in ends for end in pair],
                                   positive=".clip(0)" if is_positive else "", first="[:, 0]" if len(ends) == 1 else "")
    else:
        yield _CLASSES.format(n_answers=function.n_answers,
                              probabilities=(_OF_TWO if two else _OF_MANY).format(formula=formula),
                              chosen="(h[:, 0] > 0).astype(int)" if two else "h.argmax(axis=1)")


def _cells(mapping: RowMap) -> Iterator[str]:
    """The function `_read(X)`, and those of this package by which it reads cells."""
    yield f"LARGEST_VALUE = {LARGEST_VALUE!r}\n"
    yield source_of(cells, ["Reading", "read_column", "known_level", "level_text"])
    yield source_of(text, ["Grams", "_products"]) if mapping.values.texts else ""
    yield source_of(tables, ["_group", "_is_nan", "_moment"])
    yield "\n_readings = [\n"
    for column in mapping.columns:
        other = "np.nan" if column.other != column.other else repr(column.other)
        levels = {level: float(k) for k, level in enumerate(column.levels)}
        yield f"    (Reading{tuple(column.reading)}, {levels!r}, {other}),\n"
    yield "]\n_texts = [\n"
    for j, form, _ in mapping.values.texts:
        yield f"    ({j}, {_array(form.shifts)}, {_array(form.idf)}, {_array(form.coefficients)}),\n"
    yield "]\n" + _BY_NAME.format(used=[j for j, column in enumerate(mapping.columns) if column.reading.kind != EMPTY])
    yield _CELLS.replace("{n_values}", str(mapping.values.n_values)).replace(
        "{differences}", repr(tuple((j, other) for _, j, other in mapping.values.differences)))


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
        if kind in PLACES:
            heights = ", ".join(_array(output.heights) for output in chosen)
            yield (f"    places = {write(PLACES[kind], _WRITER, x='np.where(np.isnan(x), 0, x)')}\n"
                   "    y = np.column_stack([each[place] for place, each in zip(places.astype(int).T, "
                   f"[{heights}])])\n")
        elif kind == "rank":
            ranks = ", ".join(f"({_array(output.knots)}, {_array(output.heights)})" for output in chosen)
            yield f"    y = np.column_stack([_rank(*each) for each in zip(x.T, *zip({ranks}))])\n"
        else:
            numbers = np.array([output.numbers for output in chosen])
            yield f"    a, b, c, d = {_array(numbers.T)}\n" if numbers.size else ""
            yield f"    y = {write(FORMS[kind], _WRITER, x='x', a='a', b='b', c='c', d='d')}\n"
        missing, divisors = np.array([(output.missing, output.divisor) for output in chosen]).T
        yield f"    z[:, {places}] = np.where(np.isnan(x), {_array(missing)}, y) / {_array(divisors)}\n"
    if mapping.imputations:
        yield f"    filled, neutral = z.copy(), {_array(np.array(mapping.neutral))}\n"
    for imputation in mapping.imputations:
        yield "    " + _FILL.format(
            output=imputation.output, column=mapping.outputs[imputation.output].column, low=imputation.low,
            high=imputation.high,
            neutral=mapping.neutral[imputation.output],
            factors=[*zip(imputation.predictors.tolist(), imputation.factors.tolist(), strict=True)])
    yield f"    return {'filled' if mapping.imputations else 'z'}\n"


def _array(array: Array) -> str:
    """An expression for an array, with the bits that it has."""
    array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    return f'_array("{array.dtype.str}", {array.shape}, "{base64.b64encode(array.tobytes()).decode()}")'
