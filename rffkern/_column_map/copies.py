"""Copies among the training rows of a table, which must be in one fold of its target statistics.

In another fold, the target of a copy is what the other rows of its level say.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from .._native.array_types import Double, Indices, NDArray
from .._rows.copies import are_told_apart, bits_of, first_copies, hashes_of
from .cells import CATEGORY, EMPTY
from .fitted_column import FittedColumn
from .sketch import level_digests
from .tables import RawColumn, RawTable


def copies_as_groups(read: Callable[[], Iterable[tuple[RawTable, int]]], columns: Sequence[FittedColumn],
                     targets: Double, weights: Double) -> Indices | None:
    """For each row the index of the first of its copies, in all columns that are used and all targets.

    None where copies do not count as one row, or no column of numbers tells rows apart: those that have the same level
    and label are not copies.  `read` gives blocks of the table, and their first rows; rows of weight 0 are copies of
    none.
    """
    used = [j for j, column in enumerate(columns) if column.forms]
    learned = np.flatnonzero(weights > 0)

    def keys_of_blocks() -> Iterator[list[NDArray[np.uint64]]]:
        """A number of each row that is learned from for each column, block by block."""
        for table, start in read():
            rows = np.flatnonzero(weights[start : start + table.n_rows] > 0)
            yield [_keys(table.columns[j], rows) for j in used]

    hashes = np.concatenate([hashes_of(keys, len(keys[0])) for keys in keys_of_blocks()])
    found = first_copies(hashes_of([hashes, *map(bits_of, targets[learned].T)], len(learned)))
    if found is None:
        return None
    first, inverse = found
    numeric = [columns[j].kind not in (CATEGORY, EMPTY) for j in used]
    values = (np.concatenate(parts)[first] for parts in zip(*keys_of_blocks(), strict=True))
    if not are_told_apart(itertools.compress(values, numeric), len(first)):
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
