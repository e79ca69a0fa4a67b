"""Tables from files: which reader a file needs."""

import os
from collections.abc import Sequence

from ..errors import InvalidInputError
from .array_table import ArrayTable
from .csv_table import CsvTable
from .table import Table


def open_table(path: str, *, header: str = "auto", delimiter: str = ",", names: Sequence[str] = ()) -> Table:
    """Open the table in a file; the end of its name tells the format, and a pipe without one holds text.

    `names` are those of the model's columns, where there is a model that has them.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npy", ".npz"):
        return ArrayTable(path)
    if ending == ".csv" or _is_stream(path):
        return CsvTable(path, header, delimiter, names)
    raise InvalidInputError(f"{path}: the name must end in .csv, .npy or .npz")


def _is_stream(path: str) -> bool:
    """Whether a name is that of a pipe or device, or of a file that is open already, such as /dev/stdin."""
    return path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))
