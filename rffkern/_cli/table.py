"""What every table offers to the commands, whatever file it stands in."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError

BLOCK_ROWS = 8192
_MOST_LISTED = 12


class Block(NamedTuple):
    """Some successive rows of a table."""

    X: NDArray[Any]  # (n_rows, n_features), float32 or float64, finite
    labels: NDArray[Any] | None  # (n_rows,) or (n_rows, n_targets), as the file has them
    done: int  # how much of `Table.total` has been read after these rows


class Table(Protocol):
    """Rows of a file, read block by block."""

    path: str
    columns: list[str] | None  # their names, where the file has them
    n_columns: int
    total: int | None  # size of all rows, in units of the file's own; None where only the end tells, as of a pipe
    has_labels: bool  # whether labels stand beside the rows, in no column of theirs
    guessed_data: bool  # whether it was only guessed that the first line holds no column names

    def blocks(self, features: Sequence[int], target: int | None = None) -> Iterator[Block]:
        """Yield all rows: the columns `features` as X, and column `target` (else labels beside the rows) as labels.

        The rows of a pipe can be read only once.
        """


class NamedRows:
    """An array with column names, as `fit` and `predict` accept data frames."""

    def __init__(self, array: NDArray[Any], columns: list[str]) -> None:
        self.array, self.columns = array, columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.array, dtype=dtype)


def check_column_names(path: str, columns: list[str] | None) -> None:
    """Refuse a name that stands over two columns."""
    if columns is not None and len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InvalidInputError(f"{path}: column names must be distinct, got {twice!r} more than once")


def listed(names: Sequence[str]) -> str:
    """Column names for a message: the first of them, if there are many."""
    return f"{list(names)}" if len(names) <= _MOST_LISTED else f"{list(names[:_MOST_LISTED])} and " \
                                                               f"{len(names) - _MOST_LISTED} more"


def column_index(table: Table, text: str) -> int:
    """Index of the column with a name or else with a number; negative numbers count from the end."""
    if table.columns is not None and text in table.columns:
        return table.columns.index(text)
    try:
        index = int(text)
    except ValueError:
        index = table.n_columns
    if -table.n_columns <= index < table.n_columns:
        return index % table.n_columns
    known = f"one of {listed(table.columns)}" if table.columns else f"an index below {table.n_columns}"
    raise InvalidInputError(f"{table.path}: no column {text!r}: expected {known}")
