"""Trained models as programs of other languages: what a model computes, and a module for each target."""

from typing import Literal, NamedTuple, TypeAlias

Target: TypeAlias = Literal["c", "js", "html", "numpy", "onnx", "sql"]  # keys of `TARGETS`, for type checkers


class ExportTarget(NamedTuple):
    """A language or format of files; what runs them is in `engines.py`."""

    module: str  # whose function NAME_file writes them, with the options as arguments
    suffixes: tuple[str, ...]  # of files, the usual one first
    options: dict[str, str]  # with their defaults
    text: str  # what a file is, for help
    reads_text: bool = False  # whether files count the words and letters of free text
    explains: bool = False  # whether files can have contributions of columns


TARGETS: dict[str, ExportTarget] = {
    "c": ExportTarget("c_file", (".c", ".h"), {"name": "model"}, "a C file", reads_text=True, explains=True),
    "js": ExportTarget("js_file", (".js", ".mjs"), {}, "an ES module", reads_text=True, explains=True),
    "html": ExportTarget("html_file", (".html", ".htm"), {"compiler": ""}, "a page that scores CSV files in a browser",
                         reads_text=True, explains=True),
    "numpy": ExportTarget("numpy_file", (".py",), {}, "a Python file that needs only NumPy", reads_text=True),
    "onnx": ExportTarget("onnx_file", (".onnx",), {"precision": "double"}, "an ONNX graph"),
    "sql": ExportTarget("sql_file", (".sql",), {"table": "rows", "key": "id"},
                        "one SELECT for DuckDB, SQLite and PostgreSQL"),
}
EXPLAINED = *(name for name, target in TARGETS.items() if target.explains),

PRECISIONS = ("double", "single")


def listed(names: list[str], last: str) -> str:
    """Names as a sentence has them: a, b `last` c."""
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
