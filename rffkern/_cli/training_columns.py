"""What the columns of a training table hold, once all of its rows are read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.raw import CATEGORY, EMPTY, NUMERIC, RawColumn, category, category_of_numbers
from .._column_map.survey import MAX_KEPT_LEVELS
from .labels import is_code, is_number, level_of_number, truth_of
from .table import BLOCK_ROWS, UNKNOWN, Block, Cells

_TRUTH = ("False", "True")


class TrainingColumn(NamedTuple):
    """What a column holds."""

    kind: str
    levels: tuple[str, ...] = ()  # of a category, sorted
    n_missing: int = 0
    truth: bool = False  # whether its numbers 0 and 1 stand for False and True
    is_asked: bool = False  # whether the user wants it to be a category

    def raw(self, values: NDArray[Any]) -> RawColumn:
        """The column as a map takes it."""
        values = np.asarray(values, dtype=np.float64)
        if self.truth:
            return category(values, _TRUTH)
        return RawColumn(EMPTY if np.isnan(values).all() else self.kind, values, self.levels)


class WordIndex:
    """The words of the categories of all blocks, in the order in which they come."""

    def __init__(self) -> None:
        self._places: dict[int, dict[str, int]] = {}

    def place(self, block: Block) -> None:
        """Replace indices of the words of a block by those of the words of all blocks."""
        for k, words in block.levels.items():
            places = self._places.setdefault(k, {})
            table = np.array([*(self._place(places, word) for word in words), np.nan])
            codes = block.X[:, k]
            block.X[:, k] = table[np.where(np.isnan(codes), -1, codes).astype(np.intp)]

    def words(self, k: int) -> list[str]:
        """The words of a column."""
        return list(self._places.get(k, ()))

    def _place(self, places: dict[str, int], word: str) -> int:
        # A map drops a category of more levels than this: they are not told apart, so that memory is bounded.
        return places.setdefault(word, len(places)) if len(places) <= MAX_KEPT_LEVELS else places.get(word, 0)


def settled(X: NDArray[Any], cells: Sequence[Cells], words: WordIndex, asked: Sequence[bool]) -> list[TrainingColumn]:
    """What the columns hold; categories get their last form in X, where levels are sorted.

    `asked` says of each column whether the user wants it to be a category.
    """
    columns = []
    missing = sum((np.isnan(X[start : start + BLOCK_ROWS]).sum(axis=0) for start in range(0, len(X), BLOCK_ROWS)),
                  np.zeros(len(asked), dtype=np.int64))
    for k, (wanted, n_missing) in enumerate(zip(asked, missing.tolist(), strict=True)):
        values = X[:, k]
        kind = EMPTY if n_missing == len(values) or cells[k].kind == UNKNOWN else cells[k].kind
        found = RawColumn(kind, values)
        if kind == CATEGORY:
            found = category(values, _as_levels(words.words(k)))
        elif wanted and kind == NUMERIC:
            found = category(values, _TRUTH) if cells[k].truth else category_of_numbers(RawColumn(NUMERIC, values))
        if found.levels:
            values[:] = found.values
        columns.append(TrainingColumn(found.kind, found.levels, n_missing, cells[k].truth and not found.levels,
                                      wanted))
    return columns


def _as_levels(words: list[str]) -> list[str]:
    """Names of levels: truth values as Python writes them, and numbers by their value if all words are numbers."""
    truth = [truth_of(word) for word in words]
    if None not in truth:
        return [str(value) for value in truth]
    if all(is_number(word) and not is_code(word) for word in words):
        return [level_of_number(word) for word in words]
    return words
