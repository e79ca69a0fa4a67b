"""Copies among the training rows of a table, which must be in one fold."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .._native.array_types import Double, Indices, NDArray
from .._protocol.arguments import has_members
from .._protocol.warning import quietly
from .._rows.copies import are_told_apart, bits_of, first_copies, hashes_of
from .._rows.row_blocks import RowBlocks
from .._rows.sparse_rows import dense_rows
from .._rows.validation import as_numeric, to_array
from ..errors import InvalidInputError
from .cells import CATEGORY, EMPTY, NUMERIC
from .sketch import level_digests
from .tables import RawColumn, RawTable, in_blocks, read_table


def copies_as_groups(read: Callable[[], Iterable[tuple[RawTable, int]]], kinds: Mapping[int, str],
                     targets: NDArray[Any], weights: Double) -> Indices | None:
    """For each row the index of the first of its copies, in the columns of some kinds, by their index, and all targets.

    None where copies do not count as one row, or no column of numbers tells rows apart: those that have the same level
    and label are not copies.  `read` gives blocks of the table, and their first rows; rows of weight 0 are copies of
    none.
    """
    learned = np.flatnonzero(weights > 0)

    def blocks() -> Iterator[tuple[RawTable, Indices]]:
        """Blocks of the table, and which of their rows are learned from."""
        for table, start in read():
            yield table, np.flatnonzero(weights[start : start + table.n_rows] > 0)

    hashes = np.concatenate([hashes_of((_keys(table.columns[j], rows) for j in kinds), len(rows))
                             for table, rows in blocks()])
    found = first_copies(hashes_of(itertools.chain([hashes], (bits_of(target[learned]) for target in targets.T)),
                                   len(learned)))
    del hashes
    if found is None:
        return None
    first, inverse = found
    numeric = [j for j, kind in kinds.items() if kind not in (CATEGORY, EMPTY)]
    columns = zip(*[[_keys(table.columns[j], rows) for j in numeric] for table, rows in blocks()], strict=True)
    if not are_told_apart((np.concatenate(parts)[first] for parts in columns), len(first)):
        return None
    groups = np.arange(len(weights))
    groups[learned] = learned[first[inverse]]
    return groups


def _keys(column: RawColumn, rows: Indices) -> NDArray[np.uint64]:
    """Numbers that are equal for equal values of some rows."""
    values = column.values[rows]
    keys = bits_of(values)
    if column.kind == CATEGORY:
        present = ~np.isnan(values)
        keys[present] = level_digests(column.levels)[values[present].astype(np.intp)]
    return keys


def _table_of(X: Any) -> RawTable:
    """The columns of a table, without a copy of those of an array of numbers."""
    X = dense_rows(X, "X") if has_members(X, "tocsr") else X
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        return RawTable(None, [RawColumn(NUMERIC, column) for column in np.asarray(X).T], len(X))
    with quietly():  # as a fit reads it again
        return read_table(X)


def copies_in_memory(X: Any, targets: NDArray[Any], weights: Double) -> Indices | None:
    """`copies_as_groups` of a table in memory, whose columns all count; targets are numbers or labels."""
    table = _table_of(X)
    if targets.dtype.kind not in "fiub":
        targets = np.unique(targets, return_inverse=True)[1].reshape(targets.shape)
    if not targets.size or not len(targets) == len(weights) == table.n_rows:
        return None
    kinds = {j: column.kind for j, column in enumerate(table.columns)}
    return copies_as_groups(lambda: [(table, 0)], kinds, targets.reshape(len(targets), -1), weights)


def merged_weights(X: Any, y: Any, sample_weight: Any) -> Any:
    """Weights of raw training rows, those of copies moved to the first of them; as given where nothing is to be moved.

    A copy that is held out would praise what was learned from the others.  Streamed rows stay as they are, and so do
    rows that a check will refuse.
    """
    X = in_blocks(X)
    if isinstance(X, RowBlocks):
        return sample_weight
    try:
        targets = to_array(y, "y")
        weights = np.ones(len(targets)) if sample_weight is None else as_numeric(sample_weight, "sample_weight")
        weights = np.array(weights, dtype=np.float64).reshape(-1)
        copied = copies_in_memory(X, targets, weights) if (weights >= 0).all() else None
    except (InvalidInputError, TypeError):  # which the check of these rows says better
        return sample_weight
    return sample_weight if copied is None else np.bincount(copied, weights, len(weights))
