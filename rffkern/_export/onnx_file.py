"""An ONNX graph of the standard operators of opset 13, in double precision unless single is asked for.

Levels are found by the LabelEncoder of ai.onnx.ml.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._column_map.cells import CATEGORY, EMPTY, NUMERIC
from .._model.tree_layout import rounded_down
from .._version import __version__
from .formulas import CLIP, FORMS, KERNELS, LINE, PLACES, write
from .function import Array, Column, Function, Intervals, Part, RowMap, check_texts
from .protobuf import DOUBLE, FLOAT, INT64, LEARNED, STRING, model, node, tensor, value_info

_OPSET = 13
_ROWS = "rows"  # the unknown size
_OUTPUTS, _ENDS = ("label", "probabilities", "scores", "variable"), ("lower", "upper")

_OPERATORS = {"ge": "GreaterOrEqual", "lt": "Less", "gt": "Greater"}  # others have the name of the function


class _Graph:
    """Nodes and constants in the order of their making; an expression is the name of a tensor."""

    def __init__(self, real: Any, taken: Sequence[str] = ()) -> None:
        self.real = np.dtype(real)
        self.taken = frozenset(taken)  # names of inputs
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []

    def add(self, operator: str, *inputs: str, to: str = "", domain: str = "", **attributes: Any) -> str:
        """A node; return the name of its output."""
        name = to or self._free(f"{operator.lower()}_{len(self.nodes)}")
        self.nodes.append(node(operator, inputs, name, {key.strip("_"): value for key, value in attributes.items()},
                               domain))
        return name

    def _free(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        return name

    def keep(self, values: Any, dtype: Any = None) -> str:
        """A constant; numbers in the precision of the graph."""
        array: NDArray[Any] = np.asarray(values)
        name = self._free(f"constant_{len(self.tensors)}")
        self.tensors.append(tensor(name, array.astype(dtype or self.real) if array.dtype.kind not in "UO" else array))
        return name

    def call(self, function: str, *arguments: str) -> str:
        """An operation of a formula."""
        return self.add(_OPERATORS.get(function, function.capitalize()), *arguments)

    def number(self, value: float) -> str:
        """A number of a formula."""
        return self.keep(value)

    def columns(self, rows: str, chosen: Any) -> str:
        """Some columns of rows; a matrix of indices gives as many dimensions."""
        return self.add("Gather", rows, self.keep(chosen, np.int64), axis=1)

    def sum(self, values: str, axis: int) -> str:
        """The sum over an axis, which is no more."""
        return self.add("ReduceSum", values, self.keep([axis], np.int64), keepdims=0)


def onnx_file(function: Function, precision: str) -> bytes:
    """The bytes of the file."""
    check_texts(function, "onnx")
    single, mapping = precision == "single", function.mapping
    element = FLOAT if single else DOUBLE
    by_column = mapping is not None and any(column.kind not in (NUMERIC, EMPTY) for column in mapping.columns)
    names = _input_names(function) if by_column else ["X"]
    graph = _Graph(np.float32 if single and mapping is None else np.float64, names)
    rows, given = "X", [value_info("X", element, [_ROWS, function.n_columns])]
    if by_column and mapping is not None:
        mapping, rows, given = _columns(graph, mapping, names, element)
    elif mapping is not None and single:
        rows = graph.add("Cast", rows, to_=DOUBLE)
    if mapping is not None:  # mapped in double precision, as tables compare what comes out
        rows = _mapped(graph, mapping, rows)
        if single:
            rows, graph.real = graph.add("Cast", rows, to_=FLOAT), np.dtype(np.float32)
    n_rows = graph.add("Gather", graph.add("Shape", rows), graph.keep([0], np.int64))
    if function.bounds is not None:
        with np.errstate(over="ignore"):  # no bound is infinite in single precision
            rows = write(CLIP, graph, z=rows, **{name: graph.keep(each) for name, each in function.bounds.items()})
    scores = graph.keep(function.intercept.reshape(1, -1))
    for part in function.parts:
        scores = graph.add("Add", scores, (_regions if part.n_regions > 1 else part.of_kind(_PARTS))(graph, part, rows))
    scores = graph.add("Expand", scores, graph.add("Concat", n_rows, graph.keep([1], np.int64), axis=0)
                       ) if not function.parts else scores
    outputs = _answers(graph, function, scores, element)
    return model(_OPSET, __version__, graph.nodes, graph.tensors, given, outputs)


def _input_names(function: Function) -> list[str]:
    """Names of the columns, with _ behind those that are outputs of the graph, or empty."""
    names: list[str] = []
    for name in function.column_names():
        while not name or name in _OUTPUTS or (name in _ENDS and function.intervals) or name in names:
            name += "_"
        names.append(name)
    return names


def _columns(graph: _Graph, mapping: RowMap, names: Sequence[str], element: int) -> tuple[RowMap, str, list[bytes]]:
    """Values of the columns that are read, beside one another, a map that finds them there, and the inputs."""
    apart = {value: pair for value, *pair in mapping.values.differences}
    used = sorted({j for output in mapping.outputs for j in apart.get(output.source, (output.source,))}
                  | {output.column for output in mapping.outputs})
    values, inputs = [], []
    for j in used:
        column = mapping.columns[j]
        kind = {CATEGORY: STRING, NUMERIC: element}.get(column.kind, DOUBLE)
        inputs.append(value_info(names[j], kind, [_ROWS, 1]))
        value = _place(graph, column, names[j]) if kind == STRING else names[j]
        values.append(value if kind == DOUBLE else graph.add("Cast", value, to_=DOUBLE))
    values += [graph.add("Sub", *(values[used.index(j)] for j in pair)) for pair in apart.values()]
    places = [*used, *apart]
    outputs = tuple(output._replace(source=places.index(output.source), column=places.index(output.column))
                    for output in mapping.outputs)
    return mapping._replace(outputs=outputs), graph.add("Concat", *values, axis=1), inputs


def _place(graph: _Graph, column: Column, name: str) -> str:
    """The place of a level, nan where missing."""
    texts = column.texts()
    return graph.add("LabelEncoder", name, domain=LEARNED, keys_strings=[*texts], values_floats=[*texts.values()],
                     default_float=column.other)


def _fourier(graph: _Graph, part: Part, rows: str) -> str:
    omegas, phases, amplitudes, center = part.arrays.values()
    angles = graph.add("MatMul", graph.add("Sub", rows, graph.keep(center)), graph.keep(omegas.T))
    return graph.add("MatMul", graph.add("Cos", graph.add("Sub", angles, graph.keep(phases))), graph.keep(amplitudes))


def _linear(graph: _Graph, part: Part, rows: str) -> str:
    coefficients, center = part.arrays.values()
    x = graph.add("Unsqueeze", graph.add("Sub", rows, graph.keep(center)), graph.keep([2], np.int64))
    return graph.sum(write(LINE, graph, coefficient=graph.keep(coefficients), x=x), 1)


def _trees(graph: _Graph, part: Part, rows: str) -> str:
    columns, thresholds, steps, starts, values = part.arrays.values()
    if graph.real == np.float32:
        thresholds = rounded_down(thresholds)
    above = graph.add("Greater", graph.columns(rows, columns), graph.keep(thresholds))
    steps_taken = graph.add("Where", above, graph.keep(steps, np.int64), graph.keep(0, np.int64))
    leaves = graph.add("Add", graph.sum(steps_taken, 2), graph.keep(starts, np.int64))
    return graph.sum(graph.add("Gather", graph.keep(values), leaves, axis=0), 1)


def _kernels(graph: _Graph, part: Part, rows: str, here: slice = slice(None)) -> str:
    apart = graph.add("Sub", graph.add("Unsqueeze", rows, graph.keep([1], np.int64)),
                      graph.keep(part.arrays["centers"][here]))
    apart = graph.add("Mul", apart, graph.keep(part.arrays["inverse_length_scales"]))
    q = graph.sum(graph.add("Mul", apart, apart), 2)
    return graph.add("MatMul", write(KERNELS[part.shape], graph, q=q), graph.keep(part.arrays["weights"][here]))


def _regions(graph: _Graph, part: Part, rows: str) -> str:
    """Sums over the kernels of the region of each row, region by region, then put in the order of the rows."""
    *_, columns, thresholds, starts = part.arrays.values()
    thresholds = rounded_down(thresholds) if graph.real == np.float32 else thresholds
    one, zero = (graph.keep([value], np.int64) for value in (1, 0))
    shape = graph.add("Concat", graph.add("Gather", graph.add("Shape", rows), zero), one, axis=0)
    node = graph.keep([[0]], np.int64)
    for _ in range(part.n_regions.bit_length() - 1):  # from (1, 1) to (n_rows, 1) at the first node
        column, threshold = (graph.add("Gather", graph.keep(values, dtype), node) for values, dtype in
                             ((columns, np.int64), (thresholds, None)))
        value = graph.add("GatherElements", rows, graph.add("Expand", column, shape), axis=1)
        above = graph.add("Cast", graph.add("Greater", value, threshold), to_=INT64)
        node = graph.add("Add", graph.add("Add", graph.add("Add", node, node), one), above)
    flat, places, sums = graph.add("Reshape", node, graph.keep([-1], np.int64)), [], []
    for region, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
        here = graph.add("Equal", flat, graph.keep(len(columns) + region, np.int64))
        places.append(graph.add("Transpose", graph.add("NonZero", here), perm=[1, 0]))
        chosen = graph.add("GatherND", rows, places[-1])
        sums.append(_kernels(graph, part, chosen, slice(start, end)))
    whole = [graph.add("Concat", *each, axis=0) for each in (places, sums)]
    return graph.add("ScatterND", graph.add("Mul", whole[1], graph.keep(0.0)), *whole)


_PARTS = {"fourier": _fourier, "linear": _linear, "trees": _trees, "kernels": _kernels}


def _mapped(graph: _Graph, mapping: RowMap, rows: str) -> str:
    """All outputs of a kind together, then put in their order."""
    kinds = [output.kind for output in mapping.outputs]
    parts, order = [], []
    for kind in dict.fromkeys(kinds):
        order += [o for o, each in enumerate(kinds) if each == kind]
        chosen = [output for output in mapping.outputs if output.kind == kind]
        x = graph.columns(rows, [output.source for output in chosen])
        numbers = np.array([output.numbers for output in chosen]).T
        heights = [output.heights for output in chosen]
        if kind in PLACES:
            present = graph.add("Where", graph.add("IsNaN", x), graph.keep(0.0), x)
            value = _heights(graph, heights, write(PLACES[kind], graph, x=present))
        else:
            names = {name: graph.keep(values) for name, values in zip("abcd", numbers, strict=False)
                     if name in FORMS[kind]}
            if kind == "rank":
                names = _knots(graph, [output.knots for output in chosen], heights, x)
            value = write(FORMS[kind], graph, x=x, **names)
        missing, divisors = (graph.keep(values) for values in
                             np.array([(output.missing, output.divisor) for output in chosen]).T)
        parts.append(graph.add("Div", graph.add("Where", graph.add("IsNaN", x), missing, value), divisors))
    z = graph.columns(graph.add("Concat", *parts, axis=1), np.argsort(order))
    return _filled(graph, mapping, rows, z) if mapping.imputations else z


def _knots(graph: _Graph, knots: Sequence[Array], heights: Sequence[Array], x: str) -> dict[str, str]:
    """Before each x the knot, its height and the slope from there; how many knots are not above x leads to them."""
    counts = [len(each) for each in knots]
    padded = np.full((len(knots), max(counts)), np.inf)
    for i, each in enumerate(knots):
        padded[i, : len(each)] = each
    not_above = graph.add("GreaterOrEqual", graph.add("Unsqueeze", x, graph.keep([2], np.int64)), graph.keep(padded))
    places = graph.sum(graph.add("Cast", not_above, to_=INT64), 2)
    places = graph.add("Add", places, graph.keep(np.cumsum([0, *counts[:-1]]) + np.arange(len(counts)), np.int64))
    tables = {
        "knot": [np.concatenate([each[:1], each]) for each in knots],
        "height": [np.concatenate([each[:1], each]) for each in heights],
        "slope": [np.concatenate([[0.0], np.diff(y) / np.diff(x), [0.0]]) for x, y in zip(knots, heights, strict=True)]}
    return {name: graph.add("Gather", graph.keep(np.concatenate(table)), places) for name, table in tables.items()}


def _heights(graph: _Graph, heights: Sequence[Array], places: str) -> str:
    """Entries of tables, at a place of each."""
    starts = graph.keep(np.cumsum([0, *map(len, heights[:-1])]), np.int64)
    return graph.add("Gather", graph.keep(np.concatenate(heights)),
                     graph.add("Add", graph.add("Cast", places, to_=INT64), starts))


def _filled(graph: _Graph, mapping: RowMap, rows: str, z: str) -> str:
    """Outputs imputed from others where their value is missing: a sum over some of them, one after the other."""
    n_outputs, imputations = len(mapping.outputs), mapping.imputations
    chosen = [imputation.output for imputation in imputations]
    neutral = np.array(mapping.neutral)
    apart = graph.add("Sub", z, graph.keep(neutral))
    imputed = graph.keep(neutral[chosen].reshape(1, -1))
    for k in range(max(len(imputation.predictors) for imputation in imputations)):
        predictors = [imputation.predictors[k] if k < len(imputation.predictors) else 0 for imputation in imputations]
        factors = [imputation.factors[k] if k < len(imputation.predictors) else 0.0 for imputation in imputations]
        imputed = graph.add("Add", imputed, graph.add("Mul", graph.keep(factors), graph.columns(apart, predictors)))
    imputed = graph.add("Where", graph.add("IsNaN", imputed), graph.keep(neutral[chosen]), imputed)
    imputed = graph.add("Max", imputed, graph.keep([imputation.low for imputation in imputations]))
    imputed = graph.add("Min", imputed, graph.keep([imputation.high for imputation in imputations]))
    missing = graph.add("IsNaN", graph.columns(rows, [mapping.outputs[output].column for output in chosen]))
    both = graph.add("Concat", z, graph.add("Where", missing, imputed, graph.columns(z, chosen)), axis=1)
    places = np.arange(n_outputs)
    places[chosen] = n_outputs + np.arange(len(chosen))
    return graph.columns(both, places)


def _answers(graph: _Graph, function: Function, scores: str, element: int) -> list[bytes]:
    """Outputs as those of scikit-learn's converters are named, and the scores of a classifier beside them."""
    answer = function.answer
    h = graph.add("Identity", scores, to="scores" if answer.labels is not None else "")
    formula = write(answer.formula, graph, h=h, **{name: graph.keep(value) for name, value in answer.numbers.items()
                                                   if name in answer.formula})
    if answer.labels is None:
        if answer.least:
            graph.add("ReduceMin", formula, to="variable", axes=[1], keepdims=1)
        else:
            graph.add("Identity", formula, to="variable")
        given = [value_info("variable", element, [_ROWS, function.n_answers])]
        if function.intervals is not None:
            given += _ends(graph, function.intervals, h if function.intervals.of_scores else formula, element)
        return given
    if len(answer.labels) == 2:
        graph.add("Concat", graph.add("Sub", graph.keep(1.0), formula), formula, to="probabilities", axis=1)
        positive = graph.add("Greater", h, graph.keep(0.0))
        chosen = graph.sum(graph.add("Cast", positive, to_=INT64), 1)
    else:
        graph.add("Softmax", formula, to="probabilities", axis=1)
        chosen = graph.add("ArgMax", h, axis=1, keepdims=0)
    texts = not answer.fit_int64
    labels = np.array([str(label) for label in answer.labels] if texts else answer.labels)
    graph.add("Gather", graph.keep(labels, None if texts else np.int64), chosen, to="label")
    return [value_info("label", STRING if texts else INT64, [_ROWS]),
            value_info("probabilities", element, [_ROWS, function.n_answers]),
            value_info("scores", element, [_ROWS, function.intercept.size])]


def _ends(graph: _Graph, intervals: Intervals, outputs: str, element: int) -> list[bytes]:
    """The ends of intervals of all targets, lower and upper."""
    found = []
    for ends in zip(*intervals.ends, strict=True):
        f = graph.columns(outputs, [end.output for end in ends])
        knots = _knots(graph, [np.array(end.knots) for end in ends], [np.array(end.spreads) for end in ends], f)
        spread = write(FORMS["rank"], graph, x=f, **knots)
        found.append(graph.add("Add", f, graph.add("Mul", graph.keep([end.factor for end in ends]), spread)))
    for name, operator in zip(_ENDS, ("Min", "Max"), strict=True):
        value = graph.add(operator, *found)
        graph.add("Max", value, graph.keep(0.0 if intervals.is_positive else -np.finfo(graph.real).max), to=name)
    return [value_info(name, element, [_ROWS, len(intervals.ends)]) for name in _ENDS]
