"""Functions of this package as text of files that do without it."""

import ast
import functools
import inspect
import os
import re
from collections.abc import Iterable
from types import ModuleType

from .._installation import get_include


def source_of(module: ModuleType, names: Iterable[str]) -> str:
    """Functions, classes and constants of a module, and those of it that they use, without comments and annotations."""
    found: dict[str, ast.stmt] = {}
    for statement in ast.parse(inspect.getsource(module)).body:
        for name in _names_of(statement):
            found[name] = statement
    wanted, queue = set(), [*names]
    while queue:
        name = queue.pop()
        if name in found and name not in wanted:
            wanted.add(name)
            _strip_annotations(found[name])
            queue += [node.id for node in ast.walk(found[name]) if isinstance(node, ast.Name)]
    chosen = dict.fromkeys(statement for name, statement in found.items() if name in wanted)
    return "".join("\n" * (1 if isinstance(statement, ast.Assign) else 2) + ast.unparse(statement) + "\n"
                   for statement in chosen)


def _names_of(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _strip_annotations(statement: ast.stmt) -> None:
    """Annotations, which name types of this package; those of classes stay, as their fields, but say nothing."""
    for node in ast.walk(statement):
        if isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign):
                    field.annotation = ast.Name("object")
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None


_NOT_CODE = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/""", re.DOTALL)
_FOR_C_PLUS_PLUS = re.compile(r"^#ifdef __cplusplus\n.*?^#endif\n", re.DOTALL | re.MULTILINE)


def c_source_of(*names: str) -> str:
    """Declarations and functions of the C library, and those that they use.

    Where a name stands for the first time, it is declared, as C wants it.
    """
    statements, declared = _c_statements()
    wanted, queue = set(), [declared[name] for name in names]
    while queue:
        place = queue.pop()
        if place not in wanted:
            wanted.add(place)
            queue += [declared[name] for name in statements[place][1]]
    return "\n/* Of the C library of rffkern (BSD-3-Clause). */\n" + "".join(
        f"\n{statements[place][0]}\n" for place in sorted(wanted))


@functools.cache
def _c_statements() -> tuple[list[tuple[str, set[str]]], dict[str, int]]:
    """The statements of the C library, with the names in each, and which one declares a name."""
    folder, text = get_include(), ""
    for name in ("rffkern.h", "rffscore.c"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text += _FOR_C_PLUS_PLUS.sub("", _NOT_CODE.sub(lambda found: found[1] or " ", file.read()))
    statements: list[tuple[str, set[str]]] = []
    lines: list[str] = []
    depth = 0
    for line in map(str.strip, text.splitlines()):
        if not line or (not lines and line.startswith("#") and not line.startswith("#define")):
            continue
        code = _NOT_CODE.sub("", line)
        lines.append("    " * (depth - code.startswith("}")) + line)
        depth += code.count("{") - code.count("}")
        if not line.endswith("\\") if lines[0].startswith("#") else depth == 0 and line.endswith((";", "}")):
            statements.append(("\n".join(lines), {*re.findall(r"\b(?:rff|RFF)_\w+", "\n".join(lines))}))
            lines = []
    declared: dict[str, int] = {}
    for place, (_, each) in enumerate(statements):
        declared |= {name: place for name in each if name not in declared}
    return statements, declared
