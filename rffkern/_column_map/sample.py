"""Some rows of any table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows.row_blocks import RowBlocks
from ..errors import InvalidInputError
from .column_map import tables
from .raw import CATEGORY, EMPTY, RawColumn
from .tables import RawTable

Indices = NDArray[np.intp]


def sampled(X: Any, rows: Indices, n_samples: int) -> RawTable:
    """Take rows, whose indices are sorted, of a table or of RowBlocks, in one pass over all of them.

    Raises InvalidInputError for what is no table, and unless it has n_samples rows.
    """
    if isinstance(X, np.ndarray) and X.ndim == 2:
        X = RowBlocks(X)  # of which only a block is copied
    pieces, n_read = [], 0
    for table, start in tables(X, None):
        n_read = start + table.n_rows
        wanted = rows[np.searchsorted(rows, start) : np.searchsorted(rows, n_read)] - start
        pieces.append(rows_of(table, wanted))
    if n_read != n_samples:
        raise InvalidInputError(f"y must have one entry per row of X ({n_read}), got {n_samples}")
    return _joined(pieces)


def rows_of(table: RawTable, rows: Indices | NDArray[np.bool_]) -> RawTable:
    """Some rows of a table."""
    columns = [column._replace(values=column.values[rows]) for column in table.columns]
    return table._replace(columns=columns, n_rows=len(columns[0].values))


def _joined(pieces: list[RawTable]) -> RawTable:
    """Tables of the same columns, one below the other."""
    first = pieces[0]
    if len(pieces) == 1:
        return first
    columns = [_joined_column([piece.columns[j] for piece in pieces]) for j in range(len(first.columns))]
    return first._replace(columns=columns, n_rows=sum(piece.n_rows for piece in pieces))


def _joined_column(pieces: list[RawColumn]) -> RawColumn:
    """Pieces of one kind, or without any value."""
    kinds = {piece.kind for piece in pieces} - {EMPTY}
    if len(kinds) > 1:
        raise InvalidInputError(f"a column must hold values of one kind, got {' and '.join(sorted(kinds))}")
    if kinds != {CATEGORY}:
        return RawColumn(kinds.pop() if kinds else EMPTY, np.concatenate([piece.values for piece in pieces]))
    levels = sorted({level for piece in pieces for level in piece.levels})
    position = {level: float(index) for index, level in enumerate(levels)}
    coded = [np.array([*map(position.__getitem__, piece.levels), np.nan])[
        np.where(np.isnan(piece.values), -1, piece.values).astype(np.intp)] for piece in pieces]
    return RawColumn(CATEGORY, np.concatenate(coded), tuple(levels))
