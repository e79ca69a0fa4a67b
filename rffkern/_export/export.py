"""`rffkern.export`: a trained model as a program of another language."""

import os
from collections.abc import Callable
from typing import Any

from .._system.atomic_file import atomic_write
from .function import Function, function_of


def _numpy(function: Function, **_: Any) -> bytes:
    from .numpy_file import numpy_file

    return numpy_file(function).encode()


def _c(function: Function, name: str, **_: Any) -> bytes:
    from .loops import c_file

    return c_file(function, name).encode()


def _js(function: Function, **_: Any) -> bytes:
    from .loops import js_file

    return js_file(function).encode()


def _onnx(function: Function, single: bool, **_: Any) -> bytes:
    from .onnx_file import onnx_file

    return onnx_file(function, single)


def _sql(function: Function, table: str, key: str, **_: Any) -> bytes:
    from .sql_file import sql_file

    return sql_file(function, table, key).encode()


TARGETS: dict[str, Callable[..., bytes]] = {"c": _c, "js": _js, "numpy": _numpy, "onnx": _onnx, "sql": _sql}


def export(model: Any, path: str | bytes | os.PathLike[Any], *, to: str, name: str = "model",
           single: bool = False, table: str = "rows", key: str = "id") -> None:
    """Write it."""
    content = TARGETS[to](function_of(model), name=name, single=single, table=table, key=key)
    with atomic_write(os.fsdecode(path)) as file:
        file.write(content)
