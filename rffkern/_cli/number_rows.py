"""Blocks out of files that hold numbers, not text: rows that cannot be used are found."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows.validation import LARGEST_VALUE, check_finite
from ..errors import InvalidInputError
from .table import Block, Rejected, Table, Wanted, column_label, located


def number_block(block: Block, wanted: Wanted, start: int, table: Table, unlabelled: Sequence[int] = ()) -> Block:
    """The block as float32 or float64, without rows that have no label, or a number that cannot be used.

    The first of them is an error unless they may be rejected.  `start` rows of the table stand before the block.
    """
    X = block.X if block.X.dtype in (np.float32, np.float64) else block.X.astype(np.float64)
    if not unlabelled and _is_finite(X):
        return block._replace(X=X)
    usable = np.abs(X) <= (LARGEST_VALUE if X.dtype == np.float64 else np.finfo(np.float32).max)  # false for nan
    if block.cells and any(cells.gaps for cells in block.cells):
        usable |= np.isnan(X) & np.array([cells.gaps for cells in block.cells])
    kept = usable.all(axis=1)
    kept[list(unlabelled)] = False
    rejected = []
    for i in np.flatnonzero(~kept).tolist():
        if usable[i].all():
            column, reason = wanted.target, "expected a label or target, got none"
        else:
            j = int(usable[i].argmin())
            column, reason = wanted.features[j], _reason(float(X[i, j]))
        label = "" if column is None else column_label(column, table.columns)
        rejected.append(Rejected(start + i + 1, None, label, reason, _text(X[i].tolist(), block)))
        if not wanted.reject:
            raise located(table.path, rejected[0])
    words = [[word for word, keep in zip(column, kept.tolist(), strict=True) if keep] for column in block.words]
    labels = None if block.labels is None else block.labels[kept]
    return block._replace(X=X[kept], labels=labels, words=words, rejected=rejected)


def _text(row: Sequence[float], block: Block) -> str:
    """A row as a text would have it."""
    return ",".join(block.levels[k][int(value)] if k in block.levels and value == value else str(value)
                    for k, value in enumerate(row))


def _is_finite(X: NDArray[Any]) -> bool:
    try:
        check_finite(X, "X")
    except InvalidInputError:
        return False
    return True


def _reason(value: float) -> str:
    if value != value:
        return "expected a finite number, got nan: the value is missing; fill it in, or leave out such rows " \
               "(--reject FILE)"
    return f"expected a finite number below {LARGEST_VALUE:.2g} in magnitude, got {value!r}"
