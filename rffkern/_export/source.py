"""Functions of this package as the text of a Python file that does without it."""

import ast
import inspect
from collections.abc import Iterable
from types import ModuleType


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
    return "".join(f"{_gap(statement)}{ast.unparse(statement)}\n" for statement in chosen)


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


def _gap(statement: ast.stmt) -> str:
    return "\n" if isinstance(statement, ast.Assign) else "\n\n"
