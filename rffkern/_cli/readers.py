"""Tables from files: which reader a file needs."""

import os

from ..errors import InvalidInputError
from .array_table import ArrayTable
from .csv_table import CsvTable
from .table import Table


def open_table(path: str, *, header: str = "auto", delimiter: str = ",") -> Table:
    """Open the table in a file; the end of its name tells the format."""
    ending = os.path.splitext(path)[1].lower()
    if ending == ".csv":
        return CsvTable(path, header, delimiter)
    if ending in (".npy", ".npz"):
        return ArrayTable(path)
    raise InvalidInputError(f"{path}: the name must end in .csv, .npy or .npz")
