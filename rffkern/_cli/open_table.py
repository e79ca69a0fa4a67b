"""Which reader a table needs, by the name of its file."""

import os
from collections.abc import Sequence

from ..errors import InvalidInputError
from .binary_table import ArrayTable, ArrowTable
from .csv_table import CsvTable
from .output import STDIN
from .table import CsvFormat, Table


def open_table(path: str, form: CsvFormat = CsvFormat(), names: Sequence[str] = ()) -> Table:  # noqa: B008
    """Open the table in a file, by the end of its name; a pipe with another name contains text.

    `names` are those of the columns of a model, if any: they decide whether the first row of a .csv has names.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npy", ".npz"):
        return ArrayTable(path)
    if ending in (".parquet", ".feather", ".arrow"):
        return ArrowTable(path)
    stream = path == STDIN or path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))
    if stream or path.lower().endswith((".csv", ".csv.gz")):
        return CsvTable(path, form, names)
    raise InvalidInputError(f"{path}: the name must end in .csv, .csv.gz, .npy, .npz, .parquet, .feather or .arrow, or "
                            "be - for standard input")
