"""Trained models as programs of other languages: what a model computes, and a module for each target."""

from typing import NamedTuple


class ExportTarget(NamedTuple):
    """A language or format of files; what runs them is in `engines.py`."""

    module: str  # whose function NAME_file writes them
    suffixes: tuple[str, ...]  # of files, the usual one first
    options: dict[str, str]  # with their defaults


TARGETS = {
    "c": ExportTarget("c_file", (".c", ".h"), {"name": "model"}),
    "js": ExportTarget("c_file", (".js", ".mjs"), {}),
    "html": ExportTarget("html_file", (".html", ".htm"), {"compiler": ""}),
    "numpy": ExportTarget("numpy_file", (".py",), {}),
    "onnx": ExportTarget("onnx_file", (".onnx",), {"precision": "double"}),
    "sql": ExportTarget("sql_file", (".sql",), {"table": "rows", "key": "id"}),
}

PRECISIONS = ("double", "single")
EXPLAINED = ("c", "js", "html")  # that can have contributions of columns
