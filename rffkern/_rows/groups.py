"""Groups of rows, which no division of the rows may take apart, and divisions that keep them whole."""

import heapq
from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import Indices, NDArray
from ..errors import InvalidInputError
from .validation import as_column


class Division(NamedTuple):
    """How the rows of a fit may be divided into those to learn from and those to judge by."""

    order: str = "random"  # or "last": rows are in order of time
    groups: Indices | None = None  # the group of each row, of which no part may be held out
    held_out: Indices | None = None  # rows of which a column map learns nothing

    def taken(self, rows: Indices) -> "Division":
        """That of some of the rows."""
        return self if self.groups is None else self._replace(groups=self.groups[rows])

    def folds(self, n_rows: int, n_folds: int) -> Indices:
        """The fold of each row: what a column map says of a row, it has learned from the rows of the other folds.

        Rows in order of time are in folds that follow each other; otherwise neighbours are in different folds.
        """
        if self.order == "last":
            folds = np.arange(n_rows) * n_folds // max(n_rows, 1)
            if self.groups is not None:  # whose rows are next to each other
                starts = np.flatnonzero(np.diff(self.groups, prepend=-1))
                folds = np.repeat(folds[starts], np.diff(starts, append=n_rows))
            return folds
        if self.groups is not None:
            return group_folds(self.groups, np.zeros(n_rows), n_folds, np.random.default_rng(0))
        return np.arange(n_rows) % n_folds


def check_groups(groups: Any, n_samples: int) -> Indices:
    """The group of each row, as numbers from 0; of `groups`, distinct values of any kind."""
    array = as_column(groups, "groups", n_samples)
    objects = array.dtype.kind not in "biufUSMm"
    values = array.tolist() if objects else array
    if objects:
        missing = [row for row, value in enumerate(values) if value is None or value != value]
    else:
        missing = np.flatnonzero(array != array).tolist()  # NaN and NaT
    if missing:
        raise InvalidInputError(f"groups must name a group for each row, got {array[missing[:1]].tolist()[0]!r} at row "
                                f"{missing[0]}: give rows that belong to no group a group of their own")
    if not objects:
        return np.unique(array, return_inverse=True)[1].astype(np.intp, copy=False)
    numbers: dict[Any, int] = {}
    try:
        return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.intp)
    except TypeError as error:
        raise InvalidInputError(f"groups must be numbers, text or other values that can be hashed: {error}") from error


def group_folds(groups: Indices, strata: NDArray[Any], n_folds: float, rng: "np.random.Generator") -> Indices:
    """The fold of each row: all rows of a group are in one fold, and folds are as equal as groups allow.

    From the largest group to the smallest, each goes to the fold that lacks most rows.  Groups of one size come in the
    order of the means of their strata, so that folds are alike in these; ties are in random order.  Where n_folds is
    not whole, groups numbered int(n_folds) are left over: they are in none of the int(n_folds) folds.
    """
    _, codes = np.unique(groups, return_inverse=True)
    sizes = np.bincount(codes)
    means = np.bincount(codes, strata) / sizes
    n_whole = int(n_folds)
    shares = [1 / n_folds] * n_whole + [1 - n_whole / n_folds] * (n_folds > n_whole)
    lacking = [(-share * len(groups), fold) for fold, share in enumerate(shares)]
    heapq.heapify(lacking)
    folds = np.empty(len(sizes), dtype=np.intp)
    for group in np.lexsort((rng.random(len(sizes)), means, -sizes)).tolist():
        lacks, folds[group] = lacking[0]
        heapq.heapreplace(lacking, (lacks + float(sizes[group]), int(folds[group])))
    return folds[codes]


def start_of_last(n_rows: int, share: float, groups: Indices | None = None) -> int:
    """Where the last rows begin, a share of all: at least one, not all, and no part of a group.

    Groups are rows of the same time; InvalidInputError where rows of one are not next to each other.  Of a single row,
    or a single group, none are last.
    """
    if groups is None:
        return min(max(n_rows - round(share * n_rows), 1), max(n_rows - 1, 1))
    starts = np.flatnonzero(np.diff(groups)) + 1
    again = np.setdiff1d(starts, np.unique(groups, return_index=True)[1])
    if len(again):
        raise InvalidInputError("groups must be next to each other where the last rows are held out, such as days in "
                                f"order of time, got one that begins again at row {again[0]}; for groups in any order, "
                                'use validation="random"')
    if not len(starts):
        return n_rows
    return int(starts[np.argmin(np.abs(starts - (1 - share) * n_rows))])


def start_with_all_labels(codes: Indices, start: int, share: float) -> int:
    """Where the last rows begin if all labels are to be among them: `start`, or earlier, but not before half the rows.

    Of each label they have a tenth of what rows drawn at random would have, at least one.
    """
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        start = min(start, int(rows[-max(1, round(0.1 * share * len(rows)))]))
    return max(start, len(codes) // 2)
