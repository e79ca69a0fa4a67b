"""The functions of one number that models are made of, each written once, and how a target writes them.

A formula is a line of Python; lines before the last one give names to parts of it.
"""

import ast
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

# Which entry of a table an output is: of a category the place of its level, of a date its day of the week from Monday
# on, or its day among twelve months of 31 days.  Here years begin in March, so that a leap day is their last; 400 have
# 146,097 days.
PLACES = {
    "table": "x",
    "weekday": "w = floor(max(-1e11, min(1e11, x)) / 86400) + 3\nw - 7 * floor(w / 7)",
    "yearday": """\
c = 4 * (floor(max(-1e11, min(1e11, x)) / 86400) + 1303856) + 3
y = 4 * floor((c - 146097 * floor(c / 146097)) / 4) + 3
d = floor((y - 1461 * floor(y / 1461)) / 4)
m = floor((5 * d + 2) / 153)
31 * (m + 2 - 12 * floor((m + 2) / 12)) + d - floor((153 * m + 2) / 5)"""}

# The cosine of pi f, |f| at most 0.5 and z = f^2, by COSINE_F64 of `_native/core/polynomials.h`.
_COSINE = """\
y = z * z
p = (4.166399462726948408e-6 * z + -0.00010458286368326584797) * y + (
    0.0019295626524798661125 * z + -0.025806890025875390135)
q = (0.23533063027215769472 * z + -1.3352627688518803788) * y + (4.0587121264167359752 * z + -4.9348022005446792464)
"""
COSINE = _COSINE + "1 + z * (p * (y * y) + q)"

# The cosine of pi (u - shift), u the time of day in half turns: trees tell values apart that differ by their last bit.
_HOUR = """\
s = max(-1e11, min(1e11, x))
u = (s - floor(s / 86400) * 86400) / 43200 - {shift}
w = floor(u + 0.5)
z = (u - w) * (u - w)
""" + _COSINE + "(1 + z * (p * (y * y) + q)) * (1 - 2 * (w - 2 * floor(0.5 * w)))"

# A mapped column by its kind, x the value of the raw one; `_native/columns/forms.h` says the same.  A rank has
# first to find the knot before x, its height and the slope that leads on from there.
FORMS = {
    "raw": "x",
    "standard": "max(-1e30, min(1e30, (x - a) * b))",
    "bounded": "z = max(-1e150, min(1e150, (x - a) * b))\n(z / sqrt(1 + z * z) - c) * d",
    "within": "where(x >= a, where(x < b, c, d), d)",
    "rank": "height + slope * (x - knot)",
    "hour_sin": _HOUR.format(shift=0.5),
    "hour_cos": _HOUR.format(shift=0),
}

# A mapped column z within its bounds; nan stays.
CLIP = "where(z < lower, lower, where(z > upper, upper, z))"

# A kernel by its name, q the squared distance of row and center in length scales.
KERNELS = {"gaussian": "exp(-0.5 * q)", "exponential": "exp(-sqrt(q))"}

# What a column adds to a line, as far as sums of them are finite.
LINE = "max(-1e290, min(1e290, coefficient * x))"

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.USub: "neg", ast.GtE: "ge", ast.Lt: "lt",
    ast.Gt: "gt"}


class Writer(Protocol):
    """How a target writes an expression; an expression is a text."""

    def call(self, function: str, *arguments: str) -> str:
        """An operation on expressions."""

    def number(self, value: float) -> str:
        """A constant."""


class TextWriter(NamedTuple):
    """Expressions as text in a language; `functions` has the pattern of what is not `default`."""

    functions: Mapping[str, str]
    default: str
    number: Callable[[float], str]

    def call(self, function: str, *arguments: str) -> str:
        """An operation on expressions."""
        pattern = self.functions.get(function) or _SIGNS.get(function)
        return pattern.format(*arguments) if pattern else self.default.format(function, ", ".join(arguments))


_SIGNS = {"add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "({} / {})", "neg": "(-{})",
          "ge": "({} >= {})", "lt": "({} < {})", "gt": "({} > {})"}


def write(formula: str, writer: Writer, **names: str) -> str:
    """A formula as an expression, given those that its names stand for."""
    *parts, last = ast.parse(formula).body
    for part in parts:
        assert isinstance(part, ast.Assign)
        names[ast.unparse(part.targets[0])] = _expression(part.value, writer, names)
    assert isinstance(last, ast.Expr)
    return _expression(last.value, writer, names)


def _expression(node: ast.AST, writer: Writer, names: Mapping[str, str]) -> str:
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.Constant):
        return writer.number(float(str(node.value)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return writer.number(-float(str(node.operand.value)))
    parts: list[ast.expr]
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        function, parts = node.func.id, node.args
    elif isinstance(node, ast.BinOp):
        function, parts = _OPERATORS[type(node.op)], [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        function, parts = _OPERATORS[type(node.op)], [node.operand]
    else:
        assert isinstance(node, ast.Compare)
        function, parts = _OPERATORS[type(node.ops[0])], [node.left, *node.comparators]
    return writer.call(function, *(_expression(part, writer, names) for part in parts))
