"""Where a source can be changed, and how: Python by the positions of its syntax tree, Cython line by line."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

OPERATORS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is",
             "in": "not in", "not in": "in", "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*",
             "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "//=": "*=", "and": "or", "or": "and", "|": "&", "&": "|"}
SWAPPED = {a: b for one, other in [("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"),
                                   ("floor", "ceil")] for a, b in [(one, other), (other, one)]}
NUMBER = r"(?<![\w.])(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|\d+)(?![\w.])"

# In Cython, what has spaces around it is an operator and no pointer, and a word before "(" is a function.
CYTHON_TOKEN = re.compile(
    r"(?<= )(?:" + "|".join(re.escape(op) for op in sorted(OPERATORS, key=len, reverse=True)) + r")(?= )"
    r"|\bnot (?!in\b)|\b(?:" + "|".join(SWAPPED) + r")\b(?=\()|\b(?:True|False)\b|" + NUMBER)
CYTHON_WORDS = {"not ": "", "True": "False", "False": "True"}
CYTHON_SKIPPED = re.compile(r"\s*(?:from\b|import\b|cimport\b|@|def\b|cdef (?:class|extern|inline|struct)\b"
                            r"|cdef .*[(:]$|ctypedef\b|raise\b|.*# (?:IN|OUT|TEMP)\b|.*noexcept\b)")
CYTHON_STATEMENT = re.compile(r"\s+[\w.\[\], ]+ (?:[-+*/]?=) .*[^,(\[\\]$")
CYTHON_DECLARATION = re.compile(r"\s*cdef [^=]*$")


class Mutant(NamedTuple):
    """A file in which the bytes from start to stop are replaced."""

    file: str  # relative to the package
    start: int
    stop: int
    new: str

    def applied(self, content: bytes) -> bytes:
        return content[: self.start] + self.new.encode() + content[self.stop :]


def changed_number(text: str) -> str:
    """Another number: 0 and 1 are swapped, integers grow by 1, other numbers are doubled."""
    if text in ("0", "1"):
        return "10"[int(text)]
    if text.isdecimal():
        return str(int(text) + 1)
    return repr(2 * float(text) or 1.0)


def mutants_of(file: str, content: bytes) -> list[Mutant]:
    """All mutants of a source."""
    sites = _cython_sites if file.endswith(".pyx") else _python_sites
    return sorted({Mutant(file, *site) for site in sites(content)})


def _python_sites(content: bytes) -> Iterator[tuple[int, int, str]]:
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(content)
    hidden = {id(inner) for node in ast.walk(tree) for part in _unread_parts(node) for inner in ast.walk(part)}

    def begin(node):
        return starts[node.lineno - 1] + node.col_offset

    def end(node):
        return starts[node.end_lineno - 1] + node.end_col_offset

    for node in ast.walk(tree):
        if id(node) not in hidden:
            for left, right, operator in _operators_between(node):
                found = re.search(rf"(?<![\w=<>!*/+-]){re.escape(operator)}(?![\w=<>*/])",
                                  content[end(left) : begin(right)].decode())
                if found:
                    start = end(left) + len(content[end(left) : begin(right)].decode()[: found.start()].encode())
                    yield start, start + len(operator), OPERATORS[operator]
            for part, new in _replacements(node, lambda part: content[begin(part) : end(part)].decode()):
                yield begin(part), end(part), new


def _unread_parts(node):
    """Annotations and docstrings, of which nothing depends."""
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node
    if isinstance(node, ast.ImportFrom | ast.Import | ast.JoinedStr):
        yield node


SYMBOLS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
           ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.Add: "+", ast.Sub: "-", ast.Mult: "*",
           ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.And: "and", ast.Or: "or",
           ast.BitOr: "|", ast.BitAnd: "&"}


def _operators_between(node):
    """(node before, node after, operator) of the operators of a node."""
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        yield from ((a, b, SYMBOLS[type(op)]) for a, b, op in zip(operands, operands[1:], node.ops, strict=False))
    elif isinstance(node, ast.BinOp) and type(node.op) in SYMBOLS:
        yield node.left, node.right, SYMBOLS[type(node.op)]
    elif isinstance(node, ast.AugAssign) and SYMBOLS.get(type(node.op), "?") + "=" in OPERATORS:
        yield node.target, node.value, SYMBOLS[type(node.op)] + "="
    elif isinstance(node, ast.BoolOp):
        yield from ((a, b, SYMBOLS[type(node.op)]) for a, b in zip(node.values, node.values[1:], strict=False))


def _replacements(node, text_of):
    """(part of a node, what to write instead)."""
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield node, str(not node.value)
    elif isinstance(node, ast.Constant) and re.fullmatch(NUMBER, text_of(node)):
        yield node, changed_number(text_of(node))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node, f"({text_of(node.operand)})"
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in SWAPPED:
            yield node.func, text_of(node.func)[: -len(name)] + SWAPPED[name]
        if name == "range" and node.args:
            last = node.args[min(1, len(node.args) - 1)]
            yield from ((last, f"{text_of(last)} {change}") for change in ("+ 1", "- 1"))
    elif isinstance(node, ast.Return) and node.value is not None and text_of(node.value) != "None":
        yield node, "return None"
    elif isinstance(node, ast.Raise | ast.AugAssign) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or (
            isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple)):
        yield node, "pass"


def _cython_sites(content: bytes) -> Iterator[tuple[int, int, str]]:
    offset, in_text, in_signature = 0, False, False
    for line in content.splitlines(keepends=True):
        text = line.decode()
        code = text.split("  #")[0].rstrip()
        quotes = text.count('"""')
        if re.match(r"\s*(?:cdef .*|cpdef .*|def .*)\([^)]*$", code):
            in_signature = True
        if not (in_text or quotes or in_signature or code.lstrip().startswith("#") or '"' in code or not code
                or CYTHON_SKIPPED.match(text)):
            for start, stop, new in _cython_line(code):
                yield offset + len(text[:start].encode()), offset + len(text[:stop].encode()), new
        in_text ^= quotes % 2 == 1
        in_signature = in_signature and not code.endswith(":")
        offset += len(line)


def _cython_line(code: str) -> Iterator[tuple[int, int, str]]:
    if not CYTHON_DECLARATION.match(code):
        for found in CYTHON_TOKEN.finditer(code):
            token = found.group()
            new = OPERATORS.get(token, SWAPPED.get(token, CYTHON_WORDS.get(token)))
            if token != "in" or not code.lstrip().startswith("for "):
                yield found.start(), found.end(), changed_number(token) if new is None else new
    if CYTHON_STATEMENT.match(code) and not code.lstrip().startswith(("cdef", "for", "if", "elif", "while", "return")):
        yield len(code) - len(code.lstrip()), len(code), "pass"
