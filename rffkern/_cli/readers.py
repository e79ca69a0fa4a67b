"""Tables from files: which reader a file needs."""

import argparse
import os
from collections.abc import Sequence

from ..errors import InvalidInputError
from .csv_table import CsvFormat, CsvTable
from .table import Table
from .text_source import STDIN
from .usage import UsageError

_ARROW = (".parquet", ".feather", ".arrow")


def open_table(path: str, form: CsvFormat = CsvFormat(), names: Sequence[str] = ()) -> Table:  # noqa: B008
    """Open the table in a file; the end of its name tells the format, and a pipe without one holds text.

    `names` are those of the model's columns, where there is a model that has them.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npy", ".npz"):
        from .array_table import ArrayTable

        return ArrayTable(path)
    if ending in _ARROW:
        from .arrow_table import ArrowTable

        return ArrowTable(path)
    if path.lower().endswith((".csv", ".csv.gz")) or _is_stream(path):
        return CsvTable(path, form, names)
    raise InvalidInputError(f"{path}: the name must end in .csv, .csv.gz, .npy, .npz, .parquet, .feather or .arrow, or "
                            "be - for standard input")


def _is_stream(path: str) -> bool:
    """Whether a name is that of a pipe or device, or of a file that is open already, such as /dev/stdin."""
    return path == STDIN or path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))


def table_format(arguments: argparse.Namespace) -> CsvFormat:
    """What the arguments of a command say of how a text is written."""
    if arguments.decimal == arguments.delimiter:
        raise UsageError(f"--decimal and --delimiter must differ, got {arguments.decimal!r} for both")
    return CsvFormat(arguments.header, arguments.delimiter, arguments.encoding, arguments.decimal)
